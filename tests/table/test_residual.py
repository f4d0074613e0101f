"""The predicate over Arrow batches against a plain Python model of Spark SQL's comparisons."""
from __future__ import annotations

import datetime
import math
import struct
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_fidx.predicate import ALWAYS, NEVER, And, Leaf, Or, col, timestamp_ns
from paimon_fidx.table.residual import Residual, matches_value
from paimon_fidx.types import parse_type, to_arrow

NAN = float("nan")


def rows(predicate, type_text, values):
    """Positions of the values that match, in one batch."""
    data_type = parse_type(type_text)
    batch = pa.record_batch([pa.array(values, to_arrow(data_type))], ["c"])
    return np.flatnonzero(Residual(predicate, {"c": data_type}).mask(batch)).tolist()


def float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def sort_key(value):
    """Spark's order: NaN above all, both zeros one value, strings by UTF-8."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value.encode() if isinstance(value, str) else value


def model(op, value, literals):
    """Whether SQL says TRUE."""
    if op in ("is_null", "is_not_null"):
        return (value is None) == (op == "is_null")
    if value is None:
        return False
    v = sort_key(value)
    keys = [None if x is None else sort_key(x) for x in literals]
    if op == "in":
        return v in keys
    if op == "not_in":
        return None not in keys and v not in keys
    if op == "between":
        return None not in keys and keys[0] <= v <= keys[1]
    if op == "not_between":
        return (keys[0] is not None and v < keys[0]) or (keys[1] is not None and v > keys[1])
    if keys[0] is None:
        return False
    x = keys[0]
    return {"=": v == x, "!=": v != x, "<": v < x, "<=": v <= x, ">": v > x, ">=": v >= x}[op]


VALUES = {
    "TINYINT": st.integers(-128, 127),
    "BIGINT": st.integers(-2**63, 2**63 - 1) | st.integers(-3, 3),
    "FLOAT": st.floats(width=32) | st.sampled_from([0.0, -0.0, NAN, math.inf, 1.5]),
    "DOUBLE": st.floats() | st.sampled_from([0.0, -0.0, NAN, -math.inf, 1.5]),
    "DECIMAL(12, 3)": st.decimals(-10**8, 10**8, places=3),
    "DECIMAL(38, 4)": st.decimals(-10**33, 10**33, places=4) | st.sampled_from([Decimal("0.0001"), Decimal(0)]),
    "STRING": st.text(max_size=3) | st.sampled_from(["", "a", "ab", "\0", "\U0001F600", "é"]),
    "BYTES": st.binary(max_size=3),
    "BOOLEAN": st.booleans(),
    "DATE": st.dates(),
    "TIMESTAMP(6)": st.datetimes(datetime.datetime(1800, 1, 1), datetime.datetime(2200, 1, 1)),
}
OPERATORS = {"=": 1, "!=": 1, "<": 1, "<=": 1, ">": 1, ">=": 1, "between": 2, "not_between": 2, "in": 3, "not_in": 3,
             "is_null": 0, "is_not_null": 0}


@pytest.mark.parametrize("type_text", VALUES)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_comparison_of_every_type(type_text, data):
    value = st.none() | VALUES[type_text]
    column = data.draw(st.lists(value, max_size=12))
    op = data.draw(st.sampled_from(sorted(OPERATORS)))
    pool = value if not column else value | st.sampled_from(column)
    literals = tuple(data.draw(pool) for _ in range(OPERATORS[op]))
    if type_text == "FLOAT":
        column = [v if v is None else float32(v) for v in column]
        literals = tuple(v if v is None else float32(v) for v in literals)
    expected = [i for i, v in enumerate(column) if model(op, v, literals)]
    assert rows(Leaf(col("c"), op, literals), type_text, column) == expected


def test_nan_is_the_largest_and_equals_itself():
    values = [1.0, NAN, math.inf, None, -math.inf]
    assert rows(col("c") > math.inf, "DOUBLE", values) == [1]
    assert rows(col("c") == NAN, "DOUBLE", values) == [1]
    assert rows(col("c").is_nan(), "DOUBLE", values) == [1]
    assert rows(~col("c").is_nan(), "DOUBLE", values) == [0, 2, 3, 4]


def test_a_nan_with_other_bits_is_nan():
    odd = np.array([0x7FF0000000000001, -1], dtype=np.int64).view(np.float64)
    batch = pa.record_batch([pa.array(odd)], ["c"])
    assert Residual(col("c") == NAN, {"c": parse_type("DOUBLE")}).mask(batch).all()


def test_the_zeros_are_equal():
    assert rows(col("c") == 0.0, "FLOAT", [0.0, -0.0, 1.0]) == [0, 1]
    assert rows(col("c") < 0.0, "FLOAT", [0.0, -0.0, -1.0]) == [2]


def test_a_float_column_is_widened():
    assert rows(col("c") == 0.1, "FLOAT", [0.1]) == []
    assert rows(col("c") > 0.1, "FLOAT", [0.1]) == [0]


def test_nanoseconds_are_compared():
    base = 1745542802000123001
    values = [base - 1, base, base + 1, None, base + 999]
    assert rows(col("c") == timestamp_ns(base), "TIMESTAMP(9)", values) == [1]
    assert rows(col("c") > timestamp_ns(base), "TIMESTAMP(9)", values) == [2, 4]
    assert rows(col("c") != timestamp_ns(base), "TIMESTAMP(9)", values) == [0, 2, 4]


def test_timestamps_before_the_epoch():
    values = [-1744877001, -1744877000, -1744876999]
    assert rows(col("c") <= timestamp_ns(-1744877000), "TIMESTAMP(9)", values) == [0, 1]


@pytest.mark.parametrize(("type_text", "values"), [
    ("TIMESTAMP(0)", [-1, 0, 1]), ("TIMESTAMP(3)", [-1000, 0, 1000]), ("TIMESTAMP(6)", [-10**6, 0, 10**6])])
def test_each_unit_of_a_timestamp(type_text, values):
    second = datetime.datetime(1970, 1, 1, 0, 0, 1)
    assert rows(col("c") == second, type_text, values) == [2]
    assert rows(col("c") < datetime.datetime(1970, 1, 1), type_text, values) == [0]


def test_naive_literals_have_the_scans_zone():
    types = {"c": parse_type("TIMESTAMP(3) WITH LOCAL TIME ZONE")}
    batch = pa.record_batch([pa.array([0, 3_600_000], pa.timestamp("ms", tz="UTC"))], ["c"])
    wanted = col("c") == datetime.datetime(1970, 1, 1, 1)
    assert Residual(wanted, types, "Europe/Berlin").mask(batch).tolist() == [True, False]
    assert Residual(wanted, types).mask(batch).tolist() == [False, True]


def test_a_clock_time_against_an_instant_where_the_clock_goes_back():
    # Berlin, 25 Oct 2020: 02:30 is shown twice; a clock time 02:30 means the first, 00:30 UTC
    types = {"c": parse_type("TIMESTAMP(3)")}
    at = [datetime.datetime(2020, 10, 25, 2, 30), datetime.datetime(2020, 10, 25, 3, 30)]
    batch = pa.record_batch([pa.array(at, pa.timestamp("ms"))], ["c"])
    first = datetime.datetime(2020, 10, 25, 0, 30, tzinfo=datetime.timezone.utc)
    second = datetime.datetime(2020, 10, 25, 1, 30, tzinfo=datetime.timezone.utc)
    assert Residual(col("c") == first, types, "Europe/Berlin").mask(batch).tolist() == [True, False]
    assert Residual(col("c") == second, types, "Europe/Berlin").mask(batch).tolist() == [False, False]
    assert Residual(col("c") < second, types, "Europe/Berlin").mask(batch).tolist() == [True, False]


@pytest.mark.parametrize(("predicate", "expected"), [
    (col("c").starts_with("a"), [0, 1, 5]), (col("c").ends_with("b"), [1]), (col("c").contains("b"), [1, 5]),
    (~col("c").contains("b"), [0, 2, 3, 6, 7]), (col("c").like("a_"), [1]),
    (col("c").like("%_%"), [0, 1, 3, 5, 6, 7]), (~col("c").like("a%"), [2, 3, 6, 7]),
    (col("c").like("_"), [0, 3, 6, 7]),
    (col("c").like(""), [2]), (col("c").like("\\%"), [7]), (col("c").like("!%", "!"), [7]),
])
def test_patterns(predicate, expected):
    values = ["a", "ab", "", "\U0001F600", None, "abc\n", "é", "%"]
    assert rows(predicate, "STRING", values) == expected


def test_patterns_cross_lines_and_count_code_points():
    assert rows(col("c").like("a%c_"), "STRING", ["a\nbc\n", "ac"]) == [0]


def test_binary_columns():
    values = [b"\xff\xfe", b"\xff", b"", None]
    assert rows(col("c").starts_with(b"\xff"), "BYTES", values) == [0, 1]
    assert rows(col("c") >= b"\xff", "BYTES", values) == [0, 1]


def test_times():
    values = [0, 1, 86_399_999, None]
    assert rows(col("c") > datetime.time(0, 0, 0, 1000), "TIME(3)", values) == [2]


def test_literals_out_of_the_types_range():
    assert rows(col("c") < 1000, "TINYINT", [1, None, -128]) == [0, 2]
    assert rows(col("c") == 1000, "TINYINT", [1, None]) == []
    assert rows(col("c") < Decimal("1e400"), "BIGINT", [2**63 - 1]) == [0]


def test_map_keys():
    types = {"m": parse_type("MAP<STRING, INT>")}
    batch = pa.record_batch(
        [pa.array([{"a": 1}, {"b": 2}, None, {"a": None}, {}], pa.map_(pa.string(), pa.int32()))], ["m"])
    assert Residual(col("m")["a"] == 1, types).mask(batch).tolist() == [True, False, False, False, False]
    assert Residual(col("m")["a"].is_null(), types).mask(batch).tolist() == [False, True, True, True, True]
    assert Residual(col("m").is_null(), types).mask(batch).tolist() == [False, False, True, False, False]


def test_constants_and_logic():
    types, batch = {"c": parse_type("INT")}, pa.record_batch([pa.array([1, 2, None])], ["c"])
    assert Residual(ALWAYS, types).mask(batch).all()
    assert not Residual(NEVER, types).mask(batch).any()
    either = (col("c") == 1) | (col("c").is_null())
    assert Residual(either, types).mask(batch).tolist() == [True, False, True]
    assert Residual(~either, types).mask(batch).tolist() == [False, True, False]


def test_depth_is_no_limit():
    deep = col("c") == 0
    for i in range(5000):
        deep = Or([deep, col("c") == 1]) if i % 2 else And([deep, col("c") < 9])
    batch = pa.record_batch([pa.array([0, 1, 5])], ["c"])
    assert Residual(deep, {"c": parse_type("INT")}).mask(batch).tolist() == [True, True, False]


def test_slices_and_chunks():
    column = pa.chunked_array([pa.array([Decimal(1), Decimal(2)], pa.decimal128(10, 0))] * 2)
    table = pa.table({"c": column}).slice(1, 2)
    assert Residual(col("c") == 2, {"c": parse_type("DECIMAL(10, 0)")}).mask(table).tolist() == [True, False]
    empty = table.slice(0, 0)
    assert len(Residual(col("c") == 2, {"c": parse_type("DECIMAL(10, 0)")}).mask(empty)) == 0


def test_a_literal_that_cannot_be_compared_names_the_column():
    with pytest.raises(TypeError, match="c"):
        Residual(col("c") == "x", {"c": parse_type("INT")})


@pytest.mark.parametrize(("predicate", "type_text", "value", "expected"), [
    (col("dt") == "20240101", "STRING", "20240101", True), (col("dt") != "x", "STRING", None, False),
    (col("dt").is_null(), "STRING", None, True), (col("dt") < datetime.date(2024, 1, 2), "DATE",
                                                  datetime.date(2024, 1, 1), True),
    (col("dt") >= 3, "INT", 2, False)])
def test_one_value_of_a_partition(predicate, type_text, value, expected):
    assert matches_value(predicate, parse_type(type_text), value) is expected
