"""Rows of one data file by their positions: Parquet row groups and ORC stripes.

A group without a selected row is not touched. Both readers yield RecordBatches of the stored columns, in file order.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
from pyroaring import BitMap

from .orc_tail import Stripe, read_stripes
from .pages import PageReader

__all__ = ["ReadMeter", "positions", "read_orc", "read_parquet", "take_rows"]

BATCH_ROWS = 65_536


@dataclass(slots=True)
class ReadMeter:
    """What reading cost: bytes of the column chunks read (of rows cut out by their pages: their own bytes), row groups
    (or stripes) read and seen, rows decoded."""

    data_bytes: int = 0
    groups_read: int = 0
    groups_total: int = 0
    rows_decoded: int = 0

    def add(self, other: ReadMeter) -> None:
        self.data_bytes += other.data_bytes
        self.groups_read += other.groups_read
        self.groups_total += other.groups_total
        self.rows_decoded += other.rows_decoded


def read_parquet(source, choose, rows: BitMap | None, meter: ReadMeter):
    """Selected rows of a Parquet file, as RecordBatches.

    source : path or binary file; choose : from the names of the file's top-level columns, and its row count, to the
    columns to read, at least one; rows : None for all
    """
    with pq.ParquetFile(source, memory_map=isinstance(source, str), pre_buffer=not isinstance(source, str)) as file:
        metadata = file.metadata
        columns = choose(file.schema_arrow.names, metadata.num_rows)
        wanted = positions(rows)
        pages = PageReader(source, file, columns)
        start = 0
        for group in range(metadata.num_row_groups):
            chunk = metadata.row_group(group)
            here = _between(wanted, start, start + chunk.num_rows)
            start += chunk.num_rows
            meter.groups_total += 1
            if here is not None and not len(here):
                continue
            meter.groups_read += 1
            if here is not None:
                batches = pages.read(group, chunk.num_rows, here)
                if batches is not None:
                    meter.rows_decoded += sum(batch.num_rows for batch in batches)
                    meter.data_bytes += sum(batch.nbytes for batch in batches)
                    yield from batches
                    continue
            meter.data_bytes += _column_bytes(chunk, columns)
            batches = file.iter_batches(batch_size=BATCH_ROWS, row_groups=[group], columns=columns)
            yield from take_rows(batches, here, meter)


def _column_bytes(chunk, columns) -> int:
    roots = set(columns)
    total = 0
    for i in range(chunk.num_columns):
        column = chunk.column(i)
        path = column.path_in_schema
        if path in roots or path.split(".", 1)[0] in roots:
            total += column.total_compressed_size
    return total


def read_orc(source, choose, rows: BitMap | None, meter: ReadMeter, size: int):
    """Selected rows of an ORC file of ``size`` bytes, as RecordBatches. Parameters as read_parquet's."""
    file = orc.ORCFile(source)
    columns = choose(file.schema.names, file.nrows)
    wanted = positions(rows)
    stripes = _stripes(file, source, size)
    start = 0
    for number, stripe in enumerate(stripes):
        here = _between(wanted, start, start + stripe.row_count)
        start += stripe.row_count
        meter.groups_total += 1
        if here is not None and not len(here):
            continue
        meter.groups_read += 1
        meter.data_bytes += stripe.byte_len
        yield from take_rows([file.read_stripe(number, columns=columns)], here, meter)


def _stripes(file, source, size: int) -> list[Stripe]:
    if file.nstripes == 1:
        return [Stripe(file.nrows, size)]
    try:
        if isinstance(source, str):
            with open(source, "rb") as stream:
                stripes = read_stripes(stream, size)
        else:
            stripes = read_stripes(source, size)
    except ValueError:
        stripes = []
    if len(stripes) == file.nstripes and sum(s.row_count for s in stripes) == file.nrows:
        return stripes
    # a codec that the tail reader does not know: count the rows of each stripe in its first column
    first = [file.schema.names[0]]
    return [Stripe(file.read_stripe(i, columns=first).num_rows, size // file.nstripes) for i in range(file.nstripes)]


def take_rows(batches, wanted: np.ndarray | None, meter: ReadMeter):
    """The rows at ascending positions ``wanted`` of a sequence of batches (None: all of them)."""
    offset = 0
    for batch in batches:
        meter.rows_decoded += batch.num_rows
        here = _between(wanted, offset, offset + batch.num_rows)
        offset += batch.num_rows
        if here is None:
            yield batch
        elif len(here):
            first, last = int(here[0]), int(here[-1])
            if last - first + 1 == len(here):
                yield batch.slice(first, len(here))
            else:
                yield batch.take(pa.array(here))


def positions(rows: BitMap | None) -> np.ndarray | None:
    """Row positions as an ascending array, None for all rows."""
    return None if rows is None else np.asarray(rows.to_array(), dtype=np.int64)


def _between(wanted: np.ndarray | None, start: int, stop: int) -> np.ndarray | None:
    """The positions in [start, stop), counted from ``start``."""
    if wanted is None:
        return None
    lo, hi = np.searchsorted(wanted, (start, stop))
    return wanted[lo:hi] - start
