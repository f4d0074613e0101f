"""Thousands of random columns through Java Paimon 1.4.2 and back: same bytes, same rows, in both directions."""
from __future__ import annotations

import random

import pyarrow as pa
import pytest

import paimon_fidx as fidx
from paimon_fidx.build import build_index
from paimon_fidx.core.bloom_filter import size_of
from paimon_fidx.types import accepts
from tests.build.arrow import column as arrow
from tests.golden.data import wrap
from tests.interop.columns import TYPES, column, key, value

FILES = 24                 # per kind and type, of each test: some 3,000 in all
OPTIONS = {
    "bloom-filter": lambda rng: {"items": str(rng.choice((1, 5, 100, 1000))),
                                 "fpp": rng.choice(("0.1", "0.01", "1e-6", "0.5"))},
    "bitmap": lambda rng: {"version": rng.choice("12"), "index-block-size": rng.choice(("2kb", "4000", "16kb"))},
    "bsi": lambda rng: {},
    "range-bitmap": lambda rng: rng.choice(({}, {"chunk-size": "0b"}, {"chunk-size": "64b"}, {"chunk-size": "1kb"})),
}
PAIRS = [(kind, type) for kind in OPTIONS for type in TYPES if accepts(kind, type)]
NAMES = [f"{kind}-{type}" for kind, type in PAIRS]


def options_of(kind: str, name: str, chosen: dict) -> dict:
    return {f"file-index.{kind}.columns": name} | {f"file-index.{kind}.{name}.{k}": v for k, v in chosen.items()}


def built(kind: str, type: str, values: list, chosen: dict) -> bytes:
    """In a random Arrow layout: whole, chunked or sliced out of something larger."""
    array, rng = arrow(type, values), random.Random(len(values))
    layout = rng.randrange(3)
    if layout == 1 and len(values) > 1:
        cut = rng.randrange(len(values))
        array = pa.chunked_array([array[:cut], array[cut:]])
    elif layout == 2:
        array = pa.concat_arrays([array[:3], array])[len(array[:3]) :]
    return build_index(pa.table({"c": array}), options_of(kind, "c", chosen), {"c": type})


def rows(values: list, test) -> set[int]:
    return {row for row, item in enumerate(values) if test(item)}


@pytest.mark.parametrize("kind, type", [pair for pair in PAIRS if pair[0] != "bitmap"],
                         ids=[name for name in NAMES if not name.startswith("bitmap")])
def test_same_bytes(java, facts, kind, type):
    rng = random.Random(f"bytes {kind} {type}")
    for _ in range(FILES):
        values, chosen = column(rng, type), OPTIONS[kind](rng)
        expected = wrap("c", kind, java.write(kind, type, values, chosen))
        assert built(kind, type, values, chosen) == expected, (values, chosen)
        facts["random columns written identically by Java"] += 1


@pytest.mark.parametrize("kind, type", [
    ("bsi", "INT"), ("bsi", "BIGINT"), ("bsi", "DECIMAL(18, 4)"), ("range-bitmap", "INT"), ("range-bitmap", "STRING"),
    ("range-bitmap", "DOUBLE"), ("bloom-filter", "STRING")])
def test_same_bytes_of_many_rows(java, facts, kind, type):
    """Past 65,536 rows: several containers, all their kinds."""
    rng = random.Random(f"many {kind} {type}")
    for _ in range(3):
        values = column(rng, type, rng.choice((65_535, 65_536, 70_001, 140_000)))
        assert built(kind, type, values, {}) == wrap("c", kind, java.write(kind, type, values, {}))
        facts["random columns written identically by Java"] += 1


@pytest.mark.parametrize("type", [type for kind, type in PAIRS if kind == "bitmap"])
def test_java_reads_bitmaps(java, facts, type):
    """Every key asked, then keys that are not there and NULL."""
    rng = random.Random(f"bitmap {type}")
    for turn in range(FILES):
        values, chosen = column(rng, type, 66_000 if turn == 0 else None), OPTIONS["bitmap"](rng)
        body = java.write("bitmap", type, values, chosen)
        if isinstance(body, str):                                   # a key longer than an index block
            with pytest.raises(ValueError, match="index-block-size"):
                built("bitmap", type, values, chosen)
            continue
        file = built("bitmap", type, values, chosen)
        assert len(file) == len(wrap("c", "bitmap", body))
        wanted = {repr(v): v for v in values[:200] if v is not None} | {str(i): value(rng, type) for i in range(3)}
        questions = [("c", "EQUAL", [v]) for v in list(wanted.values())[:40]]
        keys = [key(type, v) for v in values]
        expected = [rows(keys, lambda k, v=v: k == key(type, v)) for _, _, (v,) in questions]
        questions += [("c", "IS_NULL", []), ("c", "IS_NOT_NULL", [])]
        expected += [rows(keys, lambda k: k is None), rows(keys, lambda k: k is not None)]
        answers = java.ask({"c": type}, file, questions)
        assert [set() if answer == "SKIP" else answer for answer in answers] == expected, (values[:50], chosen)
        facts["bitmap files read by Java, all keys asked"] += 1


@pytest.mark.parametrize("kind, type", PAIRS, ids=NAMES)
def test_we_read_what_java_writes(java, facts, kind, type):
    rng = random.Random(f"read {kind} {type}")
    for _ in range(FILES // 2):
        values = column(rng, type)
        body = java.write(kind, type, values, OPTIONS[kind](rng))
        index = fidx.open_index(wrap("c", kind, body), {"c": type})
        arrays = arrow(type, values + [value(rng, type)])
        keys = [key(type, v) for v in values]
        for row in rng.sample(range(len(values) + 1), min(6, len(values) + 1)):
            if not arrays[row].is_valid:
                continue
            literal = arrays[row].as_py() if not type.startswith("TIMESTAMP") else fidx.timestamp_ns(arrays[row].value)
            wanted = key(type, (values + [None])[row]) if row < len(values) else None
            result = index.evaluate(fidx.col("c") == literal, row_count=len(values))
            found = set(range(len(values))) if result.decision is fidx.Decision.REMAIN else set(result.rows or ())
            if row < len(values):
                expected = rows(keys, lambda k: same(type, k, wanted))
                assert expected <= found, (values, literal)
                assert kind == "bloom-filter" or "(9)" in type or expected == found, (values, literal)
        if kind != "bloom-filter":
            result = index.evaluate(fidx.col("c").is_null(), row_count=len(values))
            assert set(result.rows or ()) == rows(keys, lambda k: k is None)
        facts["random Java files read here"] += 1


def same(type: str, a, b) -> bool:
    """Equality as SQL has it: both zeros are one."""
    return a == b or type in ("FLOAT", "DOUBLE") and a is not None and a[0] == b[0] == 1 and a[1] == b[1]


def test_whole_files(java, facts):
    """Several columns and indexes, keys of a MAP among them, in one file that Java opens."""
    rng = random.Random("files")
    for _ in range(60):
        count = rng.choice((1, 5, 100, 300))
        numbers = [None if rng.random() < 0.2 else rng.randint(-9, 9) for _ in range(count)]
        words = [None if rng.random() < 0.2 else rng.choice("abcd") for _ in range(count)]
        maps = [None if rng.random() < 0.2 else {k: rng.choice("xyz") for k in "k[" if rng.random() < 0.5}
                for _ in range(count)]
        table = pa.table({
            "n[": pa.array(numbers, pa.int32()), "wörter": pa.array(words),
            "m": pa.array([None if m is None else list(m.items()) for m in maps], pa.map_(pa.string(), pa.string()))})
        schema = {"n[": "INT", "wörter": "STRING", "m": "MAP<STRING, STRING>"}
        file = build_index(table, {
            "file-index.bsi.columns": "n[", "file-index.range-bitmap.columns": "wörter,n[",
            "file-index.bitmap.columns": "m[k],wörter,m[[]", "file-index.bitmap.m.version": rng.choice("12"),
            "file-index.bloom-filter.columns": "m[k]", "file-index.bloom-filter.m[k].items": "100"}, schema)
        questions = [("n[", "EQUAL", [3]), ("n[", "IS_NULL", []), ("wörter", "EQUAL", ["b"]), ("m[k]", "EQUAL", ["x"]),
                     ("m[[]", "EQUAL", ["y"]), ("m[k]", "IS_NULL", [])]
        expected = [
            rows(numbers, lambda v: v == 3), rows(numbers, lambda v: v is None), rows(words, lambda v: v == "b"),
            rows(maps, lambda m: bool(m) and m.get("k") == "x"), rows(maps, lambda m: bool(m) and m.get("[") == "y"),
            rows(maps, lambda m: not m or "k" not in m)]
        answers = java.ask(schema, file, questions)
        assert [set() if answer == "SKIP" else answer for answer in answers] == expected
        facts["whole files with several indexes read by Java"] += 1


def test_filter_sizes(java, facts):
    """Java's arithmetic of items and fpp, odd numbers included: the head and the length tell."""
    rng = random.Random("sizes")
    for _ in range(300):
        items = rng.choice((rng.randint(-20, 20), rng.randint(1, 100_000), rng.randint(1, 200)))
        odd = ("0", "1", "2", "-0.5", "NaN", "0.999999", "1e300")
        fpp = rng.choice((str(rng.random()), f"1e-{rng.randint(1, 300)}", *odd))
        body = java.write("bloom-filter", "INT", [1], {"items": str(items), "fpp": fpp})
        try:
            bits, hashes = size_of(items, float(fpp))
        except ValueError:
            assert isinstance(body, str), (items, fpp, len(body))
        else:
            assert not isinstance(body, str), (items, fpp, bits, body)
            assert (bits // 8 + 4, hashes) == (len(body), int.from_bytes(body[:4], "big")), (items, fpp)
        facts["Bloom filter sizes as Java computes them"] += 1
