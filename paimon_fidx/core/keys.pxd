from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from paimon_fidx.core.cursor cimport be16, be32, be64

cdef enum:
    BOOL = 0
    INT8 = 1
    INT16 = 2
    INT32 = 3
    INT64 = 4
    FLOAT32 = 5
    FLOAT64 = 6
    BYTES = 7

cdef struct Key:               # one key, wherever it stands
    int64_t value              # fixed-width kinds: sortable
    const uint8_t* data        # bytes kind
    Py_ssize_t size

cdef inline int key_width(int kind) noexcept nogil:
    """Bytes a fixed-width key takes in an index; 0 for the bytes kind."""
    if kind == BOOL or kind == INT8:
        return 1
    if kind == INT16:
        return 2
    if kind == INT32 or kind == FLOAT32:
        return 4
    return 0 if kind == BYTES else 8

cdef inline int64_t sortable32(uint32_t bits) noexcept nogil:
    """float32 bits in Java's Float.compare order: -0.0 below 0.0, every NaN the largest."""
    if bits & 0x7FFFFFFF > 0x7F800000:
        return 0x7FC00000
    return <int32_t> bits if not bits >> 31 else <int32_t> (bits ^ 0x7FFFFFFF)

cdef inline int64_t sortable64(uint64_t bits) noexcept nogil:
    """float64 bits in Java's Double.compare order."""
    if bits & 0x7FFFFFFFFFFFFFFFull > 0x7FF0000000000000ull:
        return 0x7FF8000000000000ll
    return <int64_t> bits if not bits >> 63 else <int64_t> (bits ^ 0x7FFFFFFFFFFFFFFFull)

cdef inline int64_t read_fixed(int kind, const uint8_t* p) noexcept nogil:
    """The key at ``p`` as an int64 that sorts as Java compares the keys."""
    if kind == INT32:
        return <int32_t> be32(p)
    if kind == INT64:
        return <int64_t> be64(p)
    if kind == BOOL:
        return p[0] != 0
    if kind == INT8:
        return <int8_t> p[0]
    if kind == INT16:
        return <int16_t> be16(p)
    if kind == FLOAT32:
        return sortable32(be32(p))
    return sortable64(be64(p))

cdef inline int compare_bytes(const uint8_t* a, Py_ssize_t a_size, const uint8_t* b, Py_ssize_t b_size) noexcept nogil:
    cdef int order = memcmp(a, b, <size_t> min(a_size, b_size)) if a_size and b_size else 0
    return order if order else (a_size > b_size) - (a_size < b_size)

cdef inline int compare_keys(int kind, const Key* a, const Key* b) noexcept nogil:
    if kind == BYTES:
        return compare_bytes(a.data, a.size, b.data, b.size)
    return (a.value > b.value) - (a.value < b.value)

cdef inline bint is_single(int kind, const Key* lo, const Key* hi, bint unbounded) noexcept nogil:
    """Whether the range holds exactly one key: (x, x) for fixed widths, (x, x + NUL) for bytes."""
    if kind == BYTES:
        return not unbounded and hi.size == lo.size + 1 and hi.data[lo.size] == 0 and \
            (lo.size == 0 or memcmp(lo.data, hi.data, <size_t> lo.size) == 0)
    return lo.value == hi.value

cdef struct Token:             # of a LIKE pattern
    int kind
    const uint8_t* data
    Py_ssize_t size

cdef enum:
    TOKEN_BYTES = 0
    TOKEN_CHAR = 1             # one code point
    TOKEN_RUN = 2              # any bytes

cdef class Keys:
    """A set of keys: ascending, disjoint ranges, perhaps with a LIKE pattern that a key must match too."""
    cdef readonly int kind
    cdef readonly Py_ssize_t count
    cdef Key* lo
    cdef Key* hi               # inclusive for fixed widths, exclusive for bytes
    cdef bint unbounded        # the last range of bytes has no upper end
    cdef Token* tokens
    cdef Py_ssize_t token_count
    cdef readonly bint has_like
    cdef object held
    cdef bint above(self, Py_ssize_t i, const Key* key) noexcept nogil
    cdef bint match(self, const uint8_t* data, Py_ssize_t size) noexcept nogil

cdef int kind_code(str name) except -1
cdef object key_object(int kind, const Key* key)
