"""What an index says of a file: skip it, these rows, or nothing. Results combine as the predicate's parts do.

    SKIP        no row matches                 always exact
    REMAIN      every row may match            never exact
    ROWS        no other row matches           exact when each of them does

    SKIP  AND x = SKIP       REMAIN AND x = x, not exact      ROWS AND ROWS = their intersection
    SKIP  OR  x = x          REMAIN OR  x = REMAIN            ROWS OR  ROWS = their union
"""
from __future__ import annotations

from enum import Enum

from pyroaring import BitMap

__all__ = ["Decision", "IndexResult", "REMAIN", "SKIP", "rows_result"]


class Decision(Enum):
    SKIP = "skip"
    REMAIN = "remain"
    ROWS = "rows"


class IndexResult:
    """One answer. Immutable, and SKIP and REMAIN are shared objects: do not change ``rows`` in place.

    Attributes
    ----------
    decision : Decision
    rows : pyroaring.BitMap | None   row ids below the file's row count, when ``decision`` is ROWS
    exact : bool                     whether the rows are exactly the answer; a reader then needs no filter

    >>> rows_result(BitMap([1, 2]), True) & rows_result(BitMap([2, 3]), False)
    IndexResult(ROWS, 1 row, not exact)
    """

    __slots__ = ("decision", "rows", "exact")

    def __init__(self, decision, rows=None, exact=False):
        put = object.__setattr__
        put(self, "decision", decision)
        put(self, "rows", rows)
        put(self, "exact", exact)

    def __setattr__(self, name, value):
        raise AttributeError("an IndexResult cannot be changed")

    def __reduce__(self):
        return _restore, (self.decision.name, self.rows, self.exact)

    def __eq__(self, other):
        if not isinstance(other, IndexResult):
            return NotImplemented
        return (self.decision, self.rows, self.exact) == (other.decision, other.rows, other.exact)

    __hash__ = None

    def __and__(self, other):
        if self.decision is Decision.SKIP or other.decision is Decision.SKIP:
            return SKIP
        if self.decision is Decision.REMAIN:
            return other.inexact()
        if other.decision is Decision.REMAIN:
            return self.inexact()
        return rows_result(self.rows & other.rows, self.exact and other.exact)

    def __or__(self, other):
        if self.decision is Decision.SKIP:
            return other
        if other.decision is Decision.SKIP:
            return self
        if self.decision is Decision.REMAIN or other.decision is Decision.REMAIN:
            return REMAIN
        return rows_result(self.rows | other.rows, self.exact and other.exact)

    def inexact(self):
        """The same rows, to be filtered."""
        return IndexResult(self.decision, self.rows, False) if self.exact and self.rows is not None else self

    def minus(self, deleted):
        """Without deleted rows (a BitMap, or None for none). REMAIN stays: its reader drops deleted rows itself."""
        if deleted is None or self.rows is None:
            return self
        return rows_result(self.rows - deleted, self.exact)

    def __repr__(self):
        if self.decision is not Decision.ROWS:
            return f"IndexResult({self.decision.name})"
        n = len(self.rows)
        return f"IndexResult(ROWS, {n} row{'s' if n != 1 else ''}, {'exact' if self.exact else 'not exact'})"


def rows_result(rows, exact):
    """ROWS, or SKIP when there are none."""
    return IndexResult(Decision.ROWS, rows, exact) if rows else SKIP


def _restore(decision, rows, exact):
    return {"SKIP": SKIP, "REMAIN": REMAIN}.get(decision) or IndexResult(Decision[decision], rows, exact)


SKIP = IndexResult(Decision.SKIP, None, True)
REMAIN = IndexResult(Decision.REMAIN, None, False)
