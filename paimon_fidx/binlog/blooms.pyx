"""The two Bloom filters of Milvus' primary-key statistics: probing one key.

    basic filter (type 3), bytes                                                 big-endian
    0    be64     bit_count        m, as the JSON beside it has it
    8    be64     words            (m + 63) // 64; bit i is bit i % 64 of word i // 64

    bit i of a key: (h[i % 2] + i * h[2 + (i + i % 2) % 4 // 2]) mod m, modulo 2^64 before, with h the two halves of
    the 128-bit Murmur3 hash (x64, seed 0) of the key, then those of the key with a byte 1 behind it

    blocked filter (type 4): blocks of 64 bytes, each 16 words                   little-endian
    block (low * block_count) >> 32 with low the lower half of the key's XXH3-64 and high the upper half; then for
    i = 1 .. hash_count - 1: high += low, low += i, bit high % 32 of word high // 32 % 16
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from paimon_fidx.core.cursor cimport be64, le32, le64

cdef enum:
    WORDS_AT = 8
    BLOCK = 64


cdef inline uint64_t _rotl(uint64_t x, int by) noexcept nogil:
    return x << by | x >> (64 - by)


cdef inline uint64_t _mix(uint64_t k) noexcept nogil:
    k = (k ^ k >> 33) * <uint64_t> 0xff51afd7ed558ccd
    k = (k ^ k >> 33) * <uint64_t> 0xc4ceb9fe1a85ec53
    return k ^ k >> 33


cdef void _murmur3(const uint8_t* p, Py_ssize_t size, uint64_t* out) noexcept nogil:
    """Murmur3, the 128-bit variant for 64-bit machines, seed 0."""
    cdef uint64_t c1 = <uint64_t> 0x87c37b91114253d5, c2 = <uint64_t> 0x4cf5ad432745937f
    cdef uint64_t h1 = 0, h2 = 0, k
    cdef Py_ssize_t at = 0, i
    while size - at >= 16:
        h1 = _rotl(h1 ^ _rotl(le64(p + at) * c1, 31) * c2, 27) + h2
        h1 = h1 * 5 + 0x52dce729
        h2 = _rotl(h2 ^ _rotl(le64(p + at + 8) * c2, 33) * c1, 31) + h1
        h2 = h2 * 5 + 0x38495ab5
        at += 16
    if size - at > 8:
        k = 0
        for i in range(size - 1, at + 7, -1):
            k = k << 8 | p[i]
        h2 ^= _rotl(k * c2, 33) * c1
    if size > at:
        k = 0
        for i in range(min(size, at + 8) - 1, at - 1, -1):
            k = k << 8 | p[i]
        h1 ^= _rotl(k * c1, 31) * c2
    h1 ^= <uint64_t> size
    h2 ^= <uint64_t> size
    h1 += h2
    h2 += h1
    h1 = _mix(h1)
    h2 = _mix(h2)
    h1 += h2
    h2 += h1
    out[0] = h1
    out[1] = h2


cdef void _hashes(bytes key, uint64_t* h) noexcept:
    cdef bytes longer = key + b"\1"
    _murmur3(<const uint8_t*> <char*> key, len(key), h)
    _murmur3(<const uint8_t*> <char*> longer, len(longer), h + 2)


cdef inline uint64_t _basic_bit(const uint64_t* h, uint64_t i, uint64_t bit_count) noexcept nogil:
    return (h[i % 2] + i * h[2 + (i + i % 2) % 4 // 2]) % bit_count


def basic_contains(bytes data not None, bytes key not None, Py_ssize_t hash_count):
    """Whether a basic filter may hold a key. The filter's length must have been checked by the caller: its bit_count
    is above 0 and no more than its words hold; this is asked again, and False where it does not hold."""
    cdef const uint8_t* p = <const uint8_t*> <char*> data
    cdef Py_ssize_t size = len(data)
    cdef uint64_t h[4]
    cdef uint64_t bit_count, bit
    cdef Py_ssize_t i
    if size < WORDS_AT:
        return False
    bit_count = be64(p)
    if bit_count == 0 or (size - WORDS_AT) % 8 or bit_count > <uint64_t> (size - WORDS_AT) * 8:
        return False
    _hashes(key, h)
    for i in range(hash_count):
        bit = _basic_bit(h, <uint64_t> i, bit_count)
        # in bounds: bit < bit_count <= 8 * bytes of words
        if not be64(p + WORDS_AT + (bit >> 6) * 8) >> (bit & 63) & 1:
            return False
    return True


def basic_filter(keys, Py_ssize_t bit_count, Py_ssize_t hash_count):
    """The bytes of a basic filter over keys (bytes each).

    >>> basic_contains(basic_filter([b"a"], 64, 3), b"a", 3)
    True
    """
    cdef Py_ssize_t word_count = (bit_count + 63) // 64
    cdef bytearray out
    cdef uint8_t* p
    cdef uint64_t h[4]
    cdef uint64_t bit
    cdef Py_ssize_t i
    if bit_count < 1 or hash_count < 0:
        raise ValueError(f"a filter of {bit_count} bits and {hash_count} hashes")
    out = bytearray(bit_count.to_bytes(8, "big")) + bytes(word_count * 8)
    p = <uint8_t*> <char*> out
    for key in keys:
        _hashes(key, h)
        for i in range(hash_count):
            bit = _basic_bit(h, <uint64_t> i, <uint64_t> bit_count)
            p[WORDS_AT + (bit >> 6) * 8 + 7 - (bit >> 3 & 7)] |= 1 << (bit & 7)
    return bytes(out)


def blocked_contains(bytes data not None, uint64_t hashed, Py_ssize_t hash_count):
    """Whether a blocked filter may hold the key with this XXH3-64 hash."""
    cdef const uint8_t* p = <const uint8_t*> <char*> data
    cdef uint64_t block_count = <uint64_t> len(data) // BLOCK
    cdef uint32_t high = <uint32_t> (hashed >> 32), low = <uint32_t> hashed, i
    if block_count == 0:
        return False
    p += (<uint64_t> low * block_count >> 32) * BLOCK      # in bounds: below block_count, as low < 2^32
    for i in range(1, <uint32_t> hash_count):
        high += low
        low += i
        if not le32(p + (high >> 5) % 16 * 4) >> (high & 31) & 1:
            return False
    return True


def blocked_filter(hashes, Py_ssize_t block_count, Py_ssize_t hash_count):
    """The bytes of a blocked filter over XXH3-64 hashes.

    >>> blocked_contains(blocked_filter([7], 1, 5), 7, 5)
    True
    """
    cdef bytearray out
    cdef uint8_t* p
    cdef uint8_t* block
    cdef uint64_t hashed
    cdef uint32_t high, low, i
    if not 0 < block_count < 1 << 32 or hash_count < 0:
        raise ValueError(f"a filter of {block_count} blocks and {hash_count} hashes")
    out = bytearray(block_count * BLOCK)
    p = <uint8_t*> <char*> out
    for hashed in hashes:
        high = <uint32_t> (hashed >> 32)
        low = <uint32_t> hashed
        block = p + (<uint64_t> low * <uint64_t> block_count >> 32) * BLOCK
        for i in range(1, <uint32_t> hash_count):
            high += low
            low += i
            block[(high >> 5) % 16 * 4 + (high >> 3 & 3)] |= 1 << (high & 7)
    return bytes(out)
