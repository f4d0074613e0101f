"""The layout tables in the format rooms' docstrings say what the writers write: offset, width and name of each field."""
from __future__ import annotations

import re
from importlib import import_module

import pyarrow as pa
import pytest

from paimon_fidx.build import build_index
from tests.hostile import layout

VALUES = [1, 2, None, -2, 5, 2]
WIDTHS = {"u8": 1, "be32": 4, "be64": 8, "key": 4}  # of an INT key
ROW = re.compile(r"^ +(\d+) +([a-z]\S*) +(\w+)")

# room, the line that starts a table (None: the first one), options of the writer, the field where its offset 0 stands
TABLES = [
    ("container", None, {}, "magic"),
    ("bloom_filter", None, {}, "hash_count"),
    ("bitmap", "Version 1", {"version": "1"}, "version"),
    ("bitmap", "Version 2", {"version": "2"}, "version"),
    ("bitmap", "    index block", {"version": "2"}, "block[0].entry_count"),
    ("bsi", None, {}, "version"),
    ("bsi", "    part", {}, "positive.version"),
    ("bsi", "    part", {}, "negative.version"),
    ("range_bitmap", None, {}, "header_len"),
    ("range_bitmap", "    dictionary", {}, "dictionary.header_len"),
    ("range_bitmap", "    slices", {}, "slices.header_len"),
]


def table(room: str, start: str | None) -> list[tuple[int, str, str]]:
    """(at, type, name) of the rows with a fixed offset."""
    lines = import_module(f"paimon_fidx.core.{room}").__doc__.splitlines()
    at = 0 if start is None else next(number for number, line in enumerate(lines) if line.startswith(start))
    rows = []
    for line in lines[at + 1 :]:
        found = ROW.match(line)
        if found:
            rows.append((int(found[1]), found[2], found[3]))
        elif rows and not line.strip():
            break
    return rows


def written(room: str, options: dict[str, str]) -> list[layout.Field]:
    """The fields of what the writer writes, the segment's own from its first byte."""
    kind = room.replace("_", "-")
    index = "bitmap" if room == "container" else kind
    settings = {f"file-index.{index}.columns": "c"} | {f"file-index.{index}.c.{name}": value for name, value in options.items()}
    payload = bytes(build_index(pa.table({"c": pa.array(VALUES, pa.int32())}), settings, schema={"c": "INT"}))
    if room == "container":
        return layout.fields(payload)
    [(_, _, start, length)] = layout._container(layout.Walk(payload))
    at = start.read(payload)
    return layout.body_fields(kind, "INT", payload[at : at + length.read(payload)])


@pytest.mark.parametrize("room, start, options, first", TABLES)
def test_the_writer_writes_its_table(room, start, options, first):
    rows, fields = table(room, start), written(room, options)
    base = next(field.at for field in fields if field.name == first)
    by_place = {field.at - base: field for field in fields if field.at >= base}
    checked = 0
    for at, kind, name in rows:
        if kind in WIDTHS and at in by_place:
            assert by_place[at].len == WIDTHS[kind], f"{name} at {at}: {by_place[at]}"
            assert by_place[at].name.rpartition(".")[2] == name, f"{name} at {at}: {by_place[at]}"
            checked += 1
    assert checked == sum(kind in WIDTHS for _, kind, _ in rows) >= 1
    assert [at for at, _, _ in rows] == sorted(at for at, _, _ in rows)
