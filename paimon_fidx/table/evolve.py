"""One schema seen through another: what the table's columns are in files written with an older (or newer) schema.

Columns are matched by field id. An index, like the data file, bears the *file's* names and types, so a predicate is
rewritten before an index is asked: columns renamed, columns that the file lacks answered (NULL in every row),
partition columns answered from the file's partition, and what cannot be compared by value in the file's type marked
as unknown.
"""
from __future__ import annotations

from dataclasses import dataclass

from ..predicate import ALWAYS, NEVER, And, Or
from ..types import PaimonType, parse_type
from .residual import matches_value

__all__ = ["FileColumn", "FileSchema", "compares_by_value", "is_constant", "rewrite"]

INTEGERS = {"TINYINT": (1, 3), "SMALLINT": (2, 5), "INT": (3, 10), "BIGINT": (4, 19)}  # rank, digits
UNKNOWN_PREFIX = "\0unknown "  # no Paimon column begins with NUL: an index has no entry under such a name


@dataclass(frozen=True, slots=True)
class FileColumn:
    """One column of the table in the files of one schema.

    name, type : its name and type there; None when the file does not have it
    direct : bool        whether a plain cast of the stored column gives the table's column
    reason : str | None  why an index on it must not be asked
    """

    name: str | None
    type: PaimonType | None
    direct: bool = True
    reason: str | None = None


class FileSchema:
    """The table's columns in files of one schema (and one set of written columns).

    table_fields, file_fields : lists of ``{"id", "name", "type"}``, as in Paimon's schema files
    write_cols : the columns that the files hold, when these are not all; defaulted : ids of fields with a default
    value, which Paimon puts in the place of NULLs when it reads.

    >>> old = FileSchema([{"id": 0, "name": "b", "type": "BIGINT"}], [{"id": 0, "name": "a", "type": "INT"}])
    >>> old.column("b").name
    'a'
    """

    def __init__(self, table_fields, file_fields, write_cols=None, defaulted=frozenset()):
        stored = {f["id"]: f for f in file_fields if write_cols is None or f["name"] in write_cols}
        self.columns = {f["name"]: _column(f, stored.get(f["id"]), f["id"] in defaulted) for f in table_fields}
        self.types = {f["name"]: parse_type(f["type"]) for f in file_fields}

    @classmethod
    def opaque(cls, table_fields, reason: str) -> FileSchema:
        """A schema of which no column may be asked: what is left of a predicate is what partition columns decide."""
        schema = cls(table_fields, ())
        schema.columns = {f["name"]: FileColumn(None, None, False, reason) for f in table_fields}
        return schema

    def column(self, name: str) -> FileColumn:
        return self.columns[name]


def _column(field, stored, defaulted: bool) -> FileColumn:
    if stored is None:
        if defaulted:
            return FileColumn(None, None, False, f"column {field['name']} has a default value, which this file lacks")
        return FileColumn(None, None)
    old, new = parse_type(stored["type"]), parse_type(field["type"])
    if isinstance(field["type"], dict):
        safe = _same_nested(stored["type"], field["type"])
    else:
        safe = compares_by_value(old, new)
    reason = None
    if not safe:
        reason = f"column {field['name']} changed its type from {_plain(old)} to {_plain(new)}"
    elif defaulted:
        reason = f"column {field['name']} has a default value, which replaces NULLs"
    return FileColumn(stored["name"], old, safe and not defaulted, reason)


def _same_nested(old, new) -> bool:
    """Whether two nested types are one: the same constructors, and the same fields by id, name and order."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return isinstance(old, str) and isinstance(new, str) and _plain(parse_type(old)) == _plain(parse_type(new))
    if old["type"].split()[0] != new["type"].split()[0] or old.get("length") != new.get("length"):
        return False
    for part in ("key", "value", "element"):
        if (part in old) != (part in new) or (part in old and not _same_nested(old[part], new[part])):
            return False
    ours, theirs = old.get("fields", ()), new.get("fields", ())
    return len(ours) == len(theirs) and all(
        a["id"] == b["id"] and a["name"] == b["name"] and _same_nested(a["type"], b["type"])
        for a, b in zip(ours, theirs)
    )


def _plain(data_type: PaimonType) -> str:
    return data_type.sql().removesuffix(" NOT NULL")


def compares_by_value(old: PaimonType, new: PaimonType) -> bool:
    """Whether a predicate on a column of type ``new`` says the same of the stored values of type ``old``.

    True where the conversion keeps every value: wider integers, longer strings, FLOAT to DOUBLE, more digits of the
    same scale, a finer timestamp.

    >>> compares_by_value(parse_type("INT"), parse_type("BIGINT"))
    True
    >>> compares_by_value(parse_type("DOUBLE"), parse_type("INT"))
    False
    """
    if _plain(old) == _plain(new):
        return True
    if old.root in INTEGERS and new.root in INTEGERS:
        return INTEGERS[old.root] <= INTEGERS[new.root]
    if old.root in ("TINYINT", "SMALLINT", "INT") and new.root == "DECIMAL":  # a BIGINT may be no double
        return new.precision - new.scale >= INTEGERS[old.root][1]
    if (old.root, new.root) == ("FLOAT", "DOUBLE"):
        return True
    if old.root == new.root == "DECIMAL":
        return old.scale == new.scale and old.precision <= new.precision
    if old.root == new.root and old.root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        # text has nanoseconds against the finest timestamps only
        return old.precision <= new.precision and (old.precision > 6) == (new.precision > 6)
    for kinds in (("CHAR", "VARCHAR", "STRING"), ("BINARY", "VARBINARY", "BYTES")):
        if old.root in kinds and new.root in kinds:
            return _capacity(old) <= _capacity(new) and not (new.root in ("CHAR", "BINARY") and old != new)
    return False


def _capacity(data_type: PaimonType) -> int:
    if data_type.root in ("STRING", "BYTES") or data_type.length is None:
        return (1 << 31) - 1
    return data_type.length


def rewrite(predicate, schema: FileSchema, table_types: dict, partition: dict, timezone: str):
    """The predicate to ask of a file's index.

    predicate : on the table's columns; schema : FileSchema of the file; table_types : {table column: PaimonType};
    partition : {partition column: value} of the file
    Returns (predicate on the file's columns, {file column: PaimonType} to bind it with, reasons): leaves that are
    known for every row have become the constants And(()) and Or(()), leaves that must not be asked stand on a column
    that no index has, and ``reasons`` says why.
    """
    types, reasons = dict(schema.types), []

    def leaf(node):
        return _rewrite_leaf(node, schema, table_types, partition, timezone, types, reasons)

    rewritten = predicate.fold(leaf, lambda parts: _join(And, parts), lambda parts: _join(Or, parts))
    return rewritten, types, tuple(dict.fromkeys(reasons))


def _join(kind, parts):
    """And / Or of rewritten parts, without the constants that do not matter."""
    neutral, decisive = (ALWAYS, NEVER) if kind is And else (NEVER, ALWAYS)
    kept = []
    for part in parts:
        if is_constant(part, decisive):
            return decisive
        if not is_constant(part, neutral):
            kept.append(part)
    if not kept:
        return neutral
    return kept[0] if len(kept) == 1 else kind(kept)


def is_constant(predicate, constant) -> bool:
    """Whether a predicate is ALWAYS (or NEVER), spelled And(()) (or Or(()))."""
    return type(predicate) is type(constant) and not predicate.children


def _rewrite_leaf(leaf, schema, table_types, partition, timezone, types, reasons):
    name = leaf.column.name
    if name in partition and leaf.column.map_key is None:
        return ALWAYS if matches_value(leaf, table_types[name], partition[name], timezone) else NEVER
    column = schema.column(name)
    if column.reason is not None:
        reasons.append(column.reason)
        unknown = UNKNOWN_PREFIX + name
        types[unknown] = table_types[name]
        return leaf.rename({name: unknown})
    if column.name is None:
        return ALWAYS if matches_value(leaf, table_types[name], None, timezone) else NEVER
    return leaf if column.name == name else leaf.rename({name: column.name})
