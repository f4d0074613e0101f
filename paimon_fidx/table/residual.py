"""A predicate over the rows of an Arrow batch, exactly as Spark SQL answers it.

Used where an index is not exact (or not there). What a leaf means comes from ``literals.value_set``: ranges of values,
counted as an index counts its keys (nanoseconds for TIMESTAMP(7..9), DECIMAL of any size). Here a column becomes such
numbers, so that NaN, -0.0, decimals and dates are compared in one place only.

NOT has been pushed to the leaves, so a leaf that is NULL may count as false.
"""
from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..literals import ANY_CHAR, ANY_RUN, NullTest, value_set
from ..temporal import wall_offset, zone
from ..types import PaimonType, to_arrow

__all__ = ["Residual", "matches_value"]

MASK_64 = 0x7FFF_FFFF_FFFF_FFFF
MASK_32 = 0x7FFF_FFFF
NANOS_PER = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
INT64 = (-(1 << 63), (1 << 63) - 1)


class Residual:
    """A predicate bound to a table's types, to be asked of many batches.

    predicate : on columns of the table; types : {column: PaimonType}; timezone : of naive datetimes against
    TIMESTAMP WITH LOCAL TIME ZONE. Raises TypeError for a literal that cannot be compared with its column.
    """

    def __init__(self, predicate, types: dict, timezone: str = "UTC"):
        self.predicate = predicate
        self.columns = tuple(dict.fromkeys(c.name for c in predicate.columns()))
        self._tests = {}
        for leaf in predicate.leaves():
            if leaf not in self._tests:
                self._tests[leaf] = _LeafTest(leaf, _leaf_type(leaf, types[leaf.column.name]), timezone)

    def mask(self, batch) -> np.ndarray:
        """Which rows of a RecordBatch or Table (with at least ``columns``, in the table's Arrow types) match."""
        rows = batch.num_rows
        return self.predicate.fold(
            lambda leaf: self._tests[leaf].mask(_array(batch, leaf.column)),
            lambda parts: np.logical_and.reduce(parts) if parts else np.ones(rows, dtype=bool),
            lambda parts: np.logical_or.reduce(parts) if parts else np.zeros(rows, dtype=bool),
        )


def matches_value(leaf, data_type: PaimonType, value, timezone: str = "UTC") -> bool:
    """Whether one value (of a partition column, or None) satisfies a leaf on a column of this type."""
    test = _cached_test(leaf, _leaf_type(leaf, data_type), timezone)
    return bool(test.mask(pa.array([value], to_arrow(test.type)))[0])


def _leaf_type(leaf, data_type: PaimonType) -> PaimonType:
    """What a leaf compares: the column, or the values of a MAP column with text keys."""
    if leaf.column.map_key is None:
        return data_type
    if data_type.root != "MAP" or data_type.key.root not in ("CHAR", "VARCHAR", "STRING"):
        raise TypeError(f"{leaf.column!r}: column {leaf.column.name} is {data_type.sql()}, no MAP with text keys")
    return data_type.value


def _array(batch, column):
    array = batch.column(column.name)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
        if isinstance(array, pa.ChunkedArray):  # no chunks at all, or too many bytes for one
            array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if column.map_key is None:
        return array
    return pc.map_lookup(array, pa.scalar(column.map_key, array.type.key_type), "last")


class _LeafTest:
    """One leaf bound to one type."""

    __slots__ = ("type", "bound", "pattern", "clock")

    def __init__(self, leaf, data_type: PaimonType, timezone: str):
        self.type = data_type
        self.bound = value_set(leaf, data_type, timezone)
        self.clock = None
        self.pattern = None
        if isinstance(self.bound, NullTest):
            return
        if not self.bound.exact:
            # a clock time against an instant, near a change of the clock: compared as instants, as Spark does
            self.clock = zone(timezone)
            self.type = PaimonType("TIMESTAMP_LTZ", precision=data_type.precision)
            self.bound = value_set(leaf, self.type, timezone)
        if self.bound.like is not None:
            self.pattern = _regex(self.bound.like)

    def mask(self, array) -> np.ndarray:
        valid = pc.is_valid(array).to_numpy(zero_copy_only=False)
        if isinstance(self.bound, NullTest):
            return valid if self.bound.negate else ~valid
        if self.type.key_kind == "bytes":
            inside = self._in_byte_ranges(array)
        else:
            values = _values(array, self.type)
            if self.clock is not None:
                values = _instants(values, self.type.precision, self.clock)
            inside = _in_ranges(values, self.bound.ranges)
        return valid & (~inside if self.bound.negate else inside)

    def _in_byte_ranges(self, array) -> np.ndarray:
        raw = _as_binary(array)
        points = [start for start, end in self.bound.ranges if _is_point(start, end)]
        inside = np.zeros(len(raw), dtype=bool)
        if points:
            inside |= _true(pc.is_in(raw, value_set=pa.array(points, raw.type)))
        for start, end in self.bound.ranges:
            if _is_point(start, end):
                continue
            part = np.ones(len(raw), dtype=bool)
            if start:
                part &= _true(pc.greater_equal(raw, pa.scalar(start, raw.type)))
            if end is not None:
                part &= _true(pc.less(raw, pa.scalar(end, raw.type)))
            inside |= part
        if self.pattern is not None:
            for row in np.flatnonzero(inside):
                value = raw[row].as_py()
                inside[row] = value is not None and self.pattern.fullmatch(value) is not None
        return inside


def _is_point(start, end) -> bool:
    return start is not None and end == start + b"\0"


@lru_cache(maxsize=4096)
def _cached_test(leaf, data_type, timezone) -> _LeafTest:
    return _LeafTest(leaf, data_type, timezone)


def _as_binary(array):
    return array.cast(pa.large_binary() if pa.types.is_large_string(array.type) else pa.binary())


def _true(array) -> np.ndarray:
    return pc.fill_null(array, False).to_numpy(zero_copy_only=False)


def _in_ranges(values: np.ndarray, ranges) -> np.ndarray:
    """Which values lie in one of the ascending, disjoint, half-open ranges."""
    if values.dtype == object:
        inside = np.zeros(len(values), dtype=bool)
        for start, end in ranges:
            part = np.ones(len(values), dtype=bool)
            if start is not None:
                part &= (values >= start).astype(bool)
            if end is not None:
                part &= (values < end).astype(bool)
            inside |= part
        return inside
    lowest, highest = INT64
    closed = [
        (lowest if start is None else max(start, lowest), highest if end is None else min(end - 1, highest))
        for start, end in ranges
    ]
    closed = [(lo, hi) for lo, hi in closed if lo <= hi]
    if not closed:
        return np.zeros(len(values), dtype=bool)
    if len(closed) == 1:
        lo, hi = closed[0]
        return (values >= lo) & (values <= hi)
    lows = np.array([lo for lo, _ in closed], dtype=np.int64)
    highs = np.array([hi for _, hi in closed], dtype=np.int64)
    at = np.searchsorted(lows, values, side="right") - 1
    return (at >= 0) & (values <= highs[np.maximum(at, 0)])


def _values(array, data_type: PaimonType) -> np.ndarray:
    """The column as the numbers that literals.py compares; NULL rows hold anything."""
    kind, root = data_type.key_kind, data_type.root
    if root == "DECIMAL":
        return _unscaled(array, data_type.precision)
    if kind == "float64":
        return _sortable(_numbers(array, np.float64), np.int64, MASK_64)
    if kind == "float32":
        return _sortable(_numbers(array, np.float32), np.int32, MASK_32)
    if root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        wanted = _nanos_per_value(data_type.precision)
        ticks, stored = _numbers(array.cast(pa.int64()), np.int64), NANOS_PER[array.type.unit]
        return ticks * (stored // wanted) if stored >= wanted else ticks // (wanted // stored)
    if root in ("DATE", "TIME"):
        array = array.cast(pa.int32())
    return _numbers(array, np.int64)


def _nanos_per_value(precision: int) -> int:
    return NANOS_PER["ms" if precision <= 3 else "us" if precision <= 6 else "ns"]


def _instants(values: np.ndarray, precision: int, clock) -> np.ndarray:
    """Clock times as instants, in the same unit."""
    per_second = 1_000_000_000 // _nanos_per_value(precision)
    offsets = {}
    for second in np.unique(values // per_second):
        offsets[int(second)] = wall_offset(clock, int(second)) * per_second
    return np.array([v - offsets[v // per_second] for v in values.tolist()], dtype=np.int64)


def _numbers(array, dtype) -> np.ndarray:
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(False if pa.types.is_boolean(array.type) else 0, array.type))
    return array.to_numpy(zero_copy_only=False).astype(dtype, copy=False)


def _sortable(values: np.ndarray, bits_type, mask: int) -> np.ndarray:
    """Sign-magnitude bits as integers that order as Spark orders floats: NaN, whatever its bits, is the largest."""
    values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
    bits = values.view(bits_type).astype(np.int64)
    return np.where(bits >= 0, bits, bits ^ mask)


def _unscaled(array, precision: int) -> np.ndarray:
    """Unscaled values of a decimal128 array: the low words of its 16-byte values, all of them beyond 18 digits."""
    if not len(array):
        return np.zeros(0, dtype=np.int64)
    words = np.frombuffer(array.buffers()[1], dtype="<i8")[2 * array.offset:2 * (array.offset + len(array))]
    if precision <= 18:
        return words[::2]
    low = words[::2].view("<u8").astype(object)
    return words[1::2].astype(object) * (1 << 64) + low


def _regex(tokens) -> re.Pattern:
    """LIKE tokens as a pattern over UTF-8 bytes; ANY_CHAR is one code point."""
    parts = []
    for token in tokens:
        if token is ANY_CHAR:
            parts.append(rb"(?:[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]*)")
        elif token is ANY_RUN:
            parts.append(b".*")
        else:
            parts.append(re.escape(token))
    return re.compile(b"".join(parts), re.DOTALL)
