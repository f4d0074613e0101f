from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from paimon_fidx.core.comparison cimport SLICES_MOST, fidx_work
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

cdef struct Walk:              # position of every slice while chunks go by
    uint32_t ebm
    uint32_t at[SLICES_MOST]

cdef const Container* find(const Container* items, const Bitmap* bitmap, uint16_t key) noexcept nogil
cdef void gather(Slices index, Walk* walk, uint16_t key, const Container** s) noexcept nogil
cdef void find_all(Slices index, uint16_t key, const Container** s) noexcept nogil
cdef int chunk_codes(Slices index, Walk* walk, const Container* e, const CodeRange* ranges, Py_ssize_t count,
                     fidx_work* w) noexcept nogil
cdef int bad_container(Slices index, uint16_t key) except -1 with gil
