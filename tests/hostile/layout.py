"""Where every stored number stands: a map of named fields over sound index bytes.

An independent reading of the layouts, in plain Python and for sound input only, so that a mutator can lie about one
field at a time and a test can name the byte it damages.
"""
from __future__ import annotations

from typing import Iterator, NamedTuple

from tests.golden import data

FIXED_KEY_LEN = {"BOOLEAN": 1, "TINYINT": 1, "SMALLINT": 2, "INT": 4, "DATE": 4, "TIME": 4, "FLOAT": 4,
                 "BIGINT": 8, "DOUBLE": 8, "TIMESTAMP": 8, "DECIMAL": 8}
RUNS, NO_RUNS = 12347, 12346  # the two cookies of a serialized Roaring bitmap
NO_OFFSETS_BELOW = 4  # containers; a bitmap with runs and fewer of them has no offset header


class Field(NamedTuple):
    name: str
    at: int  # absolute offset
    len: int  # bytes
    little: bool = False  # endianness

    def read(self, payload: bytes) -> int:
        return int.from_bytes(payload[self.at : self.at + self.len], "little" if self.little else "big")

    def write(self, payload: bytearray, value: int) -> None:
        value &= (1 << 8 * self.len) - 1
        payload[self.at : self.at + self.len] = value.to_bytes(self.len, "little" if self.little else "big")


class Walk:
    """A position that notes the fields it passes."""

    def __init__(self, payload: bytes, at: int = 0):
        self.payload, self.at, self.fields = payload, at, []

    def take(self, name: str, length: int, little: bool = False) -> int:
        field = Field(name, self.at, length, little)
        self.fields.append(field)
        self.at += length
        return field.read(self.payload)

    def signed(self, name: str, length: int = 4) -> int:
        value = self.take(name, length)
        return value - (1 << 8 * length) if value >> (8 * length - 1) else value

    def skip(self, length: int) -> None:
        self.at += length


def fields(payload: bytes) -> list[Field]:
    """Fields of a whole sound index file whose body holds one known type per column; bodies are not entered."""
    walk = Walk(payload)
    _container(walk)
    return walk.fields


def body_fields(index: str, type: str, body: bytes) -> list[Field]:
    """Fields of one index body."""
    walk = Walk(body)
    {"bloom-filter": _bloom, "bitmap": _bitmap, "bsi": _bsi, "range-bitmap": _range_bitmap}[index](walk, type)
    return walk.fields


def roaring_fields(payload: bytes, at: int = 0) -> list[Field]:
    """Fields of one serialized Roaring bitmap."""
    walk = Walk(payload, at)
    _roaring(walk, "bitmap")
    return walk.fields


def entries(payload: bytes) -> Iterator[tuple[str, str, Field, Field]]:
    """(column, index, start field, length field) of every entry of a container."""
    walk = Walk(payload)
    yield from _container(walk)


def _container(walk: Walk) -> list[tuple[str, str, Field, Field]]:
    found = []
    for name, length in (("magic", 8), ("version", 4), ("head_length", 4)):
        walk.take(name, length)
    for column in range(walk.take("column_count", 4)):
        column_name = _name(walk, f"column[{column}].name")
        for index in range(walk.take(f"column[{column}].index_count", 4)):
            where = f"column[{column}].index[{index}]"
            index_name = _name(walk, f"{where}.name")
            walk.take(f"{where}.start", 4)
            walk.take(f"{where}.len", 4)
            found.append((column_name, index_name, walk.fields[-2], walk.fields[-1]))
    walk.take("redundant_len", 4)
    return found


def _name(walk: Walk, name: str) -> str:
    length = walk.take(f"{name}_len", 2)
    text = walk.payload[walk.at : walk.at + length].decode("utf-8", "replace")
    walk.skip(length)
    return text


def _key(walk: Walk, name: str, type: str) -> None:
    base = type.partition("(")[0].partition(" ")[0]
    if base in FIXED_KEY_LEN:
        walk.take(name, FIXED_KEY_LEN[base])
    else:
        walk.skip(walk.take(f"{name}_len", 4))


def _roaring(walk: Walk, name: str) -> None:
    start = walk.at
    cookie = walk.take(f"{name}.cookie", 4, little=True)
    if cookie & 0xFFFF == RUNS:
        count = (cookie >> 16) + 1
        flags_at = walk.at
        for flag in range((count + 7) // 8):
            walk.take(f"{name}.run_flags[{flag}]", 1)
        runs = [bool(walk.payload[flags_at + at // 8] >> at % 8 & 1) for at in range(count)]
    else:
        assert cookie == NO_RUNS, (name, start, cookie)
        count = walk.take(f"{name}.container_count", 4, little=True)
        runs = [False] * count
    cards = []
    for at in range(count):
        walk.take(f"{name}.key[{at}]", 2, little=True)
        cards.append(walk.take(f"{name}.cardinality[{at}]", 2, little=True) + 1)
    if cookie == NO_RUNS or count >= NO_OFFSETS_BELOW:
        for at in range(count):
            walk.take(f"{name}.offset[{at}]", 4, little=True)
    for at in range(count):
        where = f"{name}.container[{at}]"
        if runs[at]:
            for run in range(walk.take(f"{where}.run_count", 2, little=True)):
                walk.take(f"{where}.run[{run}].start", 2, little=True)
                walk.take(f"{where}.run[{run}].len", 2, little=True)
        elif cards[at] > 4096:
            walk.take(f"{where}.word[0]", 8, little=True)
            walk.skip(8192 - 8)
        else:
            for value in range(min(cards[at], 3)):  # the first ones stand for all
                walk.take(f"{where}.value[{value}]", 2, little=True)
            walk.skip(2 * (cards[at] - min(cards[at], 3)))


def _bloom(walk: Walk, type: str) -> None:
    walk.take("hash_count", 4)


def _bitmap(walk: Walk, type: str) -> None:
    version = walk.take("version", 1)
    walk.take("row_count", 4)
    entry_count = walk.take("entry_count", 4)
    offs = []
    if walk.take("has_null", 1):
        offs.append(walk.signed("null_off"))
        if version == 2:
            walk.take("null_len", 4)
    if version == 1:
        for entry in range(entry_count):
            _key(walk, f"entry[{entry}].key", type)
            offs.append(walk.signed(f"entry[{entry}].off"))
    else:
        blocks = []
        for block in range(walk.take("block_count", 4)):
            _key(walk, f"block[{block}].key", type)
            blocks.append(walk.take(f"block[{block}].off", 4))
        blocks_len = walk.take("blocks_len", 4)
        blocks_at = walk.at
        for block, off in enumerate(blocks):
            walk.at = blocks_at + off
            for entry in range(walk.take(f"block[{block}].entry_count", 4)):
                where = f"block[{block}].entry[{entry}]"
                _key(walk, f"{where}.key", type)
                offs.append(walk.signed(f"{where}.off"))
                walk.take(f"{where}.len", 4)
        walk.at = blocks_at + blocks_len
    bitmaps_at = walk.at
    for number, off in enumerate(sorted({off for off in offs if off >= 0})[:8]):
        walk.at = bitmaps_at + off
        if walk.at < len(walk.payload):
            _roaring(walk, f"bitmap[{number}]")


def _bsi(walk: Walk, type: str) -> None:
    walk.take("version", 1)
    walk.take("row_count", 4)
    for sign in ("positive", "negative"):
        if walk.take(f"has_{sign}", 1):
            walk.take(f"{sign}.version", 1)
            walk.take(f"{sign}.min", 8)
            walk.take(f"{sign}.max", 8)
            _roaring(walk, f"{sign}.ebm")
            for number in range(walk.take(f"{sign}.slice_count", 4)):
                _roaring(walk, f"{sign}.slice[{number}]")


def _range_bitmap(walk: Walk, type: str) -> None:
    variable = type.startswith(("CHAR", "VARCHAR", "STRING"))
    walk.take("header_len", 4)
    walk.take("version", 1)
    walk.take("row_count", 4)
    if walk.take("cardinality", 4):
        _key(walk, "min", type)
        _key(walk, "max", type)
    dictionary_len = walk.take("dictionary_len", 4)
    dictionary_at = walk.at
    walk.take("dictionary.header_len", 4)
    walk.take("dictionary.version", 1)
    chunk_count = walk.take("dictionary.chunk_count", 4)
    walk.take("dictionary.offsets_len", 4)
    chunks_len = walk.take("dictionary.chunks_len", 4)
    for chunk in range(chunk_count):
        walk.take(f"dictionary.offset[{chunk}]", 4)
    keys_at = walk.at + chunks_len
    for chunk in range(chunk_count):
        where = f"dictionary.chunk[{chunk}]"
        walk.take(f"{where}.version", 1)
        _key(walk, f"{where}.key", type)
        for name in ("code", "off", "key_count", *(("offsets_len", "keys_len") if variable else ("keys_len", "key_len"))):
            walk.take(f"{where}.{name}", 4)
    walk.at = keys_at
    if keys_at < dictionary_at + dictionary_len:
        walk.take("dictionary.first_key_bytes", min(4, dictionary_at + dictionary_len - keys_at))
    walk.at = dictionary_at + dictionary_len
    walk.take("slices.header_len", 4)
    walk.take("slices.version", 1)
    slice_count = walk.take("slices.slice_count", 1)
    walk.take("slices.ebm_len", 4)
    walk.take("slices.indexes_len", 4)
    for number in range(slice_count):
        walk.take(f"slices.index[{number}].off", 4)
        walk.take(f"slices.index[{number}].len", 4)
    _roaring(walk, "slices.ebm")
    for number in range(slice_count):
        _roaring(walk, f"slices.slice[{number}]")
