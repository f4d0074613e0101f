"""What the table tests share: golden JSON as Python values, predicates of golden JSON, paths of other tables."""
from __future__ import annotations

import datetime
import decimal
import json
import os
import shutil
from pathlib import Path

import fastavro
import pyarrow as pa

from paimon_fidx.predicate import And, Leaf, Or, col, timestamp_ns
from paimon_fidx.types import parse_type
from tests.golden import data

EPOCH = datetime.date(1970, 1, 1)
OPS = {
    "EQUAL": "=", "NOT_EQUAL": "!=", "LESS_THAN": "<", "LESS_OR_EQUAL": "<=", "GREATER_THAN": ">",
    "GREATER_OR_EQUAL": ">=", "IN": "in", "NOT_IN": "not_in", "IS_NULL": "is_null", "IS_NOT_NULL": "is_not_null",
    "BETWEEN": "between", "NOT_BETWEEN": "not_between", "STARTS_WITH": "starts_with", "ENDS_WITH": "ends_with",
    "CONTAINS": "contains", "LIKE": "like",
}


def golden_path(table: str) -> str:
    return str(data.tables() / "warehouse" / "db.db" / table)


def copied(table: str, folder) -> Path:
    """A golden table copied, to be damaged."""
    target = Path(folder) / table
    shutil.copytree(golden_path(table), target)
    return target


def other_tables() -> dict[str, Path]:
    """{name: path} of the tables that other Paimon versions wrote; empty where they are not."""
    named = os.environ.get("PAIMON_FIDX_TABLES")
    roots = [Path(named)] if named else [p / "shared" / "tables" for p in Path(__file__).resolve().parents]
    for root in roots:
        if root.is_dir():
            found = sorted(root.glob("*/*/schema")) + sorted(root.glob("*/*/*/schema"))
            return {path.parent.name: path.parent for path in found}
    return {}


def literal(value, type_text: str):
    """A golden JSON literal as the Python value a user would write."""
    data_type = parse_type(type_text)
    if value is None:
        return None
    if data_type.root in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
        return int(value)
    if data_type.root in ("FLOAT", "DOUBLE"):
        return float(value)
    if data_type.root == "DECIMAL":
        return decimal.Decimal(value)
    if data_type.root == "DATE":
        return EPOCH + datetime.timedelta(days=value)
    if data_type.root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        return timestamp_ns(value["millis"] * 1_000_000 + value["nanosOfMilli"])
    return value


def predicate(node: dict, columns: list[dict]):
    """A golden JSON predicate as one of ours."""
    if "and" in node:
        return And([predicate(child, columns) for child in node["and"]])
    if "or" in node:
        return Or([predicate(child, columns) for child in node["or"]])
    types = {c["name"]: c["type"] for c in columns}
    column, name = col(node["column"]), node["column"]
    if name not in types:  # attrs[os]: a key of a MAP column
        base, key = name[:-1].split("[", 1)
        column, type_text = col(base)[key], parse_type(types[base]).value.sql()
    else:
        type_text = types[name]
    return Leaf(column, OPS[node["op"]], tuple(literal(v, type_text) for v in node["literals"]))


def golden_value(value, data_type: pa.DataType):
    """An Arrow value as golden JSON writes it."""
    if value is None:
        return None
    if pa.types.is_map(data_type):
        return dict(value)
    if pa.types.is_decimal(data_type):
        return format(value, "f")
    if pa.types.is_date(data_type):
        return (value - EPOCH).days
    if pa.types.is_timestamp(data_type):
        nanos = value * {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[data_type.unit]
        return {"millis": nanos // 10**6, "nanosOfMilli": nanos % 10**6}
    return value


def golden_rows(table: pa.Table) -> list[str]:
    """The rows of an Arrow table as sorted JSON texts."""
    columns = []
    for field, column in zip(table.schema, table.columns):
        values = column.cast(pa.int64()) if pa.types.is_timestamp(field.type) else column
        columns.append([golden_value(v, field.type) for v in values.to_pylist()])
    return sorted_rows(zip(*columns))


def sorted_rows(rows) -> list[str]:
    return sorted(json.dumps(list(row), sort_keys=True) for row in rows)


def edit_manifests(table: Path, edit, without=()) -> None:
    """Rewrite every manifest of a (copied) table.

    ``edit(entry)`` changes an entry in place; ``without`` names fields of
    ``_FILE`` that the manifest's schema loses, as if an older version had written it.
    """
    for path in (table / "manifest").iterdir():
        if path.name.startswith(("manifest-list", "index-manifest")):
            continue
        with open(path, "rb") as stream:
            reader = fastavro.reader(stream)
            schema, codec, entries = reader.writer_schema, reader.codec, list(reader)
        if without:
            schema = json.loads(json.dumps(schema))
            (file,) = (field["type"] for field in schema["fields"] if field["name"] == "_FILE")
            file["fields"] = [field for field in file["fields"] if field["name"] not in without]
            schema.pop("__fastavro_parsed__", None)
            schema.pop("__named_schemas", None)
        for entry in entries:
            edit(entry)
        with open(path, "wb") as stream:
            fastavro.writer(stream, schema, entries, codec=codec)


def manifest_records(table, names) -> list[dict]:
    """The raw entries of a snapshot's manifests. names : of its manifest lists ("baseManifestList", ...)."""
    latest = max((Path(table) / "snapshot").glob("snapshot-*"), key=lambda p: int(p.name.rpartition("-")[2]))
    snapshot, records = json.loads(latest.read_text()), []
    for name in names:
        with open(Path(table) / "manifest" / snapshot[name], "rb") as stream:
            manifests = [record["_FILE_NAME"] for record in fastavro.reader(stream)]
        for manifest in manifests:
            with open(Path(table) / "manifest" / manifest, "rb") as stream:
                records += fastavro.reader(stream)
    return records


def live_records(table) -> dict[str, dict]:
    """{data file name: its raw manifest entry} of the latest snapshot, as every reader understands it."""
    records = manifest_records(table, ("baseManifestList", "deltaManifestList"))

    def identity(record):
        file = record["_FILE"]
        return (record["_PARTITION"], record["_BUCKET"], file["_LEVEL"], file["_FILE_NAME"],
                tuple(file["_EXTRA_FILES"]), file["_EMBEDDED_FILE_INDEX"], file["_EXTERNAL_PATH"])

    deleted = {identity(record) for record in records if record["_KIND"] == 1}
    live = [record for record in records if record["_KIND"] == 0 and identity(record) not in deleted]
    assert len({record["_FILE"]["_FILE_NAME"] for record in live}) == len(live)
    return {record["_FILE"]["_FILE_NAME"]: record for record in live}


def without_index(records: dict) -> dict:
    """Raw entries without what rewriting an index changes; a field that a version does not know has no value."""
    kept = {}
    for name, record in records.items():
        file = {k: v for k, v in record["_FILE"].items()
                if v is not None and k not in ("_EXTRA_FILES", "_EMBEDDED_FILE_INDEX")}
        others = [extra for extra in record["_FILE"]["_EXTRA_FILES"] if not extra.endswith(".index")]
        kept[name] = {**record, "_FILE": {**file, "other extra files": others}}
    return kept


def contents(folder) -> dict[str, bytes]:
    """{path below a folder: bytes}"""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(Path(folder).rglob("*")) if p.is_file()}
