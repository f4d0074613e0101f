"""Arrow columns to index keys."""
from typing import final

from paimon_fidx.core.arrow import ArrayHandle, SchemaHandle

@final
class Column:
    """Collects one indexed column, or one key of a MAP column, batch by batch."""
    label: str
    kind: int
    row_count: int
    def __init__(self, label: str, kind: int, logical: str = "", scale: int = 0, map_key: str | None = None) -> None: ...
    @property
    def is_map_key(self) -> bool: ...
    def check(self, schema: SchemaHandle, field: int) -> None:
        """UnsupportedError unless the Arrow type can hold the column's Paimon type."""
    def append(self, schema: SchemaHandle, field: int, column: ArrayHandle) -> None:
        """Adds the rows of one batch."""
    def keys(self) -> KeyColumn:
        """The keys of all rows so far. ValueError names the column when a value does not fit its type."""

@final
class KeyColumn:
    """The keys of one column, row by row."""
    label: str
    row_count: int
    null_count: int

@final
class Gather:
    """Turns the chunks of one column into its keys, for this room."""
