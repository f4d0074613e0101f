"""Payload columns as Arrow arrays of the types that Milvus' fields mean.

    bool, int8 .. int64, float, double, string, varchar, text    as they are; timestamptz is int64, microseconds
    JSON, geometry, mol                    binary
    BinaryVector, BFloat16Vector           fixed-size binary
    FloatVector, Float16Vector, Int8Vector fixed-size lists of float, halffloat, int8
    SparseFloatVector                      list<struct<index: uint32, value: float>>
    Array                                  list of the kind found in it
    ArrayOfVector                          list of fixed-size lists

The width of a vector is that of its fixed-size binary column or stands in the field's metadata ``dim``; where no event
tells it, vectors stay binary.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import CorruptError, FileIndexError, UnsupportedError
from . import decode
from .model import DataType

__all__ = ["Part", "Place", "Plan", "reading"]

SCALARS = {
    DataType.BOOL: pa.bool_(),
    DataType.INT8: pa.int8(),
    DataType.INT16: pa.int16(),
    DataType.INT32: pa.int32(),
    DataType.INT64: pa.int64(),
    DataType.TIMESTAMPTZ: pa.int64(),
    DataType.FLOAT: pa.float32(),
    DataType.DOUBLE: pa.float64(),
    DataType.STRING: pa.string(),
    DataType.VARCHAR: pa.string(),
    DataType.TEXT: pa.string(),
    DataType.JSON: pa.binary(),
    DataType.GEOMETRY: pa.binary(),
    DataType.MOL: pa.binary(),
}
ITEMS = {  # of a vector: the item, its bytes; None: the vector is one run of bytes, so many bits an item
    DataType.BINARY_VECTOR: (None, 1),
    DataType.BFLOAT16_VECTOR: (None, 16),
    DataType.FLOAT_VECTOR: (pa.float32(), 32),
    DataType.FLOAT16_VECTOR: (pa.float16(), 16),
    DataType.INT8_VECTOR: (pa.int8(), 8),
}
SPARSE_PAIR = pa.struct([("index", pa.uint32()), ("value", pa.float32())])
KINDS = {  # the field of a ScalarField message that holds an array's values
    1: pa.bool_(),
    2: pa.int32(),
    3: pa.int64(),
    4: pa.float32(),
    5: pa.float64(),
    6: pa.string(),
    7: pa.binary(),
    9: pa.binary(),
    10: pa.binary(),
    11: pa.int64(),
}
TEXT = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
WIDEST = 1 << 20  # bytes of a dense vector; Milvus' limit is 32,768 floats


class Place:
    """Where a payload stands, for errors: the file, the event, the payload's offset."""

    __slots__ = ("path", "where", "at")

    def __init__(self, path: str | None, where: str, at: int):
        self.path, self.where, self.at = path, where, at

    def corrupt(self, what: str, expected: Any, found: Any) -> CorruptError:
        return CorruptError(f"{self.where}{what}", path=self.path, offset=self.at, expected=expected, found=found)


class reading:
    """Whatever Arrow says of damaged bytes becomes an error of ours; Arrow's own hierarchy is not closed."""

    __slots__ = ("place",)

    def __init__(self, place: Place):
        self.place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        if error is None or isinstance(error, FileIndexError) or not isinstance(error, Exception):
            return
        place = self.place
        if isinstance(error, NotImplementedError):
            raise UnsupportedError(place.where, path=place.path, offset=place.at,
                                   expected="Parquet that pyarrow reads", found=_short(error)) from None
        if isinstance(error, decode.BadRow):
            raise place.corrupt(f".row[{error.row}]", "a cell of the field's type", error.reason) from None
        # ArrowException, OSError, MemoryError, UnicodeDecodeError, ...
        raise place.corrupt("", "a Parquet file", _short(error)) from None


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}"


class Part:
    """The Parquet file of one event, opened over its buffer without a copy.

    Attributes: file : pyarrow.parquet.ParquetFile;  schema : pyarrow.Schema;  place : Place
    """

    __slots__ = ("file", "schema", "place")

    def __init__(self, payload: Any, place: Place):
        self.place = place
        with reading(place):
            self.file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(payload)))
            self.schema = self.file.schema_arrow  # once: each look converts it anew


class Plan:
    """One column's type, settled over all events of a file before the first cell is converted.

    data_type : code of the descriptor
    element_type : pyarrow.DataType | None   what the caller wants the ints of arrays narrowed to
    """

    def __init__(self, data_type: int, fields: Iterable[tuple[pa.Field, Place]], element_type: pa.DataType | None):
        self.data_type = data_type
        self.element_type = element_type
        self.width: int | None = None  # of a dense vector, bytes
        self.item: pa.DataType | None = None
        self.kind = 0  # of arrays
        if data_type in SCALARS:
            self.type = SCALARS[data_type]
        elif data_type in ITEMS:
            self.item, bits = ITEMS[data_type]
            for field, place in fields:
                self._agree(_width(field, bits, place), place)
            self.type = self._vector()
        elif data_type == DataType.ARRAY_OF_VECTOR:
            for field, place in fields:
                self._list_of_vectors(field, place)
            self.type = pa.list_(self._vector())
        elif data_type == DataType.SPARSE_FLOAT_VECTOR:
            self.type = pa.list_(SPARSE_PAIR)
        elif data_type == DataType.ARRAY:
            self.type = pa.list_(element_type or pa.null())
        else:
            raise UnsupportedError("descriptor.data_type", offset=69, expected="a data type with a known layout",
                                   found=data_type)

    def _agree(self, width: int | None, place: Place) -> None:
        if width is not None:
            if self.width not in (None, width):
                raise place.corrupt(".width", f"vectors of {self.width} bytes, as in the events before", width)
            self.width = width

    def _list_of_vectors(self, field: pa.Field, place: Place) -> None:
        if not pa.types.is_list(field.type):
            raise place.corrupt(".type", "a list of vectors", field.type)
        code = _number(field, b"elementType", place)
        if code is not None:
            if code not in ITEMS:
                raise place.corrupt(".elementType", "a dense vector's code", code)
            self.item = ITEMS[code][0]
            self._agree(_width(field, ITEMS[code][1], place, field.type.value_type), place)

    def _vector(self) -> pa.DataType:
        if self.width is None:
            return pa.binary()
        if self.item is None:
            return pa.binary(self.width)
        return pa.list_(self.item, self.width * 8 // self.item.bit_width)

    # --- cells

    @property
    def open(self) -> bool:
        """Whether the type still depends on the kind of array that the cells hold."""
        return self.data_type == DataType.ARRAY and self.kind == 0

    def look(self, array: pa.Array, place: Place) -> bool:
        """Looks for the kind of array in the cells; True when it is known."""
        self.kind = decode.arrays(*_buffers(_binary(array, place)), self.kind)[0]
        return self.kind != 0

    def settle(self) -> None:
        """The type of arrays, now that their kind has been looked for. TypeError where the caller wants another."""
        if self.kind:
            found = KINDS[self.kind]
            wanted = self.element_type or found
            if wanted != found and not (found == pa.int32() and wanted in (pa.int8(), pa.int16())):
                raise TypeError(f"element_type={wanted}: the arrays hold {found}")
            self.type = pa.list_(wanted)

    def convert(self, array: pa.Array, place: Place) -> pa.Array:
        """A column of the payload in the plan's type."""
        if self.data_type in SCALARS:
            return _scalar(array, self.type, place)
        if self.data_type in ITEMS:
            return self._dense(array, place)
        if self.data_type == DataType.ARRAY_OF_VECTOR:
            if not pa.types.is_list(array.type):
                raise place.corrupt(".type", "a list of vectors", array.type)
            array.validate(full=True)
            cells = self._dense(array.values, place)
            return pa.Array.from_buffers(self.type, len(array), array.buffers()[:2], array.null_count, array.offset,
                                         children=[cells])
        cells = _binary(array, place)
        if self.data_type == DataType.SPARSE_FLOAT_VECTOR:
            lists, indexes, values = decode.sparse(*_buffers(cells))
            pairs = pa.StructArray.from_arrays(
                [_plain(pa.uint32(), len(indexes) // 4, indexes), _plain(pa.float32(), len(values) // 4, values)],
                fields=list(SPARSE_PAIR))
            return self._lists(cells, lists, pairs)
        kind, lists, values, ends = decode.arrays(*_buffers(cells), self.kind)
        return self._lists(cells, lists, self._elements(kind, values, ends, place))

    def _dense(self, array: pa.Array, place: Place) -> pa.Array:
        if pa.types.is_fixed_size_binary(array.type):
            if array.type.byte_width != self.width:
                if self.width is None:
                    return array.cast(pa.binary())
                raise place.corrupt(".width", f"vectors of {self.width} bytes", array.type.byte_width)
            validity, data = array.buffers()
            offset = array.offset
        else:
            array = _binary(array, place)
            if self.width is None:
                return array
            data = pa.py_buffer(decode.dense(*_buffers(array), self.width))
            validity, offset = _validity(array), 0
        if self.item is None:
            return pa.Array.from_buffers(self.type_of_cells, len(array), [validity, data], array.null_count, offset)
        size = self.type_of_cells.list_size
        items = pa.Array.from_buffers(self.item, (offset + len(array)) * size, [None, data])
        return pa.Array.from_buffers(self.type_of_cells, len(array), [validity], array.null_count, offset,
                                     children=[items])

    @property
    def type_of_cells(self) -> pa.DataType:
        """The vector's type, also inside an ArrayOfVector."""
        return self.type.value_type if self.data_type == DataType.ARRAY_OF_VECTOR else self.type

    def _elements(self, kind: int, values: bytes, ends: bytes | None, place: Place) -> pa.Array:
        if kind == 0:
            return pa.nulls(0, self.type.value_type)
        found = KINDS[kind]
        if ends is not None:
            cells = pa.Array.from_buffers(found, len(ends) // 4 - 1, [None, pa.py_buffer(ends), pa.py_buffer(values)])
            cells.validate(full=True)
        elif found == pa.bool_():
            cells = _plain(pa.uint8(), len(values), values).cast(found)
        else:
            cells = _plain(found, len(values) * 8 // found.bit_width, values)
        return cells if found == self.type.value_type else cells.cast(self.type.value_type)

    def _lists(self, cells: pa.Array, lists: bytes, children: pa.Array) -> pa.Array:
        return pa.Array.from_buffers(self.type, len(cells), [_validity(cells), pa.py_buffer(lists)], cells.null_count,
                                     children=[children])


def _plain(type: pa.DataType, count: int, data: bytes) -> pa.Array:
    return pa.Array.from_buffers(type, count, [None, pa.py_buffer(data)])


def _scalar(array: pa.Array, wanted: pa.DataType, place: Place) -> pa.Array:
    if array.type == wanted:
        if wanted == pa.string():
            _check_text(array)
        return array
    if array.type in TEXT and wanted in TEXT:
        return array.cast(wanted)
    raise place.corrupt(".type", wanted, array.type)


def _check_text(array: pa.Array) -> None:
    """Raises where text is not UTF-8, which Parquet's readers do not look for. ASCII needs no look at each row."""
    array.validate()
    data = array.buffers()[2]
    if data is not None and not decode.is_ascii(_octets(data)):
        array.validate(full=True)


def _binary(array: pa.Array, place: Place) -> pa.Array:
    if array.type == pa.binary():
        return array
    if array.type in TEXT:
        return array.cast(pa.binary())
    raise place.corrupt(".type", "binary", array.type)


def _buffers(array: pa.Array) -> tuple[Any, Any, Any, int, int]:
    """What the kernels of ``decode`` take, of a binary array."""
    validity, offsets, data = array.buffers()
    if offsets is None or offsets.size == 0:
        offsets = pa.py_buffer(bytes(4))
    return (_octets(data), _octets(offsets), _octets(validity) if array.null_count else None, array.offset, len(array))


def _octets(buffer: pa.Buffer | None) -> memoryview | None:
    return None if buffer is None else memoryview(buffer).cast("B")


def _validity(array: pa.Array) -> pa.Buffer | None:
    """The validity bitmap, starting at its first bit."""
    if not array.null_count:
        return None
    return array.is_valid().buffers()[1] if array.offset else array.buffers()[0]


def _number(field: pa.Field, key: bytes, place: Place) -> int | None:
    text = (field.metadata or {}).get(key)
    if text is None:
        return None
    if not text.isdigit() or len(text) > 9:
        raise place.corrupt(f".{key.decode()}", "a decimal number", repr(text[:40]))
    return int(text)


def _width(field: pa.Field, bits: int, place: Place, type: pa.DataType | None = None) -> int | None:
    """Bytes of a vector, from the column's type or the field's metadata."""
    type = type or field.type
    if pa.types.is_fixed_size_binary(type):
        width = type.byte_width
    else:
        dim = _number(field, b"dim", place)
        if dim is None:
            return None
        if dim * bits % 8:
            raise place.corrupt(".dim", "a whole number of bytes", f"{dim} x {bits} bits")
        width = dim * bits // 8
    if not 0 < width <= WIDEST or bits >= 8 and width * 8 % bits:
        raise place.corrupt(".width", f"1 to {WIDEST} bytes in items of {bits} bits", width)
    return width
