"""What is written: byte for byte Milvus' own outside the Parquet payload, the same envelope inside, read back equal."""
from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paimon_fidx.binlog as bl
from tests.binlog import samples

INSERTS = [each for each in samples.binlogs() if "payload_data_type" in each["descriptor"]
           and each["descriptor"]["field_id"] != -1 and each.get("kind", "insert") == "insert"]
DELETES = [each for each in samples.binlogs() if each.get("kind") == "delete"]


# The annotations of plain integers, which pyarrow leaves away: they say what the physical type says.
PLAIN = ("None", "Int(bitWidth=32, isSigned=true)", "Int(bitWidth=64, isSigned=true)")


def layout_of(entry):
    if entry.get("column", "val") == "val":
        return "classic"
    return "stream"


def outside(data: bytes) -> tuple:
    """All bytes outside payloads, without the events' times of writing and lengths, and next positions except -1."""
    binlog, parts = bl.open_binlog(data), [data[:4 + bl.open_binlog(data).descriptor.length]]
    for event in binlog.events:
        head = data[event.offset:event.offset + 33]
        parts += [head[8:9], event.next_position == -1, head[17:]]
    return tuple(parts)


def envelope(data: bytes) -> list:
    """What a reader sees of each Parquet file apart from its values."""
    found = []
    for i in range(len(bl.open_binlog(data).events)):
        file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(bl.open_binlog(data).payload(i))))
        for column in range(len(file.schema)):
            stored, groups = file.schema.column(column), file.metadata.num_row_groups
            chunk = file.metadata.row_group(0).column(column) if groups else None
            field, logical = file.schema_arrow.field(column), str(stored.logical_type)
            found.append((
                field.name, field.nullable, str(field.type), field.metadata,
                stored.physical_type, logical if logical not in PLAIN else "", stored.max_definition_level,
                stored.max_repetition_level, groups, chunk and chunk.compression, chunk and chunk.has_dictionary_page,
                [key for key in file.metadata.metadata or {}]))
    return found


def rewritten(entry, data: bytes) -> bytes:
    """The sample, written by us from what is read of it."""
    binlog = bl.open_binlog(data)
    d = binlog.descriptor
    parts = [per_event(binlog, i) for i in range(len(binlog.events))]
    return bl.write_binlog(
        parts, d.data_type, field_id=d.field_id, collection_id=d.collection_id, partition_id=d.partition_id,
        segment_id=d.segment_id, layout=layout_of(entry), nullable=d.extras.get("nullable"),
        primary_key=entry.get("is_pk", False) and "root" in entry["file"],
        times=[(event.start_timestamp, event.end_timestamp) for event in binlog.events], timestamp=d.timestamp,
        start_timestamp=d.start_timestamp, end_timestamp=d.end_timestamp, original_size=d.original_size)


def per_event(binlog, i):
    """The rows of one event, of the type of the whole."""
    counts = [pq.ParquetFile(pa.BufferReader(pa.py_buffer(binlog.payload(k)))).metadata.num_rows for k in range(i + 1)]
    return binlog.to_arrow().column(0).slice(sum(counts[:i]), counts[i])


@pytest.mark.parametrize("entry", INSERTS, ids=samples.ids)
def test_insert_logs(entry, facts):
    data = samples.data(entry)
    ours = rewritten(entry, data)
    assert outside(ours) == outside(data)
    assert envelope(ours) == envelope(data)
    assert same(bl.open_binlog(ours).to_arrow(), bl.open_binlog(data).to_arrow())
    facts["Milvus files written again"] += 1


def same(ours: pa.Table, theirs: pa.Table) -> bool:
    """Equality with NaN equal to itself: Python's texts of the values."""
    return ours.schema == theirs.schema and str(ours.to_pylist()) == str(theirs.to_pylist())


def form_of(entry):
    name = entry["file"].split("/")[1]
    for prefix, form in (("json_stream", "json-stream"), ("multi_field", "multi-field"), ("legacy_text", "text")):
        if name.startswith(prefix):
            return form
    return "json"


@pytest.mark.parametrize("entry", DELETES, ids=samples.ids)
def test_delete_logs(entry):
    data = samples.data(entry)
    binlog = bl.open_binlog(data)
    d, rows = binlog.descriptor, binlog.to_arrow()
    ours = bl.write_delete_log(
        rows.column("pk"), rows.column("ts"), form=form_of(entry), collection_id=d.collection_id,
        partition_id=d.partition_id, segment_id=d.segment_id, timestamp=d.timestamp, original_size=d.original_size,
        dictionary="v23" in entry["file"] or "legacy" in entry["file"])
    if form_of(entry) == "text":  # the sample's times are of all its rows too
        assert (d.start_timestamp, d.end_timestamp) == (min(rows["ts"].to_pylist()), max(rows["ts"].to_pylist()))
    assert outside(ours) == outside(data)
    assert envelope(ours) == envelope(data)
    assert bl.open_binlog(ours).to_arrow() == rows
    if form_of(entry) != "multi-field":
        texts = [pq.read_table(pa.BufferReader(pa.py_buffer(bl.open_binlog(each).payload()))).column(0).to_pylist()
                 for each in (ours, data)]
        assert texts[0] == texts[1]


def test_the_older_name_of_the_stream_column():
    file = bl.write_delete_log(["a<b", "c"], [5, 6], form="json-stream", column="delta", partition_id=-1)
    assert envelope(file)[0][0] == "delta" and bl.open_binlog(file).descriptor.partition_id == -1
    assert bl.open_binlog(file).to_arrow().to_pylist() == [{"pk": "a<b", "ts": 5}, {"pk": "c", "ts": 6}]


def test_statistics_are_milvus_own(facts):
    """JSON byte for byte: shape and bits of the filter, keys and their order."""
    for entry in samples.entries():
        if entry.get("kind", "").startswith("pk_stats"):
            stored = samples.data(entry)
            value = json.loads(stored)
            count = len(value) if isinstance(value, list) else 1
            ours = bl.write_pk_stats(
                entry["pks"], field_id=100, old="v23" in entry["file"],
                filter="blocked" if "Blocked" in entry["file"] else "basic")
            parts = stored[1:-1].decode() if isinstance(value, list) else stored.decode()
            assert parts == ",".join([ours.decode()] * count), entry["file"]
            facts["Milvus statistics written again"] += 1
        if entry.get("kind") == "bm25_stats":
            stats = bl.open_bm25_stats(samples.data(entry))
            again = bl.write_bm25_stats(stats.row_count, stats.token_count, dict(stats.rows_with_token))
            assert again == samples.data(entry)


@pytest.mark.parametrize("filter", ["basic", "blocked", "always"])
@pytest.mark.parametrize("text", [False, True])
def test_statistics_of_many_keys(filter, text):
    keys = [f"key-{i}" * (i % 60 + 1) if text else i * 7919 - 5000 for i in range(3000)]
    stats = bl.open_pk_stats(bl.write_pk_stats(keys, field_id=100, filter=filter))
    assert all(stats.may_contain(key) for key in keys)
    absent = [f"no-{i}" if text else i + 10**12 for i in range(3000)]
    found = sum(stats.may_contain(key) for key in absent)
    assert found == 3000 if filter == "always" else found < 60
    with pytest.raises(TypeError):
        stats.may_contain(5 if text else "5")


VALUES = {
    "Bool": pa.array([True, None, False]),
    "Int8": pa.array([1, None, -128], pa.int8()),
    "VarChar": pa.array(["", None, "ü😀"]),
    "JSON": pa.array([b"{}", None, b""]),
    "Timestamptz": pa.array([2**62, None, -1], pa.int64()),
    "BinaryVector": pa.array([b"ab", None, b"cd"], pa.binary(2)),
    "FloatVector": pa.array([[1.0, 2.0], None, [3.0, 4.0]], pa.list_(pa.float32(), 2)),
    "Int8Vector": pa.array([[1, 2, 3], None, [-1, 0, 1]], pa.list_(pa.int8(), 3)),
    "SparseFloatVector": pa.array([[{"index": 1, "value": 0.5}, {"index": 7, "value": 1.0}], None, []],
                                  pa.list_(pa.struct([("index", pa.uint32()), ("value", pa.float32())]))),
    "Array": pa.array([["a", "", "bc" * 200], None, []], pa.list_(pa.string())),
}
LISTS = [
    pa.array([[True, False], None, []], pa.list_(pa.bool_())),
    pa.array([[1, -1, 2**31 - 1, -2**31], None, []], pa.list_(pa.int32())),
    pa.array([[2**63 - 1, -2**63], None, [0]], pa.list_(pa.int64())),
    pa.array([[1.5, float("inf")], None, []], pa.list_(pa.float32())),
    pa.array([[1.5, -0.0], None, []], pa.list_(pa.float64())),
    pa.array([[b"\xff"], None, [b""]], pa.list_(pa.binary())),
]


@pytest.mark.parametrize("layout", ["classic", "stream"])
@pytest.mark.parametrize("data_type, column", [*VALUES.items(), *(("Array", each) for each in LISTS)])
def test_read_back(data_type, column, layout):
    for part in (column, column.slice(1, 2), column.slice(0, 0), column.take([2, 0, 2])):
        file = bl.write_binlog(part, data_type, field_id=101, layout=layout, nullable=True)
        table = bl.open_binlog(file).to_arrow()
        table.validate(full=True)
        assert table.column_names == ["101"]
        assert table.column(0).to_pylist() == part.to_pylist()
        if data_type != "Array" or any(part.to_pylist()):
            assert table.schema.types[0] == column.type
        batches = bl.open_binlog(file).to_batches(1)
        assert [row["101"] for batch in batches for row in batch.to_pylist()] == part.to_pylist()


@pytest.mark.parametrize("data_type, column, error", [
    ("Int64", pa.array([1], pa.int32()), TypeError),
    ("Int64", [1, 2], TypeError),
    ("Int64", pa.array([1, None]), ValueError),
    ("FloatVector", pa.array([[1.0]]), TypeError),
    ("BinaryVector", pa.array([b"a"]), TypeError),
    ("Array", pa.array([[None]], pa.list_(pa.int32())), ValueError),
    ("Array", pa.array([[[1]]]), TypeError),
    ("SparseFloatVector", pa.array([[1]]), TypeError),
    ("None", pa.array([1]), ValueError),
    ("Complex", pa.array([1]), ValueError),
])
def test_refused(data_type, column, error):
    with pytest.raises(error):
        bl.write_binlog(column, data_type, field_id=100)


def test_bad_arguments():
    with pytest.raises(ValueError, match="layout"):
        bl.write_binlog(pa.array([1]), "Int64", field_id=100, layout="new")
    with pytest.raises(ValueError, match="2 pairs of times"):
        bl.write_binlog(pa.array([1]), "Int64", field_id=100, times=[(1, 2), (3, 4)])
    with pytest.raises(ValueError, match="timestamp"):
        bl.write_binlog(pa.array([1]), "Int64", field_id=100, timestamp=-1)
    with pytest.raises(ValueError, match="1 keys and 2"):
        bl.write_delete_log([1], [1, 2])
    with pytest.raises(TypeError, match="integer keys"):
        bl.write_delete_log(["a"], [1], form="text")
    with pytest.raises(AttributeError):
        bl.write_everything
