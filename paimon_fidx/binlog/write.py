"""Binlogs as Milvus writes them, by its classic writer or by its stream writer.

                        classic                                  stream
    column              val                                      the field's id
    repetition          optional if nullable, else required      optional
    descriptor times    as given                                 0, 0
    event times         as given                                 1, 1
    next position       the end of the event                     -1
"""
from __future__ import annotations

import base64
import json
import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from xxhash import xxh3_64_intdigest

from . import blooms, decode
from .columns import ITEMS, KINDS, SCALARS, SPARSE_PAIR
from .deletes import PK, TS
from .events import Writer
from .model import COUNTER_BITS, DataType, EventType

__all__ = ["write_binlog", "write_bm25_stats", "write_delete_log", "write_pk_stats"]

LAYOUTS = ("classic", "stream")
DELETE_FORMS = ("text", "json", "json-stream", "multi-field")
ROWS_PER_GROUP = 1 << 30
KIND_OF = {
    pa.bool_(): 1, pa.int8(): 2, pa.int16(): 2, pa.int32(): 2, pa.int64(): 3, pa.float32(): 4, pa.float64(): 5,
    pa.string(): 6, pa.large_string(): 6, pa.binary(): 7,
}
BYTES_PER_KEY = 64  # rows of a delete log, as an estimate of their size in memory
FALSE_POSITIVES = 0.001  # Milvus' default
BLOCK_BITS = 512


def write_binlog(
    data: Any,
    data_type: DataType | int | str,
    *,
    field_id: int,
    collection_id: int = -1,
    partition_id: int = -1,
    segment_id: int = -1,
    layout: str = "classic",
    nullable: bool | None = False,
    primary_key: bool = False,
    times: Sequence[tuple[int, int]] | None = None,
    timestamp: int | None = None,
    start_timestamp: int | None = None,
    end_timestamp: int | None = None,
    original_size: int | None = None,
) -> bytes:
    """An insert log: the bytes of a file.

    Parameters
    ----------
    data : pyarrow.Array, ChunkedArray, or a list or tuple of them: one insert event each; types as ``to_arrow`` gives
    data_type : of the field, a code or a name such as "FloatVector"
    layout : "classic" or "stream"
    nullable : of the field; None leaves it unsaid, as Milvus did before June 2024
    primary_key : such columns have no dictionary
    times : hybrid (start, end) of each event; from ``start_timestamp`` and ``end_timestamp`` when None. Classic only
    timestamp : hybrid, of writing, in all headers; now when None
    start_timestamp, end_timestamp : hybrid, in the descriptor; over ``times`` when None, 1 when there are none
    original_size : bytes in memory, in the extras; those of the Arrow columns when None

    Raises
    ------
    TypeError, ValueError: data that do not fit the data type, nulls in a field that is not nullable, a size above 2 GiB

    Example
    -------
    >>> import paimon_fidx.binlog as bl
    >>> file = bl.write_binlog(pa.array([1, 2]), "Int64", field_id=100)
    >>> bl.open_binlog(file).to_arrow().to_pydict()
    {'100': [1, 2]}
    """
    data_type = DataType.of(data_type)
    if layout not in LAYOUTS:
        raise ValueError(f"layout={layout!r}: one of {', '.join(LAYOUTS)}")
    columns = [_one(each) for each in (data if isinstance(data, (list, tuple)) else [data])]
    classic = layout == "classic"
    payloads = []
    for column in columns:
        if column.null_count and nullable is False:
            raise ValueError(f"{column.null_count} nulls in a field that is not nullable")
        stored, metadata = _stored(column, data_type, bool(nullable))
        name = "val" if classic else str(field_id)
        field = pa.field(name, stored.type, nullable=bool(nullable) or not classic, metadata=metadata)
        payloads.append(_parquet([stored], [field], "zstd", not primary_key))
    if original_size is None:
        original_size = sum(column.nbytes for column in columns)
    extras = {} if nullable is None else {"nullable": nullable}
    return _file(
        EventType.INSERT, data_type, payloads, {**extras, "original_size": str(original_size)},
        (collection_id, partition_id, segment_id, field_id), classic, times, timestamp, start_timestamp, end_timestamp)


def write_delete_log(
    pks: Sequence[int] | Sequence[str] | pa.Array,
    timestamps: Sequence[int] | pa.Array,
    *,
    form: str = "json",
    column: str | None = None,
    collection_id: int = -1,
    partition_id: int = -1,
    segment_id: int = -1,
    dictionary: bool = False,
    timestamp: int | None = None,
    start_timestamp: int | None = None,
    end_timestamp: int | None = None,
    original_size: int | None = None,
) -> bytes:
    """A delete log: the bytes of a file.

    Parameters
    ----------
    pks : integers or texts;  timestamps : hybrid, one for each
    form : "text" (Milvus 2.0, integer keys), "json" (classic), "json-stream", "multi-field"
    column : name of the text column: ``val``, and ``0`` for json-stream when None (``delta`` until October 2025)
    dictionary : of the text column of the classic forms, as before July 2024
    partition_id : -1 for deletes of all partitions
    the others as in :func:`write_binlog`; classic forms take the least and greatest timestamp when None

    Example
    -------
    >>> import paimon_fidx.binlog as bl
    >>> bl.open_binlog(bl.write_delete_log([7], [5])).to_arrow().to_pylist()
    [{'pk': 7, 'ts': 5}]
    """
    if form not in DELETE_FORMS:
        raise ValueError(f"form={form!r}: one of {', '.join(DELETE_FORMS)}")
    keys = pks.to_pylist() if isinstance(pks, (pa.Array, pa.ChunkedArray)) else list(pks)
    times = timestamps.to_pylist() if isinstance(timestamps, (pa.Array, pa.ChunkedArray)) else list(timestamps)
    if len(keys) != len(times):
        raise ValueError(f"{len(keys)} keys and {len(times)} timestamps")
    text = bool(keys) and isinstance(keys[0], str)
    keys = pa.array(keys, pa.string() if text else pa.int64())
    times = pa.array(times, pa.int64())
    if keys.null_count or times.null_count:
        raise ValueError("nulls among keys or timestamps")
    extras = {"original_size": str(len(keys) * BYTES_PER_KEY if original_size is None else original_size)}
    classic = form in ("text", "json")
    if form == "multi-field":
        fields = [pa.field(PK, keys.type, nullable=False), pa.field(TS, pa.int64(), nullable=False)]
        payload = _parquet([keys, times], fields, "none", True)
        data_type = DataType.INT64  # whatever the key is
        extras["version"] = "MULTI_FIELD"
    else:
        if form == "text" and text:
            raise TypeError("deletes as text have integer keys")
        rows = [_delete_row(pk, ts, form) for pk, ts in zip(keys.to_pylist(), times.to_pylist())]
        field = pa.field(column or ("val" if classic else "0"), pa.string(), nullable=not classic)
        payload = _parquet([pa.array(rows, pa.string())], [field], "zstd", not classic or dictionary)
        data_type = DataType.STRING
    least, most = (min(times.to_pylist()), max(times.to_pylist())) if len(times) else (1, 1)
    start = least if start_timestamp is None else start_timestamp
    end = most if end_timestamp is None else end_timestamp
    return _file(EventType.DELETE, data_type, [payload], extras, (collection_id, partition_id, segment_id, -1), classic,
                 [(start, end)], timestamp, start, end)


def _delete_row(pk: int | str, ts: int, form: str) -> str:
    if form == "text":
        return f"{pk},{ts}"
    return f'{{"pk":{_go_json(pk)},"ts":{ts},"pkType":{21 if isinstance(pk, str) else 5}}}'


def _go_json(value: Any) -> str:
    """JSON as Go spells it: compact, UTF-8, but <, >, & and two line separators escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _one(column: Any) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        return column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)
    if not isinstance(column, pa.Array):
        raise TypeError(f"a column is a pyarrow Array or ChunkedArray, not {type(column).__name__}")
    return column


def _file(event_type, data_type, payloads, extras, ids, classic, times, timestamp, start, end) -> bytes:
    timestamp = time.time_ns() // 1_000_000 << COUNTER_BITS if timestamp is None else timestamp
    if times is None:
        each = (1 if start is None else start, 1 if end is None else end)
        times = [each] * len(payloads)
    if len(times) != len(payloads):
        raise ValueError(f"{len(times)} pairs of times for {len(payloads)} events")
    if not classic:
        times, start, end = [(1, 1)] * len(payloads), 0, 0
    start = min((pair[0] for pair in times), default=1) if start is None else start
    end = max((pair[1] for pair in times), default=1) if end is None else end
    for name, value in (("timestamp", timestamp), ("start_timestamp", start), ("end_timestamp", end)):
        if not 0 <= value < 1 << 64:
            raise ValueError(f"{name}={value}: 0 to 2^64 - 1")
    text = _go_json(dict(sorted(extras.items()))).encode()
    writer = Writer(timestamp, *ids, start, end, int(data_type), text)
    for payload, (first, last) in zip(payloads, times):
        writer.event(timestamp, int(event_type), first, last, payload, chained=classic)
    return writer.finish()


def _parquet(columns: list[pa.Array], fields: list[pa.Field], compression: str, dictionary: bool) -> bytes:
    schema = pa.schema(fields)
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink, schema, compression=compression, compression_level=3 if compression == "zstd" else None,
        use_dictionary=dictionary, store_schema=any(field.metadata for field in fields),
    ) as writer:
        writer.write_table(pa.Table.from_arrays(columns, schema=schema), row_group_size=ROWS_PER_GROUP)
    return sink.getvalue().to_pybytes()


# --- Arrow columns as Milvus stores them

def _stored(column: pa.Array, data_type: DataType, nullable: bool) -> tuple[pa.Array, dict[str, str] | None]:
    if data_type in SCALARS:
        if column.type != SCALARS[data_type]:
            raise TypeError(f"{data_type.name} is {SCALARS[data_type]}, not {column.type}")
        return column, None
    if data_type in ITEMS:
        return _vector(column, data_type, nullable)
    if data_type == DataType.SPARSE_FLOAT_VECTOR:
        return _sparse(column), None
    if data_type == DataType.ARRAY:
        return _arrays(column), None
    if data_type == DataType.ARRAY_OF_VECTOR:
        return _vectors(column)
    raise ValueError(f"no layout for fields of type {data_type.name}")


def _flat(column: pa.Array, data_type: DataType) -> tuple[pa.Array, int]:
    """A dense vector as fixed-size binary of so many bytes; a null has no bytes of its own."""
    item, _ = ITEMS[data_type]
    if item is None:
        if not pa.types.is_fixed_size_binary(column.type):
            raise TypeError(f"{data_type.name} is fixed-size binary, not {column.type}")
        return column, column.type.byte_width
    if not pa.types.is_fixed_size_list(column.type) or column.type.value_type != item:
        raise TypeError(f"{data_type.name} is a fixed-size list of {item}, not {column.type}")
    width = column.type.list_size * item.bit_width // 8
    if column.values.null_count and column.drop_null().flatten().null_count:  # a null vector's items do not count
        raise ValueError("nulls inside vectors")
    values = column.values
    data = values.buffers()[1]
    if values.offset:
        data = data.slice(values.offset * item.bit_width // 8)
    return pa.Array.from_buffers(pa.binary(width), len(column), [column.buffers()[0], data], column.null_count,
                                 column.offset), width


def _vector(column: pa.Array, data_type: DataType, nullable: bool) -> tuple[pa.Array, dict[str, str] | None]:
    flat, width = _flat(column, data_type)
    if not nullable:
        return flat, None
    dim = width * 8 // ITEMS[data_type][1]
    return pa.array(flat.to_pylist(), pa.binary()), {"dim": str(dim)}


def _vectors(column: pa.Array) -> tuple[pa.Array, dict[str, str]]:
    if not pa.types.is_list(column.type):
        raise TypeError(f"ARRAY_OF_VECTOR is a list of fixed-size lists, not {column.type}")
    code = DataType.FLOAT_VECTOR
    if pa.types.is_fixed_size_list(column.type.value_type):
        inner = column.type.value_type.value_type
        code = next((code for code, (item, _) in ITEMS.items() if item is not None and item == inner), code)
    flat, width = _flat(column.values, code)
    if flat.null_count:
        raise ValueError("nulls among the vectors of an ARRAY_OF_VECTOR")
    type = pa.list_(pa.field("element", flat.type))
    stored = pa.Array.from_buffers(type, len(column), column.buffers()[:2], column.null_count, column.offset,
                                   children=[flat])
    return stored, {"elementType": str(int(code)), "dim": str(width * 8 // ITEMS[code][1])}


def _sparse(column: pa.Array) -> pa.Array:
    if column.type != pa.list_(SPARSE_PAIR):
        raise TypeError(f"SPARSE_FLOAT_VECTOR is {pa.list_(SPARSE_PAIR)}, not {column.type}")
    rows = []
    for cell in column:
        if not cell.is_valid:
            rows.append(None)
            continue
        pairs = cell.values
        if pairs.null_count or any(pairs.field(i).null_count for i in (0, 1)):
            raise ValueError("nulls inside sparse vectors")
        # flatten applies the offsets of a slice
        index, value = (_octets(each) for each in pairs.flatten())
        rows.append(decode.interleave(index, value))
    return pa.array(rows, pa.binary())


def _arrays(column: pa.Array) -> pa.Array:
    kind = KIND_OF.get(column.type.value_type) if pa.types.is_list(column.type) else None
    if kind is None:
        raise TypeError(f"ARRAY is a list of booleans, integers, floats or text, not {column.type}")
    stored = column.cast(pa.list_(KINDS[kind]))
    rows = []
    for cell in stored:
        if not cell.is_valid:
            rows.append(None)
            continue
        values = cell.values
        if values.null_count:
            raise ValueError("nulls inside arrays")
        if kind in (6, 7):
            _, ends, data = values.buffers()
            ends = memoryview(ends).cast("B")[values.offset * 4:(values.offset + len(values) + 1) * 4] \
                if ends is not None and ends.size else bytes(4)
            rows.append(decode.encode_array(kind, b"" if data is None else memoryview(data).cast("B"), ends))
        else:
            rows.append(decode.encode_array(kind, _octets(values.cast(pa.uint8()) if kind == 1 else values)))
    return pa.array(rows, pa.binary())


def _octets(array: pa.Array) -> memoryview:
    """The bytes of fixed-width values without nulls."""
    width = array.type.bit_width // 8
    data = array.buffers()[1]
    if data is None or not len(array):
        return memoryview(b"")
    return memoryview(data).cast("B")[array.offset * width:(array.offset + len(array)) * width]


# --- statistics

def write_pk_stats(
    pks: Iterable[int] | Iterable[str],
    *,
    field_id: int,
    filter: str = "blocked",
    bit_count: int | None = None,
    hash_count: int | None = None,
    false_positives: float = FALSE_POSITIVES,
    old: bool = False,
) -> bytes:
    """Primary-key statistics of one log: JSON bytes with a Bloom filter over the keys.

    filter : "blocked", "basic" or "always";  bit_count, hash_count : its shape, from ``false_positives`` when None
    old : without the filter's type, as Milvus wrote before 2.4 (basic only)

    Example
    -------
    >>> import paimon_fidx.binlog as bl
    >>> bl.open_pk_stats(write_pk_stats(["a", "b"], field_id=100)).may_contain("a")
    True
    """
    keys = list(pks)
    if not keys:
        raise ValueError("statistics of no keys")
    if old and filter != "basic":
        raise ValueError("old statistics have a basic filter")
    text = isinstance(keys[0], str)
    raw = [key.encode() if text else key.to_bytes(8, "little", signed=True) for key in keys]
    bits = math.ceil(-len(raw) * math.log(false_positives) / math.log(2) ** 2)
    if filter == "basic":
        m = max(1, bits) if bit_count is None else bit_count
        k = math.ceil(math.log(2) * m / len(raw)) if hash_count is None else hash_count
        stored: Any = {"m": m, "k": k, "b": _base64(blooms.basic_filter(raw, m, k))}
    elif filter == "blocked":
        blocks = max(1, -(-(bits if bit_count is None else bit_count) // BLOCK_BITS))
        k = math.ceil(math.log(2) * blocks * BLOCK_BITS / len(raw)) if hash_count is None else hash_count
        data = blooms.blocked_filter([xxh3_64_intdigest(key) for key in raw], blocks, k)
        stored = {"k": k, "b": [_base64(data[at:at + 64]) for at in range(0, len(data), 64)]}
    elif filter == "always":
        stored = {}
    else:
        raise ValueError(f"filter={filter!r}: blocked, basic or always")
    code = {"always": 2, "basic": 3, "blocked": 4}[filter]
    value = {"fieldID": field_id, "max": 0, "min": 0, **({} if old else {"bfType": code}), "bf": stored,
             "pkType": int(DataType.VARCHAR if text else DataType.INT64), "maxPk": max(keys), "minPk": min(keys)}
    return _go_json(value).encode()


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()


def write_bm25_stats(row_count: int, token_count: int, rows_with_token: dict[int, int]) -> bytes:
    """BM25 statistics: the bytes of a file, tokens in the order of the mapping.

    >>> import paimon_fidx.binlog as bl
    >>> bl.open_bm25_stats(write_bm25_stats(2, 5, {7: 1})).rows_with_token[7]
    1
    """
    head = bytes(4) + row_count.to_bytes(8, "little", signed=True) + token_count.to_bytes(8, "little", signed=True)
    pairs = (token.to_bytes(4, "little") + rows.to_bytes(4, "little", signed=True)
             for token, rows in rows_with_token.items())
    return head + b"".join(pairs)
