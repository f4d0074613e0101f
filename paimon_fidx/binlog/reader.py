"""One binlog file: what it is, its events, its rows."""
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..core.cursor import Source
from ..errors import CorruptError, UnsupportedError
from .events import Events, Payload, walk_many
from .model import DataType, Descriptor, Event, EventType, known

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Binlog", "open_binlog", "open_binlogs"]

BATCH_ROWS = 65536


def open_binlog(source: Any) -> Binlog:
    """Opens a Milvus binlog: reads the descriptor and walks the events, no payload.

    source : bytes-like, a path, or a binary file object (only the ranges needed are read)

    Raises
    ------
    TruncatedError, CorruptError, UnsupportedError (storage V2, files before Milvus 2.0), OSError, TypeError

    Example
    -------
    >>> import paimon_fidx.binlog as bl
    >>> bl.open_binlog("insert_log/1/2/3/100/4").to_arrow().num_rows  # doctest: +SKIP
    3000
    """
    return Binlog(source if type(source) is bytes else Source(source))


def open_binlogs(sources: Iterable[Any]) -> list[Binlog]:
    """Opens many binlogs in one call, in order; the fast way over many buffers. The first bad one raises.

    A file opened for a path stays open until its Binlog is closed or gone."""
    return walk_many(sources, Binlog)


class Binlog(Events):
    """An open binlog. Immutable; a context manager that closes a file opened for a path.

    Attributes
    ----------
    path : str | None;  size : int, bytes
    descriptor : Descriptor;  events : tuple[Event, ...], after the descriptor
    kind : "insert", "delete", "index" or "definition";  encrypted : bool
    """

    __slots__ = ()  # nothing of its own, so that it stays as light as the walk

    @property
    def path(self) -> str | None:
        name = self.name
        return os.fsdecode(name) if isinstance(name, bytes) else name

    @property
    def size(self) -> int:
        return self.total_size

    @property
    def descriptor(self) -> Descriptor:
        """Raises CorruptError where the extras are no JSON object."""
        if self._described is None:
            length, next_position, timestamp, start, end = self.descriptor_numbers()
            self._described = Descriptor(
                self.collection_id, self.partition_id, self.segment_id, self.field_id, start, end,
                known(DataType, self.data_type), MappingProxyType(self.extras()), timestamp, length, next_position)
        return self._described

    @property
    def events(self) -> tuple[Event, ...]:
        """The data events. UnsupportedError in an encrypted file, where nobody can tell them apart."""
        self._readable()
        rows = (self.row(i) for i in range(self.event_count))
        return tuple(Event(known(EventType, row[0]), *row[1:]) for row in rows)

    @property
    def kind(self) -> str:
        self._readable()
        types = {self.row(i)[0] for i in range(self.event_count)}
        if len(types) > 1:
            raise CorruptError("event[1].type", path=self.path, expected="events of one type in a file",
                               found=sorted(types))
        if not types:
            return "delete" if self.field_id == -1 else "insert"
        return {EventType.INSERT: "insert", EventType.DELETE: "delete", EventType.INDEX_FILE: "index"}.get(
            types.pop(), "definition")

    def payload(self, event: int = 0) -> Payload:
        """The payload of the event with this number, a buffer: mostly a Parquet file. IndexError beyond the last."""
        self._readable()
        return super().payload(event)

    def index_bytes(self) -> bytes:
        """The content of an index file, however its events wrap it. ValueError for another kind of binlog."""
        if self.kind != "index":
            raise ValueError(f"{self.path or 'the binlog'} is no index file but one of kind {self.kind}")
        parts = []
        for batch in self.to_batches():
            column = batch.column(0)
            if column.null_count:
                raise CorruptError("event.payload", path=self.path, expected="no nulls",
                                   found=f"{column.null_count} nulls")
            if str(batch.schema.types[0]) == "int8":  # one row per byte
                parts.append(column.buffers()[1][column.offset:column.offset + len(column)])
            else:
                parts += column.to_pylist()
        return b"".join(parts)

    @property
    def schema(self) -> pa.Schema:
        """The schema of :meth:`to_arrow`; of the rows it reads no more than it takes to know it."""
        return self._batches(BATCH_ROWS, None)[0]

    @property
    def row_count(self) -> int:
        """Rows of all events, from the footers of their Parquet files."""
        from . import rows

        return rows.row_count(self, self.kind)

    def to_arrow(self, element_type: Any = None) -> pa.Table:
        """All rows: one column named after the field's id, or ``pk`` and ``ts`` of a delete log.

        element_type : narrows the ints of an Array field: "int8", "int16", or a pyarrow type. TypeError where the
            arrays hold something else.

        Raises
        ------
        TruncatedError, CorruptError, UnsupportedError (encrypted, definition logs, unknown data types)
        """
        import pyarrow as pa

        schema, batches = self._batches(None, element_type)
        return pa.Table.from_batches(list(batches), schema)

    def to_batches(self, batch_rows: int = BATCH_ROWS, element_type: Any = None) -> Iterator[pa.RecordBatch]:
        """The rows of :meth:`to_arrow`, at most ``batch_rows`` at a time, all batches with one schema."""
        if batch_rows < 1:
            raise ValueError(f"batch_rows={batch_rows}: at least 1")
        return iter(self._batches(batch_rows, element_type)[1])

    def _batches(self, batch_rows, element_type):
        from . import rows

        kind = self.kind
        if kind == "definition":
            raise UnsupportedError("event[0].type", path=self.path, expected="insert, delete or index events",
                                   found="events of a definition log, which Milvus no longer writes")
        return rows.batches_of(self, kind, batch_rows, element_type)

    def _readable(self) -> None:
        if self.encrypted:
            raise UnsupportedError("events", path=self.path, offset=4 + self.descriptor_numbers()[0],
                                   expected="plain events", found="an encrypted file; only its descriptor reads")

    def __enter__(self) -> Binlog:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __repr__(self) -> str:
        what = "encrypted" if self.encrypted else f"{self.event_count} events"
        return (f"<Binlog {self.path or 'in memory'}: segment {self.segment_id}, field {self.field_id}, {what}, "
                f"{self.size} bytes>")
