"""Several threads, each with its own open file over the same bytes, give what one thread gives."""
from __future__ import annotations

import random
import threading

import pytest

import paimon_fidx as fidx
from tests.golden import data

from . import made
from .segment import C, opened

KEYS = [None if row % 31 == 0 else random.Random(row).randrange(200) for row in range(100_000)]
QUESTIONS = [C == 5, C < 100, C.between(20, 60), C != 7, C.is_null(), C.is_in([1, 50, 199])]


@pytest.mark.parametrize("index", ["bitmap", "bsi", "range-bitmap"])
def test_threads_do_not_disturb_each_other(index):
    build = {"bitmap": made.bitmap, "bsi": made.bsi, "range-bitmap": made.range_bitmap}[index]
    body = build("INT", KEYS)
    alone = [opened(index, "INT", body).evaluate(question) for question in QUESTIONS]
    best = opened(index, "INT", body).top_n("c", 100, ties=True)
    wrong = []

    def ask(number):
        reader = opened(index, "INT", body)
        for turn in range(6):
            at = (number + turn) % len(QUESTIONS)
            if reader.evaluate(QUESTIONS[at]) != alone[at]:
                wrong.append((number, QUESTIONS[at]))
            if reader.top_n("c", 100, ties=True) != best:
                wrong.append((number, "top_n"))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_many_files_report_the_first_damaged_one(tmp_path):
    whole = data.wrap("c", "bsi", made.bsi("INT", KEYS[:500]))
    paths = []
    for number in range(40):
        paths.append(tmp_path / f"{number:02}.index")
        paths[-1].write_bytes(whole[:-5] if number in (17, 30) else whole)
    with pytest.raises(fidx.FileIndexError, match="17.index"):
        fidx.evaluate_many(paths, {"c": "INT"}, C == 5, threads=4)
    good = fidx.evaluate_many(paths[:17], {"c": "INT"}, C == 5, threads=4)
    assert good == [opened("bsi", "INT", made.bsi("INT", KEYS[:500])).evaluate(C == 5)] * 17
