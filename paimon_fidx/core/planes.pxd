from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from paimon_fidx.core.buffers cimport Arena, Output

cdef extern from "build_kernels.h" nogil:
    enum:
        FIDX_BATCH
        FIDX_SLACK
    ctypedef struct fidx_divisor:
        pass
    fidx_divisor fidx_divide_by(uint32_t)
    ctypedef struct fidx_build_set:
        const char* name
        void (*slice32)(const int32_t*, size_t, int, uint64_t*, size_t) noexcept nogil
        void (*slice64)(const int64_t*, size_t, int, uint64_t*, size_t) noexcept nogil
        void (*slice_signed32)(const int32_t*, size_t, int, uint64_t*, size_t, uint64_t*) noexcept nogil
        void (*slice_signed64)(const int64_t*, size_t, int, uint64_t*, size_t, uint64_t*) noexcept nogil
        void (*measure)(const uint64_t*, const uint64_t*, size_t, uint32_t*, uint32_t*) noexcept nogil
        uint8_t* (*put_array)(const uint64_t*, size_t, uint8_t*) noexcept nogil
        void (*zero_nulls32)(int32_t*, const uint64_t*, size_t) noexcept nogil
        void (*zero_nulls64)(int64_t*, const uint64_t*, size_t) noexcept nogil
        void (*extremes32)(const int32_t*, size_t, int32_t*, int32_t*) noexcept nogil
        void (*extremes64)(const int64_t*, size_t, int64_t*, int64_t*) noexcept nogil
        size_t (*count_bits)(const uint64_t*, size_t) noexcept nogil
        void (*hash32)(const int32_t*, size_t, uint64_t*) noexcept nogil
        void (*hash64)(const int64_t*, size_t, uint64_t*) noexcept nogil
        void (*set_positions)(const uint64_t*, size_t, int, const fidx_divisor*, uint8_t*) noexcept nogil

cdef const fidx_build_set* build_kernels() noexcept nogil

cdef extern from *:
    """
    #include <stdint.h>
    static inline int fidx_bit_length(uint64_t x) { return x ? 64 - __builtin_clzll(x) : 0; }
    static inline int fidx_lowest_bit(uint64_t x) { return __builtin_ctzll(x); }
    """
    int bit_length "fidx_bit_length"(uint64_t) noexcept nogil
    int lowest_bit "fidx_lowest_bit"(uint64_t) noexcept nogil      # of a word that is not 0

cdef class Planes:
    """Bitmaps over the same rows, one bit per row each, and what their containers will take."""
    cdef Arena arena
    cdef Py_ssize_t row_count
    cdef Py_ssize_t plane_len      # words of one plane
    cdef Py_ssize_t chunk_count    # containers of one plane
    cdef Py_ssize_t plane_count
    cdef uint64_t* words
    cdef uint32_t* cardinality     # plane_count x chunk_count, where measured
    cdef uint32_t* run_count
    cdef uint64_t* plane(self, Py_ssize_t i) noexcept nogil
    cdef int slice_narrow(self, const int32_t* values, int slice_count, uint64_t* signs) except -1 nogil
    cdef int slice_wide(self, const int64_t* values, int slice_count, uint64_t* signs) except -1 nogil
    cdef void clear(self) noexcept nogil
    cdef void set_rows(self, Py_ssize_t i, const uint64_t* valid) noexcept nogil
    cdef void complement(self, Py_ssize_t i) noexcept nogil
    cdef Py_ssize_t first_row(self, Py_ssize_t i) noexcept nogil
    cdef Py_ssize_t measure(self, Py_ssize_t i, const uint64_t* mask) noexcept nogil
    cdef Py_ssize_t length(self, Py_ssize_t i) noexcept nogil
    cdef int write(self, Py_ssize_t i, const uint64_t* mask, Output out) except -1 nogil

cdef void fill_rows(uint64_t* plane, Py_ssize_t row_count) noexcept nogil
cdef uint8_t* put_row_list(const uint32_t* rows, Py_ssize_t count, uint8_t* out) noexcept nogil
cdef Py_ssize_t most_list_bytes(Py_ssize_t count) noexcept nogil
