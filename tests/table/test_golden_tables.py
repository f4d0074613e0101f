"""Every table that Java wrote, every query that Java answered: the same rows, through the indexes."""
from __future__ import annotations

import pytest

from paimon_fidx.result import Decision
from paimon_fidx.table import open_table
from tests.golden import data

from .support import golden_path, golden_rows, predicate, sorted_rows

QUERIES = [(table, i) for table in data.table_names() for i in range(len(data.expected(table)["queries"]))]


def positions(result, row_count):
    """A golden result as a set of positions; None when it says nothing."""
    if result == "REMAIN" or "digest" in result:
        return None
    if result == "SKIP":
        return set()
    return {p for start, length in result["runs"] for p in range(start, start + length)}


def answer(expected, query):
    """The rows of the right answer: each file's matching positions less its deleted ones."""
    rows = []
    for file, found in zip(expected["files"], query["files"]):
        deleted = set(file["deleted"] or ())
        rows += [file["rows"][p] for p in found["matching_positions"] if p not in deleted]
    return sorted_rows(rows)


@pytest.mark.parametrize("table", data.table_names())
def test_a_scan_without_predicate_gives_every_live_row(table):
    expected = data.expected(table)
    live = [row for f in expected["files"] for p, row in enumerate(f["rows"]) if p not in set(f["deleted"] or ())]
    scan = open_table(golden_path(table)).scan()
    assert golden_rows(scan.to_arrow()) == sorted_rows(live)
    assert scan.count() == len(live)
    assert scan.snapshot_id == expected["snapshot_id"]


@pytest.mark.parametrize(("table", "number"), QUERIES)
def test_a_query_gives_the_recorded_rows(table, number):
    expected = data.expected(table)
    query = expected["queries"][number]
    right = answer(expected, query)
    if "rows" in query:
        assert right == sorted_rows(query["rows"])
    scan = open_table(golden_path(table)).scan(predicate(query["predicate"], expected["columns"]))
    assert golden_rows(scan.to_arrow()) == right
    assert scan.count() == len(right)


@pytest.mark.parametrize(("table", "number"), QUERIES)
def test_a_verdict_holds_every_matching_row_and_no_more_than_java(table, number):
    expected = data.expected(table)
    query = expected["queries"][number]
    scan = open_table(golden_path(table)).scan(predicate(query["predicate"], expected["columns"]))
    verdicts = {v.file.name: v for v in scan.files}
    for file, found in zip(expected["files"], query["files"]):
        deleted = set(file["deleted"] or ())
        matching = set(found["matching_positions"]) - deleted
        verdict = verdicts.get(file["file"])
        if verdict is None:  # pruned by partition or statistics
            assert not matching
            continue
        java = positions(found["evaluator"], file["row_count"])
        if verdict.decision is Decision.REMAIN:
            assert java is None
            continue
        ours = set() if verdict.decision is Decision.SKIP else set(verdict.rows)
        assert matching <= ours <= set(range(file["row_count"])) - deleted
        if verdict.exact:
            assert ours == matching
        if java is not None:
            assert ours <= java - deleted


@pytest.mark.parametrize("table", data.table_names())
def test_an_index_is_found_where_java_put_it(table):
    files = {f["file"]: f for f in data.expected(table)["files"]}
    for verdict in open_table(golden_path(table)).scan().files:
        expected = files[verdict.file.name]
        if expected["embedded_index_hex"] is not None:
            assert verdict.file.index.embedded.hex() == expected["embedded_index_hex"]
        elif expected["index_file"] is not None:
            assert verdict.file.index.path.endswith(expected["index_file"])
        assert verdict.row_count == expected["row_count"]
        assert set(verdict.deleted or ()) == set(expected["deleted"] or ())


def test_the_worked_example():
    scan = open_table(golden_path("orders")).scan("status = 'PENDING'", columns=["order_id"])
    (verdict,) = scan.files
    assert verdict.exact and list(verdict.rows) == [0, 2, 5, 8]
    assert scan.to_arrow().to_pydict() == {"order_id": [1, 3, 6, 9]}
