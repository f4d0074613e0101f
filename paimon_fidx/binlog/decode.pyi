"""Cells of binlog columns that Arrow does not know: sparse vectors, arrays (protobuf), dense vectors kept as binary."""
from typing import Any

class BadRow(ValueError):
    """A cell that breaks the layout; ``row`` counts in the array that was handed in."""
    def __init__(self, row: int, reason: str) -> None: ...

def sparse(data: Any, offsets: Any, validity: Any, first: int, row_count: int) -> tuple[bytes, bytes, bytes]:
    """(list offsets int32, indexes uint32, values float32). Raises BadRow."""

def dense(data: Any, offsets: Any, validity: Any, first: int, row_count: int, width: int) -> bytes:
    """Rows of ``width`` bytes, zeros for nulls. Raises BadRow."""

def arrays(
    data: Any, offsets: Any, validity: Any, first: int, row_count: int, kind: int = 0
) -> tuple[int, bytes, bytes, bytes | None]:
    """(kind, list offsets int32, values, value offsets int32 or None). Raises BadRow."""

def is_ascii(data: Any) -> bool:
    """Whether all bytes are below 0x80."""

def interleave(indexes: Any, values: Any) -> bytes:
    """Sparse vectors as pairs of 8 bytes. ValueError for sides of two lengths."""

def encode_array(kind: int, values: Any, ends: Any = None) -> bytes:
    """One array as a ScalarField message. ValueError for ends outside the values."""
