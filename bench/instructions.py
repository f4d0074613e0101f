"""Instructions that evaluations take, counted by valgrind: a regression check that a busy machine cannot move.

    python bench/instructions.py                    counts, and compares with instructions.json
    python bench/instructions.py --record           writes instructions.json
    python bench/instructions.py --profile NAME     the functions that cost most in one workload

Fails (exit status 1) when a workload takes over 5 % more instructions than recorded: then either the change is
undone, or the same commit records what it costs. Workloads that became cheaper are named too: record them, so that the
gain is kept. Counts depend on the interpreter and the compiler; a file holds those of one environment.

The files are built first, outside valgrind, at 1M rows; then one process under callgrind asks every question once to
warm up and once to be counted. Counting is on inside ffi_call alone: the question is a callback of a C function that is
called through ctypes.
"""
from __future__ import annotations

import argparse
import ctypes
import json
import os
import pickle
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASELINE = Path(__file__).with_suffix(".json")
TOLERANCE = 0.05
ROWS, BLOOM_FILES = 1_000_000, 1_000


def environment() -> str:
    """What the counts depend on."""
    compiler = re.sub(r"^(\w+) (\d+).*", r"\1 \2", platform.python_compiler())
    return f"{platform.machine()}, CPython {platform.python_version_tuple()[0]}.{platform.python_version_tuple()[1]}, {compiler}"


def unavailable() -> str | None:
    """Why nothing can be counted or compared here, or None."""
    if shutil.which("valgrind") is None:
        return "needs valgrind"
    recorded = json.loads(BASELINE.read_text())["environment"]
    return None if recorded == environment() else f"was recorded with {recorded}; this is {environment()}"


# ---- in the counted process: nothing is imported that the questions do not need

def ask_all(folder: Path) -> None:
    """Runs every workload of ``folder`` once uncounted and once counted."""
    from paimon_fidx import evaluate_many, open_index
    from paimon_fidx.types import parse_schema

    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    search = ctypes.CDLL(None).bsearch
    search.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, compare]
    for workload in pickle.loads((folder / "workloads").read_bytes()):
        schema = parse_schema(workload["schema"])
        files = [(folder / name).read_bytes() for name in workload["files"]]
        predicate, top, way = workload["predicate"], workload["top"], workload["way"]
        file = open_index(files[0], schema)

        def ask(*_):
            if way == "many":
                evaluate_many(files, schema, predicate, threads=1)
            else:
                source = file if way == "open" else open_index(files[0], schema)
                source.top_n("c", top, where=predicate) if top else source.evaluate(predicate)
            return 0
        ask()
        ask()
        search(b"0", b"0", 1, 1, compare(ask))


# ---- around it

def workloads(folder: Path) -> list[str]:
    """Builds the files and writes down what to ask; returns the workloads' names."""
    import numpy as np
    import pyarrow as pa

    from bench.columns import SEED
    from bench.questions import c, questions
    from paimon_fidx import build_index

    found, built = [], {}
    for question in questions(ROWS):
        file = question.file
        if file.name not in built:
            built[file.name] = (f"file{len(built)}", file.build(ROWS).schema)
            (folder / built[file.name][0]).write_bytes(file.data)
        path, schema = built[file.name]
        found += [{"name": f"{question.name}, {title}", "files": [path], "schema": schema, "top": question.top,
                   "predicate": question.predicate, "way": way} for way, title in (("bytes", "from bytes"), ("open", "open"))]
    rng = np.random.default_rng(SEED)
    names = [f"bloom{i}" for i in range(BLOOM_FILES)]
    for name in names:
        keys = pa.table({"c": rng.integers(-2**31, 2**31, 1000).astype(np.int32)})
        (folder / name).write_bytes(build_index(keys, {"file-index.bloom-filter.columns": "c",
                                                       "file-index.bloom-filter.c.items": "1000"}))
    found.append({"name": f"{BLOOM_FILES:,} Bloom files, evaluate_many", "files": names, "schema": {"c": "INT"}, "top": None,
                  "predicate": c == 123_456_789, "way": "many"})
    (folder / "workloads").write_bytes(pickle.dumps(found))
    return [workload["name"] for workload in found]


def counted(folder: Path) -> dict[str, tuple[int, Path]]:
    """workload -> (instructions, its callgrind profile)."""
    names = workloads(folder)
    command = ["valgrind", "-q", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=ffi_call",
               "--dump-after=ffi_call", f"--callgrind-out-file={folder / 'profile'}",
               sys.executable, str(Path(__file__).resolve()), "--ask", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "0"})
    if done.returncode:
        raise RuntimeError(f"valgrind ended with {done.returncode}: {(done.stderr + done.stdout)[-2000:]}")
    found = {}
    for i, name in enumerate(names, 1):
        path = folder / f"profile.{i}"
        found[name] = (int(re.search(r"^(?:summary|totals): (\d+)", path.read_text(), re.M)[1]), path)
    return found


def costs(profile: str) -> list[tuple[int, str]]:
    """(instructions of the function itself, its name), the dearest first, of a callgrind profile.

    callgrind_annotate gives the whole of such a partial profile to main.
    """
    names, found, function, call = {}, {}, None, False
    for line in profile.splitlines():
        key, equals, rest = line.partition("=")
        if equals and key in ("fn", "cfn", "ob", "cob"):
            number, _, name = rest.partition(" ")
            kind = key[-2:]
            names.setdefault((kind, number), name)
            if key == "ob":
                library = Path(names[kind, number]).name.partition(".")[0]
            elif key == "fn":
                function = f"{library}: {names[kind, number]}"
        elif key == "calls":
            call = True                              # the next line is what the called function cost
        elif line[:1] in "+-*0123456789" and line:
            if not call:
                found[function] = found.get(function, 0) + int(line.split()[1])
            call = False
    return sorted(((count, name) for name, count in found.items()), reverse=True)


def compare(counts: dict[str, int], recorded: dict[str, int]) -> tuple[list[str], list[str]]:
    """(what is wrong, what became cheaper), a sentence each.

    Example
    -------
    >>> compare({"a": 106, "b": 90}, {"a": 100, "b": 100})
    (['a: 106 instructions, 6.0 % more than the 100 recorded'], ['b: 90 instructions, 10.0 % fewer than the 100 recorded'])
    """
    worse, better = [], []
    for name in sorted({*counts, *recorded}):
        if name not in recorded:
            worse.append(f"{name}: not recorded")
        elif name not in counts:
            worse.append(f"{name}: recorded, but no workload")
        else:
            now, before = counts[name], recorded[name]
            change = f"{abs(now / before - 1):.1%}".replace("%", " %")
            if now > before * (1 + TOLERANCE):
                worse.append(f"{name}: {now:,} instructions, {change} more than the {before:,} recorded")
            elif now < before * (1 - TOLERANCE):
                better.append(f"{name}: {now:,} instructions, {change} fewer than the {before:,} recorded")
    return worse, better


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--profile", metavar="NAME")
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.ask:
        ask_all(chosen.ask)
        return 0
    reason = unavailable() if not (chosen.record or chosen.profile) else None
    if reason:
        print(f"bench/instructions.py {reason}")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        found = counted(Path(folder))
        if chosen.profile:
            for name, (count, path) in found.items():
                if chosen.profile in name:
                    print(f"\n=== {name}: {count:,}", flush=True)
                    for cost, function in costs(path.read_text())[:40]:
                        print(f"{cost:>12,}  {function}")
            return 0
    counts = {name: count for name, (count, _) in found.items()}
    if chosen.record:
        BASELINE.write_text(json.dumps({"environment": environment(), "instructions": counts}, indent=1) + "\n")
        return 0
    worse, better = compare(counts, json.loads(BASELINE.read_text())["instructions"])
    print("\n".join(f"{count:>12,}  {name}" for name, count in counts.items()))
    print("\n".join(["", *worse, *better]))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.path.append(str(ROOT))
    sys.exit(main())
