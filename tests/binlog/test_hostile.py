"""Damaged Milvus files give rows or FileIndexError, nothing else: no crash, no hang, no large allocation.

20,000 mutants and every truncation of twenty samples; ``PAIMON_FIDX_MUTANTS=1000000`` asks so many. What fails goes to
tests/binlog/corpus (``python -m tests.binlog.hostile SEED COUNT tests/binlog/corpus``).
"""
from __future__ import annotations

import os

import pytest

import paimon_fidx.binlog as bl
from paimon_fidx.errors import FileIndexError
from tests.binlog import hostile, samples

COUNT = int(os.environ.get("PAIMON_FIDX_MUTANTS", 20_000))
SEED, PARTS = 20261121, 5
CUT = [each for each in samples.binlogs() if len(samples.data(each)) < 800]
CUT = CUT[:: max(1, len(CUT) // 20)][:20]


@pytest.mark.parametrize("part", range(PARTS))
def test_mutants(part, facts):
    report = hostile.run(SEED + part, COUNT // PARTS)
    facts["Milvus mutants"] += report.asked
    assert not report.failures, "\n".join(what for _, what in report.failures[:20])
    assert report.asked == COUNT // PARTS
    assert min(report.answers, report.refusals) > report.asked // 2  # neither side is there by accident


@pytest.mark.parametrize("entry", CUT, ids=samples.ids)
def test_truncated_at_every_byte(entry, facts):
    """A shorter file is refused, unless it ends between two events: then it has the events before."""
    whole = samples.data(entry)
    ends = {event.offset for event in bl.open_binlog(whole).events}
    for at in range(len(whole)):
        facts["Milvus truncations"] += 1
        if at in ends:
            assert len(bl.open_binlog(whole[:at]).events) < len(bl.open_binlog(whole).events)
            continue
        with pytest.raises(FileIndexError) as caught:
            bl.open_binlog(whole[:at]).to_arrow()
        assert caught.value.offset is None or caught.value.offset <= at


@pytest.mark.parametrize("part", ["root/BasicBloomFilter", "root/BlockedBloomFilter", "bm25_stats"])
def test_truncated_statistics(part):
    for name, data in samples.files().items():
        if part in name:
            opened = bl.open_bm25_stats if "bm25" in part else bl.open_pk_stats
            opened(data)
            for at in range(len(data)):
                if "bm25" in part and at >= 20 and (at - 20) % 8 == 0:
                    continue  # the format cannot tell: it has no count of pairs
                with pytest.raises(FileIndexError):
                    opened(data[:at])


@pytest.mark.parametrize("path", sorted(hostile.CORPUS.glob("*.*")), ids=lambda path: path.name)
@pytest.mark.parametrize("shape", range(4))
def test_corpus(path, shape):
    hostile.ask(path.suffix[1:], path.read_bytes(), shape)


def test_the_same_seed_gives_the_same_mutants():
    assert [hostile.mutant(1, i) for i in range(40)] == [hostile.mutant(1, i) for i in range(40)]
    assert len({hostile.mutant(1, i)[2] for i in range(200)}) > 150
