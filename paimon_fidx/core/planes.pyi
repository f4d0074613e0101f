"""Bit planes of codes, the building side of bit slices, for other Cython rooms."""
from typing import final

@final
class Planes:
    """One bit plane per code bit."""
    def __new__(cls, row_count: int, plane_count: int) -> Planes: ...
