from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from paimon_fidx.core.comparison cimport SLICES_MOST, ChunkSlices, fidx_work
from paimon_fidx.core.cursor cimport Source
from paimon_fidx.core.roaring cimport Bitmap, Container, Pool, RowsWriter

cdef struct CodeRange:         # lo <= code <= hi
    uint64_t lo
    uint64_t hi

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

cdef void look(Slices index, uint32_t i, ChunkSlices* out) noexcept nogil
cdef int chunk_codes(Slices index, uint32_t chunk, const CodeRange* ranges, Py_ssize_t count,
                     fidx_work* w) noexcept nogil
cdef int bad_container(Slices index, uint16_t key) except -1 with gil
