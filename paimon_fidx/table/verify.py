"""Is every index of a table there, sound, and about the rows of its data file? And whose are the other index files?"""
from __future__ import annotations

import datetime
import os
from dataclasses import dataclass

from ..build import IndexWriter
from ..errors import FileIndexError
from ..options import IndexOptions
from ..predicate import ALWAYS
from .agree import disagreements, plans_of
from .ahead import map_ahead
from .entries import read_snapshot
from .explain import partition_text, table_text
from .locate import opened_index, read_index
from .plan import data_file
from .rewrite import MAX_THREADS, chosen_entries, latest_table
from .stored import NotReadable, file_batches
from .wanted import Wanted, table_options

__all__ = ["FileCheck", "VerifyResult", "verify_index"]

BAD = ("missing", "corrupt", "stale")
HEADS = ("file", "partition", "rows", "status", "index", "detail")


@dataclass(frozen=True, slots=True)
class FileCheck:
    """What was found of one data file's index.

    status : "ok"        it agrees with the file, row by row
             "none"      the file has no index
             "missing"   the index file is gone
             "corrupt"   its bytes are damaged, or the file lists several
             "stale"     it disagrees with the rows of the file
             "unread"    the data file's rows could not be had one by one; the index itself opens
    detail : what is wrong; for "ok" and "none" in which way it is not what the table's options ask for
    """

    path: str
    partition: dict
    row_count: int
    status: str
    index: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """files : tuple of FileCheck; orphans : tuple of Orphan; removed : tuple of those orphans that were removed"""

    table_path: str
    snapshot_id: int | None
    files: tuple
    orphans: tuple
    removed: tuple

    @property
    def ok(self) -> bool:
        """No index is missing, corrupt or stale. Orphans harm nobody."""
        return not any(f.status in BAD for f in self.files)

    def __str__(self):
        rows = [(f.path.rsplit("/", 1)[-1], partition_text(f.partition), str(f.row_count), f.status,
                 (f.index or "").rsplit("/", 1)[-1], f.detail) for f in self.files]
        lines = [table_text(HEADS, rows, ("file", "status"))] if rows else []
        gone = set(self.removed)
        lines += [f"orphan: {o.path}, {o.size} bytes{', removed' if o in gone else ''}" for o in self.orphans]
        counts = ", ".join(f"{sum(f.status == s for f in self.files)} {s}" for s in ("ok", "none", *BAD, "unread"))
        lines.append(f"{self.table_path}, snapshot {self.snapshot_id}: {len(self.files)} files, {counts}; "
                     f"{len(self.orphans)} orphans, {len(self.removed)} removed")
        return "\n".join(lines)


def verify_index(table, where=ALWAYS, remove=False, min_age=None, threads=None, timezone="UTC") -> VerifyResult:
    """See Table.verify_index. table : pypaimon FileStoreTable."""
    from .orphans import DEFAULT_AGE, find_orphans, remove_orphans
    min_age = DEFAULT_AGE if min_age is None else min_age
    if not isinstance(min_age, datetime.timedelta):
        raise TypeError(f"min_age is a datetime.timedelta, not {type(min_age).__name__}")
    table = latest_table(table)
    try:
        options = table_options(table)
    except ValueError:  # options that no index can be built by: every index is as good as another then
        options = IndexOptions()
    snapshot = read_snapshot(table)
    entries = chosen_entries(table, snapshot, where, timezone)
    threads = min(MAX_THREADS, os.cpu_count() or 1) if threads is None else max(1, threads)
    schemas = {table.table_schema.id: table.table_schema}
    for schema_id in {e.file.schema_id for e in entries} - set(schemas):
        schemas[schema_id] = table.schema_manager.get_schema(schema_id)
    checks = tuple(map_ahead(lambda e: _check(table, options, schemas[e.file.schema_id], e), entries, threads))
    orphans = find_orphans(table)
    removed = remove_orphans(table, orphans, min_age) if remove else ()
    return VerifyResult(table.table_path, snapshot.id, checks, tuple(orphans), tuple(removed))


def _check(table, options, schema, entry) -> FileCheck:
    file = data_file(entry.file, entry.bucket, entry.partition)
    wanted = Wanted(options, table, schema.fields, file.write_cols)
    location = None if file.index is None else file.index.location

    def found(status, detail=""):
        return FileCheck(file.path, file.partition, file.row_count, status, location, detail)

    if file.index is None and file.index_error is None:
        return found("none", "the options ask for one" if wanted.options.plans else "")
    try:
        blob = read_index(table.file_io, file)
        with opened_index(table.file_io, file, wanted.types) as index:
            plans, problems = plans_of(index, wanted.types, wanted.options)
            differs = wanted.differs(index) if wanted.options.plans else None
        if plans:
            writer = IndexWriter(wanted.types, IndexOptions(tuple(plans.values())))
            columns = tuple(dict.fromkeys(plan.column for plan in plans.values()))
            for batch in file_batches(table, file, entry.file, entry.partition, schema.fields, columns):
                writer.write(batch)
            problems += disagreements(blob, writer.finish(), wanted.types)
    except NotReadable as error:
        return found("unread", str(error))
    except FileIndexError as error:
        if error.path == file.path:  # the data file is what is damaged
            raise
        return found("corrupt", str(error))
    except FileNotFoundError as error:
        if location is not None and location in str(error):
            return found("missing", "the index file does not exist")
        raise
    except ValueError as error:
        if file.index_error is None:
            raise
        return found("corrupt", str(error))
    if problems:
        return found("stale", "; ".join(problems))
    return found("ok", differs or "")
