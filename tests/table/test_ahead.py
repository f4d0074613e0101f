"""Work ahead: in order, bounded, and stopped when nobody takes the results."""
from __future__ import annotations

import threading

import pytest

from paimon_fidx.table.ahead import BATCHES_AHEAD, chain_ahead, map_ahead


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_order(threads, count):
    assert list(map_ahead(lambda x: x * x, range(count), threads)) == [x * x for x in range(count)]
    assert list(chain_ahead(range, range(count), threads)) == [x for n in range(count) for x in range(n)]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_comes_where_its_element_would(threads):
    def generate(item):
        yield item
        if item == 2:
            raise OSError("gone")

    taken = []
    with pytest.raises(OSError, match="gone"):
        for element in chain_ahead(generate, range(5), threads):
            taken.append(element)
    assert taken == [0, 1, 2]
    with pytest.raises(ZeroDivisionError):
        list(map_ahead(lambda x: 1 // x, [1, 0, 1], threads))


def test_not_far_ahead():
    made, lock = [], threading.Lock()

    def generate(item):
        for i in range(1000):
            with lock:
                made.append(item)
            yield i

    stream = chain_ahead(generate, range(10), 2)
    next(stream)
    stream.close()  # waits for its threads
    assert len(made) <= 2 * (BATCHES_AHEAD + 2)


def test_two_items_are_worked_on_at_once():
    both = threading.Barrier(2, timeout=10)

    def generate(item):
        both.wait()
        yield item

    assert list(chain_ahead(generate, [1, 2], 2)) == [1, 2]
