"""Does an index agree with the rows it is about? Row by row, whoever built it.

An index is built anew from the rows and compared. Equal bytes agree. Where another writer puts the same rows into other
bytes, bitmap, bsi and range-bitmap are asked for the rows of every value; a Bloom filter, which knows no rows, must
have every bit that the file's values set.
"""
from __future__ import annotations

import math

from ..core.bloom_filter import size_of
from ..core.keys import Keys
from ..index import open_index
from ..options import IndexOptions, IndexPlan

__all__ = ["disagreements", "plans_of"]

BLOOM_HEAD_LEN = 4
NO_TYPE = "the file's schema has no such column"


def plans_of(index, types: dict, options: IndexOptions) -> tuple[dict, list]:
    """({(entry name, kind): IndexPlan that builds it anew}, problems) of an open index.

    types : {column: PaimonType} of the file's schema; options : the table's, for block and chunk sizes
    """
    asked = {(plan.name, plan.kind): plan.options for plan in options.plans}
    plans, problems = {}, []
    for name, kinds in index.columns.items():
        column, key, type_ = _column(name, types)
        if type_ is None:
            problems.append(f"{name}: {NO_TYPE}")
            continue
        for kind in kinds:
            settings = dict(asked.get((name, kind), ()))
            start, length = index.entries(name)[kind]
            if start >= 0 and kind == "bitmap":
                settings["version"] = index.reader(name, kind, type_).version
            elif start >= 0 and kind == "bloom-filter":
                reader = index.reader(name, kind, type_)
                settings = _bloom_settings((length - BLOOM_HEAD_LEN) * 8, reader.hash_count, settings)
            plans[name, kind] = IndexPlan(column, key, kind, settings)
    return plans, problems


def _column(name: str, types: dict):
    """(column, MAP key, type of the values) of an entry's name; the type is None when there is no such column."""
    if name in types:
        return name, None, types[name]
    for column in sorted(types, key=len, reverse=True):
        if types[column].root == "MAP" and name.startswith(column + "[") and name.endswith("]"):
            return column, name[len(column) + 1:-1], types[column].value
    return name, None, None


def _bloom_settings(bit_count: int, hash_count: int, settings: dict) -> dict:
    """Options that make a filter of this size and number of hashes: the given ones when they do."""
    if size_of(settings.get("items", 1_000_000), settings.get("fpp", 0.1)) == (bit_count, hash_count):
        return settings
    ln2 = math.log(2)
    first = max(1, math.ceil(bit_count * ln2 / (hash_count + 0.5)))
    last = max(first, math.floor(bit_count * ln2 / max(hash_count - 0.5, 0.1)))
    for items in sorted({(first + last) // 2, first, last, max(1, round(bit_count * ln2 / hash_count))}):
        fpp = math.exp(-(bit_count - 4) * ln2 * ln2 / items)
        if 0 < fpp < 1 and size_of(items, fpp) == (bit_count, hash_count):
            return {"items": items, "fpp": fpp}
    return settings


def disagreements(stored: bytes, fresh: bytes, types: dict) -> list[str]:
    """In which entries, and how, an index differs from one that was built from the rows; empty: they agree.

    stored, fresh : whole index files with the same columns and kinds. Raises FileIndexError for damaged bytes.
    """
    found = []
    with open_index(stored, types) as old, open_index(fresh, types) as new:
        for name, kinds in old.columns.items():
            type_ = _column(name, types)[2]
            for kind in kinds if type_ is not None else ():
                why = _differ(stored, fresh, old, new, name, kind, type_)
                if why is not None:
                    found.append(f"{kind} on {name}: {why}")
    return found


def _differ(stored, fresh, old, new, name, kind, type_) -> str | None:
    (old_at, old_len), (new_at, new_len) = old.entries(name)[kind], new.entries(name)[kind]
    old_body = stored[old_at:old_at + old_len] if old_at >= 0 else None
    new_body = fresh[new_at:new_at + new_len] if new_at >= 0 else None
    if old_body == new_body:
        return None
    if old_body is None:  # an empty entry: every row is NULL
        rows = len(new.reader(name, kind, type_).value_rows()) if kind != "bloom-filter" else any(new_body[4:])
        return f"is empty, but {rows} rows have a value" if rows and kind != "bloom-filter" else \
            "is empty, but rows have a value" if rows else None
    if new_body is None:
        return "has values, but every row is NULL"
    if kind == "bloom-filter":
        return _bloom_differs(old_body, new_body)
    before, after = old.reader(name, kind, type_), new.reader(name, kind, type_)
    if before.row_count != after.row_count:
        return f"is about {before.row_count} rows, the file has {after.row_count}"
    return _rows_differ(before, after, type_.key_kind)


def _bloom_differs(old: bytes, new: bytes) -> str | None:
    if len(old) != len(new) or old[:BLOOM_HEAD_LEN] != new[:BLOOM_HEAD_LEN]:
        return None  # no options make such a filter: it is not Java's arithmetic, and cannot be compared
    ours, theirs = int.from_bytes(new[4:], "big"), int.from_bytes(old[4:], "big")
    lost, more = (ours & ~theirs).bit_count(), (theirs & ~ours).bit_count()
    if lost:
        return f"says that values are absent which the file holds ({lost} bits are missing)"
    return f"was built from other values too ({more} bits more)" if more else None


def _rows_differ(before, after, key_kind) -> str | None:
    """Row by row: the NULL rows, then the rows of every value that the file holds."""
    wrong = before.value_rows() ^ after.value_rows()
    for key in after.counts():
        one = Keys(key_kind, [(key, key + b"\0") if isinstance(key, bytes) else (key, key)])
        wrong |= before.select(one) ^ after.select(one)
    if not wrong:
        return None
    return f"{len(wrong)} rows have other values in the file, the first is row {wrong.min()}"
