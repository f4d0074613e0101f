from libc.stdint cimport uint64_t

from paimon_fidx.core.roaring cimport RowsWriter
from paimon_fidx.core.slices cimport Slices

cdef int top(Slices index, uint64_t k, bint largest, object selection, bint ties, RowsWriter out,
             uint64_t* found) except -1
cdef object code_counts(Slices index, object selection)
