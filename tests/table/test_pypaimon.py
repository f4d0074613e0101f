"""The hook for pypaimon: pruned splits through its own reader give the rows of a full read, filtered."""
from __future__ import annotations

import random
import warnings

import pyarrow as pa
import pytest
from pypaimon.globalindex.indexed_split import IndexedSplit
from pypaimon.table.file_store_table import FileStoreTable

import paimon_fidx.pypaimon as fp
from paimon_fidx.errors import FileIndexError
from paimon_fidx.predicate import ALWAYS, col
from paimon_fidx.table import open_table
from paimon_fidx.table.residual import Residual
from tests.golden import data

from .support import golden_path, golden_rows, predicate
from .test_random_questions import pools, tree
from .test_rewrite import IN_FILES, Warehouse, rows

ON_ID = {"file-index.bitmap.columns": "id"}


@pytest.fixture
def warehouse(tmp_path):
    return Warehouse(tmp_path)


def read(table, splits) -> pa.Table:
    return table.new_read_builder().new_read().to_arrow(splits)


def planned(table, where=None) -> list:
    builder = table.new_read_builder()
    return (builder if where is None else builder.with_filter(where)).new_scan().plan().splits()


def filtered(ours, rows_read: pa.Table, where) -> list[str]:
    """What a filter leaves of rows, as sorted JSON."""
    residual = Residual(where, ours.types, "UTC")
    kept = [pa.Table.from_batches([b]).filter(pa.array(residual.mask(b))) for b in rows_read.to_batches()]
    return golden_rows(pa.concat_tables([rows_read.schema.empty_table(), *kept]))


@pytest.mark.parametrize("name", data.table_names())
def test_golden_queries(name):
    table, ours = FileStoreTable.from_path(golden_path(name)), open_table(golden_path(name))
    expected = data.expected(name)
    splits = planned(table)
    whole = read(table, splits)
    narrowed = 0
    for query in expected["queries"]:
        where = predicate(query["predicate"], expected["columns"])
        pruned = fp.prune(table, splits, where, on_index_error="raise")
        narrowed += sum(len(s.files) for s in pruned) < sum(len(s.files) for s in splits) or \
            any(isinstance(s, IndexedSplit) for s in pruned)
        found = read(table, pruned)
        assert filtered(ours, found, where) == filtered(ours, whole, where)
        assert found.num_rows <= whole.num_rows
    assert narrowed > len(expected["queries"]) // 3


@pytest.mark.parametrize("name", ["append_parquet_separate", "append_orc_embedded", "pk_dv", "evolved"])
def test_random_questions(name):
    table, ours = FileStoreTable.from_path(golden_path(name)), open_table(golden_path(name))
    splits, rng = planned(table), random.Random(name)
    whole = read(table, splits)
    pool = pools(whole)
    for _ in range(30):
        where = tree(rng, pool)
        try:
            pruned = fp.prune(table, splits, where)
        except TypeError:
            continue
        assert filtered(ours, read(table, pruned), where) == filtered(ours, whole, where)


@pytest.mark.parametrize("options", [{}, {"row-tracking.enabled": "true"}], ids=["positions", "row ids"])
def test_row_ranges_in_one_split_of_several_files(warehouse, options):
    warehouse.create(options=options)
    for start in (0, 100, 200):
        warehouse.write(rows(*range(start, start + 100)))
    warehouse.table().rewrite_index(ON_ID)
    table = warehouse.catalog.get_table("db.t")
    splits = planned(table)
    assert len(splits) == 1 and len(splits[0].files) == 3
    for wanted in ([5], [5, 6, 7, 150, 299], [0, 99, 100, 199, 200, 299], list(range(90, 110)), [250]):
        (pruned,) = fp.prune(table, splits, col("id").is_in(wanted))
        assert isinstance(pruned, IndexedSplit) and pruned.row_count == len(wanted)
        assert sorted(read(table, [pruned])["id"].to_pylist()) == wanted
    assert fp.prune(table, splits, col("id") == 1000) == []
    assert fp.prune(table, splits, col("id") >= 0) == splits
    (kept,) = fp.prune(table, splits, col("id") >= 100)
    assert not isinstance(kept, IndexedSplit) and len(kept.files) == 2


def test_rows_scattered_over_too_many_runs_are_read_whole(warehouse, monkeypatch):
    warehouse.create()
    warehouse.write(rows(*range(100)))
    warehouse.table().rewrite_index({"file-index.bitmap.columns": "name"})
    table = warehouse.catalog.get_table("db.t")
    assert isinstance(fp.prune(table, planned(table), "name = 'n1'")[0], IndexedSplit)
    monkeypatch.setattr(fp, "MAX_RANGES", 5)
    (split,) = fp.prune(table, planned(table), "name = 'n1'")
    assert not isinstance(split, IndexedSplit) and read(table, [split]).num_rows == 100


def test_splits_that_are_merged_stay(warehouse):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string()), ("part", pa.string())])
    warehouse.create(schema=schema, primary_keys=["id"], options={"bucket": "1"})
    for name in ("old", "new"):
        warehouse.write(pa.Table.from_pylist([{"id": 1, "name": name, "part": "a"}], schema))
    warehouse.table().rewrite_index({"file-index.bitmap.columns": "name"})
    table = warehouse.catalog.get_table("db.t")
    splits = planned(table)
    assert not splits[0].raw_convertible and fp.prune(table, splits, "name = 'old'") == splits
    assert fp.prune(table, splits, "name = 'absent'") == splits


def test_pypaimons_own_predicates(warehouse):
    warehouse.create()
    warehouse.write(rows(*range(10)))
    warehouse.write(rows(*range(10, 20)))
    warehouse.table().rewrite_index({"file-index.bitmap.columns": "id,name"})
    table = warehouse.catalog.get_table("db.t")
    build, splits = table.new_read_builder().new_predicate_builder(), planned(table)
    whole = read(table, splits).to_pylist()
    cases = [
        (build.equal("id", 3), lambda r: r["id"] == 3),
        (build.and_predicates([build.greater_than("id", 8), build.less_than("id", 12)]), lambda r: 8 < r["id"] < 12),
        (build.or_predicates([build.equal("name", "n1"), build.is_in("id", [2])]),
         lambda r: r["name"] == "n1" or r["id"] == 2),
        (build.is_not_in("id", [1, 2]), lambda r: r["id"] not in (1, 2)),
        (build.startswith("name", "n2"), lambda r: r["name"].startswith("n2")),
        (build.between("id", 4, 6), lambda r: 4 <= r["id"] <= 6),
        (build.is_null("name"), lambda r: False),
    ]
    for where, matches in cases:
        found = read(table, fp.prune(table, splits, where)).to_pylist()
        key = lambda r: r["id"]  # noqa: E731
        assert sorted(found, key=key) == [r for r in whole if matches(r)]


def test_what_pypaimon_compares_differently_prunes_nothing(warehouse):
    warehouse.create(schema=pa.schema([("x", pa.float64())]))
    warehouse.write(pa.table({"x": [1.0, float("nan")]}))
    table = warehouse.catalog.get_table("db.t")
    build = table.new_read_builder().new_predicate_builder()
    nan = float("nan")
    assert fp.from_pypaimon(build.not_equal("x", nan), table) is ALWAYS
    assert fp.from_pypaimon(build.equal("x", "text"), table) is ALWAYS
    both = [build.equal("x", 1.0), build.not_equal("x", nan)]
    assert fp.from_pypaimon(build.or_predicates(both), table) is ALWAYS
    assert fp.from_pypaimon(build.and_predicates(both), table).columns()[0].name == "x"


def test_what_does_not_fit_the_table():
    table = FileStoreTable.from_path(golden_path("orders"))
    splits = planned(table)
    with pytest.raises(ValueError, match="no column 'absent'"):
        fp.prune(table, splits, "absent = 1")
    with pytest.raises(TypeError, match="not int"):
        fp.prune(table, splits, 5)
    with pytest.raises(TypeError, match="status"):
        fp.prune(table, splits, col("status") == 5)


def test_a_damaged_index(warehouse):
    warehouse.create(options=IN_FILES)
    warehouse.write(rows(1))
    warehouse.table().rewrite_index(ON_ID)
    (name,) = warehouse.index_files()
    (warehouse.path() / "bucket-0" / name).write_bytes(b"\0" * 50)
    table = warehouse.catalog.get_table("db.t")
    with pytest.warns(UserWarning, match=name):
        assert len(fp.prune(table, planned(table), "id = 5")) == 1
    with pytest.raises(FileIndexError, match=name):
        fp.prune(table, planned(table), "id = 5", on_index_error="raise")


@pytest.mark.parametrize("name", data.table_names())
def test_the_rust_reader_gives_the_same_rows(name):
    pytest.importorskip("pypaimon_rust")
    table, expected = FileStoreTable.from_path(golden_path(name)), data.expected(name)
    splits = planned(table)
    for query in expected["queries"][::3]:
        pruned = fp.prune(table, splits, predicate(query["predicate"], expected["columns"]))
        found, right = fp.read_native(table, pruned), read(table, pruned)
        assert found.schema == right.schema and golden_rows(found) == golden_rows(right)
    some = table.field_names[1:3]
    assert golden_rows(fp.read_native(table, splits, some)) == golden_rows(read(table, splits).select(some))


def test_pypaimon_reads_what_the_rust_reader_does_not(warehouse, monkeypatch):
    pytest.importorskip("pypaimon_rust")
    warehouse.create()
    warehouse.write(rows(1, 2))
    table = warehouse.catalog.get_table("db.t")

    class PanicException(BaseException):
        """Named as the one of pyo3."""

    def failing(error):
        def fail(*_):
            raise error

        monkeypatch.setattr(fp, "_read_rust", fail)

    for error in (PanicException("index out of range"), ValueError("no such type")):
        failing(error)
        assert fp.read_native(table, planned(table))["id"].to_pylist() == [1, 2]
    failing(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        fp.read_native(table, planned(table))
    assert fp.read_native(table, []).num_rows == 0


# --- writing


def written(warehouse, ids):
    """(table, its writer, its commit, messages not yet committed)"""
    table = warehouse.catalog.get_table("db.t")
    builder = table.new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    write.write_arrow(pa.Table.from_pylist(ids, warehouse.table().schema))
    return table, commit, write.prepare_commit()


@pytest.mark.parametrize("threshold", ["0b", "1mb"])
@pytest.mark.parametrize("options", [{}, {"row-tracking.enabled": "true"}], ids=["plain", "row ids"])
def test_files_get_their_index_before_the_commit(warehouse, threshold, options):
    warehouse.create(partition_keys=["part"], options=options | {
        "file-index.bitmap.columns": "id", "file-index.in-manifest-threshold": threshold})
    table, commit, messages = written(warehouse, rows(1, 2) + rows(3, part=None))
    commit.commit(fp.with_indexes(table, messages))
    assert len(warehouse.index_files()) == (2 if threshold == "0b" else 0)
    scan = warehouse.table().scan("id = 3", on_index_error="raise")
    assert all(v.exact for v in scan.files) and scan.to_arrow()["id"].to_pylist() == [3]
    assert warehouse.table().rewrite_index().snapshot_id is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(table, fp.prune(table, planned(table), "id = 3"))["id"].to_pylist() == [3]


def test_options_given_and_none_at_all(warehouse):
    warehouse.create()
    table, commit, messages = written(warehouse, rows(1))
    assert fp.with_indexes(table, messages) == messages
    commit.commit(fp.with_indexes(table, messages, {"file-index.bsi.columns": "id"}))
    assert warehouse.table().file_indexes()["index_type"].to_pylist() == ["bsi"]


def test_an_abort_removes_the_index_files_too(warehouse):
    warehouse.create(options=IN_FILES)
    table, commit, messages = written(warehouse, rows(1))
    messages = fp.with_indexes(table, messages, ON_ID)
    assert len(warehouse.index_files()) == 1
    commit.abort(messages)
    assert warehouse.index_files() == set()


def test_a_failure_leaves_no_index_files(warehouse):
    warehouse.create(options=IN_FILES, partition_keys=["part"])
    table, _, messages = written(warehouse, rows(1, part="a") + rows(2, part="b"))
    last = messages[-1].new_files[-1].physical_path().removeprefix("file:")
    with open(last, "wb") as stream:
        stream.write(b"PAR1")
    with pytest.raises(OSError, match="cannot be read"):
        fp.with_indexes(table, messages, ON_ID)
    assert warehouse.index_files() == set()


def test_a_writer_that_ignored_the_options_is_reported(warehouse):
    warehouse.create(options=ON_ID)
    warehouse.write(rows(1))
    table = warehouse.catalog.get_table("db.t")
    with pytest.warns(UserWarning, match="1 of 1 data files have no index though the options ask for one"):
        fp.prune(table, planned(table), "id = 1")
