"""Milvus binlogs: reading against pyarrow on the same Parquet payloads in plain files, and how fast files open.

    python bench/binlog.py                    every case, some two minutes
    python bench/binlog.py FloatVector        cases whose name holds one of the words
    python bench/binlog.py --rows 100000      other columns than of 500,000 rows

Both sides read files from the page cache, one thread, in turns; printed per case: the median CPU times of both and
pyarrow's as a percentage of ours (100 is the speed of pyarrow, the limit; the project promises 90). pyarrow gives
the stored column, we the column of the field's type, checked: vectors as lists, text as valid UTF-8. Where the type is
not the stored one (Array, SparseFloatVector) pyarrow has done only half of the work. Opening: one batch call over
small files in memory, descriptor and events walked, extras left alone; files a second on one core.
"""
from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.append(str(Path(__file__).resolve().parent.parent))
import paimon_fidx.binlog as bl  # noqa: E402

PROMISED = 90  # percent of pyarrow's speed
FILES = 100_000


def columns(rows: int) -> dict[str, tuple[str, pa.Array, bool]]:
    """name -> (data type, Arrow column, nullable)."""
    rng = np.random.default_rng(20261121)

    def vectors(item, dim, values):
        return pa.FixedSizeListArray.from_arrays(pa.array(values, item), dim)

    longs = rng.integers(-2**62, 2**62, rows)
    floats = rng.random(rows // 8 * 64, np.float32)
    few = rows // 20
    pairs = pa.StructArray.from_arrays([pa.array(rng.integers(0, 30_000, few * 40), pa.uint32()),
                                        pa.array(rng.random(few * 40, np.float32))], names=["index", "value"])
    return {
        "Int64 random": ("Int64", pa.array(longs), False),
        "Int64 sequence": ("Int64", pa.array(np.arange(rows)), False),
        "Int32 of 1000": ("Int32", pa.array(rng.integers(0, 1000, rows), pa.int32()), False),
        "Bool": ("Bool", pa.array(rng.random(rows) < 0.5), False),
        "Double nullable": ("Double", pa.array(rng.random(rows), mask=rng.random(rows) < 0.2), True),
        "VarChar": ("VarChar", pa.array([f"user-{each:09d}" for each in range(rows)]), False),
        "JSON": ("JSON", pa.array([b'{"a":%d}' % each for each in range(rows)], pa.binary()), False),
        "FloatVector 64": ("FloatVector", vectors(pa.float32(), 64, floats), False),
        "FloatVector 64 nullable": ("FloatVector", vectors(pa.float32(), 64, floats), True),
        "Int8Vector 128": ("Int8Vector", vectors(pa.int8(), 128, rng.integers(-128, 128, rows // 8 * 128)), False),
        "SparseFloatVector 40": ("SparseFloatVector", pa.ListArray.from_arrays(
            pa.array(np.arange(few + 1) * 40, pa.int32()), pairs), False),
        "Array of 20 Int32": ("Array", pa.ListArray.from_arrays(
            pa.array(np.arange(few + 1) * 20, pa.int32()),
            pa.array(rng.integers(0, 10**6, few * 20), pa.int32())), False),
    }


def on_cpu(ask) -> float:
    """Seconds of one core: other work on the machine then counts for little."""
    start = time.process_time()
    ask()
    return time.process_time() - start


def reading(name: str, data_type: str, column: pa.Array, nullable: bool, folder: Path, turns: int) -> None:
    file = bl.write_binlog(column, data_type, field_id=101, nullable=nullable)
    ours, plain = folder / "log", folder / "payload.parquet"
    ours.write_bytes(file)
    plain.write_bytes(memoryview(bl.open_binlog(file).payload()))

    def read_ours():
        with bl.open_binlog(ours) as binlog:
            return binlog.to_arrow()

    def read_plain():
        with pq.ParquetFile(plain) as file:  # its fastest way; read_table takes longer
            return file.read(use_threads=False)

    assert read_ours().num_rows == read_plain().num_rows == len(column)
    times = [(on_cpu(read_plain), on_cpu(read_ours)) for _ in range(turns)]
    theirs, own = (statistics.median(each) * 1000 for each in zip(*times))
    share = 100 * theirs / own
    note = "" if share >= PROMISED else f"   below the {PROMISED} promised"
    print(f"read {name:26} pyarrow {theirs:8.2f} ms   ours {own:8.2f} ms   {share:5.0f} %{note}", flush=True)


def opening(turns: int) -> None:
    small = bl.write_binlog(pa.array(range(16)), "Int64", field_id=100, collection_id=1, partition_id=2, segment_id=3)
    several = bl.write_binlog([pa.array(range(16))] * 4, "Int64", field_id=100)
    for name, file in (("one event", small), ("four events", several)):
        files = [bytes(bytearray(file)) for _ in range(FILES)]
        best = statistics.median(on_cpu(lambda: bl.open_binlogs(files)) for _ in range(turns))
        print(f"open {name:26} {FILES / best / 1e6:6.2f} M files/s   {best / FILES * 1e6:.2f} us a file", flush=True)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("names", nargs="*")
    words.add_argument("--rows", type=int, default=500_000)
    words.add_argument("--turns", type=int, default=9)
    asked = words.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, case in columns(asked.rows).items():
            if not asked.names or any(word in name for word in asked.names):
                reading(name, *case, Path(folder), asked.turns)
    if not asked.names or "open" in asked.names:
        opening(asked.turns)


if __name__ == "__main__":
    main()
