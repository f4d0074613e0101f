"""What a plan consists of: data files, and splits of files that must be read together.

Everything here is plain, immutable and picklable, so that a plan made in one process can be evaluated and read
in another (the executors of a Spark job).
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["DataFile", "DeletionVectorRef", "FileGroup", "IndexRef"]


@dataclass(frozen=True, slots=True)
class DeletionVectorRef:
    """Where the deletion vector of one data file stands.

    path : str            the deletion-vector index file
    offset, length : int  bytes; ``length`` as the index manifest has it (None when it does not say)
    cardinality : int | None  how many rows it deletes, when the index manifest says
    """

    path: str
    offset: int
    length: int | None
    cardinality: int | None = None


@dataclass(frozen=True, slots=True)
class IndexRef:
    """Where the index of one data file stands: ``embedded`` in the manifest (bytes) or in a file of its own."""

    embedded: bytes | None = None
    path: str | None = None

    @property
    def location(self) -> str:
        """``embedded`` or the path of the index file."""
        return "embedded" if self.embedded is not None else str(self.path)


@dataclass(frozen=True, slots=True)
class DataFile:
    """One live data file of a snapshot, as a manifest entry describes it.

    path : str                absolute path of the data file (external paths included)
    format : str              ``parquet``, ``orc``, ``avro``, ... from the file's name
    size, row_count : int     bytes and rows, deleted rows included
    schema_id : int           the schema it was written with
    partition : dict          partition column -> Python value (None is the null partition)
    index : IndexRef | None   where its index is
    index_error : str | None  why its index cannot be located (more than one ``.index`` file)
    deletion : DeletionVectorRef | None
    first_row_id : int | None row id of its first row, in tables that track rows
    write_cols : tuple | None the columns it holds when these are not all columns of its schema
    """

    name: str
    path: str
    format: str
    size: int
    row_count: int
    schema_id: int
    level: int
    bucket: int
    partition: dict
    index: IndexRef | None = None
    index_error: str | None = None
    deletion: DeletionVectorRef | None = None
    first_row_id: int | None = None
    write_cols: tuple | None = None
    extra_files: tuple = ()


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that are read together.

    A group of one file without ``merge`` holds rows of the table as they are: it may be pruned by its index. A
    group with ``merge`` (the reason, in words) is read through pypaimon's reader, which merges its files.

    source : object  pypaimon's split, from which ``merge`` groups are read and single files of other formats too
    """

    files: tuple[DataFile, ...]
    merge: str | None = None
    source: Any = field(default=None, compare=False, repr=False)

    @property
    def row_count(self) -> int:
        return sum(f.row_count for f in self.files)

    @property
    def size(self) -> int:
        return sum(f.size for f in self.files)
