"""Key encodings: how each physical key type stands in an index, and how keys compare.

    kind      stored as                          sorts as
    bool      1 byte, 0 or 1                     0 < 1
    int8..64  big-endian two's complement        signed
    float32   big-endian IEEE 754 bits           Java's compare: -0.0 < 0.0, NaN equal to itself and above infinity
    float64   the same, 8 bytes
    bytes     be32 length, then the bytes        unsigned bytes, the shorter one first (UTF-8 strings)

Fixed-width keys become an int64 that sorts the same way ("sortable"), so every search below compares int64 or bytes.
A :class:`Keys` is the set a predicate asks for: ranges of keys, and for LIKE a pattern over the bytes.
"""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp

KINDS = ("bool", "int8", "int16", "int32", "int64", "float32", "float64", "bytes")
_CODES = {name: code for code, name in enumerate(KINDS)}


cdef int kind_code(str name) except -1:
    return _CODES[name]


cdef object key_object(int kind, const Key* key):
    """The key as Python sees it: the sortable int, or bytes."""
    return key.data[:key.size] if kind == BYTES else key.value


@cython.final
cdef class Keys:
    """Ranges of keys, ready for the kernels.

    Parameters
    ----------
    kind : str           a name of ``KINDS``
    ranges : sequence of (lo, hi)   ascending and disjoint: inclusive sortable ints for fixed widths, half-open bytes for
                         ``"bytes"`` with hi None for no upper end
    like : sequence or None   tokens: bytes, 1 for one code point, 2 for any run

    Example
    -------
    >>> Keys("int32", ((1, 1), (5, 9))).count
    2
    """

    def __cinit__(self, str kind, ranges, like=None):
        cdef Py_ssize_t i
        self.kind = kind_code(kind)
        self.count = len(ranges)
        self.lo = <Key*> calloc(self.count + 1, sizeof(Key))
        self.hi = <Key*> calloc(self.count + 1, sizeof(Key))
        if self.lo == NULL or self.hi == NULL:
            raise MemoryError()
        held = []
        for i in range(self.count):
            lo, hi = ranges[i]
            if self.kind != BYTES:
                self.lo[i].value = lo
                self.hi[i].value = hi
            else:
                held.append(lo)
                self.lo[i].data = <const uint8_t*> PyBytes_AS_STRING(lo)
                self.lo[i].size = PyBytes_GET_SIZE(lo)
                if hi is None:
                    self.unbounded = True
                else:
                    held.append(hi)
                    self.hi[i].data = <const uint8_t*> PyBytes_AS_STRING(hi)
                    self.hi[i].size = PyBytes_GET_SIZE(hi)
        if like is not None:
            self.has_like = True
            self.token_count = len(like)
            self.tokens = <Token*> calloc(self.token_count + 1, sizeof(Token))
            if self.tokens == NULL:
                raise MemoryError()
            for i in range(self.token_count):
                token = like[i]
                if isinstance(token, bytes):
                    held.append(token)
                    self.tokens[i].kind = TOKEN_BYTES
                    self.tokens[i].data = <const uint8_t*> PyBytes_AS_STRING(token)
                    self.tokens[i].size = PyBytes_GET_SIZE(token)
                else:
                    self.tokens[i].kind = token
        self.held = held

    def __dealloc__(self):
        free(self.lo)
        free(self.hi)
        free(self.tokens)

    cdef bint above(self, Py_ssize_t i, const Key* key) noexcept nogil:
        """Whether ``key`` lies above range ``i``."""
        if self.kind == BYTES:
            if self.unbounded and i == self.count - 1:
                return False
            return compare_bytes(key.data, key.size, self.hi[i].data, self.hi[i].size) >= 0
        return key.value > self.hi[i].value

    cdef bint match(self, const uint8_t* data, Py_ssize_t size) noexcept nogil:
        """LIKE over UTF-8 bytes: linear but for the last ``%``, which is the only place to come back to."""
        cdef Py_ssize_t at = 0, t = 0, back_t = -1, back_at = 0
        cdef Token* token
        cdef bint ok
        while True:
            if t == self.token_count:
                if at == size:
                    return True
                ok = False
            else:
                token = &self.tokens[t]
                if token.kind == TOKEN_RUN:
                    back_t = t
                    back_at = at
                    t += 1
                    continue
                if token.kind == TOKEN_CHAR:
                    ok = at < size
                    if ok:
                        at += 1
                        while at < size and data[at] & 0xC0 == 0x80:
                            at += 1
                else:
                    ok = token.size <= size - at and (
                        token.size == 0 or memcmp(data + at, token.data, <size_t> token.size) == 0)
                    at += token.size if ok else 0
                if ok:
                    t += 1
                    continue
            if back_t < 0 or back_at >= size:
                return False
            back_at += 1           # the run takes one more byte
            while back_at < size and data[back_at] & 0xC0 == 0x80:
                back_at += 1
            at = back_at
            t = back_t + 1

    def only_single(self, Py_ssize_t most):
        """Whether these are at most ``most`` single keys."""
        cdef Py_ssize_t i
        if self.count > most:
            return False
        for i in range(self.count):
            if not is_single(self.kind, &self.lo[i], &self.hi[i], self.unbounded and i == self.count - 1):
                return False
        return True

    def matches(self, data):
        """Whether the pattern alone matches ``data`` (bytes); for tests and residual filters."""
        return bool(self.match(<const uint8_t*> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data)))
