"""Key encodings and the sets of keys that a predicate asks for."""
from collections.abc import Sequence
from typing import final

KINDS: tuple[str, ...]

@final
class Keys:
    """Ranges of keys, ascending and disjoint: inclusive sortable ints, or half-open bytes with None for no upper end."""
    kind: int  # place in KINDS
    count: int  # ranges
    has_like: bool
    def __new__(
        cls,
        kind: str,
        ranges: Sequence[tuple[int, int]] | Sequence[tuple[bytes, bytes | None]],
        like: Sequence[bytes | int] | None = None,
    ) -> Keys: ...
    def only_single(self, most: int) -> bool:
        """Whether these are at most ``most`` single keys."""
    def matches(self, data: bytes) -> bool:
        """Whether the LIKE pattern alone matches."""
