"""Literals: the Python values a predicate may hold, what becomes of the scalars of other libraries, their SQL text.

    given                                              becomes
    None, NaT, a null pyarrow scalar, pandas.NA        None (NULL)
    bool int float str bytes date time datetime        itself
    Decimal                                            itself; NaN and the infinities: float
    timestamp_ns(n)                                    TimestampNs, "raw"
    numpy bool_ int* uint* float* str_ bytes_          bool int float str bytes
    numpy.datetime64 of any unit,                      datetime, of UTC if there was a zone; with nanoseconds or outside
    pyarrow timestamp, pandas.Timestamp                datetime's years: TimestampNs, "wall", or "instant" with a zone
    other pyarrow scalars                              what as_py() gives

Nothing is imported for it: a scalar of numpy tells by its module what it is.
"""
from __future__ import annotations

import datetime
import decimal
import operator
import re
from fractions import Fraction

__all__ = ["TimestampNs", "days_from_civil", "literal", "sql_text", "timestamp_ns"]

class TimestampNs:
    """A point in time with its nanoseconds, which ``datetime`` cannot hold.

    Attributes
    ----------
    ns : int | Fraction   nanoseconds since 1970-01-01 00:00:00 (a Fraction for finer numpy units)
    kind : str            "raw": as the column counts, whatever its type (``timestamp_ns``);
                          "wall": of a clock without a zone, like a naive datetime (``numpy.datetime64``);
                          "instant": of UTC, like an aware datetime
    """

    __slots__ = ("ns", "kind")

    def __init__(self, ns, kind="raw"):
        object.__setattr__(self, "ns", ns)
        object.__setattr__(self, "kind", kind)

    def __setattr__(self, name, value):
        raise AttributeError("a TimestampNs cannot be changed")

    def __reduce__(self):
        return TimestampNs, (self.ns, self.kind)

    def __eq__(self, other):
        return isinstance(other, TimestampNs) and (self.ns, self.kind) == (other.ns, other.kind)

    def __hash__(self):
        return hash((self.ns, self.kind))

    def __repr__(self):
        return f"timestamp_ns({self.ns})" if self.kind == "raw" else f"TimestampNs({self.ns}, {self.kind!r})"


def timestamp_ns(ns) -> TimestampNs:
    """A timestamp literal of ``ns`` nanoseconds since 1970-01-01 00:00:00, as the column itself counts them.

    >>> timestamp_ns(1_700_000_000_000_000_001)
    timestamp_ns(1700000000000000001)
    """
    return TimestampNs(operator.index(ns))


_PLAIN = frozenset((str, int, float, bytes, bool, type(None), decimal.Decimal, datetime.date, datetime.datetime,
                    datetime.time))
_NS_PER = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1, "m": 60 * 10**9, "h": 3600 * 10**9, "D": 86400 * 10**9,
           "W": 7 * 86400 * 10**9, "ps": Fraction(1, 10**3), "fs": Fraction(1, 10**6), "as": Fraction(1, 10**9)}


def literal(value):
    """The plain Python value that stands for a literal in a Leaf.

    Takes None, bool, int, float, str, bytes, Decimal, date, time, datetime, TimestampNs, and the scalars of numpy,
    pyarrow and pandas, which become one of these (they need not be importable). NaT is NULL.

    Raises TypeError for anything else.
    """
    if type(value) in _PLAIN:
        if type(value) is decimal.Decimal and not value.is_finite():
            return float("nan") if value.is_nan() else float(value)
        return value
    if isinstance(value, TimestampNs):
        return value
    module = type(value).__module__.partition(".")[0]
    if module == "numpy" and hasattr(value, "dtype"):
        return _from_numpy(value)
    if module == "pyarrow" and hasattr(value, "as_py"):
        return _from_arrow(value)
    if module == "pandas":
        if type(value).__name__ in ("NaTType", "NAType"):
            return None
        if isinstance(value, datetime.datetime):
            return _timestamp(value.value, value.tzinfo is not None)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if module == "paimon_fidx":
        raise TypeError(f"a column is compared with a literal, not with {value!r}")
    for plain in (str, bool, int, float, bytes):  # subclasses, as IntEnum
        if isinstance(value, plain):
            return plain.__str__(value) if plain is str else plain(value)
    if isinstance(value, (decimal.Decimal, datetime.date, datetime.time)):
        return value
    raise TypeError(f"{type(value).__module__}.{type(value).__qualname__} is no literal: {value!r}"[:200])


def _timestamp(ns, zoned=False):
    """Nanoseconds of a clock without a zone, or of UTC, as a datetime where that can hold them."""
    if ns % 1000 == 0:
        try:
            found = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=int(ns // 1000))
        except OverflowError:
            pass
        else:
            return found.replace(tzinfo=datetime.timezone.utc) if zoned else found
    return TimestampNs(ns, "instant" if zoned else "wall")


def _from_numpy(value):
    if getattr(value, "shape", ()) != ():
        raise TypeError(f"an array is no literal; one value is expected: {value!r}"[:200])
    if type(value).__name__ == "ndarray":
        value = value[()]  # a 0-dimensional array's scalar
    kind = value.dtype.kind
    if kind == "M":
        count = int(value.astype("int64"))
        if count == -2**63:
            return None  # NaT
        step, unit = re.fullmatch(r".M8(?:\[(\d*)(\w+)\])?", value.dtype.str).groups()
        count *= int(step or 1)
        if unit in ("Y", "M"):
            months = count * 12 if unit == "Y" else count
            return _timestamp(days_from_civil(1970 + months // 12, months % 12 + 1, 1) * _NS_PER["D"])
        if unit is None:
            raise TypeError("a numpy.datetime64 without a unit is no literal")
        ns = count * _NS_PER[unit]
        return _timestamp(int(ns) if ns == int(ns) else ns)
    if kind in "biuSU":
        return literal(value.item())
    if kind == "f":
        return float(value)  # float128 too: compared as a double
    raise TypeError(f"numpy.{value.dtype} is no literal: {value!r}")


def _from_arrow(value):
    if not value.is_valid:
        return None
    name = str(value.type)
    if name.startswith("timestamp"):  # as_py() needs pandas for nanoseconds
        return _timestamp(value.value * _NS_PER[value.type.unit], value.type.tz is not None)
    if name.startswith("time"):
        ns = value.value * _NS_PER[value.type.unit]
        if ns % 1000:
            raise TypeError(f"a time finer than microseconds is no literal: {value}")
        return (datetime.datetime.min + datetime.timedelta(microseconds=ns // 1000)).time()
    found = value.as_py()
    if isinstance(found, (list, dict, datetime.timedelta)):
        raise TypeError(f"a pyarrow scalar of type {name} is no literal")
    return literal(found)


def days_from_civil(year, month, day) -> int:
    """Days from 1970-01-01 to a date of the proleptic Gregorian calendar, any year.

    >>> days_from_civil(1970, 1, 1), days_from_civil(12000, 3, 1)
    (0, 3663442)
    """
    year -= month <= 2  # count years from March, so that the leap day comes last
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def sql_text(value):
    """A literal as Spark SQL would write it, as far as it can."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + "".join(_ESCAPES.get(c, c) for c in value) + "'"
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if isinstance(value, float):
        if value - value != 0:  # NaN and the infinities
            return {"nan": "double('NaN')", "inf": "double('Infinity')"}.get(str(value), "double('-Infinity')")
        return f"{value!r}D"
    if isinstance(value, decimal.Decimal):
        text = format(value, "f") if -40 < value.as_tuple().exponent <= 40 else str(value)
        return text if "." in text and "E" not in text else f"{text}BD"
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, datetime.time):
        return f"TIME '{value.isoformat()}'"
    if isinstance(value, TimestampNs) and value.kind != "raw" and isinstance(value.ns, int):
        zone = "Z" if value.kind == "instant" else ""
        day, ns = divmod(value.ns, _NS_PER["D"])
        try:
            day = datetime.date(1970, 1, 1) + datetime.timedelta(days=day)
        except OverflowError:
            return repr(value)
        clock = (datetime.datetime.min + datetime.timedelta(seconds=ns // 10**9)).time()
        return f"TIMESTAMP '{day} {clock}.{ns % 10**9:09}{zone}'"
    return repr(value)
