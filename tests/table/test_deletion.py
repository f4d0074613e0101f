"""Deletion vectors, byte by byte and damaged."""
from __future__ import annotations

import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap, BitMap64

from paimon_fidx.errors import CorruptError, FileIndexError, TruncatedError
from paimon_fidx.table.deletion import MAGIC_32, MAGIC_64, parse_deletion_vector, read_deletion_vector
from paimon_fidx.table.files import DeletionVectorRef

ONE_ROW = bytes.fromhex(
    "00000016"        # length: 22 bytes of magic and bitmap
    "5e43f2d0"        # magic of 32-bit vectors
    "3a300000"        # Roaring cookie, no run containers
    "01000000"        # one container
    "00000000"        # its key 0, its cardinality 1
    "10000000"        # where it begins
    "0500"            # row 5
)
ONE_ROW += zlib.crc32(ONE_ROW[4:]).to_bytes(4, "big")


def vector(rows, bits=32) -> bytes:
    body = MAGIC_32 + BitMap(rows).serialize() if bits == 32 else MAGIC_64 + BitMap64(rows).serialize()
    return len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


class Folder:
    """Stands for pypaimon's FileIO."""

    def new_input_stream(self, path):
        return open(path, "rb")


def test_the_layout():
    assert list(parse_deletion_vector(ONE_ROW, 10)) == [5]
    assert vector([5]) == ONE_ROW


@pytest.mark.parametrize("bits", [32, 64])
@settings(max_examples=40)
@given(rows=st.sets(st.integers(0, 200_000), max_size=200))
def test_both_widths(bits, rows):
    assert set(parse_deletion_vector(vector(rows, bits), 200_001)) == rows


@pytest.mark.parametrize(("at", "where"), [(4, "magic"), (8, "bitmap"), (25, "crc")])
def test_damage_is_named(at, where):
    damaged = bytearray(ONE_ROW)
    damaged[at] ^= 1
    if where != "crc":
        damaged[-4:] = zlib.crc32(damaged[4:-4]).to_bytes(4, "big")
    place = 100 + (26 if where == "crc" else at)
    with pytest.raises(CorruptError, match=f"index-1: deletion_vector.{where} at {place}"):
        parse_deletion_vector(bytes(damaged), 10, path="index-1", offset=100)


@pytest.mark.parametrize("length", range(len(ONE_ROW)))
def test_truncation_at_every_byte(length):
    with pytest.raises(FileIndexError):
        parse_deletion_vector(ONE_ROW[:length], 10)


def test_positions_beyond_the_file():
    with pytest.raises(CorruptError, match="positions below 5, found 5"):
        parse_deletion_vector(ONE_ROW, 5)


@pytest.mark.parametrize("bits", [32, 64])
def test_reading_one_of_many(tmp_path, bits):
    first, second = vector([1, 2], bits), vector([70_000], bits)
    path = tmp_path / "index-1"
    path.write_bytes(b"\1" + first + second)
    extra = 0 if bits == 32 else 8  # the manifest's length is the whole vector's for 64 bits
    ref = DeletionVectorRef(str(path), 1 + len(first), len(second) - 8 + extra)
    assert list(read_deletion_vector(Folder(), ref, 100_000)) == [70_000]


def test_a_length_that_the_manifest_contradicts(tmp_path):
    path = tmp_path / "index-1"
    path.write_bytes(b"\1" + ONE_ROW)
    with pytest.raises(CorruptError, match="deletion_vector.length at 1: expected 99 or 91, found 22"):
        read_deletion_vector(Folder(), DeletionVectorRef(str(path), 1, 99), 10)


def test_a_file_that_ends_early(tmp_path):
    path = tmp_path / "index-1"
    path.write_bytes(b"\1" + ONE_ROW[:12])
    with pytest.raises(TruncatedError, match="index-1: deletion_vector"):
        read_deletion_vector(Folder(), DeletionVectorRef(str(path), 1, 22), 10)
    with pytest.raises(TruncatedError):
        read_deletion_vector(Folder(), DeletionVectorRef(str(path), 40, 22), 10)
