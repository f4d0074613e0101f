from libc.stdint cimport uint64_t

from paimon_fidx.core.cursor cimport Source
from paimon_fidx.core.keys cimport Keys

cdef class Reader:
    cdef Source source
    cdef object where
    cdef readonly Py_ssize_t start
    cdef readonly Py_ssize_t length
    cdef readonly int hash_count
    cdef uint64_t bit_count
    cdef int kind
    cdef bint test(self, uint64_t hash) except -1
