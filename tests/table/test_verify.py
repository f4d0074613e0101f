"""Does verify_index find what is wrong, and only that? And what file_indexes lists."""
from __future__ import annotations

import datetime
import os
import time
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_fidx.build import build_index
from paimon_fidx.table import open_table
from paimon_fidx.table.agree import disagreements
from paimon_fidx.types import parse_type
from tests.golden import data

from .support import copied, edit_manifests, golden_path
from .test_rewrite import IN_FILES, ON_ID, Warehouse, rows

AT_ONCE = datetime.timedelta(0)


@pytest.fixture
def warehouse(tmp_path):
    return Warehouse(tmp_path)


@pytest.mark.parametrize("name", data.table_names())
def test_what_java_wrote_agrees_row_by_row(name):
    result = open_table(golden_path(name)).verify_index()
    assert result.ok and {f.status for f in result.files} == {"ok"} and not result.orphans
    assert all(f.detail == "" for f in result.files)


@pytest.mark.parametrize(("kind", "column"), [("bitmap", "id"), ("bsi", "id"), ("range-bitmap", "id"),
                                              ("bloom-filter", "id"), ("bitmap", "name"), ("range-bitmap", "name")])
def test_an_index_of_other_rows_is_stale(warehouse, kind, column):
    warehouse.create(options=IN_FILES)
    warehouse.write(rows(1, 2, 3, 4))
    options = {f"file-index.{kind}.columns": column}
    if kind == "bloom-filter":
        options[f"file-index.{kind}.{column}.items"] = "20"
    warehouse.table().rewrite_index(options)
    assert warehouse.table().verify_index().ok
    (name,) = warehouse.index_files()
    other = pa.table({"id": [1, 2, 3, 5], "name": ["n1", "n1", "n0", "n1"]})
    (warehouse.path() / "bucket-0" / name).write_bytes(build_index(other, options))
    result = warehouse.table().verify_index()
    assert not result.ok and result.files[0].status == "stale"
    assert result.files[0].detail.startswith(f"{kind} on {column}: ")
    if kind in ("bsi", "range-bitmap") and column == "id":
        assert "1 rows have other values in the file, the first is row 3" in result.files[0].detail
    (warehouse.path() / "bucket-0" / name).write_bytes(build_index(other.slice(0, 3), options))
    assert warehouse.table().verify_index().files[0].status == "stale"


TYPES = {"a": parse_type("BIGINT"), "s": parse_type("STRING")}


def made(values, kind, **settings):
    options = {f"file-index.{kind}.columns": "a"} | {f"file-index.{kind}.a.{k.replace('_', '-')}": v
                                                    for k, v in settings.items()}
    return build_index(pa.table({"a": pa.array(values, pa.int64())}), options, {"a": "BIGINT"})


def test_other_bytes_of_the_same_rows_agree():
    values = [None, *range(2000)] * 2
    small, large = (made(values, "range-bitmap", chunk_size=size) for size in ("64b", "1kb"))
    assert small != large and disagreements(small, large, TYPES) == []
    small, large = (made(values, "bitmap", index_block_size=size) for size in ("2kb", "16kb"))
    assert small != large and disagreements(small, large, TYPES) == []


@pytest.mark.parametrize("kind", ["bitmap", "bsi", "range-bitmap"])
@pytest.mark.parametrize(("stored", "rows", "why"), [
    ([1, 2, None], [1, 2, 2], "1 rows have other values in the file, the first is row 2"),
    ([1, 2, 3], [2, 1, 3], "2 rows have other values in the file, the first is row 0"),
    ([1, 2], [1, 2, 3], "is about 2 rows, the file has 3"),
])
def test_which_rows_differ(kind, stored, rows, why):
    assert disagreements(made(stored, kind), made(rows, kind), TYPES) == [f"{kind} on a: {why}"]


def test_bloom_filters_with_too_few_and_with_too_many_bits():
    few, many = (made(values, "bloom-filter", items="10") for values in ([1], [1, 2]))
    (why,) = disagreements(few, many, TYPES)
    assert "says that values are absent which the file holds" in why
    (why,) = disagreements(many, few, TYPES)
    assert "was built from other values too" in why


@pytest.mark.parametrize(("damage", "status"), [(b"", "corrupt"), (b"\0" * 40, "corrupt"), (None, "missing")])
def test_damaged_and_missing_index_files(tmp_path, damage, status):
    table = copied("orders_separate", tmp_path)
    (path,) = (table / "bucket-0").glob("*.index")
    path.unlink() if damage is None else path.write_bytes(damage)
    result = open_table(table).verify_index()
    assert [f.status for f in result.files] == [status] and not result.ok
    assert f"1 {status}" in str(result)


def test_two_index_files_are_corrupt(tmp_path):
    table = copied("orders_separate", tmp_path)
    edit_manifests(table, lambda entry: entry["_FILE"]["_EXTRA_FILES"].append("other.index"))
    assert open_table(table).verify_index().files[0].detail.count("found 2: ")


def test_a_damaged_data_file_is_no_finding_about_its_index(tmp_path):
    table = copied("orders_separate", tmp_path)
    (path,) = (table / "bucket-0").glob("*.parquet")
    path.write_bytes(b"PAR1")
    with pytest.raises(OSError, match="this data file cannot be read"):
        open_table(table).verify_index()


def test_files_without_an_index_say_whether_they_should_have_one(warehouse):
    warehouse.create(options={"file-index.bitmap.columns": "id"})
    warehouse.write(rows(1))
    result = warehouse.table().verify_index()
    assert result.ok and (result.files[0].status, result.files[0].detail) == ("none", "the options ask for one")
    warehouse.table().rewrite_index({"file-index.bsi.columns": "id"})
    assert warehouse.table().verify_index().files[0].detail == \
        "lacks bitmap on id; has bsi on id, no longer asked for"


def test_partitions_by_where(warehouse):
    warehouse.create(partition_keys=["part"])
    warehouse.write(rows(1, part="a") + rows(2, part=None))
    assert [f.partition for f in warehouse.table().verify_index("part IS NULL").files] == [{"part": None}]


# --- orphans


def replaced(warehouse):
    """A table whose first index file was replaced; the names of the old and the new one."""
    warehouse.create(options=IN_FILES, partition_keys=["part"])
    warehouse.write(rows(1))
    first = warehouse.table().rewrite_index(ON_ID)
    second = warehouse.table().rewrite_index({"file-index.bsi.columns": "id"})
    return [Path(r.files[0].index_path).name for r in (first, second)]


def expire(warehouse, ids):
    for number in ids:
        (warehouse.path() / "snapshot" / f"snapshot-{number}").unlink()


def names(orphans):
    return [o.path.rsplit("/", 1)[-1] for o in orphans]


def test_an_index_that_an_older_snapshot_has_is_no_orphan(warehouse):
    old, new = replaced(warehouse)
    assert warehouse.table().verify_index(remove_orphans=True, min_age=AT_ONCE).orphans == ()
    expire(warehouse, [1, 2])
    result = warehouse.table().verify_index()
    assert names(result.orphans) == [old] and result.removed == () and result.ok
    assert warehouse.index_files() == {old, new}


def test_tags_and_branches_keep_their_indexes(warehouse):
    old, _ = replaced(warehouse)
    table = warehouse.catalog.get_table("db.t")
    table.create_tag("kept", 2)
    table.branch_manager().create_branch("b", "kept")
    expire(warehouse, [1, 2])
    assert warehouse.table().verify_index().orphans == ()
    table.delete_tag("kept")
    assert warehouse.table().verify_index().orphans == ()
    table.branch_manager().drop_branch("b")
    assert names(warehouse.table().verify_index().orphans) == [old]


def test_orphans_are_removed_on_request_when_they_are_old_enough(warehouse):
    old, new = replaced(warehouse)
    expire(warehouse, [1, 2])
    assert warehouse.table().verify_index(remove_orphans=True).removed == ()
    (path,) = warehouse.path().rglob(old)
    two_days_ago = time.time() - 2 * 86400
    os.utime(path, (two_days_ago, two_days_ago))
    longer = datetime.timedelta(days=3)
    assert warehouse.table().verify_index(remove_orphans=True, min_age=longer).removed == ()
    result = warehouse.table().verify_index(remove_orphans=True)
    assert names(result.removed) == [old] and warehouse.index_files() == {new}
    assert "orphan: " in str(result) and "removed" in str(result)
    with pytest.raises(TypeError, match="min_age is a datetime.timedelta, not int"):
        warehouse.table().verify_index(min_age=5)


def test_what_a_killed_run_left_is_an_orphan_and_other_files_are_not(warehouse):
    replaced(warehouse)
    (folder,) = (p for p in warehouse.path().rglob("bucket-0"))
    (folder / "data-x.parquet-1.index").write_bytes(b"left over")
    (folder / "data-of-a-writer.parquet").write_bytes(b"under way")
    (warehouse.path() / "index").mkdir(exist_ok=True)
    (warehouse.path() / "index" / "x.index").write_bytes(b"of the table")
    result = warehouse.table().verify_index(remove_orphans=True, min_age=AT_ONCE)
    assert names(result.removed) == ["data-x.parquet-1.index"]
    assert warehouse.table().scan("id = 1", on_index_error="raise").count() == 1


# --- the list


def test_file_indexes_lists_every_entry(warehouse):
    warehouse.create(options=IN_FILES, partition_keys=["part"])
    warehouse.write(rows(1, 2, part="a"))
    warehouse.write([{"id": None, "name": "x", "part": None}])
    warehouse.table().rewrite_index({"file-index.bitmap.columns": "id", "file-index.bsi.columns": "id"})
    listed = warehouse.table().file_indexes()
    assert listed.schema.names == [
        "partition", "bucket", "file_path", "file_size_in_bytes", "record_count", "schema_id", "column_name",
        "index_type", "storage_type", "index_file_path", "index_size_in_bytes", "index_container_size_in_bytes",
        "is_empty"]
    found = listed.to_pylist()
    assert sorted((r["partition"], r["index_type"]) for r in found) == \
        [("{a}", "bitmap"), ("{a}", "bsi"), ("{null}", "bitmap"), ("{null}", "bsi")]
    for row in found:
        assert row["storage_type"] == "FILE" and not row["is_empty"]
        assert Path(row["index_file_path"]).stat().st_size == row["index_container_size_in_bytes"] > \
            row["index_size_in_bytes"] > 0
        assert Path(row["file_path"]).stat().st_size == row["file_size_in_bytes"]


def test_embedded_and_empty_entries(tmp_path):
    table = copied("map_nested", tmp_path)
    options = {"file-index.bitmap.columns": "attrs[absent],id"}
    blob = build_index([], options, {"id": "INT", "attrs": "MAP<STRING, STRING>"})
    edit_manifests(table, lambda entry: entry["_FILE"].update(_EMBEDDED_FILE_INDEX=blob))
    found = open_table(table).file_indexes().to_pylist()
    assert {r["column_name"]: (r["is_empty"], r["index_size_in_bytes"] == 0) for r in found} == \
        {"attrs[absent]": (True, True), "id": (False, False)}
    assert {r["storage_type"] for r in open_table(golden_path("orders")).file_indexes().to_pylist()} == {"EMBEDDED"}


def test_an_unusable_index_is_left_out_with_a_warning(tmp_path):
    table = copied("orders_separate", tmp_path)
    (path,) = (table / "bucket-0").glob("*.index")
    path.write_bytes(b"no index")
    with pytest.warns(UserWarning, match="it is left out"):
        assert open_table(table).file_indexes().num_rows == 0
    assert open_table(table).file_indexes("ignore").num_rows == 0
    with pytest.raises(ValueError, match="container"):
        open_table(table).file_indexes("raise")
