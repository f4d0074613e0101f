"""Several contenders measured in turns, so that what the machine does meanwhile meets all of them."""
from __future__ import annotations

import statistics
import time
from typing import Callable


def repeated(call: Callable[[], object]) -> Callable[[float], float]:
    """A contender out of a function: runs it for so many seconds (three times at least), returns the median seconds."""
    def run(seconds: float) -> float:
        times, end = [], time.perf_counter() + seconds
        while time.perf_counter() < end or len(times) < 3:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return statistics.median(times)
    return run


def in_turns(contenders: dict[str, Callable[[float], float]], rounds: int, seconds: float) -> dict[str, float]:
    """The median seconds of each contender over its rounds.

    Parameters
    ----------
    contenders : name -> function of the seconds of one turn, which returns the seconds that one run took

    Example
    -------
    >>> in_turns({"sum": repeated(lambda: sum(range(1000)))}, rounds=3, seconds=0.01)      # doctest: +SKIP
    {'sum': 9.4e-06}
    """
    for run in contenders.values():
        run(seconds)                                        # caches and branch predictors are warm for all
    found = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            found[name].append(run(seconds))
    return {name: statistics.median(times) for name, times in found.items()}
