"""Indexes for files that exist: what is built, kept and dropped, how it is committed, what is left behind."""
from __future__ import annotations

import glob
import json
from pathlib import Path

import fastavro
import pyarrow as pa
import pytest
from pypaimon import CatalogFactory, Schema
from pypaimon.snapshot.renaming_snapshot_commit import RenamingSnapshotCommit

from paimon_fidx.predicate import col
from paimon_fidx.result import Decision
from paimon_fidx.table import CommitConflict, CommitUnknown, open_table
from paimon_fidx.table import rewrite as room
from tests.golden import data

from .support import contents, copied, edit_manifests, golden_path, live_records, manifest_records, without_index

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("part", pa.string())])
ON_ID = {"file-index.bitmap.columns": "id"}
IN_FILES = {"file-index.in-manifest-threshold": "0b"}


class Warehouse:
    """Tables written by pypaimon."""

    def __init__(self, folder):
        self.folder = Path(folder) / "warehouse"
        self.catalog = CatalogFactory.create({"warehouse": str(self.folder)})
        self.catalog.create_database("db", True)

    def create(self, name="t", schema=SCHEMA, options=(), **kwargs):
        options = {"bucket": "-1", **dict(options)}
        self.catalog.create_table(f"db.{name}", Schema.from_pyarrow_schema(schema, options=options, **kwargs), False)
        return name

    def write(self, rows, name="t", overwrite=None):
        builder = self.catalog.get_table(f"db.{name}").new_batch_write_builder()
        if overwrite is not None:
            builder = builder.overwrite(overwrite)
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows, SCHEMA))
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    def table(self, name="t"):
        return open_table(self.catalog.get_table(f"db.{name}"))

    def path(self, name="t") -> Path:
        return self.folder / "db.db" / name

    def index_files(self, name="t") -> set[str]:
        return {Path(p).name for p in glob.glob(str(self.path(name) / "**" / "*.index"), recursive=True)}


@pytest.fixture
def warehouse(tmp_path):
    return Warehouse(tmp_path)


def rows(*ids, part="a"):
    return [{"id": i, "name": f"n{i % 3}", "part": part} for i in ids]


def snapshot(table) -> dict:
    latest = max((Path(table) / "snapshot").glob("snapshot-*"), key=lambda p: int(p.name.rpartition("-")[2]))
    return json.loads(latest.read_text())


# --- what is built


COLUMNS = {"map_nested": "attrs[color],id", "evolved": "id", "pk_dv": "id", "orders": "user_id",
           "orders_separate": "user_id", "user_events": "city", "user_events_separate": "city"}


@pytest.mark.parametrize("threshold", ["0b", "1mb"])
@pytest.mark.parametrize("name", data.table_names())
def test_only_the_index_of_an_entry_changes(tmp_path, name, threshold):
    table = copied(name, tmp_path)
    before, files = live_records(table), contents(table)
    answer = open_table(table).scan().to_arrow()
    asked = {"file-index.bitmap.columns": COLUMNS.get(name, "id"), "file-index.in-manifest-threshold": threshold}
    result = open_table(table).rewrite_index(asked)
    assert len(result.of("build")) == len(before) == len(result.files)
    after = live_records(table)
    assert without_index(after) == without_index(before)
    now = contents(table)
    assert {path: now[path] for path in files if path != "snapshot/LATEST"} == \
        {path: body for path, body in files.items() if path != "snapshot/LATEST"}
    for record in after.values():
        names = [extra for extra in record["_FILE"]["_EXTRA_FILES"] if extra.endswith(".index")]
        assert (len(names), record["_FILE"]["_EMBEDDED_FILE_INDEX"] is None) == \
            ((1, True) if threshold == "0b" else (0, False))
    assert open_table(table).scan().to_arrow().equals(answer)
    committed = snapshot(table)
    assert (committed["commitKind"], committed["id"]) == ("COMPACT", result.snapshot_id)
    assert committed["deltaRecordCount"] == 0
    again = open_table(table).rewrite_index(asked)
    assert again.snapshot_id is None and len(again.of("keep")) == len(before)


@pytest.mark.parametrize("name", data.table_names())
def test_what_java_built_by_the_tables_options_is_up_to_date(tmp_path, name):
    table = copied(name, tmp_path)
    files = contents(table)
    result = open_table(table).rewrite_index()
    assert result.snapshot_id is None and {f.action for f in result.files} == {"keep"}
    assert contents(table) == files


def test_delete_stands_before_add(tmp_path):
    table = copied("append_parquet_separate", tmp_path)
    open_table(table).rewrite_index(ON_ID)
    delta = manifest_records(table, ["deltaManifestList"])
    assert [r["_KIND"] for r in delta] == [1, 0] * 6
    for deleted, added in zip(delta[::2], delta[1::2]):
        assert deleted["_FILE"]["_FILE_NAME"] == added["_FILE"]["_FILE_NAME"]


@pytest.mark.parametrize("name", ["append_orc_embedded", "append_parquet_separate", "orders", "user_events", "pk_dv",
                                  "map_nested", "evolved"])
def test_rebuilt_indexes_answer_as_javas_did(tmp_path, name):
    table = copied(name, tmp_path)
    edit_manifests(table, lambda entry: entry["_FILE"].update(_EMBEDDED_FILE_INDEX=None, _EXTRA_FILES=[]))
    assert len(open_table(table).rewrite_index().of("build")) == len(live_records(table))
    java, ours = open_table(golden_path(name)), open_table(table)
    for column in java.schema.names:
        if column not in java.pypaimon.partition_keys and not pa.types.is_nested(java.schema.field(column).type):
            for where in (col(column).is_null(), col(column).is_not_null()):
                expected, found = java.scan(where), ours.scan(where, on_index_error="raise")
                assert [(v.decision, v.rows, v.exact) for v in found.files] == \
                    [(v.decision, v.rows, v.exact) for v in expected.files]


def test_a_file_of_an_older_schema_gets_its_own_names(tmp_path):
    table = copied("evolved", tmp_path)
    asked = {"file-index.bitmap.columns": "new_name", "file-index.bsi.columns": "extra"}
    result = open_table(table).rewrite_index(asked)
    by_schema = {r["_FILE"]["_SCHEMA_ID"] for r in live_records(table).values()}
    assert by_schema == {0, 1}
    assert {f.indexes for f in result.files} == {("bitmap on old_name",), ("bitmap on new_name", "bsi on extra")}
    assert any("no column extra" in f.reason for f in result.files)
    scan = open_table(table).scan(col("new_name").is_not_null(), on_index_error="raise")
    assert all(v.exact for v in scan.files)


def test_avro_files_are_read_through_pypaimon(warehouse):
    warehouse.create(options={"file.format": "avro"})
    warehouse.write(rows(1, 2, 3))
    assert len(warehouse.table().rewrite_index(ON_ID).of("build")) == 1
    scan = warehouse.table().scan("id = 2", on_index_error="raise")
    assert scan.files[0].exact and scan.to_arrow()["id"].to_pylist() == [2]


def test_partitions_chosen_by_where_the_null_one_too(warehouse):
    warehouse.create(partition_keys=["part"])
    warehouse.write(rows(1, 2, part="a") + rows(3, part="b") + rows(4, part=None))
    before = live_records(warehouse.path())
    result = warehouse.table().rewrite_index(ON_ID, where="part IS NULL OR part = 'b'")
    assert sorted(str(f.partition["part"]) for f in result.of("build")) == ["None", "b"]
    assert len(result.files) == 2
    assert without_index(live_records(warehouse.path())) == without_index(before)
    assert len(warehouse.table().rewrite_index(ON_ID).of("build")) == 1
    assert [warehouse.table().scan(f"id = {i}").count() for i in range(1, 6)] == [1, 1, 1, 1, 0]
    with pytest.raises(ValueError, match="'id' is no partition column; these are part"):
        warehouse.table().rewrite_index(ON_ID, where="id = 1")


def test_row_tracking_keeps_row_ids(warehouse):
    warehouse.create(options={"row-tracking.enabled": "true"})
    warehouse.write(rows(1, 2))
    warehouse.write(rows(3))
    before, next_row_id = live_records(warehouse.path()), snapshot(warehouse.path())["nextRowId"]
    assert len(warehouse.table().rewrite_index(ON_ID).of("build")) == 2
    assert without_index(live_records(warehouse.path())) == without_index(before)
    assert snapshot(warehouse.path())["nextRowId"] == next_row_id
    assert warehouse.table().scan("id = 3").to_arrow()["id"].to_pylist() == [3]


def test_data_evolution_files_that_share_row_ids_get_none(warehouse):
    warehouse.create(options={"row-tracking.enabled": "true", "data-evolution.enabled": "true"})
    builder = warehouse.catalog.get_table("db.t").new_batch_write_builder()
    table = pa.Table.from_pylist(rows(1, 2), SCHEMA)
    for columns in (["id", "part"], ["name"]):
        write, commit = builder.new_write().with_write_type(columns), builder.new_commit()
        write.write_arrow(table.select(columns))
        messages = write.prepare_commit()
        for message in messages:
            for file in message.new_files:
                file.first_row_id = 0
        commit.commit(messages)
        builder = warehouse.catalog.get_table("db.t").new_batch_write_builder()
    result = warehouse.table().rewrite_index({"file-index.bitmap.columns": "id,name"})
    assert {f.action for f in result.files} == {"skip"} and "shares its row ids" in result.files[0].reason
    assert result.snapshot_id is None


def test_postponed_files_wait(tmp_path):
    table = copied("orders", tmp_path)
    edit_manifests(table, lambda entry: entry.update(_BUCKET=-2))
    result = open_table(table).rewrite_index({"file-index.bitmap.columns": "user_id"})
    assert result.snapshot_id is None and "put into buckets" in result.files[0].reason


def test_analyzed_statistics_are_handed_on(warehouse):
    warehouse.create()
    warehouse.write(rows(1))
    path = warehouse.path() / "snapshot" / "snapshot-1"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"statistics": "stat-1", "watermark": 5}))
    warehouse.table().rewrite_index(ON_ID)
    assert (snapshot(warehouse.path())["statistics"], snapshot(warehouse.path())["watermark"]) == ("stat-1", 5)


def test_a_table_without_snapshots(warehouse):
    warehouse.create()
    result = warehouse.table().rewrite_index(ON_ID)
    assert result.files == () and result.snapshot_id is None and "0 files" in str(result)


def test_the_tables_threshold_holds_unless_another_is_given(warehouse):
    warehouse.create(options=IN_FILES)
    warehouse.write(rows(1))
    assert not warehouse.table().rewrite_index(ON_ID).files[0].embedded
    asked = {"file-index.bsi.columns": "id", "file-index.in-manifest-threshold": "1kb"}
    result = warehouse.table().rewrite_index(asked)
    assert result.files[0].embedded and result.files[0].index_path is None


def test_index_files_have_names_of_their_own(warehouse):
    warehouse.create(options=IN_FILES)
    warehouse.write(rows(1))
    first = warehouse.table().rewrite_index(ON_ID)
    second = warehouse.table().rewrite_index({"file-index.bsi.columns": "id"})
    names = [Path(r.files[0].index_path).name for r in (first, second)]
    assert warehouse.index_files() == set(names) and len(set(names)) == 2
    data_name = Path(first.files[0].path).name
    assert all(n.startswith(data_name + "-") and len(n) == len(data_name) + len("-.index") + 36 for n in names)


def test_other_extra_files_stay(tmp_path):
    table = copied("orders", tmp_path)
    edit_manifests(table, lambda entry: entry["_FILE"]["_EXTRA_FILES"].append("data.changelog"))
    open_table(table).rewrite_index(ON_ID | {"file-index.bitmap.columns": "order_id"} | IN_FILES)
    (record,) = live_records(table).values()
    assert record["_FILE"]["_EXTRA_FILES"][0] == "data.changelog" and len(record["_FILE"]["_EXTRA_FILES"]) == 2


# --- what is up to date


@pytest.mark.parametrize(("first", "second", "why"), [
    (ON_ID, {"file-index.bitmap.columns": "id,name"}, "lacks bitmap on name"),
    ({"file-index.bitmap.columns": "id,name"}, ON_ID, "has bitmap on name, no longer asked for"),
    (ON_ID, ON_ID | {"file-index.bitmap.id.version": "1"}, "bitmap on id was built with other options"),
    ({"file-index.bloom-filter.columns": "id", "file-index.bloom-filter.id.items": "10"},
     {"file-index.bloom-filter.columns": "id", "file-index.bloom-filter.id.items": "100"},
     "bloom-filter on id was built with other options"),
    (ON_ID | {"file-index.in-manifest-threshold": "1mb"}, ON_ID | {"file-index.in-manifest-threshold": "1b"},
     "is embedded, and larger than file-index.in-manifest-threshold"),
])
def test_what_makes_an_index_out_of_date(warehouse, first, second, why):
    warehouse.create()
    warehouse.write(rows(1, 2))
    warehouse.table().rewrite_index(first)
    assert warehouse.table().rewrite_index(first).snapshot_id is None
    result = warehouse.table().rewrite_index(second)
    assert result.files[0].reason == why and result.files[0].action == "build"
    assert warehouse.table().rewrite_index(second).snapshot_id is None


@pytest.mark.parametrize("damage", [b"", b"\0" * 40, None])
def test_a_damaged_or_missing_index_is_replaced(tmp_path, damage):
    table = copied("orders_separate", tmp_path)
    (path,) = (table / "bucket-0").glob("*.index")
    path.unlink() if damage is None else path.write_bytes(damage)
    result = open_table(table).rewrite_index()
    assert result.files[0].reason.startswith("its index is unusable: ")
    assert open_table(table).scan("status = 'PENDING'", on_index_error="raise").count() == 4


def test_two_index_files_become_one(tmp_path):
    table = copied("orders_separate", tmp_path)
    edit_manifests(table, lambda entry: entry["_FILE"]["_EXTRA_FILES"].append("other.index"))
    open_table(table).rewrite_index()
    assert open_table(table).scan("status = 'PENDING'", on_index_error="raise").count() == 4


@pytest.mark.parametrize("threshold", ["0b", "1mb"])
def test_going_back_never_loses_a_file(warehouse, threshold):
    """A DELETE of an identity anywhere in the manifests deletes it, so no identity may come back."""
    warehouse.create(options={"file-index.in-manifest-threshold": threshold})
    warehouse.write(rows(1, 2, 3))
    for asked in (ON_ID, {}, ON_ID, {"file-index.bsi.columns": "id"}, ON_ID, {}, ON_ID, {}, {}):
        result = warehouse.table().rewrite_index(asked)
        assert len(live_records(warehouse.path())) == 1
        scan = warehouse.table().scan("id = 2", on_index_error="raise")
        assert scan.to_arrow()["id"].to_pylist() == [2]
        assert scan.files[0].exact is bool(asked)
    assert result.snapshot_id is None


def test_a_dry_run_writes_nothing_and_knows_the_sizes(warehouse):
    warehouse.create(options=IN_FILES)
    warehouse.write(rows(*range(100)))
    before = contents(warehouse.path())
    planned = warehouse.table().rewrite_index(ON_ID, dry_run=True)
    assert contents(warehouse.path()) == before and planned.snapshot_id is None
    assert "dry run, nothing written" in str(planned)
    done = warehouse.table().rewrite_index(ON_ID)
    assert [f.index_bytes for f in planned.files] == [f.index_bytes for f in done.files]
    (name,) = warehouse.index_files()
    assert (warehouse.path() / "bucket-0" / name).stat().st_size == done.index_bytes


def test_a_progress_bar_on_request(warehouse, capsys):
    warehouse.create()
    warehouse.write(rows(1))
    warehouse.table().rewrite_index(ON_ID, progress=True)
    assert "indexing" in capsys.readouterr().err


def test_many_files_in_several_threads(warehouse):
    warehouse.create()
    for i in range(8):
        warehouse.write(rows(*range(i * 10, i * 10 + 10)))
    result = warehouse.table().rewrite_index(ON_ID, threads=3)
    assert len(result.of("build")) == 8
    scan = warehouse.table().scan("id = 42")
    assert [v.decision for v in scan.files].count(Decision.ROWS) == 1 and scan.count() == 1


@pytest.mark.parametrize(("options", "error"), [
    ({"file-index.bitmap.columns": "absent"}, "there is no column 'absent'"),
    ({"file-index.bsi.columns": "name"}, "bsi does not index STRING"),
    ({"file-index.nothing.columns": "name"}, "nothing"),
])
def test_options_that_cannot_be(warehouse, options, error):
    warehouse.create()
    warehouse.write(rows(1))
    with pytest.raises(ValueError, match=error):
        warehouse.table().rewrite_index(options)


# --- races, failures and what they leave behind


def meanwhile(monkeypatch, action):
    """``action`` happens after the indexes are written and before they are committed."""
    exchange = room.exchange

    def commit(*args):
        monkeypatch.setattr(room, "exchange", exchange)
        action()
        return exchange(*args)

    monkeypatch.setattr(room, "exchange", commit)


def test_a_stale_rewrite_is_refused_and_removes_only_its_own(warehouse, monkeypatch):
    warehouse.create(options=IN_FILES)
    warehouse.write(rows(1))
    winner = []
    meanwhile(monkeypatch, lambda: winner.append(warehouse.table().rewrite_index(ON_ID)))
    with pytest.raises(CommitConflict, match="File deletion conflicts"):
        warehouse.table().rewrite_index({"file-index.bsi.columns": "id"})
    assert warehouse.index_files() == {Path(winner[0].files[0].index_path).name}
    assert warehouse.table().scan("id = 1", on_index_error="raise").count() == 1


def test_a_file_that_was_dropped_meanwhile(warehouse, monkeypatch):
    warehouse.create(options=IN_FILES, partition_keys=["part"])
    warehouse.write(rows(1, part="a") + rows(2, part="b"))
    meanwhile(monkeypatch, lambda: warehouse.write(rows(3, part="a"), overwrite={"part": "a"}))
    with pytest.raises(CommitConflict):
        warehouse.table().rewrite_index(ON_ID)
    assert warehouse.index_files() == set()
    assert sorted(warehouse.table().scan().to_arrow()["id"].to_pylist()) == [2, 3]


def test_concurrent_appends_are_kept(warehouse, monkeypatch):
    warehouse.create(options=IN_FILES)
    warehouse.write(rows(1))
    meanwhile(monkeypatch, lambda: warehouse.write(rows(2)))
    result = warehouse.table().rewrite_index(ON_ID)
    assert result.snapshot_id == 3 and len(warehouse.index_files()) == 1
    assert sorted(warehouse.table().scan().to_arrow()["id"].to_pylist()) == [1, 2]
    assert len(warehouse.table().rewrite_index(ON_ID).of("build")) == 1


def test_an_append_between_reading_the_latest_snapshot_and_committing(warehouse, monkeypatch):
    """The first attempt finds its snapshot id taken; the second one succeeds on top."""
    warehouse.create()
    warehouse.write(rows(1))
    commit, calls = RenamingSnapshotCommit.commit, []

    def late(self, base, new, statistics):
        calls.append(new.commit_kind)
        if calls == ["COMPACT"]:
            warehouse.write(rows(2))
        return commit(self, base, new, statistics)

    monkeypatch.setattr(RenamingSnapshotCommit, "commit", late)
    assert warehouse.table().rewrite_index(ON_ID).snapshot_id == 3
    assert calls == ["COMPACT", "APPEND", "COMPACT"]
    assert sorted(warehouse.table().scan().to_arrow()["id"].to_pylist()) == [1, 2]


def test_an_embedded_index_that_was_replaced_meanwhile_does_not_come_back(warehouse, monkeypatch):
    warehouse.create()
    warehouse.write(rows(1))
    warehouse.table().rewrite_index({"file-index.bsi.columns": "id"})
    before = live_records(warehouse.path())

    def others():
        warehouse.table().rewrite_index(ON_ID)
        warehouse.table().rewrite_index({"file-index.bsi.columns": "id"})

    meanwhile(monkeypatch, others)
    with pytest.raises(CommitConflict, match="replaced by another run meanwhile"):
        warehouse.table().rewrite_index(ON_ID)
    assert set(live_records(warehouse.path())) == set(before)
    assert warehouse.table().scan().count() == 1


@pytest.mark.parametrize("took_place", [True, False])
def test_nothing_is_removed_after_a_commit_of_unknown_outcome(warehouse, monkeypatch, took_place):
    warehouse.create(options=IN_FILES | {"commit.max-retries": "0"})
    warehouse.write(rows(1))
    commit = RenamingSnapshotCommit.commit

    def failing(self, *args):
        if took_place:
            commit(self, *args)
        raise OSError("the connection was lost")

    monkeypatch.setattr(RenamingSnapshotCommit, "commit", failing)
    with pytest.raises(CommitUnknown, match="not known whether the commit"):
        warehouse.table().rewrite_index(ON_ID)
    monkeypatch.undo()
    assert len(warehouse.index_files()) == 1
    scan = warehouse.table().scan("id = 1", on_index_error="raise")
    assert scan.count() == 1 and scan.files[0].exact is took_place


def test_a_commit_that_is_found_afterwards(warehouse, monkeypatch):
    """The first attempt took place though it failed; pypaimon finds it at the second."""
    warehouse.create(options=IN_FILES)
    warehouse.write(rows(1))
    commit, calls = RenamingSnapshotCommit.commit, []

    def failing(self, *args):
        calls.append(commit(self, *args))
        raise OSError("the answer was lost")

    monkeypatch.setattr(RenamingSnapshotCommit, "commit", failing)
    assert warehouse.table().rewrite_index(ON_ID).snapshot_id == 2
    assert calls == [True]


def test_a_damaged_data_file_stops_the_run_before_the_commit(warehouse):
    warehouse.create(options=IN_FILES)
    warehouse.write(rows(1))
    warehouse.write(rows(2))
    path = sorted((warehouse.path() / "bucket-0").iterdir())[0]
    path.write_bytes(b"PAR1")
    with pytest.raises(OSError, match=f"{path.name}: this data file cannot be read"):
        warehouse.table().rewrite_index(ON_ID, threads=1)
    assert warehouse.index_files() == set() and snapshot(warehouse.path())["id"] == 2


def test_a_field_of_a_later_version_is_never_lost(tmp_path):
    table = copied("orders", tmp_path)
    for path in (table / "manifest").glob("manifest-[0-9a-f]*"):
        with open(path, "rb") as stream:
            reader = fastavro.reader(stream)
            schema, records = json.loads(json.dumps(reader.writer_schema)), list(reader)
        (file,) = (f["type"] for f in schema["fields"] if f["name"] == "_FILE")
        file["fields"].append({"name": "_LATER", "type": ["null", "long"], "default": None})
        schema = {k: v for k, v in schema.items() if not k.startswith("__")}
        records[0]["_FILE"]["_LATER"] = 7
        with open(path, "wb") as stream:
            fastavro.writer(stream, schema, records)
    with pytest.raises(ValueError, match="its manifest entry has _LATER"):
        open_table(table).rewrite_index({"file-index.bitmap.columns": "status"})
