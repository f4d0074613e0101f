from libc.stdint cimport int64_t, uint32_t, uint64_t

from paimon_fidx.core.cursor cimport Source, View
from paimon_fidx.core.keys cimport Key, Keys
from paimon_fidx.core.slices cimport Slices

cdef struct Chunk:             # of the dictionary
    Key key                    # its first key
    int64_t code               # that key's code
    int64_t keys_at            # segment offset of the further keys
    int64_t size               # how many
    int64_t offsets_len        # bytes kind: 4 * size
    int64_t keys_len

cdef class Reader:
    cdef Source source
    cdef object where
    cdef readonly Py_ssize_t start
    cdef readonly Py_ssize_t length
    cdef readonly int64_t row_count
    cdef readonly int64_t cardinality
    cdef int kind
    cdef Py_ssize_t dictionary_at
    cdef Py_ssize_t dictionary_len
    cdef Py_ssize_t slices_at
    cdef int64_t chunk_total
    cdef Py_ssize_t chunks_at
    cdef Py_ssize_t chunks_len
    cdef Py_ssize_t offsets_at
    cdef View offsets          # offsets and chunk headers, once read
    cdef Slices slices
    cdef int load_dictionary(self) except -1
    cdef Slices existence
    cdef int64_t slices_head(self, int64_t* ebm_len) except -1
    cdef Slices load_ebm(self)
    cdef Slices parse_ebm(self, View view)
    cdef Slices load_slices(self)
    cdef View next_chunk(self, int64_t i, Chunk* chunk, const Chunk* previous)
    cdef int chunk(self, int64_t i, Chunk* out) except -1
    cdef View chunk_keys(self, const Chunk* chunk)
    cdef int key_in(self, const Chunk* chunk, View keys, int64_t j, Key* out) except -1
    cdef int64_t lower_bound(self, const Key* key, bint* hit) except -1
    cdef int64_t _chunk_before(self, const Key* key) except -1
