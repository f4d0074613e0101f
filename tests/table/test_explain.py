"""The text of explain(), with rich and without."""
from __future__ import annotations

import builtins

import pytest

from paimon_fidx.predicate import col
from paimon_fidx.table import open_table

from .support import golden_path


@pytest.fixture(params=["rich", "plain"])
def renderer(request, monkeypatch):
    if request.param == "plain":
        real = builtins.__import__

        def without_rich(name, *args, **kwargs):
            if name.partition(".")[0] == "rich":
                raise ImportError(name)
            return real(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", without_rich)
    return request.param


def test_every_file_has_a_line(renderer):
    scan = open_table(golden_path("append_parquet_separate")).scan(col("name") == "n4")
    text = scan.explain()
    for verdict in scan.files:
        (line,) = [line for line in text.splitlines() if verdict.file.name in line]
        assert verdict.decision.name in line and verdict.reason in line
        assert f"dt={verdict.partition['dt']}" in line
    assert "snapshot 3: name = 'n4'" in text and "6 files" in text


def test_columns_that_say_nothing_are_left_out(renderer):
    text = open_table(golden_path("orders")).scan().explain()
    assert "partition" not in text.splitlines()[1] and "deleted" not in text.splitlines()[1]
    assert "every row" in text and "no predicate" in text


def test_deleted_rows_are_counted(renderer):
    scan = open_table(golden_path("pk_dv")).scan(col("status") == "s1")
    head = scan.explain().splitlines()[1]
    assert "deleted" in head and "verdict" in head


def test_rich_markup_in_values_is_text(renderer):
    scan = open_table(golden_path("orders")).scan(col("status") == "[red]")
    assert "status = '[red]'" in scan.explain()
