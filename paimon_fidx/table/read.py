"""From verdicts to rows: the selected rows of each file, in the table's columns and Arrow types."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from ..errors import CorruptError
from ..result import Decision
from .files import DataFile, FileGroup
from .formats import BATCH_ROWS, ReadMeter, positions, read_orc, read_parquet, take_rows
from .locate import local_path
from .spec import ScanSpec
from .verdict import FileVerdict

__all__ = ["DIRECT_FORMATS", "PRIMARY_KEY_PREFIX", "conform", "count_group", "read_group", "settle", "stored_batches"]

DIRECT_FORMATS = ("parquet", "orc")
# types whose storage is more than one column of one Arrow type: read through pypaimon
INDIRECT = ("VARIANT", "BLOB", "VECTOR", "MULTISET", "GEOMETRY", "GEOGRAPHY")
PRIMARY_KEY_PREFIX = "_KEY_"  # data-file.thin-mode keeps a primary-key column only under this name


def read_group(spec: ScanSpec, group: FileGroup, verdicts, meter: ReadMeter, columns=None):
    """The rows of one group that match, as RecordBatches of ``columns`` (the scan's own by default)."""
    columns = spec.columns if columns is None else tuple(columns)
    if all(v.decision is Decision.SKIP for v in verdicts):
        return
    asked = spec.residual.columns
    exact = group.merge is None and verdicts[0].exact
    if not exact and group.merge is None and not set(columns) <= set(asked):
        settled = settle(spec, group, verdicts[0], meter)
        if settled is not None:
            verdicts, exact = (settled,), True
            if settled.decision is Decision.SKIP:
                return
    needed = columns if exact else tuple(dict.fromkeys(columns + asked))
    schema = pa.schema([spec.arrow.field(name) for name in columns])
    for batch in _batches(spec, group, verdicts, needed, meter):
        if not exact:
            keep = spec.residual.mask(batch)
            if not keep.any():
                continue
            if not keep.all():
                batch = batch.filter(pa.array(keep))
        yield _project(batch, columns, schema)


def settle(spec: ScanSpec, group: FileGroup, verdict: FileVerdict, meter: ReadMeter) -> FileVerdict | None:
    """An exact verdict on a file of its own, by reading the predicate's columns where the index was not exact.

    None where the rows of the file can only be had as a whole.
    """
    if verdict.exact:
        return verdict
    if not _Layout(spec, group.files[0], (*spec.columns, *spec.residual.columns)).direct:
        return None
    masks = [spec.residual.mask(b) for b in _file_batches(spec, group, verdict, spec.residual.columns, meter)]
    keep = np.concatenate(masks) if masks else np.zeros(0, dtype=bool)
    selected = verdict.selection()
    found = np.flatnonzero(keep) if selected is None else positions(selected)[keep]
    rows = BitMap(found.astype(np.uint32))
    return replace(verdict, decision=Decision.ROWS if rows else Decision.SKIP, rows=rows or None, exact=True)


def count_group(spec: ScanSpec, group: FileGroup, verdicts, meter: ReadMeter) -> int:
    """How many rows of a group match: from the verdict where it is exact, else by reading the predicate's columns."""
    if all(v.decision is Decision.SKIP for v in verdicts):
        return 0
    if group.merge is None and verdicts[0].exact:
        return verdicts[0].candidates
    columns = spec.residual.columns or spec.table.field_names[:1]
    return sum(batch.num_rows for batch in read_group(spec, group, verdicts, meter, columns))


def _project(batch, columns, schema):
    if batch.schema.names == list(columns):
        return pa.RecordBatch.from_arrays(batch.columns, schema=schema) if columns else batch
    return pa.RecordBatch.from_arrays([batch.column(name) for name in columns], schema=schema)


def _batches(spec, group, verdicts, needed, meter):
    if group.merge is not None:
        yield from _through_pypaimon(spec, group.source, needed, meter)
    else:
        yield from _file_batches(spec, group, verdicts[0], needed, meter)


def _through_pypaimon(spec, split, needed, meter):
    """All live rows of a split, merged by pypaimon."""
    reader = spec.table.new_read_builder().with_projection(list(needed)).new_read()
    schema = pa.schema([spec.arrow.field(name) for name in needed])
    meter.data_bytes += sum(f.file_size for f in split.files)
    for batch in reader.to_arrow_batch_reader([split]):
        meter.rows_decoded += batch.num_rows
        yield _conform_batch(batch, schema)


def _file_batches(spec: ScanSpec, group: FileGroup, verdict: FileVerdict, needed, meter):
    """The selected rows of one file whose rows are the table's rows."""
    file = verdict.file
    rows = verdict.selection()
    layout = _Layout(spec, file, needed)
    if not layout.stored:
        yield from layout.constant_batches(verdict.candidates)
    elif layout.direct:
        for batch in stored_batches(spec.table.file_io, file, layout.open, rows, meter):
            yield layout.batch(batch)
    else:
        yield from _rows_through_pypaimon(spec, group, file, rows, needed, meter)


def stored_batches(file_io, file: DataFile, choose, rows, meter):
    """Selected rows of a Parquet or ORC data file as they are stored; ``choose`` and ``rows`` as formats.py has them.

    Raises FileNotFoundError, OSError (damaged), and what ``choose`` raises; all name the file.
    """
    source = local_path(file_io, file.path)
    stream = None
    try:
        if source is None:
            source = stream = file_io.new_input_stream(file.path)
        if file.format == "parquet":
            yield from read_parquet(source, choose, rows, meter)
        else:
            yield from read_orc(source, choose, rows, meter, file.size)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{file.path}: this data file does not exist, though the snapshot lists it; an expired "
                                "snapshot or a cleaned-up table folder leaves such entries") from error
    except (pa.ArrowException, OSError) as error:
        raise OSError(f"{file.path}: this data file cannot be read: {error}") from error
    finally:
        if stream is not None:
            stream.close()


def _rows_through_pypaimon(spec, group, file, rows, needed, meter):
    """Selected rows of a file that pypaimon reads (another format, a converted type): its rows, by position."""
    table_rows = 0

    def counted():
        nonlocal table_rows
        for batch in _through_pypaimon(spec, group.source, needed, meter):
            table_rows += batch.num_rows
            yield batch

    yield from take_rows(counted(), positions(rows), ReadMeter())
    if table_rows != file.row_count:
        raise CorruptError("row_count", path=file.path, expected=f"{file.row_count} rows, as the manifest says",
                           found=table_rows)


class _Layout:
    """Where each needed column of one file comes from: the file, its partition, or nowhere (NULL)."""

    def __init__(self, spec: ScanSpec, file: DataFile, needed):
        self.spec, self.file, self.needed = spec, file, needed
        self.schema = pa.schema([spec.arrow.field(name) for name in needed])
        mapping = spec.file_schema(file.schema_id, file.write_cols)
        self.direct = file.format in DIRECT_FORMATS
        self.stored = {}  # table column -> stored column
        for name in needed:
            column = mapping.column(name)
            if name in file.partition:
                continue
            if not column.direct:
                self.direct = False
            elif column.name is not None and spec.types[name].root in INDIRECT:
                self.direct = False
            if column.name is not None or column.reason is not None:
                self.stored[name] = column.name

    def open(self, names, row_count: int) -> list[str]:
        """What to read of the columns that the file has; settles primary-key columns of thin files."""
        if row_count != self.file.row_count:
            raise CorruptError("row_count", path=self.file.path, found=row_count,
                               expected=f"{self.file.row_count} rows, as the manifest says")
        for name, stored in self.stored.items():
            if stored in names:
                continue
            if PRIMARY_KEY_PREFIX + stored not in names:
                raise CorruptError(f"column {stored}", path=self.file.path, expected="a stored column",
                                   found=f"only {', '.join(names)}")
            self.stored[name] = PRIMARY_KEY_PREFIX + stored
        return list(self.stored.values())

    def batch(self, stored) -> pa.RecordBatch:
        """A batch of the table's columns from a batch of stored ones."""
        arrays = []
        for field in self.schema:
            if field.name in self.stored:
                arrays.append(conform(stored.column(self.stored[field.name]), field.type))
            else:
                arrays.append(self._constant(field, stored.num_rows))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def constant_batches(self, row_count: int):
        """Batches of columns that are the same in every row of the file."""
        for start in range(0, row_count, BATCH_ROWS):
            rows = min(BATCH_ROWS, row_count - start)
            yield pa.RecordBatch.from_arrays([self._constant(f, rows) for f in self.schema], schema=self.schema)

    def _constant(self, field, rows: int):
        value = self.file.partition.get(field.name)
        if value is None:
            return pa.nulls(rows, field.type)
        return pa.repeat(pa.scalar(value, field.type), rows)


def _conform_batch(batch, schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([conform(batch.column(f.name), f.type) for f in schema], schema=schema)


def conform(array, target: pa.DataType):
    """A stored column in the table's Arrow type, by value; a finer timestamp is floored."""
    if array.type == target:
        return array
    if pa.types.is_timestamp(array.type) and pa.types.is_timestamp(target):
        return _conform_timestamp(array, target)
    if pa.types.is_integer(array.type) and pa.types.is_time32(target):
        return array.cast(pa.int32()).cast(target)
    return array.cast(target)


def _conform_timestamp(array, target):
    """Units and zones: a naive column that the table has with a zone counts in UTC."""
    try:
        return array.cast(target)
    except pa.ArrowInvalid:  # digits beyond the target's unit
        unit = {"s": "second", "ms": "millisecond", "us": "microsecond"}[target.unit]
        return pc.floor_temporal(array, unit=unit).cast(target)
