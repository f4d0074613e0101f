"""Tables that other Paimon versions wrote: every answer is a full scan, filtered without indexes.

The live rows are found here independently of the package: manifests with fastavro, data files with pyarrow, deletion
vectors with pyroaring.
"""
from __future__ import annotations

import datetime
import json
import struct

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap

from paimon_fidx.predicate import col
from paimon_fidx.result import Decision
from paimon_fidx.table import open_table

from .support import other_tables

TABLES = other_tables()
pytestmark = pytest.mark.skipif(not TABLES, reason="the tables of other Paimon versions are not beside this clone")
PLAIN = sorted(n for n in TABLES if n not in ("data_evolution_with_index", "append_with_bitmap_alter_table"))

ALICE = [
    ("Alice", 10, 1, 11.1), ("Bob", 10, 1, 12.1), ("Emily", 10, 0, 13.1), ("Tony", 10, 0, 14.1), ("Lucy", 20, 1, 15.1),
    ("Bob", 10, 1, 16.1), ("Tony", 20, 0, 17.1), ("Alice", 20, None, 18.1)]
NANOS = [
    ("Alice", 100, -2, 11.1, 1745542802000123000), ("Bob", 200, -3, 12.1, 1745542902000123000),
    ("Emily", 300, 1, 13.1, 1745542602000123000), ("Tony", 50, 1, 14.1, -1744877000),
    ("Lucy", 500, -1, 15.1, -1764877000), ("Bob", 100, 2, 16.1, None), ("Tony", None, -2, 17.1, 1745542802000123001),
    ("Alice", 20, None, 18.1, -1724877000)]
WRITTEN = {  # what each table's README says
    "append_with_bitmap": ALICE, "append_with_bitmap_v1": ALICE, "append_with_bitmap_no_embedding": ALICE,
    "append_with_bsi": NANOS, "append_with_bloomfilter": NANOS, "append_with_bsi_bitmap_bloomfilter": NANOS,
    "pk_with_bitmap_dv": [(k, *row) for k, row in enumerate(ALICE) if k not in (0, 4)],
    "append_with_bitmap_alter_table": [(row[1], row[0], row[3], None) for row in ALICE] + [
        (30, "Alice", 21.1, 100), (20, "Emily", 22.1, 101), (10, "Bob", 23.1, 100), (30, "David", 24.1, None)],
    "data_evolution_with_index": [
        ("Lily", 2, 102, 2.1), ("Alice", 4, 104, 3.1), ("Bob", 6, 106, 4.1), ("David", 8, 108, 5.1),
        (None, None, 202, 6.1), (None, None, 204, 7.1)],
}


def avro(path):
    with open(path, "rb") as stream:
        return list(fastavro.reader(stream))


def live_rows(table) -> pa.Table:
    """A full scan of the latest snapshot without the package."""
    snapshots = table / "snapshot"
    snapshot = json.loads((snapshots / f"snapshot-{(snapshots / 'LATEST').read_text()}").read_text())
    live = {}
    for name in (snapshot["baseManifestList"], snapshot["deltaManifestList"]):
        for manifest in avro(table / "manifest" / name):
            for entry in avro(table / "manifest" / manifest["_FILE_NAME"]):
                file = entry["_FILE"]
                key = (entry["_BUCKET"], file["_FILE_NAME"])
                live[key] = live.get(key, 0) + (1 if entry["_KIND"] == 0 else -1)
    deleted = {}
    if snapshot.get("indexManifest"):
        for entry in avro(table / "manifest" / snapshot["indexManifest"]):
            data = (table / "index" / entry["_FILE_NAME"]).read_bytes()
            for vector in entry["_DELETIONS_VECTORS_RANGES"] or ():
                at = vector["f1"]
                length = struct.unpack_from(">i", data, at)[0]
                deleted[vector["f0"]] = BitMap.deserialize(data[at + 8:at + 4 + length])
    parts = []
    for (bucket, name), count in live.items():
        if count:
            path = table / f"bucket-{bucket}" / name
            rows = pq.ParquetFile(path).read() if name.endswith("parquet") else orc.read_table(path)
            keep = [i for i in range(rows.num_rows) if i not in deleted.get(name, ())]
            parts.append(rows.take(pa.array(keep, pa.int64())))
    return pa.concat_tables(parts)


def comparable(table: pa.Table) -> list:
    """Rows as sorted texts; timestamps as nanoseconds."""
    columns = []
    for field, column in zip(table.schema, table.columns):
        if pa.types.is_timestamp(field.type):
            column = column.cast(pa.timestamp("ns", tz=field.type.tz)).cast(pa.int64())
        columns.append(column.to_pylist())
    return sorted(map(repr, zip(*columns)))


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_the_rows_that_were_written(name):
    expected = pa.table([pa.array(c) for c in zip(*WRITTEN[name])], [str(i) for i in range(len(WRITTEN[name][0]))])
    assert comparable(open_table(TABLES[name]).scan().to_arrow()) == comparable(expected)


@pytest.mark.parametrize("name", PLAIN)
def test_a_full_scan(name):
    scan = open_table(TABLES[name]).scan()
    expected = live_rows(TABLES[name]).select(scan.schema.names)
    assert comparable(scan.to_arrow()) == comparable(expected)
    assert scan.count() == expected.num_rows


def questions(table: pa.Table, name: str):
    """(predicate, test of a Python value) pairs about one column, around values that it holds."""
    values = sorted({v for v in table[name].to_pylist() if v is not None})
    low, mid, high = values[0], values[len(values) // 2], values[-1]
    column = col(name)
    yield column == mid, lambda v: v == mid
    yield column != mid, lambda v: v != mid
    yield column < mid, lambda v: v < mid
    yield column >= mid, lambda v: v >= mid
    yield column > high, lambda v: False
    yield column.between(low, mid), lambda v: low <= v <= mid
    yield column.not_between(low, mid), lambda v: not low <= v <= mid
    yield column.is_in([low, mid, None]), lambda v: v in (low, mid)
    yield column.not_in([low, mid]), lambda v: v not in (low, mid)
    if isinstance(mid, str):
        yield column.starts_with(mid[:2]), lambda v: v.startswith(mid[:2])
        yield column.like(f"%{mid[-1]}"), lambda v: v.endswith(mid[-1])
        yield column == "no such text", lambda v: False
    if isinstance(mid, int):
        yield column == 987_654_321, lambda v: v == 987_654_321


@pytest.mark.parametrize("name", sorted(TABLES))
def test_questions_about_every_column(name):
    opened = open_table(TABLES[name])
    everything = opened.scan().to_arrow()
    for field in everything.schema:
        values = everything[field.name].to_pylist()
        if all(v is None for v in values):
            continue
        asked = list(questions(everything, field.name))
        for predicate, test in asked:
            rows = [i for i, v in enumerate(values) if v is not None and test(v)]
            assert_rows(opened, predicate, everything, rows)
        assert_rows(opened, col(field.name).is_null(), everything, [i for i, v in enumerate(values) if v is None])
        assert_rows(opened, col(field.name).is_not_null(), everything,
                    [i for i, v in enumerate(values) if v is not None])


def assert_rows(opened, predicate, everything, rows):
    scan = opened.scan(predicate)
    assert scan.to_arrow().equals(everything.take(pa.array(rows, pa.int64()))), predicate  # files stay in their order
    assert scan.count() == len(rows), predicate


@pytest.mark.parametrize("name", [n for n in PLAIN if n.startswith("append_with_bsi")])
def test_columns_together(name):
    opened = open_table(TABLES[name])
    both = (col("f0") == "Alice") & (col("f1") > 50)
    assert opened.scan(both).to_arrow()["f1"].to_pylist() == [100]
    either = (col("f2") < -2) | (col("f1") == 500)
    assert opened.scan(either).to_arrow()["f1"].to_pylist() == [200, 500]


def test_data_evolution_files_that_share_row_ids_are_not_pruned():
    opened = open_table(TABLES["data_evolution_with_index"])
    # 12 is what the older file's index still says of row 0, the newer one says 102; NULL keeps statistics out of it
    scan = opened.scan(col("f2").is_in([12, None]))
    assert scan.count() == 0
    shared = [v for v in scan.files if "share the row ids 0 to 3" in v.reason]
    assert len(shared) == 2 and all(v.decision is Decision.REMAIN for v in shared)
    assert "share the row ids" in scan.explain()
    assert opened.scan(col("f2") == 102).to_arrow()["f0"].to_pylist() == ["Lily"]


def test_a_data_evolution_file_alone_is_pruned():
    scan = open_table(TABLES["data_evolution_with_index"]).scan(col("f2") == 202)
    (alone,) = [v for v in scan.files if v.file.first_row_id == 4]
    assert alone.exact and list(alone.rows) == [0]
    assert scan.to_arrow()["f3"].to_pylist() == [6.1]


def test_a_column_that_a_data_evolution_file_was_not_written_with():
    scan = open_table(TABLES["data_evolution_with_index"]).scan(col("f0").like("%"))
    (alone,) = [v for v in scan.files if v.file.first_row_id == 4]
    assert alone.decision is Decision.SKIP and "lacks f0" in alone.reason


def test_old_manifests_are_pruned_by_statistics_too():
    scan = open_table(TABLES["t_bitmap"]).scan(col("id") < 0)
    assert scan.files == [] and scan.stats.files_total == 4


def test_an_index_on_a_widened_column_is_used():
    scan = open_table(TABLES["append_with_bitmap_alter_table"]).scan(col("f1") == 20)
    old = [v for v in scan.files if v.file.schema_id == 0]
    assert len(old) == 1 and old[0].exact and list(old[0].rows) == [4, 6, 7]


def test_dates_and_instants():
    opened = open_table(TABLES["t_mixed"])
    table = opened.scan(columns=["d", "ts"]).to_arrow()
    day = sorted(v for v in table["d"].to_pylist() if v is not None)[17]
    assert opened.scan(col("d") == day).count() == table["d"].to_pylist().count(day)
    moment = sorted(v for v in table["ts"].to_pylist() if v is not None)[40]
    naive = moment.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    assert opened.scan(col("ts") == naive).count() == opened.scan(col("ts") == moment).count() > 0
