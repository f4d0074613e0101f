"""Pruning many small index files at once: Bloom filters only, files in memory."""
from collections.abc import Buffer, Sequence
from typing import final

@final
class BloomPruner:
    """A predicate over Bloom filters; ``program`` is postfix, see the module."""
    def __new__(cls, names: list[bytes], hashes: list[list[int] | None], program: list[int]) -> BloomPruner: ...
    def run(self, sources: Sequence[Buffer], answers: tuple) -> tuple[list, int]:
        """Each source's answer out of ``answers`` (no row, some may, open the file), and how many are to be opened."""
