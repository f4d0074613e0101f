"""The Milvus binlog (storage V1): a magic number, the descriptor event, then data events up to the end of the file.

    at   type     name             rule                                                       little-endian
    0    le32     magic            0x00FFFABC; the four letters PAR1 are a storage-V2 file, bare Parquet
    4    event    descriptor       type 0
         events   data_events      none or more; the last one ends where the file ends

    event: at from its own start
    0    le64     timestamp        when it was written: milliseconds << 18 | counter; 0 in some index files
    8    u8       type             0 descriptor, 1 insert, 2 delete, 3 to 6 definitions, 7 index file
    9    le32     length           of the whole event
    13   le32     next_position    -1, or where the event ends in the file

    descriptor: at from the event's start
    17   le64     collection_id
    25   le64     partition_id     -1: all partitions
    33   le64     segment_id
    41   le64     field_id         -1 in delta logs
    49   le64     start_timestamp
    57   le64     end_timestamp
    65   le32     data_type        the code of Milvus' DataType
    69   bytes    post_header_lengths   eight bytes: 52, then 16 seven times: the fixed part of each type of event
    77   le32     extra_length     81 + extra_length = length
    81   bytes    extras           a JSON object; "edek" in it: all after the descriptor is one ciphertext

    data event: at from the event's start
    17   le64     start_timestamp
    25   le64     end_timestamp
    33   bytes    payload          up to the event's end: a Parquet file, or raw bytes in index files of data type 0

Numbers are little-endian, lengths and positions signed. Before September 2021 the event header had 21 bytes and the
descriptor no extras; such files are told by the length 100 of their descriptor, at 17 instead of 13, and refused.
"""
import os

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc

from paimon_fidx.core.cursor cimport Source, View, le32, le64

cdef enum:
    MAGIC = 0x00FFFABC
    DESCRIPTOR_AT = 4
    # in an event, from its start
    TYPE_OFF = 8
    LENGTH_OFF = 9
    NEXT_OFF = 13
    HEADER = 17
    # in the descriptor, from its start
    COLLECTION_OFF = 17
    PARTITION_OFF = 25
    SEGMENT_OFF = 33
    FIELD_OFF = 41
    START_OFF = 49
    END_OFF = 57
    DATA_TYPE_OFF = 65
    POST_OFF = 69
    EXTRA_LENGTH_OFF = 77
    EXTRA_OFF = 81
    DESCRIPTOR_POST = 52
    EVENT_POST = 16
    # in a data event, from its start
    PAYLOAD_OFF = 33
    DESCRIPTOR_TYPE = 0
    LAST_TYPE = 7
    OLD_DESCRIPTOR = 100       # length of the descriptor of 2.0.0-rc files, at OLD_LENGTH_AT of the file
    OLD_LENGTH_AT = 17

cdef Py_ssize_t LARGE = 1 << 16           # bytes of a payload that is worth memory of the caller's
cdef uint64_t LARGEST = 0x7fffffff       # lengths and positions are signed


cdef struct Head:
    uint64_t timestamp, start_timestamp, end_timestamp
    int64_t collection_id, partition_id, segment_id, field_id
    int32_t length, next_position, data_type, extra_length

cdef struct Row:
    uint64_t timestamp, start_timestamp, end_timestamp
    int64_t at
    int32_t length, next_position
    uint8_t type


@cython.final
cdef class Payload:
    """The payload of one event: a read-only buffer over the input, without a copy when the input is in memory.

    Attributes
    ----------
    at : int    where it starts in the input, bytes
    """
    cdef View view

    @property
    def at(self):
        return self.view.at

    def __len__(self):
        return self.view.size

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        # the view and, through it, the memory live as long as the exported buffer, which owns this object
        PyBuffer_FillInfo(buffer, self, <void*> self.view.data, self.view.size, 1, flags)


cdef class Events:
    """The descriptor and the event walk of one binlog; opening walks all of it and reads no payload.

    Parameters
    ----------
    source : Source or bytes
    path : str | None   the name that errors give to bytes

    Raises
    ------
    TruncatedError, CorruptError, UnsupportedError (storage V2, before Milvus 2.0; not for an encrypted file)

    """
    cdef Source source         # made when first needed for bytes
    cdef bytes held
    cdef object path
    cdef const uint8_t* data   # all of an input in memory, else NULL
    cdef View window           # keeps ``data``, or the last range read, alive
    cdef Py_ssize_t size
    cdef Head head
    cdef Row first             # most files have one event: no allocation for it
    cdef Row* more             # the events after the first
    cdef Py_ssize_t count
    cdef Py_ssize_t capacity   # of more
    cdef bint marked           # the extras contain the letters edek
    cdef public object _described   # a subclass's cache

    def __cinit__(self, source, path=None):
        if type(source) is bytes:
            self.held = <bytes> source
            self.path = path
            self.data = <const uint8_t*> PyBytes_AS_STRING(self.held)
            self.size = PyBytes_GET_SIZE(self.held)
        else:
            self.source = <Source?> source
            self.path = self.source.path
            self.size = self.source.size
            if self.source.in_memory:
                self.window = self.source.read(0, self.size, "binlog")
                self.data = self.window.data
        self._walk()

    def __dealloc__(self):
        free(self.more)

    cdef Source _source(self):
        if self.source is None:
            self.source = Source(self.held)
            if self.path is not None:
                self.source.path = self.path
        return self.source

    cdef const uint8_t* _peek(self, Py_ssize_t at, Py_ssize_t size, object where) except NULL:
        """``size`` bytes at ``at``, valid until the next call."""
        if self.data != NULL:
            if at <= self.size and size <= self.size - at:
                return self.data + at
            raise self._source().truncated(where, at, f"{size} bytes", f"{max(0, self.size - at)} up to the end")
        self.window = self._source().read(at, size, where)
        return self.window.data

    cdef int _walk(self) except -1:
        cdef const uint8_t* p
        cdef Row row
        cdef int64_t at
        self._open_head()
        at = DESCRIPTOR_AT + self.head.length
        if self.marked and self.encrypted:
            return 0
        while at < self.size:
            p = self._peek(at, PAYLOAD_OFF, "event")
            row.timestamp = le64(p)
            row.type = p[TYPE_OFF]
            row.length = <int32_t> le32(p + LENGTH_OFF)
            row.next_position = <int32_t> le32(p + NEXT_OFF)
            row.start_timestamp = le64(p + HEADER)
            row.end_timestamp = le64(p + HEADER + 8)
            row.at = at
            if row.type == DESCRIPTOR_TYPE or row.type > LAST_TYPE or row.length < PAYLOAD_OFF \
                    or row.length > self.size - at \
                    or row.next_position != -1 and row.next_position != at + row.length:
                self._refuse(&row)
            self._keep(&row)
            at += row.length
        return 0

    cdef int _open_head(self) except -1:
        cdef Head* head = &self.head
        cdef const uint8_t* p
        cdef uint32_t magic
        cdef int i
        cdef Py_ssize_t at
        if self.size < 4:
            raise self._source().truncated("magic", 0, "4 bytes", f"{self.size} up to the end")
        magic = le32(self._peek(0, 4, "magic"))
        if magic != MAGIC:
            if magic == 0x31524150:        # PAR1
                raise self._source().unsupported(
                    "magic", 0, "a storage-V1 binlog (BC FA FF 00)",
                    "PAR1: a storage-V2 file, bare Parquet with several columns; read it with pyarrow.parquet")
            raise self._source().corrupt("magic", 0, "BC FA FF 00", f"{magic.to_bytes(4, 'little').hex(' ').upper()}")
        p = self._peek(DESCRIPTOR_AT, HEADER + 4, "descriptor.header")
        head.timestamp = le64(p)
        head.length = <int32_t> le32(p + LENGTH_OFF)
        head.next_position = <int32_t> le32(p + NEXT_OFF)
        if p[TYPE_OFF] != DESCRIPTOR_TYPE:
            raise self._source().corrupt("descriptor.type", DESCRIPTOR_AT + TYPE_OFF, DESCRIPTOR_TYPE, p[TYPE_OFF])
        if head.next_position == OLD_DESCRIPTOR and head.length != OLD_DESCRIPTOR - DESCRIPTOR_AT:
            raise self._source().unsupported(
                "descriptor.length", OLD_LENGTH_AT, "the layout since Milvus 2.0",
                "that of a release candidate before September 2021")
        if head.length < EXTRA_OFF:
            raise self._source().corrupt(
                "descriptor.length", DESCRIPTOR_AT + LENGTH_OFF, f"at least {EXTRA_OFF}", head.length)
        if head.length > self.size - DESCRIPTOR_AT:
            raise self._source().truncated(
                "descriptor.length", DESCRIPTOR_AT + LENGTH_OFF, f"at most {self.size - DESCRIPTOR_AT}", head.length)
        if head.next_position != -1 and head.next_position != DESCRIPTOR_AT + <int64_t> head.length:
            raise self._source().corrupt(
                "descriptor.next_position", DESCRIPTOR_AT + NEXT_OFF,
                f"-1 or {DESCRIPTOR_AT + <int64_t> head.length}", head.next_position)
        p = self._peek(DESCRIPTOR_AT, head.length, "descriptor")
        head.collection_id = <int64_t> le64(p + COLLECTION_OFF)
        head.partition_id = <int64_t> le64(p + PARTITION_OFF)
        head.segment_id = <int64_t> le64(p + SEGMENT_OFF)
        head.field_id = <int64_t> le64(p + FIELD_OFF)
        head.start_timestamp = le64(p + START_OFF)
        head.end_timestamp = le64(p + END_OFF)
        head.data_type = <int32_t> le32(p + DATA_TYPE_OFF)
        head.extra_length = <int32_t> le32(p + EXTRA_LENGTH_OFF)
        for i in range(8):
            if p[POST_OFF + i] != (EVENT_POST if i else DESCRIPTOR_POST):
                raise self._source().corrupt(
                    f"descriptor.post_header_lengths[{i}]", DESCRIPTOR_AT + POST_OFF + i,
                    EVENT_POST if i else DESCRIPTOR_POST, p[POST_OFF + i])
        if head.extra_length != head.length - EXTRA_OFF:
            raise self._source().corrupt(
                "descriptor.extra_length", DESCRIPTOR_AT + EXTRA_LENGTH_OFF, head.length - EXTRA_OFF, head.extra_length)
        for at in range(EXTRA_OFF, head.length - 3):      # in bounds: head.length bytes are in view
            if p[at] == c"e" and p[at + 1] == c"d" and p[at + 2] == c"e" and p[at + 3] == c"k":
                self.marked = True
                break
        return 0

    cdef int _keep(self, Row* row) except -1:
        cdef Row* grown
        if self.count == 0:
            self.first = row[0]
        else:
            if self.count - 1 == self.capacity:
                # one row per 33 bytes of input at least: the table stays below three times the input
                grown = <Row*> realloc(self.more, <size_t> (self.capacity * 2 + 4) * sizeof(Row))
                if grown == NULL:
                    raise MemoryError
                self.more = grown
                self.capacity = self.capacity * 2 + 4
            self.more[self.count - 1] = row[0]
        self.count += 1
        return 0

    cdef int _refuse(self, Row* row) except -1:
        """Says which rule of the table an event header breaks."""
        cdef Py_ssize_t at = row.at
        cdef Source source = self._source()
        where = f"event[{self.count}]"
        if row.type == DESCRIPTOR_TYPE or row.type > LAST_TYPE:
            raise source.corrupt(f"{where}.type", at + TYPE_OFF, f"1 to {LAST_TYPE}", row.type)
        if row.length < PAYLOAD_OFF:
            raise source.corrupt(f"{where}.length", at + LENGTH_OFF, f"at least {PAYLOAD_OFF}", row.length)
        if row.length > self.size - at:
            raise source.truncated(f"{where}.length", at + LENGTH_OFF, f"at most {self.size - at}", row.length)
        raise source.corrupt(f"{where}.next_position", at + NEXT_OFF, f"-1 or {at + row.length}", row.next_position)

    cdef Row* _row(self, Py_ssize_t i) except NULL:
        if i < 0 or i >= self.count:
            raise IndexError(f"event {i} of {self.count}")
        return &self.first if i == 0 else &self.more[i - 1]

    # --- the face

    @property
    def collection_id(self):
        return self.head.collection_id

    @property
    def partition_id(self):
        return self.head.partition_id

    @property
    def segment_id(self):
        return self.head.segment_id

    @property
    def field_id(self):
        return self.head.field_id

    @property
    def data_type(self):
        return self.head.data_type

    @property
    def event_count(self):
        return self.count

    @property
    def total_size(self):
        return self.size

    @property
    def name(self):
        return self.path

    @property
    def encrypted(self):
        """Whether all after the descriptor is ciphertext; parses the extras only where they can say so."""
        return self.marked and "edek" in self.extras()

    def descriptor_numbers(self):
        """(length, next_position, timestamp, start_timestamp, end_timestamp) of the descriptor."""
        return (self.head.length, self.head.next_position, self.head.timestamp, self.head.start_timestamp,
                self.head.end_timestamp)

    def extras(self):
        """The extras as a dict. CorruptError where they are no JSON object."""
        from paimon_fidx.binlog.text import parse_object

        cdef const uint8_t* p = self._peek(DESCRIPTOR_AT + EXTRA_OFF, self.head.extra_length, "descriptor.extras") \
            if self.head.extra_length else <const uint8_t*> b""
        return parse_object(p[:self.head.extra_length], "descriptor.extras", self.path, DESCRIPTOR_AT + EXTRA_OFF)

    def row(self, Py_ssize_t i):
        """(type, offset, length, next_position, timestamp, start_timestamp, end_timestamp) of a data event."""
        cdef Row* row = self._row(i)
        return (row.type, row.at, row.length, row.next_position, row.timestamp, row.start_timestamp,
                row.end_timestamp)

    def payload(self, Py_ssize_t i):
        """The payload of a data event, read when it is asked for."""
        cdef Row* row = self._row(i)
        cdef Payload payload = Payload.__new__(Payload)
        payload.view = self._source().read(row.at + PAYLOAD_OFF, row.length - PAYLOAD_OFF, f"event[{i}].payload")
        return payload

    def payload_in(self, Py_ssize_t i, allocate):
        """(payload, its offset): in memory that ``allocate(size)`` gives where the file has to be read for it.

        A buffer that the caller's allocator reuses spares the page faults of a new one, a third of the reading.
        """
        cdef Row* row = self._row(i)
        cdef Source source = self._source()
        cdef Py_ssize_t at = row.at + PAYLOAD_OFF, size = row.length - PAYLOAD_OFF, done = 0, got
        if source._fd < 0 or size < LARGE or not hasattr(os, "preadv"):
            return self.payload(i), at
        buffer = allocate(size)
        room = memoryview(buffer).cast("B")
        while done < size:
            got = os.preadv(source._fd, [room[done:]], at + done)
            if got == 0:               # the file became shorter after we walked it
                raise source.truncated(f"event[{i}].payload", at, f"{size} bytes", f"{done} before the end of the file")
            done += got
        source.request_count += 1
        source.bytes_read += size
        return buffer, at

    def close(self):
        """Closes a descriptor opened for a path."""
        if self.source is not None:
            self.source.close()


def walk_many(sources, kind=Events):
    """Opens many binlogs, in order: one :class:`Events` each, or of a subclass.

    sources : iterable of bytes (the fast way), or of whatever a Source takes
    """
    cdef list opened = []
    for source in sources:
        opened.append(kind(source if type(source) is bytes else Source(source)))
    return opened


# --- writing

@cython.final
cdef class Writer:
    """Writes a binlog from its parts, by the table above.

    Parameters
    ----------
    timestamp, start_timestamp, end_timestamp : int, hybrid
    collection_id, partition_id, segment_id, field_id, data_type : int
    extras : bytes    a JSON object

    Example
    -------
    >>> len(Writer(0, 1, 2, 3, 100, 0, 0, 5, b"{}").finish())
    87
    """
    cdef bytearray out

    def __init__(self, timestamp, collection_id, partition_id, segment_id, field_id, start_timestamp, end_timestamp,
                 data_type, bytes extras):
        cdef bytearray out = bytearray(MAGIC.to_bytes(4, "little"))
        length = EXTRA_OFF + len(extras)
        out += _header(timestamp, DESCRIPTOR_TYPE, length, DESCRIPTOR_AT + length)
        for each in (collection_id, partition_id, segment_id, field_id):
            out += each.to_bytes(8, "little", signed=True)
        out += start_timestamp.to_bytes(8, "little") + end_timestamp.to_bytes(8, "little")
        out += data_type.to_bytes(4, "little", signed=True)
        out += bytes([DESCRIPTOR_POST] + [EVENT_POST] * 7)
        out += len(extras).to_bytes(4, "little") + extras
        self.out = out

    def event(self, timestamp, type, start_timestamp, end_timestamp, payload, chained=True):
        """Appends a data event; without ``chained`` its next position is -1, as stream writers leave it."""
        length = PAYLOAD_OFF + len(payload)
        end = len(self.out) + length
        if end > LARGEST:
            raise ValueError(f"a binlog holds at most {LARGEST} bytes, this one would take {end}")
        self.out += _header(timestamp, type, length, end if chained else -1)
        self.out += start_timestamp.to_bytes(8, "little") + end_timestamp.to_bytes(8, "little")
        self.out += payload

    def finish(self):
        """The whole file."""
        return bytes(self.out)


cdef bytes _header(timestamp, int type, length, next_position):
    return (timestamp.to_bytes(8, "little") + bytes((type,)) + length.to_bytes(4, "little")
            + next_position.to_bytes(4, "little", signed=True))


# --- files without the container

def read_all(Source source not None):
    """All bytes of a source."""
    cdef View view = source.read(0, source.size, "file")
    return view.data[:view.size]


def bm25_numbers(bytes data not None):
    """(version, row_count, token_count, [(token, rows), ...]) of BM25 statistics, see ``stats``; 20 bytes at least."""
    cdef const uint8_t* p = <const uint8_t*> <char*> data
    cdef Py_ssize_t at
    cdef list pairs = []
    if len(data) < 20:
        raise ValueError("20 bytes at least")
    for at in range(20, len(data) - 7, 8):
        pairs.append((le32(p + at), <int32_t> le32(p + at + 4)))
    return <int32_t> le32(p), <int64_t> le64(p + 4), <int64_t> le64(p + 12), pairs
