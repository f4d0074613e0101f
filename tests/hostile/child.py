"""The child process of the hostile tests: reads pickled mutants from standard input, asks each, reports line by line.

A line ``> 17`` says that input 17 is next, so that a crash is pinned to it; ``! 17 {...}`` that it broke a promise;
``= {...}`` ends a batch with totals. Memory and time per input are limited by the kernel.
"""
from __future__ import annotations

import json
import os
import pickle
import resource
import signal
import sys
import traceback

MEMORY_ROOM = 256 << 20  # bytes above what the process has mapped when it starts to work
SECONDS_PER_INPUT = 10  # a generous hang detector, not a speed test


def limit_memory() -> None:
    if sys.platform == "linux" and not os.environ.get("PAIMON_FIDX_SANITIZE"):  # a sanitizer maps terabytes
        mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY_ROOM, resource.RLIM_INFINITY))


def say(line: str) -> None:
    os.write(1, line.encode() + b"\n")


def main() -> None:
    from tests.hostile import ask

    batch = pickle.load(sys.stdin.buffer)
    limit_memory()
    totals = {"answers": 0, "refusals": 0}
    for number, mutant in enumerate(batch):
        say(f"> {number}")
        signal.alarm(SECONDS_PER_INPUT)  # its default action ends the process, even inside C code
        try:
            counts = ask.everything(mutant)
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            say(f"! {number} " + json.dumps({"error": f"{type(error).__name__}: {error}"[:300], "where": str(where)[:200]}))
            continue
        for name, count in counts.items():
            totals[name] += count
    signal.alarm(0)
    say(f"= {json.dumps(totals)}")


if __name__ == "__main__":
    main()
