"""Evaluating indexes: this library against Java Paimon 1.4.2 and pyroaring, on the same bytes, in one run.

    python bench/evaluate.py                       every question at 1M rows, some ten minutes
    python bench/evaluate.py bsi TOP               questions whose name holds one of the words
    python bench/evaluate.py --rows 10000000       bsi and range-bitmap on larger files
    python bench/evaluate.py --no-java             without Java
    python bench/evaluate.py --json figures.json   all figures, in seconds
    python bench/evaluate.py --docs                renews the table and the plot of docs/evaluate.md
    python bench/evaluate.py --docs --read figures.json    the same, from figures measured before

Files are built once by this library; all sides read the same ones. Answers are checked against numpy on every side
before anything is counted. The sides take turns and the figures are medians.

    from bytes    whole index file in memory -> rows.   ours: open_index(bytes, schema).evaluate(predicate)
                                                        Java: new FileIndexPredicate(bytes, type).evaluate(predicate)
    open          a reader that has been asked before.  ours: FileIndex.evaluate; Java: FileIndexReader
    pyroaring     bench/peers.py: bitmaps deserialized and combined one by one; "ready": all deserialized before
    kernel        Reader.select without making the BitMap: no predicate, no Python above the C loops
    read once     the index's bytes (those of the chosen bitmaps, for bitmap) at the speed of memchr over as many

pypaimon_rust has no way to ask an index: it prunes inside whole table scans only, so it has no column here.
"""
from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
import paimon_fidx as fidx  # noqa: E402
from bench.columns import SEED  # noqa: E402
from bench.peers import READERS, JavaFiles  # noqa: E402
from bench.questions import IndexFile, Question, c, leaf, questions  # noqa: E402
from bench.turns import in_turns, repeated  # noqa: E402
from paimon_fidx.types import parse_schema  # noqa: E402
from tests.interop.java import Java, missing  # noqa: E402

BLOOM_FILES, BLOOM_KEYS, ABSENT = 10_000, 1_000, 123_456_789
MANY_FILES = 50


# ---- the sides

class Sides:
    """Everyone's way to answer one question."""

    def __init__(self, question: Question, java: JavaFiles | None):
        self.question, file = question, question.file
        self.schema = parse_schema(file.schema)
        self.open_file = fidx.open_index(file.data, self.schema)
        self.java = None
        if java is not None:
            top = {"column": "c", "n": question.top} if question.top else None
            self.java = java.question(question.name, question.java, top, question.deleted)
        # bytes -> {column: reader}; the segments are cut out before, in pyroaring's favour
        segments = {}
        for column, kinds in self.open_file._container.columns.items():
            (kind, (start, length)), = kinds.items()
            segments[column] = (kind, file.data[start:start + length])
        self.segments = segments
        self.ready = {column: reader.ready() for column, reader in self.naive_readers().items()}

    def ours(self, file) -> fidx.IndexResult:
        q = self.question
        if q.top:
            return file.top_n("c", q.top, where=q.predicate, deleted=q.deleted)
        return file.evaluate(q.predicate, deleted=q.deleted)

    def ours_from_bytes(self):
        return self.ours(fidx.open_index(self.question.file.data, self.schema))

    def ours_open(self):
        return self.ours(self.open_file)

    def naive_readers(self) -> dict:
        readers = {}
        for column, (kind, data) in self.segments.items():
            strings = self.question.file.schema[column] == "STRING"
            readers[column] = READERS[kind](data, True) if strings else READERS[kind](data)
        return readers

    def naive_bytes(self):
        return self.question.naive(self.naive_readers())

    def naive_ready(self):
        return self.question.naive(self.ready)

    # single leaves: what the evaluation calls, and what it then makes of the rows

    @functools.cached_property
    def select(self) -> Callable | None:
        q = self.question
        if q.top or q.predicate is None or len(self.segments) != 1:
            return None
        step, = self.open_file._bind(q.predicate, "UTC").program
        (kind, _), = self.segments.values()
        return functools.partial(self.open_file.reader("c", kind, self.schema["c"]).select, step.keys, step.negate)

    def must_read(self, rows: BitMap) -> int | None:
        """Bytes of the slices, or of the bitmaps that are the answer."""
        if self.question.top or len(self.segments) != 1:
            return None
        (kind, data), = self.segments.values()
        if kind == "bsi":
            return len(data)
        if kind == "range-bitmap":
            return len(data) - self.ready["c"]._at
        return None if "!=" in self.question.name else len(rows.serialize())

    # answers

    def check(self) -> None:
        q = self.question
        truth = q.expected(q.file)
        answers = {"ours, from bytes": self.ours_from_bytes().rows, "ours, open": self.ours_open().rows}
        if q.naive:
            answers |= {"pyroaring": self.naive_bytes(), "pyroaring, ready": self.naive_ready()}
        if self.java:
            for open in (False, True):
                decision, rows, _ = self.java.answer(open)
                if decision == "REMAIN":
                    print(f"{q.name}: Java cannot answer from the index", flush=True)
                    self.java = None
                    break
                answers[f"Java, {'open' if open else 'from bytes'}"] = rows
        for side, rows in answers.items():
            found = np.array((rows if rows is not None else BitMap()).to_array(), dtype=np.int64)
            if q.top:
                same = np.array_equal(np.sort(q.file.values["c"][found]), truth)
            else:
                same = np.array_equal(found, np.flatnonzero(truth))
            if not same:
                raise AssertionError(f"{q.name}: {side} answers {len(found)} rows, not {np.count_nonzero(truth)}")
        assert self.ours_open().exact

    def contenders(self) -> dict[str, Callable[[float], float]]:
        q = self.question
        rows = self.ours_open().rows
        serialized = rows.serialize()
        sides = {"ours_bytes": repeated(self.ours_from_bytes), "ours_open": repeated(self.ours_open)}
        if self.java:
            sides |= {"java_bytes": self.java.timed(False), "java_open": self.java.timed(True)}
        if q.naive:
            sides |= {"naive_bytes": repeated(self.naive_bytes), "naive_ready": repeated(self.naive_ready)}
        if self.select:
            sides |= {"select": repeated(self.select), "bitmap": repeated(lambda: BitMap.deserialize(serialized))}
        size = self.must_read(rows)
        if size:
            sides["read_once"] = repeated(functools.partial((b"\2" * size).find, b"\1"))
        return sides


# ---- many files

def bloom_files() -> list[bytes]:
    """10,000 index files, a Bloom filter of 1,000 random keys each."""
    rng = np.random.default_rng(SEED)
    options = {"file-index.bloom-filter.columns": "c", "file-index.bloom-filter.c.items": str(BLOOM_KEYS),
               "file-index.bloom-filter.c.fpp": "0.01"}
    return [fidx.build_index(pa.table({"c": rng.integers(-2**31, 2**31, BLOOM_KEYS).astype(np.int32)}), options)
            for _ in range(BLOOM_FILES)]


def measure_bloom(java: Java | None, chosen) -> list[dict]:
    files, schema, predicate = bloom_files(), {"c": "INT"}, c == ABSENT
    buffers = [pa.py_buffer(file) for file in files]
    views = [memoryview(file) for file in files]
    typed = parse_schema(schema)

    def one_by_one():
        return [fidx.open_index(file, typed).evaluate(predicate) for file in files]

    sides = {"bytes": lambda: fidx.evaluate_many(files, typed, predicate, threads=1),
             "memoryview": lambda: fidx.evaluate_many(views, typed, predicate, threads=1),
             "pyarrow": lambda: fidx.evaluate_many(buffers, typed, predicate, threads=1),
             "one_by_one": one_by_one}
    remain = {name: sum(r.decision is fidx.Decision.REMAIN for r in call()) for name, call in sides.items()}
    contenders = {name: repeated(call) for name, call in sides.items()}
    if java:
        peer = JavaFiles(java, "bloom", schema, files).question("bloom", leaf("EQUAL", ABSENT))
        remain["java"] = peer.answer(False)[2]
        contenders["java"] = peer.timed(False)
        contenders["java"](chosen.warm)
    assert len(set(remain.values())) == 1, remain
    found = in_turns(contenders, chosen.rounds, chosen.seconds)
    bars = {"bytes": 100, "memoryview": 20, "pyarrow": 20}
    return [{"name": f"{BLOOM_FILES:,} Bloom files, {title}", "ours_bytes": found[name],
             "java_bytes": found.get("java"), "from_bytes_bar": bars.get(name)}
            for name, title in (("bytes", "evaluate_many of bytes"), ("memoryview", "... of memoryviews"),
                                ("pyarrow", "... of pyarrow buffers"), ("one_by_one", "open_index each"))]


def measure_threads(chosen) -> list[dict]:
    rng = np.random.default_rng(SEED)
    files = [fidx.build_index(pa.table({"c": rng.integers(0, 2**31 - 1, chosen.rows).astype(np.int32)}),
                              {"file-index.bsi.columns": "c"}) for _ in range(MANY_FILES)]
    typed, predicate = parse_schema({"c": "INT"}), c >= 600_000_001
    sides = {str(threads): repeated(lambda threads=threads: fidx.evaluate_many(files, typed, predicate, threads=threads))
             for threads in (1, 2)}
    # what the machine has to give: a digest, which needs neither the GIL nor memory bandwidth
    block = bytes(1_000_000)
    for threads in (1, 2):
        sides[f"digest {threads}"] = repeated(lambda threads=threads: digests(block, threads))
    found = in_turns(sides, chosen.rounds * 2, chosen.seconds)
    possible = found["digest 1"] / found["digest 2"]
    return [{"name": f"evaluate_many, {MANY_FILES} files, 1 and 2 threads (SHA-1 in turn with it: {possible:.2f}×)", "one_thread": found["1"],
             "two_threads": found["2"], "scaling_bar": 1.7}]


def digests(block: bytes, threads: int) -> list[bytes]:
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda _: hashlib.sha1(block).digest(), range(8)))


def measure_cold(chosen) -> list[dict]:
    """``>=`` on random data with nothing of the index in the caches, against reading it once, also cold."""
    file = IndexFile({"c": ("bsi", "random ints")}).build(chosen.rows)
    sides = Sides(Question("cold", file, None, c >= 600_000_001, None, None), None)
    other = bytes(bytearray(len(file.data)))         # as many bytes, written once: pages of its own
    evict = np.ones(1 << 28, np.uint8)
    times = {"api": [], "select": [], "read": [], "bitmap": []}
    serialized = sides.ours_open().rows.serialize()
    calls = {"api": sides.ours_open, "select": sides.select, "read": functools.partial(other.find, b"\1"),
             "bitmap": lambda: BitMap.deserialize(serialized)}
    for _ in range(5 * chosen.rounds):
        for name, call in calls.items():
            evict += 1
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(found) for name, found in times.items()}
    return [{"name": "bsi of random ints >=, cold caches", "ours_open": medians["api"],
             "kernel": medians["select"] - medians["bitmap"], "read_once": medians["read"]}]


def measure_overhead(chosen) -> list[dict]:
    """What an evaluation costs above the C kernels: the same calls on an index of ten rows."""
    file = IndexFile({"c": ("bsi", "random ints")}).build(10)
    sides = Sides(Question("tiny", file, None, c >= 600_000_001, None, None), None)
    serialized = sides.ours_open().rows.serialize()
    found = in_turns({"ours_bytes": repeated(sides.ours_from_bytes), "ours_open": repeated(sides.ours_open),
                      "select": repeated(sides.select), "bitmap": repeated(lambda: BitMap.deserialize(serialized))},
                     chosen.rounds, chosen.seconds)
    return [{"name": "bsi of 10 rows >=: the cost of asking", **found, "overhead": found["ours_open"] - found["bitmap"]}]


# ---- the report

def measure(question: Question, java: Java | None, chosen) -> dict:
    loaded = JavaFiles(java, question.file.name, question.file.schema, [question.file.data]) if java else None
    sides = Sides(question, loaded)
    sides.check()
    if sides.java:
        for open in (False, True):
            sides.java.timed(open)(chosen.warm)
    found = in_turns(sides.contenders(), chosen.rounds, chosen.seconds)
    if "select" in found:
        found["kernel"] = max(0.0, found["select"] - found["bitmap"])
    return {"name": question.name, **found, "from_bytes_bar": question.from_bytes, "opened_bar": question.opened,
            "naive_bytes_bar": question.naive_bytes, "naive_ready_bar": question.naive_ready}


RATIOS = (("java_bytes", "ours_bytes", "from_bytes_bar"), ("java_open", "ours_open", "opened_bar"),
          ("naive_bytes", "ours_bytes", "naive_bytes_bar"), ("naive_ready", "ours_open", "naive_ready_bar"),
          ("one_thread", "two_threads", "scaling_bar"))
HEADS = ("question", "ours from bytes", "open", "kernel", "read once", "Java from bytes", "open", "pyroaring from bytes",
         "ready")


def cells(figures: dict) -> list[str]:
    """One row of the table: times in µs, and beside a peer's its multiple of ours (with the bar where there is one)."""
    def micros(key):
        return f"{figures[key] * 1e6:,.1f}" if figures.get(key) else ""

    def peer(key, own, bar):
        if not figures.get(key) or not figures.get(own):
            return ""
        ratio, least = figures[key] / figures[own], figures.get(bar)
        mark = "" if least is None else f" (≥ {least:g})" if ratio >= least else f" (**below {least:g}**)"
        return f"{micros(key)} = {ratio:.{1 if ratio >= 2 else 2}f}×{mark}"

    if "one_thread" in figures:
        ratio = figures["one_thread"] / figures["two_threads"]
        text = f"{ratio:.2f}× as fast on two threads (bar 1.7×)"
        return [f"{figures['name']}: {text}", micros("one_thread"), micros("two_threads"), "", "", "", "", "", ""]
    beyond = f", {micros('overhead')} beyond the BitMap" if "overhead" in figures else ""
    return [figures["name"] + beyond, micros("ours_bytes"), micros("ours_open"), micros("kernel"), micros("read_once"),
            *(peer(*ratio) for ratio in RATIOS[:4])]


def below(figures: dict) -> list[str]:
    """The bars this row does not reach."""
    return [f"{figures['name']}: {figures[key] / figures[own]:.2f}× of {bar.removesuffix('_bar')}, not {figures[bar]:g}×"
            for key, own, bar in RATIOS
            if figures.get(bar) and figures.get(key) and figures.get(own) and figures[key] / figures[own] < figures[bar]]


def table(results: list[dict]) -> str:
    lines = ["| " + " | ".join(HEADS) + " |", "|" + "|".join(["---"] + ["--:"] * (len(HEADS) - 1)) + "|"]
    lines += ["| " + " | ".join(cells(figures)) + " |" for figures in results]
    return "\n".join(lines)


def plot(results: list[dict], path: Path) -> None:
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "evaluate"
    from matplotlib import pyplot
    shown = [r for r in results if r.get("java_bytes") or r.get("naive_bytes")]
    figure, axes = pyplot.subplots(figsize=(9, 0.27 * len(shown) + 1.2))
    marks = (("java_bytes", "ours_bytes", "Java, from bytes", "o", "#1f77b4"),
             ("java_open", "ours_open", "Java, reader open", "o", "#9ecae1"),
             ("naive_bytes", "ours_bytes", "pyroaring, from bytes", "s", "#d62728"),
             ("naive_ready", "ours_open", "pyroaring, ready", "s", "#ff9896"))
    for key, own, label, marker, colour in marks:
        points = [(r[key] / r[own], -i) for i, r in enumerate(shown) if r.get(key) and r.get(own)]
        axes.plot(*zip(*points), marker, color=colour, label=label, markersize=5)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks([-i for i in range(len(shown))], [r["name"] for r in shown], fontsize=7)
    axes.set_xlabel("times as long as this library takes (right of the line: slower)")
    axes.grid(axis="x", linewidth=0.3)
    axes.legend(fontsize=7, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def renew(page: Path, heading: str, text: str) -> None:
    """Puts ``text`` between the marks of ``heading`` in the page."""
    start, end = f"<!-- {heading} -->", f"<!-- end of {heading} -->"
    before, rest = page.read_text(encoding="utf-8").split(start)
    page.write_text(f"{before}{start}\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")


def report(results: list[dict], rows: int, chosen) -> None:
    short = [text for figures in results for text in below(figures)]
    print("\nbelow the bars:\n  " + "\n  ".join(short) if short else "\nall bars are met")
    if chosen.json:
        chosen.json.write_text(json.dumps({"rows": rows, "cpu_count": os.cpu_count(), "results": results}, indent=1))
    if chosen.docs:
        millions = f"{rows // 1_000_000}M"
        renew(ROOT / "docs" / "evaluate.md", f"{millions} rows", table(results))
        plot(results, ROOT / "docs" / f"evaluate-{millions}.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only questions whose name holds one of these")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7, help="turns of every side per question")
    parser.add_argument("--seconds", type=float, default=0.05, help="of each turn")
    parser.add_argument("--warm", type=float, default=1.5, help="seconds of warming Java up, per question and way")
    parser.add_argument("--no-java", action="store_true")
    parser.add_argument("--json", type=Path, help="where to put the figures")
    parser.add_argument("--docs", action="store_true", help="renew docs/evaluate.md and its plot")
    parser.add_argument("--read", type=Path, help="figures of an earlier --json, instead of measuring")
    chosen = parser.parse_args()
    if chosen.read:
        earlier = json.loads(chosen.read.read_text())
        report(earlier["results"], earlier["rows"], chosen)
        return
    if not chosen.no_java and missing():
        sys.exit(f"bench/evaluate.py {missing()}; --no-java measures without it")
    java = None if chosen.no_java else Java(heap="5g")

    def wanted(name):
        return not chosen.words or any(word in name for word in chosen.words)

    results, built = [], {}

    def keep(found: list[dict]) -> None:
        for figures in found:
            results.append(figures)
            name, *rest = cells(figures)
            titles = ("ours", "open", "kernel", "read", "Java", "Java open", "pyroaring", "ready")
            print(f"{name}\n    " + "  ".join(f"{t} {v}" for t, v in zip(titles, rest) if v).replace("**", ""), flush=True)

    for question in questions(chosen.rows):
        if not wanted(question.name):
            continue
        if question.file.name not in built:
            built.clear()                                    # one file at a time: memory
            built[question.file.name] = question.file.build(chosen.rows)
        question.file = built[question.file.name]
        keep([measure(question, java, chosen)])
    built.clear()
    for name, more in (("Bloom", lambda: measure_bloom(java, chosen)), ("cold", lambda: measure_cold(chosen)),
                       ("asking", lambda: measure_overhead(chosen)), ("threads", lambda: measure_threads(chosen))):
        if wanted(name) and not (chosen.rows > 1_000_000 and name in ("Bloom", "asking", "threads")):
            keep(more())
    report(results, chosen.rows, chosen)
    if java:
        java.__exit__()


if __name__ == "__main__":
    main()
