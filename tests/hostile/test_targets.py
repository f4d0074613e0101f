"""The fuzz targets as plain tests: sound bodies, random bytes, and bodies with a few bytes changed."""
from __future__ import annotations

import random

import pytest

from tests.golden import data
from tests.hostile import targets

KINDS = {"bloom_filter": "bloom-filter", "bitmap": "bitmap", "bsi": "bsi", "range_bitmap": "range-bitmap"}


def sound_inputs(room):
    if room == "container":
        return [each.data for each in data.containers() if each.special]
    if room == "roaring":  # two array values; one run; a bitset
        return [bytes.fromhex("3a300000010000000000010010000000010005 00".replace(" ", "")),
                bytes.fromhex("3b300000010000ff00010000000001")]
    inputs = []
    for number, type in enumerate(targets.TYPES):
        cases = [case for case in data.cases(KINDS[room], type) if case.body is not None and len(case.body) < 2000]
        inputs += [bytes([number]) + case.body for case in cases[:4]]
    return inputs


@pytest.mark.parametrize("room", targets.ROOMS)
def test_target(room):
    rng, target = random.Random(room), targets.ROOMS[room]
    for payload in sound_inputs(room):
        target(payload)
        for _ in range(10):
            damaged = bytearray(payload)
            for _ in range(rng.choice((1, 1, 2, 5)) if damaged else 0):
                damaged[rng.randrange(len(damaged))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            target(bytes(damaged))
    for length in [*range(40), 100, 1000]:
        target(rng.randbytes(length))
        target(bytes(length))
