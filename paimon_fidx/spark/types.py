"""Arrow columns of a Paimon table as Spark takes them.

========================== ============== ===========================================================
Arrow (as the table reads) Spark          conversion
========================== ============== ===========================================================
timestamp without zone     TIMESTAMP_NTZ  microseconds; finer digits are cut off (towards the past)
timestamp with zone        TIMESTAMP      the same instant, microseconds in UTC
time                       INT            milliseconds of the day
fixed-size / large binary  BINARY         plain binary
large string               STRING         plain string
list, map, struct          ARRAY, MAP, STRUCT, their elements as above; every element may be null
dictionary                 its value type decoded
the others                 their equals   as they are
========================== ============== ===========================================================

Spark's Arrow exchange refuses ``timestamp[ms]`` and ``time32``, and shifts a timestamp without zone that is declared
as TIMESTAMP by the session's zone; hence the first three rows. Conversion happens after filtering, which sees all
digits.
"""
from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["spark_schema", "exchange_schema", "to_exchange"]


def exchange_schema(schema: pa.Schema) -> pa.Schema:
    """The Arrow schema in which rows of ``schema`` travel to Spark.

    Raises TypeError, naming the column, for a type without a counterpart.

    >>> exchange_schema(pa.schema({"at": pa.timestamp("ms"), "t": pa.time32("ms")})).types
    [TimestampType(timestamp[us]), DataType(int32)]
    """
    return pa.schema([(field.name, _exchange_type(field.type, field.name)) for field in schema])


def spark_schema(schema: pa.Schema):
    """The Spark ``StructType`` of a DataFrame with the columns of an Arrow schema (every column nullable).

    >>> spark_schema(pa.schema({"at": pa.timestamp("ms")})).simpleString()
    'struct<at:timestamp_ntz>'
    """
    from pyspark.sql.types import StructField, StructType

    exchange = exchange_schema(schema)
    return StructType([StructField(field.name, _spark_type(field.type), True) for field in exchange])


def to_exchange(batch: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    """``batch`` with the types of ``target``, which is ``exchange_schema`` of the batch's schema."""
    columns = [_convert(column, field.type) for column, field in zip(batch.columns, target, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=target)


def _exchange_type(kind: pa.DataType, name: str) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz=None if kind.tz is None else "UTC")
    if pa.types.is_time(kind):
        return pa.int32()
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_dictionary(kind):
        return _exchange_type(kind.value_type, name)
    if pa.types.is_map(kind):
        return pa.map_(_exchange_type(kind.key_type, name), _exchange_type(kind.item_type, name))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_exchange_type(kind.value_type, name))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _exchange_type(field.type, name)) for field in kind])
    if kind in _PLAIN or pa.types.is_decimal128(kind):
        return kind
    raise TypeError(f"column {name}: Spark has no counterpart of the Arrow type {kind}")


_PLAIN = {
    pa.bool_(): "BooleanType",
    pa.int8(): "ByteType",
    pa.int16(): "ShortType",
    pa.int32(): "IntegerType",
    pa.int64(): "LongType",
    pa.float32(): "FloatType",
    pa.float64(): "DoubleType",
    pa.string(): "StringType",
    pa.binary(): "BinaryType",
    pa.date32(): "DateType",
}


def _spark_type(kind: pa.DataType):
    from pyspark.sql import types

    if kind in _PLAIN:
        return getattr(types, _PLAIN[kind])()
    if pa.types.is_timestamp(kind):
        return types.TimestampNTZType() if kind.tz is None else types.TimestampType()
    if pa.types.is_decimal(kind):
        return types.DecimalType(kind.precision, kind.scale)
    if pa.types.is_map(kind):
        return types.MapType(_spark_type(kind.key_type), _spark_type(kind.item_type), True)
    if pa.types.is_list(kind):
        return types.ArrayType(_spark_type(kind.value_type), True)
    return types.StructType([types.StructField(field.name, _spark_type(field.type), True) for field in kind])


def _convert(column: pa.Array, target: pa.DataType) -> pa.Array:
    kind = column.type
    if kind == target:
        return column
    if pa.types.is_dictionary(kind):
        return _convert(column.dictionary_decode(), target)
    if pa.types.is_timestamp(kind):
        # A cast rounds instants before 1970 towards it; a coarser digit of a timestamp is the floor.
        return (pc.floor_temporal(column, unit="microsecond") if kind.unit == "ns" else column).cast(target)
    if pa.types.is_time(kind):
        return column.cast(pa.time32("ms"), safe=False).cast(target)
    if column.offset:
        # So that the children below start where the column does; and Arrow's IPC writes wrong bytes for what a cast
        # makes of a slice of fixed-size binaries (pyarrow 19).
        column = pa.concat_arrays([column, column.slice(0, 0)])
    return _convert_nested(column, target) if pa.types.is_nested(kind) else column.cast(target)


def _convert_nested(column: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_fixed_size_list(column.type) or pa.types.is_large_list(column.type):
        column = column.cast(pa.list_(column.type.value_type))
    if pa.types.is_struct(target):
        children = [_convert(column.field(i), target.field(i).type) for i in range(target.num_fields)]
    elif pa.types.is_map(target):
        entries = [_convert(column.keys, target.key_type), _convert(column.items, target.item_type)]
        children = [pa.StructArray.from_arrays(entries, fields=[target.key_field, target.item_field])]
    else:
        children = [_convert(column.values, target.value_type)]
    # validity and offsets stay, only the leaves are new
    own = column.buffers()[: 1 if pa.types.is_struct(target) else 2]
    return pa.Array.from_buffers(target, len(column), own, column.null_count, children=children)
