"""The questions of bench/evaluate.py and bench/instructions.py, in everyone's words, and the files they are put to."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute
from pyroaring import BitMap

import paimon_fidx as fidx
from bench.columns import SEED, generators

c = fidx.col("c")


@dataclass
class IndexFile:
    """One index file: column -> (index kind, name of its values)."""

    columns: dict[str, tuple[str, str]]
    schema: dict[str, str] = field(default_factory=dict)
    values: dict[str, np.ndarray | pa.Array] = field(default_factory=dict)
    data: bytes = b""

    @property
    def name(self) -> str:
        return ", ".join(f"{kind} of {values}" for kind, values in self.columns.values())

    def build(self, rows: int) -> IndexFile:
        made, arrays, options = generators(rows), {}, {}
        for column, (kind, values) in self.columns.items():
            self.schema[column], make = made[values]
            arrays[column] = make()
            options.setdefault(f"file-index.{kind}.columns", []).append(column)
            plain = pa.types.is_integer(arrays[column].type) and not arrays[column].null_count
            self.values[column] = arrays[column].to_numpy() if plain else arrays[column]
        self.data = fidx.build_index(pa.table(arrays), {key: ",".join(names) for key, names in options.items()},
                                     self.schema)
        return self


@dataclass
class Question:
    """One question to one file, in everyone's words."""

    name: str
    file: IndexFile
    expected: Callable[[IndexFile], np.ndarray]      # a mask over the rows; for TOP-N the sorted values
    predicate: fidx.Predicate | None = None
    java: dict | None = None
    naive: Callable | None = None                    # of {column: pyroaring reader}
    top: int | None = None
    deleted: BitMap | None = None
    from_bytes: float | None = None                  # Java / ours, at least
    opened: float | None = None
    naive_bytes: float | None = None                 # pyroaring / ours, at least
    naive_ready: float | None = None


def leaf(op: str, *literals, column: str = "c") -> dict:
    return {"column": column, "op": op, "literals": [str(literal) for literal in literals]}


def comparisons(file: IndexFile, lo: int, hi: int, one: int, **bars) -> list[Question]:
    """``>=``, ``=`` and ``BETWEEN`` on column c."""
    def values(f):
        column = f.values["c"]
        return column if isinstance(column, np.ndarray) else column.fill_null(-1).to_numpy()

    return [
        Question(f"{file.name} >=", file, lambda f: values(f) >= lo, c >= lo, leaf("GREATER_OR_EQUAL", lo),
                 lambda r: r["c"].at_least(lo), **bars),
        Question(f"{file.name} =", file, lambda f: values(f) == one, c == one, leaf("EQUAL", one),
                 lambda r: r["c"].equal(one), **bars),
        Question(f"{file.name} BETWEEN", file, lambda f: (values(f) >= lo) & (values(f) <= hi), c.between(lo, hi),
                 leaf("BETWEEN", lo, hi), lambda r: r["c"].between(lo, hi), **bars)]


def memberships(file: IndexFile, distinct: int, **bars) -> list[Question]:
    """``=``, ``!=`` and ``IN`` of 100 on column c of keys 0 to distinct - 1."""
    one, several = distinct // 3, [i * (distinct // 100) + 3 for i in range(100)]
    within = bars.pop("within")
    return [
        Question(f"{file.name} =", file, lambda f: f.values["c"] == one, c == one, leaf("EQUAL", one),
                 lambda r: r["c"].equal(one), **bars),
        Question(f"{file.name} !=", file, lambda f: f.values["c"] != one, c != one, leaf("NOT_EQUAL", one),
                 lambda r: r["c"].not_equal(one), **bars),
        Question(f"{file.name} IN of 100", file, lambda f: np.isin(f.values["c"], several), c.is_in(several),
                 leaf("IN", *several), lambda r: r["c"].any_of(several), from_bytes=within)]


def questions(rows: int) -> list[Question]:
    """All questions about files of so many rows."""
    made = generators(rows)

    def member(name):                                # a value the column has
        return made[name][1]().drop_null()[-rows // 45].as_py()

    def file(kind, values):
        return IndexFile({"c": (kind, values)})

    wide = (600_000_001, 1_500_000_003)
    skewed, few = (1001, 50_003, 403), (333, 701, 500)
    step = 2_011_000_000 // max(rows, 1_000_000)
    many = (step * (rows * 3 // 10) + 6, step * (rows * 7 // 10) + 1, step * (rows // 2) + 5)
    small = rows <= 1_000_000
    random_bars = dict(from_bytes=20, opened=15) if small else dict(from_bytes=12)
    found = [
        *comparisons(file("bsi", "random ints"), *wide, member("random ints"), **random_bars, naive_bytes=8, naive_ready=1),
        *comparisons(file("bsi", "signed ints"), -600_000_001, wide[1], member("signed ints"),
                     **(dict(from_bytes=12, opened=8) if small else {}), naive_ready=1),
        *comparisons(file("bsi", "sorted ints"), *wide, member("sorted ints"),
                     **(dict(from_bytes=40, opened=0.65) if small else {}), naive_bytes=8, naive_ready=1),
        *comparisons(file("bsi", "skewed ints"), *skewed,
                     **(dict(from_bytes=12, opened=8) if small else {}), naive_bytes=2.5, naive_ready=1),
        *comparisons(file("bsi", "1000 ints"), *few, naive_ready=1),
        *comparisons(file("bsi", "90% null ints"), *wide, member("90% null ints"), naive_ready=1),
        *comparisons(file("range-bitmap", "random ints"), *wide, member("random ints"), naive_ready=1),
        *comparisons(file("range-bitmap", "1M ints"), *many, **(dict(from_bytes=9, opened=5) if small else {}),
                     naive_ready=1),
        *comparisons(file("range-bitmap", "sorted ints"), *wide, member("sorted ints"), naive_ready=1),
        *comparisons(file("range-bitmap", "1000 ints"), *few, **(dict(from_bytes=4, opened=1.6) if small else {}),
                     naive_ready=1),
        *comparisons(file("range-bitmap", "90% null ints"), *wide, member("90% null ints"), naive_ready=1),
    ]
    for values in ("1M ints", "1000 ints"):
        found.append(Question(
            f"range-bitmap of {values} TOP-10", file("range-bitmap", values), lambda f: np.sort(f.values["c"])[-10:],
            naive=lambda r: r["c"].top(10), top=10, from_bytes=4 if small else None, opened=2.5 if small else None))
    filtered = IndexFile({"c": ("range-bitmap", "1M ints"), "s": ("bitmap", "1000 ints")})
    found.append(Question(
        "TOP-10 of 1M ints where bitmap of 1000 ints =", filtered,
        lambda f: np.sort(f.values["c"][f.values["s"] == 333])[-10:], fidx.col("s") == 333,
        leaf("EQUAL", 333, column="s"), lambda r: r["c"].top(10, r["s"].equal(333)), top=10,
        from_bytes=4 if small else None))
    found += memberships(file("bitmap", "1000 ints"), 1000, within=2.5, from_bytes=10)
    found += memberships(file("bitmap", "100k ints"), 100_000, within=100, from_bytes=10)
    one = step * (rows // 3) + 5
    found.append(Question(
        "bitmap of 1M ints =", file("bitmap", "1M ints"), lambda f: f.values["c"] == one, c == one, leaf("EQUAL", one),
        lambda r: r["c"].equal(one), from_bytes=10))
    for values in ("1000 words", "words"):
        found.append(Question(
            f"bitmap of {values} LIKE 'abc%'", file("bitmap", values),
            lambda f: pa.compute.starts_with(f.values["c"], "abc").to_numpy(False), c.like("abc%"),
            leaf("STARTS_WITH", "abc"), lambda r: r["c"].starting_with(b"abc")))
    found.append(tree(rows, wide, many))
    return found


def tree(rows: int, wide, many) -> Question:
    """Five leaves over four columns, and a deletion vector."""
    file = IndexFile({"a": ("bsi", "random ints"), "b": ("range-bitmap", "1M ints"), "d": ("bsi", "skewed ints"),
                      "s": ("bitmap", "1000 ints")})
    deleted = BitMap(np.random.default_rng(SEED).integers(0, rows, rows // 50).astype(np.uint32))
    a, b, d, s = (fidx.col(name) for name in "abds")
    gone = np.zeros(rows, bool)
    gone[deleted.to_array()] = True

    def expected(f):
        v = f.values
        either = (v["s"] == 333) | (v["s"] == 500) | (v["d"] < 403)
        return (v["a"] >= wide[0]) & (v["b"] >= many[0]) & (v["b"] <= many[1]) & either & ~gone

    return Question(
        "a >= AND b BETWEEN AND (s = OR s = OR d <), 2 % deleted", file, expected,
        (a >= wide[0]) & b.between(*many[:2]) & ((s == 333) | (s == 500) | (d < 403)),
        {"and": [leaf("GREATER_OR_EQUAL", wide[0], column="a"), leaf("BETWEEN", *many[:2], column="b"),
                 {"or": [leaf("EQUAL", 333, column="s"), leaf("EQUAL", 500, column="s"),
                         leaf("LESS_THAN", 403, column="d")]}]},
        lambda r: (r["a"].at_least(wide[0]) & r["b"].between(*many[:2])
                   & (r["s"].equal(333) | r["s"].equal(500) | r["d"].between(0, 402))) - deleted,
        deleted=deleted)
