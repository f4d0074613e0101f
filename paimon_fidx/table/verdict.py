"""What the index says of each file: skip it, read these rows, or read it all, and why."""
from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

from pyroaring import BitMap

from ..errors import FileIndexError
from ..predicate import ALWAYS, NEVER
from ..result import Decision
from .deletion import read_deletion_vector
from .evolve import is_constant, rewrite
from .files import DataFile, FileGroup
from .locate import opened_index
from .spec import ScanSpec

__all__ = ["FileVerdict", "evaluate_group", "narrow_to_top"]

MAX_ROWS = (1 << 31) - 1  # row positions beyond are not what indexes and 32-bit deletion vectors can name


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """What is to be read of one data file.

    decision : Decision      SKIP: nothing; ROWS: ``rows``; REMAIN: every row, then filter
    rows : BitMap | None     the row positions, without deleted ones, when ``decision`` is ROWS
    exact : bool             ``rows`` (or nothing) is exactly the answer: no filter is needed
    reason : str             in words
    deleted : BitMap | None  rows that the deletion vector removes
    index_requests, index_bytes : what was read of the index
    """

    file: DataFile
    decision: Decision
    rows: BitMap | None
    exact: bool
    reason: str
    deleted: BitMap | None = None
    index_requests: int = 0
    index_bytes: int = 0

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def partition(self) -> dict:
        return self.file.partition

    @property
    def row_count(self) -> int:
        return self.file.row_count

    @property
    def index(self) -> str | None:
        """``embedded``, the path of the index file, or None."""
        return None if self.file.index is None else self.file.index.location

    @property
    def candidates(self) -> int:
        """How many rows are to be read: those selected, or all that are not deleted."""
        if self.decision is Decision.SKIP:
            return 0
        if self.rows is not None:
            return len(self.rows)
        return self.file.row_count - (len(self.deleted) if self.deleted is not None else 0)

    def selection(self) -> BitMap | None:
        """The rows to read, None for every row of the file."""
        if self.decision is Decision.SKIP:
            return BitMap()
        if self.rows is not None:
            return None if len(self.rows) == self.file.row_count else self.rows
        if self.deleted:
            return BitMap(range(self.file.row_count)) - self.deleted
        return None


def evaluate_group(spec: ScanSpec, group: FileGroup) -> tuple[FileVerdict, ...]:
    """The verdicts on the files of one group, in their order. Reads indexes and deletion vectors, no data.

    Raises FileIndexError or FileNotFoundError for an unusable index when the scan says ``on_index_error="raise"``,
    and for an unusable deletion vector always: without it deleted rows would come back.
    """
    if group.merge is not None:
        return tuple(_merged(spec, group, f) for f in group.files)
    return tuple(_evaluate(spec, f) for f in group.files)


def narrow_to_top(spec: ScanSpec, verdict: FileVerdict, top) -> FileVerdict:
    """An exact verdict cut to the rows that can be among the first k of an order, where the index knows the order.

    top : TopN. A row left out is never missed; an index that cannot tell leaves the verdict as it is.
    """
    file = verdict.file
    column = spec.file_schema(file.schema_id, file.write_cols).column(top.column)
    if file.index is None or not verdict.exact or verdict.rows is None or len(verdict.rows) <= top.k or \
            top.column in file.partition or column.name is None or column.reason is not None:
        return verdict
    try:
        with opened_index(spec.table.file_io, file, spec.question(file).types) as index:
            result = index.top_n(column.name, top.k, descending=top.descending, nulls_first=top.nulls_first,
                                 rows=verdict.rows, row_count=file.row_count)
            requests, size = index.stats
    except (FileIndexError, OSError, ValueError):
        if spec.on_index_error == "raise":
            raise
        return verdict
    if result.rows is None or len(result.rows) >= len(verdict.rows):
        return verdict
    return replace(verdict, rows=result.rows & verdict.rows, index_requests=verdict.index_requests + requests,
                   index_bytes=verdict.index_bytes + size)


def _merged(spec: ScanSpec, group: FileGroup, file: DataFile) -> FileVerdict:
    """A file of a group that is merged: partition columns decide for all its rows, nothing else does."""
    if file.partition:
        left, _, _ = rewrite(spec.where, spec.opaque_schema, spec.types, file.partition, spec.timezone)
        if is_constant(left, NEVER):
            return FileVerdict(file, Decision.SKIP, None, True, _partition_reason(file))
    return FileVerdict(file, Decision.REMAIN, None, False, group.merge)


def _partition_reason(file: DataFile) -> str:
    return "partition " + ", ".join(f"{k}={v}" for k, v in file.partition.items()) + " does not match"


def _evaluate(spec: ScanSpec, file: DataFile) -> FileVerdict:
    question = spec.question(file)
    predicate, reasons = question.predicate, question.reasons
    if is_constant(predicate, NEVER):
        return FileVerdict(file, Decision.SKIP, None, True, _constant_reason(spec, file))
    deleted = None
    if file.deletion is not None:
        deleted = read_deletion_vector(spec.table.file_io, file.deletion, file.row_count)
    if file.row_count > MAX_ROWS:
        return FileVerdict(file, Decision.REMAIN, None, False, f"more than {MAX_ROWS} rows", deleted)
    if is_constant(predicate, ALWAYS):
        rows = BitMap(range(file.row_count))
        if deleted:
            rows -= deleted
        why = "no predicate" if is_constant(spec.where, ALWAYS) else "every row matches"
        return _rows(file, rows, True, why, deleted, 0, 0)
    if file.index is None and file.index_error is None:
        return FileVerdict(file, Decision.REMAIN, None, False, "; ".join(("no index", *reasons)), deleted)
    try:
        with opened_index(spec.table.file_io, file, question.types) as index:
            result = index.evaluate(question.bound, row_count=file.row_count, deleted=deleted)
            stats, indexed = index.stats, index.columns
    except (FileIndexError, OSError, ValueError) as error:
        return _unusable(spec, file, error, deleted)
    return _verdict(file, predicate, result, reasons, deleted, indexed, stats.requests, stats.bytes_read)


def _verdict(file, predicate, result, reasons, deleted, indexed, requests, size) -> FileVerdict:
    names = sorted({c.index_name for c in predicate.columns()})
    used = [f"{name}: {'/'.join(indexed[name])}" for name in names if name in indexed]
    without = [name for name in names if name not in indexed and not name.startswith("\0")]
    why = [f"index on {', '.join(used)}"] if used else []
    why += [f"no index on {', '.join(without)}"] if without else []
    if result.decision is Decision.ROWS:
        why += [] if result.exact else ["to be filtered"]
        return _rows(file, result.rows, result.exact, "; ".join((*why, *reasons)), deleted, requests, size)
    decided = result.decision is Decision.SKIP
    why.append("no row matches" if decided else "every row may match")
    return FileVerdict(file, result.decision, None, decided, "; ".join((*why, *reasons)), deleted, requests, size)


def _rows(file, rows, exact, reason, deleted, requests, size) -> FileVerdict:
    """ROWS, or SKIP when the deletion vector left none."""
    if rows:
        return FileVerdict(file, Decision.ROWS, rows, exact, reason, deleted, requests, size)
    return FileVerdict(file, Decision.SKIP, None, True, f"{reason}: no row is left", deleted, requests, size)


def _unusable(spec, file, error, deleted) -> FileVerdict:
    if spec.on_index_error == "raise":
        if isinstance(error, FileIndexError) and error.path is None:
            error.path = file.path if file.index.embedded is not None else file.index.path
        raise error
    text = str(error)
    if file.name not in text:
        text = f"index of {file.path}: {text}"
    if spec.on_index_error == "warn":
        warnings.warn(f"{text}; the data file is read in full", stacklevel=2)
    return FileVerdict(file, Decision.REMAIN, None, False, f"unusable index: {text}", deleted)


def _constant_reason(spec, file) -> str:
    schema = spec.file_schema(file.schema_id, file.write_cols)
    names = [c.name for c in spec.where.columns()]
    if any(name in file.partition for name in names):
        return _partition_reason(file)
    lacking = sorted({n for n in names if schema.column(n).name is None})
    if lacking:
        return "this file lacks " + ", ".join(lacking) + ": NULL in every row"
    return "no row can match"
