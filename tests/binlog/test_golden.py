"""Every Milvus sample against its manifest: digest, descriptor, events, values, deletes, statistics."""
from __future__ import annotations

import hashlib
import io
import json

import pytest

import paimon_fidx.binlog as bl
from paimon_fidx.errors import CorruptError, TruncatedError, UnsupportedError
from tests.binlog import samples

BINLOGS = samples.binlogs()
INSERTS = [each for each in BINLOGS if each.get("kind") == "insert"]
REAL = [each for each in BINLOGS if each["manifest"] == "manifest-real.json" and each["descriptor"]["field_id"] != -1]
DELETES = [each for each in BINLOGS if each.get("deletes")]
PK_STATS = [each for each in samples.entries() if each.get("kind", "").startswith("pk_stats")]


def test_the_samples_are_whole(facts):
    for entry in samples.entries():
        assert hashlib.sha256(samples.data(entry)).hexdigest() == entry["sha256"], entry["file"]
    assert len(samples.entries()) == 204
    facts["Milvus files read"] += 204


@pytest.mark.parametrize("entry", BINLOGS, ids=samples.ids)
def test_descriptor_and_events(entry):
    with bl.open_binlog(samples.data(entry)) as binlog:
        descriptor, stored = binlog.descriptor, entry["descriptor"]
        assert descriptor.extras == json.loads(stored["extra_json"])
        for name in ("collection_id", "partition_id", "segment_id", "field_id", "start_timestamp", "end_timestamp",
                     "timestamp", "next_position"):
            assert getattr(descriptor, name) == stored[name]
        assert (descriptor.data_type, descriptor.length) == (stored["payload_data_type"], stored["event_length"])
        found = [(e.type, e.offset, e.length, e.next_position, e.timestamp, e.start_timestamp, e.end_timestamp)
                 for e in binlog.events]
        assert found == [(e["type_code"], e["offset"], e["event_length"], e["next_position"], e["timestamp"],
                          e["start_timestamp"], e["end_timestamp"]) for e in entry["events"] or []]


@pytest.mark.parametrize("entry", INSERTS, ids=samples.ids)
def test_values(entry, facts):
    binlog = bl.open_binlog(samples.data(entry))
    stored = [value for event in entry["values"] or [] for value in event]
    table = binlog.to_arrow()
    table.validate(full=True)
    found = [samples.spelled(value, entry["data_type"], entry.get("element_type")) for value in as_floats(table)]
    # the manifest has no kind, or no width, for empty lists
    assert [bare(value) for value in found] == [bare(value) for value in stored]
    batches = list(binlog.to_batches(3))
    assert all(batch.num_rows <= 3 and batch.schema == table.schema for batch in batches)
    assert [value for batch in batches for value in as_floats(batch)] == as_floats(table) or has_nan(table)
    facts["Milvus values compared"] += len(stored)


def as_floats(table):
    """The first column; halffloats as their bits, as Python has no such float and would change some NaNs."""
    if "halffloat" not in str(table.schema.types[0]):
        return table.column(0).to_pylist()
    column, rows = table.column(0), []
    for chunk in getattr(column, "chunks", [column]):
        size, bits = chunk.type.list_size, chunk.values.view("uint16").to_pylist()
        for i in range(len(chunk)):
            at = (chunk.offset + i) * size
            rows.append(bits[at:at + size] if chunk[i].is_valid else None)
    return rows


def has_nan(table):
    return "nan" in str(table.column(0).to_pylist())


def bare(value):
    if isinstance(value, dict):
        value = {key: each for key, each in value.items() if key != "dim" or value["float_hex"] != "hex:"}
    return value


@pytest.mark.parametrize("entry", REAL, ids=samples.ids)
def test_real_values(entry, facts):
    """The manifest's digest covers every value."""
    event, name = entry["events"][0], entry["descriptor"]["payload_data_type_name"]
    found = [samples.spelled(value, name) for value in as_floats(bl.open_binlog(samples.data(entry)).to_arrow())]
    assert found[:3] == event["values_head"] and found[-3:] == event["values_tail"]
    assert hashlib.sha256("\n".join(map(json.dumps, found)).encode()).hexdigest() == event["values_sha256"]
    facts["Milvus values compared"] += len(found)


@pytest.mark.parametrize("entry", DELETES, ids=samples.ids)
def test_deletes(entry):
    binlog = bl.open_binlog(samples.data(entry))
    assert binlog.kind == "delete"
    assert binlog.to_arrow().to_pylist() == [{"pk": each["pk"], "ts": each["ts"]} for each in entry["deletes"]]
    assert [row for batch in binlog.to_batches(4) for row in batch.to_pylist()] == binlog.to_arrow().to_pylist()


def test_deletes_of_a_server():
    (entry,) = [each for each in BINLOGS if each["file"].startswith("real/") and each["descriptor"]["field_id"] == -1]
    rows = bl.open_binlog(samples.data(entry)).to_arrow().to_pylist()
    texts = [json.dumps({**row, "pkType": 5}, separators=(",", ":")) for row in rows]
    digest = hashlib.sha256("\n".join(map(json.dumps, texts)).encode()).hexdigest()
    assert digest == entry["events"][0]["values_sha256"]


@pytest.mark.parametrize("entry", PK_STATS, ids=samples.ids)
def test_pk_statistics(entry, facts):
    stats = bl.open_pk_stats(samples.data(entry))
    assert len(stats.filters) == entry.get("entries", 1)
    assert all(stats.may_contain(pk) for pk in entry["pks"])
    for probe in entry.get("absent_probe", ()):
        assert stats.may_contain(probe["pk"]) == probe["maybe"]
        facts["absent keys probed"] += 1
    assert (stats.min_pk, stats.max_pk) == (min(entry["pks"]), max(entry["pks"]))


def test_bm25_statistics():
    (entry,) = [each for each in samples.entries() if each.get("kind") == "bm25_stats"]
    stats = bl.open_bm25_stats(samples.data(entry))
    assert (stats.row_count, stats.token_count) == (entry["num_row"], entry["num_token"])
    assert {str(token): count for token, count in stats.rows_with_token.items()} == entry["rows_with_token"]


@pytest.mark.parametrize("entry", [each for each in BINLOGS if each.get("kind") == "index_file"], ids=samples.ids)
def test_index_files(entry):
    binlog = bl.open_binlog(samples.data(entry))
    assert binlog.kind == "index" and binlog.descriptor.extras["key"] == entry.get("key", "HNSW")
    content = binlog.index_bytes()
    if "content_hex" in entry:
        assert content == bytes.fromhex(entry["content_hex"])
    assert len(content) == int(binlog.descriptor.extras["original_size"])


def test_an_encrypted_file_shows_its_descriptor():
    (entry,) = [each for each in samples.entries() if each.get("encrypted")]
    binlog = bl.open_binlog(samples.data(entry))
    assert binlog.encrypted and "encrypted" in repr(binlog)
    extras = binlog.descriptor.extras
    assert (extras["edek"], extras["encryption_zone"]) == (entry["edek"], entry["encryption_zone"])
    for ask in (binlog.to_arrow, lambda: binlog.events, binlog.payload, binlog.index_bytes):
        with pytest.raises(UnsupportedError, match="encrypted"):
            ask()


def arrays_of(element_type):
    return [each for each in INSERTS if each.get("element_type") == element_type and each["data_type"] == "Array"]


@pytest.mark.parametrize("stored, asked", [("Int8", "int8"), ("Int8", "Int8"), ("Int16", "int16")])
def test_small_integers_of_arrays_are_narrowed(stored, asked):
    for entry in arrays_of(stored):
        binlog = bl.open_binlog(samples.data(entry))
        narrow = binlog.to_arrow(element_type=asked)
        assert str(narrow.schema.types[0].value_type) == asked.lower()
        assert narrow.to_pylist() == binlog.to_arrow().to_pylist()


@pytest.mark.parametrize("stored, asked", [("Int16", "int64"), ("VarChar", "int8"), ("Double", "float")])
def test_other_element_types_are_refused(stored, asked):
    for entry in arrays_of(stored):
        with pytest.raises(TypeError, match="the arrays hold"):
            bl.open_binlog(samples.data(entry)).to_arrow(element_type=asked)
    with pytest.raises(TypeError):
        bl.open_binlog(samples.data(entry)).to_arrow(element_type="JSON")
    with pytest.raises(TypeError, match="no Array"):
        bl.open_binlog(samples.find("multi_event/Int64_nullable_true")).to_arrow(element_type="int8")
    with pytest.raises(ValueError, match="no Milvus data type"):
        bl.open_binlog(samples.data(entry)).to_arrow(element_type="int128")


class Counting(io.BytesIO):
    """Counts what is read."""
    asked = 0

    def read(self, size=-1):
        got = super().read(size)
        self.asked += len(got)
        return got


def test_sources_agree(tmp_path):
    """Bytes, other buffers, a path and a file object give the same; opening a file reads its head only."""
    (entry,) = [each for each in REAL if each["file"].endswith("588")]
    payload = samples.data(entry)
    path = tmp_path / "103"
    path.write_bytes(payload)
    file = Counting(payload)
    binlog = bl.open_binlog(file)
    assert binlog.events and file.asked < 6000 < binlog.size
    table = binlog.to_arrow()
    for source in (payload, bytearray(payload), memoryview(payload), path, str(path)):
        with bl.open_binlog(source) as other:
            assert other.to_arrow() == table
    assert [each.descriptor for each in bl.open_binlogs([payload, path])] == [binlog.descriptor] * 2
    with pytest.raises(TypeError):
        bl.open_binlog(7)


def test_text_that_is_no_utf8_is_refused():
    import pyarrow as pa

    ends = pa.py_buffer(b"\0\0\0\0\2\0\0\0\3\0\0\0")  # "ü" cut in two
    column = pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"a\xc3\xbc")])
    for text, fine in ((pa.array(["ü", "a"]), True), (pa.array(["b", "a"]), True), (column, False)):
        binlog = bl.open_binlog(bl.write_binlog(text, "VarChar", field_id=100))
        if fine:
            assert binlog.to_arrow().column(0).to_pylist() == text.to_pylist()
        else:
            for ask in (binlog.to_arrow, lambda: list(binlog.to_batches())):
                with pytest.raises(CorruptError, match="payload"):
                    ask()


def test_a_large_payload_that_becomes_shorter(tmp_path):
    import pyarrow as pa

    path = tmp_path / "log"
    cells = pa.array([b"%d" % (i * i * 7919**5) for i in range(20000)], pa.binary())
    whole = bl.write_binlog(cells, "JSON", field_id=100)
    assert len(whole) > 1 << 17
    path.write_bytes(whole)
    with bl.open_binlog(path) as binlog:
        assert binlog.to_arrow() == bl.open_binlog(whole).to_arrow()
        path.write_bytes(whole[:1000])
        with pytest.raises(TruncatedError, match=r"event\[0\].payload"):
            binlog.to_arrow()
