"""Work on several items at once, results in the items' order, and never far ahead of who takes them."""
from __future__ import annotations

import queue
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor

__all__ = ["chain_ahead", "map_ahead"]

BATCHES_AHEAD = 4  # of each item that is being read
POLL_SECONDS = 0.1  # how often a reader that waits looks whether it is still wanted
DONE = object()


def map_ahead(work, items, threads: int):
    """``work`` of each item, in order, as an iterator; at most ``2 * threads`` results wait to be taken.

    >>> list(map_ahead(abs, [-1, 2, -3], 2))
    [1, 2, 3]
    """
    items = list(items)
    if threads == 1 or len(items) < 2:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        pending = deque()
        try:
            for item in items:
                pending.append(pool.submit(work, item))
                if len(pending) > 2 * threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def chain_ahead(generate, items, threads: int):
    """The elements of ``generate(item)`` for each item, in order; ``threads`` items are read at once, each only a few
    elements ahead. An error is raised where its element would have come.

    >>> list(chain_ahead(range, [2, 3], 2))
    [0, 1, 0, 1, 2]
    """
    items = list(items)
    if threads == 1 or len(items) < 2:
        for item in items:
            yield from generate(item)
        return
    stopped = threading.Event()
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        pending, rest = deque(), iter(items)

        def start():
            for item in rest:
                results = queue.Queue(BATCHES_AHEAD)
                pool.submit(_fill, results, generate, item, stopped)
                pending.append(results)
                return

        try:
            for _ in range(threads):
                start()
            while pending:
                yield from _drain(pending.popleft())
                start()
        finally:
            stopped.set()


def _fill(results, generate, item, stopped) -> None:
    """What one thread does: the elements of one item, then DONE or the error, into a queue."""
    try:
        for element in generate(item):
            if not _put(results, (element, None), stopped):
                return
        _put(results, (DONE, None), stopped)
    except BaseException as error:  # handed to who takes the elements
        _put(results, (DONE, error), stopped)


def _put(results, entry, stopped) -> bool:
    while not stopped.is_set():
        try:
            results.put(entry, timeout=POLL_SECONDS)
            return True
        except queue.Full:
            continue
    return False


def _drain(results):
    while True:
        element, error = results.get()
        if error is not None:
            raise error
        if element is DONE:
            return
        yield element
