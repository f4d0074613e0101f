"""Bit-sliced index of one numeric column."""
from typing import final

from pyroaring import BitMap

from paimon_fidx.core.buffers import Output
from paimon_fidx.core.columns import KeyColumn
from paimon_fidx.core.cursor import Source
from paimon_fidx.core.keys import Keys

@final
class Reader:
    """Rows by value. Raises TruncatedError, CorruptError, UnsupportedError."""
    row_count: int
    def __new__(cls, source: Source, start: int, length: int, key_kind: str, where: str = "bsi") -> Reader: ...
    def select(self, keys: Keys, negate: bool = False) -> BitMap:
        """Rows whose value lies in ``keys``, or with ``negate`` the rows that have a value outside."""
    def value_rows(self, absent: bool = False) -> BitMap:
        """Rows that have a value, or with ``absent`` the NULL rows."""
    def counts(self, selection: BitMap | None = None) -> dict[int, int]:
        """{value: rows}."""
    def top(self, k: int, largest: bool, selection: BitMap | None = None, ties: bool = False) -> BitMap:
        """The k rows with the largest (or smallest) values."""

@final
class Writer:
    """Writes the bit-sliced index of one column."""
    def write(self, column: KeyColumn, out: Output) -> None: ...
