"""Scans of tables that pypaimon writes here: merging, partitions, formats, evolution, time travel, limits, order."""
from __future__ import annotations

import datetime
import pickle
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pypaimon import CatalogFactory, Schema
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange

from paimon_fidx.errors import FileIndexError
from paimon_fidx.predicate import col
from paimon_fidx.result import Decision
from paimon_fidx.table import TopN, open_table

FIELDS = pa.schema([("id", pa.int32()), ("name", pa.string()), ("score", pa.float64())])


class Tables:
    """Makes tables in one warehouse."""

    def __init__(self, folder):
        self.catalog = CatalogFactory.create({"warehouse": str(folder)})
        self.catalog.create_database("db", True)

    def make(self, name="t", schema=FIELDS, **kwargs):
        self.catalog.create_table(f"db.{name}", Schema.from_pyarrow_schema(schema, **kwargs), False)
        return self.get(name)

    def get(self, name="t"):
        return self.catalog.get_table(f"db.{name}")

    def alter(self, *changes, name="t"):
        self.catalog.alter_table(f"db.{name}", list(changes), False)
        return self.get(name)


@pytest.fixture
def tables(tmp_path):
    return Tables(tmp_path / "warehouse")


def write(table, rows, schema=FIELDS):
    builder = table.new_batch_write_builder()
    writer, commit = builder.new_write(), builder.new_commit()
    writer.write_arrow(pa.Table.from_pylist(rows, schema))
    commit.commit(writer.prepare_commit())
    writer.close()
    commit.close()


def row(i, name=None, score=None):
    return {"id": i, "name": name, "score": score}


# ---------------------------------------------------------------------- rows that are merged


def test_primary_key_files_that_overlap_are_merged(tables):
    pk = pa.schema([pa.field("id", pa.int32(), nullable=False), ("name", pa.string()), ("score", pa.float64())])
    table = tables.make(schema=pk, primary_keys=["id"], options={"bucket": "1"})
    write(table, [row(1, "a"), row(2, "b"), row(3, "c")], pk)
    write(table, [row(2, "B"), row(3, "c")], pk)
    scan = open_table(table).scan(col("name") == "b")
    assert all(v.decision is Decision.REMAIN and "merged" in v.reason for v in scan.files)
    assert scan.to_arrow().num_rows == 0 and scan.count() == 0  # the old version of row 2 does not come back
    assert "merged" in scan.explain()
    assert open_table(table).scan(col("name") == "B").to_arrow().to_pydict()["id"] == [2]
    assert open_table(table).scan().count() == 3


def test_a_thin_file_keeps_its_key_under_another_name(tables):
    pk = pa.schema([pa.field("id", pa.int32(), nullable=False), ("name", pa.string()), ("score", pa.float64())])
    table = tables.make(schema=pk, primary_keys=["id"], options={"bucket": "1", "file.format": "parquet"})
    write(table, [row(1, "a"), row(2, "b")], pk)
    expected = open_table(table).scan().to_arrow()
    (verdict,) = open_table(table).scan().files
    stored = pq.ParquetFile(verdict.path).read()
    assert "_KEY_id" in stored.schema.names
    pq.write_table(stored.drop_columns(["id"]), verdict.path)  # as data-file.thin-mode leaves it out
    assert open_table(table).scan().to_arrow().equals(expected)
    pq.write_table(stored.drop_columns(["name"]), verdict.path)
    with pytest.raises(FileIndexError, match=f"{verdict.file.name}: column name: expected a stored column"):
        open_table(table).scan().to_arrow()


def test_a_partition_decides_for_merged_files_too(tables):
    pk = pa.schema([pa.field("dt", pa.string(), nullable=False), pa.field("id", pa.int32(), nullable=False),
                    ("name", pa.string())])
    table = tables.make(schema=pk, primary_keys=["dt", "id"], partition_keys=["dt"], options={"bucket": "1"})
    for name in ("old", "new"):
        write(table, [{"dt": d, "id": 1, "name": name} for d in ("a", "b")], pk)
    scan = open_table(table).scan(col("dt").like("a%") & (col("name") == "new"))  # LIKE is not pypaimon's to prune
    decisions = {v.partition["dt"]: v.decision for v in scan.files}
    assert decisions == {"a": Decision.REMAIN, "b": Decision.SKIP}
    assert scan.to_arrow().to_pylist() == [{"dt": "a", "id": 1, "name": "new"}]


# ---------------------------------------------------------------------- partitions


@pytest.fixture
def partitioned(tables):
    schema = pa.schema([("dt", pa.string()), ("id", pa.int32())])
    table = tables.make("parts", schema, partition_keys=["dt"])
    write(table, [{"dt": "a", "id": 1}, {"dt": "a", "id": 2}], schema)
    write(table, [{"dt": "b", "id": 1}, {"dt": None, "id": 3}], schema)
    return open_table(table)


def test_partition_columns_come_from_the_partition(partitioned):
    found = sorted(partitioned.scan().to_arrow().to_pylist(), key=str)
    assert found == sorted([{"dt": "a", "id": 1}, {"dt": "a", "id": 2}, {"dt": "b", "id": 1}, {"dt": None, "id": 3}],
                           key=str)


@pytest.mark.parametrize(("predicate", "ids"), [
    (col("dt") == "a", [1, 2]), (col("dt") != "a", [1]), (col("dt").is_null(), [3]), (col("dt").like("%a%"), [1, 2]),
    ((col("dt") == "a") & (col("id") == 2), [2]), ((col("dt") == "b") | (col("id") == 3), [1, 3])])
def test_predicates_on_partitions(partitioned, predicate, ids):
    scan = partitioned.scan(predicate)
    assert sorted(scan.to_arrow()["id"].to_pylist()) == ids
    assert scan.count() == len(ids)


def test_a_partition_predicate_is_exact_without_an_index(partitioned):
    scan = partitioned.scan(col("dt").like("a%"))
    assert all(v.exact for v in scan.files)
    scan.count()
    assert scan.stats.data_bytes == 0


def test_only_partitions(partitioned):
    assert partitioned.scan(partitions={"dt": "a"}).count() == 2
    assert partitioned.scan(partitions=[{"dt": "b"}, {"dt": None}]).count() == 2
    assert partitioned.scan(col("id") == 1, partitions={"dt": "a"}).to_arrow().to_pylist() == [{"dt": "a", "id": 1}]
    with pytest.raises(ValueError, match="'id' is no partition column; these are dt"):
        partitioned.scan(partitions={"id": 1})


def test_stats_count_what_planning_pruned(partitioned):
    stats = partitioned.scan(col("dt") == "a").stats
    assert (stats.files_total, stats.files_planned, stats.files_skipped) == (3, 1, 2)
    assert (stats.rows_total, stats.rows_selected) == (4, 2)


def test_only_partition_columns_are_read_from_nowhere(partitioned):
    scan = partitioned.scan(columns=["dt"])
    assert sorted(scan.to_arrow()["dt"].to_pylist(), key=lambda v: v or "z") == ["a", "a", "b", None]
    assert scan.stats.data_bytes == 0


# ---------------------------------------------------------------------- formats and evolution


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_every_format(tables, file_format):
    table = tables.make(options={"file.format": file_format})
    write(table, [row(i, f"n{i}", i / 2) for i in range(10)] + [row(None)])
    scan = open_table(table).scan(col("id") >= 7, columns=["name"])
    assert scan.to_arrow().to_pydict() == {"name": ["n7", "n8", "n9"]}
    assert open_table(table).scan(col("score").is_null()).count() == 1
    assert open_table(table).scan().to_arrow().schema == open_table(table).schema


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_a_schema_that_changed(tables, file_format):
    table = tables.make(options={"file.format": file_format})
    write(table, [row(1, "a", 1.5), row(2, None, None)])
    table = tables.alter(
        SchemaChange.rename_column("name", "title"), SchemaChange.update_column_type("id", AtomicType("BIGINT")),
        SchemaChange.add_column("extra", AtomicType("INT")), SchemaChange.drop_column("score"))
    newer = pa.schema([("id", pa.int64()), ("title", pa.string()), ("extra", pa.int32())])
    write(table, [{"id": 2**40, "title": "b", "extra": 7}], newer)
    opened = open_table(table)
    assert opened.scan(col("title") == "a").to_arrow().to_pylist() == [{"id": 1, "title": "a", "extra": None}]
    assert opened.scan(col("extra").is_null()).count() == 2
    assert opened.scan(col("extra") == 7).to_arrow()["id"].to_pylist() == [2**40]
    assert opened.scan(col("id") > 1).count() == 2
    skipped = [v for v in opened.scan(col("extra") == 7).files if v.decision is Decision.SKIP]
    assert len(skipped) == 1 and "lacks extra" in skipped[0].reason


def test_a_column_dropped_and_added_again_is_another_one(tables):
    table = tables.make()
    write(table, [row(1, "old")])
    tables.alter(SchemaChange.drop_column("name"))
    table = tables.alter(SchemaChange.add_column("name", AtomicType("STRING")))
    scan = open_table(table).scan(col("name") == "old")
    assert scan.count() == 0
    assert open_table(table).scan(col("name").is_null()).count() == 1


def test_a_type_that_does_not_keep_values_is_read_and_filtered(tables):
    table = tables.make()
    write(table, [row(1, "a", 1.7), row(2, "b", 2.2)])
    table = tables.alter(SchemaChange.update_column_type("score", AtomicType("INT")))
    scan = open_table(table).scan(col("score") == 1)
    (verdict,) = scan.files
    assert verdict.decision is Decision.REMAIN and "changed its type from DOUBLE to INT" in verdict.reason
    assert scan.to_arrow().to_pylist() == [{"id": 1, "name": "a", "score": 1}]


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_every_type_comes_out_as_pypaimon_gives_it(tables, file_format):
    schema = pa.schema([
        ("b", pa.bool_()), ("i8", pa.int8()), ("i16", pa.int16()), ("f", pa.float32()), ("bin", pa.binary()),
        ("d", pa.date32()), ("dec", pa.decimal128(20, 3)), ("ts", pa.timestamp("ms")), ("tn", pa.timestamp("ns")),
        ("tz", pa.timestamp("us", tz="UTC")), ("t", pa.time32("ms")), ("l", pa.list_(pa.int32())),
        ("m", pa.map_(pa.string(), pa.int64())), ("s", pa.struct([("x", pa.int32()), ("y", pa.string())]))])
    values = {
        "b": True, "i8": -1, "i16": 5, "f": 0.5, "bin": b"\xff", "d": datetime.date(2024, 2, 29),
        "dec": Decimal("12345678901234567.890"), "ts": datetime.datetime(1969, 12, 31), "tn": 1_700_000_000_000_000_001,
        "tz": datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc), "t": datetime.time(1, 2, 3),
        "l": [1, None], "m": [("k", 1)], "s": {"x": 1, "y": None}}
    table = tables.make("types", schema, options={"file.format": file_format})
    write(table, [values, {name: None for name in values}], schema)
    builder = table.new_read_builder()
    theirs = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    ours = open_table(table).scan().to_arrow()
    assert ours.schema == theirs.schema
    assert ours.to_pydict() == theirs.to_pydict()
    for name in ("b", "i8", "f", "dec", "ts", "tz", "t", "bin", "d", "l"):
        assert open_table(table).scan(col(name).is_null()).count() == 1
    assert open_table(table).scan(col("dec") == Decimal("12345678901234567.890")).count() == 1


def test_a_column_with_a_default_value_is_never_pruned_by(tables):
    table = tables.make(options={"fields.name.default-value": "none"})
    write(table, [row(1, "a"), row(2, None)])
    builder = table.new_read_builder()
    theirs = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    scan = open_table(table).scan(col("name") == "a")
    assert scan.files[0].decision is Decision.REMAIN and "default value" in scan.files[0].reason
    assert scan.to_arrow().to_pylist() == [r for r in theirs.to_pylist() if r["name"] == "a"]


# ---------------------------------------------------------------------- which rows, in which order


@pytest.fixture
def scores(tables):
    table = tables.make("scores")
    nan = float("nan")
    write(table, [row(1, "a", 1.0), row(2, "b", nan), row(3, "c", None)])
    write(table, [row(4, "d", -0.0), row(5, "e", 0.0), row(6, "f", 9.5)])
    return open_table(table)


@pytest.mark.parametrize(("top", "ids"), [
    (("score", 2), [4, 5]), (("score", 3, True), [2, 6, 1]), (TopN("score", 2, nulls_first=True), [3, 4]),
    (("id", 1, True), [6]), (("name", 9, True), [6, 5, 4, 3, 2, 1]), (("score", 0), [])])
def test_top_n(scores, top, ids):
    scan = scores.scan(columns=["id"], top_n=top)
    assert scan.to_arrow().to_pydict() == {"id": ids}
    assert scan.count() == len(ids)


def test_top_n_of_a_filter(scores):
    assert scores.scan(col("id") < 6, ["id", "score"], top_n=("score", 1, True)).to_arrow()["id"].to_pylist() == [2]


@pytest.mark.parametrize("limit", [0, 1, 3, 4, 100])
def test_limit(scores, limit):
    scan = scores.scan(limit=limit)
    assert scan.to_arrow().num_rows == min(limit, 6) == scan.count()


def test_a_limit_reads_no_more_files_than_it_needs(scores):
    scan = scores.scan(limit=1)
    scan.to_arrow()
    assert scan.stats.row_groups_seen == 1


def test_the_result_is_an_arrow_stream(scores):
    assert pa.table(scores.scan(col("id") < 3)).num_rows == 2


def test_threads_give_the_same_rows(scores):
    one, many = scores.scan(threads=1).to_arrow(), scores.scan(threads=8).to_arrow()
    assert one["id"].to_pylist() == many["id"].to_pylist()


def test_columns_beyond_the_predicate_are_read_for_its_rows_only(tables):
    table = tables.make("wide", options={"file.format": "parquet"})
    write(table, [row(i, f"n{i}" * 50, i / 2) for i in range(5000)])
    opened = open_table(table)
    none, one, every = (opened.scan(col("score") < limit) for limit in (-0.5, 0.5, 1e9))
    assert [scan.to_arrow().num_rows for scan in (none, one, every)] == [0, 1, 5000]
    assert none.stats.data_bytes < one.stats.data_bytes
    assert one.to_arrow()["name"].to_pylist() == ["n0" * 50]


def test_splits_travel(scores):
    scan = scores.scan(col("id") >= 3, columns=["name"])
    names = []
    for split in scan.splits():
        there = pickle.loads(pickle.dumps(split))
        verdicts = there.evaluate()
        assert there.row_count == 3 and len(there.paths) == len(verdicts) == 1 and there.size > 0
        names += [n for batch in there.to_batches(verdicts) for n in batch.column("name").to_pylist()]
        assert there.count(verdicts) == len(list(there.to_batches())[0])
    assert names == ["c", "d", "e", "f"]


# ---------------------------------------------------------------------- which snapshot


def test_time_travel(tables):
    table = tables.make()
    write(table, [row(1)])
    table.create_tag("first")
    between = table.snapshot_manager().get_latest_snapshot().time_millis
    write(table, [row(2)])
    later = table.snapshot_manager().get_latest_snapshot().time_millis
    opened = open_table(table)
    assert opened.scan().count() == 2
    assert opened.scan(snapshot_id=1).count() == 1
    assert opened.scan(tag="first").count() == 1
    assert opened.scan(timestamp=between).count() in (1, 2) and opened.scan(timestamp=later).count() == 2
    moment = datetime.datetime.fromtimestamp(later / 1000, datetime.timezone.utc)
    assert opened.scan(timestamp=moment).snapshot_id == 2
    assert opened.scan(timestamp=moment.replace(tzinfo=None).isoformat()).snapshot_id == 2
    eastern = (moment + datetime.timedelta(hours=8)).replace(tzinfo=None)
    assert opened.scan(timestamp=eastern, timezone="+08:00").snapshot_id == 2


def test_the_schema_of_that_time(tables):
    table = tables.make()
    write(table, [row(1, "a")])
    table = tables.alter(SchemaChange.rename_column("name", "title"))
    write(table, [{"id": 2, "title": "b", "score": None}],
          pa.schema([("id", pa.int32()), ("title", pa.string()), ("score", pa.float64())]))
    assert open_table(table).scan(snapshot_id=1).schema.names == ["id", "name", "score"]
    assert open_table(table).scan(col("name") == "a", snapshot_id=1).count() == 1
    assert open_table(table).scan(col("title") == "a").count() == 1


def test_a_table_without_snapshots(tables):
    scan = open_table(tables.make()).scan(col("id") == 1)
    assert scan.snapshot_id is None and scan.files == [] and scan.count() == 0
    assert scan.to_arrow().num_rows == 0 and scan.to_arrow().schema == scan.schema
    assert "0 files" in scan.explain()


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(("kwargs", "message"), [
    ({"where": col("nope") == 1}, "no column 'nope'; it has id, name, score"),
    ({"columns": ["id", "nope"]}, "no column 'nope'"), ({"columns": ["id", "id"]}, "each column once"),
    ({"columns": []}, "at least one"), ({"top_n": ("nope", 1)}, "no column 'nope'"),
    ({"limit": -1}, "limit"), ({"on_index_error": "hope"}, "on_index_error is one of"),
    ({"snapshot_id": 1, "tag": "x"}, "one of snapshot_id and tag"), ({"snapshot_id": 99}, "snapshot_id=99"),
    ({"tag": "nope"}, "tag='nope'"), ({"timestamp": 1}, "timestamp=1")])
def test_what_makes_no_sense_is_said(scores, kwargs, message):
    with pytest.raises(ValueError, match=message):
        scores.scan(**kwargs).count()


@pytest.mark.parametrize("kwargs", [{"where": 5}, {"columns": "id"}, {"top_n": 3}, {"where": col("id") == "x"},
                                    {"timestamp": 1.5}, {"where": col("id")["key"] == 1}])
def test_wrong_types(scores, kwargs):
    with pytest.raises(TypeError):
        scores.scan(**kwargs)


def test_a_literal_that_cannot_be_compared_names_column_and_type(scores):
    with pytest.raises(TypeError, match="id.*INT"):
        scores.scan(col("id") == "one")


def test_no_table_here(tmp_path):
    with pytest.raises(ValueError, match="no Paimon table is here"):
        open_table(tmp_path)
    with pytest.raises(TypeError):
        open_table(7)
