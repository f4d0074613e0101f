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
from libc.stdint cimport int64_t

from paimon_fidx.core.cursor cimport Cursor, Source, View, be64

cdef int64_t MAGIC = 1493475289347502
cdef enum:
    VERSION = 1
    PREFIX = 16                # magic, version, head_length
    EMPTY = -1


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
