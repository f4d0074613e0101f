"""Cells of binlog columns that Arrow does not know: sparse vectors, arrays (protobuf), dense vectors kept as binary.

    sparse vector: repeated                                                      little-endian
    0    le32     index
    4    le32     value            float32 bits

    array: a protobuf message, at most one kind of field, which may come in parts
    field 1 bool, 2 int, 3 long, 4 float, 5 double, 6 string, 7 bytes, 9 json, 10 geometry, 11 timestamptz;
    each a message whose field 1 holds the values: packed or one by one; string, bytes, json, geometry one by one

Columns come as Arrow's buffers of a binary array: ``offsets`` of ``row_count`` + 1 int32 after ``first`` rows that are
passed over, ``data``, and a validity bitmap or None. Offsets are checked here, row by row. A row that breaks a rule is
a :class:`BadRow`; the caller knows the file and the event.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from paimon_fidx.core.cursor cimport le32, put_le32

cdef enum:
    BOOL_DATA = 1
    INT_DATA = 2
    LONG_DATA = 3
    FLOAT_DATA = 4
    DOUBLE_DATA = 5
    STRING_DATA = 6
    BYTES_DATA = 7
    JSON_DATA = 9
    GEOMETRY_DATA = 10
    TIMESTAMPTZ_DATA = 11
    # wire types
    VARINT = 0
    EIGHT = 1
    BYTES = 2
    FOUR = 5


class BadRow(ValueError):
    """A cell that breaks the layout. ``row``: counted in the array that was handed in; ``reason``: what is wrong."""

    def __init__(self, row, reason):
        self.row = row
        self.reason = reason
        super().__init__(f"row {row}: {reason}")


cdef struct Column:
    const uint8_t* data
    const uint8_t* offsets
    const uint8_t* validity    # NULL: no nulls
    int64_t size               # of data
    int64_t first


cdef Column _column(const uint8_t[::1] data, const uint8_t[::1] offsets, const uint8_t[::1] validity,
                    Py_ssize_t first, Py_ssize_t row_count) except *:
    cdef Column column
    if first < 0 or row_count < 0 or (first + row_count + 1) * 4 > (offsets.shape[0] if offsets is not None else 0):
        raise ValueError("the offsets are shorter than the rows")
    if validity is not None and (first + row_count + 7) // 8 > validity.shape[0]:
        raise ValueError("the validity bitmap is shorter than the rows")
    column.size = data.shape[0] if data is not None else 0
    column.data = &data[0] if column.size else NULL
    column.offsets = &offsets[0]
    column.validity = &validity[0] if validity is not None and validity.shape[0] else NULL
    column.first = first
    return column


cdef inline bint _cell(const Column* column, int64_t row, int64_t* at, int64_t* size) noexcept nogil:
    """Where a row's bytes stand; a null row has none. False where the offsets are wrong."""
    cdef int64_t i = column.first + row, start, end
    if column.validity != NULL and not column.validity[i >> 3] >> (i & 7) & 1:
        at[0] = 0
        size[0] = 0
        return True
    start = <int32_t> le32(column.offsets + i * 4)
    end = <int32_t> le32(column.offsets + i * 4 + 4)
    if start < 0 or end < start or end > column.size:
        return False
    at[0] = start
    size[0] = end - start
    return True


def sparse(const uint8_t[::1] data, const uint8_t[::1] offsets, const uint8_t[::1] validity, Py_ssize_t first,
           Py_ssize_t row_count):
    """Sparse vectors apart: (list offsets int32, indexes uint32, values float32), each as bytes. Raises BadRow."""
    cdef Column column = _column(data, offsets, validity, first, row_count)
    cdef int64_t row, at = 0, size = 0, total = 0, pairs = 0, i
    cdef int64_t bad = -1
    with nogil:
        for row in range(row_count):
            if not _cell(&column, row, &at, &size) or size & 7:
                bad = row
                break
            total += size >> 3
    if bad >= 0:
        raise BadRow(bad, f"a sparse vector is pairs of 8 bytes, not {size} bytes")
    cdef bytes lists = PyBytes_FromStringAndSize(NULL, (row_count + 1) * 4)
    cdef bytes indexes = PyBytes_FromStringAndSize(NULL, total * 4)
    cdef bytes values = PyBytes_FromStringAndSize(NULL, total * 4)
    cdef uint8_t* list_out = <uint8_t*> PyBytes_AS_STRING(lists)
    cdef uint8_t* index_out = <uint8_t*> PyBytes_AS_STRING(indexes)
    cdef uint8_t* value_out = <uint8_t*> PyBytes_AS_STRING(values)
    with nogil:
        put_le32(list_out, 0)
        for row in range(row_count):
            # read again: were the buffer to change meanwhile, pairs stay below the total counted before
            if _cell(&column, row, &at, &size) and size >> 3 <= total - pairs:
                for i in range(size >> 3):
                    memcpy(index_out + pairs * 4, column.data + at + i * 8, 4)
                    memcpy(value_out + pairs * 4, column.data + at + i * 8 + 4, 4)
                    pairs += 1
            put_le32(list_out + (row + 1) * 4, <uint32_t> pairs)
    return lists, indexes, values


def dense(const uint8_t[::1] data, const uint8_t[::1] offsets, const uint8_t[::1] validity, Py_ssize_t first,
          Py_ssize_t row_count, Py_ssize_t width):
    """Rows of ``width`` bytes each, one after the other, zeros for nulls. BadRow where a row has another length."""
    cdef Column column = _column(data, offsets, validity, first, row_count)
    cdef int64_t row, at = 0, size = 0, i, bad = -1
    with nogil:
        for row in range(row_count):
            i = first + row
            if column.validity != NULL and not column.validity[i >> 3] >> (i & 7) & 1:
                continue
            if not _cell(&column, row, &at, &size) or size != width:
                bad = row
                break
    if bad >= 0:
        raise BadRow(bad, f"a vector of {width} bytes expected, {size} bytes found")
    cdef bytes out = PyBytes_FromStringAndSize(NULL, row_count * width)
    cdef uint8_t* p = <uint8_t*> PyBytes_AS_STRING(out)
    with nogil:
        for row in range(row_count):
            if _cell(&column, row, &at, &size) and size == width:
                memcpy(p + row * width, column.data + at, width)
            else:
                memset(p + row * width, 0, width)
    return out


def is_ascii(const uint8_t[::1] data):
    """Whether all bytes are below 0x80."""
    cdef Py_ssize_t i = 0, size = data.shape[0], stop
    cdef uint8_t seen = 0
    with nogil:
        while i < size and seen < 0x80:
            stop = min(size, i + 4096)
            while i < stop:
                seen |= data[i]        # the compiler makes vectors of this loop
                i += 1
    return seen < 0x80


# --- arrays

cdef struct Values:
    int kind               # 0: not known yet
    int64_t count          # values so far
    int64_t size           # bytes of strings so far
    int64_t most_count     # room
    int64_t most_size
    uint8_t* fixed         # values of fixed width; NULL: count only
    uint8_t* ends          # int32 offsets of strings; fixed is then their bytes
    bint store


cdef inline bint _varint(const uint8_t* p, int64_t end, int64_t* at, uint64_t* value) noexcept nogil:
    """A protobuf varint of at most ten bytes."""
    cdef uint64_t result = 0
    cdef int shift = 0
    cdef uint8_t byte
    while at[0] < end and shift < 70:
        byte = p[at[0]]
        at[0] += 1
        result |= <uint64_t> (byte & 0x7f) << shift       # at most 63
        if byte < 0x80:
            value[0] = result
            return True
        shift += 7
    return False


cdef inline int _width(int kind) noexcept nogil:
    if kind == BOOL_DATA:
        return 1
    if kind == INT_DATA or kind == FLOAT_DATA:
        return 4
    return 8


cdef inline const char* _put(Values* out, uint64_t value) noexcept nogil:
    """One number of a varint kind."""
    cdef uint8_t* p
    cdef int64_t number = <int64_t> value
    if out.kind == INT_DATA and (number > 0x7fffffff or number < -<int64_t> 0x80000000):
        return "an int beyond 32 bits"
    if out.kind == BOOL_DATA and value > 1:
        return "a boolean neither 0 nor 1"
    if out.store:
        if out.count >= out.most_count:
            return "the bytes changed while they were read"
        p = out.fixed + out.count * _width(out.kind)
        if out.kind == BOOL_DATA:
            p[0] = <uint8_t> value
        else:
            put_le32(p, <uint32_t> value)
            if out.kind != INT_DATA:
                put_le32(p + 4, <uint32_t> (value >> 32))
    out.count += 1
    return NULL


cdef const char* _values(const uint8_t* p, int64_t at, int64_t end, Values* out) noexcept nogil:
    """The inner message: its field 1, over and over."""
    cdef uint64_t tag = 0, size = 0, value = 0
    cdef int64_t stop
    cdef int wire, width
    cdef const char* wrong
    while at < end:
        if not _varint(p, end, &at, &tag):
            return "a tag that does not end"
        wire = <int> (tag & 7)
        if tag >> 3 != 1:
            return "a field of the values other than 1"
        if out.kind in (BOOL_DATA, INT_DATA, LONG_DATA, TIMESTAMPTZ_DATA):
            if wire == VARINT:
                if not _varint(p, end, &at, &value):
                    return "a number that does not end"
                wrong = _put(out, value)
                if wrong != NULL:
                    return wrong
                continue
            if wire != BYTES:
                return "a wire type that does not fit the kind"
            if not _varint(p, end, &at, &size) or size > <uint64_t> (end - at):
                return "a length beyond the cell"
            stop = at + <int64_t> size
            while at < stop:
                if not _varint(p, stop, &at, &value):
                    return "a number that does not end"
                wrong = _put(out, value)
                if wrong != NULL:
                    return wrong
        elif out.kind == FLOAT_DATA or out.kind == DOUBLE_DATA:
            width = _width(out.kind)
            if wire == (FOUR if width == 4 else EIGHT):
                size = width
                if <int64_t> size > end - at:
                    return "a length beyond the cell"
            elif wire != BYTES:
                return "a wire type that does not fit the kind"
            elif not _varint(p, end, &at, &size) or size > <uint64_t> (end - at):
                return "a length beyond the cell"
            elif size % width:
                return "packed numbers whose length is no multiple of their width"
            if out.store:
                if <int64_t> size // width > out.most_count - out.count:
                    return "the bytes changed while they were read"
                memcpy(out.fixed + out.count * width, p + at, size)
            out.count += <int64_t> size // width
            at += <int64_t> size
        else:
            if wire != BYTES:
                return "a wire type that does not fit the kind"
            if not _varint(p, end, &at, &size) or size > <uint64_t> (end - at):
                return "a length beyond the cell"
            if out.store:
                if out.count >= out.most_count or <int64_t> size > out.most_size - out.size:
                    return "the bytes changed while they were read"
                memcpy(out.fixed + out.size, p + at, size)
                put_le32(out.ends + (out.count + 1) * 4, <uint32_t> (out.size + <int64_t> size))
            out.size += <int64_t> size
            out.count += 1
            at += <int64_t> size
    return NULL


cdef const char* _array(const uint8_t* p, int64_t at, int64_t end, Values* out) noexcept nogil:
    """One cell: the outer message."""
    cdef uint64_t tag = 0, size = 0
    cdef int kind
    cdef const char* wrong
    while at < end:
        if not _varint(p, end, &at, &tag):
            return "a tag that does not end"
        if tag & 7 != BYTES:
            return "a wire type other than 2"
        if tag >> 3 > TIMESTAMPTZ_DATA or tag >> 3 == 8 or tag >> 3 == 0:
            return "a kind of array that is not known"
        kind = <int> (tag >> 3)
        if out.kind == 0:
            out.kind = kind
        if kind != out.kind:
            return "two kinds of arrays in one column"
        if not _varint(p, end, &at, &size) or size > <uint64_t> (end - at):
            return "a length beyond the cell"
        wrong = _values(p, at, at + <int64_t> size, out)
        if wrong != NULL:
            return wrong
        at += <int64_t> size
    return NULL


cdef const char* _row(const Column* column, int64_t row, Values* out) noexcept nogil:
    cdef int64_t at = 0, size = 0
    if not _cell(column, row, &at, &size):
        return "offsets outside the data"
    return _array(column.data, at, at + size, out)


def arrays(const uint8_t[::1] data, const uint8_t[::1] offsets, const uint8_t[::1] validity, Py_ssize_t first,
           Py_ssize_t row_count, int kind=0):
    """A column of arrays: (kind, list offsets int32, values, value offsets int32 or None).

    kind : the number of the field that holds the values, 0 where no row tells; booleans come as one byte each.
    Raises BadRow.
    """
    cdef Column column = _column(data, offsets, validity, first, row_count)
    cdef Values out
    cdef int64_t row = 0
    cdef const char* wrong = NULL
    cdef bytes lists, values, ends = None
    cdef uint8_t* list_out
    memset(&out, 0, sizeof(Values))
    out.kind = kind
    with nogil:
        for row in range(row_count):
            wrong = _row(&column, row, &out)
            if wrong != NULL:
                break
    if wrong != NULL:
        raise BadRow(row, wrong.decode())
    lists = PyBytes_FromStringAndSize(NULL, (row_count + 1) * 4)
    list_out = <uint8_t*> PyBytes_AS_STRING(lists)
    out.most_count = out.count
    out.most_size = out.size
    # numbers take up to eight bytes for one of the input, and no more
    if out.kind in (STRING_DATA, BYTES_DATA, JSON_DATA, GEOMETRY_DATA):
        values = PyBytes_FromStringAndSize(NULL, out.size)
        ends = PyBytes_FromStringAndSize(NULL, (out.count + 1) * 4)
        out.ends = <uint8_t*> PyBytes_AS_STRING(ends)
        put_le32(out.ends, 0)
    else:
        values = PyBytes_FromStringAndSize(NULL, out.count * _width(out.kind))
    out.fixed = <uint8_t*> PyBytes_AS_STRING(values)
    out.count = 0
    out.size = 0
    out.store = True
    with nogil:
        put_le32(list_out, 0)
        for row in range(row_count):
            wrong = _row(&column, row, &out)
            if wrong != NULL:
                break
            put_le32(list_out + (row + 1) * 4, <uint32_t> out.count)
    if wrong != NULL or out.count != out.most_count or out.size != out.most_size:
        raise BadRow(row, "the bytes changed while they were read")
    return out.kind, lists, values, ends


# --- the same backwards

cdef inline int64_t _varint_len(uint64_t value) noexcept nogil:
    cdef int64_t size = 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size


cdef inline uint8_t* _put_varint(uint8_t* p, uint64_t value) noexcept nogil:
    while value >= 0x80:
        p[0] = <uint8_t> (value | 0x80)
        p += 1
        value >>= 7
    p[0] = <uint8_t> value
    return p + 1


cdef inline uint64_t _number(const uint8_t* p, int64_t i, int width) noexcept nogil:
    """A stored number as protobuf widens it: ints by their sign, to 64 bits."""
    if width == 1:
        return p[i]
    if width == 4:
        return <uint64_t> <int64_t> <int32_t> le32(p + i * 4)
    return <uint64_t> le32(p + i * 8) | <uint64_t> le32(p + i * 8 + 4) << 32


def interleave(const uint8_t[::1] indexes, const uint8_t[::1] values):
    """Sparse vectors back together: (index, value) pairs of 8 bytes. ValueError for sides of two lengths."""
    cdef Py_ssize_t i, count = indexes.shape[0] // 4
    if indexes.shape[0] % 4 or values.shape[0] != indexes.shape[0]:
        raise ValueError(f"{indexes.shape[0]} bytes of indexes, {values.shape[0]} of values")
    cdef bytes out = PyBytes_FromStringAndSize(NULL, count * 8)
    cdef uint8_t* p = <uint8_t*> PyBytes_AS_STRING(out)
    for i in range(count):
        memcpy(p + i * 8, &indexes[i * 4], 4)
        memcpy(p + i * 8 + 4, &values[i * 4], 4)
    return out


def encode_array(int kind, const uint8_t[::1] values, const uint8_t[::1] ends=None):
    """One array as the protobuf message above: values of fixed width, booleans one byte each, or strings.

    ends : int32 offsets of the strings in ``values``, one more than there are strings; starts need not be 0
    """
    cdef int64_t inner = 0, run = 0, i, count, start, end
    cdef int width = _width(kind)
    cdef bint fixed = kind == FLOAT_DATA or kind == DOUBLE_DATA
    cdef const uint8_t* source = &values[0] if values is not None and values.shape[0] else NULL
    cdef int64_t size = values.shape[0] if values is not None else 0
    cdef uint8_t* p
    if ends is not None:
        count = ends.shape[0] // 4 - 1
        end = 0
        for i in range(count):
            start = <int32_t> le32(&ends[i * 4])
            end = <int32_t> le32(&ends[i * 4 + 4])
            if start < 0 or end < start or end > size:
                raise ValueError("the ends of the strings are outside the values")
            inner += 1 + _varint_len(<uint64_t> (end - start)) + end - start
    else:
        count = size // width
        if fixed:
            run = size
        else:
            for i in range(count):
                run += _varint_len(_number(source, i, width))
        if count:
            inner = 1 + _varint_len(<uint64_t> run) + run
    cdef bytes out = PyBytes_FromStringAndSize(NULL, 1 + _varint_len(<uint64_t> inner) + inner)
    p = <uint8_t*> PyBytes_AS_STRING(out)
    p[0] = <uint8_t> (kind << 3 | BYTES)
    p = _put_varint(p + 1, <uint64_t> inner)
    if ends is not None:
        for i in range(count):
            start = <int32_t> le32(&ends[i * 4])
            end = <int32_t> le32(&ends[i * 4 + 4])
            p[0] = 1 << 3 | BYTES
            p = _put_varint(p + 1, <uint64_t> (end - start))
            if end > start:
                memcpy(p, source + start, end - start)
            p += end - start
    elif count:
        p[0] = 1 << 3 | BYTES
        p = _put_varint(p + 1, <uint64_t> run)
        if fixed:
            memcpy(p, source, size)
        else:
            for i in range(count):
                p = _put_varint(p, _number(source, i, width))
    return out
