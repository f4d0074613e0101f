"""Literals as places among the values of a column: what each pair of column type and literal type compares as.

A literal becomes a pair (start, end): the smallest value of the column's type that is not below the literal, and the
smallest that is above it. ``start == end`` says that no value of the type equals it (10.5 among integers).

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
from fractions import Fraction

from .temporal import DAY_NS, parse_date, parse_time, parse_timestamp, utc_offset, wall_offset, zone
from .values import TimestampNs

__all__ = ["BINARIES", "NAN32", "NAN64", "Points", "STRINGS", "float_key"]

STRINGS = ("CHAR", "VARCHAR", "STRING")
BINARIES = ("BINARY", "VARBINARY", "BYTES")
NAN32, NAN64 = 0x7FC00000, 0x7FF8000000000000


def float_key(value, root="DOUBLE") -> int:
    """The sortable key of a float: its bits as a signed integer, ordered as the values are, NaN largest.

    ``value`` must be a float32 for FLOAT (it is rounded to one). -0.0 is -1 and 0.0 is 0.

    >>> float_key(-0.0), float_key(0.0), float_key(5e-324)
    (-1, 0, 1)
    """
    if value != value:
        return NAN32 if root == "FLOAT" else NAN64
    if root == "FLOAT":
        bits = struct.unpack(">i", struct.pack(">f", value))[0]
        return bits if bits >= 0 else bits ^ 0x7FFFFFFF
    bits = struct.unpack(">q", struct.pack(">d", value))[0]
    return bits if bits >= 0 else bits ^ 0x7FFFFFFFFFFFFFFF


class Points:
    """Literals as (start, end, fuzzy) among the values of one column; None for NULL."""

    __slots__ = ("column", "type", "timezone", "read", "unit", "shift")

    def __init__(self, column, type_, timezone):
        self.column = column
        self.type = type_
        self.timezone = timezone
        root = type_.root
        self.unit = None
        if root in STRINGS or root in BINARIES:
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
        if self.type.root in STRINGS and isinstance(value, str):
            try:
                return value.encode("utf-8")
            except UnicodeEncodeError as error:
                at = error.start
                raise ValueError(f"column {self.column!r} ({self.type.sql()}): the string {value[:40]!r} holds the "
                                 f"lone surrogate U+{ord(value[at]):04X} at {at} and is no UTF-8 text") from None
        if self.type.root in BINARIES and isinstance(value, bytes):
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
        nearest = value
        try:
            if root == "FLOAT" and value - value == 0:
                nearest = struct.unpack(">f", struct.pack(">f", value))[0]
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
