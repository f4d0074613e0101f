"""Bloom filter of one column."""
from typing import final

from paimon_fidx.core.buffers import Output
from paimon_fidx.core.columns import KeyColumn
from paimon_fidx.core.cursor import Source
from paimon_fidx.core.keys import Keys

@final
class Reader:
    """Answers "surely not" or "maybe". Raises TruncatedError, CorruptError."""
    start: int  # bytes from the file's start
    length: int  # bytes
    hash_count: int
    def __new__(cls, source: Source, start: int, length: int, key_kind: str, where: str = "bloom-filter") -> Reader: ...
    def may_contain_any(self, hashes: list[int] | None) -> bool:
        """False when surely no key with one of these hashes was seen."""

@final
class Writer:
    """Writes the filter of one column."""
    bit_count: int
    hash_count: int
    def __init__(self, items: int = 1_000_000, fpp: float = 0.1) -> None: ...
    def write(self, column: KeyColumn, out: Output) -> None:
        """Appends the filter of the keys that are not NULL."""

def size_of(items: int, fpp: float) -> tuple[int, int]:
    """(bit_count, hash_count) in Java's arithmetic; ValueError where that leaves no bits."""

def key_hashes(keys: Keys) -> list[int] | None:
    """The hashes a filter is asked for; None where ``keys`` are no countable set."""
