"""What a rewrite leaves to others: Java expires snapshots, plans and reads, pypaimon_rust reads."""
from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_fidx.table import open_table
from tests.table.support import copied, live_records, without_index
from tests.table.test_rewrite import IN_FILES, Warehouse, rows

ON_ID = {"file-index.bitmap.columns": "id"}
THRESHOLDS = ["0b", "1mb"]
TABLES = {"append": {}, "tracked": {"row-tracking.enabled": "true"}}


@pytest.fixture
def warehouse(tmp_path):
    return Warehouse(tmp_path)


def data_files(table) -> set[str]:
    return {p.name for p in Path(table).rglob("data-*") if p.suffix in (".parquet", ".orc", ".avro")}


def move_data_away(table) -> None:
    for path in Path(table).rglob("data-*"):
        if path.suffix == ".parquet":
            path.rename(path.with_suffix(".away"))


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize(("name", "column"), [
    ("append_parquet_separate", "id"), ("append_orc_embedded", "id"), ("pk_dv", "qty"), ("evolved", "id"),
    ("map_nested", "id")])
def test_java_expires_and_reads_rewritten_golden_tables(java, tmp_path, name, column, threshold):
    table = copied(name, tmp_path)
    options = {"file-index.bitmap.columns": column, "file-index.in-manifest-threshold": threshold}
    before = java.plan(table)
    open_table(table).rewrite_index(options)
    live = set(live_records(table))
    assert java.plan(table) == before
    assert java.expire(table) >= 1
    assert live <= data_files(table)
    assert java.plan(table) == before
    assert open_table(table).scan().count() == before["rows"]
    assert open_table(table).rewrite_index(options).snapshot_id is None


@pytest.mark.parametrize("options", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("partitioned", [False, True])
def test_java_expires_what_pypaimon_wrote(java, warehouse, partitioned, options):
    warehouse.create(options=options | IN_FILES, partition_keys=["part"] if partitioned else [])
    warehouse.write(rows(1, 2, 3, part="a") + rows(4, 5, part=None))
    warehouse.write(rows(6, part="b"))
    path, live = warehouse.path(), set(live_records(warehouse.path()))
    before = java.plan(path)
    for asked in (ON_ID, {}, {"file-index.bsi.columns": "id"}, ON_ID, {}):
        warehouse.table().rewrite_index(asked)
        assert java.plan(path) == before
    assert java.expire(path) == 6
    assert java.plan(path) == before and data_files(path) == live
    warehouse.table().rewrite_index(ON_ID)
    assert java.plan(path, "id", "EQUAL", [5])["rows"] == 1 and java.plan(path) == before


def test_what_a_rewrite_replaced_outlives_javas_expiry_and_is_found(java, warehouse):
    warehouse.create(options=IN_FILES)
    warehouse.write(rows(1, 2, 3))
    old = warehouse.table().rewrite_index(ON_ID).files[0].index_path
    new = warehouse.table().rewrite_index({"file-index.bsi.columns": "id"}).files[0].index_path
    assert java.expire(warehouse.path()) == 2
    result = warehouse.table().verify_index(remove_orphans=True, min_age=datetime.timedelta(0))
    assert result.ok and [Path(o.path).name for o in result.removed] == [Path(old).name]
    assert warehouse.index_files() == {Path(new).name}
    assert java.plan(warehouse.path(), "id", "EQUAL", [2])["rows"] == 1


def test_java_plans_the_same_files_by_their_statistics(java, warehouse):
    warehouse.create(options=IN_FILES | {"metadata.stats-mode": "full"})
    for start in range(0, 60, 10):
        warehouse.write(rows(*range(start, start + 10)))
    path = warehouse.path()
    questions = [("id", "EQUAL", [25]), ("id", "GREATER_THAN", [41]), ("id", "EQUAL", [1000]),
                 ("name", "EQUAL", ["zz"]), ("name", "IS_NULL", [])]
    before, entries = [java.plan(path, *q)["files"] for q in questions], live_records(path)
    assert [len(files) for files in before] == [1, 2, 0, 0, 0]
    warehouse.table().rewrite_index({"file-index.bitmap.columns": "id,name"})
    assert [java.plan(path, *q)["files"] for q in questions] == before
    assert without_index(live_records(path)) == without_index(entries)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_an_absent_key_needs_no_data_file(java, warehouse, threshold):
    warehouse.create(options={"file-index.in-manifest-threshold": threshold, "metadata.stats-mode": "none"})
    warehouse.write(rows(*range(0, 100, 2)))
    warehouse.table().rewrite_index({"file-index.bloom-filter.columns": "id", "file-index.bloom-filter.id.items": "50",
                                     "file-index.bloom-filter.id.fpp": "0.0001", "file-index.bitmap.columns": "name"})
    path = warehouse.path()
    assert java.plan(path, "id", "EQUAL", [4])["rows"] == 1
    assert java.plan(path, "id", "EQUAL", [4], file_index__read__enabled="false")["rows"] == 1
    move_data_away(path)
    assert java.plan(path, "id", "EQUAL", [5])["rows"] == 0
    assert java.plan(path, "name", "EQUAL", ["absent"])["rows"] == 0
    assert warehouse.table().scan("id = 5").to_arrow().num_rows == 0
    with pytest.raises(RuntimeError, match="FileNotFound|not exist"):
        java.plan(path, "id", "EQUAL", [4])


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_pypaimon_rust_reads_rewritten_tables(warehouse, threshold):
    rust = pytest.importorskip("pypaimon_rust.datafusion")
    warehouse.create(options={"file-index.in-manifest-threshold": threshold, "metadata.stats-mode": "none"})
    warehouse.write(rows(*range(0, 100, 2)))
    warehouse.table().rewrite_index(ON_ID)

    def count(key):
        catalog = rust.PaimonCatalog({"warehouse": str(warehouse.folder), "metastore": "filesystem"})
        builder = catalog.get_table("db.t").new_read_builder().with_filter(
            {"method": "equal", "field": "id", "literals": [key]})
        batches = builder.new_read().read(builder.new_scan().plan().splits())
        return sum(pa.record_batch(batch).num_rows for batch in batches)

    assert count(4) == 1
    move_data_away(warehouse.path())
    assert count(5) == 0
    with pytest.raises(Exception, match="(?i)not ?found|no such file"):
        count(4)
