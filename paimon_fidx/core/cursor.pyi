"""Checked access to index bytes: sources, views, the big-endian cursor, Java's modified UTF-8."""
import os
from typing import Any, BinaryIO, final

@final
class View:
    """A checked range of the input; keeps the memory behind it alive."""
    def __len__(self) -> int: ...
    def tobytes(self) -> bytes: ...

@final
class Cursor:
    """Big-endian numbers off a view, for other Cython rooms."""

@final
class Source:
    """Index bytes behind one interface. TypeError for what is no bytes-like object, path or binary file object."""
    path: str | None
    size: int  # bytes
    in_memory: bool
    request_count: int  # range reads so far
    bytes_read: int
    def __new__(cls, source: Any | str | os.PathLike[str] | BinaryIO) -> Source: ...
    def close(self) -> None:
        """Closes the descriptor opened for a path; a caller's file object stays open."""

def decode_modified_utf8(data: bytes) -> str | None:
    """The text of Java modified UTF-8 bytes (without their length), None where they are none."""

def encode_modified_utf8(text: str) -> bytes:
    """Java modified UTF-8 of a text, without the length."""
