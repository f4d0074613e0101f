"""Work is proportional to what must be read: requests and bytes, counted by the file object and by the reader."""
from __future__ import annotations

import io

import pytest

import paimon_fidx as fidx
from tests.golden import data, model

from .segment import C

BIG = 60_000  # bytes: well above what opening may read


class CountingFile(io.BytesIO):
    """Notes (position, length) of every read."""

    def __init__(self, payload):
        super().__init__(payload)
        self.reads = []

    def read(self, size=-1):
        at, got = self.tell(), super().read(size)
        self.reads.append((at, len(got)))
        return got

    @property
    def bytes_read(self):
        return sum(length for _, length in self.reads)


def case_of(index, type, shape):
    return next(each for each in data.cases(index, type) if each.shape == shape and each.body is not None)


def big_file():
    """One file with a small index and a large one: three columns, 200 KB in all."""
    small = case_of("bitmap", "INT", "low_card")
    bodies = {("a", "bitmap"): small.body, ("b", "bitmap"): bytes(100_000), ("c", "bsi"): bytes(100_000)}
    return small, joined(bodies)


def joined(bodies):
    """An index file of several columns, one index each."""
    head_len = 16 + 4 + sum(2 + len(column) + 4 + 2 + len(index) + 8 for column, index in bodies)
    head, at = data.MAGIC.to_bytes(8, "big") + (1).to_bytes(4, "big") + head_len.to_bytes(4, "big"), head_len
    head += len(bodies).to_bytes(4, "big")
    for (column, index), body in bodies.items():
        head += len(column).to_bytes(2, "big") + column.encode() + (1).to_bytes(4, "big")
        head += len(index).to_bytes(2, "big") + index.encode() + at.to_bytes(4, "big") + len(body).to_bytes(4, "big")
        at += len(body)
    return head + b"".join(bodies.values())


SCHEMA = {"a": "INT", "b": "INT", "c": "INT"}


def test_opening_reads_the_head_only():
    _, payload = big_file()
    file = CountingFile(payload)
    reader = fidx.open_index(file, SCHEMA)
    assert set(reader.columns) == {"a", "b", "c"}
    assert len(file.reads) <= 2 and file.bytes_read <= 8192


def test_a_column_that_is_not_asked_is_not_read():
    """Columns b and c are nonsense: touching them would be refused."""
    small, payload = big_file()
    file = CountingFile(payload)
    reader = fidx.open_index(file, SCHEMA)
    column = model.Column("INT", small.values)
    asked = next(each for each in small.expect if each["op"] == "EQUAL" and column.true_rows("EQUAL", each["literals"]).any())
    result = reader.evaluate(fidx.col("a") == asked["literals"][0], row_count=small.row_count)
    assert (model.found_rows(result, small.row_count) == column.true_rows("EQUAL", asked["literals"])).all()
    assert file.bytes_read <= len(small.body) + 8192
    assert len(file.reads) <= 6


def test_the_reader_counts_as_the_file_does():
    _, payload = big_file()
    file = CountingFile(payload)
    reader = fidx.open_index(file, SCHEMA)
    reader.evaluate(fidx.col("a") == 1)
    assert (reader.stats.requests, reader.stats.bytes_read) == (len(file.reads), file.bytes_read)


def test_memory_is_not_read_by_requests():
    _, payload = big_file()
    reader = fidx.open_index(payload, SCHEMA)
    reader.evaluate(fidx.col("a") == 1)
    assert reader.stats.requests == 0


def test_nothing_is_read_twice():
    small, payload = big_file()
    file = CountingFile(payload)
    reader = fidx.open_index(file, SCHEMA)
    predicate = fidx.col("a").is_in([value for value in small.values if value is not None][:5])
    first = reader.evaluate(predicate, row_count=small.row_count)
    reads = len(file.reads)
    again = reader.evaluate(predicate, row_count=small.row_count)
    assert first.rows == again.rows and len(file.reads) == reads


BIG_CASES = [
    ("bitmap", "BIGINT", "big_unique", "EQUAL", 12, 0.25),
    ("bitmap", "INT", "big_low_card", "EQUAL", 12, 0.25),
    ("bitmap", "STRING", "big_mid_card", "EQUAL", 12, 0.25),
    ("range-bitmap", "BIGINT", "big_unique", "IS_NULL", 12, 0.25),
    ("range-bitmap", "STRING", "big_mid_card", "IS_NULL", 12, 0.25),
]


@pytest.mark.parametrize("index, type, shape, op, most_requests, most_share", BIG_CASES)
def test_a_narrow_question_reads_a_small_part(index, type, shape, op, most_requests, most_share):
    """On the large golden cases, which only the full set has; without it, on the largest there is."""
    cases = [each for each in data.cases(index, type) if each.body is not None]
    case = next((each for each in cases if each.shape == shape), None)
    if case is None:
        case = max(cases, key=lambda each: len(each.body))
    file = CountingFile(case.container())
    reader = fidx.open_index(file, {"c": type})
    asked = next(each for each in case.expect if each["op"] == op and each["literals"] != [None])
    predicate = model.leaf(C, op, [model.literal(type, each) for each in asked["literals"]])
    result = reader.evaluate(predicate, row_count=case.row_count)
    want = model.Column(type, case.values).true_rows(op, asked["literals"])
    assert (model.found_rows(result, case.row_count) == want).all()
    assert len(file.reads) <= most_requests, file.reads
    if len(case.body) > BIG:
        assert file.bytes_read <= 8192 + most_share * len(case.body)


class FailingFile(io.BytesIO):
    """Raises after a number of reads, as a network does."""

    def __init__(self, payload, reads):
        super().__init__(payload)
        self.left = reads

    def read(self, size=-1):
        if self.left == 0:
            raise ConnectionResetError("gone")
        self.left -= 1
        return super().read(size)


def test_an_error_of_the_file_object_passes_through():
    _, payload = big_file()
    with pytest.raises(ConnectionResetError):
        fidx.open_index(FailingFile(payload, 0), SCHEMA)
    reader = fidx.open_index(FailingFile(payload, 2), SCHEMA)
    with pytest.raises((ConnectionResetError, fidx.FileIndexError)):
        reader.evaluate(fidx.col("b") == 1)
        reader.evaluate(fidx.col("c") == 1)


class ShrinkingFile(io.BytesIO):
    """Says it is longer than it is."""

    def seek(self, offset, whence=0):
        return super().seek(offset, whence) + (1000 if whence == 2 else 0)


def test_a_file_that_ends_early_is_truncated():
    whole = case_of("bitmap", "INT", "low_card").container()
    with pytest.raises(fidx.TruncatedError):
        fidx.open_index(ShrinkingFile(whole[:30]), {"c": "INT"})


@pytest.mark.parametrize("wrong", [None, 5, object(), ["a"]], ids=repr)
def test_what_is_no_source_is_a_type_error(wrong):
    with pytest.raises(TypeError, match="bytes-like, a path or a binary file object"):
        fidx.open_index(wrong, SCHEMA)


def test_a_missing_file_names_itself(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.index"):
        fidx.open_index(tmp_path / "nothing.index", SCHEMA)


def test_a_file_that_is_no_index_names_itself(tmp_path):
    path = tmp_path / "data.parquet"
    path.write_bytes(b"PAR1" * 100)
    with pytest.raises(fidx.FileIndexError, match=r"data\.parquet.*magic at 0"):
        fidx.open_index(path, SCHEMA)


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview], ids=lambda make: make.__name__)
def test_every_bytes_like_object_is_a_source(make):
    case = case_of("bitmap", "INT", "low_card")
    reader = fidx.open_index(make(case.container()), {"c": "INT"})
    assert model.found_rows(reader.evaluate(C.is_null()), case.row_count).sum() == case.values.count(None)
