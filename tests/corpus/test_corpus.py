"""Inputs that once broke a promise do not break it again."""
from __future__ import annotations

from tests.corpus import corpus
from tests.hostile.run import run


def test_every_input_that_ever_failed(facts):
    inputs = [corpus.load(path) for path in corpus.paths()]
    report = run(inputs)
    facts["inputs of the corpus"] += report.asked
    assert report.asked == len(inputs)
    assert not report.failures, "\n".join(f"{mutant.label}: {what}" for mutant, what in report.failures[:20])
