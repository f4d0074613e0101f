"""The first k rows of an order, over all files.

Spark SQL's order: NaN is the largest value, -0.0 equals 0.0, strings by their bytes; NULL first or last as asked.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["TopN"]


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

    def take(self, table: pa.Table) -> pa.Table:
        """The first k rows of a table, in order; rows that are equal stay in the table's order."""
        keys = _sort_keys(table.column(self.column).combine_chunks())
        order = "descending" if self.descending else "ascending"
        placement = "at_start" if self.nulls_first else "at_end"
        indices = pc.array_sort_indices(keys, order=order, null_placement=placement)
        return table.take(indices[:self.k])


def _sort_keys(array):
    """A column that Arrow sorts as Spark would: floats by rank, so that NaN is a value and the zeros are equal."""
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if not pa.types.is_floating(array.type):
        return array
    numbers = pc.fill_null(array, pa.scalar(0, array.type)).to_numpy(zero_copy_only=False).astype(np.float64)
    _, ranks = np.unique(numbers + 0.0, return_inverse=True)  # numpy sorts NaN last and takes all NaN for one
    return pa.array(ranks.reshape(-1), mask=pc.is_null(array).to_numpy(zero_copy_only=False))
