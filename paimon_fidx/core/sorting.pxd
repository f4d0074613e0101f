from libc.stdint cimport uint64_t

cdef struct Pair:              # a key that leaves no room for its row
    uint64_t key
    uint64_t row

cdef uint64_t* sort_words(uint64_t* words, uint64_t* spare, Py_ssize_t n, int low, int high) noexcept nogil
cdef Pair* sort_pairs(Pair* pairs, Pair* spare, Py_ssize_t n) noexcept nogil
