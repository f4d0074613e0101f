"""Evaluation of bit-sliced indexes on their serialized bitmaps, for other Cython rooms."""
from typing import final

@final
class Slices:
    """One bit-sliced index: its existence bitmap and its slices, parsed."""
