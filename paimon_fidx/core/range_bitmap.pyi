"""Range bitmap of one column: a sorted dictionary and a bit-sliced index of its codes."""
from typing import final

from pyroaring import BitMap

from paimon_fidx.core.buffers import Output
from paimon_fidx.core.codes import Codes
from paimon_fidx.core.cursor import Source
from paimon_fidx.core.keys import Keys

@final
class Reader:
    """Rows by value, prefix or pattern. Raises TruncatedError, CorruptError, UnsupportedError."""
    start: int  # bytes from the file's start
    length: int  # bytes
    row_count: int
    cardinality: int  # distinct keys
    def __new__(cls, source: Source, start: int, length: int, key_kind: str, where: str = "range-bitmap") -> Reader: ...
    def select(self, keys: Keys, negate: bool = False) -> BitMap:
        """Rows whose value lies in ``keys``, or with ``negate`` the rows that have a value outside."""
    def value_rows(self, absent: bool = False) -> BitMap:
        """Rows that have a value, or with ``absent`` the NULL rows."""
    def keys(self) -> list[int] | list[bytes]:
        """All keys in order."""
    def counts(self, selection: BitMap | None = None) -> dict[int | bytes, int]:
        """{key: rows}."""
    def top(self, k: int, largest: bool, selection: BitMap | None = None, ties: bool = False) -> BitMap:
        """The k rows with the largest (or smallest) values."""

@final
class Writer:
    """Writes the range bitmap of one column."""
    chunk_size: int  # bytes
    def __init__(self, chunk_size: int = 16384) -> None: ...
    def write(self, codes: Codes, out: Output) -> None: ...
