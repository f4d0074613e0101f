"""Seeded damage to index files: mutators that know the layout, over golden bodies of every index and type.

``mutants(seed, count)`` gives the same inputs for the same seed and the same golden data. Each is a ``Mutant``: what
to open, with which schema and row count, what to ask, and a label that says what was done.
"""
from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Iterator

from tests.golden import data
from tests.hostile import layout

SEED_MAX_LEN = 20_000  # bytes of a body that is worth mutating
QUESTIONS_PER_MUTANT = 14
KINDS = ("bitmap", "bsi", "range-bitmap", "bloom-filter")


@dataclass
class Mutant:
    label: str
    payload: bytes  # a whole index file
    schema: dict[str, str]
    row_count: int | None  # what the caller claims; None: not said
    questions: list[tuple[str, str, list]] = field(default_factory=list)  # (column, op, golden literals)
    shape: str = "bytes"  # how it is handed over: bytes | file | short (a file that gives less than asked)


@dataclass
class Seed:
    name: str
    index: str
    type: str
    row_count: int
    body: bytes
    questions: list[tuple[str, str, list]]

    @cached_property
    def fields(self) -> list[layout.Field]:
        return layout.body_fields(self.index, self.type, self.body)


@cache
def seeds() -> list[Seed]:
    """One for each golden case that is small enough, with a few questions for each operator."""
    found = []
    for case in data.cases():
        if case.body is None or len(case.body) > SEED_MAX_LEN:
            continue
        by_op: dict[str, list] = {}
        for asked in case.expect:
            if asked["op"] != "TOP_N":
                by_op.setdefault(asked["op"], []).append(("c", asked["op"], asked["literals"]))
        questions = [each for of_one_op in by_op.values() for each in of_one_op[:: max(1, len(of_one_op) // 3)]]
        found.append(Seed(case.name, case.index, case.type, case.row_count, case.body, questions))
    return found


# --- mutators: (random, body or file, its fields, the seed, all seeds) -> (label, damaged bytes)


def lie(rng, payload, fields, *_):
    """One stored number is wrong."""
    chosen = rng.choice(fields)
    out, true = bytearray(payload), chosen.read(payload)
    chosen.write(out, wrong_number(rng, true, 8 * chosen.len, len(payload)))
    return f"lie {chosen.name}: {true} -> {chosen.read(out)}", bytes(out)


def two_lies(rng, payload, fields, *_):
    first, once = lie(rng, payload, fields)
    second, twice = lie(rng, once, fields)
    return f"{first}; {second}", twice


def wrong_number(rng, true, bits, payload_len):
    top = 1 << bits
    return rng.choice([0, 1, -1, top >> 1, (top >> 1) - 1, top - 2, true + 1, true - 1, true * 2, true ^ (top >> 1), -true,
                       payload_len, payload_len + 1, payload_len - true, rng.randrange(top), rng.randrange(1 << bits // 2),
                       65535, 65536, 4096, 4097, 12346, 12347])


def flip(rng, payload, *_):
    out = bytearray(payload)
    places = [rng.randrange(8 * len(out)) for _ in range(rng.choice((1, 1, 2, 8)))]
    for place in places:
        out[place // 8] ^= 1 << place % 8
    return f"flip bits {places}", bytes(out)


def overwrite(rng, payload, *_):
    out, at = bytearray(payload), rng.randrange(len(payload))
    length = min(rng.choice((1, 2, 4, 8, 64)), len(out) - at)
    out[at : at + length] = rng.choice((b"\xff" * length, bytes(length), rng.randbytes(length)))
    return f"overwrite {length} at {at}", bytes(out)


def swap(rng, payload, fields, *_):
    first = rng.choice(fields)
    second = rng.choice([each for each in fields if each.len == first.len])
    out = bytearray(payload)
    out[first.at : first.at + first.len] = payload[second.at : second.at + second.len]
    out[second.at : second.at + second.len] = payload[first.at : first.at + first.len]
    return f"swap {first.name} and {second.name}", bytes(out)


def truncate(rng, payload, *_):
    at = rng.randrange(len(payload))
    return f"truncate at {at}", payload[:at]


def extend(rng, payload, *_):
    more = rng.choice((bytes(rng.choice((1, 4, 100))), rng.randbytes(17), payload))
    return f"extend by {len(more)}", payload + more


def cut_out(rng, payload, *_):
    at = rng.randrange(len(payload))
    length = rng.choice((1, 2, 4, 9, 40))
    return f"cut {length} at {at}", payload[:at] + payload[at + length :]


def put_in(rng, payload, *_):
    at, more = rng.randrange(len(payload) + 1), rng.randbytes(rng.choice((1, 2, 4, 8)))
    return f"insert {more.hex()} at {at}", payload[:at] + more + payload[at:]


def splice(rng, payload, fields, seed, pool):
    """The head of one body, the tail of another."""
    other = rng.choice(pool).body
    at, from_at = rng.randrange(len(payload) + 1), rng.randrange(len(other) + 1)
    return f"splice at {at}", payload[:at] + other[from_at:]


def foreign(rng, payload, fields, seed, pool):
    """A sound body of another index or type."""
    other = rng.choice(pool)
    return f"body of {other.name}", other.body


BODY_MUTATORS = (lie, lie, lie, lie, two_lies, flip, overwrite, swap, truncate, extend, cut_out, put_in, splice, foreign)
FILE_MUTATORS = (lie, lie, two_lies, flip, overwrite, swap, truncate, extend, cut_out, put_in)


def mutants(seed: int, count: int) -> Iterator[Mutant]:
    rng, pool = random.Random(seed), seeds()
    groups: dict[str, list[Seed]] = {}
    for each in pool:
        groups.setdefault(each.index, []).append(each)
    whole = [each for each in data.containers() if not each.special and len(each.data) <= 2 * SEED_MAX_LEN]
    for number in range(count):
        if number % 10 == 9:  # a whole file: head and bodies of several columns
            yield _mutant_of_file(rng, rng.choice(whole))
        else:
            group = groups[KINDS[number % len(KINDS)] if number % 3 else rng.choice(KINDS[:3])]
            yield _mutant_of_body(rng, rng.choice(group), pool)


def _mutant_of_body(rng, seed, pool):
    label, body = rng.choice(BODY_MUTATORS)(rng, seed.body, seed.fields, seed, pool)
    payload = data.wrap("c", seed.index, body)
    if rng.random() < 0.1:
        head = layout.fields(payload)
        second, payload = rng.choice(FILE_MUTATORS)(rng, payload, head)
        label = f"{label}; file: {second}"
    questions = rng.sample(seed.questions, min(QUESTIONS_PER_MUTANT, len(seed.questions)))
    row_count = rng.choice((seed.row_count, seed.row_count, None, seed.row_count + 1, 0))
    if seed.index == "bloom-filter" and row_count is None:
        row_count = seed.row_count  # a Bloom filter does not know it
    shape = rng.choice(("bytes", "bytes", "bytes", "bytes", "file", "short"))
    return Mutant(f"{seed.name}: {label}", payload, {"c": seed.type}, row_count, questions, shape)


def _mutant_of_file(rng, container):
    label, payload = rng.choice(FILE_MUTATORS)(rng, container.data, layout.fields(container.data))
    leaves = [each["predicate"] for each in container.expect if "op" in each.get("predicate", ())]
    questions = [(leaf["column"], leaf["op"], leaf["literals"]) for leaf in leaves]
    questions = rng.sample(questions, min(QUESTIONS_PER_MUTANT, len(questions)))
    return Mutant(f"{container.name}: {label}", payload, container.schema, container.row_count, questions,
                  rng.choice(("bytes", "bytes", "file", "short")))
