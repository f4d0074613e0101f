"""Random predicates over every table: through the indexes as by filtering a full scan, row by row."""
from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from paimon_fidx.predicate import And, Leaf, Or, col
from paimon_fidx.result import Decision
from paimon_fidx.table import open_table
from paimon_fidx.table.residual import Residual
from tests.golden import data

from .support import golden_path, other_tables

OTHERS = {name: str(path) for name, path in other_tables().items() if not name.startswith("t_")}
PATHS = {name: golden_path(name) for name in data.table_names()} | OTHERS
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
TEXT = ("starts_with", "ends_with", "contains", "not_contains", "like", "not_like")
QUESTIONS = 60


def pools(table: pa.Table) -> dict:
    """{column or (map column, key): its values, the type's Arrow name}"""
    found = {}
    for field, column in zip(table.schema, table.columns):
        values = column.to_pylist()
        if pa.types.is_map(field.type):
            rows = [dict(v or ()) for v in values]
            for key in sorted({k for row in rows for k in row}) + ["absent"]:
                found[field.name, key] = [row.get(key) for row in rows]
        else:
            found[field.name, None] = values
    return found


def leaf(rng, pool):
    (name, key), values = rng.choice(list(pool.items()))
    column = col(name) if key is None else col(name)[key]
    known = [v for v in values if v is not None]
    text = bool(known) and isinstance(known[0], str)
    if not known or rng.random() < 0.15:
        return Leaf(column, rng.choice(("is_null", "is_not_null")))

    def literal():
        value = rng.choice(known)
        if rng.random() < 0.2:
            return None
        if isinstance(value, bool) or rng.random() < 0.7:
            return value
        if isinstance(value, int):
            return value + rng.choice((-1, 1, 10**12, -10**12))
        return value + "x" if isinstance(value, str) else value

    op = rng.choice(COMPARISONS + ("in", "not_in", "between", "not_between") + (TEXT if text else ()))
    if op in ("in", "not_in"):
        return Leaf(column, op, [literal() for _ in range(rng.randrange(5))])
    if op in ("between", "not_between"):
        return Leaf(column, op, (literal(), literal()))
    if op in TEXT:
        part = rng.choice(known)[rng.randrange(2):][:2]
        return Leaf(column, op, (f"%{part}_%" if op.endswith("like") else part,))
    return Leaf(column, op, (literal(),))


def tree(rng, pool, depth=0):
    if depth == 3 or rng.random() < 0.4:
        return leaf(rng, pool)
    kind = rng.choice((And, Or))
    parts = [tree(rng, pool, depth + 1) for _ in range(rng.randrange(1, 4))]
    return ~kind(parts) if rng.random() < 0.2 else kind(parts)


@pytest.mark.parametrize("name", sorted(PATHS))
def test_random_predicates(name):
    opened = open_table(PATHS[name])
    everything = opened.scan().to_arrow()
    pool, rng = pools(everything), random.Random(name)
    for _ in range(QUESTIONS):
        predicate = tree(rng, pool)
        expected = everything.filter(pa.array(Residual(predicate, opened.types).mask(everything)))
        scan = opened.scan(predicate, on_index_error="raise")
        assert same(scan.to_arrow(), expected), predicate
        assert scan.count() == expected.num_rows, predicate
        for verdict in scan.files:
            assert verdict.decision is not Decision.ROWS or verdict.rows.max() < verdict.row_count


def same(ours: pa.Table, theirs: pa.Table) -> bool:
    """Equal row by row, NaN to itself."""
    if ours.schema != theirs.schema or ours.num_rows != theirs.num_rows:
        return False
    for a, b in zip(ours.columns, theirs.columns):
        if pa.types.is_floating(a.type):
            if not np.array_equal(a.to_numpy(), b.to_numpy(), equal_nan=True):
                return False
        elif not a.equals(b):
            return False
    return True
