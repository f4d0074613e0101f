"""Whom this library is measured against: Java Paimon's evaluation, and pyroaring bitmaps combined one by one.

The pyroaring readers are what one writes in an afternoon: struct and one BitMap a slice, over INT keys (BytesKeys over
strings); layouts as in paimon_fidx/core. They trust the bytes. `ready()` deserializes every bitmap of a segment, which
is otherwise done when one is needed.
"""
from __future__ import annotations

import base64
import struct
import tempfile
from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import Callable

from pyroaring import BitMap

from tests.interop.java import Java

RUNS = 12347               # cookie of a serialized bitmap with run containers; its high half holds the container count


# ---- Java

class JavaFiles:
    """Index files handed to a running Java, and questions to them."""

    def __init__(self, java: Java, name: str, schema: dict[str, str], files: list[bytes]):
        self.java, self.name = java, name
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "files")
            path.write_bytes(b"".join(files))
            self._call(cmd="files", name=name, file=str(path), lengths=[len(file) for file in files],
                       columns=[{"name": column, "type": type} for column, type in schema.items()])

    def _call(self, **request) -> dict:
        answer = self.java.call(**request)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def question(self, name: str, predicate=None, top=None, deleted: BitMap | None = None) -> JavaQuestion:
        """``predicate``: {"column", "op", "literals"}, {"and": [...]} or {"or": [...]}; ``top``: {"column", "n"}."""
        self._call(cmd="question", name=name, files=self.name, predicate=predicate, top=top,
                   deleted=None if deleted is None else base64.b64encode(deleted.serialize()).decode())
        return JavaQuestion(self._call, name)


class JavaQuestion:
    def __init__(self, call: Callable[..., dict], name: str):
        self._call, self._name = call, name

    def answer(self, open: bool) -> tuple[str, BitMap | None, int]:
        """(decision, rows) of the last file, and how many files are not skipped."""
        found = self._call(cmd="answer", name=self._name, open=open)
        rows = BitMap.deserialize(base64.b64decode(found["rows"])) if "rows" in found else None
        return found["decision"], rows, found["remain"]

    def timed(self, open: bool) -> Callable[[float], float]:
        """A contender for `turns.in_turns`."""
        return lambda seconds: self._call(cmd="evaluate", name=self._name, open=open, seconds=seconds)["nanos"] / 1e9


# ---- pyroaring

def stored_len(data: bytes, at: int) -> int:
    """Bytes that the serialized bitmap at ``at`` takes: only its head tells."""
    cookie, = struct.unpack_from("<I", data, at)
    runs = cookie & 0xFFFF == RUNS
    if runs:
        count = (cookie >> 16) + 1
        flags = int.from_bytes(data[at + 4:at + 4 + (count + 7) // 8], "little")
        head = at + 4 + (count + 7) // 8
        end = head + 4 * count + (4 * count if count >= 4 else 0)
    else:
        count, = struct.unpack_from("<I", data, at + 4)
        flags, head = 0, at + 8
        end = head + 8 * count
    for i in range(count):
        last, = struct.unpack_from("<H", data, head + 4 * i + 2)
        if flags >> i & 1:
            end += 2 + 4 * struct.unpack_from("<H", data, end)[0]
        else:
            end += 2 * (last + 1) if last < 4096 else 8192
    return end - at


class Sliced:
    """Rows by code, from an existence bitmap and slices, one bitmap operation a slice."""

    def __init__(self, exist: BitMap, slices: list[BitMap]):
        self.exist, self.slices = exist, slices

    def at_least(self, code: int) -> BitMap:
        if code <= 0:
            return self.exist
        if code >> len(self.slices):
            return BitMap()
        first = (code & -code).bit_length() - 1             # below the lowest set bit nothing is asked
        rows = self.slices[first]
        for i in range(first + 1, len(self.slices)):
            rows = rows & self.slices[i] if code >> i & 1 else rows | self.slices[i]
        return rows & self.exist

    def between(self, lo: int, hi: int) -> BitMap:
        return self.at_least(lo) - self.at_least(hi + 1)

    def equal(self, code: int) -> BitMap:
        rows = self.exist.copy()
        for i, bits in enumerate(self.slices):
            if code >> i & 1:
                rows &= bits
            else:
                rows -= bits
        return rows

    def top(self, k: int, rows: BitMap | None = None) -> BitMap:
        chosen, tied = BitMap(), self.exist.copy() if rows is None else self.exist & rows
        for bits in reversed(self.slices):
            more = tied & bits
            if len(chosen) + len(more) > k:
                tied = more
            else:
                chosen |= more
                tied -= bits
        return chosen | tied[:k - len(chosen)]


class Bsi:
    def __init__(self, data: bytes):
        self.data = data
        self._parts = None

    def ready(self) -> Bsi:
        if self._parts is None:
            self._parts, at = [], 5
            for _ in range(2):
                at += 1
                if not self.data[at - 1]:
                    self._parts.append((0, Sliced(BitMap(), [])))
                    continue
                least, = struct.unpack_from(">q", self.data, at + 1)
                at += 17
                bitmaps = []
                at = self._take(at, bitmaps)
                count, = struct.unpack_from(">i", self.data, at)
                at += 4
                for _ in range(count):
                    at = self._take(at, bitmaps)
                self._parts.append((least, Sliced(bitmaps[0], bitmaps[1:])))
        return self

    def _take(self, at: int, to: list[BitMap]) -> int:
        end = at + stored_len(self.data, at)
        to.append(BitMap.deserialize(self.data[at:end]))
        return end

    def at_least(self, value: int) -> BitMap:
        (least, positive), (deepest, negative) = self.ready()._parts
        if value >= 0:
            return positive.at_least(value - least)
        return positive.exist | negative.between(0, -value - deepest)

    def between(self, lo: int, hi: int) -> BitMap:
        return self.at_least(lo) - self.at_least(hi + 1)

    def equal(self, value: int) -> BitMap:
        (least, positive), (deepest, negative) = self.ready()._parts
        return positive.equal(value - least) if value >= 0 else negative.equal(-value - deepest)


class RangeBitmap:
    def __init__(self, data: bytes):
        self.data = data
        head, = struct.unpack_from(">i", data, 0)
        dictionary_len, = struct.unpack_from(">i", data, head)
        at = 4 + head
        chunks, offsets_len, chunks_len = struct.unpack_from(">iii", data, at + 5)
        self._chunks = at + 17 + offsets_len
        self._count, self._keys = chunks, self._chunks + chunks_len
        self._at = at + dictionary_len
        self._sliced = None

    def ready(self) -> RangeBitmap:
        if self._sliced is None:
            data, at = self.data, self._at
            head, _, count, exist_len = struct.unpack_from(">ibbi", data, at)
            start = at + 4 + head
            exist, start = BitMap.deserialize(data[start:start + exist_len]), start + exist_len
            slices = []
            for i in range(count):
                off, length = struct.unpack_from(">ii", data, at + 14 + 8 * i)
                slices.append(BitMap.deserialize(data[start + off:start + off + length]))
            self._sliced = Sliced(exist, slices)
        return self

    def _chunk(self, i: int) -> tuple[int, int, int, int]:
        return struct.unpack_from(">iiii", self.data, self._chunks + 25 * i + 1)       # first key, code, keys_off, size

    def code(self, key: int) -> tuple[int, bool]:
        """The code of the first key that is not below ``key``, and whether it is ``key``."""
        i = bisect_right(range(self._count), key, key=lambda i: self._chunk(i)[0]) - 1
        if i < 0:
            return 0, False
        first, code, off, size = self._chunk(i)
        if first == key:
            return code, True
        at = self._keys + off
        read = struct.Struct(">i").unpack_from
        j = bisect_left(range(size), key, key=lambda j: read(self.data, at + 4 * j)[0])
        return code + 1 + j, j < size and read(self.data, at + 4 * j)[0] == key

    def at_least(self, key: int) -> BitMap:
        return self.ready()._sliced.at_least(self.code(key)[0])

    def between(self, lo: int, hi: int) -> BitMap:
        return self.ready()._sliced.between(self.code(lo)[0], self.code(hi + 1)[0] - 1)

    def equal(self, key: int) -> BitMap:
        code, there = self.code(key)
        return self.ready()._sliced.equal(code) if there else BitMap()

    def top(self, k: int, rows: BitMap | None = None) -> BitMap:
        return self.ready()._sliced.top(k, rows)


class Bitmap:
    """Version 2, keys INT or STRING."""

    def __init__(self, data: bytes, strings: bool = False):
        self.data, self._strings, self._bitmaps = data, strings, {}
        _, self.row_count, _, has_null = struct.unpack_from(">biib", data, 0)
        at = 10 + 8 * has_null
        self._blocks, at = struct.unpack_from(">i", data, at)[0], at + 4
        self._heads = []
        for _ in range(self._blocks):
            key, at = self._key(at)
            self._heads.append((key, struct.unpack_from(">i", data, at)[0]))
            at += 4
        self._at = at + 4
        self._body = self._at + struct.unpack_from(">i", data, at)[0]
        self._firsts = [key for key, _ in self._heads]

    def _key(self, at: int):
        value, = struct.unpack_from(">i", self.data, at)
        if not self._strings:
            return value, at + 4
        return self.data[at + 4:at + 4 + value], at + 4 + value

    def _entries(self, block: int):
        at = self._at + self._heads[block][1]
        count, = struct.unpack_from(">i", self.data, at)
        at += 4
        for _ in range(count):
            key, at = self._key(at)
            yield key, *struct.unpack_from(">ii", self.data, at)
            at += 8

    def _rows(self, off: int, length: int) -> BitMap:
        if off < 0:
            return BitMap([-1 - off])
        return BitMap.deserialize(self.data[self._body + off:self._body + off + length])

    def ready(self) -> Bitmap:
        for block in range(self._blocks):
            for key, off, length in self._entries(block):
                self._bitmaps[key] = self._rows(off, length)
        return self

    def equal(self, key) -> BitMap:
        if self._bitmaps:
            return self._bitmaps.get(key, BitMap())
        block = bisect_right(self._firsts, key) - 1
        if block < 0:
            return BitMap()
        if not self._strings:                               # entries of one width: no need to walk
            at = self._at + self._heads[block][1]
            count, = struct.unpack_from(">i", self.data, at)
            read = struct.Struct(">iii").unpack_from
            i = bisect_left(range(count), key, key=lambda i: read(self.data, at + 4 + 12 * i)[0])
            if i == count:
                return BitMap()
            found, off, length = read(self.data, at + 4 + 12 * i)
            return self._rows(off, length) if found == key else BitMap()
        for found, off, length in self._entries(block):
            if found == key:
                return self._rows(off, length)
        return BitMap()

    def not_equal(self, key) -> BitMap:
        return self.equal(key).flip(0, self.row_count)

    def any_of(self, keys) -> BitMap:
        return BitMap.union(*[self.equal(key) for key in keys])

    def starting_with(self, prefix: bytes) -> BitMap:
        if self._bitmaps:
            return BitMap.union(*[rows for key, rows in self._bitmaps.items() if key.startswith(prefix)])
        first = max(0, bisect_right(self._firsts, prefix) - 1)
        chosen = []
        for block in range(first, self._blocks):
            if self._firsts[block] > prefix and not self._firsts[block].startswith(prefix):
                break
            chosen += [self._rows(off, length) for key, off, length in self._entries(block) if key.startswith(prefix)]
        return BitMap.union(*chosen)


READERS = {"bsi": Bsi, "range-bitmap": RangeBitmap, "bitmap": Bitmap}
