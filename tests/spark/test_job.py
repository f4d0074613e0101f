"""The Spark job's promises: laziness, types, zones, small closures, clear errors, what the report and prune say."""
import datetime as dt
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
from decimal import Decimal

import pyarrow as pa
import pytest
from pyroaring import BitMap
from pyspark import cloudpickle

import paimon_fidx.spark as fs
from paimon_fidx.spark import job
from paimon_fidx.table import open_table

from ..golden import data

ORDERS = str(data.tables() / "warehouse" / "db.db" / "orders")
SEPARATE = str(data.tables() / "warehouse" / "db.db" / "append_parquet_separate")
UTC = dt.timezone.utc


def test_columns_come_in_the_order_asked_for(spark):
    frame = fs.scan(spark, ORDERS, "status = 'PENDING'", ["status", "order_id"])
    assert frame.columns == ["status", "order_id"]
    assert sorted(row.order_id for row in frame.collect()) == [1, 3, 6, 9]


def test_the_frame_is_an_ordinary_one(spark):
    frame = fs.scan(spark, ORDERS)
    sums = {row.status: row.n for row in frame.groupBy("status").agg({"*": "count"}).toDF("status", "n").collect()}
    assert sums["PENDING"] == 4 and sum(sums.values()) == 10


def test_nothing_selected_keeps_the_schema(spark):
    nothing = fs.scan(spark, ORDERS, "order_id = -5")
    assert nothing.collect() == [] and nothing.schema == fs.scan(spark, ORDERS).schema


def test_a_plan_without_files_keeps_the_schema(spark):
    pruned = fs.scan(spark, SEPARATE, "dt = '19990101'")
    assert pruned.collect() == [] and pruned.columns == fs.scan(spark, SEPARATE).columns
    assert fs.prune(spark, SEPARATE, "dt = '19990101'").collect() == []


def test_a_snapshot_is_chosen_and_pinned(spark):
    counts = [fs.scan(spark, SEPARATE, snapshot_id=number).count() for number in (1, 2, 3)]
    assert counts == [open_table(SEPARATE).scan(snapshot_id=number).count() for number in (1, 2, 3)]
    assert counts[0] < counts[2]


@pytest.mark.parametrize("where, error, said", [
    ("statu = 'PENDING'", ValueError, "no column 'statu'"),
    ("order_id = 'abc'", TypeError, "order_id"),
    ("status = ", ValueError, "part of the expression is missing"),
])
def test_a_bad_question_fails_on_the_driver(spark, where, error, said):
    with pytest.raises(error, match=said):
        fs.scan(spark, ORDERS, where)


def test_no_table_is_said_with_its_path(spark, tmp_path):
    with pytest.raises(ValueError, match=str(tmp_path)):
        fs.scan(spark, str(tmp_path))


@pytest.fixture
def without_index(tmp_path):
    """A table whose index file is gone."""
    table = tmp_path / "orders_separate"
    shutil.copytree(data.tables() / "warehouse" / "db.db" / "orders_separate", table)
    (index,) = table.rglob("*.index")
    index.unlink()
    return str(table)


def test_a_missing_index_file_costs_time_not_rows(spark, without_index):
    frame = fs.scan(spark, without_index, "status = 'PENDING'")
    assert sorted(row.order_id for row in frame.collect()) == [1, 3, 6, 9]
    (file,) = fs.prune(spark, without_index, "status = 'PENDING'").collect()
    assert file.decision == "REMAIN" and ".index: this index file does not exist" in file.reason


def test_a_missing_index_file_is_named_when_errors_are_asked_for(spark, without_index):
    with pytest.raises(Exception, match=r"\.index: this index file does not exist"):
        fs.scan(spark, without_index, "status = 'PENDING'", on_index_error="raise").collect()


def test_prune_says_which_rows_of_which_file(spark):
    (file,) = fs.prune(spark, ORDERS, "status = 'PENDING'").collect()
    assert (file.decision, file.exact, file.selected, file.row_count) == ("ROWS", True, 4, 10)
    assert list(BitMap.deserialize(bytes(file.rows))) == [0, 2, 5, 8]
    assert file.index_location == "embedded" and file.path.endswith(".parquet")


def test_prune_agrees_with_the_scan_without_spark(spark):
    where = "name = 'n4' AND id > 0"
    told = {file.path: file for file in fs.prune(spark, SEPARATE, where).collect()}
    verdicts = {verdict.path: verdict for verdict in open_table(SEPARATE).scan(where).files}
    assert {path: (f.decision, f.selected, f.exact) for path, f in told.items()} == {
        path: (v.decision.name, v.candidates, v.exact) for path, v in verdicts.items()
    }
    assert all(file.partition["dt"] in file.path for file in told.values())


def test_the_report_adds_up_over_tasks(spark):
    report = fs.Report(spark)
    rows = fs.scan(spark, SEPARATE, "name = 'n4'", report=report).collect()
    stats = open_table(SEPARATE).scan("name = 'n4'").stats
    assert report["rows_returned"] == len(rows)
    assert report["rows_selected"] == stats.rows_selected
    assert report["files"] == stats.files_planned
    assert report["index_bytes_read"] == stats.index_bytes > 0
    assert 0 < report["data_bytes_read"] < report["data_size"] == stats.data_bytes_total


def test_what_travels_is_small_and_by_reference():
    planned = open_table(SEPARATE).scan("name = 'n4'")
    splits = planned.splits()
    task = cloudpickle.dumps(job._Task(splits[0].spec, job._judge))
    assert len(task) < 10_000 and b"_judge" in task
    assert all(len(pickle.dumps(split.group)) < 4_000 for split in splits)
    assert pickle.loads(task).spec.where.columns()[0].name == "name"


def test_files_are_dealt_largest_first_to_all_tasks(spark, monkeypatch):
    groups = [split.group for split in open_table(SEPARATE).scan().splits()]
    monkeypatch.setattr(job, "TASK_FILES", 2)
    frame = job._files(spark, groups)
    assert frame.rdd.getNumPartitions() == 3
    assert sorted(row.path for row in frame.collect()) == sorted(group.files[0].path for group in groups)
    sizes = [[row.bytes for row in part] for part in job._files(spark, groups[:4]).rdd.glom().collect()]
    assert [len(part) for part in sizes] == [2, 2] and all(part == sorted(part, reverse=True) for part in sizes)


# --- types, on a table of all of them

TYPES = pa.schema([
    ("id", pa.int32()),
    ("ntz3", pa.timestamp("ms")),
    ("ntz9", pa.timestamp("ns")),
    ("ltz3", pa.timestamp("ms", tz="UTC")),
    ("ltz6", pa.timestamp("us", tz="UTC")),
    ("time", pa.time32("ms")),
    ("amount", pa.decimal128(12, 3)),
    ("big", pa.decimal128(30, 2)),
    ("raw", pa.binary()),
    ("tags", pa.list_(pa.string())),
    ("attrs", pa.map_(pa.string(), pa.timestamp("ms"))),
    ("place", pa.struct([("x", pa.int32()), ("at", pa.timestamp("us"))])),
])
AT = dt.datetime(2024, 3, 10, 12, 30, 15, 123000)
ROWS = [
    {"id": 1, "ntz3": AT, "ntz9": AT, "ltz3": AT.replace(tzinfo=UTC), "ltz6": AT.replace(tzinfo=UTC),
     "time": dt.time(1, 2, 3, 4000), "amount": Decimal("-1.500"), "big": Decimal("12345678901234567890.25"),
     "raw": b"\0\xff", "tags": ["a", None], "attrs": [("k", AT)], "place": {"x": 7, "at": AT}},
    {"id": 2, "ntz3": dt.datetime(1969, 12, 31, 23, 59, 59, 999000), "ltz3": dt.datetime(1969, 12, 31, 20, tzinfo=UTC),
     "tags": [], "attrs": []},
]


@pytest.fixture(scope="module")
def all_types(tmp_path_factory):
    """A table written by pypaimon with one column of each kind of type."""
    from pypaimon import CatalogFactory, Schema

    folder = tmp_path_factory.mktemp("warehouse")
    catalog = CatalogFactory.create({"warehouse": str(folder)})
    catalog.create_database("db", True)
    catalog.create_table("db.types", Schema.from_pyarrow_schema(TYPES, options={"bucket": "-1"}), False)
    builder = catalog.get_table("db.types").new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    write.write_arrow(pa.Table.from_pylist(ROWS, TYPES))
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()
    return str(folder / "db.db" / "types")


def test_every_type_has_its_spark_type(spark, all_types):
    assert fs.scan(spark, all_types).schema.simpleString() == (
        "struct<id:int,ntz3:timestamp_ntz,ntz9:timestamp_ntz,ltz3:timestamp,ltz6:timestamp,time:int,"
        "amount:decimal(12,3),big:decimal(30,2),raw:binary,tags:array<string>,attrs:map<string,timestamp_ntz>,"
        "place:struct<x:int,at:timestamp_ntz>>"
    )


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/New_York"])
def test_values_do_not_shift_with_the_session_zone(spark, session_zone, all_types, zone):
    session_zone(zone)
    frame = fs.scan(spark, all_types).orderBy("id")
    row = frame.selectExpr("*", "unix_micros(ltz3) AS instant3", "unix_micros(ltz6) AS instant6").first()
    micros = (AT - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    assert (row.ntz3, row.ntz9, row.instant3, row.instant6) == (AT, AT, micros, micros)
    assert row.time == 3_723_004 and row.amount == Decimal("-1.500") and row.big == Decimal("12345678901234567890.25")
    assert bytes(row.raw) == b"\0\xff" and row.tags == ["a", None] and row.attrs == {"k": AT}
    assert row.place.asDict() == {"x": 7, "at": AT}
    second = frame.collect()[1]
    assert second.ntz3 == ROWS[1]["ntz3"] and second.tags == [] and second.attrs == {} and second.place is None


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/New_York"])
@pytest.mark.parametrize("where", [
    "ltz3 = TIMESTAMP '2024-03-10 12:30:15.123'",
    "ltz6 > '2024-03-10 10:00:00' AND ltz6 < '2024-03-10 15:00:00'",
    "ltz3 < TIMESTAMP '1970-01-01 00:00:00'",
    "ntz3 >= TIMESTAMP '2024-03-10 12:30:15.123'",
])
def test_naive_literals_count_in_the_session_zone_as_in_spark(spark, session_zone, all_types, zone, where):
    session_zone(zone)
    ours = [row.id for row in fs.scan(spark, all_types, where).collect()]
    assert sorted(ours) == sorted(row.id for row in fs.scan(spark, all_types).where(where).collect())


# --- processes of their own


def python(code, *words, **environment):
    """Runs Python code or a module in a new process without this one's Spark settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK"))}
    command = [sys.executable, *(["-c", textwrap.dedent(code)] if code else []), *words]
    return subprocess.run(command, capture_output=True, text=True, env={**kept, **environment}, timeout=300)


def test_a_default_session_finds_this_python(tmp_path):
    """No setting at all, and another ``python3`` first on the PATH: workers must still import the package."""
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\nexit 77\n")
    other.chmod(0o755)
    done = python(f"""
        from pyspark.sql import SparkSession
        import paimon_fidx.spark as fs
        spark = SparkSession.builder.getOrCreate()
        print([row.order_id for row in fs.scan(spark, {ORDERS!r}, "status = 'PENDING'").collect()])
    """, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert done.stdout.strip() == "[1, 3, 6, 9]", done.stderr[-3000:]


def test_the_job_for_spark_submit(tmp_path):
    saved = tmp_path / "rows"
    words = ["-m", "paimon_fidx.spark", "query", ORDERS, "--where", "status = 'PENDING'"]
    done = python("", *words, "--columns", "order_id,amount", "--master", "local[2]", "--save", str(saved))
    assert done.returncode == 0, done.stderr[-3000:]
    assert sorted(pa.parquet.read_table(saved).column("order_id").to_pylist()) == [1, 3, 6, 9]


def test_the_job_on_executors_of_their_own():
    """Separate executor processes on a local cluster; the count is all that is printed."""
    words = ["-m", "paimon_fidx.spark", "query", SEPARATE, "--where", "name = 'n4'", "--count"]
    done = python("", *words, "--master", "local-cluster[2,1,1024]")
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) == open_table(SEPARATE).scan("name = 'n4'").count()


def test_the_job_says_bad_input_in_one_line():
    done = python("", "-m", "paimon_fidx.spark", "query", ORDERS, "--where", "nothing = 1", "--master", "local[1]")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith("paimon_fidx.spark: where: the table has no column 'nothing'")
