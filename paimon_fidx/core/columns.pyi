"""Arrow columns to index keys, through Arrow's C data interface."""
from collections.abc import Iterator
from typing import Any, final

@final
class SchemaHandle:
    """One Arrow schema, released with the handle."""
    @property
    def names(self) -> list[str]: ...
    def sql_types(self) -> dict[str, str | None]:
        """{name: Paimon SQL type}; None for a column that no index accepts as it stands."""

@final
class ArrayHandle:
    """One Arrow batch, or one column moved out of it, released with the handle."""
    @property
    def length(self) -> int: ...
    def take(self, i: int) -> ArrayHandle:
        """Moves column ``i`` out of this batch. ValueError when it is not there or too short."""

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

def read_batches(batches: Any) -> Iterator[tuple[SchemaHandle, ArrayHandle]]:
    """Every record batch of something with ``__arrow_c_stream__`` or ``__arrow_c_array__``, or an iterable of such."""

def read_schema(source: Any) -> SchemaHandle:
    """The schema of something with ``__arrow_c_schema__``."""

def read_stream(capsule: Any) -> Iterator[tuple[SchemaHandle, ArrayHandle]]:
    """Every record batch of an Arrow stream capsule."""
