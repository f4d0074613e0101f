"""``paimon-fidx binlog``: inspect, verify, head, export and deletes, for people and for programs."""
from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import paimon_fidx.binlog as bl
import paimon_fidx.cli.binlog  # noqa: F401  adds the commands
from paimon_fidx.cli.commands import cli
from tests.binlog import samples


def run(*arguments, code=0):
    answer = CliRunner().invoke(cli, ["binlog", *map(str, arguments)], catch_exceptions=False)
    assert answer.exit_code == code, answer.output
    return answer.output


def lines(*arguments, code=0):
    return [json.loads(line) for line in run(*arguments, "--json", code=code).splitlines() if line.startswith("{")]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """All samples as files."""
    root = tmp_path_factory.mktemp("milvus")
    for name, data in samples.files().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


@pytest.fixture(scope="module")
def segment(root):
    (folder,) = root.glob("real/backup_demo/binlogs/insert_log/*/*/*")
    return folder


def sample(root, part):
    (path,) = [root / each["file"] for each in samples.entries() if part in each["file"]]
    return path


def test_inspect_a_binlog(root):
    (told,) = lines("inspect", sample(root, "multi_event/Int64_nullable_true"))
    assert (told["kind"], told["data_type"], told["extras"]["nullable"]) == ("insert log", "INT64", True)
    assert len(told["events"]) > 1 and told["events"][0]["type"] == "INSERT"
    text = run("inspect", sample(root, "multi_event/Int64_nullable_true"))
    assert "INSERT" in text and "segment_id" in text


def test_inspect_other_files(root):
    assert lines("inspect", sample(root, "misc/encrypted"))[0]["kind"] == "encrypted binlog"
    assert lines("inspect", sample(root, "misc/bm25_stats"))[0]["row_count"] == 10
    (told,) = lines("inspect", next((root / "root" / "BlockedBloomFilter").rglob("1")))
    assert told["kind"] == "primary-key statistics" and told["filters"][0]["filter_bytes"] == 64
    assert "filter_bytes" in run("inspect", next((root / "root" / "BlockedBloomFilter").rglob("1")))
    bare = root / "bare"
    bare.write_bytes(b"PAR1" + bytes(100))
    assert "storage-V2" in run("inspect", bare, code=3)
    assert run("inspect", root / "absent", code=2)


def test_verify(root, segment, tmp_path):
    assert "1 checked, 0 problems" in run("verify", segment)
    assert "problems" in run("verify", root / "root" / "codec")
    two = sample(root, "multi_event/no_events"), sample(root, "misc/bm25_stats")
    assert "2 checked, 0 problems" in run("verify", *two)
    damaged = tmp_path / "log"
    damaged.write_bytes(sample(root, "multi_event/no_events").read_bytes()[:-1])
    (problem,) = lines("verify", damaged, code=3)
    assert problem["path"] == str(damaged) and problem["offset"] == 13
    statistics = tmp_path / "stats_log"
    statistics.mkdir()
    (statistics / "1").write_bytes(b"[")
    assert "JSON" in run("verify", statistics / "1", code=3)
    run("verify", tmp_path, code=2)


def test_head(root, segment):
    rows = lines("head", segment, "-n", 3, "--columns", "100,102")
    assert rows == [{"100": 10, "102": "10"}, {"100": 11, "102": "11"}, {"100": 12, "102": "12"}]
    assert lines("head", segment, "-n", 1, "--columns", "100", "--with-deleted") == [{"100": 0}]
    assert len(lines("head", sample(root, "delta/multi_field_Int64"))) == 10
    halves = [each for each in samples.binlogs() if each.get("data_type") == "Float16Vector"]
    for row in lines("head", root / halves[0]["file"]):
        assert all(isinstance(value, (float, str)) for value in row["123"])
    assert "102" in run("head", segment) and "NULL" in run("head", root / "multi_event" / "Int64_nullable_true")
    assert lines("head", sample(root, "multi_event/no_events")) == []
    assert lines("head", segment, "--columns", "102", "--where", "`100` = 2999") == [{"102": "2999"}]
    run("head", segment, "--where", "`103` = 1", code=2)
    run("head", sample(root, "multi_event/no_events"), "--columns", "1", code=2)
    assert "encrypted" in run("head", sample(root, "misc/encrypted"), code=3)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl"])
def test_export(segment, ending, tmp_path):
    target = tmp_path / f"rows.{ending}"
    (told,) = lines("export", segment, target)
    assert told["rows"] == 2990 and told["bytes"] == target.stat().st_size
    expected = bl.open_segment(segment).to_arrow()
    if ending == "jsonl":
        assert [json.loads(line) for line in target.read_text().splitlines()] == expected.to_pylist()
    else:
        table = pq.read_table(target) if ending == "parquet" else pa.ipc.open_file(target).read_all()
        assert table.to_pylist() == expected.to_pylist() and table.schema == expected.schema
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_export_refuses_other_endings_and_leaves_nothing_behind(root, segment, tmp_path):
    run("export", segment, tmp_path / "rows.csv", code=2)
    run("export", sample(root, "misc/encrypted"), tmp_path / "rows.parquet", code=3)
    assert list(tmp_path.iterdir()) == []


def test_deletes(root, segment):
    assert lines("deletes", segment) == [
        {"path": str(segment), "delete_logs": 1, "keys": 10, "rows": 3000, "rows_hit": 10}]
    assert len(lines("deletes", segment, "--list")) == 10
    log = sample(root, "delta/json_codec_VarChar")
    (told,) = lines("deletes", log)
    assert told["deletes"] == bl.open_binlog(log).to_arrow().num_rows
    assert "keys" in run("deletes", log) and "pk" in run("deletes", log, "--list")
    run("deletes", sample(root, "multi_event/no_events"), code=2)
