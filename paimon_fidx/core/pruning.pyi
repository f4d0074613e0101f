"""Pruning many small index files at once: Bloom filters only, files in memory."""
from collections.abc import Buffer, Sequence
from typing import final

@final
class BloomPruner:
    """A predicate over Bloom filters; ``program`` is postfix, see the module."""
    def __new__(cls, names: list[bytes], hashes: list[list[int] | None], program: list[int]) -> BloomPruner: ...
    def run(self, sources: Sequence[Buffer]) -> bytearray:
        """One byte a source: 0 no row matches, 1 some may, 2 open the file to know."""
