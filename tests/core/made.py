"""Index bodies built in plain Python from a list of keys: a second writer, to test the readers with any column.

Keys are ints for INT and BIGINT columns, str for STRING columns, None for NULL. Bitmaps are written by pyroaring, with
run containers where ``runs`` says so, as any other writer of the portable format might.
"""
from __future__ import annotations

import struct

from pyroaring import BitMap

INT, LONG, BYTE = struct.Struct(">i"), struct.Struct(">q"), struct.Struct(">b")


def bitmap_bytes(rows, runs: bool) -> bytes:
    found = BitMap(rows)
    if runs:
        found.run_optimize()
    return found.serialize()


def stored(type: str, key) -> bytes:
    """A key as bitmap and range bitmap store it."""
    if type == "STRING":
        return INT.pack(len(key.encode())) + key.encode()
    return (INT if type == "INT" else LONG).pack(key)


def by_key(type: str, keys) -> tuple[list, dict]:
    """(distinct keys in index order, rows of each key and of None)."""
    rows: dict = {}
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    order = (lambda key: key.encode()) if type == "STRING" else (lambda key: key)
    return sorted((key for key in rows if key is not None), key=order), rows


class _Places:
    """Offsets of bitmaps one after the other; a single row is its own offset."""

    def __init__(self, runs: bool):
        self.runs, self.data = runs, b""

    def add(self, rows) -> tuple[int, int]:
        if len(rows) == 1:
            return -1 - rows[0], -1
        payload, at = bitmap_bytes(rows, self.runs), len(self.data)
        self.data += payload
        return at, len(payload)


def bitmap(type: str, keys, version: int = 2, block_len: int = 16384, runs: bool = True) -> bytes:
    distinct, rows = by_key(type, keys)
    places = _Places(runs)
    head = BYTE.pack(version) + INT.pack(len(keys)) + INT.pack(len(distinct)) + BYTE.pack(None in rows)
    if None in rows:
        off, length = places.add(rows[None])
        head += INT.pack(off) + (INT.pack(length) if version == 2 else b"")
    entries = [(key, *places.add(rows[key])) for key in distinct]
    if version == 1:
        return head + b"".join(stored(type, key) + INT.pack(off) for key, off, _ in entries) + places.data
    blocks: list[list[bytes]] = []
    firsts, used = [], block_len
    for key, off, length in entries:
        entry = stored(type, key) + INT.pack(off) + INT.pack(length)
        if used + len(entry) > block_len:
            blocks.append([])
            firsts.append(key)
            used = 4
        blocks[-1].append(entry)
        used += len(entry)
    packed = [INT.pack(len(block)) + b"".join(block) for block in blocks]
    head, at = head + INT.pack(len(blocks)), 0
    for first, block in zip(firsts, packed):
        head += stored(type, first) + INT.pack(at)
        at += len(block)
    return head + INT.pack(at) + b"".join(packed) + places.data


def slices(codes: dict[int, int], count: int, runs: bool) -> list[bytes]:
    """One bitmap per bit: the rows whose code has it."""
    return [bitmap_bytes([row for row, code in codes.items() if code >> bit & 1], runs) for bit in range(count)]


def bsi(type: str, keys, runs: bool = True) -> bytes:
    out = BYTE.pack(1) + INT.pack(len(keys))
    for wanted in (lambda key: key >= 0, lambda key: key < 0):
        codes = {row: abs(key) for row, key in enumerate(keys) if key is not None and wanted(key)}
        out += BYTE.pack(bool(codes))
        if codes:
            most = max(codes.values())
            bits = slices(codes, most.bit_length(), runs)
            out += BYTE.pack(1) + LONG.pack(0) + LONG.pack(most) + bitmap_bytes(codes, runs)
            out += INT.pack(len(bits)) + b"".join(bits)
    return out


def range_bitmap(type: str, keys, chunk_len: int = 16384, runs: bool = True) -> bytes:
    distinct, rows = by_key(type, keys)
    chunks: list[list] = []  # [first key, its code, the other keys]
    used = 0
    for code, key in enumerate(distinct):
        length = len(stored(type, key))
        room = chunk_len - used >= length and (type != "STRING" or 4 * len(chunks[-1][2]) + 4 <= chunk_len) if chunks else False
        if room:
            chunks[-1][2].append(key)
            used += length
        else:
            chunks.append([key, code, []])
            used = 0
    offsets, heads, bodies = b"", b"", b""
    for first, code, others in chunks:
        offsets += INT.pack(len(heads))
        packed = [stored(type, key) for key in others]
        at, starts = 0, b""
        for each in packed:
            starts += INT.pack(at)
            at += len(each)
        body = b"".join(packed)
        heads += BYTE.pack(1) + stored(type, first) + INT.pack(code) + INT.pack(len(bodies)) + INT.pack(len(others))
        if type == "STRING":
            heads += INT.pack(len(starts)) + INT.pack(len(body))
            body = starts + body
        else:
            heads += INT.pack(len(body)) + INT.pack(len(stored(type, first)))
        bodies += body
    dictionary = INT.pack(13) + BYTE.pack(1) + INT.pack(len(chunks)) + INT.pack(len(offsets)) + INT.pack(len(heads))
    dictionary += offsets + heads + bodies

    code_of = {key: code for code, key in enumerate(distinct)}
    codes = {row: code_of[key] for row, key in enumerate(keys) if key is not None}
    ebm = bitmap_bytes(codes, runs)
    # Java counts the bits of max as a long: -1, of no value at all, has 64
    bits = slices(codes, max((len(distinct) - 1).bit_length(), 1) if distinct else 64, runs)
    index, at = b"", 0
    for each in bits:
        index += INT.pack(at) + INT.pack(len(each))
        at += len(each)
    coded = INT.pack(10 + len(index)) + BYTE.pack(1) + BYTE.pack(len(bits)) + INT.pack(len(ebm)) + INT.pack(len(index))
    coded += index + ebm + b"".join(bits)

    head = BYTE.pack(1) + INT.pack(len(keys)) + INT.pack(len(distinct))
    if distinct:
        head += stored(type, distinct[0]) + stored(type, distinct[-1])
    head += INT.pack(len(dictionary))
    return INT.pack(len(head)) + head + dictionary + coded
