"""What a leaf means for a column of some type: the one place of Spark SQL's comparison rules.

``bind(leaf, type)`` turns a leaf into the set of index keys it selects, a KeySet, or into a NullTest. It goes
through ``value_set``, the set of *values* it selects, which is the truth; the two differ only where an index keeps
less than the value (TIMESTAMP(7..9), floored to microseconds).

Every literal becomes a pair (start, end): the smallest value of the column's type that is not below the literal, and
the smallest that is above it. ``start == end`` says that no value of the type equals it (10.5 among integers). All
comparisons are half-open ranges between such points, so a literal outside the type's range is answered as well.

    column             literal               compared as
    integers           int, Decimal, float   numbers, exactly; an integer column never becomes a double
    DECIMAL            int, Decimal          numbers, exactly, whatever the scales
    DECIMAL            float                 doubles, as Spark: a decimal equals 0.1 when its nearest double is 0.1.
                                             The decimals that round to one double are a range, found exactly
    FLOAT, DOUBLE      int, Decimal, float   doubles: the literal becomes one, a FLOAT is widened to one, never the
                                             literal narrowed, so float_col = 0.1 selects nothing
      ...                                    NaN equals NaN and is above infinity, -0.0 equals 0.0
    BOOLEAN            bool                  false < true
    CHAR, VARCHAR, STRING      str           bytes of UTF-8, unsigned; CHAR as it is stored, not padded
    BINARY, VARBINARY, BYTES   bytes         unsigned bytes
    DATE               date, str             days; a str is cast to DATE
    DATE               datetime, timestamp   the date at midnight (of the session's zone against an aware one)
    TIME               time, str             milliseconds; a literal finer than that equals nothing
    TIMESTAMP          datetime, date, str, timestamp   clock times; an aware literal is what the session's clock
                                             shows then; the zone in a str is ignored
    TIMESTAMP_LTZ      the same              instants; what has no zone is of the session's clock

A timestamp finer than the column's unit equals nothing. The unit is the index key's: milliseconds for p <= 3,
microseconds for p <= 6, nanoseconds for p = 7..9, whatever p itself says. A str has microseconds (Spark drops
further digits), nanoseconds against p = 7..9. Any other pair of column and literal is a TypeError.
"""
from __future__ import annotations

import datetime
import decimal
import math
import struct
from dataclasses import dataclass
from fractions import Fraction

from .predicate import Wildcard, parse_like
from .temporal import DAY_NS, parse_date, parse_time, parse_timestamp, utc_offset, wall_offset, zone
from .types import parse_type
from .values import TimestampNs

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
_NAN32, _NAN64 = 0x7FC00000, 0x7FF8000000000000
_STRINGS = ("CHAR", "VARCHAR", "STRING")
_BINARIES = ("BINARY", "VARBINARY", "BYTES")
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
    point = _Points(leaf.column, type_, timezone)
    positive, negate = {"!=": ("=", True), "is_not_nan": ("is_nan", True)}.get(
        op, (op.removeprefix("not_"), op.startswith("not_")))
    if positive == "is_nan":
        if type_.root not in ("FLOAT", "DOUBLE"):
            raise TypeError(f"column {leaf.column!r}: isnan is for FLOAT and DOUBLE, not for {type_.sql()}")
        nan = _NAN32 if type_.root == "FLOAT" else _NAN64
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
        return ValueSet(_range(at_least.ranges[0][0], at_most.ranges[0][1]), None, False, at_least.exact and at_most.exact)
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
        return ValueSet({"<": _range(None, end), "<=": _range(None, end)}.get(op, _range(start, None)), None, False, False)
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
        return float_key(-math.inf, "FLOAT"), _NAN32 + 1
    if kind == "float64":
        return float_key(-math.inf, "DOUBLE"), _NAN64 + 1
    half = 1 << (_BITS[kind] - 1)
    return -half, half


def float_key(value, root="DOUBLE") -> int:
    """The sortable key of a float: its bits as a signed integer, ordered as the values are, NaN largest.

    ``value`` must be a float32 for FLOAT (it is rounded to one). -0.0 is -1 and 0.0 is 0.

    >>> float_key(-0.0), float_key(0.0), float_key(5e-324)
    (-1, 0, 1)
    """
    if value != value:
        return _NAN32 if root == "FLOAT" else _NAN64
    if root == "FLOAT":
        bits = struct.unpack(">i", struct.pack(">f", value))[0]
        return bits if bits >= 0 else bits ^ 0x7FFFFFFF
    bits = struct.unpack(">q", struct.pack(">d", value))[0]
    return bits if bits >= 0 else bits ^ 0x7FFFFFFFFFFFFFFF


# --------------------------------------------------------------------------------------------- text


def _text_set(leaf, op, negate, point):
    """Prefixes, suffixes, substrings and LIKE: the range of the prefix, and tokens for what is left to test."""
    root, pattern = point.type.root, leaf.literals[0]
    if root not in _STRINGS and (root not in _BINARIES or op == "like"):
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


# --------------------------------------------------------------------------------------------- points


class _Points:
    """Literals as (start, end, fuzzy) among the values of one column; None for NULL."""

    __slots__ = ("column", "type", "timezone", "read", "unit", "shift")

    def __init__(self, column, type_, timezone):
        self.column = column
        self.type = type_
        self.timezone = timezone
        root = type_.root
        self.unit = None
        if root in _STRINGS or root in _BINARIES:
            self.read = self.bytes
        elif root == "BOOLEAN":
            self.read = self.boolean
        elif root in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
            self.shift, self.read = 1, self.number
        elif root == "DECIMAL":
            self.shift, self.read = 10**type_.scale, self.number
        elif root in ("FLOAT", "DOUBLE"):
            self.read = self.float
        elif root == "DATE":
            self.read = self.date
        elif root == "TIME":
            self.read = self.time
        elif root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
            self.unit = 10**6 if type_.precision <= 3 else 10**3 if type_.precision <= 6 else 1
            self.read = self.timestamp
        else:
            key = f"; compare one key of it: {column!r}['key']" if root == "MAP" else ""
            raise TypeError(f"column {column!r}: {type_.sql()} cannot be compared{key}")

    def __call__(self, value):
        if value is None:
            return None
        try:
            found = self.read(value)
        except ValueError as error:
            raise ValueError(f"column {self.column!r} ({self.type.sql()}): {error}") from None
        return found if len(found) == 3 else (*found, False)

    def refuse(self, value):
        text = repr(value)
        text = text if len(text) <= 60 else text[:57] + "..."
        raise TypeError(f"column {self.column!r}: {self.type.sql()} cannot be compared with {text} "
                        f"({type(value).__name__})")

    # text and bytes

    def bytes(self, value):
        key = self.text(value)
        return key, key + b"\0"

    def text(self, value):
        """The key bytes of a str or bytes literal."""
        if self.type.root in _STRINGS and isinstance(value, str):
            try:
                return value.encode("utf-8")
            except UnicodeEncodeError as error:
                at = error.start
                raise ValueError(f"column {self.column!r} ({self.type.sql()}): the string {value[:40]!r} holds the "
                                 f"lone surrogate U+{ord(value[at]):04X} at {at} and is no UTF-8 text") from None
        if self.type.root in _BINARIES and isinstance(value, bytes):
            return value
        self.refuse(value)

    # numbers

    def boolean(self, value):
        if not isinstance(value, bool):
            self.refuse(value)
        return int(value), value + 1

    def number(self, value):
        """Integers, and decimals by their unscaled value."""
        if isinstance(value, bool):
            self.refuse(value)
        if isinstance(value, int):
            value *= self.shift
            return value, value + 1
        if isinstance(value, float):
            if value - value != 0:  # the infinities, and NaN above them
                return _beyond(value < 0)
            return _nearest_to(value, self.shift) if self.type.root == "DECIMAL" else _among_units(Fraction(value))
        if isinstance(value, decimal.Decimal):
            if value and value.adjusted() > 400:
                return _beyond(value < 0)
            if value and value.adjusted() < -400:  # 1e-400 stands where 1e-100000000 does
                value = decimal.Decimal((value.is_signed(), (1,), -400))
            return _among_units(Fraction(value) * self.shift)
        self.refuse(value)

    def float(self, value):
        if isinstance(value, bool) or not isinstance(value, (int, float, decimal.Decimal)):
            self.refuse(value)
        try:
            value = float(value)
        except OverflowError:
            value = math.inf if value > 0 else -math.inf
        root = self.type.root
        if value == 0:
            return -1, 1  # both zeros
        try:
            nearest = value if root == "DOUBLE" or value - value != 0 else struct.unpack(">f", struct.pack(">f", value))[0]
        except OverflowError:  # beyond the largest float32, below infinity
            nearest = math.inf if value > 0 else -math.inf
        key = float_key(nearest, root)
        if nearest == value or value != value:
            return key, key + 1
        return (key + 1, key + 1) if nearest < value else (key, key)

    # dates and times

    def date(self, value):
        if isinstance(value, str):
            day = parse_date(value)
            return day, day + 1
        if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
            day = value.toordinal() - _EPOCH_ORDINAL
            return day, day + 1
        ns, tz, _ = self.moment(value)
        if tz is None:
            return _among_units(Fraction(ns, DAY_NS))
        session = zone(self.timezone)
        day = (ns // 10**9 + utc_offset(session, ns // 10**9)) // 86400 - 2
        start = end = None
        while end is None:  # midnights never go backwards, though two may be one where a zone skips a day
            midnight = (day * 86400 - wall_offset(session, day * 86400)) * 10**9
            if start is None and midnight >= ns:
                start = day
            if midnight > ns:
                end = day
            day += 1
        return start, end

    def time(self, value):
        if isinstance(value, str):
            ns = parse_time(value)
        elif isinstance(value, datetime.time) and value.tzinfo is None:
            ns = ((value.hour * 60 + value.minute) * 60 + value.second) * 10**9 + value.microsecond * 1000
        else:
            self.refuse(value)
        return _among_units(Fraction(ns, 10**6))

    def moment(self, value):
        """(nanoseconds, zone or None, fold): of the zone's clock before it was UTC, of the session's clock if None."""
        if isinstance(value, datetime.datetime):
            if value.tzinfo is None or value.utcoffset() is None:
                return _micros(value.replace(tzinfo=None) - _EPOCH) * 1000, None, value.fold
            local = value.replace(tzinfo=None) - _EPOCH
            return _micros(local - value.utcoffset()) * 1000, datetime.timezone.utc, 0
        if isinstance(value, datetime.date):
            return (value.toordinal() - _EPOCH_ORDINAL) * DAY_NS, None, 0
        if isinstance(value, TimestampNs):
            return value.ns, datetime.timezone.utc if value.kind == "instant" else None, 0
        self.refuse(value)

    def timestamp(self, value):
        local = self.type.root == "TIMESTAMP_LTZ"
        if isinstance(value, str):
            ns, tz = parse_timestamp(value)
            if self.unit > 1:
                ns = ns // 1000 * 1000  # Spark's cast keeps microseconds
            if tz is not None and local:
                return _among_units(Fraction(ns - wall_offset(tz, ns // 10**9) * 10**9, self.unit))
            tz, fold = None, 0
        else:
            ns, tz, fold = self.moment(value)
        if local and tz is None and not (isinstance(value, TimestampNs) and value.kind == "raw"):
            ns -= wall_offset(zone(self.timezone), ns // 10**9, fold) * 10**9
        elif not local and tz is not None:
            return self.on_the_clock(ns)
        return _among_units(Fraction(ns, self.unit))

    def on_the_clock(self, ns):
        """An instant among the times of the session's clock.

        Spark takes the clock times to instants and compares those. Near a change of the clock that is no monotone
        map: skipped times are instants that later times are too, and repeated times mean the first. There the
        point is fuzzy.
        """
        session, second = zone(self.timezone), ns // 10**9
        offset = utc_offset(session, second)
        places = [ns + offset * 10**9]
        lag = second - (second + offset - wall_offset(session, second + offset))
        if lag > 0:  # the second time the clock shows this
            places.append(places[0] + lag * 10**9)
        for before in (3600, 3 * 3600, 25 * 3600):
            earlier = utc_offset(session, second - before)
            if earlier != offset and wall_offset(session, second + earlier) == earlier:
                places.append(ns + earlier * 10**9)
        start, _ = _among_units(Fraction(min(places), self.unit))
        _, end = _among_units(Fraction(max(places), self.unit))
        return start, end, len(places) > 1


_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()


def _micros(delta):
    return (delta.days * 86400 + delta.seconds) * 10**6 + delta.microseconds


def _among_units(place):
    """A Fraction among the integers."""
    return math.ceil(place), math.floor(place) + 1


def _beyond(negative):
    """Past every value of a numeric column, on either side."""
    return (-_FAR, -_FAR) if negative else (_FAR, _FAR)


_FAR = 10**500  # above any unscaled value, and above the integers that doubles reach


def _nearest_to(value, shift):
    """The unscaled values whose decimal, as a double, equals the double ``value``.

    ``u / shift`` is correctly rounded in Python and does not decrease with u. What rounds to ``value`` lies between
    the midpoints to its neighbours; a midpoint itself goes to the even one, which the division decides.
    """
    below = (Fraction(math.nextafter(value, -math.inf)) + Fraction(value)) / 2 \
        if value != -_MAX_DOUBLE else Fraction(value)
    above = (Fraction(math.nextafter(value, math.inf)) + Fraction(value)) / 2 \
        if value != _MAX_DOUBLE else Fraction(value)
    start = math.ceil(below * shift)
    if _as_double(start, shift) < value:
        start += 1
    end = math.ceil(above * shift)
    if _as_double(end, shift) <= value:
        end += 1
    return start, end


_MAX_DOUBLE = struct.unpack(">d", bytes.fromhex("7fefffffffffffff"))[0]


def _as_double(unscaled, shift):
    try:
        return unscaled / shift
    except OverflowError:
        return math.inf if unscaled > 0 else -math.inf
