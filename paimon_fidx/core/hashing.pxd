from libc.stdint cimport int64_t, uint8_t, uint64_t

from paimon_fidx.core.cursor cimport le32, le64


cdef inline uint64_t wang64(uint64_t key) noexcept nogil:
    """Thomas Wang's 64-bit integer hash, with arithmetic right shifts as Java has them."""
    key = ~key + (key << 21)
    key ^= <uint64_t> (<int64_t> key >> 24)
    key = key + (key << 3) + (key << 8)
    key ^= <uint64_t> (<int64_t> key >> 14)
    key = key + (key << 2) + (key << 4)
    key ^= <uint64_t> (<int64_t> key >> 28)
    return key + (key << 31)


cdef enum:
    XXH_STRIPE = 32            # bytes the long form takes at a time, in four lanes

cdef inline uint64_t _rotate(uint64_t x, int by) noexcept nogil:
    return x << by | x >> (64 - by)

cdef inline uint64_t _round(uint64_t lane, uint64_t word) noexcept nogil:
    return _rotate(lane + word * <uint64_t> 0xC2B2AE3D27D4EB4F, 31) * <uint64_t> 0x9E3779B185EBCA87

cdef inline uint64_t _merge(uint64_t hash, uint64_t lane) noexcept nogil:
    return (hash ^ _round(0, lane)) * <uint64_t> 0x9E3779B185EBCA87 + <uint64_t> 0x85EBCA77C2B2AE63


cdef inline uint64_t xxh64(const uint8_t* data, Py_ssize_t size) noexcept nogil:
    """XXH64 with seed 0 (xxHash specification, "XXH64 algorithm description")."""
    cdef uint64_t prime1 = <uint64_t> 0x9E3779B185EBCA87, prime2 = <uint64_t> 0xC2B2AE3D27D4EB4F
    cdef uint64_t prime3 = <uint64_t> 0x165667B19E3779F9, prime4 = <uint64_t> 0x85EBCA77C2B2AE63
    cdef uint64_t prime5 = <uint64_t> 0x27D4EB2F165667C5
    cdef uint64_t a, b, c, d, hash
    cdef Py_ssize_t left = size
    if size >= XXH_STRIPE:
        a, b, c, d = prime1 + prime2, prime2, 0, 0 - prime1
        while left >= XXH_STRIPE:
            a = _round(a, le64(data))
            b = _round(b, le64(data + 8))
            c = _round(c, le64(data + 16))
            d = _round(d, le64(data + 24))
            data += XXH_STRIPE
            left -= XXH_STRIPE
        hash = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
        hash = _merge(_merge(_merge(_merge(hash, a), b), c), d)
    else:
        hash = prime5
    hash += <uint64_t> size
    while left >= 8:
        hash = _rotate(hash ^ _round(0, le64(data)), 27) * prime1 + prime4
        data += 8
        left -= 8
    if left >= 4:
        hash = _rotate(hash ^ le32(data) * prime1, 23) * prime2 + prime3
        data += 4
        left -= 4
    while left > 0:
        hash = _rotate(hash ^ data[0] * prime5, 11) * prime1
        data += 1
        left -= 1
    hash = (hash ^ hash >> 33) * prime2
    hash = (hash ^ hash >> 29) * prime3
    return hash ^ hash >> 32
