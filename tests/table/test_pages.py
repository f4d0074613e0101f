"""Rows by pages: the same rows as reading the whole row group, fewer of them decoded."""
from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap

from paimon_fidx.table import pages
from paimon_fidx.table.formats import ReadMeter, read_parquet

ROWS = 100_000


@pytest.fixture(scope="module")
def whole():
    rng = np.random.default_rng(1)
    return pa.table({
        "id": pa.array(range(ROWS)), "text": [f"value {i}" if i % 7 else None for i in range(ROWS)],
        "few": pa.array([f"c{i % 5}" for i in range(ROWS)]), "list": [[i, i + 1] for i in range(ROWS)],
        "noise": rng.integers(0, 1 << 60, ROWS)})


@pytest.fixture(scope="module")
def path(whole, tmp_path_factory):
    found = str(tmp_path_factory.mktemp("pages") / "data.parquet")
    pq.write_table(whole, found, write_page_index=True, data_page_size=8192, row_group_size=60_000)
    return found


def read(source, rows, columns):
    meter = ReadMeter()
    batches = list(read_parquet(source, lambda names, row_count: columns, BitMap(rows), meter))
    return batches, meter


ALL = ["id", "text", "few", "list", "noise"]
SELECTIONS = {
    "one row": [1234], "first and last": [0, ROWS - 1], "a run": range(500, 1500), "two row groups": [59_999, 60_000],
    "scattered": [5, 20_000, 20_001, 40_000, 59_000], "close together": [5, 7, 900], "all over": range(0, ROWS, 500), "half": range(30_000),
}


@pytest.mark.parametrize("rows", SELECTIONS.values(), ids=SELECTIONS)
@pytest.mark.parametrize("columns", [ALL, ["id"], ["text", "noise"]], ids=["all", "one", "two"])
def test_the_same_rows_as_a_whole_read(whole, path, rows, columns):
    batches, _ = read(path, rows, columns)
    found = pa.Table.from_batches(batches)
    expected = whole.select(columns).take(pa.array(list(rows)))
    assert found.select(columns).to_pylist() == expected.to_pylist()


def test_few_rows_decode_few_rows(path):
    assert read(path, [1234], ALL)[1].rows_decoded == 1
    assert read(path, range(500, 600), ALL)[1].rows_decoded == 100
    assert read(path, range(0, ROWS, 500), ALL)[1].rows_decoded == ROWS


def test_random_selections(whole, path):
    rng = random.Random(3)
    for _ in range(30):
        start, count = rng.randrange(ROWS), rng.choice((1, 3, 50))
        rows = sorted({min(ROWS - 1, start + rng.randrange(rng.choice((10, 3000, ROWS)))) for _ in range(count)})
        batches, _ = read(path, rows, ["noise", "id"])
        assert [i for b in batches for i in b.column(b.schema.get_field_index("id")).to_pylist()] == rows


def test_a_file_without_an_offset_index(whole, tmp_path):
    path = str(tmp_path / "plain.parquet")
    pq.write_table(whole, path)
    batches, meter = read(path, [77], ["id"])
    assert [b.column(0).to_pylist() for b in batches] == [[77]] and meter.rows_decoded == ROWS


def test_where_pypaimon_has_no_such_reader_or_it_fails(path, monkeypatch):
    def fail(*_):
        raise ValueError("Parquet page rows disagree with OffsetIndex")

    monkeypatch.setattr(pages.ParquetPageIndexReader, "read_row_group", fail)
    assert [b.column(0).to_pylist() for b in read(path, [77], ["id"])[0]] == [[77]]
    monkeypatch.setattr(pages, "ParquetPageIndexReader", None)
    assert [b.column(0).to_pylist() for b in read(path, [77], ["id"])[0]] == [[77]]


def test_open_files_are_read_too(path):
    with pa.OSFile(path) as source:
        assert [b.column(0).to_pylist() for b in read(source, [77], ["id"])[0]] == [[77]]
    with open(path, "rb") as source:
        assert [b.column(0).to_pylist() for b in read(source, [77], ["id"])[0]] == [[77]]
