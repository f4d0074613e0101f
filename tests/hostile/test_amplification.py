"""Small files that ask for much: shared bytes, two billion rows. Memory stays a small multiple of input and result."""
from __future__ import annotations

import pytest
from pyroaring import BitMap

from tests.core.made import BYTE, INT, LONG, bitmap_bytes, range_bitmap
from tests.golden import data
from tests.hostile.mutate import Mutant
from tests.hostile.run import run
from tests.hostile.test_mutants import explain

MANY = 20_000  # entries
ROWS = 2**31 - 1


def leaves(*literals):
    low, high = literals
    return [("c", "EQUAL", [low]), ("c", "NOT_EQUAL", [low]), ("c", "LESS_THAN", [high]), ("c", "IN", [low, high]),
            ("c", "NOT_IN", [low, high]), ("c", "BETWEEN", [low, high]), ("c", "IS_NULL", []), ("c", "IS_NOT_NULL", [])]


def one_bitmap_for_all(version):
    """All entries at the same bitmap of 2,000 full chunks: 20,000 x 2,000 containers if each were parsed."""
    shared = BitMap(range(0, 2000 * 65536, 65536))
    payload = shared.serialize()
    head = BYTE.pack(version) + INT.pack(2000 * 65536) + INT.pack(MANY) + BYTE.pack(0)
    if version == 1:
        return head + b"".join(INT.pack(key) + INT.pack(0) for key in range(MANY)) + payload
    block = INT.pack(MANY) + b"".join(INT.pack(key) + INT.pack(0) + INT.pack(len(payload)) for key in range(MANY))
    return head + INT.pack(1) + INT.pack(0) + INT.pack(0) + INT.pack(len(block)) + block + payload


def one_key_for_all():
    """A dictionary whose 5,000 keys are the same 64 KB."""
    keys = ["", "k" * 65_000, *(f"z{number:06}" for number in range(5_000))]
    body = bytearray(range_bitmap("STRING", keys, chunk_len=1 << 20))
    start = body.index(b"z000000") - 4  # be32 offsets stand before the keys, be32 lengths before each key
    offsets_at = start - 4 - 65_000 - 4 * 5_001
    assert int.from_bytes(body[offsets_at + 4 : offsets_at + 8], "big") == 65_004
    for number in range(5_001):
        body[offsets_at + 4 * number : offsets_at + 4 * number + 4] = INT.pack(0)
    return bytes(body)


def all_rows(rows=ROWS):
    return bitmap_bytes(BitMap(range(rows)), runs=True)


SMALL_FILES = {
    "bitmap V2, one bitmap for all": ("bitmap", "INT", one_bitmap_for_all(2), leaves(1, MANY)),
    "bitmap V1, one bitmap for all": ("bitmap", "INT", one_bitmap_for_all(1), leaves(1, MANY)),
    "range-bitmap, one key for all": ("range-bitmap", "STRING", one_key_for_all(), [
        *leaves("a", "z"), ("c", "LIKE", ["%kz%"]), ("c", "CONTAINS", ["zz"]), ("c", "ENDS_WITH", ["q"])]),
    "bsi of two billion NULLs": ("bsi", "INT", BYTE.pack(1) + INT.pack(ROWS) + b"\0\0", leaves(1, 9)),
    "bsi of a hundred million fives": ("bsi", "INT", BYTE.pack(1) + INT.pack(10**8) + b"\1\1" + LONG.pack(0) + LONG.pack(5)
                                       + all_rows(10**8) + INT.pack(3) + all_rows(10**8) + bitmap_bytes([], False)
                                       + all_rows(10**8) + b"\0", leaves(5, 9)),
    "bitmap of two billion rows": ("bitmap", "INT", BYTE.pack(1) + INT.pack(ROWS) + INT.pack(1) + b"\1" + INT.pack(-7)
                                   + INT.pack(5) + INT.pack(0) + all_rows(), leaves(5, 9)),
}


@pytest.mark.parametrize("name", SMALL_FILES)
def test_a_small_file_stays_small(name):
    index, type, body, questions = SMALL_FILES[name]
    assert len(body) < 2_000_000
    report = run([Mutant(name, data.wrap("c", index, body), {"c": type}, None, questions, shape) for shape in ("bytes", "file")])
    assert not report.failures, explain(report)
