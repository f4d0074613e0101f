"""Selected rows of Parquet and ORC files: the right ones, and only the groups that hold them."""
from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from paimon_fidx.table.formats import ReadMeter, read_orc, read_parquet
from paimon_fidx.table.orc_tail import read_stripes

ROWS = 20_000
TABLE = pa.table({"id": list(range(ROWS)), "text": [f"row {i} {'x' * (i % 37)}" for i in range(ROWS)]})


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("parquet") / "data.parquet")
    pq.write_table(TABLE, path, row_group_size=1000)
    return path


@pytest.fixture(scope="module")
def orc_file(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("orc") / "data.orc")
    orc.write_table(TABLE, path, stripe_size=16_384, compression="zstd")
    return path


def ids(batches):
    return [i for batch in batches for i in batch.column("id").to_pylist()]


def all_columns(names, row_count):
    assert row_count == ROWS
    return list(names)


def read(path, rows, choose=all_columns, source=None):
    meter = ReadMeter()
    if path.endswith("parquet"):
        batches = list(read_parquet(source or path, choose, rows, meter))
    else:
        import os

        batches = list(read_orc(source or path, choose, rows, meter, os.path.getsize(path)))
    return batches, meter


@pytest.mark.parametrize("rows", [[0], [ROWS - 1], [999, 1000], list(range(500, 2500)), [3, 7, 19_000], []])
def test_selected_rows(parquet, orc_file, rows):
    for path in (parquet, orc_file):
        batches, meter = read(path, BitMap(rows))
        assert ids(batches) == rows
        assert meter.groups_read <= len(rows) and meter.groups_read < meter.groups_total


@settings(max_examples=15, deadline=None)
@given(st.sets(st.integers(0, ROWS - 1), max_size=50))
def test_any_rows(parquet, orc_file, rows):
    for path in (parquet, orc_file):
        assert ids(read(path, BitMap(rows))[0]) == sorted(rows)


def test_all_rows(parquet, orc_file):
    for path in (parquet, orc_file):
        batches, meter = read(path, None)
        assert ids(batches) == list(range(ROWS))
        assert meter.groups_read == meter.groups_total and meter.rows_decoded == ROWS


def test_a_group_without_rows_is_not_read(parquet):
    _, one = read(parquet, BitMap([5500]))
    assert (one.groups_read, one.groups_total, one.rows_decoded) == (1, 20, 1000)


def test_fewer_columns_cost_fewer_bytes(parquet):
    _, both = read(parquet, BitMap([1]))
    _, one = read(parquet, BitMap([1]), lambda names, row_count: ["id"])
    assert 0 < one.data_bytes < both.data_bytes


def test_from_a_stream(parquet, orc_file):
    for path in (parquet, orc_file):
        with open(path, "rb") as stream:
            assert ids(read(path, BitMap([7, 12_345]), source=stream)[0]) == [7, 12_345]


@pytest.mark.parametrize("compression", ["uncompressed", "zlib", "snappy", "zstd", "lz4"])
def test_stripes_of_every_compression(tmp_path, compression):
    path = str(tmp_path / "data.orc")
    orc.write_table(TABLE, path, stripe_size=16_384, compression=compression)
    assert ids(read(path, BitMap([1, 9_999, 19_999]))[0]) == [1, 9_999, 19_999]


def test_the_tail_agrees_with_the_file(orc_file):
    file = orc.ORCFile(orc_file)
    with open(orc_file, "rb") as stream:
        size = stream.seek(0, 2)
        stripes = read_stripes(stream, size)
    assert [s.row_count for s in stripes] == [file.read_stripe(i).num_rows for i in range(file.nstripes)]
    assert 0 < sum(s.byte_len for s in stripes) < size


def test_a_damaged_tail_is_a_value_error(orc_file):
    with open(orc_file, "rb") as stream:
        tail = stream.read()[-600:]
    for at in range(len(tail)):
        damaged = bytearray(tail)
        damaged[at] ^= 0x55
        try:
            read_stripes(io.BytesIO(damaged), len(damaged))
        except ValueError:
            continue


@pytest.mark.parametrize("data", [b"", b"ORC", bytes(10), b"\xff" * 300])
def test_what_is_no_orc_file(data):
    try:
        assert read_stripes(io.BytesIO(data), len(data)) == []
    except ValueError:
        pass
