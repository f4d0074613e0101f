"""The golden data: bytes and answers that Java Paimon wrote, as plain Python objects.

Two places hold it, and both look the same from here:

* the *full set*: one directory per case (``cases/<index>/<case>/meta.json`` ...). Found at ``$PAIMON_FIDX_GOLDEN``,
  or as ``shared/golden`` beside the repository or beside any directory above it;
* the *committed selection* beside this file, packed by ``choose.py``: one line of JSON per case.

Example::

    from tests.golden import data
    for case in data.cases("bsi", "INT"):
        case.values, case.body, case.expect
    data.tables() / "warehouse" / "db.db" / "orders"      # a real Paimon table
    data.expected("orders")["queries"]                     # what Java reads from it
"""
from __future__ import annotations

import base64
import gzip
import json
import os
import re
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Iterator

HERE = Path(__file__).resolve().parent
MAGIC = 1493475289347502
PACKED = "containers.jsonl.gz"  # only the committed selection has this file


@dataclass(frozen=True)
class Case:
    """One column under one index. ``body`` and ``expect`` are None when Java could not write it."""

    name: str
    index: str
    type: str
    shape: str
    row_count: int
    options: dict[str, str]
    values: list[Any]
    body: bytes | None
    expect: list[dict] | None
    write_error: str | None = None

    def container(self, column: str = "c") -> bytes:
        """A whole index file around the body, as open_index takes it."""
        return wrap(column, self.index, self.body)


@dataclass(frozen=True)
class Container:
    """One whole index file. ``header`` is None when it cannot be parsed."""

    name: str
    row_count: int
    columns: list[dict]
    header: dict | None
    options: dict[str, dict]
    values: dict[str, list]
    data: bytes
    expect: list[dict]

    @property
    def special(self) -> bool:
        return "-special-" in self.name

    @property
    def schema(self) -> dict[str, str]:
        return {column["name"]: column["type"] for column in self.columns}


def root() -> Path:
    """The directory in use: the full set if there is one, else the committed selection."""
    named = os.environ.get("PAIMON_FIDX_GOLDEN")
    if named:
        return Path(named).resolve(strict=True)
    for folder in HERE.parents:
        full = folder / "shared" / "golden"
        if (full / "MANIFEST.json").is_file():
            return full
    return HERE


def is_full() -> bool:
    return not (root() / PACKED).exists()


def manifest() -> dict:
    """Versions, seed and counts of the full set."""
    return _json(root(), "MANIFEST.json")


def rejects() -> list[dict]:
    """What each index accepts or refuses, one entry per attempt."""
    return _json(root(), "rejects.json")


def groups() -> list[tuple[str, str]]:
    """Every (index, type) that has cases, sorted."""
    return sorted(_places(root()))


def cases(index: str | None = None, type: str | None = None) -> Iterator[Case]:
    """The cases of one index and type, or of all, ordered by index, type and name."""
    for group in groups():
        if index in (None, group[0]) and type in (None, group[1]):
            for place in _places(root())[group]:
                yield from _cases_at(place)


@cache
def containers() -> tuple[Container, ...]:
    """Every whole index file, ordered by name."""
    folder = root()
    if not is_full():
        return tuple(container_from(row) for row in _lines(folder / PACKED))
    return tuple(container_from(container_row(each)) for each in sorted((folder / "containers").iterdir()))


def tables() -> Path:
    """The directory that holds ``warehouse/db.db/<table>`` and ``expected/``."""
    return root() / "tables"


def table_names() -> list[str]:
    return sorted(path.name for path in (tables() / "warehouse" / "db.db").iterdir() if path.is_dir())


def expected(table: str) -> dict:
    """What Java makes of one table: its files, rows, and answered queries."""
    return _json(tables() / "expected", f"{table}.json")


def wrap(column: str, index: str, body: bytes) -> bytes:
    """The smallest container: one column with one index."""
    head = struct.pack(">i", 1) + _utf(column) + struct.pack(">i", 1) + _utf(index)
    head_len = 16 + len(head) + 12
    return struct.pack(">qii", MAGIC, 1, head_len) + head + struct.pack(">iii", head_len, len(body), 0) + body


# --- rows of the packed form, also what choose.py writes


def case_row(folder: Path) -> dict:
    """One case directory of the full set as one JSON object."""
    meta = _json(folder, "meta.json")
    body = load(folder, "index.bin")
    row = {"name": folder.name, **meta, "values": _json(folder, "values.json")}
    if body is not None:
        row["body"] = base64.b64encode(body).decode()
        row["expect"] = _json(folder, "expect.json")
    return row


def container_row(folder: Path) -> dict:
    """One container directory of the full set as one JSON object."""
    row = {"name": folder.name, **_json(folder, "meta.json")}
    row["values"] = _json(folder, "values.json") if load(folder, "values.json") is not None else {}
    row["data"] = base64.b64encode(load(folder, "file.index")).decode()
    row["expect"] = _json(folder, "expect.json")
    return row


def case_from(row: dict) -> Case:
    body = row.get("body")
    return Case(row["name"], row["index"], row["type"], row["shape"], row["row_count"], row["options"], row["values"],
                None if body is None else base64.b64decode(body), row.get("expect"), row.get("write_error"))


def container_from(row: dict) -> Container:
    return Container(row["name"], row["row_count"], row["columns"], row.get("header"), row.get("options", {}),
                     row["values"], base64.b64decode(row["data"]), row["expect"])


def group_file(index: str, type: str) -> str:
    """Where the packed form keeps a group: cases/bsi/decimal_10_2.jsonl.gz."""
    return f"cases/{index}/{re.sub(r'[^a-z0-9]+', '_', type.lower()).strip('_')}.jsonl.gz"


def load(folder: Path, name: str) -> bytes | None:
    """The bytes of a file that may be there plain or gzip-compressed, None when it is not there."""
    plain, packed = folder / name, folder / f"{name}.gz"
    if plain.exists():
        return plain.read_bytes()
    return gzip.decompress(packed.read_bytes()) if packed.exists() else None


def _json(folder: Path, name: str) -> Any:
    data = load(folder, name)
    if data is None:
        raise FileNotFoundError(folder / name)
    return json.loads(data)


def _lines(path: Path) -> Iterator[dict]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield json.loads(line)


@cache
def _places(folder: Path) -> dict[tuple[str, str], list[Path]]:
    """Where each group lies: case directories in the full set, one packed file in the selection."""
    places: dict[tuple[str, str], list[Path]] = {}
    if is_full():
        for meta_path in sorted(folder.glob("cases/*/*/meta.json")):
            meta = json.loads(meta_path.read_bytes())
            places.setdefault((meta["index"], meta["type"]), []).append(meta_path.parent)
    else:
        for index, type in json.loads((folder / "groups.json").read_text()):
            places[index, type] = [folder / group_file(index, type)]
    return places


def _cases_at(place: Path) -> Iterator[Case]:
    rows = [case_row(place)] if place.is_dir() else _lines(place)
    return map(case_from, rows)


def _utf(text: str) -> bytes:
    encoded = text.encode("utf-8")
    return struct.pack(">H", len(encoded)) + encoded
