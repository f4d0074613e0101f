"""The first k rows of an order, over all files.

Spark SQL's order: NaN is the largest value, -0.0 equals 0.0, strings by their bytes; NULL first or last as asked.
"""
from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from .ahead import map_ahead
from .formats import ReadMeter, positions
from .read import read_group, settle
from .spec import ScanSpec
from .verdict import narrow_to_top

__all__ = ["TopN", "top_rows"]


@dataclass(frozen=True)
class TopN:
    """column : str; k : int, how many rows; descending, nulls_first : bool

    >>> TopN.of(("amount", 10, True))
    TopN(column='amount', k=10, descending=True, nulls_first=False)
    """

    column: str
    k: int
    descending: bool = False
    nulls_first: bool = False

    def __post_init__(self):
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 0:
            raise ValueError(f"top_n: k is a number of rows, not {self.k!r}")

    @classmethod
    def of(cls, value) -> TopN:
        """From itself, a (column, k[, descending[, nulls_first]]) tuple, or a dict of its fields."""
        if isinstance(value, cls):
            return value
        if isinstance(value, dict):
            return cls(**value)
        if isinstance(value, (tuple, list)) and 2 <= len(value) <= 4:
            return cls(*value)
        raise TypeError(f"top_n is (column, k), (column, k, descending) or a TopN, not {value!r}")

    def order(self, values) -> pa.Array:
        """Which values come first, in order: at most k positions; equal ones in their own order."""
        order = "descending" if self.descending else "ascending"
        placement = "at_start" if self.nulls_first else "at_end"
        return pc.array_sort_indices(_sort_keys(values), order=order, null_placement=placement)[:self.k]


def top_rows(spec: ScanSpec, work, top: TopN, threads: int, meter: ReadMeter) -> pa.Table:
    """The first k rows of all files, with the scan's columns.

    First the order's column is read, of the rows that can be among the first k; then the other columns of those that
    are. work : (FileGroup, verdicts) pairs
    """
    sources = []
    for source, cost in map_ahead(lambda item: _candidates(spec, *item, top), work, threads):
        meter.add(cost)
        sources.append(source)
    values = [source.values for source in sources]
    schema = pa.schema([spec.arrow.field(name) for name in spec.columns])
    if not values:
        return schema.empty_table()
    winners = top.order(pa.concat_arrays(values)).to_numpy().astype(np.int64)
    starts = np.cumsum([0] + [len(v) for v in values])
    owners = np.searchsorted(starts, winners, side="right") - 1
    parts, places = [], np.empty(len(winners), dtype=np.int64)
    taken = 0
    for i in np.unique(owners):
        mine = np.flatnonzero(owners == i)
        local = winners[mine] - starts[i]
        ascending = np.argsort(local, kind="stable")
        parts.append(sources[i].rows(spec, local[ascending], meter))
        places[mine[ascending]] = np.arange(taken, taken + len(mine))
        taken += len(mine)
    return pa.concat_tables(parts).take(places) if parts else schema.empty_table()


class _File:
    """Candidates in one file: the order's values, and where their rows are."""

    def __init__(self, group, verdict, found, values):
        self.group, self.verdict, self.found, self.values = group, verdict, found, values

    def rows(self, spec, local, meter) -> pa.Table:
        chosen = replace(self.verdict, rows=BitMap(self.found[local].astype(np.uint32)))
        return pa.Table.from_batches(read_group(spec, self.group, (chosen,), meter), spec.schema)


class _Rows:
    """Candidates whose whole rows are at hand, because they were merged."""

    def __init__(self, table, column):
        self.table, self.values = table, _one_array(table.column(column))

    def rows(self, spec, local, meter) -> pa.Table:
        return self.table.take(pa.array(local)).select(list(spec.columns))


def _candidates(spec, group, verdicts, top):
    """What of one group can be among the first k rows, and what it cost to find out."""
    meter = ReadMeter()
    verdict = settle(spec, group, verdicts[0], meter) if group.merge is None else None
    if verdict is None:
        columns = tuple(dict.fromkeys((*spec.columns, top.column)))
        schema = pa.schema([spec.arrow.field(name) for name in columns])
        table = pa.Table.from_batches(read_group(spec, group, verdicts, meter, columns), schema)
        return _Rows(table.take(top.order(_one_array(table.column(top.column)))), top.column), meter
    verdict = narrow_to_top(spec, verdict, top)
    batches = list(read_group(spec, group, (verdict,), meter, (top.column,)))
    values = pa.concat_arrays([b.column(0) for b in batches]) if batches else \
        pa.array([], spec.arrow.field(top.column).type)
    selected = verdict.selection()
    found = np.arange(verdict.row_count) if selected is None else positions(selected)
    first = np.sort(top.order(values).to_numpy())
    return _File(group, verdict, found[first], values.take(pa.array(first))), meter


def _one_array(column):
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _sort_keys(array):
    """A column that Arrow sorts as Spark would: floats by rank, so that NaN is a value and the zeros are equal."""
    if not pa.types.is_floating(array.type):
        return array
    numbers = pc.fill_null(array, pa.scalar(0, array.type)).to_numpy(zero_copy_only=False).astype(np.float64)
    _, ranks = np.unique(numbers + 0.0, return_inverse=True)  # numpy sorts NaN last and takes all NaN for one
    return pa.array(ranks.reshape(-1), mask=pc.is_null(array).to_numpy(zero_copy_only=False))
