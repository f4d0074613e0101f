"""What of a predicate is handed to pypaimon's planner.

The planner prunes by partition values, bucket and min/max statistics, and compares as Python compares. Only leaves
where that is Spark's comparison are handed over: whole numbers, strings and dates, of columns whose type never
changed (statistics of older files are in the older type) and that have no default value. Everything else is left
out, which keeps more files, never fewer: a conjunction loses the children that cannot be said, a disjunction with
such a child is not handed over at all.
"""
from __future__ import annotations

import datetime

from pypaimon.common.predicate import Predicate

__all__ = ["to_pypaimon"]

MAX_DEPTH = 32      # pypaimon walks predicates recursively
MAX_LEAVES = 1000   # and tests every file against every leaf
WIDTH = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
TEXT = ("CHAR", "VARCHAR", "STRING")
COMPARISONS = {
    "=": "equal", "<": "lessThan", "<=": "lessOrEqual", ">": "greaterThan", ">=": "greaterOrEqual", "in": "in",
    "between": "between",
}


def to_pypaimon(predicate, fields: dict) -> Predicate | None:
    """The pypaimon predicate that keeps every file that ``predicate`` needs, or None for "all of them".

    predicate : predicate of paimon_fidx; fields : column name -> (position in the table's schema, PaimonType), only
    of columns that may be pushed.
    """
    if len(predicate.leaves()) > MAX_LEAVES:
        return None
    pushed, _ = predicate.fold(
        lambda leaf: (_leaf(leaf, fields), 0),
        lambda parts: _join("and", parts, all_needed=False),
        lambda parts: _join("or", parts, all_needed=True),
    )
    return pushed


def _join(method: str, parts, all_needed: bool):
    """(predicate or None, depth) of an And or Or whose parts are such pairs."""
    kept = [pushed for pushed, _ in parts if pushed is not None]
    depth = 1 + max((depth for _, depth in parts), default=0)
    if not kept or depth > MAX_DEPTH or (all_needed and len(kept) < len(parts)):
        return None, depth
    return kept[0] if len(kept) == 1 else Predicate(method, None, None, kept), depth


def _leaf(leaf, fields):
    if leaf.column.map_key is not None or leaf.column.name not in fields:
        return None
    index, data_type = fields[leaf.column.name]
    if leaf.op in ("is_null", "is_not_null"):
        return Predicate("isNull" if leaf.op == "is_null" else "isNotNull", index, leaf.column.name, None)
    method = COMPARISONS.get(leaf.op)
    if method is None or not leaf.literals or not all(_same_in_python(v, data_type) for v in leaf.literals):
        return None
    return Predicate(method, index, leaf.column.name, list(leaf.literals))


def _same_in_python(value, data_type) -> bool:
    """Whether Python's comparison of a stored value with this literal is Spark's, and its hash Java's."""
    if data_type.root in WIDTH:
        if type(value) is not int:
            return False
        bound = 1 << (WIDTH[data_type.root] - 1)
        return -bound <= value < bound
    if data_type.root in TEXT:
        return type(value) is str
    if data_type.root == "DATE":
        return type(value) is datetime.date
    return False
