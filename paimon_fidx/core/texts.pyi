"""Strings of a column to numbers and their order, for other Cython rooms."""
from typing import final

from paimon_fidx.core.buffers import Arena

@final
class Numbering:
    """Numbers distinct strings as they come, then sorts them."""
    def __new__(cls, arena: Arena) -> Numbering: ...
