from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from paimon_fidx.core.buffers cimport Arena
from paimon_fidx.core.columns cimport KeyColumn
from paimon_fidx.core.cursor cimport put_be16, put_be32, put_be64
from paimon_fidx.core.keys cimport FLOAT32, FLOAT64, INT16, INT32
from paimon_fidx.core.planes cimport lowest_bit
from paimon_fidx.core.texts cimport Text

cdef class Codes:
    """The distinct keys of a column in ascending order, and which rows have which."""
    cdef readonly KeyColumn column
    cdef readonly Py_ssize_t distinct_count
    cdef const int32_t* narrow     # one of the three, distinct_count long
    cdef const int64_t* wide
    cdef const Text* texts
    cdef uint32_t* codes           # row -> number of its key, 0 for NULL; after need_codes
    cdef uint32_t* rows            # rows grouped by key, ascending in each group; after need_rows
    cdef uint64_t* heads           # bit set: this place in rows begins a group
    cdef Py_ssize_t kept           # rows that are not NULL
    cdef bint sorted
    cdef Arena arena
    cdef int need_codes(self) except -1
    cdef int need_rows(self) except -1
    cdef int take_heads(self) except -1
    cdef int sort(self, bint want_codes) except -1
    cdef int sort_direct(self, int64_t least, uint64_t span, bint want_codes) except -1
    cdef bint sort_few(self) except -1
    cdef int sort_many(self, int64_t least, uint64_t span, bint want_codes) except -1
    cdef int sort_wide(self, int64_t least, bint want_codes) except -1
    cdef int sort_texts(self) except -1
    cdef int take_keys(self, Py_ssize_t count) except -1
    cdef int rank(self, const uint32_t* ranks) except -1


cdef inline Py_ssize_t next_head(const uint64_t* heads, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
    """The first place from ``at`` on that begins a group, or ``end``."""
    cdef Py_ssize_t word = at >> 6, last = (end - 1) >> 6
    cdef uint64_t bits
    if at >= end:
        return end
    bits = heads[word] >> (at & 63)
    if bits:
        return at + lowest_bit(bits)
    while word < last:
        word += 1
        if heads[word]:
            return word << 6 | lowest_bit(heads[word])
    return end


cdef inline Py_ssize_t key_len(Codes codes, int width, Py_ssize_t i) noexcept nogil:
    """Bytes key ``i`` takes; ``width`` is keys.key_width of the kind."""
    return width if width else 4 + <Py_ssize_t> codes.texts[i].size


cdef inline uint8_t* put_key(Codes codes, int kind, Py_ssize_t i, uint8_t* out) noexcept nogil:
    """Writes key ``i``; returns the end."""
    cdef uint32_t bits
    cdef uint64_t wide
    if kind == INT32:
        put_be32(out, <uint32_t> codes.narrow[i])
        return out + 4
    if codes.wide != NULL:
        wide = <uint64_t> codes.wide[i]
        if kind == FLOAT64 and wide >> 63:
            wide ^= <uint64_t> 0x7fffffffffffffff
        put_be64(out, wide)
        return out + 8
    if codes.texts != NULL:
        put_be32(out, codes.texts[i].size)
        memcpy(out + 4, codes.texts[i].at, codes.texts[i].size)
        return out + 4 + codes.texts[i].size
    bits = <uint32_t> codes.narrow[i]
    if kind == FLOAT32:
        put_be32(out, bits ^ 0x7fffffff if bits >> 31 else bits)
        return out + 4
    if kind == INT16:
        put_be16(out, bits)
        return out + 2
    out[0] = <uint8_t> bits
    return out + 1
