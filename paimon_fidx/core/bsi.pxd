from libc.stdint cimport int64_t, uint64_t

from paimon_fidx.core.cursor cimport Cursor, Source
from paimon_fidx.core.slices cimport Slices

cdef class Reader:
    cdef Source source
    cdef object where
    cdef readonly int64_t row_count
    cdef Slices positive       # None when there is no value of that sign
    cdef Slices negative
    cdef int64_t positive_min
    cdef int64_t positive_max
    cdef int64_t negative_min
    cdef int64_t negative_max
    cdef Slices _part(self, Cursor cursor, object sign, int64_t* least, int64_t* most)
    cdef object _top(self, Slices part, uint64_t k, bint largest, object selection, bint ties)
