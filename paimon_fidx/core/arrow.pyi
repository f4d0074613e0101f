"""Arrow batches through the C data interface."""
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

def read_batches(batches: Any) -> Iterator[tuple[SchemaHandle, ArrayHandle]]:
    """Every record batch of something with ``__arrow_c_stream__`` or ``__arrow_c_array__``, or an iterable of such."""

def read_schema(source: Any) -> SchemaHandle:
    """The schema of something with ``__arrow_c_schema__``."""

def read_stream(capsule: Any) -> Iterator[tuple[SchemaHandle, ArrayHandle]]:
    """Every record batch of an Arrow stream capsule."""
