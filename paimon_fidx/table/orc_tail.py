"""The stripes of an ORC file: how many rows and bytes each holds, which pyarrow does not tell.

The end of an ORC file, read backwards (protobuf messages; numbers are varints):

    type    name         rule
    byte    ps_len       the file's last byte
    bytes   postscript   ps_len bytes; 1: footer_len, 2: compression, 3: compression_block_len
    bytes   footer       footer_len bytes, in compression chunks; 3 (repeated): stripe
    stripe               1: offset, 2: index_len, 3: data_len, 4: footer_len, 5: row_count
    chunk                le24 len << 1 | is_original, then len bytes
"""
from __future__ import annotations

import zlib
from dataclasses import dataclass

import pyarrow as pa

__all__ = ["Stripe", "read_stripes"]

NONE, ZLIB, SNAPPY, LZ4, ZSTD = 0, 1, 2, 4, 5
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MAX_TAIL = 64 << 20  # a footer above is not read


@dataclass(frozen=True, slots=True)
class Stripe:
    """row_count : int; byte_len : int, index, data and footer together."""

    row_count: int
    byte_len: int


def read_stripes(source, size: int) -> list[Stripe]:
    """The stripes of an ORC file of ``size`` bytes, from a seekable binary file.

    Raises ValueError for what is no ORC tail or is compressed in a way that is not read here.
    """
    if size < 4:
        raise ValueError(f"an ORC file has at least 4 bytes, not {size}")
    source.seek(size - 1)
    ps_len = source.read(1)[0]
    source.seek(max(size - 1 - ps_len, 0))
    postscript = _numbers(source.read(ps_len))
    footer_len, block_len = postscript.get(1, 0), postscript.get(3, 256 << 10)
    if footer_len > min(size, MAX_TAIL):
        raise ValueError(f"ORC footer of {footer_len} bytes in a file of {size}")
    source.seek(size - 1 - ps_len - footer_len)
    footer = _decompress(source.read(footer_len), postscript.get(2, NONE), block_len)
    stripes = []
    for number, value in _fields(footer):
        if number == 3 and isinstance(value, bytes):
            stripe = _numbers(value)
            stripes.append(Stripe(stripe.get(5, 0), sum(stripe.get(i, 0) for i in (2, 3, 4))))
    return stripes


def _numbers(message: bytes) -> dict[int, int]:
    """The numeric fields of a protobuf message."""
    return {number: value for number, value in _fields(message) if isinstance(value, int)}


def _fields(message: bytes):
    """(field number, value) of a protobuf message; a value is an int or bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = _varint(message, at)
        elif wire in (BYTES, FIXED32, FIXED64):
            length = 4 if wire == FIXED32 else 8
            if wire == BYTES:
                length, at = _varint(message, at)
            if length > len(message) - at:
                raise ValueError(f"ORC tail: field {number} of {length} bytes, {len(message) - at} are left")
            value, at = message[at:at + length], at + length
        else:
            raise ValueError(f"ORC tail: wire type {wire}")
        yield number, value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte, at = message[at], at + 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("ORC tail: a number without an end")


def _decompress(data: bytes, codec: int, block_len: int) -> bytes:
    if codec == NONE:
        return data
    out, at = [], 0
    while len(data) - at >= 3:
        head = int.from_bytes(data[at:at + 3], "little")
        length, at = head >> 1, at + 3
        chunk, at = data[at:at + length], at + length
        out.append(chunk if head & 1 else _inflate(chunk, codec, block_len))
    return b"".join(out)


def _inflate(chunk: bytes, codec: int, block_len: int) -> bytes:
    try:
        if codec == ZLIB:
            return zlib.decompressobj(-15).decompress(chunk, block_len)
        if codec == ZSTD:
            return pa.CompressedInputStream(pa.BufferReader(chunk), "zstd").read(block_len)
        if codec == SNAPPY:
            length, _ = _varint(chunk, 0)
            return pa.Codec("snappy").decompress(chunk, min(length, block_len), asbytes=True)
    except (zlib.error, pa.ArrowException, OSError) as error:
        raise ValueError(f"ORC tail: {error}") from error
    raise ValueError(f"ORC tail: compression {codec} is not read here")
