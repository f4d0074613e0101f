"""What is true: an independent model of a column, straight from its values, by Spark SQL's rules.

NULL is never selected by a comparison; NaN equals itself and is the largest value; the zeros are equal; strings
compare by the bytes of their UTF-8; timestamps compare by nanoseconds. A stored TIMESTAMP(p <= 3) holds whole
milliseconds and p <= 6 whole microseconds: golden values with more digits are floored first, as every index does.
"""
from __future__ import annotations

import datetime as dt
import hashlib
import math
import re
from bisect import bisect_left, bisect_right
from decimal import Decimal
from typing import Any, Callable, Iterable

import numpy as np
from pyroaring import BitMap

import paimon_fidx as fidx

NULL_RANK = -1  # also the last place of a table over ranks, which is always False


# --- values and literals


def precision(type: str) -> int:
    """The p of TIMESTAMP(p)."""
    return int(re.search(r"\((\d+)", type)[1])


def is_timestamp(type: str) -> bool:
    return type.startswith("TIMESTAMP")


def is_nanos(type: str) -> bool:
    """Whether the index keeps fewer digits (microseconds) than the column."""
    return is_timestamp(type) and precision(type) > 6


def nanoseconds(value: dict) -> int:
    return value["millis"] * 1_000_000 + value["nanosOfMilli"]


def key(type: str, value: Any) -> Any:
    """A golden JSON value as something that compares by Spark SQL's rules. None stays None."""
    if value is None:
        return None
    if type in ("FLOAT", "DOUBLE"):
        number = float(value)
        return (True, 0.0) if math.isnan(number) else (False, number + 0.0)  # -0.0 + 0.0 is 0.0
    if type.startswith("DECIMAL"):
        return Decimal(value)
    if type.startswith(("CHAR", "VARCHAR", "STRING")):
        return value.encode("utf-8")
    if type.startswith(("BINARY", "VARBINARY", "BYTES")):
        return bytes.fromhex(value)
    if is_timestamp(type):
        return nanoseconds(value)
    return int(value)


def stored_key(type: str, value: Any) -> Any:
    """The key of a value in the column: timestamps cut to the digits that their type can hold."""
    found = key(type, value)
    if found is not None and is_timestamp(type) and not is_nanos(type):
        unit = 1_000_000 if precision(type) <= 3 else 1_000
        found -= found % unit
    return found


def literal(type: str, value: Any) -> Any:
    """A golden JSON literal as the Python value that a user of the library would write."""
    if value is None:
        return None
    if type == "DATE":
        if not -719162 <= value <= 2932896:  # outside the years 1 to 9999 of datetime.date
            return np.datetime64(value, "D")
        return dt.date(1970, 1, 1) + dt.timedelta(days=value)
    if type.startswith("TIME("):
        return (dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=value)).time()
    if type == "BOOLEAN":
        return value
    if type in ("FLOAT", "DOUBLE"):
        return float(value)
    if type.startswith("DECIMAL"):
        return Decimal(value)
    if type.startswith(("CHAR", "VARCHAR", "STRING")):
        return value
    if type.startswith(("BINARY", "VARBINARY", "BYTES")):
        return bytes.fromhex(value)
    if is_timestamp(type):
        return fidx.timestamp_ns(nanoseconds(value))
    return int(value)


def leaf(column: Any, op: str, literals: list) -> Any:
    """The library's predicate for one golden expectation. ``column``: what fidx.col gives."""
    build: dict[str, Callable] = {
        "EQUAL": lambda: column == literals[0],
        "NOT_EQUAL": lambda: column != literals[0],
        "LESS_THAN": lambda: column < literals[0],
        "LESS_OR_EQUAL": lambda: column <= literals[0],
        "GREATER_THAN": lambda: column > literals[0],
        "GREATER_OR_EQUAL": lambda: column >= literals[0],
        "IN": lambda: column.is_in(literals),
        "NOT_IN": lambda: column.not_in(literals),
        "BETWEEN": lambda: column.between(*literals),
        "NOT_BETWEEN": lambda: column.not_between(*literals),
        "IS_NULL": lambda: column.is_null(),
        "IS_NOT_NULL": lambda: column.is_not_null(),
        "STARTS_WITH": lambda: column.starts_with(literals[0]),
        "ENDS_WITH": lambda: column.ends_with(literals[0]),
        "CONTAINS": lambda: column.contains(literals[0]),
        "LIKE": lambda: column.like(literals[0]),
    }
    return build[op]()


def like_regex(pattern: str) -> re.Pattern:
    """LIKE as Spark reads it: % any run, _ one character (newlines too), a backslash escapes %, _ and itself."""
    out, characters = [], iter(pattern)
    for character in characters:
        if character == "\\":
            character = next(characters, None)
            if character is None or character not in "%_\\":
                raise ValueError(f"invalid escape in {pattern!r}")
            out.append(re.escape(character))
        else:
            out.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    return re.compile("".join(out), re.DOTALL)


# --- a column


class Column:
    """The true answers for one column. Rows are numpy masks of row_count booleans."""

    def __init__(self, type: str, values: list):
        self.type = type
        keys = [stored_key(type, value) for value in values]
        self.keys = sorted({each for each in keys if each is not None})
        rank_of = {each: rank for rank, each in enumerate(self.keys)}
        rank_of[None] = NULL_RANK
        self.ranks = np.fromiter((rank_of[each] for each in keys), np.int64, len(keys))
        self.row_count = len(keys)
        self.is_null = self.ranks == NULL_RANK

    def rows_of_ranks(self, hit: np.ndarray) -> np.ndarray:
        """hit: one boolean per rank, and False for NULL."""
        return hit[self.ranks]

    def true_rows(self, op: str, literals: list) -> np.ndarray:
        """The rows for which the comparison is true. literals: golden JSON."""
        if op == "IS_NULL":
            return self.is_null
        if op == "IS_NOT_NULL":
            return ~self.is_null
        hit = np.zeros(len(self.keys) + 1, bool)
        wanted = [key(self.type, each) for each in literals]
        self._mark(hit[:-1], op, wanted)
        return self.rows_of_ranks(hit)

    def _mark(self, hit: np.ndarray, op: str, wanted: list) -> None:
        if op in ("EQUAL", "IN", "NOT_EQUAL", "NOT_IN"):
            negate = op.startswith("NOT")
            if negate and None in wanted:
                return  # x <> NULL and x NOT IN (.., NULL) are never true
            for each in wanted:
                if each is not None:
                    hit[bisect_left(self.keys, each) : bisect_right(self.keys, each)] = True
            if negate:
                np.logical_not(hit, out=hit)
        elif op == "NOT_BETWEEN":  # NOT (x >= low AND x <= high): one NULL bound still lets the other decide
            low, high = wanted
            if low is not None:
                hit[: bisect_left(self.keys, low)] = True
            if high is not None:
                hit[bisect_right(self.keys, high) :] = True
        elif None in wanted:
            return
        elif op == "BETWEEN":
            hit[bisect_left(self.keys, wanted[0]) : bisect_right(self.keys, wanted[1])] = True
        elif op == "LESS_THAN":
            hit[: bisect_left(self.keys, wanted[0])] = True
        elif op == "LESS_OR_EQUAL":
            hit[: bisect_right(self.keys, wanted[0])] = True
        elif op == "GREATER_THAN":
            hit[bisect_right(self.keys, wanted[0]) :] = True
        elif op == "GREATER_OR_EQUAL":
            hit[bisect_left(self.keys, wanted[0]) :] = True
        else:
            test = {
                "STARTS_WITH": lambda text: text.startswith(wanted[0]),
                "ENDS_WITH": lambda text: text.endswith(wanted[0]),
                "CONTAINS": lambda text: wanted[0] in text,
                "LIKE": lambda text: regex.fullmatch(text.decode()) is not None,
            }[op]
            regex = like_regex(wanted[0].decode()) if op == "LIKE" else None
            hit[:] = [test(each) for each in self.keys]

    def boundary_rows(self, literals: list) -> np.ndarray:
        """TIMESTAMP(7..9): rows in the same microsecond as a literal, which no index can tell apart."""
        hit = np.zeros(len(self.keys) + 1, bool)
        for each in literals:
            if each is not None:
                start = nanoseconds(each) // 1000 * 1000
                hit[bisect_left(self.keys, start) : bisect_left(self.keys, start + 1000)] = True
        return self.rows_of_ranks(hit)

    def sort_places(self, descending: bool, nulls_first: bool) -> np.ndarray:
        """For each row its place among the distinct sort keys, smaller is earlier."""
        places = (len(self.keys) - 1 - self.ranks) if descending else self.ranks.copy()
        places[self.is_null] = -1 if nulls_first else len(self.keys)
        return places


def is_boundary(type: str, op: str, literals: list) -> bool:
    """Whether an index that keeps microseconds cannot answer this leaf exactly for every column."""
    if not is_nanos(type) or op in ("IS_NULL", "IS_NOT_NULL"):
        return False
    digits = [nanoseconds(each) % 1000 for each in literals if each is not None]
    if op in ("LESS_THAN", "GREATER_OR_EQUAL"):
        return any(digits)
    if op in ("LESS_OR_EQUAL", "GREATER_THAN"):
        return any(each != 999 for each in digits)
    return bool(digits)


# --- results


def mask(rows: Iterable[int], row_count: int) -> np.ndarray:
    out = np.zeros(row_count, bool)
    out[np.asarray(rows, np.int64)] = True
    return out


def mask_of_runs(runs: list, row_count: int) -> np.ndarray:
    out = np.zeros(row_count, bool)
    for start, length in runs:
        out[start : start + length] = True
    return out


def found_rows(result: Any, row_count: int) -> np.ndarray:
    """The rows a result keeps. Rows outside the file and a malformed result are failures here."""
    if result.decision is fidx.Decision.SKIP:
        assert result.exact, "SKIP must be exact"
        return np.zeros(row_count, bool)
    if result.decision is fidx.Decision.REMAIN:
        assert not result.exact, "REMAIN must not be exact"
        return np.ones(row_count, bool)
    assert isinstance(result.rows, BitMap), f"ROWS without rows: {result!r}"
    rows = np.frombuffer(result.rows.to_array(), np.uint32)
    assert not len(rows) or rows[-1] < row_count, f"row {rows[-1]} of {row_count}"
    return mask(rows, row_count)


def digest(rows: np.ndarray) -> dict:
    """The summary that golden/ gives for selections of more than 256 runs."""
    at = np.flatnonzero(rows)
    runs = int(np.count_nonzero(np.diff(at) != 1)) + 1 if len(at) else 0
    return {"count": len(at), "first": int(at[0]), "last": int(at[-1]), "runs": runs,
            "sha256": hashlib.sha256(at.astype(">u4").tobytes()).hexdigest()}


def java_keeps(result: Any, want: np.ndarray, found: np.ndarray) -> tuple[bool, bool] | None:
    """(Java keeps every row of want, Java keeps every row of found); None when Java gave no set of rows."""
    row_count = len(want)
    if result == "REMAIN":
        return True, True
    if result == "SKIP":
        return not want.any(), not found.any()
    if not isinstance(result, dict) or "exception" in result:
        return None
    if "runs" in result:
        java = mask_of_runs(result["runs"], row_count)
        return not (want & ~java).any(), not (found & ~java).any()
    java = result["digest"]
    return tuple(rows.sum() == java["count"] and digest(rows) == java for rows in (want, found))


def java_equals(result: Any, want: np.ndarray) -> bool:
    """Whether Java selects just these rows."""
    if result in ("REMAIN", "SKIP"):
        return want.all() if result == "REMAIN" else not want.any()
    if "runs" in result:
        return bool((mask_of_runs(result["runs"], len(want)) == want).all())
    return bool(want.any()) and digest(want) == result["digest"]


def python_key(type: str, value: Any) -> Any:
    """The key of a value that the library hands out (distinct, value_counts, min_max)."""
    if value is None:
        return None
    if isinstance(value, bool) or type == "BOOLEAN":
        assert isinstance(value, bool)
        return int(value)
    if type in ("FLOAT", "DOUBLE"):
        assert isinstance(value, float)
        return key(type, value)
    if type.startswith(("CHAR", "VARCHAR", "STRING")):
        return value.encode("utf-8")
    if isinstance(value, dt.datetime):
        assert (value.tzinfo is not None) == ("LOCAL" in type)
        past = value.replace(tzinfo=None) - dt.datetime(1970, 1, 1)
        return ((past.days * 86400 + past.seconds) * 1_000_000 + past.microseconds) * 1000
    if isinstance(value, dt.date):
        return value.toordinal() - 719163
    if isinstance(value, dt.time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    if isinstance(value, np.datetime64):  # outside the years 1 to 9999
        unit = np.datetime_data(value.dtype)[0]
        return int(value.astype(np.int64)) * {"D": 1, "ms": 1_000_000, "us": 1_000}[unit]
    assert isinstance(value, Decimal if type.startswith("DECIMAL") else int), (type, value)
    return value
