"""Where the data files of a snapshot, their indexes and their deletion vectors are, and what is wrong with them."""
from __future__ import annotations

import logging
import os
import warnings
import zlib

import fastavro
import pytest
from pyarrow.fs import LocalFileSystem
from pypaimon.common.options.options import Options
from pypaimon.filesystem.pyarrow_file_io import PyArrowFileIO
from pypaimon.table.file_store_table import FileStoreTable
from pyroaring import BitMap64

from paimon_fidx.errors import FileIndexError
from paimon_fidx.predicate import col
from paimon_fidx.result import Decision
from paimon_fidx.table import open_table
from paimon_fidx.table.deletion import MAGIC_64

from .support import copied, edit_manifests, golden_path

PENDING = col("status") == "PENDING"


def index_file(table):
    (path,) = (table / "bucket-0").glob("*.index")
    return path


def test_a_missing_index_file_is_named(tmp_path):
    table = copied("orders_separate", tmp_path)
    path = index_file(table)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=f"{path.name}: this index file does not exist.*on_index_error='warn'"):
        open_table(table).scan(PENDING, on_index_error="raise").count()
    with pytest.warns(UserWarning, match=f"{path.name}.*read in full"):
        assert open_table(table).scan(PENDING).count() == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scan = open_table(table).scan(PENDING, on_index_error="ignore")
        assert scan.to_arrow()["order_id"].to_pylist() == [1, 3, 6, 9]
        assert "unusable index" in scan.explain() and path.name in scan.files[0].reason


@pytest.mark.parametrize("damage", [b"", b"\0" * 40, b"PAR1"])
def test_a_damaged_index_file_is_named(tmp_path, damage):
    table = copied("orders_separate", tmp_path)
    path = index_file(table)
    path.write_bytes(damage)
    with pytest.raises(FileIndexError, match=path.name):
        open_table(table).scan(PENDING, on_index_error="raise").count()
    with pytest.warns(UserWarning, match=path.name):
        assert open_table(table).scan(PENDING).count() == 4


def test_a_damaged_embedded_index_names_its_data_file(tmp_path):
    table = copied("orders", tmp_path)
    edit_manifests(table, lambda entry: entry["_FILE"].update(_EMBEDDED_FILE_INDEX=b"\0" * 100))
    with pytest.raises(FileIndexError, match=r"data-.*\.parquet"):
        open_table(table).scan(PENDING, on_index_error="raise").count()
    with pytest.warns(UserWarning, match=r"data-.*\.parquet"):
        assert open_table(table).scan(PENDING).count() == 4


def test_two_index_files_are_an_error(tmp_path):
    table = copied("orders_separate", tmp_path)
    edit_manifests(table, lambda entry: entry["_FILE"]["_EXTRA_FILES"].append("other.index"))
    with pytest.raises(ValueError, match="one index file, found 2: .*other.index"):
        open_table(table).scan(PENDING, on_index_error="raise").count()
    with pytest.warns(UserWarning, match="found 2"):
        assert open_table(table).scan(PENDING).count() == 4


def test_extra_files_that_are_no_index_are_left_alone(tmp_path):
    table = copied("orders", tmp_path)
    edit_manifests(table, lambda entry: entry["_FILE"]["_EXTRA_FILES"].append("data.changelog"))
    assert open_table(table).scan(PENDING, on_index_error="raise").count() == 4


def test_a_file_without_an_index(tmp_path):
    table = copied("orders", tmp_path)
    edit_manifests(table, lambda entry: entry["_FILE"].update(_EMBEDDED_FILE_INDEX=None))
    scan = open_table(table).scan(PENDING, on_index_error="raise")
    assert scan.files[0].decision is Decision.REMAIN and scan.files[0].reason == "no index"
    assert scan.count() == 4


LATER = ("_VALUE_STATS_COLS", "_EXTERNAL_PATH", "_FIRST_ROW_ID", "_WRITE_COLS", "_WRITE_COLS_SEQUENCES")


@pytest.mark.parametrize("name", ["orders", "append_parquet_separate", "append_orc_embedded", "evolved", "pk_dv"])
def test_manifests_of_paimon_0_9(tmp_path, name):
    table = copied(name, tmp_path)
    edit_manifests(table, lambda entry: None, LATER)
    old = FileStoreTable.from_path(str(table))
    with pytest.raises(KeyError, match="_VALUE_STATS_COLS"):  # pypaimon 2.1.0 itself
        old.new_read_builder().new_scan().plan()
    ours, now = open_table(table), open_table(golden_path(name))
    assert ours.scan().to_arrow().equals(now.scan().to_arrow())
    column = now.schema.names[1]
    for predicate in (col(column).is_null(), col(column).is_not_null()):
        old_scan, new_scan = ours.scan(predicate), now.scan(predicate)
        assert old_scan.to_arrow().equals(new_scan.to_arrow())
        assert [v.decision for v in old_scan.files] == [v.decision for v in new_scan.files]


def test_statistics_of_old_manifests_prune(tmp_path):
    table = copied("append_parquet_separate", tmp_path)
    edit_manifests(table, lambda entry: None, LATER)
    for predicate in (col("id") > 10**6, col("name") < "", col("dt") == "20240102"):
        old, new = open_table(table).scan(predicate), open_table(golden_path("append_parquet_separate")).scan(predicate)
        assert [v.file.name for v in old.files] == [v.file.name for v in new.files]
        assert old.stats.files_planned < old.stats.files_total == 6


def test_an_external_path_holds_data_and_index(tmp_path):
    table = copied("orders_separate", tmp_path)
    elsewhere = tmp_path / "elsewhere" / "bucket-0"
    elsewhere.mkdir(parents=True)
    for path in (table / "bucket-0").iterdir():
        os.rename(path, elsewhere / path.name)
    edit_manifests(table, lambda entry: entry["_FILE"].update(
        _EXTERNAL_PATH=str(elsewhere / entry["_FILE"]["_FILE_NAME"])))
    scan = open_table(table).scan(PENDING, on_index_error="raise")
    (verdict,) = scan.files
    assert verdict.path.startswith(str(elsewhere)) and verdict.index.startswith(str(elsewhere))
    assert verdict.exact and scan.to_arrow()["order_id"].to_pylist() == [1, 3, 6, 9]


def test_the_embedded_index_comes_first(tmp_path):
    table = copied("orders", tmp_path)
    edit_manifests(table, lambda entry: entry["_FILE"]["_EXTRA_FILES"].append("not-there.index"))
    assert open_table(table).scan(PENDING, on_index_error="raise").files[0].index == "embedded"


def test_64_bit_deletion_vectors(tmp_path):
    """The same deleted rows, written as 64-bit vectors."""
    expected = open_table(golden_path("pk_dv")).scan().to_arrow()
    table = copied("pk_dv", tmp_path)
    deleted = {v.file.name: set(v.deleted) for v in open_table(table).scan().files if v.deleted is not None}
    assert deleted
    for manifest in (table / "manifest").glob("index-manifest-*"):
        with open(manifest, "rb") as stream:
            reader = fastavro.reader(stream)
            schema, codec, entries = reader.writer_schema, reader.codec, list(reader)
        for entry in entries:
            data = b"\2"
            for ref in entry["_DELETIONS_VECTORS_RANGES"] or ():
                body = MAGIC_64 + BitMap64(deleted.get(ref["f0"], {0})).serialize()
                ref["f1"], ref["f2"] = len(data), len(body) + 8
                data += len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
            if entry["_DELETIONS_VECTORS_RANGES"]:
                (table / "index" / entry["_FILE_NAME"]).write_bytes(data)
        with open(manifest, "wb") as stream:
            fastavro.writer(stream, schema, entries, codec=codec)
    scan = open_table(table).scan()
    assert scan.to_arrow().equals(expected) and scan.count() == expected.num_rows
    wanted = col("status") == "s1"
    assert open_table(table).scan(wanted).to_arrow().equals(open_table(golden_path("pk_dv")).scan(wanted).to_arrow())


def test_a_damaged_deletion_vector_is_never_ignored(tmp_path):
    table = copied("pk_dv", tmp_path)
    for path in (table / "index").iterdir():
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
    with pytest.raises(FileIndexError, match="deletion_vector"):
        open_table(table).scan(on_index_error="ignore").count()


@pytest.mark.parametrize("name", ["orders", "user_events_separate"])  # Parquet and ORC
def test_a_data_file_that_is_gone_or_damaged_is_named(tmp_path, name):
    table = copied(name, tmp_path)
    (path,) = (p for p in (table / "bucket-0").glob("data-*") if p.suffix != ".index")
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    with pytest.raises(OSError, match=f"{path.name}: this data file cannot be read"):
        open_table(table).scan().to_arrow()
    path.unlink()
    with pytest.raises(FileNotFoundError, match=f"{path.name}: this data file does not exist"):
        open_table(table).scan().to_arrow()


@pytest.mark.parametrize("name", ["orders", "user_events_separate"])
def test_another_number_of_rows_than_the_manifest_says(tmp_path, name):
    table = copied(name, tmp_path)
    edit_manifests(table, lambda entry: entry["_FILE"].update(_ROW_COUNT=11))
    with pytest.raises(FileIndexError, match="row_count: expected 11 rows, as the manifest says, found 10"):
        open_table(table).scan().to_arrow()


@pytest.mark.parametrize("folder", ["plain", "with space", "ünï ✓", "a%20b", "dt=1"])
def test_paths_in_every_spelling(tmp_path, folder, monkeypatch):
    table = copied("orders_separate", tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    for spelled in (table, str(table) + "/", os.path.relpath(table)):
        scan = open_table(spelled).scan(PENDING, on_index_error="raise")
        assert scan.to_arrow()["order_id"].to_pylist() == [1, 3, 6, 9]


def test_a_file_uri():
    scan = open_table("file://" + golden_path("orders_separate")).scan(PENDING, on_index_error="raise")
    assert scan.files[0].exact and scan.to_arrow().num_rows == 4


class Remote(PyArrowFileIO):
    """A file system that is not the local one, though its files are: streams instead of paths."""

    def __init__(self):
        self.properties = Options({})
        self.filesystem = LocalFileSystem()
        self.logger = logging.getLogger(__name__)

    def to_filesystem_path(self, path):
        return path


def remote(name):
    table = FileStoreTable.from_path(golden_path(name))
    return open_table(FileStoreTable(Remote(), table.identifier, table.table_path, table.table_schema))


@pytest.mark.parametrize("name", ["orders_separate", "user_events_separate", "append_orc_separate", "pk_dv"])
def test_a_table_elsewhere_than_on_a_disk(name):
    assert remote(name).scan(on_index_error="raise").to_arrow().equals(open_table(golden_path(name)).scan().to_arrow())


def test_an_index_elsewhere_than_on_a_disk():
    scan = remote("orders_separate").scan(PENDING, on_index_error="raise")
    assert scan.files[0].exact and scan.to_arrow()["order_id"].to_pylist() == [1, 3, 6, 9]
