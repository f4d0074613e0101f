"""``Table.file_indexes()``: one row per index of each data file, like Java Paimon's ``$file_indexes`` system table."""
from __future__ import annotations

import os
import warnings

import pyarrow as pa

from ..errors import FileIndexError
from .ahead import map_ahead
from .entries import read_snapshot
from .locate import opened_index
from .plan import data_file

__all__ = ["SCHEMA", "file_indexes"]

SCHEMA = pa.schema([
    ("partition", pa.string()),                    # {20240101, a}; {} without partition columns
    ("bucket", pa.int32()),
    ("file_path", pa.string()),
    ("file_size_in_bytes", pa.int64()),
    ("record_count", pa.int64()),
    ("schema_id", pa.int64()),
    ("column_name", pa.string()),                  # of the file's schema; attrs[os] for a MAP key
    ("index_type", pa.string()),
    ("storage_type", pa.string()),                 # EMBEDDED or FILE
    ("index_file_path", pa.string()),              # null for an embedded index
    ("index_size_in_bytes", pa.int64()),           # of the entry's body
    ("index_container_size_in_bytes", pa.int64()),  # of the whole index file
    ("is_empty", pa.bool_()),                      # an empty entry: no value was seen
])
MAX_THREADS = 16


def file_indexes(table, on_index_error: str, threads=None) -> pa.Table:
    """See Table.file_indexes. table : pypaimon FileStoreTable."""
    files = [data_file(e.file, e.bucket, e.partition) for e in read_snapshot(table).entries]
    files = [f for f in files if f.index is not None or f.index_error is not None]
    threads = min(MAX_THREADS, 2 * (os.cpu_count() or 1)) if threads is None else max(1, threads)
    rows = []
    for found in map_ahead(lambda file: _rows(table, file, on_index_error), files, threads):
        rows += found
    return pa.Table.from_pylist(rows, SCHEMA)


def _rows(table, file, on_index_error) -> list[dict]:
    try:
        with opened_index(table.file_io, file, {}) as index:
            entries = [(name, kind, index.entries(name)[kind]) for name, kinds in index.columns.items()
                       for kind in kinds]
        size = len(file.index.embedded) if file.index.embedded is not None else \
            table.file_io.get_file_size(file.index.path)
    except (FileIndexError, OSError, ValueError) as error:
        if on_index_error == "raise":
            raise
        if on_index_error == "warn":
            warnings.warn(f"index of {file.path}: {error}; it is left out", stacklevel=2)
        return []
    shared = {
        "partition": "{" + ", ".join("null" if v is None else str(v) for v in file.partition.values()) + "}",
        "bucket": file.bucket, "file_path": file.path, "file_size_in_bytes": file.size, "record_count": file.row_count,
        "schema_id": file.schema_id, "storage_type": "EMBEDDED" if file.index.embedded is not None else "FILE",
        "index_file_path": file.index.path, "index_container_size_in_bytes": size,
    }
    return [{**shared, "column_name": name, "index_type": kind, "index_size_in_bytes": length, "is_empty": start < 0}
            for name, kind, (start, length) in entries]
