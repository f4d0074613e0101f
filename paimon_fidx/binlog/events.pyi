"""The Milvus binlog (storage V1): descriptor, event walk, writer."""
from collections.abc import Callable, Iterable
from typing import Any, final

from paimon_fidx.core.cursor import Source

@final
class Payload:
    """The payload of one event: a read-only buffer over the input."""
    at: int  # where it starts in the input, bytes
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Events:
    """The descriptor and the event walk of one binlog. Raises TruncatedError, CorruptError, UnsupportedError."""
    collection_id: int
    partition_id: int
    segment_id: int
    field_id: int
    data_type: int
    event_count: int
    total_size: int  # bytes of the file
    name: str | None  # its path
    encrypted: bool
    def __new__(cls, source: Source | bytes, path: str | None = None) -> Events: ...
    def descriptor_numbers(self) -> tuple[int, int, int, int, int]:
        """(length, next_position, timestamp, start_timestamp, end_timestamp) of the descriptor."""
    def extras(self) -> dict[str, Any]:
        """The extras of the descriptor. CorruptError where they are no JSON object."""
    def row(self, i: int) -> tuple[int, int, int, int, int, int, int]:
        """(type, offset, length, next_position, timestamp, start_timestamp, end_timestamp) of a data event."""
    def payload(self, i: int) -> Payload:
        """The payload of a data event. IndexError beyond the last."""
    def payload_in(self, i: int, allocate: Callable[[int], Any]) -> tuple[Any, int]:
        """(payload, its offset): in memory that ``allocate(size)`` gives where the file has to be read for it."""
    def close(self) -> None: ...

@final
class Writer:
    """Writes a binlog from its parts."""
    def __init__(self, timestamp: int, collection_id: int, partition_id: int, segment_id: int, field_id: int,
                 start_timestamp: int, end_timestamp: int, data_type: int, extras: bytes) -> None: ...
    def event(self, timestamp: int, type: int, start_timestamp: int, end_timestamp: int, payload: bytes,
              chained: bool = True) -> None:
        """Appends a data event; not ``chained``: next position -1. ValueError beyond 2 GiB."""
    def finish(self) -> bytes:
        """The whole file."""

def walk_many(sources: Iterable[Any], kind: type[Events] = ...) -> list[Events]:
    """Opens many binlogs, in order; bytes are the fast way."""

def read_all(source: Source) -> bytes:
    """All bytes of a source."""

def bm25_numbers(data: bytes) -> tuple[int, int, int, list[tuple[int, int]]]:
    """(version, row_count, token_count, [(token, rows), ...]) of BM25 statistics of at least 20 bytes."""
