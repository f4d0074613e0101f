"""Every set of kernels that this processor runs gives the same answers, and those of the list."""
from __future__ import annotations

import random
from functools import cache

import pytest

from paimon_fidx.core import roaring

from . import made
from .segment import C, opened, rows

NAMES = sorted({roaring._choose(name) for name in ("baseline", "avx2", None)})
ROW_COUNT = 134_000  # three chunks, the last one short
SHAPES = {
    "random": lambda rng, row: rng.randrange(-500, 500),
    "skewed": lambda rng, row: int(rng.paretovariate(0.7)) % 10_000,
    "sorted": lambda rng, row: row // 7,
    "few": lambda rng, row: rng.randrange(3),
    "sparse": lambda rng, row: rng.randrange(2**30) if row % 50 == 0 else None,
    "blocks": lambda rng, row: row // 30_000 if row % 65_536 < 60_000 else None,
}


@pytest.fixture(params=NAMES)
def kernels(request):
    assert roaring._choose(request.param) == request.param
    yield request.param
    roaring._choose(None)


@cache
def column(shape):
    rng = random.Random(shape)
    return [SHAPES[shape](rng, row) for row in range(ROW_COUNT)]


@cache
def body(index, shape):
    return {"bitmap": made.bitmap, "bsi": made.bsi, "range-bitmap": made.range_bitmap}[index]("INT", column(shape))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("index", ["bitmap", "bsi", "range-bitmap"])
def test_the_same_answers(kernels, shape, index):
    keys = column(shape)
    reader = opened(index, "INT", body(index, shape))
    values = sorted({key for key in keys if key is not None})
    low, middle, high = values[len(values) // 5], values[len(values) // 2], values[-1]

    def want(test):
        return [row for row, key in enumerate(keys) if key is not None and test(key)]

    assert rows(reader, C == middle, ROW_COUNT) == want(lambda key: key == middle)
    assert rows(reader, C != low, ROW_COUNT) == want(lambda key: key != low)
    assert rows(reader, C <= low, ROW_COUNT) == want(lambda key: key <= low)
    assert rows(reader, C > middle, ROW_COUNT) == want(lambda key: key > middle)
    assert rows(reader, C.between(low, middle), ROW_COUNT) == want(lambda key: low <= key <= middle)
    assert rows(reader, C.not_between(low, middle), ROW_COUNT) == want(lambda key: not low <= key <= middle)
    assert rows(reader, C.is_in([low, high, high + 1]), ROW_COUNT) == want(lambda key: key in (low, high))
    assert rows(reader, C.is_null(), ROW_COUNT) == [row for row, key in enumerate(keys) if key is None]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("index", ["bsi", "range-bitmap"])
def test_the_same_top_n(kernels, shape, index):
    keys = column(shape)
    reader = opened(index, "INT", body(index, shape))
    for descending in (True, False):
        ranked = sorted((key for key in keys if key is not None), reverse=descending)
        for k in (1, 10, 1000):
            result = reader.top_n("c", k, descending=descending)
            assert sorted((keys[row] for row in result.rows), reverse=descending) == ranked[:k]
            tied = set(reader.top_n("c", k, descending=descending, ties=True).rows)
            last = ranked[min(k, len(ranked)) - 1]
            assert tied == {row for row, key in enumerate(keys) if key is not None and
                            (key >= last if descending else key <= last)}
