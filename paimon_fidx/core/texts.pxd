from libc.stdint cimport uint8_t, uint32_t, uint64_t

from paimon_fidx.core.buffers cimport Arena
from paimon_fidx.core.columns cimport BytesChunk, KeyColumn

cdef struct Text:
    const uint8_t* at
    uint32_t size

cdef class Numbering:
    """Gives every distinct string of a column a number in order of appearance, then sorts them."""
    cdef Arena arena           # owns texts and what order() returns
    cdef Text* texts           # in order of appearance; after order(), ascending
    cdef Py_ssize_t count
    cdef uint32_t* hashes      # upper half of each string's hash: to grow the table, to avoid comparing
    cdef Py_ssize_t capacity
    cdef uint32_t* slots
    cdef uint64_t slot_mask
    cdef int run(self, KeyColumn column, uint32_t* codes) except -1
    cdef uint32_t* order(self) except NULL
    cdef int grow(self) except -1 nogil
    cdef uint32_t number(self, const uint8_t* data, Py_ssize_t size, uint32_t hash) noexcept nogil
    cdef int add_known(self, const BytesChunk* chunk, uint32_t* known, uint32_t* codes) except -1 nogil
    cdef int add(self, const BytesChunk* chunk, const uint64_t* valid, Py_ssize_t row, uint32_t* codes) except -1 nogil
