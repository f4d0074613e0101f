"""Bytes become numbers here and nowhere else: by shifts, so alignment and the machine's byte order cannot matter."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef inline uint16_t le16(const uint8_t* p) noexcept nogil:
    return <uint16_t> (p[0] | (<uint32_t> p[1] << 8))

cdef inline uint32_t le32(const uint8_t* p) noexcept nogil:
    return p[0] | (<uint32_t> p[1] << 8) | (<uint32_t> p[2] << 16) | (<uint32_t> p[3] << 24)

cdef inline uint64_t le64(const uint8_t* p) noexcept nogil:
    return <uint64_t> le32(p) | (<uint64_t> le32(p + 4) << 32)

cdef inline uint16_t be16(const uint8_t* p) noexcept nogil:
    return <uint16_t> (p[1] | (<uint32_t> p[0] << 8))

cdef inline uint32_t be32(const uint8_t* p) noexcept nogil:
    return p[3] | (<uint32_t> p[2] << 8) | (<uint32_t> p[1] << 16) | (<uint32_t> p[0] << 24)

cdef inline int32_t be32s(const uint8_t* p) noexcept nogil:
    return <int32_t> be32(p)

cdef inline uint64_t be64(const uint8_t* p) noexcept nogil:
    return <uint64_t> be32(p + 4) | (<uint64_t> be32(p) << 32)

cdef inline void put_le16(uint8_t* p, uint32_t v) noexcept nogil:
    p[0] = <uint8_t> v
    p[1] = <uint8_t> (v >> 8)

cdef inline void put_le32(uint8_t* p, uint32_t v) noexcept nogil:
    p[0] = <uint8_t> v
    p[1] = <uint8_t> (v >> 8)
    p[2] = <uint8_t> (v >> 16)
    p[3] = <uint8_t> (v >> 24)

cdef inline void put_be16(uint8_t* p, uint32_t v) noexcept nogil:
    p[0] = <uint8_t> (v >> 8)
    p[1] = <uint8_t> v

cdef inline void put_be32(uint8_t* p, uint32_t v) noexcept nogil:
    p[0] = <uint8_t> (v >> 24)
    p[1] = <uint8_t> (v >> 16)
    p[2] = <uint8_t> (v >> 8)
    p[3] = <uint8_t> v

cdef inline void put_be64(uint8_t* p, uint64_t v) noexcept nogil:
    put_be32(p, <uint32_t> (v >> 32))
    put_be32(p + 4, <uint32_t> v)


cdef class View:
    """A checked range of the input; ``at`` is where it stands in what the caller handed over."""
    cdef const uint8_t* data
    cdef Py_ssize_t size
    cdef Py_ssize_t at
    cdef object owner          # keeps ``data`` alive


cdef class Cursor:
    """Reads big-endian numbers off a view, in order, each read checked against what is left."""
    cdef View view
    cdef Source source
    cdef object where
    cdef Py_ssize_t pos
    cdef int need(self, Py_ssize_t size, object name) except -1
    cdef int64_t u8(self, object name) except? -1
    cdef int64_t i32(self, object name) except? -1
    cdef int64_t count32(self, object name, Py_ssize_t most) except -1
    cdef object utf(self, object name)


cdef class Source:
    """Where index bytes come from; every range handed out lies inside the source."""
    cdef readonly object path
    cdef readonly Py_ssize_t size
    cdef readonly bint in_memory
    cdef readonly Py_ssize_t request_count
    cdef readonly Py_ssize_t bytes_read
    cdef object _buffer        # Py_buffer holder of a bytes-like source
    cdef object _file          # binary file object, or None
    cdef int _fd               # descriptor opened by us, or -1
    cdef list _windows         # views read so far, newest last
    cdef View read(self, Py_ssize_t at, Py_ssize_t size, object where)
    cdef View _fetch(self, Py_ssize_t at, Py_ssize_t size, object where)
    cdef object corrupt(self, object where, object at, object expected, object found)
    cdef object truncated(self, object where, object at, object expected, object found)
    cdef object unsupported(self, object where, object at, object expected, object found)
