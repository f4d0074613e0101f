"""Every question of the measurements has one answer, whoever gives it."""
from __future__ import annotations

import pytest
from pyroaring import BitMap

from bench.evaluate import Sides, below, cells
from bench.peers import stored_len
from bench.questions import questions
from bench.turns import in_turns, repeated

ROWS = 70_000                  # two chunks
QUESTIONS = questions(ROWS)


@pytest.mark.parametrize("question", QUESTIONS, ids=[question.name for question in QUESTIONS])
def test_all_sides_agree(question):
    """This library and pyroaring, from bytes and open, against numpy."""
    question.file.build(ROWS)
    Sides(question, None).check()


@pytest.mark.parametrize("rows", [[], [5], range(5000), [*range(0, 200_000, 3)], [1, 2, 3, 70_000], range(10, 300_000)],
                         ids=["none", "one", "run", "bitsets", "arrays", "runs"])
@pytest.mark.parametrize("optimize", [False, True])
def test_stored_len(rows, optimize):
    bitmap = BitMap(rows)
    if optimize:
        bitmap.run_optimize()
    data = bitmap.serialize()
    assert stored_len(b"head" + data + b"tail", 4) == len(data)


def test_a_row_of_the_table():
    figures = {"name": "q", "ours_bytes": 1e-6, "ours_open": 2e-6, "java_bytes": 3e-6, "java_open": 2e-6,
               "from_bytes_bar": 2, "opened_bar": 1.5}
    assert cells(figures) == ["q", "1.0", "2.0", "", "", "3.0 = 3.0× (≥ 2)", "2.0 = 1.00× (**below 1.5**)", "", ""]
    assert below(figures) == ["q: 1.00× of opened, not 1.5×"]


def test_turns():
    """Each contender has a turn to warm up and one a round, in order."""
    order = []
    times = iter(range(100))

    def contender(name):
        return lambda seconds: order.append(name) or next(times)

    assert in_turns({"a": contender("a"), "b": contender("b")}, rounds=3, seconds=0) == {"a": 4, "b": 5}
    assert order == ["a", "b"] * 4
    assert repeated(lambda: None)(0) >= 0
