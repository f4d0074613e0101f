from libc.stdint cimport int64_t, uint64_t


cdef inline uint64_t wang64(uint64_t key) noexcept nogil:
    """Thomas Wang's 64-bit integer hash, with arithmetic right shifts as Java has them."""
    key = ~key + (key << 21)
    key ^= <uint64_t> (<int64_t> key >> 24)
    key = key + (key << 3) + (key << 8)
    key ^= <uint64_t> (<int64_t> key >> 14)
    key = key + (key << 2) + (key << 4)
    key ^= <uint64_t> (<int64_t> key >> 28)
    return key + (key << 31)
