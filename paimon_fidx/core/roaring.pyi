"""Serialized Roaring bitmaps, read in place, and a writer of rows."""
from typing import final

from pyroaring import BitMap

KERNELS: str  # the kernels in use: "baseline", "avx2", ...

@final
class Pool:
    """Container tables of many bitmaps, for other Cython rooms."""

@final
class RowsWriter:
    """Rows in ascending chunks -> BitMap, for other Cython rooms."""
    def __new__(cls, row_count: int) -> RowsWriter: ...

def all_rows(row_count: int) -> BitMap:
    """Rows 0 to row_count - 1, as runs."""
