"""Checked access to index bytes: sources, views, the big-endian cursor, Java's modified UTF-8.

A :class:`Source` hands out :class:`View` objects, ranges that are known to lie inside the input. Bytes-like input is
viewed without a copy. A path or a file object is read by ranges; what was read is kept, so nothing is asked for twice,
and ``request_count`` and ``bytes_read`` tell what it cost. All errors carry the path and the absolute offset.

Java modified UTF-8 (``DataOutput.writeUTF``): a big-endian uint16 byte length, then one to three bytes a UTF-16 code
unit; U+0000 is C0 80 and characters above U+FFFF are a surrogate pair of three bytes each.
"""
cimport cython
import os

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from paimon_fidx.errors import CorruptError, TruncatedError, UnsupportedError

# The first range read of a file: the head of nearly every index file, and the whole of a small one, in one request.
cdef Py_ssize_t FIRST_READ = 4096
# A range shorter than this is widened to it: a request costs more than the bytes.
cdef Py_ssize_t LEAST_READ = 1024


@cython.final
cdef class _Buffer:
    """Holds a buffer export, so that the memory can neither move nor be freed under a view."""
    cdef Py_buffer buffer
    cdef bint held

    def __cinit__(self, source):
        PyObject_GetBuffer(source, &self.buffer, PyBUF_SIMPLE)
        self.held = True

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.buffer)


@cython.final
cdef class View:
    """A checked range of the input."""

    def __len__(self):
        return self.size

    def tobytes(self):
        return self.data[:self.size]


cdef View _view(const uint8_t* data, Py_ssize_t size, Py_ssize_t at, object owner):
    cdef View view = View.__new__(View)
    view.data = data
    view.size = size
    view.at = at
    view.owner = owner
    return view


@cython.final
cdef class Source:
    """Index bytes behind one interface.

    Parameters
    ----------
    source : bytes-like, str or os.PathLike, or a binary file object with ``seek`` and ``read``

    Attributes
    ----------
    path : str | None; size : int, bytes; in_memory : bool; request_count : int, range reads so far; bytes_read : int
    """

    def __cinit__(self, source):
        cdef _Buffer held
        self._fd = -1
        self._windows = []
        self.path = None
        if isinstance(source, (str, os.PathLike)):
            self.path = os.fspath(source)
            self._fd = os.open(self.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
            self.size = os.fstat(self._fd).st_size
        elif hasattr(source, "read") and hasattr(source, "seek"):
            self._file = source
            name = getattr(source, "name", None)
            self.path = name if isinstance(name, str) else None
            end = source.seek(0, 2)
            self.size = source.tell() if end is None else end      # some file objects return nothing from seek
        else:
            try:
                held = _Buffer(source)
            except (TypeError, BufferError) as error:
                raise TypeError(
                    f"an index source is bytes-like, a path or a binary file object, not {type(source).__name__}"
                ) from error
            self._buffer = held
            self.in_memory = True
            self.size = held.buffer.len
            self._windows.append(_view(<const uint8_t*> held.buffer.buf, held.buffer.len, 0, held))

    def __dealloc__(self):
        if self._fd >= 0:
            os.close(self._fd)

    def close(self):
        """Closes the descriptor opened for a path; a caller's file object stays open."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)
        self._file = None

    cdef View read(self, Py_ssize_t at, Py_ssize_t size, object where):
        """The view of ``size`` bytes at ``at``; TruncatedError when the input ends before that."""
        cdef View window
        cdef Py_ssize_t i
        if at < 0 or size < 0 or at > self.size or size > self.size - at:
            raise self.truncated(where, at, f"{size} bytes", f"{max(0, self.size - at)} up to the end")
        for i in range(len(self._windows) - 1, -1, -1):
            window = self._windows[i]
            if at >= window.at and size <= window.size - (at - window.at):
                return _view(window.data + (at - window.at), size, at, window.owner)
        window = self._fetch(at, min(max(size, FIRST_READ if not self._windows else LEAST_READ), self.size - at), where)
        self._windows.append(window)
        return _view(window.data, size, at, window.owner)

    cdef View _fetch(self, Py_ssize_t at, Py_ssize_t size, object where):
        cdef bytes data
        parts = []
        left = size
        while left:
            if self._fd >= 0:
                part = os.pread(self._fd, left, at + size - left)
            elif self._file is not None:
                self._file.seek(at + size - left)
                part = self._file.read(left)
            else:
                raise ValueError(f"{self.path or 'the index'} is closed")
            self.request_count += 1
            if not isinstance(part, bytes):
                part = bytes(part or b"")
            if not part:      # the file became shorter after we asked for its size
                raise self.truncated(where, at, f"{size} bytes", f"{size - left} before the end of the file")
            if len(part) > left:
                raise self.corrupt(where, at, f"a read of at most {left} bytes", f"{len(part)} bytes from the file object")
            self.bytes_read += len(part)
            left -= len(part)
            parts.append(part)
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        return _view(<const uint8_t*> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), at, data)

    cdef object corrupt(self, object where, object at, object expected, object found):
        return CorruptError(where, path=self.path, offset=at, expected=expected, found=found)

    cdef object truncated(self, object where, object at, object expected, object found):
        return TruncatedError(where, path=self.path, offset=at, expected=expected, found=found)

    cdef object unsupported(self, object where, object at, object expected, object found):
        return UnsupportedError(where, path=self.path, offset=at, expected=expected, found=found)


@cython.final
cdef class Cursor:
    """Big-endian numbers off a view, in order. Each name stands in the error when the view ends too early."""

    cdef int need(self, Py_ssize_t size, object name) except -1:
        if size > self.view.size - self.pos:
            raise self.source.truncated(
                f"{self.where}.{name}", self.view.at + self.pos, f"{size} bytes", f"{self.view.size - self.pos} left")
        return 0

    cdef int64_t u8(self, object name) except? -1:
        self.need(1, name)
        self.pos += 1
        return self.view.data[self.pos - 1]

    cdef int64_t i32(self, object name) except? -1:
        self.need(4, name)
        self.pos += 4
        return be32s(self.view.data + self.pos - 4)

    cdef int64_t count32(self, object name, Py_ssize_t most) except -1:
        """A count or length: not negative, and no more than the bytes present allow (``most``)."""
        cdef int64_t value
        self.need(4, name)
        value = be32s(self.view.data + self.pos)
        if value < 0 or value > most:
            raise self.source.corrupt(
                f"{self.where}.{name}", self.view.at + self.pos, f"0 to {most}", value)
        self.pos += 4
        return value

    cdef object utf(self, object name):
        """A Java modified UTF-8 string."""
        cdef Py_ssize_t size
        self.need(2, name)
        size = be16(self.view.data + self.pos)
        self.pos += 2
        self.need(size, name)
        self.pos += size
        text = decode_modified_utf8(self.view.data[self.pos - size:self.pos])
        if text is None:
            raise self.source.corrupt(
                f"{self.where}.{name}", self.view.at + self.pos - size, "modified UTF-8",
                self.view.data[self.pos - size:self.pos])
        return text


def decode_modified_utf8(bytes data):
    """The text of Java modified UTF-8 bytes (without their length), or None where they are none.

    >>> decode_modified_utf8(b"a\\xc0\\x80")
    'a\\x00'
    """
    if data.isascii() and b"\0" not in data:
        return data.decode("ascii")
    units = []
    cdef Py_ssize_t i = 0, n = len(data)
    cdef uint32_t a
    while i < n:
        a = data[i]
        if 0 < a < 0x80:
            units.append(a)
            i += 1
        elif a >> 5 == 6 and i + 1 < n and data[i + 1] >> 6 == 2:
            units.append((a & 0x1F) << 6 | data[i + 1] & 0x3F)
            i += 2
        elif a >> 4 == 14 and i + 2 < n and data[i + 1] >> 6 == 2 and data[i + 2] >> 6 == 2:
            units.append((a & 0x0F) << 12 | (data[i + 1] & 0x3F) << 6 | data[i + 2] & 0x3F)
            i += 3
        else:
            return None
    # Lone surrogates are legal in Java strings: kept, so that two different names never become one.
    raw = b"".join([unit.to_bytes(2, "little") for unit in units])
    return raw.decode("utf-16-le", "surrogatepass")


def encode_modified_utf8(str text):
    """Java modified UTF-8 of a text, without the length.

    >>> encode_modified_utf8("a\\x00")
    b'a\\xc0\\x80'
    """
    if text.isascii() and "\0" not in text:
        return text.encode("ascii")
    out = bytearray()
    raw = text.encode("utf-16-le", "surrogatepass")
    cdef Py_ssize_t i
    cdef uint32_t unit
    for i in range(0, len(raw), 2):
        unit = raw[i] | raw[i + 1] << 8
        if 0 < unit < 0x80:
            out.append(unit)
        elif unit < 0x800:
            out += bytes((0xC0 | unit >> 6, 0x80 | unit & 0x3F))
        else:
            out += bytes((0xE0 | unit >> 12, 0x80 | unit >> 6 & 0x3F, 0x80 | unit & 0x3F))
    return bytes(out)
