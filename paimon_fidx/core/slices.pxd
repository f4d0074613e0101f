from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from paimon_fidx.core.cursor cimport Source
from paimon_fidx.core.roaring cimport Bitmap, Container, Pool, RowsWriter

cdef struct CodeRange:         # lo <= code <= hi
    uint64_t lo
    uint64_t hi

cdef enum:
    SLICES_MOST = 64

cdef class Slices:
    """The existence bitmap and the slices of one bit-sliced index, parsed."""
    cdef Pool pool
    cdef Bitmap ebm
    cdef Bitmap slices[SLICES_MOST]
    cdef int slice_count
    cdef uint64_t row_count
    cdef object owner          # keeps the bytes alive
    cdef Source source         # these three say where, in errors
    cdef object where
    cdef Py_ssize_t at
    cdef uint64_t max_code(self) noexcept nogil

cdef int select(Slices first, const CodeRange* first_ranges, Py_ssize_t first_count,
                Slices second, const CodeRange* second_ranges, Py_ssize_t second_count,
                bint negate, RowsWriter out) except -1
cdef int existence(Slices first, Slices second, bint absent, RowsWriter out) except -1
cdef int top(Slices index, uint64_t k, bint largest, object selection, bint ties, RowsWriter out,
             uint64_t* found) except -1
cdef object code_counts(Slices index, object selection)
