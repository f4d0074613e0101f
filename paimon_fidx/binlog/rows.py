"""From a binlog's events to record batches of one schema."""
from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import UnsupportedError
from .columns import Part, Plan, Place, reading
from .deletes import delete_schema, deletes_of
from .model import DataType

if TYPE_CHECKING:
    from .reader import Binlog

__all__ = ["batches_of", "row_count"]

FEW = 1024  # rows read at a time while looking for the kind of arrays
NARROW = {"INT8": pa.int8(), "INT16": pa.int16(), "INT32": pa.int32(), "INT64": pa.int64(), "BOOL": pa.bool_(),
          "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "VARCHAR": pa.string(), "STRING": pa.string()}


def batches_of(binlog: Binlog, kind: str, batch_rows: int | None, element_type: Any):
    """(schema, iterator of batches); all of an event at once where ``batch_rows`` is None."""
    element = _element(element_type)
    name = str(binlog.field_id)
    if kind == "index" and binlog.data_type == DataType.NONE:
        return _raw(binlog, name)
    if kind == "index" and binlog.data_type not in (DataType.INT8, DataType.STRING):
        raise UnsupportedError("descriptor.data_type", path=binlog.path, offset=69,
                               expected="0, 2 or 20 for an index file", found=binlog.data_type)
    parts = _open(binlog)
    if kind == "delete":
        return _deletes(parts, batch_rows)
    for part in parts:
        if len(part.schema) != 1:
            raise part.place.corrupt(".columns", "one column", f"{len(part.schema)}")
    data_type = binlog.data_type
    if kind == "index" and data_type == DataType.STRING:
        data_type = DataType.JSON  # index bytes called a string: binary, as they need not be UTF-8
    if element is not None and data_type != DataType.ARRAY:
        raise TypeError(f"element_type={element}: the field is no Array, its data type is {data_type}")
    plan = Plan(data_type, [(part.schema.field(0), part.place) for part in parts], element)
    if plan.open:
        _look(plan, parts)
        plan.settle()
    schema = pa.schema([pa.field(name, plan.type)])
    return schema, _columns(parts, plan, schema, batch_rows)


def row_count(binlog: Binlog, kind: str) -> int:
    """Rows, from the footers."""
    if kind == "index" and binlog.data_type == DataType.NONE:
        return binlog.event_count
    return sum(part.file.metadata.num_rows for part in _open(binlog))


def _open(binlog: Binlog) -> list[Part]:
    parts = []
    for i in range(binlog.event_count):
        payload, at = binlog.payload_in(i, pa.allocate_buffer)
        parts.append(Part(payload, Place(binlog.path, f"event[{i}].payload", at)))
    return parts


def _element(wanted: Any) -> pa.DataType | None:
    if wanted is None or isinstance(wanted, pa.DataType):
        return wanted
    name = DataType.of(wanted).name
    if name not in NARROW:
        raise TypeError(f"element_type={wanted!r} is no element of an array")
    return NARROW[name]


def _raw(binlog: Binlog, name: str):
    """Index files since Milvus 2.6: the payload is the content."""
    schema = pa.schema([pa.field(name, pa.binary())])
    contents = (memoryview(binlog.payload(i)).tobytes() for i in range(binlog.event_count))
    return schema, (pa.RecordBatch.from_arrays([pa.array([each], pa.binary())], schema=schema) for each in contents)


def _read(part: Part, batch_rows: int | None) -> Iterator[pa.RecordBatch]:
    """The batches of one payload; errors of Arrow become ours at each step."""
    file, place = part.file, part.place
    with reading(place):
        # One column: threads would gain nothing, and one that still held our buffer when Python ends would abort it.
        if batch_rows is None:
            batches = iter(file.read(use_threads=False).to_batches())
        else:
            batches = file.iter_batches(batch_rows, use_threads=False)
    while True:
        with reading(place):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _look(plan: Plan, parts) -> None:
    for part in parts:
        for batch in _read(part, FEW):
            with reading(part.place):
                if plan.look(batch.column(0), part.place):
                    return


def _columns(parts, plan: Plan, schema: pa.Schema, batch_rows: int | None) -> Iterator[pa.RecordBatch]:
    for part in parts:
        for batch in _read(part, batch_rows):
            with reading(part.place):
                column = plan.convert(batch.column(0), part.place)
            yield pa.RecordBatch.from_arrays([column], schema=schema)


def _deletes(parts, batch_rows: int | None):
    converted = _delete_batches(parts, batch_rows)
    first = next(converted, None)  # it tells the keys' type
    if first is None:
        stored = parts[0].schema if parts else pa.schema([])
        return delete_schema(len(stored) == 2 and stored.types[0] == pa.string()), iter(())
    return first.schema, _alike(chain([first], converted), first.schema, parts)


def _delete_batches(parts, batch_rows: int | None) -> Iterator[pa.RecordBatch]:
    for part in parts:
        for batch in _read(part, batch_rows):
            if batch.num_rows:
                with reading(part.place):
                    made = deletes_of(batch, part.place)
                yield made


def _alike(batches: Iterator[pa.RecordBatch], schema: pa.Schema, parts) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.schema != schema:
            raise parts[-1].place.corrupt(".pk", f"keys of one type, {schema.types[0]}", batch.schema.types[0])
        yield batch
