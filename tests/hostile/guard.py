"""Memory that ends at a page nobody may touch: reading one byte too many is a crash, not luck."""
from __future__ import annotations

import ctypes
import mmap
import sys

PAGE = mmap.PAGESIZE
PROT_NONE = 0


def guarded(payload: bytes, at_end: bool = True) -> memoryview:
    """The payload as a read-only view whose last (or first) byte lies beside a forbidden page."""
    if sys.platform == "win32":
        return memoryview(payload)
    pages = max(1, -(-len(payload) // PAGE))
    area = mmap.mmap(-1, (pages + 2) * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    at = PAGE + (pages * PAGE - len(payload) if at_end else 0)
    area[at : at + len(payload)] = payload
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for page in (0, pages + 1):
        if libc.mprotect(start + page * PAGE, PAGE, PROT_NONE):
            raise OSError(ctypes.get_errno(), "mprotect")
    return memoryview(area).toreadonly()[at : at + len(payload)]
