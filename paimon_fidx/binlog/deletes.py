"""The four forms of delete logs, all as columns ``pk`` (int64 or string) and ``ts`` (int64, hybrid).

    one column of text, any name:   ``<pk>,<ts>`` in decimal,
                                    or {"pk": .., "ts": .., "pkType": 5 or 21}, keys in any order
    two columns:                    pk, ts
"""
from __future__ import annotations

import re
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from .columns import Place
from .model import DataType
from .text import parse_object

__all__ = ["PK", "TS", "delete_schema", "deletes_of"]

PK, TS = "pk", "ts"
PAIR = re.compile(r"\s*([+-]?[0-9]{1,19})\s*,\s*([0-9]{1,19})\s*", re.ASCII)
# what Milvus writes, key order and all; anything else takes the JSON parser
OBJECT = re.compile(r'\{"pk":(?:(-?[0-9]{1,19})|"([^"\\\x00-\x1f]*)"),"ts":([0-9]{1,19}),"pkType":(5|21)\}', re.ASCII)
# the same for whole columns of one form, by Arrow: (pattern, type of the key)
WHOLE = (
    (r'^\{"pk":(?P<pk>-?[0-9]{1,19}),"ts":(?P<ts>[0-9]{1,19}),"pkType":5\}$', pa.int64()),
    (r'^\{"pk":"(?P<pk>[^"\\\x00-\x1f]*)","ts":(?P<ts>[0-9]{1,19}),"pkType":21\}$', pa.string()),
    (r"^(?P<pk>-?[0-9]{1,19}),(?P<ts>[0-9]{1,19})$", pa.int64()),
)
LARGEST = 2**63 - 1


def delete_schema(text: bool) -> pa.Schema:
    return pa.schema([(PK, pa.string() if text else pa.int64()), (TS, pa.int64())])


def deletes_of(batch: pa.RecordBatch, place: Place) -> pa.RecordBatch:
    """One batch of a delete log's payload as ``pk`` and ``ts``."""
    if batch.num_columns == 2 and set(batch.schema.names) == {PK, TS}:
        pk, ts = batch.column(PK), batch.column(TS)
        if pk.type not in (pa.int64(), pa.string()) or ts.type != pa.int64():
            raise place.corrupt(".type", "pk int64 or string, ts int64", f"pk {pk.type}, ts {ts.type}")
        if pk.null_count or ts.null_count:
            raise place.corrupt(".pk", "no nulls", f"{pk.null_count + ts.null_count} nulls")
        pk.validate(full=True)
        return pa.RecordBatch.from_arrays([pk, ts], schema=delete_schema(pk.type == pa.string()))
    if batch.num_columns != 1 or batch.schema.types[0] not in (pa.string(), pa.binary()):
        raise place.corrupt(".columns", "one column of text, or pk and ts",
                            dict(zip(batch.schema.names, map(str, batch.schema.types))))
    column = batch.column(0).cast(pa.string())
    column.validate(full=True)
    return _whole(column) or _parsed(column.to_pylist(), place)


def _whole(column: pa.Array) -> pa.RecordBatch | None:
    """All rows at once, where each has the form of the first; None where one has not, or a number is too large."""
    for pattern, type in WHOLE:
        if len(column) and pc.extract_regex(column.slice(0, 1), pattern).null_count == 0:
            found = pc.extract_regex(column, pattern)
            if found.null_count:
                return None
            try:
                pk, ts = found.field("pk").cast(type), found.field("ts").cast(pa.int64())
            except pa.ArrowInvalid:
                return None
            return pa.RecordBatch.from_arrays([pk, ts], schema=delete_schema(type == pa.string()))
    return None


def _parsed(texts: Iterable[str | None], place: Place) -> pa.RecordBatch:
    keys, times = [], []
    text_keys = None
    for row, text in enumerate(texts):
        pk, ts = _delete(text, row, place)
        if text_keys is None:
            text_keys = isinstance(pk, str)
        elif text_keys != isinstance(pk, str):
            raise place.corrupt(f".row[{row}].pk", "keys of one type", repr(pk))
        keys.append(pk)
        times.append(ts)
    return pa.RecordBatch.from_pydict({PK: keys, TS: times}, schema=delete_schema(bool(text_keys)))


def _delete(text: str | None, row: int, place: Place) -> tuple[int | str, int]:
    where = f"{place.where}.row[{row}]"
    if text is None:
        raise place.corrupt(f".row[{row}]", "a delete", "null")
    found = OBJECT.fullmatch(text)
    if found is not None:
        number, name, ts, code = found.groups()
        pk: object = int(number) if number is not None else name
        pk_type: object = int(code)
        time: object = int(ts)
    elif (found := PAIR.fullmatch(text)) is not None:
        pk, time, pk_type = int(found[1]), int(found[2]), DataType.INT64
    else:
        value = parse_object(text, where, place.path, place.at)
        pk, time = value.get("pk"), value.get("ts")
        pk_type = value.get("pkType", DataType.VARCHAR if isinstance(pk, str) else DataType.INT64)
    if type(time) is not int or not 0 <= time <= LARGEST:
        raise place.corrupt(f".row[{row}].ts", f"0 to {LARGEST}", repr(time)[:60])
    if pk_type == DataType.INT64 and type(pk) is int and -LARGEST - 1 <= pk <= LARGEST:
        return pk, time
    if pk_type == DataType.VARCHAR and isinstance(pk, str):
        try:
            pk.encode()
        except UnicodeEncodeError:  # JSON can spell half a surrogate pair, UTF-8 cannot
            raise place.corrupt(f".row[{row}].pk", "Unicode text", repr(pk)[:60]) from None
        return pk, time
    raise place.corrupt(f".row[{row}].pk", "a 64-bit integer (pkType 5) or text (pkType 21)",
                        f"{str(pk)[:40]!r}, pkType {str(pk_type)[:40]}")
