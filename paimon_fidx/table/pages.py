"""Selected rows of a Parquet row group by its pages: only pages that hold selected rows are read and decoded.

pypaimon has a reader that cuts the pages of one run of rows out of a row group, by the file's offset index. It is
pypaimon's own room, so it is looked for, and where it is missing, refuses or fails, the row group is read as a whole.
"""
from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa

try:
    from pypaimon.read.reader.parquet_page_index_reader import ParquetPageIndexReader
except ImportError:  # another version of pypaimon
    ParquetPageIndexReader = None

__all__ = ["PageReader"]

# The rows from the first to the last selected one are at most this part of the group: what is cut out costs the footer,
# the dictionary pages and a small file again, so that several cuts (measured) are slower than decoding the whole group.
LARGEST_PART = 1 / 4
MIN_GROUP_ROWS = 10_000
FAILURES = (ValueError, KeyError, IndexError, TypeError, struct.error, OSError, pa.ArrowException)


class PageReader:
    """Reads single pages of one open Parquet file.

    source : path or binary file; file : the open pyarrow ParquetFile; columns : names of top-level columns
    """

    def __init__(self, source, file, columns):
        self._source, self._file, self._columns = source, file, columns
        self._opened = None
        self._usable = ParquetPageIndexReader is not None

    def read(self, group: int, row_count: int, wanted: np.ndarray) -> list | None:
        """RecordBatches of the rows ``wanted`` (ascending positions in the group); None: read the group as a whole."""
        if not self._usable or row_count < MIN_GROUP_ROWS:
            return None
        first, last = int(wanted[0]), int(wanted[-1])
        if last - first + 1 > row_count * LARGEST_PART:
            return None
        try:
            reader = self._reader()
            found = None if reader is None else reader.read_row_group(group, [(first, last)])
            if found is None:
                return None
            table = pa.Table.from_batches(list(found))
            if table.num_rows != last - first + 1:
                return None
            return (table if len(wanted) == table.num_rows else table.take(pa.array(wanted - first))).to_batches()
        except FAILURES:  # an offset index that disagrees with its pages: they are in the file all the same
            self._usable = False
            return None

    def _reader(self):
        if self._opened is None:
            source = self._source
            if isinstance(source, str):
                source = pa.memory_map(source)
            elif not isinstance(source, pa.NativeFile):  # it must read at a place
                self._usable = False
                return None
            groups = range(self._file.metadata.num_row_groups)
            self._opened = ParquetPageIndexReader.create(source, self._file, list(self._columns), list(groups), 65_536)
            self._usable = self._opened is not None
        return self._opened
