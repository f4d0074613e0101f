"""The index file: a head that names columns and index kinds, then the segments."""
from collections.abc import Callable, Sequence
from typing import final

from paimon_fidx.core.buffers import Output
from paimon_fidx.core.cursor import Source

@final
class Container:
    """The head of an index file. Raises TruncatedError, CorruptError, UnsupportedError."""
    source: Source
    head_length: int  # bytes
    columns: dict[str, dict[str, tuple[int, int]]]  # column -> kind -> (start, length); start -1 is an empty entry
    def __new__(cls, source: Source) -> Container: ...

@final
class Writer:
    """Writes head and segments into one bytes object."""
    out: Output
    def __init__(self, columns: dict[str, Sequence[str]]) -> None: ...
    def segment(self, write: Callable[[Output], object] | None) -> None:
        """Appends the next segment by calling ``write(out)``; None makes an empty entry."""
    def finish(self) -> bytes:
        """The whole file."""

def java_utf(name: str) -> bytes:
    """Java's ``writeUTF``: two bytes of length, then modified UTF-8. ValueError above 65,535 bytes."""
