"""Readers against a list: columns that hypothesis thinks of, and sizes at every threshold of the formats."""
from __future__ import annotations

import io
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paimon_fidx as fidx
from tests.golden import data

from . import made
from .segment import C, opened, rows

INTS = st.one_of(st.integers(-3, 3), st.integers(-(2**31) + 1, 2**31 - 1))
LONGS = st.one_of(st.integers(-3, 3), st.integers(-(2**63) + 1, 2**63 - 1))
TEXTS = st.text(st.sampled_from("ab%_ß€😀\0"), max_size=4)
OPTIONS = st.fixed_dictionaries({"runs": st.booleans()})


def bodies(draw, index, type, keys):
    if index == "bitmap":
        version = draw(st.sampled_from((1, 2)))
        return made.bitmap(type, keys, version, draw(st.sampled_from((64, 200, 16384))), draw(st.booleans()))
    if index == "bsi":
        return made.bsi(type, keys, draw(st.booleans()))
    return made.range_bitmap(type, keys, draw(st.sampled_from((0, 16, 64, 16384))), draw(st.booleans()))


@st.composite
def columns(draw):
    """(index, type, keys, body, a few literals)"""
    type, keys = draw(st.sampled_from([("INT", INTS), ("BIGINT", LONGS), ("STRING", TEXTS)]))
    index = draw(st.sampled_from(("bitmap", "range-bitmap") if type == "STRING" else ("bitmap", "bsi", "range-bitmap")))
    column = draw(st.lists(st.one_of(st.none(), keys), max_size=40))
    literals = draw(st.lists(st.one_of(keys, st.sampled_from([key for key in column if key is not None] or [draw(keys)])),
                             min_size=3, max_size=3))
    return index, type, column, bodies(draw, index, type, column), literals


def model_rows(column, test):
    return [row for row, key in enumerate(column) if key is not None and test(key)]


def text_order(key):
    return key.encode() if isinstance(key, str) else key


@settings(max_examples=400, deadline=None)
@given(columns(), st.sampled_from([bytes, io.BytesIO]))
def test_any_column(drawn, source):
    index, type, column, body, (x, y, z) = drawn
    reader, n, o = opened(index, type, body, source), len(column), text_order
    low, high = sorted((y, z), key=o)
    for predicate, want in [
        (C == x, lambda key: key == x),
        (C != x, lambda key: key != x),
        (C < x, lambda key: o(key) < o(x)),
        (C <= x, lambda key: o(key) <= o(x)),
        (C > x, lambda key: o(key) > o(x)),
        (C >= x, lambda key: o(key) >= o(x)),
        (C.is_in([x, y, z]), lambda key: key in (x, y, z)),
        (C.not_in([x, y]), lambda key: key not in (x, y)),
        (C.between(low, high), lambda key: o(low) <= o(key) <= o(high)),
        (C.not_between(low, high), lambda key: not o(low) <= o(key) <= o(high)),
        (C.is_not_null(), lambda key: True),
    ]:
        assert rows(reader, predicate, n) == model_rows(column, want), predicate
    assert rows(reader, C.is_null(), n) == [row for row, key in enumerate(column) if key is None]
    if type == "STRING":
        for predicate, want in [
            (C.starts_with(x), lambda key: key.startswith(x)),
            (C.ends_with(x), lambda key: key.endswith(x)),
            (C.contains(x), lambda key: x in key),
        ]:
            assert rows(reader, predicate, n) == model_rows(column, want), predicate


@settings(max_examples=200, deadline=None)
@given(columns(), st.integers(0, 45), st.booleans(), st.booleans(), st.booleans())
def test_top_n_of_any_column(drawn, k, descending, nulls_first, ties):
    index, type, column, body, _ = drawn
    try:
        result = opened(index, type, body).top_n("c", k, descending=descending, nulls_first=nulls_first, ties=ties)
    except fidx.NotAnswerable:
        assert index != "range-bitmap"
        return
    found = list(result.rows) if result.decision is fidx.Decision.ROWS else \
        list(range(len(column))) if result.decision is fidx.Decision.REMAIN else []
    distinct = sorted({key for key in column if key is not None}, key=text_order, reverse=descending)
    place = {key: number for number, key in enumerate(distinct)} | {None: -1 if nulls_first else len(distinct)}
    places = sorted(place[key] for key in column)[:k]
    got = sorted(place[column[row]] for row in found)
    if not result.exact:
        assert index != "range-bitmap"
    elif ties and places:
        assert got == sorted(place[key] for key in column if place[key] <= places[-1])
    else:
        assert got == places


@pytest.mark.parametrize("source", [bytes, io.BytesIO])
@pytest.mark.parametrize("index", ["bitmap", "bsi", "range-bitmap"])
def test_long_lists_of_literals(index, source):
    """Thousands of keys in one IN, many blocks, keys that are there and keys that are not."""
    column = [row * 7 % 20_011 for row in range(20_000)]
    body = {"bitmap": lambda: made.bitmap("INT", column, block_len=200), "bsi": lambda: made.bsi("INT", column),
            "range-bitmap": lambda: made.range_bitmap("INT", column, chunk_len=256)}[index]()
    reader = opened(index, "INT", body, source)
    for literals in (range(0, 30_000, 3), range(19_000, 19_500), [5, 5, 5, 19_999, -1]):
        wanted = set(literals)
        assert rows(reader, C.is_in(literals), 20_000) == model_rows(column, lambda key: key in wanted)
        assert rows(reader, C.not_in(literals), 20_000) == model_rows(column, lambda key: key not in wanted)


SIZES = [1, 2, 4095, 4096, 4097, 8191, 65535, 65536, 65537, 131072, 200_001]


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("row_count", SIZES)
@pytest.mark.parametrize("index", ["bitmap", "bsi", "range-bitmap"])
def test_every_threshold(index, row_count, runs):
    """Sizes around the limits of containers and chunks; dense, sparse and sorted rows."""
    rng = random.Random(row_count)
    column = [None if row % 97 == 5 else row * 4 // row_count if row % 2 else rng.randrange(-1, 7) for row in range(row_count)]
    body = {"bitmap": made.bitmap, "bsi": made.bsi, "range-bitmap": made.range_bitmap}[index]("INT", column, runs=runs)
    reader = opened(index, "INT", body)
    for literal in (-1, 0, 3, 6, 7):
        assert rows(reader, C == literal, row_count) == model_rows(column, lambda key: key == literal)
        assert rows(reader, C < literal, row_count) == model_rows(column, lambda key: key < literal)
        assert rows(reader, C != literal, row_count) == model_rows(column, lambda key: key != literal)
    assert rows(reader, C.between(0, 3), row_count) == model_rows(column, lambda key: 0 <= key <= 3)
    assert rows(reader, C.is_null(), row_count) == [row for row, key in enumerate(column) if key is None]


@pytest.mark.parametrize("index", ["bsi", "range-bitmap"])
def test_the_second_writer_writes_as_java_does(index):
    """Where Java's options are the defaults, the bodies built here are Java's byte for byte: a check of made.py."""
    checked = 0
    for case in data.cases(index, "INT"):
        if case.body is not None and not case.options and case.row_count <= 3000:
            assert getattr(made, index.replace("-", "_"))("INT", case.values) == case.body, case.name
            checked += 1
    assert checked >= 8
