"""Literals: what becomes of the scalars of numpy, pyarrow and pandas, and what is none."""
import datetime as dt
import enum
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_fidx.predicate import col
from paimon_fidx.values import TimestampNs, days_from_civil, literal, timestamp_ns

pa = pytest.importorskip("pyarrow")
EPOCH = dt.datetime(1970, 1, 1)


class Colour(enum.IntEnum):
    RED = 7


def same(a, b):
    assert type(a) is type(b) and (a == b or a != a and b != b), (a, b)


@pytest.mark.parametrize("given_, want", [
    (np.int8(-5), -5), (np.uint64(2**64 - 1), 2**64 - 1), (np.float32(0.1), 0.10000000149011612),
    (np.float64(1.5), 1.5), (np.float16(1.5), 1.5), (np.bool_(True), True), (np.str_("x"), "x"),
    (np.bytes_(b"x"), b"x"),
    (np.array(5), 5), (np.longdouble(1.5), 1.5),
    (np.datetime64("NaT"), None), (np.datetime64("2024-01-01", "D"), dt.datetime(2024, 1, 1)),
    (np.datetime64(1, "ns"), TimestampNs(1, "wall")), (np.datetime64(-1, "us"), EPOCH - dt.timedelta(microseconds=1)),
    (np.datetime64(1, "25s"), EPOCH + dt.timedelta(seconds=25)), (np.datetime64(1, "W"), dt.datetime(1970, 1, 8)),
    (np.datetime64("1971-03", "M"), dt.datetime(1971, 3, 1)), (np.datetime64("1969", "Y"), dt.datetime(1969, 1, 1)),
    (np.datetime64("12345", "Y"), TimestampNs(3789391 * 86400 * 10**9, "wall")),
    (np.datetime64(3000, "ps"), TimestampNs(3, "wall")),
    (np.datetime64(1000, "ns"), EPOCH + dt.timedelta(microseconds=1)),
    (pa.scalar(5, pa.int8()), 5), (pa.scalar(None, pa.int8()), None), (pa.scalar(1.5), 1.5), (pa.scalar(True), True),
    (pa.scalar("x"), "x"), (pa.scalar(b"x"), b"x"), (pa.scalar("x").cast(pa.large_string()), "x"),
    (pa.scalar(Decimal("1.50")), Decimal("1.50")), (pa.scalar(dt.date(2024, 1, 1)), dt.date(2024, 1, 1)),
    (pa.scalar(1, pa.timestamp("ns")), TimestampNs(1, "wall")),
    (pa.scalar(1, pa.timestamp("ns", tz="Europe/Berlin")), TimestampNs(1, "instant")),
    (pa.scalar(1, pa.timestamp("s", tz="Europe/Berlin")), dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.timezone.utc)),
    (pa.scalar(2**62, pa.timestamp("s")), TimestampNs(2**62 * 10**9, "wall")),
    (pa.scalar(1, pa.time32("s")), dt.time(0, 0, 1)), (pa.scalar(5000, pa.time64("ns")), dt.time(0, 0, 0, 5)),
    (pa.array(["x"]).dictionary_encode()[0], "x"),
    (bytearray(b"x"), b"x"), (memoryview(b"x"), b"x"), (Colour.RED, 7), (Decimal("NaN"), math.nan),
    (Decimal("-Infinity"), -math.inf), (timestamp_ns(5), timestamp_ns(5)), (timestamp_ns(np.int64(5)), timestamp_ns(5)),
])
def test_becomes(given_, want):
    same(literal(given_), want)


def test_finer_than_nanoseconds_stays_exact():
    assert literal(np.datetime64(1, "ps")).ns * 1000 == 1
    from paimon_fidx.literals import bind
    assert bind(col("t") > np.datetime64(999_999, "ps"), "TIMESTAMP(6)").ranges[0][0] == 1
    assert bind(col("t") == np.datetime64(999_999, "fs"), "TIMESTAMP(9)").ranges == ()


def test_pandas_scalars():
    pd = pytest.importorskip("pandas")
    assert literal(pd.Timestamp(5)) == TimestampNs(5, "wall")
    assert literal(pd.Timestamp(1, tz="Europe/Berlin")) == TimestampNs(1, "instant")
    assert literal(pd.Timestamp("2024-01-01")) == dt.datetime(2024, 1, 1)
    assert type(literal(pd.Timestamp(0))) is dt.datetime
    assert literal(pd.NaT) is None and literal(pd.NA) is None


def test_numpy_on_the_left_and_arrays_in_lists():
    assert (np.int64(5) < col("a")) == (col("a") > 5)
    assert (np.float64(5) == col("a")) == (col("a") == 5.0)
    assert col("a").is_in(np.array([1, 2])) == col("a").is_in([1, 2])
    assert col("a").is_in(pa.array([1, None])) == col("a").is_in([1, None])


@pytest.mark.parametrize("value", [
    [1], {}, object(), 1j, np.complex128(1), np.array([1, 2]), np.timedelta64(1, "s"), dt.timedelta(1),
    pa.scalar([1]), pa.scalar({"a": 1}), pa.scalar(dt.timedelta(1)), pa.array([1]), pa.scalar(5, pa.time64("ns")), int,
])
def test_no_literal(value):
    with pytest.raises((TypeError, ValueError), match="no literal|one value|generic|unit"):
        literal(value)


def test_a_nanosecond_timestamp_is_of_an_integer():
    with pytest.raises(TypeError):
        timestamp_ns(1.5)


@given(st.dates())
def test_days_of_the_calendar(day):
    assert days_from_civil(day.year, day.month, day.day) == day.toordinal() - 719163


def test_days_repeat_every_400_years():
    assert days_from_civil(2024 - 4000, 2, 29) == days_from_civil(2024, 2, 29) - 10 * 146097
