"""evaluate_many answers Bloom filters in memory by a short way; what open_index refuses, it refuses too."""
from __future__ import annotations

import pytest

import paimon_fidx as fidx
from tests.golden import data

SCHEMA = {"a": "INT", "b": "INT"}
FILTER = (1).to_bytes(4, "big") + b"\xff" * 8  # one hash, every bit set: maybe
A = ("a", [("bloom-filter", FILTER)])


def text(name):
    return len(name).to_bytes(2, "big") + name.encode()


def be32(number):
    return (number & 0xFFFFFFFF).to_bytes(4, "big")


def file_of(columns):
    """columns: (name, [(kind, body or the length of an empty entry)])."""
    head_len = 20 + sum(len(text(name)) + 4 + sum(len(text(kind)) + 8 for kind, _ in kinds) for name, kinds in columns)
    head, bodies = data.MAGIC.to_bytes(8, "big") + be32(1) + be32(head_len) + be32(len(columns)), b""
    for name, kinds in columns:
        head += text(name) + be32(len(kinds))
        for kind, body in kinds:
            empty = isinstance(body, int)
            head += text(kind) + (be32(-1) + be32(body) if empty else be32(head_len + len(bodies)) + be32(len(body)))
            bodies += b"" if empty else body
    return head + bodies


REFUSED = {
    "an empty entry with a length": [A, ("b", [("bitmap", 5)])],
    "a kind twice on a column": [A, ("b", [("bsi", b"x"), ("bsi", b"x")])],
    "a kind twice, the column twice": [A, ("b", [("bsi", b"x")]), ("b", [("bsi", b"x")])],
    "the asked kind twice": [("a", [("bloom-filter", FILTER), ("bloom-filter", FILTER)])],
    "a filter without bits": [("a", [("bloom-filter", FILTER[:4])])],
    "no hashes": [("a", [("bloom-filter", b"\0" * 12)])],
    "more hashes than bits": [("a", [("bloom-filter", be32(65) + bytes(8))])],
}
READ = {
    "one filter": [A],
    "another column": [A, ("b", [("bsi", b"x")])],
    "an empty entry of another column": [("b", [("bitmap", 0)]), A],
    "no index of the column": [("b", [("bsi", b"x")])],
    "an empty filter": [("a", [("bloom-filter", 0)])],
    "a column twice, two kinds": [A, ("b", [("bsi", b"x")]), ("b", [("bitmap", b"x")])],
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_both(name):
    payload, predicate = file_of(REFUSED[name]), fidx.col("a") == 1
    with pytest.raises(fidx.FileIndexError):
        fidx.open_index(payload, SCHEMA).evaluate(predicate, row_count=9)
    for sources in ([payload] * 5, [file_of([A])] * 4 + [payload]):
        with pytest.raises(fidx.FileIndexError):
            fidx.evaluate_many(sources, SCHEMA, predicate, row_counts=[9] * 5)


@pytest.mark.parametrize("name", READ)
def test_read_by_both(name):
    payload = file_of(READ[name])
    for predicate in (fidx.col("a") == 1, fidx.col("a").is_in([]), (fidx.col("a") == 1) & (fidx.col("a") == 2),
                      fidx.col("a").is_null(), fidx.col("a") != 3):
        single = fidx.open_index(payload, SCHEMA).evaluate(predicate, row_count=9)
        assert fidx.evaluate_many([payload] * 6, SCHEMA, predicate, row_counts=[9] * 6) == [single] * 6
