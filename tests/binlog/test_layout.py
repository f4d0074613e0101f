"""The layout of a binlog, rule by rule: each byte of a small file said, and what is refused at which offset."""
from __future__ import annotations

import pytest

import paimon_fidx.binlog as bl
from paimon_fidx.binlog import decode, events
from paimon_fidx.core.cursor import Source
from paimon_fidx.errors import CorruptError, TruncatedError, UnsupportedError

HEAD = bytes.fromhex(
    "bcfaff00"                  # magic
    "0700000000000000"          # timestamp
    "00"                        # type: descriptor
    "53000000"                  # length 83: 81 and two bytes of extras
    "57000000"                  # next_position 87
    "0100000000000000"          # collection_id
    "ffffffffffffffff"          # partition_id -1
    "0300000000000000"          # segment_id
    "6400000000000000"          # field_id 100
    "0000040000000000"          # start_timestamp: one millisecond
    "0100080000000000"          # end_timestamp: two, counter 1
    "00000000"                  # data_type 0
    "3410101010101010"          # post_header_lengths
    "02000000"                  # extra_length
    "7b7d")                     # extras {}
EVENT = bytes.fromhex(
    "0900000000000000"          # timestamp
    "07"                        # type: index file
    "24000000"                  # length 36: three bytes of payload
    "ffffffff"                  # next_position: not said
    "0500000000000000"          # start_timestamp
    "0600000000000000"          # end_timestamp
    "616263")                   # payload
WHOLE = HEAD + EVENT


def put(at, new, data=WHOLE):
    new = bytes.fromhex(new)
    return data[:at] + new + data[at + len(new):]


def test_every_field():
    binlog = bl.open_binlog(WHOLE)
    d = binlog.descriptor
    assert (d.collection_id, d.partition_id, d.segment_id, d.field_id, d.timestamp) == (1, -1, 3, 100, 7)
    assert (d.start_timestamp, d.end_timestamp, d.data_type, dict(d.extras)) == (1 << 18, 2 << 18 | 1, 0, {})
    assert (d.length, d.next_position) == (83, 87)
    assert (d.start_time.microsecond, d.end_time.microsecond, d.time) == (1000, 2000, None)
    (event,) = binlog.events
    assert event == bl.Event(bl.EventType.INDEX_FILE, 87, 36, -1, 9, 5, 6)
    assert memoryview(binlog.payload()).tobytes() == b"abc" and binlog.payload().at == 120
    assert binlog.kind == "index" and binlog.index_bytes() == b"abc"
    assert (binlog.size, binlog.path, binlog.event_count) == (len(WHOLE), None, 1)


def test_the_writer_writes_the_same_bytes():
    writer = events.Writer(7, 1, -1, 3, 100, 1 << 18, 2 << 18 | 1, 0, b"{}")
    writer.event(9, 7, 5, 6, b"abc", chained=False)
    assert writer.finish() == WHOLE


def test_a_file_without_data_events():
    binlog = bl.open_binlog(put(69, "05000000", HEAD))
    assert binlog.events == () and binlog.to_arrow().num_rows == 0
    assert str(binlog.to_arrow().schema.types[0]) == "int64"


def test_several_events_follow_each_other():
    chained = put(13, (123).to_bytes(4, "little").hex(), EVENT)
    binlog = bl.open_binlog(HEAD + chained + EVENT)
    assert [event.offset for event in binlog.events] == [87, 123] and binlog.index_bytes() == b"abcabc"


CORRUPT = [  # what is at which offset, and where the refusal points
    (0, "bdfaff00", "magic", 0),
    (12, "01", "descriptor.type", 12),
    (13, "50000000", "descriptor.length", 13),
    (17, "58000000", "descriptor.next_position", 17),
    (73, "35", r"descriptor.post_header_lengths\[0\]", 73),
    (80, "11", r"descriptor.post_header_lengths\[7\]", 80),
    (81, "03000000", "descriptor.extra_length", 81),
    (81, "ffffffff", "descriptor.extra_length", 81),
    (95, "00", r"event\[0\].type", 95),
    (95, "08", r"event\[0\].type", 95),
    (96, "20000000", r"event\[0\].length", 96),
    (96, "ffffffff", r"event\[0\].length", 96),
    (100, "7c000000", r"event\[0\].next_position", 100),
    (100, "feffffff", r"event\[0\].next_position", 100),
]


@pytest.mark.parametrize("at, new, where, offset", CORRUPT)
@pytest.mark.parametrize("as_path", [False, True])
def test_refused_at_its_offset(at, new, where, offset, as_path, tmp_path):
    source = put(at, new)
    if as_path:
        (tmp_path / "log").write_bytes(source)
        source = tmp_path / "log"
    with pytest.raises(CorruptError, match=where) as caught:
        bl.open_binlog(source)
    assert caught.value.offset == offset and caught.value.path == (str(source) if as_path else None)


@pytest.mark.parametrize("at, new", [(13, "ffffff7f"), (96, "25000000"), (96, "ffffff7f")])
def test_a_length_beyond_the_file_is_a_truncated_file(at, new):
    with pytest.raises(TruncatedError) as caught:
        bl.open_binlog(put(at, new))
    assert caught.value.offset == at


@pytest.mark.parametrize("extras", [b"[]", b"{", b"\xff\xfe", b'{"a":NaN}', b"[" * 20000])
def test_extras_that_are_no_object(extras):
    """They are looked at when they are asked for; rows do not need them."""
    writer = events.Writer(7, 1, -1, 3, 100, 0, 0, 5, extras)
    binlog = bl.open_binlog(writer.finish())
    with pytest.raises(CorruptError, match="descriptor.extras at 85"):
        binlog.descriptor
    assert binlog.to_arrow().num_rows == 0


def test_edek_in_a_value_is_no_encryption():
    writer = events.Writer(7, 1, -1, 3, 100, 0, 0, 5, b'{"key":"edek"}')
    assert not bl.open_binlog(writer.finish()).encrypted


def test_other_generations_are_named():
    with pytest.raises(UnsupportedError, match="storage-V2"):
        bl.open_binlog(b"PAR1" + bytes(100) + b"PAR1")
    old = bytes.fromhex("bcfaff00" + "00" * 8 + "00" + "01000000" + "64000000" + "68000000") + bytes(200)
    with pytest.raises(UnsupportedError, match="before September 2021"):
        bl.open_binlog(old)


def test_definition_logs_show_their_events_only():
    binlog = bl.open_binlog(put(95, "03"))
    assert binlog.kind == "definition" and binlog.events[0].type == bl.EventType.CREATE_COLLECTION
    with pytest.raises(UnsupportedError, match="definition log"):
        binlog.to_arrow()


def test_mixed_events_are_refused():
    with pytest.raises(CorruptError, match="events of one type"):
        bl.open_binlog(WHOLE + put(8, "01", EVENT)).to_arrow()


def test_hybrid_timestamps():
    from datetime import datetime, timezone

    moment = datetime(2024, 5, 6, 7, 8, 9, 123000, timezone.utc)
    assert bl.hybrid_datetime(bl.hybrid_timestamp(moment, 5)) == moment
    assert bl.hybrid_timestamp(moment.replace(tzinfo=None)) == bl.hybrid_timestamp(moment)
    assert bl.hybrid_datetime(2**64 - 1) is not None
    with pytest.raises(ValueError):
        bl.hybrid_timestamp(datetime(1960, 1, 1))


def cells(*rows):
    """Arrow's buffers of a binary column: (data, offsets, validity, first, row_count); None is a null."""
    import pyarrow as pa

    array = pa.array(rows, pa.binary())
    validity, offsets, data = (None if each is None else memoryview(each).cast("B") for each in array.buffers())
    return data, offsets, validity, 0, len(array)


@pytest.mark.parametrize("cell, kind, values", [
    ("0a040a020100", 1, b"\1\0"),                                      # bools, packed
    ("0a0408010800", 1, b"\1\0"),                                      # one by one
    ("120d0a0b01ffffffffffffffffff01", 2, b"\1\0\0\0\xff\xff\xff\xff"),  # ints 1 and -1 (ten bytes)
    ("1a030a0180", None, None),                                        # a varint that does not end in its packed run
    ("22060a040000803f", 4, b"\0\0\x80\x3f"),                          # float 1
    ("2a0a0a08000000000000f03f", 5, b"\0\0\0\0\0\0\xf0\x3f"),          # double 1
    ("32050a01610a00", 6, b"a"),                                       # strings "a", ""
    ("0a00", 1, b""),
    ("", 0, b""),
    ("0a040a0201000a0208010a00", 1, b"\1\0\1"),                        # a field in parts is one
])
def test_array_cells(cell, kind, values):
    if kind is None:
        with pytest.raises(decode.BadRow):
            decode.arrays(*cells(bytes.fromhex(cell)))
    else:
        found = decode.arrays(*cells(None, bytes.fromhex(cell)))
        assert (found[0], found[2]) == (kind, values)


@pytest.mark.parametrize("cell, reason", [
    ("0a", "beyond the cell"),                   # no length
    ("80", "does not end"),                      # no tag
    ("0a05", "beyond the cell"),
    ("08", "wire type"),
    ("42020a00", "kind"),                        # field 8: arrays of arrays
    ("62020a00", "kind"),                        # field 12
    ("0a0210", "beyond"),
    ("0a021001", "other than 1"),
    ("0a020d00", "wire type"),
    ("0a030a0102", "neither 0 nor 1"),
    ("1206088080808008", "32 bits"),             # 2^31
    ("22050a03000000", "no multiple"),
    ("2203" + "0d0000", "beyond the cell"),
    ("0a020801" + "1a020801", "two kinds"),
    ("3204" + "0a050000", "beyond the cell"),
    ("1a0c08" + "ff" * 11, "does not end"),
])
def test_array_cells_refused(cell, reason):
    with pytest.raises(decode.BadRow, match=reason) as caught:
        decode.arrays(*cells(b"", bytes.fromhex(cell)))
    assert caught.value.row == 1


def test_two_kinds_in_two_rows():
    with pytest.raises(decode.BadRow, match="two kinds"):
        decode.arrays(*cells(bytes.fromhex("0a020801"), bytes.fromhex("1a020801")))


def test_sparse_cells():
    lists, indexes, values = decode.sparse(*cells(b"\1\0\0\0abcd\2\0\0\0efgh", None, b""))
    assert lists == b"".join(each.to_bytes(4, "little") for each in (0, 2, 2, 2))
    assert (indexes, values) == (b"\1\0\0\0\2\0\0\0", b"abcdefgh")
    with pytest.raises(decode.BadRow, match="pairs of 8 bytes"):
        decode.sparse(*cells(b"1234567"))


def test_dense_cells():
    assert decode.dense(*cells(b"ab", None, b"cd"), 2) == b"ab\0\0cd"
    with pytest.raises(decode.BadRow, match="2 bytes expected, 3"):
        decode.dense(*cells(b"ab", b"abc"), 2)


def test_offsets_are_not_trusted():
    for offsets in ((0, 5), (3, 2), (-1, 1)):
        stored = b"".join(each.to_bytes(4, "little", signed=True) for each in offsets)
        for ask in (decode.sparse, decode.arrays):
            with pytest.raises(decode.BadRow):
                ask(b"1234", stored, None, 0, 1)
    with pytest.raises(ValueError, match="shorter"):
        decode.sparse(b"", bytes(4), None, 0, 1)


def test_payload_outlives_its_binlog():
    payload = events.Events(Source(bytearray(WHOLE))).payload(0)
    assert bytes(memoryview(payload)) == b"abc" and len(payload) == 3
    with pytest.raises(IndexError):
        bl.open_binlog(WHOLE).payload(1)
