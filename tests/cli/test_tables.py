"""``paimon-fidx query`` and ``explain``: answers for people and for programs, and one line for whatever is wrong."""
import json
import os
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner

import paimon_fidx.cli as command
from paimon_fidx.cli import show
from paimon_fidx.cli.commands import cli

from ..golden import data

WAREHOUSE = data.tables() / "warehouse" / "db.db"
ORDERS = str(WAREHOUSE / "orders")
PENDING = ("--where", "status = 'PENDING'")


def run(*arguments):
    return CliRunner().invoke(cli, arguments)


def test_query_shows_rows_as_a_table_and_the_cost_beside_it():
    answer = run("query", ORDERS, *PENDING, "--columns", "order_id,amount")
    assert answer.exit_code == 0
    lines = answer.stdout.splitlines()
    assert lines[1].split() == ["┃", "order_id", "┃", "amount", "┃"]
    assert [line.split()[1] for line in lines[3:-1]] == ["1", "3", "6", "9"]
    assert answer.stderr.startswith("4 rows; 0 of 1 files skipped, 4 of 10 rows selected, read ")


def test_query_json_is_one_exact_row_a_line():
    answer = run("query", ORDERS, *PENDING, "--json")
    rows = [json.loads(line) for line in answer.stdout.splitlines()]
    assert rows[1] == {
        "order_id": 3, "user_id": 1003, "status": "PENDING", "amount": "-265.12",
        "create_time": "2024-03-03T02:00:00.000002",
    }
    assert [row["order_id"] for row in rows] == [1, 3, 6, 9]


def test_query_count_reads_no_data_where_the_index_is_exact():
    assert run("query", ORDERS, *PENDING, "--count").stdout == "4\n"
    assert json.loads(run("query", ORDERS, *PENDING, "--count", "--json").stdout) == {"count": 4}
    assert "read 0 B of" in run("query", ORDERS, *PENDING, "--count").stderr


def test_query_limit_and_a_query_without_where():
    assert len(run("query", ORDERS, "--json", "--limit", "3").stdout.splitlines()) == 3
    assert len(run("query", ORDERS, "--json").stdout.splitlines()) == 10


def test_query_of_maps_nulls_and_nested_values():
    rows = [json.loads(line) for line in run("query", str(WAREHOUSE / "map_nested"), "--json").stdout.splitlines()]
    assert rows[0] == {"id": 0, "attrs": {"color": "red0", "size": "2"}, "counts": {"n": 14}}
    assert rows[1] == {"id": 1, "attrs": None, "counts": None}
    shown = run("query", str(WAREHOUSE / "map_nested"), "--where", "attrs['color'] = 'red0'").output
    assert '{"color": "red0", "size": "2"}' in shown and "NULL" in shown


def test_query_of_another_snapshot():
    table = str(WAREHOUSE / "append_parquet_separate")
    counts = [int(run("query", table, "--count", "--snapshot", number).stdout) for number in "123"]
    assert counts == sorted(counts) and counts[0] < counts[2]
    assert run("query", table, "--snapshot", "99").exit_code == 2


def test_more_rows_than_are_shown_are_counted(monkeypatch):
    monkeypatch.setattr(show, "MOST_SHOWN", 3)
    answer = run("query", ORDERS)
    assert "... and 7 more rows (--json prints all)" in answer.stdout and answer.stderr.startswith("10 rows;")


def test_explain_says_what_the_index_said():
    shown = run("explain", ORDERS, *PENDING).stdout
    for word in ("ROWS", "embedded", "4 of 10 rows"):
        assert word in shown
    told = json.loads(run("explain", ORDERS, *PENDING, "--json").stdout)
    (file,) = told["files"]
    assert (file["decision"], file["selected"], file["exact"], file["row_count"]) == ("ROWS", 4, True, 10)
    assert told["stats"]["rows_total"] == 10 and told["snapshot_id"] == 1 and told["where"] == "status = 'PENDING'"


@pytest.mark.parametrize("arguments, said", [
    (("query", "/no/such/table"), "/no/such/table: no Paimon table is here"),
    (("query", ORDERS, "--where", "statu = 'x'"), "no column 'statu'"),
    (("query", ORDERS, "--where", "order_id = 'x'"), "order_id"),
    (("query", ORDERS, "--where", "status ="), "part of the expression is missing"),
    (("query", ORDERS, "--columns", "order_id,nothing"), "no column 'nothing'"),
    (("explain", ORDERS, "--where", "upper(status) = 'X'"), "a literal is expected here"),
])
def test_bad_input_is_one_line_and_exit_code_2(arguments, said):
    answer = run(*arguments)
    assert answer.exit_code == 2 and answer.stdout == ""
    assert answer.stderr.startswith("paimon-fidx: ") and answer.stderr.count("\n") == 1
    assert said in answer.stderr


@pytest.fixture
def damaged(tmp_path):
    """A table whose index file is cut off in its head."""
    table = tmp_path / "orders_separate"
    shutil.copytree(WAREHOUSE / "orders_separate", table)
    (index,) = table.rglob("*.index")
    index.write_bytes(index.read_bytes()[:40])
    return str(table)


def test_a_damaged_index_is_said_and_the_rows_come_all_the_same(damaged):
    answer = run("query", damaged, *PENDING, "--json")
    assert answer.exit_code == 0 and len(answer.stdout.splitlines()) == 4
    assert answer.stderr.startswith("paimon-fidx: warning: ") and ".index: container.head" in answer.stderr
    assert run("query", damaged, *PENDING, "--json", "--on-index-error", "ignore").stderr == ""


def test_a_damaged_index_is_exit_code_3_when_errors_are_asked_for(damaged):
    answer = run("query", damaged, *PENDING, "--on-index-error", "raise")
    assert answer.exit_code == 3 and ".index: container.head" in answer.stderr and answer.stderr.count("\n") == 1


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    with pytest.raises(SystemExit) as refusal:
        command.main(["--help"])
    assert "needs rich" in str(refusal.value) and "paimon-fidx[cli,paimon]" in str(refusal.value)


def test_a_real_process(tmp_path):
    words = [sys.executable, "-m", "paimon_fidx.cli", "query", ORDERS, *PENDING, "--json"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    assert [json.loads(line)["order_id"] for line in done.stdout.splitlines()] == [1, 3, 6, 9]


def test_a_reader_that_has_seen_enough(tmp_path):
    """``paimon-fidx query ... | head -1`` ends quietly."""
    reading, writing = os.pipe()
    words = [sys.executable, "-m", "paimon_fidx.cli", "query", ORDERS, "--json"]
    os.close(reading)
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    os.close(writing)
    assert done.returncode == 0 and done.stderr == ""
