"""The errors of the package: one hierarchy, each with the place and the reason.

``FileIndexError`` is what any damaged, truncated or unknown index bytes raise, and the only thing they
raise. ``NotAnswerable`` says that a question (count, distinct, ...) has no exact answer in the index.
"""
from __future__ import annotations

__all__ = ["FileIndexError", "TruncatedError", "CorruptError", "UnsupportedError", "NotAnswerable"]


class FileIndexError(ValueError):
    """Index bytes that cannot be used.

    Attributes
    ----------
    where : str        what was read, from the outside in: ``bitmap[city].block[3].entry_count``
    path : str | None  the file, when the bytes came from one
    offset : int | None  absolute byte offset in what the caller handed over
    expected, found : object  what the format asks for, and what stands there

    Example
    -------
    >>> raise CorruptError("bitmap[city].entry_count", offset=1042, expected="at most 17", found=2147483647)
    Traceback (most recent call last):
    ...
    paimon_fidx.errors.CorruptError: bitmap[city].entry_count at 1042: expected at most 17, found 2147483647
    """

    def __init__(self, where, *, path=None, offset=None, expected=None, found=None, hint=None):
        self.where = where
        self.path = path
        self.offset = offset
        self.expected = expected
        self.found = found
        self.hint = hint
        super().__init__(where)

    def __str__(self):
        text = f"{self.path}: {self.where}" if self.path is not None else self.where
        if self.offset is not None:
            text += f" at {self.offset}"
        if self.expected is not None:
            text += f": expected {self.expected}, found {self.found}"
        if self.hint:
            text += f" ({self.hint})"
        return text

    def __reduce__(self):
        return _rebuild, (type(self), self.where, self.path, self.offset, self.expected, self.found, self.hint)


def _rebuild(kind, where, path, offset, expected, found, hint):
    return kind(where, path=path, offset=offset, expected=expected, found=found, hint=hint)


class TruncatedError(FileIndexError):
    """The bytes end before what their own header announces."""


class CorruptError(FileIndexError):
    """The bytes contradict the format or themselves."""


class UnsupportedError(FileIndexError):
    """A version, index kind or column type that this release does not read."""


class NotAnswerable(Exception):
    """The index cannot give an exact answer to this question; read the data instead."""
