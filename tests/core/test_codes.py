"""Codes and the formats on them against a model of a few lines: every way of sorting, every kernel."""
from __future__ import annotations

import random
import struct

import pyarrow as pa
import pytest

from paimon_fidx.build import build_index
from paimon_fidx.core import planes
from pyroaring import BitMap

RNG = random.Random(11)


def body(values, type, kind, sql):
    """The segment alone: the head names column ``c`` and one index."""
    data = build_index(pa.table({"c": pa.array(values, type)}), {f"file-index.{kind}.columns": "c"}, {"c": sql})
    return data[16 + 4 + 3 + 4 + 2 + len(kind) + 8 + 4 :]


def model_bitmap(data, read_key):
    """{key bytes: rows} out of a version 2 bitmap body, read the plainest way."""
    row_count, entry_count, has_null = struct.unpack_from(">iib", data, 1)
    at, nulls = 10, None
    if has_null:
        nulls, at = struct.unpack_from(">ii", data, 10), 18
    (block_count,) = struct.unpack_from(">i", data, at)
    at += 4
    for _ in range(block_count):
        at = read_key(data, at)[1] + 4
    (blocks_len,) = struct.unpack_from(">i", data, at)
    at += 4
    bitmaps, out, keys = at + blocks_len, {}, []
    while at < bitmaps:
        (entries,) = struct.unpack_from(">i", data, at)
        at += 4
        for _ in range(entries):
            key, at = read_key(data, at)
            offset, length = struct.unpack_from(">ii", data, at)
            at += 8
            keys.append(key)
            out[key] = {-1 - offset} if offset < 0 else set(
                BitMap.deserialize(bytes(data[bitmaps + offset : bitmaps + offset + length])))
    assert len(keys) == entry_count and keys == sorted(keys)
    if nulls:
        out[None] = {-1 - nulls[0]} if nulls[0] < 0 else set(
            BitMap.deserialize(bytes(data[bitmaps + nulls[0] : bitmaps + nulls[0] + nulls[1]])))
    return out, row_count


def read_text(data, at):
    (size,) = struct.unpack_from(">i", data, at)
    return bytes(data[at + 4 : at + 4 + size]), at + 4 + size


def read_long(data, at):
    return struct.unpack_from(">q", data, at)[0], at + 8


def read_int(data, at):
    return struct.unpack_from(">i", data, at)[0], at + 4


def groups(values):
    out = {}
    for row, value in enumerate(values):
        out.setdefault(value.encode() if isinstance(value, str) else value, set()).add(row)
    return out


def nulls(values, share):
    return [None if RNG.random() < share else value for value in values]


INTS = {
    "direct": [RNG.randint(-50, 50) for _ in range(3000)],
    "few": [RNG.choice((0, -2**31, 2**31 - 1, 7)) for _ in range(3000)],
    "many": [RNG.randint(-2**31, 2**31 - 1) for _ in range(20_000)],
    "many, repeated": [RNG.choice(range(-2**31, 2**31, 400_000)) for _ in range(30_000)],
    "sorted": sorted(RNG.randint(0, 10**6) for _ in range(20_000)),
    "falling": list(range(20_000, 0, -1)),
    "extremes": [-2**31, 2**31 - 1],
    "one": [5],
}
LONGS = {
    "direct": [10**15 + RNG.randint(0, 99) for _ in range(3000)],
    "few": [RNG.choice((-2**63, 2**63 - 1, 0)) for _ in range(3000)],
    "packed": [RNG.randint(0, 2**44) for _ in range(20_000)],
    "pairs": [RNG.randint(-2**63, 2**63 - 1) for _ in range(20_000)],
    "pairs, repeated": [RNG.randint(-2**63, 2**63 - 1) for _ in range(9_000)] * 2,
    "all but the top": [RNG.randint(-2**62, 2**62) for _ in range(20_000)],
}


@pytest.mark.parametrize("share", [0, 0.3, 0.99])
@pytest.mark.parametrize("name", INTS)
def test_ints(name, share):
    values = nulls(INTS[name], share)
    assert model_bitmap(body(values, pa.int32(), "bitmap", "INT"), read_int) == (groups(values), len(values))


@pytest.mark.parametrize("share", [0, 0.3])
@pytest.mark.parametrize("name", LONGS)
def test_longs(name, share):
    values = nulls(LONGS[name], share)
    assert model_bitmap(body(values, pa.int64(), "bitmap", "BIGINT"), read_long) == (groups(values), len(values))


def words(alphabet, low, high, count):
    return ["".join(RNG.choices(alphabet, k=RNG.randint(low, high))) for _ in range(count)]


TEXTS = {
    "short": words("ab", 0, 6, 3000),
    "zeros": words("\0", 0, 80, 500) + words("\0a", 0, 40, 2000),
    "ends and zeros": ["a" + "\0" * n for n in range(100)],
    "growing": ["a" * n for n in range(2000)],
    "digits": [f"user-{RNG.randrange(10**9):09d}" for _ in range(20_000)],
    "common prefix": ["https://example.org/a/long/path/" + word for word in words("0123456789abcdef", 0, 12, 5000)],
    "two prefixes": [RNG.choice(("p" * 100, "q" * 100)) + word for word in words("xyz", 0, 9, 5000)],
    "nested prefixes": ["ab" * RNG.randint(0, 60) + RNG.choice("abc") for _ in range(4000)],
    "all bytes": words([chr(c) for c in (*range(1, 256), 0xFFFF, 0x10FFFF)], 0, 30, 5000),
    "uuids": ["%032x" % RNG.getrandbits(128) for _ in range(10_000)],
    "one": ["x"],
    "empty": [""] * 10,
}


@pytest.mark.parametrize("share", [0, 0.3])
@pytest.mark.parametrize("name", TEXTS)
def test_texts(name, share):
    values = nulls(RNG.sample(TEXTS[name], len(TEXTS[name])), share)
    assert model_bitmap(body(values, pa.string(), "bitmap", "STRING"), read_text) == (groups(values), len(values))


def model_slices(data, at, count):
    """The codes a range bitmap's slices hold for each row, None where the existence bitmap has no row."""
    head_len, _, slice_count, ebm_len, _ = struct.unpack_from(">ibbii", data, at)
    base = at + 4 + head_len
    exist = BitMap.deserialize(bytes(data[base : base + ebm_len]))
    codes = {row: 0 for row in exist}
    for i in range(slice_count):
        offset, length = struct.unpack_from(">ii", data, at + 14 + 8 * i)
        for row in BitMap.deserialize(bytes(data[base + ebm_len + offset : base + ebm_len + offset + length])):
            codes[row] += 1 << i
    return [codes.get(row) for row in range(count)]


@pytest.mark.parametrize("name", INTS)
def test_codes_of_ints(name):
    values = nulls(INTS[name], 0.2)
    data = body(values, pa.int32(), "range-bitmap", "INT")
    head_len, _, row_count, cardinality = struct.unpack_from(">ibii", data, 0)
    (dictionary_len,) = struct.unpack_from(">i", data, head_len)
    ranks = {key: code for code, key in enumerate(sorted(set(values) - {None}))}
    assert (row_count, cardinality) == (len(values), len(ranks))
    if ranks:
        assert model_slices(data, 4 + head_len + dictionary_len, len(values)) == [ranks.get(value) for value in values]


@pytest.mark.parametrize("name", TEXTS)
def test_codes_of_texts(name):
    values = nulls(TEXTS[name], 0.1)
    data = body(values, pa.string(), "range-bitmap", "STRING")
    (head_len,) = struct.unpack_from(">i", data, 0)
    (dictionary_len,) = struct.unpack_from(">i", data, head_len)
    ranks = {key: code for code, key in enumerate(sorted({v.encode() for v in values if v is not None}))}
    if ranks:
        expected = [None if value is None else ranks[value.encode()] for value in values]
        assert model_slices(data, 4 + head_len + dictionary_len, len(values)) == expected


def test_both_indexes_of_one_column_share_their_codes():
    """Whichever is built first, each is what it is alone."""
    for values, type, sql in ((INTS["many, repeated"], pa.int32(), "INT"), (TEXTS["digits"], pa.string(), "STRING"),
                              (LONGS["pairs, repeated"], pa.int64(), "BIGINT"), (INTS["direct"], pa.int32(), "INT")):
        table = pa.table({"c": pa.array(nulls(values, 0.1), type)})
        alone = [build_index(table, {f"file-index.{kind}.columns": "c"}, {"c": sql})[-5000:]
                 for kind in ("bitmap", "range-bitmap")]
        for kinds in (("bitmap", "range-bitmap"), ("range-bitmap", "bitmap")):
            both = build_index(table, {f"file-index.{kind}.columns": "c" for kind in kinds}, {"c": sql})
            assert all(segment in both for segment in alone)


@pytest.fixture(params=["baseline", "avx2"])
def kernels(request):
    yield planes._choose(request.param)
    planes._choose()


def test_every_kernel_writes_the_same(kernels):
    """A processor without AVX2 falls back by itself, and the bytes cannot tell."""
    columns = [(INTS["many"], pa.int32(), "INT"), (nulls(INTS["many"], 0.5), pa.int32(), "INT"),
               (LONGS["all but the top"], pa.int64(), "BIGINT"), (nulls(LONGS["packed"], 0.1), pa.int64(), "BIGINT"),
               (INTS["falling"][:65], pa.int32(), "INT"), ([], pa.int64(), "BIGINT")]
    for values, type, sql in columns:
        values = [None if v is None else max(v, -2**62) for v in values]
        table = pa.table({"c": pa.array(values, type)})
        options = {f"file-index.{kind}.columns": "c" for kind in ("bsi", "bloom-filter", "range-bitmap", "bitmap")}
        here = build_index(table, options, {"c": sql})
        planes._choose()
        assert build_index(table, options, {"c": sql}) == here
        planes._choose(kernels.removeprefix("build_"))
