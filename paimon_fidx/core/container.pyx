"""The index file: a head that names columns and index kinds, then the segments.

    at   type     name           rule                                                        big-endian
    0    be64     magic          1493475289347502
    8    be32     version        1
    12   be32     head_length    bytes from the file's start to the body
    16   be32     column_count
         columns  column_count x
             utf      column_name    be16 length, Java modified UTF-8; "attrs[os]" for a MAP key
             be32     index_count
             entries  index_count x
                 utf      index_kind     "bloom-filter", "bitmap", "bsi", "range-bitmap"
                 be32     start          from the file's start; -1: an empty entry, no value was seen
                 be32     length         0 for an empty entry
         be32     redundant_length   may be absent at the end of the head
         bytes    redundant          skipped: room for later writers
    head_length   segments

Columns are distinct and so are the kinds of a column; segments lie between head_length and the end of the file.
"""
cimport cython
from libc.stdint cimport int64_t, uint32_t

from paimon_fidx.core.buffers cimport Output
from paimon_fidx.core.cursor cimport Cursor, Source, View, be64, put_be32, put_be64

cdef int64_t MAGIC = 1493475289347502
cdef enum:
    VERSION = 1
    PREFIX = 16                # magic, version, head_length
    EMPTY = -1
    MOST_NAME = 65535          # bytes of a name in modified UTF-8


@cython.final
cdef class Container:
    """The head of an index file.

    Parameters
    ----------
    source : Source

    Raises
    ------
    TruncatedError, CorruptError, UnsupportedError (not version 1)

    Attributes
    ----------
    columns : dict[str, dict[str, tuple[int, int]]]   column -> kind -> (start, length), bytes
    """

    def __cinit__(self, Source source not None):
        cdef Cursor cursor = Cursor.__new__(Cursor)
        cdef View prefix
        cdef int64_t version, head_length, column_count, index_count, start, length, i, j, at
        self.source = source
        self.columns = {}
        prefix = source.read(0, PREFIX, "container.head")
        if <int64_t> be64(prefix.data) != MAGIC:
            raise source.corrupt("container.magic", 0, MAGIC, f"{<int64_t> be64(prefix.data)}: not a Paimon index file")
        cursor.source = source
        cursor.view = prefix
        cursor.where = "container"
        cursor.pos = 8
        version = cursor.i32("version")
        if version != VERSION:
            raise source.unsupported("container.version", 8, VERSION, version)
        head_length = cursor.i32("head_length")
        if head_length < PREFIX + 4:
            raise source.corrupt("container.head_length", 12, f"at least {PREFIX + 4}", head_length)
        if head_length > source.size:
            raise source.truncated("container.head_length", 12, f"at most {source.size}, the file's size", head_length)
        self.head_length = head_length
        cursor.view = source.read(0, head_length, "container.head")
        cursor.pos = PREFIX
        column_count = cursor.count32("column_count", (head_length - PREFIX) // 6)
        for i in range(column_count):
            at = cursor.pos
            cursor.where = f"container.column[{i}]"
            column = cursor.utf("name")
            if column in self.columns:
                # Java's writer never does this, and its reader merges such columns; the one column must stand once.
                kinds = self.columns[column]
            else:
                kinds = self.columns[column] = {}
            index_count = cursor.count32("index_count", (head_length - cursor.pos) // 10)
            for j in range(index_count):
                cursor.where = f"container.column[{i}].index[{j}]"
                at = cursor.pos
                kind = cursor.utf("kind")
                if kind in kinds:
                    raise source.corrupt(f"{cursor.where}.kind", at, f"one {kind} index of column {column!r}", "two")
                at = cursor.pos
                start = cursor.i32("start")
                length = cursor.i32("length")
                if start == EMPTY:
                    if length != 0:
                        raise source.corrupt(f"{cursor.where}.length", at + 4, "0 for an empty entry", length)
                elif start < head_length:
                    raise source.corrupt(f"{cursor.where}.start", at, f"at least {head_length}, or -1", start)
                elif length < 0:
                    raise source.corrupt(f"{cursor.where}.length", at + 4, "at least 0", length)
                elif start > source.size or length > source.size - start:
                    raise source.truncated(f"{kind}[{column}]", start, f"{length} bytes",
                                           f"{max(0, source.size - start)} up to the end of the file")
                kinds[kind] = (start, length)
        cursor.where = "container"
        if cursor.pos != head_length:
            length = cursor.count32("redundant_length", head_length - cursor.pos - 4)
            if length != head_length - cursor.pos:
                raise source.corrupt("container.redundant_length", cursor.pos - 4, head_length - cursor.pos, length)


def java_utf(str name):
    """A name as Java's writeUTF stores it: be16 length, then modified UTF-8.

    Raises ValueError when it takes more than 65,535 bytes.

    Example
    -------
    >>> java_utf("a")
    b'\\x00\\x01a'
    """
    units = name.encode("utf-16-be", "surrogatepass")
    body = bytearray()
    for i in range(0, len(units), 2):
        unit = units[i] << 8 | units[i + 1]
        if 1 <= unit < 0x80:
            body.append(unit)
        elif unit < 0x800:
            body += bytes((0xC0 | unit >> 6, 0x80 | unit & 0x3F))
        else:
            body += bytes((0xE0 | unit >> 12, 0x80 | unit >> 6 & 0x3F, 0x80 | unit & 0x3F))
    if len(body) > MOST_NAME:
        raise ValueError(f"the name {name[:40]!r}... takes {len(body)} bytes, more than the {MOST_NAME} of a file")
    return len(body).to_bytes(2, "big") + bytes(body)


@cython.final
cdef class Writer:
    """Writes head and segments into one bytes object: names first, then each segment in its place.

    Parameters
    ----------
    columns : dict[str, sequence of str]   column -> its index kinds, in the order of the segments
    """
    cdef readonly Output out
    cdef list entries          # (column, kind, where its start and length stand)
    cdef Py_ssize_t next

    def __init__(self, dict columns):
        cdef Output out = Output()
        head = bytearray(PREFIX) + len(columns).to_bytes(4, "big")
        self.entries = []
        self.next = 0
        for column, kinds in columns.items():
            head += java_utf(column) + len(kinds).to_bytes(4, "big")
            for kind in kinds:
                head += java_utf(kind)
                self.entries.append((column, kind, len(head)))
                head += bytes(8)
        head += bytes(4)                   # no redundant bytes
        out.put(bytes(head))
        put_be64(out.base, MAGIC)
        put_be32(out.base + 8, VERSION)
        put_be32(out.base + 12, <uint32_t> len(head))
        self.out = out

    def segment(self, write):
        """Appends the next segment by calling ``write(out)``; without a function, an empty entry."""
        cdef Py_ssize_t at, start = self.out.used
        column, kind, at = self.entries[self.next]
        self.next += 1
        if write is None:
            put_be32(self.out.base + at, <uint32_t> <int64_t> EMPTY)
            put_be32(self.out.base + at + 4, 0)
            return
        write(self.out)
        put_be32(self.out.base + at, <uint32_t> start)
        put_be32(self.out.base + at + 4, <uint32_t> (self.out.used - start))

    def finish(self):
        """The whole file."""
        return self.out.finish()
