"""Runs mutants in child processes and tells which of them broke a promise, and how.

    python -m tests.hostile.run SEED COUNT [CORPUS_DIR]     # a longer hunt; failing inputs go to the corpus
"""
from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Iterable

import paimon_fidx
from tests.hostile.mutate import Mutant, mutants

BATCH = 400  # inputs per child
ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(paimon_fidx.__file__).resolve().parents[1]  # the child imports the same paimon_fidx


@dataclass
class Report:
    asked: int = 0
    answers: int = 0
    refusals: int = 0
    failures: list[tuple[Mutant, str]] = field(default_factory=list)


def run(inputs: Iterable[Mutant], report: Report | None = None) -> Report:
    """Ask all inputs, a batch per child. A crashed child loses only the input that crashed it."""
    report = report or Report()
    inputs = iter(inputs)
    while batch := list(islice(inputs, BATCH)):
        while batch:
            batch = batch[_one_child(batch, report) :]
    return report


def _one_child(batch: list[Mutant], report: Report) -> int:
    """How many inputs of the batch are done with."""
    code = f"import sys; sys.path[:0] = [{str(PACKAGE)!r}]; sys.path.append({str(ROOT)!r}); " \
           "from tests.hostile.child import main; main()"
    child = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(batch), capture_output=True)
    current = -1
    for line in child.stdout.decode().splitlines():
        kind, _, rest = line.partition(" ")
        if kind == ">":
            current = int(rest)
            report.asked += 1
        elif kind == "!":
            number, _, what = rest.partition(" ")
            report.failures.append((batch[int(number)], what))
        else:
            totals = json.loads(rest)
            report.answers += totals["answers"]
            report.refusals += totals["refusals"]
            return len(batch)
    if current < 0:
        raise RuntimeError(f"the child did not start: {child.stderr.decode()[-2000:]}")
    ended = signal.Signals(-child.returncode).name if child.returncode < 0 else f"exit {child.returncode}"
    report.failures.append((batch[current], f"{ended} {child.stderr.decode()[:700]}"))
    return current + 1


if __name__ == "__main__":
    from tests.corpus import corpus

    found = run(mutants(int(sys.argv[1]), int(sys.argv[2])))
    print(f"{found.asked} inputs, {found.answers} answers, {found.refusals} refusals, {len(found.failures)} failures")
    for mutant, what in found.failures:
        print(f"  {mutant.label} [{mutant.shape}, row_count {mutant.row_count}]: {what}")
        if len(sys.argv) > 3:
            corpus.add(mutant, what, Path(sys.argv[3]))
