"""Deletion vectors: the rows of a data file that are no longer rows of the table.

One vector, big-endian unless said otherwise; a vector file starts with one version byte, then holds many:

    at   type   name     rule
    0    be32   length   bytes of magic + bitmap
    4    4      magic    5e 43 f2 d0: 32-bit; d1 d3 39 64: 64-bit
    8    bytes  bitmap   32-bit: a serialized Roaring bitmap. 64-bit: le64 count, then count times (le32 high, bitmap)
    ...  be32   crc      CRC-32 of magic + bitmap

The index manifest stores for 32-bit vectors ``length`` itself, for 64-bit ones the whole vector's length, which is
8 more.
"""
from __future__ import annotations

import zlib

from pyroaring import BitMap, BitMap64

from ..errors import CorruptError, TruncatedError
from .files import DeletionVectorRef

__all__ = ["read_deletion_vector", "parse_deletion_vector"]

MAGIC_32 = (1581511376).to_bytes(4, "big")
MAGIC_64 = (1681511377).to_bytes(4, "little")
FRAME_LEN = 8  # length and crc


def read_deletion_vector(file_io, ref: DeletionVectorRef, row_count: int) -> BitMap:
    """The deleted row positions of one data file.

    file_io : pypaimon's FileIO of the table; row_count : rows of the data file, which bounds the positions.
    Raises FileIndexError (a damaged vector), FileNotFoundError (no such file).
    """
    with file_io.new_input_stream(ref.path) as stream:
        stream.seek(ref.offset)
        head = stream.read(4)
        if len(head) < 4:
            raise TruncatedError("deletion_vector.length", path=ref.path, offset=ref.offset, expected="4 bytes",
                                 found=len(head))
        length = int.from_bytes(head, "big", signed=True)
        if length < 4 or (ref.length is not None and ref.length not in (length, length + FRAME_LEN)):
            expected = "at least 4" if ref.length is None else f"{ref.length} or {ref.length - FRAME_LEN}"
            raise CorruptError("deletion_vector.length", path=ref.path, offset=ref.offset, expected=expected,
                               found=length)
        body = stream.read(length + 4)
    return parse_deletion_vector(head + body, row_count, path=ref.path, offset=ref.offset)


def parse_deletion_vector(data: bytes, row_count: int, *, path=None, offset=0) -> BitMap:
    """The positions in one whole vector (length, magic, bitmap, crc).

    >>> parse_deletion_vector(bytes(3), 10)
    Traceback (most recent call last):
    ...
    paimon_fidx.errors.TruncatedError: deletion_vector at 0: expected at least 12 bytes, found 3
    """
    if len(data) < 12:
        raise TruncatedError("deletion_vector", path=path, offset=offset, expected="at least 12 bytes",
                             found=len(data))
    length = int.from_bytes(data[:4], "big", signed=True)
    if length != len(data) - FRAME_LEN:
        raise TruncatedError("deletion_vector.length", path=path, offset=offset, expected=len(data) - FRAME_LEN,
                             found=length)
    stored, computed = int.from_bytes(data[-4:], "big"), zlib.crc32(data[4:-4])
    if stored != computed:
        raise CorruptError("deletion_vector.crc", path=path, offset=offset + 4 + length, expected=computed,
                           found=stored)
    magic, body = data[4:8], data[8:-4]
    if magic not in (MAGIC_32, MAGIC_64):
        raise CorruptError("deletion_vector.magic", path=path, offset=offset + 4,
                           expected=f"{MAGIC_32.hex()} or {MAGIC_64.hex()}", found=magic.hex())
    try:
        deleted = BitMap.deserialize(body) if magic == MAGIC_32 else BitMap64.deserialize(body)
    except (ValueError, MemoryError) as error:
        raise CorruptError("deletion_vector.bitmap", path=path, offset=offset + 8,
                           expected="a serialized Roaring bitmap", found=str(error)) from error
    if deleted and deleted.max() >= row_count:
        raise CorruptError("deletion_vector.bitmap", path=path, offset=offset + 8,
                           expected=f"positions below {row_count}", found=deleted.max())
    return deleted if magic == MAGIC_32 else BitMap(deleted)
