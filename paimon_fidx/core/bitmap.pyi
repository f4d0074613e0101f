"""Bitmap index of one column, versions 1 and 2."""
from collections.abc import Iterator
from typing import final

from pyroaring import BitMap

from paimon_fidx.core.buffers import Output
from paimon_fidx.core.codes import Codes
from paimon_fidx.core.cursor import Source
from paimon_fidx.core.keys import Keys

@final
class Entries:
    """A list of entries, for this room."""

@final
class Reader:
    """Rows by key, and the keys in order. Raises TruncatedError, CorruptError, UnsupportedError."""
    start: int  # bytes from the file's start
    length: int  # bytes
    version: int
    row_count: int
    entry_count: int
    has_null: bool
    def __new__(cls, source: Source, start: int, length: int, key_kind: str, where: str = "bitmap") -> Reader: ...
    def select(self, keys: Keys, negate: bool = False) -> BitMap:
        """Rows whose value lies in ``keys``, or with ``negate`` the rows that have a value outside."""
    def value_rows(self, absent: bool = False) -> BitMap:
        """Rows that have a value, or with ``absent`` the NULL rows."""
    def entries(self, descending: bool = False) -> Iterator[tuple[int | bytes, BitMap]]:
        """(key, rows) in key order."""
    def counts(self, selection: BitMap | None = None) -> dict[int | bytes, int]:
        """{key: rows}; keys without a selected row are left out."""
    def top(self, k: int, largest: bool, selection: BitMap | None = None, ties: bool = False) -> BitMap:
        """The k rows with the largest (or smallest) values."""

@final
class Writer:
    """Writes the bitmap index of one column."""
    version: int
    block_size: int  # bytes
    def __init__(self, version: int = 2, block_size: int = 16384) -> None: ...
    def write(self, codes: Codes, out: Output) -> None: ...
