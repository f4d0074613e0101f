"""Dates, times and zones as Spark reads them: strings cast to DATE, TIME and TIMESTAMP, and session time zones.

Everything counts from 1970-01-01 00:00:00 in Python integers of any size, so years outside ``datetime`` work too.

    cast to      accepted (white space around is trimmed)
    DATE         [+-]y{4,7}   [+-]y{4,7}-m[m]   [+-]y{4,7}-m[m]-d[d]   the last followed by ' ' or 'T' and anything
    TIMESTAMP    the same with y{4,6}; after ' ' or 'T': h[h]  h[h]:m[m]  h[h]:m[m]:s[s]  h[h]:m[m]:s[s].fraction,
                 and after seconds or fraction a zone: Z, +h[h][:mm[:ss]], UTC+h, Europe/Berlin
    TIME         h[h]:m[m]   h[h]:m[m]:s[s]   h[h]:m[m]:s[s].fraction

A time without a date is a TIMESTAMP for Spark too (of today, so it means another thing each day): refused here.
Where Spark's cast gives NULL, and so an empty answer, the reading here raises ValueError.
"""
from __future__ import annotations

import datetime
import re
from functools import lru_cache

from .values import days_from_civil

__all__ = ["DAY_NS", "parse_date", "parse_time", "parse_timestamp", "utc_offset", "wall_offset", "zone"]

DAY_NS = 86400 * 10**9
_EPOCH = datetime.datetime(1970, 1, 1)
_FIRST, _LAST = -62_135_000_000, 253_402_000_000  # seconds, inside what datetime holds with any offset

_DATE = r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})"
_DATE_TEXT = re.compile(_DATE + r"(?:[ T].*)?)?)?", re.S | re.A)
_TIMESTAMP_TEXT = re.compile(
    _DATE + r"(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?\s*([A-Za-z+-].*)?)?)?)?)?)?", re.A)
_TIME_TEXT = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?", re.A)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2})(?::?(\d{2}))?)?", re.A)
_SHORT_IDS = {  # the three-letter names Java knows and the time zone database does not
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
}
_BLANKS = "".join(map(chr, range(33))) + "\x7f"  # what Spark trims before a cast: blanks and control characters


def _fail(text, target):
    raise ValueError(f"{text!r} cannot be read as {target}")


def _days(groups, target, text):
    sign, year, month, day = groups
    year, month, day = int(sign + year), int(month or 1), int(day or 1)
    lengths = (31, 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28,
               31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not (1 <= month <= 12 and 1 <= day <= lengths[month - 1]):
        _fail(text, target)
    return days_from_civil(year, month, day)


def parse_date(text) -> int:
    """Days since 1970-01-01 of a string cast to DATE; ValueError where it is none.

    >>> parse_date(" 1970-2-1 noon ")
    31
    """
    found = _DATE_TEXT.fullmatch(text.strip(_BLANKS))
    return _days(found.groups(), "DATE", text) if found else _fail(text, "DATE")


def _clock(hour, minute, second, fraction, target, text):
    """Nanoseconds of the day; digits below are dropped."""
    hour, minute, second = int(hour or 0), int(minute or 0), int(second or 0)
    if hour > 23 or minute > 59 or second > 59:
        _fail(text, target)
    return (hour * 3600 + minute * 60 + second) * 10**9 + int((fraction or "")[:9].ljust(9, "0"))


def parse_timestamp(text):
    """(nanoseconds of the clock since 1970-01-01 00:00:00, its zone as tzinfo or None) of a string cast to TIMESTAMP.

    Digits below nanoseconds are dropped. ValueError where it is no timestamp.

    >>> parse_timestamp("1970-01-01 00:00:01.5Z")
    (1500000000, datetime.timezone.utc)
    """
    found = _TIMESTAMP_TEXT.fullmatch(text.strip(_BLANKS))
    if not found or len(found[2]) > 6:
        _fail(text, "TIMESTAMP")
    days = _days(found.groups()[:4], "TIMESTAMP", text)
    ns = days * DAY_NS + _clock(*found.groups()[4:8], "TIMESTAMP", text)
    if found[9] is None:
        return ns, None
    try:
        return ns, zone(found[9].strip(_BLANKS))
    except ValueError as error:
        raise ValueError(f"{text!r} cannot be read as TIMESTAMP: {error}") from None


def parse_time(text) -> int:
    """Nanoseconds of the day of a string cast to TIME; ValueError where it is none.

    >>> parse_time("0:0:1.25")
    1250000000
    """
    found = _TIME_TEXT.fullmatch(text.strip(_BLANKS))
    return _clock(*found.groups(), "TIME", text) if found else _fail(text, "TIME")


@lru_cache(maxsize=256)
def _named_zone(name):
    if name in ("Z", "UTC", "GMT", "UT"):
        return datetime.timezone.utc
    offset = _OFFSET.fullmatch(name)
    if offset:
        sign, hours, minutes, seconds = offset.groups()
        hours, minutes, seconds = int(hours), int(minutes or 0), int(seconds or 0)
        if hours * 3600 + minutes * 60 + seconds <= 18 * 3600 and minutes < 60 and seconds < 60:
            delta = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
            return datetime.timezone(-delta if sign == "-" else delta)
    else:
        from zoneinfo import ZoneInfo
        try:
            return ZoneInfo(_SHORT_IDS.get(name, name))
        except (KeyError, ValueError, OSError):
            pass
    raise ValueError(f"{name!r} is no time zone; there are names like 'Europe/Berlin' and offsets like '+02:00'")


def zone(name) -> datetime.tzinfo:
    """The zone of a name as Spark's session takes them, or the tzinfo given.

    Raises ValueError for an unknown name, TypeError for anything else.

    >>> zone("GMT+8")
    datetime.timezone(datetime.timedelta(seconds=28800))
    """
    if isinstance(name, datetime.tzinfo):
        return name
    if not isinstance(name, str):
        raise TypeError(f"a time zone is a name or a datetime.tzinfo, not {type(name).__name__}")
    return _named_zone(name)


def _clamped(seconds):
    return _EPOCH + datetime.timedelta(seconds=min(max(seconds, _FIRST), _LAST))


def wall_offset(tz, seconds, fold=0) -> int:
    """The zone's offset from UTC, in seconds, when its clock shows ``seconds``.

    Where the clock shows a time twice, the first; where it skips one, the offset before: so does Java. Outside the
    years of ``datetime`` the offset of its last year holds.
    """
    if tz is datetime.timezone.utc:
        return 0
    return round(_clamped(seconds).replace(tzinfo=tz, fold=fold).utcoffset().total_seconds())


def utc_offset(tz, seconds) -> int:
    """The zone's offset from UTC, in seconds, at the instant ``seconds`` of UTC."""
    if tz is datetime.timezone.utc:
        return 0
    there = _clamped(seconds).replace(tzinfo=datetime.timezone.utc).astimezone(tz)
    return round(there.utcoffset().total_seconds())
