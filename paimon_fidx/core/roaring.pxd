from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from paimon_fidx.core.cursor cimport Source, View

cdef extern from "kernels.h" nogil:
    ctypedef struct fidx_plane:
        const uint8_t* words
        uint64_t bit
        uint64_t high_bit
        uint64_t take
    ctypedef struct fidx_program:
        int fresh
        int last
        int has_f
        int common_count
        int both_count
        int one_count
        int turn
        int one_is_low
        const uint8_t* split
        uint64_t turn_accept
        uint64_t rest_accept
        fidx_plane* common
        fidx_plane* both
        fidx_plane* one
    ctypedef struct fidx_state:
        const uint8_t* e_in
        uint64_t* e
        uint64_t* f
        uint64_t* acc
    ctypedef struct fidx_kernel_set:
        const char* name
        uint32_t (*popcount)(const uint8_t*) noexcept nogil
        uint32_t (*run_count)(const uint64_t*, uint32_t) noexcept nogil
        void (*or_into)(uint64_t*, const uint8_t*) noexcept nogil
        void (*and_into)(uint64_t*, const uint8_t*) noexcept nogil
        void (*andnot_into)(uint64_t*, const uint8_t*) noexcept nogil
        int (*compare)(const fidx_program*, const fidx_state*, int, int) noexcept nogil
    const fidx_kernel_set* fidx_choose_kernels(const char*)
    void fidx_fill_range(uint64_t*, uint32_t, uint32_t)
    void fidx_set_values(uint64_t*, const uint8_t*, uint32_t)
    void fidx_move_values(uint64_t*, uint64_t*, const uint8_t*, uint32_t)
    uint32_t fidx_to_array(const uint64_t*, uint8_t*)
    uint32_t fidx_to_runs(const uint64_t*, uint8_t*)

cdef enum:
    COOKIE_PLAIN = 12346
    COOKIE_RUNS = 12347
    OFFSETS_FROM = 4           # with run containers, an offset header from this many containers on
    ARRAY = 0
    BITSET = 1
    RUN = 2
    CHUNK_ROWS = 65536
    CHUNK_WORDS = 1024
    CHUNK_BYTES = 8192
    ARRAY_MOST = 4096          # values of the largest array container

cdef struct Container:
    const uint8_t* data        # values, words or (start, length - 1) pairs
    uint32_t cardinality       # as stored: 1 to 65,536
    uint16_t key               # high 16 bits of its rows
    uint16_t run_count
    uint8_t kind

cdef struct Bitmap:            # a run of containers in a Pool
    uint32_t first
    uint32_t count

cdef struct Fault:             # what a nogil parser found wrong; turned into an error by raise_fault
    const char* name
    Py_ssize_t at              # relative to the parsed bytes
    long long expected
    long long found
    const char* rule
    bint truncated

cdef class Pool:
    """Container tables of many bitmaps, one allocation."""
    cdef Container* items
    cdef uint32_t size
    cdef uint32_t capacity
    cdef int reserve(self, uint32_t more) except -1 nogil

cdef Py_ssize_t parse(const uint8_t* data, Py_ssize_t size, uint64_t row_count, Pool pool, Bitmap* out,
                      Fault* fault) except -2 nogil
cdef object raise_fault(Source source, object where, Py_ssize_t base, Fault* fault)

cdef bint fill(const Container* container, uint64_t* words) noexcept nogil
cdef bint is_full(const Container* container) noexcept nogil
cdef int well_formed(const Container* container, uint32_t limit) noexcept nogil

cdef class RowsWriter:
    """Builds serialized rows chunk by chunk, keys ascending."""
    cdef uint8_t* data
    cdef size_t used
    cdef size_t capacity
    cdef Container* table      # data is an offset into the buffer here, not a pointer
    cdef uint32_t count
    cdef uint32_t table_capacity
    cdef uint64_t row_count
    cdef bint any_run
    cdef int ensure(self, size_t more) except -1 nogil
    cdef uint32_t limit(self, uint32_t key) noexcept nogil
    cdef int put_words(self, uint16_t key, const uint64_t* words) except -1 nogil
    cdef int put_range(self, uint16_t key, uint32_t start, uint32_t end) except -1 nogil
    cdef int put_holes(self, uint16_t key, const uint64_t* words, uint32_t hole_count) except -1 nogil
    cdef int put_container(self, const Container* container) except -1 nogil
    cdef uint64_t cardinality(self) noexcept nogil
    cdef object finish(self)

cdef const fidx_kernel_set* kernels() noexcept nogil
cdef uint32_t chunk_count(uint64_t row_count) noexcept nogil
cdef uint32_t chunk_limit(uint64_t row_count, uint32_t key) noexcept nogil
cdef object range_rows(uint64_t start, uint64_t end)
