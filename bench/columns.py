"""The columns that the measurements speak of: the same values for every side, from fixed seeds."""
from __future__ import annotations

import numpy as np
import pyarrow as pa

SEED = 20261121


def generators(rows: int) -> dict:
    """name -> (Paimon type, function that makes the Arrow array)."""
    def rng(name):
        return np.random.default_rng([SEED, *name.encode()])

    def ints(name, draw):
        return "INT", lambda: pa.array(draw(rng(name)).astype(np.int32))

    def longs(name, draw, type="BIGINT", arrow=pa.int64()):
        return type, lambda: pa.array(draw(rng(name)).astype(np.int64)).cast(arrow)

    def strings(name, draw):
        return "STRING", lambda: pa.array([f"user-{x:09d}" for x in draw(rng(name)).tolist()])

    def words(name, count, rows_of):
        """Twelve letters of a to d each, so that one in 64 begins with "abc"."""
        letters = np.frombuffer(b"abcd", np.uint8)[rng(name).integers(0, 4, (count, 12))]
        return pa.array([text.decode() for text in letters.view("S12").ravel()]).take(pa.array(list(rows_of)))

    def nulls():
        g = rng("nulls")
        return pa.array(g.integers(0, 2**31 - 1, rows).astype(np.int32), mask=g.random(rows) < 0.9)

    def decimals():
        return pa.array(rng("decimals").integers(-10**9, 10**9, rows)).cast(pa.decimal128(19, 0)).cast(
            pa.decimal128(21, 2)).cast(pa.decimal128(18, 2))

    micros = 1_700_000_000_000_000
    return {
        "random ints": ints("random", lambda g: g.integers(0, 2**31 - 1, rows)),
        "signed ints": ints("signed", lambda g: g.integers(-2**31 + 1, 2**31 - 1, rows)),
        "sorted ints": ints("sorted", lambda g: np.sort(g.integers(0, 2**31 - 1, rows))),
        "skewed ints": ints("skewed", lambda g: np.minimum(np.exp(g.normal(6, 2.5, rows)), 2**31 - 2)),
        "single value": ints("single", lambda g: np.full(rows, 42)),
        "1000 ints": ints("c1000", lambda g: g.integers(0, 1000, rows)),
        "100k ints": ints("c100k", lambda g: g.integers(0, 100_000, rows)),
        "1M ints": ints("c1m", lambda g: g.permutation(rows) * (2_011_000_000 // max(rows, 1_000_000)) + 5),
        "90% null ints": ("INT", nulls),
        "random longs": longs("longs", lambda g: g.integers(-2**62, 2**62, rows)),
        "1000 longs": longs("longs1000", lambda g: g.choice(g.integers(-2**62, 2**62, 1000), rows)),
        "timestamps": longs("timestamps", lambda g: micros + g.integers(0, 86_400_000_000 * 30, rows), "TIMESTAMP(6)",
                            pa.timestamp("us")),
        "decimals": ("DECIMAL(18, 2)", decimals),
        "strings": strings("strings", lambda g: g.integers(0, rows, rows) * 997),
        "1000 strings": strings("strings1000", lambda g: g.integers(0, 1000, rows) * 997_003),
        "words": ("STRING", lambda: words("words", rows, range(rows))),
        "1000 words": ("STRING", lambda: words("words1000", 1000, rng("words1000 rows").integers(0, 1000, rows))),
    }
