"""``paimon-fidx rewrite``, ``verify`` and ``indexes``."""
import json
import shutil

import pytest
from click.testing import CliRunner

from paimon_fidx.cli import upkeep
from paimon_fidx.cli.commands import cli
from paimon_fidx.table import CommitConflict, Table

from ..golden import data

ORDERS = data.tables() / "warehouse" / "db.db" / "orders_separate"


def run(*arguments):
    return CliRunner().invoke(cli, [str(a) for a in arguments])


@pytest.fixture
def orders(tmp_path):
    shutil.copytree(ORDERS, tmp_path / "orders")
    return tmp_path / "orders"


def test_rewrite_commits_once_and_then_has_nothing_to_do(orders):
    asked = ("rewrite", orders, "-o", "file-index.bitmap.columns=status", "--option", "file-index.bsi.columns=user_id")
    dry = run(*asked, "--dry-run")
    assert dry.exit_code == 0 and "dry run, nothing written" in dry.stdout
    done = json.loads(run(*asked, "--json").stdout)
    assert done["snapshot_id"] == 2 and done["files"][0]["indexes"] == ["bitmap on status", "bsi on user_id"]
    assert "nothing to commit" in run(*asked).stdout


@pytest.mark.parametrize(("arguments", "words"), [
    (("-o", "file-index.bitmap.columns"), "--option is KEY=VALUE"),
    (("-o", "file-index.bitmap.columns=absent"), "no column 'absent'"),
    (("--where", "user_id = 1"), "no partition column"),
])
def test_rewrite_says_what_is_wrong_in_one_line(orders, arguments, words):
    answer = run("rewrite", orders, *arguments)
    assert answer.exit_code == 2 and words in answer.stderr and answer.stderr.count("\n") == 1


def test_a_conflict_has_an_exit_code_of_its_own(orders, monkeypatch):
    def conflict(*_, **__):
        raise CommitConflict("the table changed")

    monkeypatch.setattr(Table, "rewrite_index", conflict)
    answer = run("rewrite", orders)
    assert answer.exit_code == upkeep.NOT_COMMITTED and "the table changed" in answer.stderr


def test_verify_ends_with_3_where_an_index_is_unsound(orders):
    assert run("verify", orders).exit_code == 0
    (path,) = (orders / "bucket-0").glob("*.index")
    (orders / "bucket-0" / "data-x.parquet-1.index").write_bytes(b"")
    path.unlink()
    answer = run("verify", orders, "--json", "--remove-orphans", "--min-age-hours", "0")
    found = json.loads(answer.stdout)
    assert answer.exit_code == 3 and not found["ok"] and found["files"][0]["status"] == "missing"
    assert [o["path"].endswith("data-x.parquet-1.index") for o in found["removed"]] == [True]
    assert "missing" in run("verify", orders).stdout


def test_indexes_lists_them(orders):
    rows = [json.loads(line) for line in run("indexes", orders, "--json").stdout.splitlines()]
    assert {r["column_name"] for r in rows} >= {"status", "amount"} and {r["storage_type"] for r in rows} == {"FILE"}
    assert "bitmap" in run("indexes", orders).stdout


def test_advise_gives_options_that_rewrite_takes(orders):
    found = json.loads(run("advise", orders, "-q", "status = 'PENDING'", "--json").stdout)
    assert found["options"] == {"file-index.bitmap.columns": "status"}
    assert run("rewrite", orders, "-o", "file-index.bitmap.columns=status").exit_code == 0
    assert "file-index.bitmap.columns = status" in run("advise", orders, "-q", "status = 'PENDING'").stdout
    assert run("advise", orders, "-q", "absent = 1").exit_code == 2
