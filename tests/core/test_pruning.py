"""Many Bloom files at once: the batch says what opening each file says."""
from __future__ import annotations

import random

import pyarrow as pa
import pytest

import paimon_fidx as fidx
from paimon_fidx import col

SCHEMA = {"a": "INT", "s": "STRING", "é": "BIGINT"}
BLOOM = {"file-index.bloom-filter.columns": "a,s,é", "file-index.bloom-filter.a.items": "40",
         "file-index.bloom-filter.s.items": "40", "file-index.bloom-filter.é.items": "40"}


def made(seed: int, options=BLOOM) -> bytes:
    rng = random.Random(seed)
    rows = {"a": [rng.randrange(200) for _ in range(30)], "s": [f"k{rng.randrange(200)}" for _ in range(30)],
            "é": [rng.randrange(200) for _ in range(30)]}
    types = {"a": pa.int32(), "s": pa.string(), "é": pa.int64()}
    return bytes(fidx.build_index(pa.table({k: pa.array(v, types[k]) for k, v in rows.items()}), options))


FILES = [made(seed) for seed in range(40)]
MIXED = FILES[:10] + [made(99, BLOOM | {"file-index.bitmap.columns": "a"}), made(98, {"file-index.bitmap.columns": "s"}),
                      made(97, {"file-index.bloom-filter.columns": "a", "file-index.bloom-filter.a.items": "40"})] + FILES[10:]
PREDICATES = [
    col("a") == 7, col("s") == "k7", col("é") == 7, col("a").is_in([7, 8]), col("a").is_in([]), col("a") == None,  # noqa: E711
    (col("a") == 7) & (col("s") == "k9"), (col("a") == 7) | (col("s") == "k9"), col("a") > 3, col("a") != 7,
    (col("a") == 7) & ((col("s") == "k9") | (col("é") == 11)), col("s").like("k%"), col("a").between(5, 7),
    (col("a") == 1) | (col("a") == 2) | (col("a") == 3) | (col("s") == "k1"), col("s").is_null(),
]


@pytest.mark.parametrize("predicate", PREDICATES, ids=repr)
@pytest.mark.parametrize("shape", [bytes, bytearray, memoryview])
def test_as_one_by_one(predicate, shape):
    sources = [shape(data) for data in MIXED]
    one_by_one = [fidx.open_index(data, SCHEMA).evaluate(predicate, row_count=30) for data in MIXED]
    assert fidx.evaluate_many(sources, SCHEMA, predicate, row_counts=[30] * len(sources)) == one_by_one


def test_some_files_are_ruled_out():
    answers = fidx.evaluate_many(FILES, SCHEMA, col("a") == 7)
    assert {answer.decision for answer in answers} == {fidx.Decision.SKIP, fidx.Decision.REMAIN}


@pytest.mark.parametrize("at", range(0, len(FILES[0]), 3))
def test_damage_is_the_same_error(at):
    """A byte changed, or the file cut there: as opening it alone says, whether the heads before were the same or not."""
    for damaged in (FILES[0][:at], FILES[0][:at] + bytes([FILES[0][at] ^ 0xFF]) + FILES[0][at + 1:]):
        try:
            expected = fidx.open_index(damaged, SCHEMA).evaluate(col("a") == 7)
        except fidx.FileIndexError as error:
            with pytest.raises(type(error)) as raised:
                fidx.evaluate_many([*FILES[:8], damaged, *FILES[8:16]], SCHEMA, col("a") == 7)
            assert str(raised.value) == str(error)
        else:
            assert fidx.evaluate_many([*FILES[:8], damaged, *FILES[8:16]], SCHEMA, col("a") == 7)[8] == expected
