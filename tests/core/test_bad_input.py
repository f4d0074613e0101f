"""What a caller gets wrong is one clear error that names the column, the literal or the file."""
from __future__ import annotations

import datetime as dt

import pytest
from pyroaring import BitMap

import paimon_fidx as fidx
from tests.golden import data

from . import made
from .segment import C, opened

READER = opened("bitmap", "INT", made.bitmap("INT", [1, 2, None]))


def test_a_column_that_the_schema_lacks():
    with pytest.raises(ValueError, match="'d' is not in the schema; there are: c"):
        READER.evaluate(fidx.col("d") == 1)
    with pytest.raises(ValueError, match="'d'"):
        READER.top_n("d", 3)
    with pytest.raises(ValueError, match="'d'"):
        READER.distinct("d")


@pytest.mark.parametrize("literal", ["text", b"bytes", True, dt.date(2024, 1, 1), object(), [1]], ids=repr)
def test_a_literal_that_cannot_be_compared(literal):
    with pytest.raises(TypeError):
        READER.evaluate(C == literal)


def test_the_column_and_both_types_are_named():
    with pytest.raises(TypeError, match=r"c.*INT.*str"):
        READER.evaluate(C == "text")


def test_a_map_key_of_what_is_no_map():
    with pytest.raises(TypeError, match="not a MAP"):
        READER.evaluate(C["k"] == 1)


def test_what_is_no_predicate():
    for wrong in (None, True, "c = 1 AND", 5):
        with pytest.raises((TypeError, ValueError)):
            READER.evaluate(wrong)


def test_a_schema_of_another_file_is_named():
    """A STRING column where the file has a BSI: no BSI holds strings."""
    reader = opened("bsi", "STRING", made.bsi("INT", [1, 2]))
    with pytest.raises(fidx.UnsupportedError, match=r"bsi\[c\].*STRING"):
        reader.evaluate(C == "x")


def test_a_closed_file_says_so(tmp_path):
    path = tmp_path / "file.index"
    path.write_bytes(data.wrap("c", "bitmap", made.bitmap("INT", list(range(5000)))))  # longer than the first read
    reader = fidx.open_index(path, {"c": "INT"})
    reader.close()
    with pytest.raises(ValueError, match="closed"):
        reader.evaluate(C == 1)


def test_rows_beyond_the_file_are_no_rows():
    reader = opened("range-bitmap", "INT", made.range_bitmap("INT", [1, 2, 3]))
    assert list(reader.top_n("c", 1, rows=BitMap([1, 7])).rows) == [1]
    assert list(reader.top_n("c", 5, rows=BitMap([1, 7])).rows) == [1]
