"""Every Arrow type that a Paimon table reads as, through Spark and back, in several session time zones."""
import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from paimon_fidx.spark.types import exchange_schema, spark_schema, to_exchange

UTC = dt.timezone.utc
NS = -1  # one nanosecond before the epoch: the microsecond before it


def column(values, kind):
    """An Arrow array of int64 values read as ``kind``: every digit is in the test's hands."""
    return pa.array(values, pa.int64()).cast(kind)


# name: (Arrow column of three rows: an early one, NULL, a late one; what Spark calls the type; the rows as text)
CASES = {
    "ts0": (column([-1, None, 1], pa.timestamp("s")), "timestamp_ntz",
            ["1969-12-31 23:59:59", None, "1970-01-01 00:00:01"]),
    "ts3": (column([-1, None, 1], pa.timestamp("ms")), "timestamp_ntz",
            ["1969-12-31 23:59:59.999", None, "1970-01-01 00:00:00.001"]),
    "ts6": (column([-1, None, 1], pa.timestamp("us")), "timestamp_ntz",
            ["1969-12-31 23:59:59.999999", None, "1970-01-01 00:00:00.000001"]),
    "ts9": (column([NS, None, 1999], pa.timestamp("ns")), "timestamp_ntz",
            ["1969-12-31 23:59:59.999999", None, "1970-01-01 00:00:00.000001"]),
    "ltz3": (column([-1, None, 1], pa.timestamp("ms", tz="UTC")), "timestamp",
             ["1969-12-31 23:59:59.999", None, "1970-01-01 00:00:00.001"]),
    "ltz9": (column([NS, None, 1999], pa.timestamp("ns", tz="UTC")), "timestamp",
             ["1969-12-31 23:59:59.999999", None, "1970-01-01 00:00:00.000001"]),
    "time": (pa.array([0, None, 86_399_999], pa.int32()).cast(pa.time32("ms")), "int", ["0", None, "86399999"]),
    "date": (pa.array([-1, None, 19000], pa.int32()).cast(pa.date32()), "date", ["1969-12-31", None, "2022-01-08"]),
    "decimal": (pa.array([Decimal("-1.500"), None, Decimal("99.125")], pa.decimal128(12, 3)), "decimal(12,3)",
                ["-1.500", None, "99.125"]),
    "decimal38": (pa.array([Decimal(10**37), None, Decimal(1)], pa.decimal128(38, 0)), "decimal(38,0)",
                  [str(10**37), None, "1"]),
    "bool": (pa.array([True, None, False]), "boolean", ["true", None, "false"]),
    "tinyint": (pa.array([-128, None, 127], pa.int8()), "tinyint", ["-128", None, "127"]),
    "smallint": (pa.array([-32768, None, 1], pa.int16()), "smallint", ["-32768", None, "1"]),
    "int": (pa.array([-(2**31), None, 1], pa.int32()), "int", [str(-(2**31)), None, "1"]),
    "bigint": (pa.array([-(2**63), None, 1]), "bigint", [str(-(2**63)), None, "1"]),
    "float": (pa.array([0.5, None, float("nan")], pa.float32()), "float", ["0.5", None, "NaN"]),
    "double": (pa.array([-0.0, None, float("inf")]), "double", ["-0.0", None, "Infinity"]),
    "string": (pa.array(["", None, "déjà"]), "string", ["", None, "déjà"]),
    "large": (pa.array(["x", None, "y"], pa.large_string()), "string", ["x", None, "y"]),
    "coded": (pa.array(["x", None, "y"]).dictionary_encode(), "string", ["x", None, "y"]),
    "binary3": (pa.array([b"abc", None, b"def"], pa.binary(3)), "binary", ["abc", None, "def"]),
    "bytes": (pa.array([b"", None, b"f"], pa.binary()), "binary", ["", None, "f"]),
}
TABLE = pa.record_batch({name: case[0] for name, case in CASES.items()})


def server(table):
    """A function for the worker that serves the table, whole and as a slice, whatever comes in. A closure, so that it
    is pickled by value: workers have the package, not its tests."""

    def serve(batches):
        for _ in batches:
            yield to_exchange(table, exchange_schema(table.schema))
            yield to_exchange(table.slice(1), exchange_schema(table.schema))

    return serve


def test_spark_calls_each_type_as_the_design_says():
    names = [field.dataType.simpleString() for field in spark_schema(TABLE.schema).fields]
    assert dict(zip(TABLE.schema.names, names)) == {name: case[1] for name, case in CASES.items()}


def test_values_arrive_in_spark(spark):
    frame = spark.range(1, numPartitions=1).mapInArrow(server(TABLE), spark_schema(TABLE.schema))
    rows = frame.selectExpr(*[f"cast(`{name}` AS STRING) AS `{name}`" for name in CASES]).collect()
    for name, (_, _, values) in CASES.items():
        assert [row[name] for row in rows] == values + values[1:], name


@pytest.mark.parametrize("zone, local_hour", [("UTC", 0), ("Asia/Shanghai", 8), ("America/New_York", 19)])
def test_session_zone_shows_instants_and_leaves_wall_clocks(spark, session_zone, zone, local_hour):
    session_zone(zone)
    frame = spark.range(1, numPartitions=1).mapInArrow(server(TABLE), spark_schema(TABLE.schema))
    row = frame.where("ts3 > '1970-01-01'").selectExpr("hour(ts3)", "hour(ltz3)", "unix_micros(ltz3)").first()
    assert tuple(row) == (0, local_hour, 1000)


def nested():
    """Four rows of nested columns whose leaves need conversion."""
    at = dt.datetime(1969, 1, 1, 1, 1, 1, 5000)
    struct = pa.struct([("x", pa.int8()), ("y", pa.struct([("z", pa.timestamp("s", tz="UTC"))]))])
    return pa.record_batch({
        "m": pa.array([[("a", at)], [], None, [("b", None)]], pa.map_(pa.string(), pa.timestamp("ns"))),
        "l": pa.array([[1, 2], None, [], [None]], pa.list_(pa.time32("ms"))),
        "f": pa.array([[b"ab"], None, [b"cd"], [None]], pa.list_(pa.binary(2), 1)),
        "s": pa.array([{"x": 1, "y": {"z": 0}}, None, {"x": None, "y": None}, {"x": 2, "y": {"z": None}}], struct),
        "ml": pa.array([[("a", [1])], [], None, [("b", None)]], pa.map_(pa.string(), pa.list_(pa.int64()))),
    })


NESTED_TYPES = "struct<m:map<string,timestamp_ntz>,l:array<int>,f:array<binary>," \
    "s:struct<x:tinyint,y:struct<z:timestamp>>,ml:map<string,array<bigint>>>"


@pytest.mark.parametrize("start", range(4))
def test_nested_types_convert_from_any_slice(start):
    batch = nested().slice(start)
    assert spark_schema(batch.schema).simpleString() == NESTED_TYPES
    there = to_exchange(batch, exchange_schema(batch.schema))
    there.validate(full=True)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, there.schema) as writer:
        writer.write_batch(there)
    at, zero = dt.datetime(1969, 1, 1, 1, 1, 1, 5000), dt.datetime(1970, 1, 1, tzinfo=UTC)
    assert pa.ipc.open_stream(sink.getvalue()).read_all().to_pylist() == [
        {"m": [("a", at)], "l": [1, 2], "f": [b"ab"], "s": {"x": 1, "y": {"z": zero}}, "ml": [("a", [1])]},
        {"m": [], "l": None, "f": None, "s": None, "ml": []},
        {"m": None, "l": [], "f": [b"cd"], "s": {"x": None, "y": None}, "ml": None},
        {"m": [("b", None)], "l": [None], "f": [None], "s": {"x": 2, "y": {"z": None}}, "ml": [("b", None)]},
    ][start:]


def test_a_type_without_counterpart_is_named():
    with pytest.raises(TypeError, match="column d: Spark has no counterpart of the Arrow type decimal256"):
        exchange_schema(pa.schema({"d": pa.decimal256(40, 2)}))
    with pytest.raises(TypeError, match="column l: .* month"):
        exchange_schema(pa.schema({"l": pa.list_(pa.month_day_nano_interval())}))
