"""The Milvus samples and their manifests; values of ours in the manifests' spelling."""
from __future__ import annotations

import functools
import json
import struct
import zipfile
from pathlib import Path

PACKED = Path(__file__).parents[1] / "golden" / "milvus" / "samples.zip"
MANIFESTS = ("manifest.json", "manifest-v23.json", "manifest-real.json")


@functools.cache
def files() -> dict[str, bytes]:
    with zipfile.ZipFile(PACKED) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


@functools.cache
def entries() -> tuple[dict, ...]:
    """All manifest entries, each with its manifest's name under "manifest"."""
    return tuple({**each, "manifest": name} for name in MANIFESTS for each in json.loads(files()[name])["files"])


def data(entry: dict) -> bytes:
    return files()[entry["file"]]


def binlogs() -> list[dict]:
    """Entries of readable files in the binlog container."""
    return [each for each in entries() if "descriptor" in each]


def find(part: str) -> bytes:
    """The only sample whose name contains a text."""
    names = [each["file"] for each in entries() if part in each["file"]]
    assert len(names) == 1, names
    return files()[names[0]]


def ids(entry: dict) -> str:
    name = entry["file"].split("/")
    return f"{name[0]}-{name[1] if len(name) > 1 else ''}-{entry.get('data_type', '')}-{'-'.join(name[-2:])}"


ARRAY_KINDS = {"Bool": "bool", "Int8": "int32", "Int16": "int32", "Int32": "int32", "Int64": "int64"}


def spelled(value, data_type: str, element_type: str | None = None):
    """A value of ``to_arrow().to_pylist()`` as the manifests spell it."""
    if value is None:
        return None
    if data_type == "Float":
        return "f32:" + struct.pack(">f", value).hex()
    if data_type == "Double":
        return "f64:" + struct.pack(">d", value).hex()
    if data_type in ("JSON", "Geometry", "BinaryVector", "BFloat16Vector"):
        return "hex:" + value.hex()
    if data_type in ("FloatVector", "Float16Vector", "Int8Vector"):
        code = {"FloatVector": "f", "Float16Vector": "H", "Int8Vector": "b"}[data_type]
        return "hex:" + struct.pack(f"<{len(value)}{code}", *value).hex()
    if data_type == "SparseFloatVector":
        return "hex:" + b"".join(struct.pack("<If", pair["index"], pair["value"]) for pair in value).hex()
    if data_type == "ArrayOfVector":
        dim = {"dim": len(value[0])} if value else {}
        return {**dim, "float_hex": "hex:" + b"".join(struct.pack(f"<{len(each)}f", *each) for each in value).hex()}
    if data_type == "Array":
        if element_type == "Float":
            return {"float_hex": "hex:" + struct.pack(f"<{len(value)}f", *value).hex()}
        if element_type == "Double":
            return {"double": ["f64:" + struct.pack(">d", each).hex() for each in value]}
        return {ARRAY_KINDS.get(element_type, "string"): value}
    return value
