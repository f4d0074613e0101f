"""Memory for building: an arena of scratch and an output of bytes."""
from typing import final

@final
class Arena:
    """Scratch memory that is freed at once, for other Cython rooms."""

@final
class Output:
    """Bytes that grow in place."""
    @property
    def length(self) -> int:
        """Bytes written so far."""
    def finish(self) -> bytes:
        """The bytes, once. ValueError above 2 GiB, the most a file can address."""
