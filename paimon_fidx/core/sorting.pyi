"""Radix sorts, for other Cython rooms."""
