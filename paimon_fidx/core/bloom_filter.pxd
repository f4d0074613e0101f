from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from paimon_fidx.core.cursor cimport Source

cdef class Reader:
    cdef Source source
    cdef object where
    cdef readonly Py_ssize_t start
    cdef readonly Py_ssize_t length
    cdef readonly int hash_count
    cdef uint64_t bit_count
    cdef int kind
    cdef bint test(self, uint64_t hash) except -1

cdef bint probe(const uint8_t* bits, uint32_t bit_count, int hash_count, uint64_t hash) noexcept nogil

cdef inline uint32_t bit_position(uint64_t hash, int i, uint32_t bit_count) noexcept nogil:
    """The i-th position of a hash, i from 1 on; see the module."""
    cdef uint32_t c = <uint32_t> hash + <uint32_t> i * <uint32_t> (hash >> 32)
    return (c if <int32_t> c >= 0 else ~c) % bit_count
