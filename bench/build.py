"""Building indexes: this library from Arrow arrays against Java Paimon 1.4.2, same values, one thread, in one run.

    python bench/build.py                     every case, some eight minutes
    python bench/build.py bsi strings         cases whose name holds one of the words
    python bench/build.py --no-java           this library alone
    python bench/build.py --rows 100000       other columns than of a million rows
    python bench/build.py --cpu               processor time of both processes, for a busy machine

Java (tests/interop/oracle) is warmed up before anything is counted; then the two take turns. Printed per case: the
median milliseconds of both, their ratio, ours as a multiple of a memcpy of the column, and the most memory a build took
beyond the column itself, as a multiple of the column (in a process of its own). The column is what its Arrow buffers
hold.
"""
from __future__ import annotations

import argparse
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.append(str(Path(__file__).resolve().parent.parent))
import paimon_fidx as fidx  # noqa: E402
from bench.columns import generators  # noqa: E402
from tests.interop.java import Java, missing  # noqa: E402

# (kind, column, the ratio the project promises or None)
CASES = [
    ("bsi", "random ints", 100), ("bsi", "signed ints", 100), ("bsi", "sorted ints", 100), ("bsi", "skewed ints", 100),
    ("bsi", "single value", None), ("bsi", "90% null ints", None), ("bsi", "random longs", None),
    ("bsi", "timestamps", None), ("bsi", "decimals", None),
    ("range-bitmap", "1000 ints", 70), ("range-bitmap", "1M ints", 55), ("range-bitmap", "strings", 25),
    ("range-bitmap", "1000 strings", None), ("range-bitmap", "random ints", None),
    ("range-bitmap", "sorted ints", None), ("range-bitmap", "skewed ints", None),
    ("range-bitmap", "single value", None), ("range-bitmap", "90% null ints", None),
    ("range-bitmap", "random longs", None), ("range-bitmap", "timestamps", None), ("range-bitmap", "decimals", None),
    ("bitmap", "1000 ints", 8), ("bitmap", "100k ints", 14), ("bitmap", "1M ints", 60), ("bitmap", "strings", 20),
    ("bitmap", "1000 strings", None), ("bitmap", "sorted ints", None), ("bitmap", "skewed ints", None),
    ("bitmap", "single value", None), ("bitmap", "90% null ints", None), ("bitmap", "random longs", None),
    ("bitmap", "1000 longs", None), ("bitmap", "timestamps", None),
    ("bloom-filter", "random ints", 2), ("bloom-filter", "strings", 3.5), ("bloom-filter", "sorted ints", None),
    ("bloom-filter", "single value", None), ("bloom-filter", "90% null ints", None),
    ("bloom-filter", "random longs", None), ("bloom-filter", "timestamps", None), ("bloom-filter", "1000 strings", None),
]


def options(kind: str) -> dict:
    return {f"file-index.{kind}.columns": "c"}


def build(kind: str, type: str, table: pa.Table) -> bytes:
    return fidx.build_index(table, options(kind), {"c": type})


def for_java(array: pa.Array, path: Path) -> None:
    """The column as tests/interop/oracle/.../Bench.java reads it."""
    with path.open("wb") as out:
        if pa.types.is_string(array.type):
            for text in array.to_pylist():
                out.write(b"\0" if text is None else struct.pack("<Bi", 1, len(text.encode())) + text.encode())
            return
        if pa.types.is_decimal(array.type):
            numbers = np.frombuffer(array.buffers()[1], np.int64)[::2][array.offset:array.offset + len(array)]
        else:
            number = pa.int32() if array.type == pa.int32() else pa.int64()
            numbers = array.cast(number).fill_null(0).to_numpy()
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        rows = np.zeros(len(array), np.dtype([("valid", "u1"), ("value", numbers.dtype)]))
        rows["valid"], rows["value"] = valid, numbers
        packed = rows.tobytes()
        if valid.all():
            out.write(packed)
        else:
            size = rows.dtype.itemsize
            out.write(b"".join(packed[i * size:(i + 1) * size] if ok else b"\0" for i, ok in enumerate(valid.tolist())))


def ours(kind: str, type: str, table: pa.Table, seconds: float, clock) -> list[float]:
    """Times of one build each, in seconds of ``clock``."""
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = clock()
        build(kind, type, table)
        times.append(clock() - start)
    return times


def copying(array: pa.Array, clock) -> float:
    """Seconds of a memcpy of as many bytes as the column has."""
    source = np.ones(max(array.nbytes, 1), np.uint8)
    target, times = np.zeros_like(source), []
    for _ in range(15):
        start = clock()
        np.copyto(target, source)
        times.append(clock() - start)
    return statistics.median(times)


def peak(kind: str, name: str, rows: int) -> float | None:
    """Memory of one build in a fresh process, as a multiple of the column; None where the system does not tell."""
    if not Path("/proc/self/clear_refs").exists():
        return None
    answer = subprocess.run([sys.executable, __file__, "--peak", kind, name, "--rows", str(rows)],
                            capture_output=True, text=True, check=True)
    return float(answer.stdout)


def print_peak(kind: str, name: str, rows: int) -> None:
    type, make = generators(rows)[name]
    array = make()
    table = pa.table({"c": array})
    build(kind, type, table.slice(0, 1000))                 # imports and first-use tables are not the build's
    Path("/proc/self/clear_refs").write_text("5")           # the high-water mark starts here
    before = _status("VmRSS")
    build(kind, type, table)
    print((_status("VmHWM") - before) / array.nbytes)


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only cases whose name holds one of these")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5, help="turns of both sides per case")
    parser.add_argument("--seconds", type=float, default=0.4, help="of each turn")
    parser.add_argument("--warm", type=float, default=3.0, help="seconds of warming Java up per case")
    parser.add_argument("--cpu", action="store_true", help="processor time instead of the clock")
    parser.add_argument("--no-java", action="store_true")
    parser.add_argument("--no-peak", action="store_true")
    parser.add_argument("--peak", nargs=2, metavar=("KIND", "COLUMN"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.peak:
        print_peak(*chosen.peak, chosen.rows)
        return
    made = generators(chosen.rows)
    cases = [case for case in CASES
             if not chosen.words or any(word in f"{case[0]} of {case[1]}" for word in chosen.words)]
    cases.sort(key=lambda case: list(made).index(case[1]))          # one column at a time on both sides
    if not chosen.no_java and missing():
        sys.exit(f"bench/build.py {missing()}; --no-java measures this library alone")
    java = None if chosen.no_java else Java(heap="6g")
    clock = time.process_time if chosen.cpu else time.perf_counter
    print(f"{'index and column':34} {'Java ms':>9} {'ours ms':>9} {'ratio':>8} {'promised':>8} {'x memcpy':>9} "
          f"{'memory':>7}")
    with tempfile.TemporaryDirectory() as folder:
        loaded, short = None, []
        for kind, name, promised in cases:
            type, make = made[name]
            if loaded != name:
                array = make()
                table, loaded = pa.table({"c": array}), name
                if java:
                    path = Path(folder, "column")
                    for_java(array, path)
                    answer = java.call(cmd="load", name=name, type=type, file=str(path))
                    assert "error" not in answer, answer
            if java:
                java.call(cmd="time", name=name, index=kind, seconds=chosen.warm, cpu=chosen.cpu)
            ours(kind, type, table, 0.1, clock)
            theirs, mine = [], []
            for _ in range(chosen.rounds):
                if java:
                    answer = java.call(cmd="time", name=name, index=kind, seconds=chosen.seconds, cpu=chosen.cpu)
                    theirs.append(answer["nanos"] / 1e9)
                mine.append(statistics.median(ours(kind, type, table, chosen.seconds, clock)))
            own = statistics.median(mine)
            other = statistics.median(theirs) if java else float("nan")
            memory = None if chosen.no_peak else peak(kind, name, chosen.rows)
            ratio = other / own
            print(f"{f'{kind} of {name}':34} {other * 1e3:9.2f} {own * 1e3:9.3f} {ratio:7.1f}x "
                  f"{f'{promised}x' if promised else '':>8} {own / copying(array, clock):9.1f} "
                  f"{'' if memory is None else f'{memory:6.2f}x':>7}", flush=True)
            if java and ratio < (promised or 1):
                short.append(f"{kind} of {name}: {ratio:.1f}x")
        if short:
            print("below what is promised:", "; ".join(short))
    if java:
        java.__exit__()


if __name__ == "__main__":
    main()
