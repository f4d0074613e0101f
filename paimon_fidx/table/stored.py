"""All rows of one data file, deleted ones included, in the columns and types of the schema it was written with.

That is what an index of the file is about: row 0 of the index is row 0 of the file.
"""
from __future__ import annotations

import pyarrow as pa
from pypaimon.read.split import DataSplit
from pypaimon.schema.data_types import PyarrowFieldParser

from ..errors import CorruptError
from .files import DataFile
from .formats import ReadMeter
from .read import DIRECT_FORMATS, PRIMARY_KEY_PREFIX, conform, stored_batches

__all__ = ["NotReadable", "file_batches"]


class NotReadable(ValueError):
    """The file's rows cannot be had as they are stored: another format in another schema, or merged while reading."""


def file_batches(table, file: DataFile, meta, partition, fields, columns):
    """RecordBatches of ``columns`` (names of the file's schema) of every row of a data file, in file order.

    table : pypaimon FileStoreTable; meta, partition : pypaimon's DataFileMeta with its path, and partition row;
    fields : the DataFields of the file's schema
    Raises FileNotFoundError, OSError, CorruptError (another number of rows than the manifest says), NotReadable.
    """
    by_name = {f.name: f for f in fields}
    schema = PyarrowFieldParser.from_paimon_schema([by_name[name] for name in columns])
    if file.format in DIRECT_FORMATS:
        yield from _direct(table, file, columns, schema)
    else:
        yield from _through_pypaimon(table, file, meta, partition, by_name, columns, schema)


def _direct(table, file, columns, schema):
    stored = {}

    def choose(names, row_count):
        if row_count != file.row_count:
            raise CorruptError("row_count", path=file.path, found=row_count,
                               expected=f"{file.row_count} rows, as the manifest says")
        for name in columns:
            stored[name] = name if name in names else PRIMARY_KEY_PREFIX + name
            if stored[name] not in names:
                raise CorruptError(f"column {name}", path=file.path, expected="a stored column",
                                   found=f"only {', '.join(names)}")
        return list(stored.values())

    for batch in stored_batches(table.file_io, file, choose, None, ReadMeter()):
        arrays = [conform(batch.column(stored[f.name]), f.type) for f in schema]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _through_pypaimon(table, file, meta, partition, by_name, columns, schema):
    today = {f.id: f for f in table.fields}
    names = []
    for name in columns:
        field = today.get(by_name[name].id)
        if field is None or str(field.type) != str(by_name[name].type):
            raise NotReadable(f"{file.format} files are read through pypaimon, in today's schema, where {name} is "
                              + ("missing" if field is None else f"{field.type}"))
        names.append(field.name)
    split = DataSplit(files=[meta], partition=partition, bucket=file.bucket, raw_convertible=True)
    row_count = 0
    for batch in table.new_read_builder().with_projection(names).new_read().to_arrow_batch_reader([split]):
        row_count += batch.num_rows
        yield pa.RecordBatch.from_arrays([conform(batch.column(n), f.type) for n, f in zip(names, schema)],
                                         schema=schema)
    if row_count != file.row_count:
        raise NotReadable(f"pypaimon gives {row_count} of its {file.row_count} rows")
