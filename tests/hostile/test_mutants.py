"""Damaged files give rows in range or FileIndexError, and nothing else: no crash, no hang, no other exception.

20,000 mutants in child processes, every truncation of small files, sources that fail. ``python -m tests.hostile.run``
hunts longer; what it finds goes to tests/corpus.
"""
from __future__ import annotations

from itertools import islice

import pytest

from tests.golden import data
from tests.hostile.mutate import Mutant, mutants
from tests.hostile.run import run

COUNT, SEED, PARTS = 20_000, 20261121, 10


def explain(report):
    lines = [f"{mutant.label} [{mutant.shape}, row_count {mutant.row_count}]: {what}" for mutant, what in report.failures]
    return "\n".join([f"{len(lines)} of {report.asked} broke a promise", *lines[:20]])


@pytest.mark.parametrize("part", range(PARTS))
def test_mutants(part, facts):
    report = run(mutants(SEED + part, COUNT // PARTS))
    facts["mutants"] += report.asked
    facts["mutants: questions answered"] += report.answers
    facts["mutants: questions refused"] += report.refusals
    assert not report.failures, explain(report)
    assert report.asked == COUNT // PARTS
    assert report.answers > report.asked and report.refusals > report.asked  # neither side is there by accident


def small_cases(index):
    """One case for each type that is small and has several kinds of rows."""
    by_type = {}
    for case in data.cases(index):
        if case.body is not None and len(case.body) <= 700 and case.shape in ("low_card", "specials", "unique", "one_value"):
            if case.type not in by_type or len(case.body) > len(by_type[case.type].body):
                by_type[case.type] = case
    return list(by_type.values())


@pytest.mark.parametrize("index", ["bitmap", "bsi", "range-bitmap", "bloom-filter"])
def test_truncated_at_every_byte(index, facts):
    inputs = []
    for case in small_cases(index)[:3]:
        whole = case.container()
        asked = [("c", each["op"], each["literals"]) for each in case.expect if each["op"] != "TOP_N"]
        asked = asked[:: max(1, len(asked) // 8)]
        inputs += [Mutant(f"{case.name} cut at {at}", whole[:at], {"c": case.type}, case.row_count, asked)
                   for at in range(len(whole))]
    report = run(inputs)
    facts["truncations"] += report.asked
    assert not report.failures, explain(report)
    assert report.asked == len(inputs)


def test_the_same_seed_gives_the_same_mutants():
    first, again = (list(islice(mutants(5, 50), 50)) for _ in range(2))
    assert first == again
    assert len({each.payload for each in first}) > 40
