"""Whole tables: this package against pypaimon, pypaimon_rust (with and without indexes) and Java, in one run.

    python bench/table.py                                 two tables of 10M rows, made on first use; some minutes
    python bench/table.py --rows 1000000 point string     smaller, only queries whose name holds one of the words
    python bench/table.py --folder DIR --no-java          where the tables are kept; without Java
    python bench/table.py --latency 20                    also over a file system that adds 20 ms to every request

``wide`` has 20 files, ``deep`` 50; both have a sorted, a shuffled, a skewed and two string columns and an index file of
some MB beside each data file. Every contender plans and reads from an open table; its rows and their ids must be those
of the others, or the run ends. Printed: median milliseconds of each, and ours against the fastest other one.
"""
from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pypaimon import CatalogFactory, Schema

sys.path.append(str(Path(__file__).resolve().parent.parent))
import paimon_fidx.pypaimon as fp  # noqa: E402
from bench.remote import counted_table  # noqa: E402
from bench.turns import in_turns, repeated  # noqa: E402
from paimon_fidx.predicate import And, Leaf, col  # noqa: E402
from paimon_fidx.table import open_table  # noqa: E402
from tests.interop.java import Java, missing  # noqa: E402

SCHEMA = pa.schema([("id", pa.int64()), ("rnd", pa.int64()), ("skew", pa.int32()), ("name", pa.string()),
                    ("cat", pa.string()), ("note", pa.string())])
INDEXES = {"file-index.bitmap.columns": "cat,skew", "file-index.bsi.columns": "id", "file-index.range-bitmap.columns":
           "rnd,name"}
FILES = {"wide": 20, "deep": 50}
SEED = 7
MOST = 2_000_000_000      # rnd is even and below: odd numbers are in no file


def columns(file: int, rows: int) -> pa.Table:
    """One file: id sorted through the table, rnd shuffled, skew a few values often, name one of 100,000."""
    rng = np.random.default_rng([SEED, file])
    skew = np.minimum(rng.zipf(1.5, rows), 1000).astype(np.int32)
    return pa.table({
        "id": np.arange(file * rows, (file + 1) * rows), "rnd": rng.integers(0, MOST // 2, rows) * 2, "skew": skew,
        "name": [f"name-{i:06}" for i in rng.integers(0, 100_000, rows).tolist()],
        "cat": [f"c{i}" for i in rng.integers(0, 1000, rows).tolist()],
        "note": [f"{i:x}" for i in rng.integers(0, 1 << 40, rows).tolist()],
    }, SCHEMA)


def make(folder: Path, name: str, rows: int) -> None:
    """The table ``name`` with indexes, and ``name_plain`` without, under one warehouse."""
    if (folder / "bench.db" / name / "ready").exists():
        return
    shutil.rmtree(folder / "bench.db" / name, ignore_errors=True)
    shutil.rmtree(folder / "bench.db" / f"{name}_plain", ignore_errors=True)
    catalog = CatalogFactory.create({"warehouse": str(folder)})
    catalog.create_database("bench", True)
    options = {"bucket": "-1", "file.format": "parquet", "metadata.stats-mode": "none"}
    catalog.create_table(f"bench.{name}_plain", Schema.from_pyarrow_schema(SCHEMA, options=options), True)
    table, files = catalog.get_table(f"bench.{name}_plain"), FILES[name]
    for file in range(files):
        builder = table.new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(columns(file, rows // files))
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()
    shutil.copytree(folder / "bench.db" / f"{name}_plain", folder / "bench.db" / name)
    start = time.perf_counter()
    result = open_table(folder / "bench.db" / name).rewrite_index(INDEXES)
    print(f"{name}: {files} files indexed in {time.perf_counter() - start:.1f} s, "
          f"{result.index_bytes / files / 1e6:.1f} MB of index each")
    (folder / "bench.db" / name / "ready").touch()


def queries(table: str, rows: int, words=()) -> dict[str, list[tuple]]:
    """name -> leaves (column, operator, literals), all of which hold; of those whose name has one of the words"""
    some = columns(3, rows // FILES[table])
    known, name = some["rnd"][17].as_py(), some["name"][99].as_py()
    half = rows // 2
    found = {
        "point, shuffled": [("rnd", "=", (known,))],
        "point, sorted": [("id", "=", (half + 7,))],
        "range, clustered": [("id", "between", (half, half + 999))],
        "range, shuffled": [("rnd", "between", (known, known + MOST // 10_000))],
        "string": [("name", "=", (name,))],
        "conjunction": [("cat", "=", ("c7",)), ("skew", "=", (3,))],
        "scattered": [("cat", "=", ("c7",))],
        "none matching": [("rnd", "=", (known + 1,))],
    }
    return {name: leaves for name, leaves in found.items() if not words or any(word in name for word in words)}


# ---- contenders: each a function of the leaves that gives the sorted ids

OURS = ("ours", "count, ours", "pypaimon, pruned", "rust, pruned")  # all of them prune with this package
PAIMON = {"=": "equal", "between": "between"}
JAVA = {"=": "EQUAL", "between": "BETWEEN"}


def ours(leaves) -> And | Leaf:
    found = [Leaf(col(column), op, literals) for column, op, literals in leaves]
    return found[0] if len(found) == 1 else And(found)


def of_pypaimon(table, leaves):
    build = table.new_read_builder().new_predicate_builder()
    return build.and_predicates([getattr(build, PAIMON[op])(column, *literals) for column, op, literals in leaves])


def pypaimon_read(table, where, prune=False) -> pa.Table:
    builder = table.new_read_builder().with_filter(where)
    splits = builder.new_scan().plan().splits()
    return builder.new_read().to_arrow(fp.prune(table, splits, where) if prune else splits)


def rust_read(table, leaves) -> pa.Table:
    parts = [{"method": PAIMON[op], "field": column, "literals": list(literals)} for column, op, literals in leaves]
    where = parts[0] if len(parts) == 1 else {"method": "and", "children": parts}
    builder = table.new_read_builder().with_filter(where)
    batches = builder.new_read().read(builder.new_scan().plan().splits())
    return pa.Table.from_batches([pa.record_batch(b) for b in batches], None if batches else SCHEMA)


def contenders(folder: Path, name: str) -> dict:
    """name -> function of the leaves that reads the rows"""
    table = open_table(folder / "bench.db" / name)
    plain = open_table(folder / "bench.db" / f"{name}_plain").pypaimon
    found = {
        "ours": lambda leaves: table.scan(ours(leaves)).to_arrow(),
        "pypaimon": lambda leaves: pypaimon_read(plain, of_pypaimon(plain, leaves)),
        "pypaimon, pruned": lambda leaves: pypaimon_read(table.pypaimon, of_pypaimon(table.pypaimon, leaves), True),
    }
    try:
        from pypaimon_rust.datafusion import PaimonCatalog
    except ModuleNotFoundError:
        return found
    catalog = PaimonCatalog({"warehouse": str(folder), "metastore": "filesystem"})
    with_index, without = catalog.get_table(f"bench.{name}"), catalog.get_table(f"bench.{name}_plain")
    found["rust, indexes"] = lambda leaves: rust_read(with_index, leaves)
    found["rust, pruned"] = lambda leaves: fp.read_native(table.pypaimon, fp.prune(
        table.pypaimon, table.pypaimon.new_read_builder().new_scan().plan().splits(), ours(leaves)))
    found["rust, plain"] = lambda leaves: rust_read(without, leaves)
    return found


def matching(result: pa.Table, leaves) -> list[int]:
    """The ids of the rows that match: others give supersets, which a user would filter."""
    import pyarrow.compute as pc
    for column, op, literals in leaves:
        values = result.column(column)
        keep = pc.equal(values, literals[0]) if op == "=" else \
            pc.and_(pc.greater_equal(values, literals[0]), pc.less_equal(values, literals[1]))
        result = result.filter(keep)
    return sorted(result.column("id").to_pylist())


def java_turn(java, path, leaves):
    """A contender for in_turns."""
    where = [{"column": column, "op": JAVA[op], "literals": list(literals)} for column, op, literals in leaves]

    def run(seconds):
        answer = java.call(cmd="scan", path=str(path), where=where, seconds=seconds)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        run.rows = answer["rows"]
        return answer["nanos"] / 1e9
    return run


def compare(folder, name, asked, java, rounds, seconds) -> None:
    readers, heads = contenders(folder, name), False
    for query, leaves in asked.items():
        answers, failed = {}, {}
        for who, read in readers.items():
            try:
                answers[who] = matching(read(leaves), leaves)
            except Exception as error:  # a peer that cannot answer is named, and left out
                if who == "ours":
                    raise
                failed[who] = f"{type(error).__name__}: {error}"[:60]
        for who, ids in answers.items():
            if ids != answers["ours"]:
                raise SystemExit(f"{name}, {query}: {who} finds {len(ids)} rows, this package {len(answers['ours'])}")
        turns = {who: repeated(lambda read=read: read(leaves)) for who, read in readers.items() if who in answers}
        table = open_table(folder / "bench.db" / name)
        turns["count, ours"] = repeated(lambda: table.scan(ours(leaves)).count())
        if java is not None:
            turns["Java"] = java_turn(java, folder / "bench.db" / name, leaves)
        times = in_turns(turns, rounds, seconds)
        if java is not None and turns["Java"].rows != len(answers["ours"]):
            raise SystemExit(f"{name}, {query}: Java finds {turns['Java'].rows} rows")
        assert table.scan(ours(leaves)).count() == len(answers["ours"])
        others = {who: t for who, t in times.items() if who not in OURS}
        if not heads:
            heads = True
            print(f"\n{name:18}{'rows':>9}" + "".join(f"{who:>18}" for who in times)
                  + "   faster than the best, than pypaimon")
        print(f"{query:18}{len(answers['ours']):9,}" + "".join(f"{t * 1e3:15.1f} ms" for t in times.values())
              + f"   {min(others.values()) / times['ours']:6.1f}x {others['pypaimon'] / times['ours']:6.1f}x"
              + "".join(f"   {who}: {why}" for who, why in failed.items()))


def pruning(folder, name, asked) -> None:
    """From the finished plan to the pruned plan, and what of the indexes was read."""
    path = folder / "bench.db" / name
    total = sum(p.stat().st_size for p in path.rglob("*.index"))
    print(f"\n{name}: from the plan to the pruned plan")
    for query, leaves in asked.items():
        best, scan = None, None
        for _ in range(5):
            scan = open_table(path).scan(ours(leaves))
            files = len(scan.splits())
            start = time.perf_counter()
            _ = scan.files
            taken = time.perf_counter() - start
            best = taken if best is None else min(best, taken)
        stats = scan.stats
        print(f"  {query:18}{best * 1e3:8.1f} ms  {files} files, {stats.index_requests / max(1, files):.1f} requests a "
              f"file, {100 * stats.index_bytes / max(1, total):.2f} % of the index bytes")


def top_n(folder, name, rounds, seconds) -> None:
    """The 10 largest rnd: by the indexes, and by sorting what pypaimon reads."""
    table, plain = open_table(folder / "bench.db" / name), open_table(folder / "bench.db" / f"{name}_plain").pypaimon

    def sort():
        builder = plain.new_read_builder()
        rows = builder.new_read().to_arrow(builder.new_scan().plan().splits())
        return rows.sort_by([("rnd", "descending")]).slice(0, 10)

    def by_index():
        return table.scan(top_n=("rnd", 10, True)).to_arrow()

    assert sorted(by_index()["rnd"].to_pylist()) == sorted(sort()["rnd"].to_pylist())
    times = in_turns({"ours": repeated(by_index), "pypaimon": repeated(sort)}, rounds, seconds)
    print(f"{'top 10 of rnd':18}{10:9}" + "".join(f"   {who} {t * 1e3:.1f} ms" for who, t in times.items())
          + f"   {times['pypaimon'] / times['ours']:.1f}x")


def remote(folder, name, asked, milliseconds) -> None:
    """The same over a file system that adds latency to each request and counts them."""
    print(f"\n{name}, {milliseconds} ms a request")
    for query, leaves in asked.items():
        table, meter = counted_table(str(folder / "bench.db" / name), milliseconds / 1e3)
        scan = open_table(table).scan(ours(leaves), threads=64)
        taken, requests = [], []
        for step in (scan.splits, lambda: scan.files, scan.to_arrow):
            meter.reset()
            start = time.perf_counter()
            step()
            taken.append(time.perf_counter() - start)
            requests.append(meter.requests)
        print(f"  {query:18}" + "".join(f"   {what} {t * 1e3:.0f} ms, {n} requests" for what, t, n in
                                       zip(("plan", "prune", "read"), taken, requests)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only queries whose name holds one of these")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, help="where the tables are kept; a temporary folder by default")
    parser.add_argument("--tables", nargs="*", choices=FILES, default=list(FILES))
    parser.add_argument("--no-java", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of one turn")
    parser.add_argument("--latency", type=float, help="milliseconds")
    given = parser.parse_args()
    java = None if given.no_java or missing() else Java(heap="2g")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.folder or Path(temporary)).resolve() / f"rows-{given.rows}"
        folder.mkdir(parents=True, exist_ok=True)
        for name in given.tables:
            make(folder, name, given.rows)
            asked = queries(name, given.rows, given.words)
            compare(folder, name, asked, java, given.rounds, given.seconds)
            if not given.words or "top" in given.words:
                top_n(folder, name, given.rounds, given.seconds)
            pruning(folder, name, asked)
            if given.latency:
                remote(folder, name, asked, given.latency)
    if java is not None:
        java.__exit__()


if __name__ == "__main__":
    main()
