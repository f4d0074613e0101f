"""Strings cast to dates, times and timestamps as Spark 3.5 does; zones and their offsets."""
import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_fidx.temporal import parse_date, parse_time, parse_timestamp, utc_offset, wall_offset, zone

EPOCH = dt.datetime(1970, 1, 1)


def seconds(*args):
    return int((dt.datetime(*args) - EPOCH).total_seconds())


# What Spark 3.5.9 answers to cast(s as date), as days; None where it answers NULL.
@pytest.mark.parametrize("text, days", [
    ("2024", 19723), ("2024 ", 19723), ("2024-1", 19723), ("2024-01-1", 19723), ("  2024-01-01\t", 19723),
    ("2024-01-01 x", 19723), ("2024-01-01Tx", 19723), ("2024-01-01T", 19723), ("+2024-01-01", 19723),
    ("-0001-01-01", -719893), ("0000-01-01", -719528), ("12345-01-01", 3789391), ("1234567-01-01", 450196810),
    ("2024-02-29", 19782), ("2023-02-29", None), ("2024-13-01", None), ("2024-00-01", None), ("2024-01-00", None),
    ("24-01-01", None), ("12345678-01-01", None), ("2024-001-01", None), ("2024-01-001", None), ("2024-", None),
    ("2024-01-", None), ("", None), ("2024-01-01Z", None), ("2024-01-01+01:00", None), ("epoch", None), ("1e3", None),
    ("\u00a02024-01-01", None), ("２０２４-01-01", None),
])
def test_strings_as_dates(text, days):
    if days is None:
        with pytest.raises(ValueError, match="cannot be read as DATE"):
            parse_date(text)
    else:
        assert parse_date(text) == days


TEN = seconds(2024, 1, 1, 10)


# What Spark 3.5.9 answers to cast(s as timestamp) in UTC, as seconds; None where it answers NULL.
@pytest.mark.parametrize("text, instant", [
    ("2024", TEN - 36000), ("2024-1-1", TEN - 36000), ("2024-01-01 10", TEN), ("2024-01-01T10:00", TEN),
    ("2024-01-01 10:0:0", TEN), ("2024-01-01 10:00:00.", TEN), ("2024-01-01 10:00:00.5", TEN + 0.5),
    ("2024-01-01 10:00:00Z", TEN), ("2024-01-01 10:00:00 Z", TEN), ("2024-01-01 10:00:00  Z", TEN),
    ("2024-01-01 10:00:00+02:00", TEN - 7200), ("2024-01-01 10:00:00+2", TEN - 7200),
    ("2024-01-01 10:00:00+0200", TEN - 7200), ("2024-01-01 10:00:00 +01:00", TEN - 3600),
    ("2024-01-01 10:00:00-18:00", TEN + 64800), ("2024-01-01 10:00:00+1:2", TEN - 3720),
    ("2024-01-01 10:00:00+01:02:03", TEN - 3723), ("2024-01-01 10:00:00 UTC+1", TEN - 3600),
    ("2024-01-01 10:00:00 GMT+8", TEN - 28800), ("2024-01-01 10:00:00.5Europe/Berlin", TEN - 3600 + 0.5),
    ("2024-01-01 10:00:00 PST", TEN + 28800), ("2024-01-01 10:00:00 EST", TEN + 18000),
    ("2024-01-01 10:00:00 Etc/GMT+5", TEN + 18000), ("123456-01-01 00:00:00", 3833727840000),
    ("2024-01-01T", None), ("2024-01-01 10:", None), ("2024-01-01 10:00:", None), ("2024-01-01 24:00:00", None),
    ("2024-01-01 23:60:00", None), ("2024-01-01 23:59:60", None), ("2024-01-01 10:00Z", None), ("2024-01-01Z", None),
    ("2024-01-01t10:00:00", None), ("2024-01-01  10:00:00", None), ("2024-01-01 10:00:00z", None),
    ("2024-01-01 10:00:00 utc", None), ("2024-01-01 10:00:00-19:00", None), ("2024-01-01 10:00:00+", None),
    ("2024-01-01 100:00:00", None), ("2024-01-01 10:00:00 america/nowhere", None), ("1234567-01-01", None), ("", None),
    ("now", None), ("2024-01-01 10:00:00\u00a0", None),
])
def test_strings_as_timestamps(text, instant):
    if instant is None:
        with pytest.raises(ValueError, match="cannot be read as TIMESTAMP"):
            parse_timestamp(text)
        return
    ns, tz = parse_timestamp(text)
    assert ns - (wall_offset(tz, ns // 10**9) * 10**9 if tz else 0) == int(instant * 10**9)


def test_a_time_without_a_date_is_no_timestamp():
    for text in ("10:00:00", "T10:00:00"):
        with pytest.raises(ValueError, match="cannot be read"):
            parse_timestamp(text)


def test_digits_below_nanoseconds_are_dropped():
    assert parse_timestamp("1970-01-01 00:00:00.1234567899")[0] == 123456789


@pytest.mark.parametrize("text, ns", [
    ("1:2", 3720 * 10**9), (" 01:02:03 ", 3723 * 10**9), ("23:59:59.999999999", 86400 * 10**9 - 1), ("0:0:0.", 0),
    ("24:00", None), ("1", None), ("", None), ("1:60", None), ("1:2:3Z", None), ("-1:00", None),
])
def test_strings_as_times(text, ns):
    if ns is None:
        with pytest.raises(ValueError, match="cannot be read as TIME"):
            parse_time(text)
    else:
        assert parse_time(text) == ns


@settings(max_examples=100, deadline=None)
@given(st.datetimes())
def test_what_python_writes_is_read(at):
    assert parse_timestamp(at.isoformat(" "))[0] == (at - EPOCH) // dt.timedelta(microseconds=1) * 1000
    assert parse_date(at.isoformat()) == at.toordinal() - 719163


@pytest.mark.parametrize("name, offset", [
    ("UTC", 0), ("Z", 0), ("GMT", 0), ("+02:00", 7200), ("-5", -18000), ("UTC+05:30", 19800), ("GMT-0330", -12600),
    ("Europe/Berlin", 7200), ("JST", 32400), (dt.timezone.utc, 0),
])
def test_zones(name, offset):
    assert utc_offset(zone(name), seconds(2024, 7, 1)) == offset


@pytest.mark.parametrize("name", [
    "", "nowhere", "utc+", "+19:00", "+1:60", "Europe/../Berlin", "../x", "a\0b", "/etc/passwd"])
def test_no_zones(name):
    with pytest.raises(ValueError, match="is no time zone"):
        zone(name)


def test_a_clock_that_shows_a_time_twice_or_never():
    berlin = zone("Europe/Berlin")
    assert wall_offset(berlin, seconds(2024, 10, 27, 2, 30)) == 7200  # the first of the two
    assert wall_offset(berlin, seconds(2024, 10, 27, 2, 30), fold=1) == 3600
    assert wall_offset(berlin, seconds(2024, 3, 31, 2, 30)) == 3600  # skipped: as before the change


def test_years_outside_datetime_have_an_offset_too():
    berlin = zone("Europe/Berlin")
    assert utc_offset(berlin, 10**15) in (3600, 7200) and wall_offset(berlin, 10**15) in (3600, 7200)
    assert -86400 < utc_offset(berlin, -10**15) < 86400
