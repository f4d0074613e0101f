"""Fuzz targets, one per room: any bytes in, nothing but an answer or an allowed error out.

    python -m tests.hostile.targets bitmap      # with atheris where it is installed, else seeded random bytes

test_targets.py runs each over golden bodies and their mutations.
"""
from __future__ import annotations

import random
import sys

from tests.golden import data
from tests.hostile import ask
from tests.hostile.mutate import Mutant

TYPES = ("INT", "STRING", "BIGINT", "TINYINT", "DOUBLE", "DECIMAL(10,2)", "TIMESTAMP(3)", "BOOLEAN", "DATE", "FLOAT")
LITERALS = {"INT": [0, 7], "STRING": ["", "q"], "BIGINT": [-1, "9007199254740993"], "TINYINT": [-128, 5],
            "DOUBLE": ["-0.0", 1.5], "DECIMAL(10,2)": ["0.00", "12.30"], "TIMESTAMP(3)": [
                {"millis": 0, "nanosOfMilli": 0}, {"millis": 1, "nanosOfMilli": 0}],
            "BOOLEAN": [True, False], "DATE": [0, 20000], "FLOAT": ["NaN", 0.5]}


def questions(type: str) -> list:
    low, high = LITERALS[type]
    return [("c", "EQUAL", [low]), ("c", "LESS_THAN", [high]), ("c", "NOT_IN", [low, high]), ("c", "BETWEEN", [low, high]),
            ("c", "IS_NULL", [])]


def body(index: str, payload: bytes) -> None:
    """The first byte chooses the type, the rest is the body of an index of this kind."""
    type = TYPES[payload[0] % len(TYPES)] if payload else "INT"
    whole = data.wrap("c", index, payload[1:])
    ask.everything(Mutant("fuzz", whole, {"c": type}, 1000, questions(type)))


def container(payload: bytes) -> None:
    ask.everything(Mutant("fuzz", payload, {"c": "INT"}, 1000, questions("INT")))


def bloom_filter(payload: bytes) -> None:
    body("bloom-filter", payload)


def bitmap(payload: bytes) -> None:
    body("bitmap", payload)


def bsi(payload: bytes) -> None:
    body("bsi", payload)


def range_bitmap(payload: bytes) -> None:
    body("range-bitmap", payload)


def roaring(payload: bytes) -> None:
    """Any bytes as the only bitmap of a bitmap index of one INT entry."""
    head = bytes.fromhex("02 000003e8 00000001 00 00000001 00000007 00000000 00000010 00000001 00000007 00000000")
    bitmap(b"\0" + head + len(payload).to_bytes(4, "big") + payload)


ROOMS = {each.__name__: each for each in (container, bloom_filter, bitmap, bsi, range_bitmap, roaring)}


def main(room: str) -> None:
    target = ROOMS[room]
    try:
        import atheris
    except ImportError:
        rng = random.Random()
        while True:
            target(rng.randbytes(rng.randrange(300)))
    atheris.Setup(sys.argv[:1] + sys.argv[2:], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1])
