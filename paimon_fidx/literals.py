"""What a leaf means for a column of some type: the one place of Spark SQL's comparison rules.

``bind(leaf, type)`` turns a leaf into the set of index keys it selects, a KeySet, or into a NullTest. It goes
through ``value_set``, the set of *values* it selects, which is the truth; the two differ only where an index keeps
less than the value (TIMESTAMP(7..9), floored to microseconds).

A literal is a place among the values of the column's type (see ``points``), and every comparison a half-open range
between such places, so a literal outside the type's range is answered as well. Each literal compares by itself, those
of an IN list too.
"""
from __future__ import annotations

import math
from dataclasses import dataclass

from .points import BINARIES, NAN32, NAN64, STRINGS, Points, float_key
from .predicate import Wildcard, parse_like
from .types import parse_type

__all__ = ["ANY_CHAR", "ANY_RUN", "KeySet", "NullTest", "ValueSet", "bind", "float_key", "value_set"]

ANY_CHAR, ANY_RUN = Wildcard.ANY_CHAR, Wildcard.ANY_RUN


@dataclass(frozen=True, slots=True)
class NullTest:
    """IS NULL, or IS NOT NULL when ``negate``."""

    negate: bool


@dataclass(frozen=True, slots=True)
class KeySet:
    """The index keys a leaf selects. NULL rows are never selected, negated or not.

    Attributes
    ----------
    ranges : tuple   ascending and disjoint, none empty; neighbours stay apart, so every IN literal is a point.
                     Fixed-width keys: (lo, hi) int, both included, inside the range of the key's kind; FLOAT and
                     DOUBLE as ``float_key`` counts them, with one NaN, the largest key.
                     Byte keys: (lo, hi) bytes, hi excluded, None for no end.
    like : tuple | None   a further test of the byte keys inside the ranges: bytes | ANY_CHAR | ANY_RUN, over the
                     whole key
    negate : bool    the non-null rows whose key is *not* selected by ranges and like
    exact : bool     False: some selected keys stand for values that do not match as well

    ``KeySet(())`` selects nothing, ``KeySet((), negate=True)`` every non-null row; both forms are canonical.
    """

    ranges: tuple
    like: tuple | None = None
    negate: bool = False
    exact: bool = True


@dataclass(frozen=True, slots=True)
class ValueSet:
    """The values a leaf selects, as KeySet but of values: half-open ranges ``[start, end)``, end None for no end.

    The values are counted as the keys, except nanoseconds for TIMESTAMP(7..9), and DECIMAL is not limited to 64 bits.
    """

    ranges: tuple
    like: tuple | None = None
    negate: bool = False
    exact: bool = True


NOTHING, ALL = (), ((None, None),)
_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_TEXT_OPS = ("starts_with", "ends_with", "contains", "like")


def bind(leaf, type_, timezone="UTC"):
    """The index keys that ``leaf`` selects in a column of this type.

    Parameters
    ----------
    leaf : predicate.Leaf
    type_ : PaimonType | str    of the column; for a MAP key, of the MAP or of its values
    timezone : str | tzinfo     the session's zone, for literals and columns that lack one

    Returns
    -------
    KeySet, or NullTest for is_null and is_not_null (for which any type will do)

    Raises
    ------
    TypeError : the column's type and the literal's cannot be compared; names both and the column.
    ValueError : a string that is no date, time or timestamp, or not UTF-8; an unknown zone.

    >>> from paimon_fidx.predicate import col
    >>> bind(col("a") < 1000, "TINYINT")
    KeySet(ranges=(), like=None, negate=True, exact=True)
    >>> bind(col("a").is_in([2, 10.5, 300, None]), "TINYINT").ranges
    ((2, 2),)
    """
    type_ = _bound_type(leaf, type_)
    found = value_set(leaf, type_, timezone)
    if isinstance(found, NullTest):
        return found
    if type_.key_kind == "bytes":
        keys = tuple((start or b"", end) for start, end in found.ranges if end != b"")
        return _canonical(KeySet(keys, found.like, found.negate, found.exact), b"", None)
    lo, stop = _key_limits(type_)
    ranges, exact, negate = found.ranges, found.exact, found.negate
    if _floors(type_):
        if negate:  # the floored set's complement would lose the values that share its first and last microsecond
            ranges, negate = _complement(ranges), False
        exact = exact and all((s is None or s % 1000 == 0) and (e is None or e % 1000 == 0) for s, e in ranges)
        ranges = _merged([(None if s is None else s // 1000, None if e is None else -(-e // 1000)) for s, e in ranges])
        if len(ranges) == 2 and ranges[0] == (None, ranges[1][0]) and ranges[1][1] is None:
            ranges = ALL  # what != leaves when the two sides meet
    keys = []
    for start, end in ranges:
        start = lo if start is None else max(start, lo)
        end = stop if end is None else min(end, stop)
        if start < end:
            keys.append((start, end - 1))
    return _canonical(KeySet(tuple(keys), None, negate, exact), lo, stop - 1)


def _canonical(found, lo, last):
    """Everything and nothing have one form each."""
    if found.ranges == ((lo, last),) and found.like is None:
        return KeySet((), None, not found.negate, found.exact)
    return found


def value_set(leaf, type_, timezone="UTC"):
    """The values that ``leaf`` selects, as ``bind`` but before they become keys: for testing values themselves.

    Returns a ValueSet or a NullTest; raises as ``bind`` does.
    """
    type_ = _bound_type(leaf, type_)
    op, literals = leaf.op, leaf.literals
    if op in ("is_null", "is_not_null"):
        return NullTest(op == "is_not_null")
    point = Points(leaf.column, type_, timezone)
    positive, negate = {"!=": ("=", True), "is_not_nan": ("is_nan", True)}.get(
        op, (op.removeprefix("not_"), op.startswith("not_")))
    if positive == "is_nan":
        if type_.root not in ("FLOAT", "DOUBLE"):
            raise TypeError(f"column {leaf.column!r}: isnan is for FLOAT and DOUBLE, not for {type_.sql()}")
        nan = NAN32 if type_.root == "FLOAT" else NAN64
        return ValueSet(((nan, nan + 1),), None, negate)
    if positive in _TEXT_OPS:
        return _text_set(leaf, positive, negate, point)
    points = [point(v) for v in literals]  # all of them, so that each is checked
    known = [p for p in points if p is not None]
    if positive == "in":
        if negate and len(known) < len(points):
            return ValueSet(NOTHING)
        return _point_set(known, negate)
    if positive == "between":
        low, high = points
        if negate:  # x < low OR x > high; a NULL bound leaves the other to decide
            below = _compare("<", low) if low else ValueSet(NOTHING)
            above = _compare(">", high) if high else ValueSet(NOTHING)
            if low and high and below.exact and above.exact:
                return ValueSet(_range(low[0], high[1]), None, True)
            return ValueSet(_merged(below.ranges + above.ranges), None, False, below.exact and above.exact)
        if low is None or high is None:
            return ValueSet(NOTHING)
        at_least, at_most = _compare(">=", low), _compare("<=", high)
        exact = at_least.exact and at_most.exact
        return ValueSet(_range(at_least.ranges[0][0], at_most.ranges[0][1]), None, False, exact)
    if not known:
        return ValueSet(NOTHING)
    return _point_set(known, negate) if positive == "=" else _compare(positive, known[0])


def _bound_type(leaf, type_):
    type_ = parse_type(type_)
    return type_.value if type_.root == "MAP" and leaf.column.map_key is not None else type_


def _compare(op, point):
    """The ranges of ``op`` for one literal.

    A fuzzy point (one whose place is only known to lie in its range) gives what may match.
    """
    start, end, fuzzy = point
    if fuzzy:
        return ValueSet(_range(None, end) if op in ("<", "<=") else _range(start, None), None, False, False)
    return ValueSet({"<": _range(None, start), "<=": _range(None, end),
                     ">": _range(end, None), ">=": _range(start, None)}[op])


def _point_set(points, negate):
    exact = not any(fuzzy for _, _, fuzzy in points)
    if negate and not exact:
        return ValueSet(ALL, None, False, False)
    return ValueSet(_merged([(s, e) for s, e, _ in points if s < e]), None, negate, exact)


def _range(start, end):
    return ((start, end),) if start is None or end is None or start < end else ()


def _merged(ranges):
    """Ascending and disjoint; ranges that only touch stay apart."""
    if len(ranges) < 2:
        return tuple(ranges)
    ranges = sorted(ranges, key=lambda r: (r[0] is not None, r[0] if r[0] is not None else 0))
    out = [ranges[0]]
    for start, end in ranges[1:]:
        last = out[-1][1]
        if last is None:
            break
        if start is None or start < last:
            if end is None or end > last:
                out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return tuple(out)


def _complement(ranges):
    out, at = [], None
    for start, end in ranges:
        if start is not None and (at is None or at < start):
            out.append((at, start))
        if end is None:
            return tuple(out)
        at = end
    return tuple(out + [(at, None)])


def _floors(type_):
    return type_.root in ("TIMESTAMP", "TIMESTAMP_LTZ") and type_.precision > 6


def _key_limits(type_):
    """The smallest key, and the one past the largest."""
    kind = type_.key_kind
    if kind == "bool":
        return 0, 2
    if kind == "float32":
        return float_key(-math.inf, "FLOAT"), NAN32 + 1
    if kind == "float64":
        return float_key(-math.inf, "DOUBLE"), NAN64 + 1
    half = 1 << (_BITS[kind] - 1)
    return -half, half


# --------------------------------------------------------------------------------------------- text


def _text_set(leaf, op, negate, point):
    """Prefixes, suffixes, substrings and LIKE: the range of the prefix, and tokens for what is left to test."""
    root, pattern = point.type.root, leaf.literals[0]
    if root not in STRINGS and (root not in BINARIES or op == "like"):
        raise TypeError(f"column {leaf.column!r}: {op} is for strings, not for {point.type.sql()}")
    if pattern is None:
        return ValueSet(NOTHING)
    if op == "like":
        if not isinstance(pattern, str):
            point.refuse(pattern)
        parts = [p if isinstance(p, Wildcard) else point.text(p) for p in parse_like(pattern, leaf.escape)]
    else:
        text = point.text(pattern)
        parts = {"starts_with": [text, ANY_RUN], "ends_with": [ANY_RUN, text],
                 "contains": [ANY_RUN, text, ANY_RUN]}[op]
        parts = [p for p in parts if p != b""]  # the empty string is in every string
        parts = parts[:1] if b"" == text else parts
    if not parts:
        return ValueSet(((b"", b"\0"),), None, negate)
    prefix = parts[0] if not isinstance(parts[0], Wildcard) else b""
    if parts == [prefix]:
        return ValueSet(((prefix, prefix + b"\0"),), None, negate)
    ranges = ((prefix, _successor(prefix)),)
    rest = [ANY_RUN] if not prefix else [prefix, ANY_RUN]
    return ValueSet(ranges, None if parts == rest else tuple(parts), negate)


def _successor(prefix):
    """The smallest bytes above all that start with ``prefix``; None when there are none."""
    prefix = prefix.rstrip(b"\xff")
    return prefix[:-1] + bytes((prefix[-1] + 1,)) if prefix else None
