"""Indexes for data files that exist: decide, build, place, and commit once.

No data file is touched. A new index file gets a name that nobody else has (``<data file>-<uuid>.index``), so that
whoever loses a race removes nothing but its own; what it replaces stays until it is nobody's (see verify.py).
"""
from __future__ import annotations

import os
import threading
import uuid
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

from pypaimon.table.file_store_table import FileStoreTable

from ..build import IndexWriter
from ..core.container import Writer as ContainerWriter
from ..errors import FileIndexError
from ..predicate import ALWAYS
from .ahead import map_ahead
from .commit import CommitUnknown, exchange
from .entries import identity, read_snapshot
from .evolve import FileSchema, is_constant
from .evolve import rewrite as rewrite_predicate
from .explain import partition_text, table_text
from .files import DataFile
from .locate import opened_index
from .plan import data_file, is_dedicated
from .spec import ScanSpec
from .stored import NotReadable, file_batches
from .wanted import Wanted, table_options

__all__ = ["FileRewrite", "RewriteResult", "Run", "chosen_entries", "latest_table", "rewrite_index"]

POSTPONED = -2  # the bucket of rows that Paimon's postpone mode has not distributed yet
MAX_THREADS = 4  # each holds the indexed columns of one data file
HEADS = ("file", "partition", "rows", "action", "bytes", "place", "indexes", "why")


@dataclass(frozen=True, slots=True)
class FileRewrite:
    """What a run did (or would do) with one data file.

    action : "build" | "drop" | "keep" | "skip"    skip: it should have an index and cannot; ``reason`` says why
    indexes : tuple of str     "bitmap on status", of the index it has afterwards
    index_bytes : int          of a new index; embedded : bool; index_path : str | None, where it was written
    """

    path: str
    partition: dict
    row_count: int
    action: str
    reason: str
    indexes: tuple = ()
    index_bytes: int = 0
    embedded: bool = False
    index_path: str | None = None


@dataclass(frozen=True, slots=True)
class RewriteResult:
    """snapshot_id : int | None    the snapshot that was committed; None: nothing had to be, or a dry run
    files : tuple of FileRewrite, in manifest order; ``str()`` of it is a report
    """

    table_path: str
    snapshot_id: int | None
    files: tuple
    dry_run: bool

    def of(self, action: str) -> tuple:
        """The files with one action."""
        return tuple(f for f in self.files if f.action == action)

    @property
    def index_bytes(self) -> int:
        return sum(f.index_bytes for f in self.files)

    def __str__(self):
        rows = [
            (f.path.rsplit("/", 1)[-1], partition_text(f.partition), str(f.row_count), f.action,
             str(f.index_bytes) if f.index_bytes else "",
             "" if not f.index_bytes else "embedded" if f.embedded else "file", ", ".join(f.indexes), f.reason)
            for f in self.files
        ]
        done = "dry run, nothing written" if self.dry_run else \
            "nothing to commit" if self.snapshot_id is None else f"committed snapshot {self.snapshot_id}"
        counts = ", ".join(f"{len(self.of(a))} {words}" for a, words in
                           (("build", "built"), ("drop", "dropped"), ("keep", "up to date"), ("skip", "skipped")))
        foot = f"{self.table_path}: {len(self.files)} files, {counts}; {self.index_bytes} bytes of index; {done}"
        return "\n".join((table_text(HEADS, rows, ("file", "action")), foot)) if rows else foot


def rewrite_index(table, options=None, where=ALWAYS, dry_run=False, threads=None, progress=None, timezone="UTC"):
    """See Table.rewrite_index. table : pypaimon FileStoreTable; where : predicate on partition columns."""
    table = latest_table(table)
    options = table_options(table, options)
    base = read_snapshot(table)
    run = Run(table, options, base, dry_run)
    threads = min(MAX_THREADS, os.cpu_count() or 1) if threads is None else max(1, threads)
    entries = chosen_entries(table, base, where, timezone)
    shared = _shared_row_ids(table, base)
    done = []
    try:
        with _progress(entries, progress) as advance:
            for outcome in map_ahead(lambda entry: run.one(entry, shared), entries, threads):
                done.append(outcome)
                advance(outcome[0])
        pairs = [(entry, new) for entry, (_, new) in zip(entries, done) if new is not None]
        snapshot_id = exchange(table, base, pairs) if pairs and not dry_run else None
    except CommitUnknown:
        raise
    except BaseException:
        run.clean_up()
        raise
    return RewriteResult(table.table_path, snapshot_id, tuple(outcome for outcome, _ in done), dry_run)


def latest_table(table):
    """The table with its latest schema, which a commit must not take back."""
    latest = table.schema_manager.latest()
    if latest is None or latest.id == table.table_schema.id:
        return table
    return FileStoreTable(table.file_io, table.identifier, table.table_path, latest, table.catalog_environment)


def chosen_entries(table, snapshot, where, timezone="UTC") -> list:
    """The entries of the partitions that ``where``, a predicate on partition columns, chooses.

    Raises ValueError when it names another column.
    """
    if is_constant(where, ALWAYS):
        return list(snapshot.entries)
    for column in where.columns():
        if column.name not in table.partition_keys:
            raise ValueError(f"where chooses partitions: {column.name!r} is no partition column; these are "
                             f"{', '.join(table.partition_keys) or 'none'}")
    types = ScanSpec(table, where, (), {}).types
    opaque = FileSchema.opaque([f.to_dict() for f in table.fields], "not a partition column")
    chosen = {}
    for entry in snapshot.entries:
        key = tuple(entry.partition.values)
        if key not in chosen:
            answer, _, _ = rewrite_predicate(where, opaque, types, entry.partition.to_dict(), timezone)
            chosen[key] = is_constant(answer, ALWAYS)
    return [entry for entry in snapshot.entries if chosen[tuple(entry.partition.values)]]


def _shared_row_ids(table, snapshot) -> frozenset:
    """Names of data-evolution files whose rows are not the table's rows: another file has the same row ids."""
    if not table.options.data_evolution_enabled():
        return frozenset()
    shared, last, end = set(), None, -1
    with_ids = [e.file for e in snapshot.entries if e.file.first_row_id is not None]
    for file in sorted(with_ids, key=lambda f: (f.first_row_id, -f.row_count)):
        if file.first_row_id < end:
            shared |= {last, file.file_name}
        if file.first_row_id + file.row_count > end:
            last, end = file.file_name, file.first_row_id + file.row_count
    return frozenset(shared)


class Run:
    """One run: what is wanted of each schema's files, and the names of the files it has written."""

    def __init__(self, table, options, base, dry_run=False):
        self.table, self.options, self.base, self.dry_run = table, options, base, dry_run
        self.written = []
        self._wanted, self._lock = {}, threading.Lock()

    def clean_up(self) -> None:
        """Removes the index files of this run, which no snapshot knows."""
        for path in self.written:
            self.table.file_io.delete_quietly(path)

    def wanted(self, file: DataFile) -> Wanted:
        key = (file.schema_id, file.write_cols)
        with self._lock:
            if key not in self._wanted:
                same = file.schema_id == self.table.table_schema.id
                schema = self.table.table_schema if same else self.table.schema_manager.get_schema(file.schema_id)
                if schema is None:
                    raise ValueError(f"{file.path}: schema {file.schema_id}, with which it was written, is gone")
                self._wanted[key] = Wanted(self.options, self.table, schema.fields, file.write_cols)
            return self._wanted[key]

    def one(self, entry, shared=frozenset()):
        """(FileRewrite, the new DataFileMeta or None) of one entry. shared : names of files that share row ids."""
        file = data_file(entry.file, entry.bucket, entry.partition)
        wanted = self.wanted(file)
        if is_dedicated(file.name):
            return self._report(file, "keep", "holds one column of other files' rows"), None
        if entry.bucket == POSTPONED:
            return self._report(file, "keep", "waits for its rows to be put into buckets: no reader sees it"), None
        why = self._stale(file, wanted)
        if why is None:
            reason = "; ".join(("up to date" if wanted.options.plans else "no index asked for", *wanted.reasons))
            return self._report(file, "keep", reason, wanted), None
        if not wanted.options.plans:
            blob = None
        elif file.name in shared:
            return self._report(file, "skip", "shares its row ids with another file: a newer one overwrites columns"), \
                None
        else:
            refused = self._refused(entry)
            if refused is not None:
                return self._report(file, "skip", refused), None
            try:
                blob = self._build(entry, file, wanted)
            except NotReadable as error:
                return self._report(file, "skip", str(error)), None
        new = self._place(entry, wanted, blob)
        embedded, size = new.embedded_index is not None, len(blob or new.embedded_index or b"")
        names = [name for name in new.extra_files if name.endswith(".index")]
        report = FileRewrite(file.path, file.partition, file.row_count, "drop" if blob is None else "build",
                             "; ".join((why, *wanted.reasons)), _indexes(wanted), size, embedded,
                             new.aligned_file_path(names[0]) if names and not embedded else None)
        return report, new

    def _report(self, file, action, reason, wanted=None):
        return FileRewrite(file.path, file.partition, file.row_count, action, reason,
                           () if wanted is None else _indexes(wanted))

    def _stale(self, file: DataFile, wanted: Wanted) -> str | None:
        """Why a file's index is not what is wanted; None when it is."""
        if file.index is None and file.index_error is None:
            return "has no index" if wanted.options.plans else None
        try:
            with opened_index(self.table.file_io, file, wanted.types) as index:
                why = wanted.differs(index)
        except (FileIndexError, OSError, ValueError) as error:
            return f"its index is unusable: {error}"
        if why is None and file.index.embedded is not None and not wanted.options.is_embedded(file.index.embedded):
            return "is embedded, and larger than file-index.in-manifest-threshold"
        return why

    def _refused(self, entry) -> str | None:
        """Why committing an entry would change it; None when it would not."""
        if self.base.id is None or not self.table.options.row_tracking_enabled():  # or: it never was committed
            return None
        file = entry.file
        if file.file_source is None or not file.min_sequence_number or not file.max_sequence_number or \
                (file.first_row_id is None and file.file_source == 0):
            return "has no row ids yet: committing it again would assign some"
        return None

    def _build(self, entry, file: DataFile, wanted: Wanted) -> bytes:
        writer = IndexWriter(wanted.types, wanted.options)
        for batch in file_batches(self.table, file, entry.file, entry.partition, wanted.fields, wanted.columns):
            writer.write(batch)
        return writer.finish()

    def _place(self, entry, wanted: Wanted, blob: bytes | None):
        """The entry's file with its new index, embedded or written; ``blob`` None takes the index away.

        An identity that a DELETE names must not come back (see entries.py): then the index is put elsewhere, or, where
        there should be none, an index without columns takes its place.
        """
        others = [name for name in entry.file.extra_files or () if not name.endswith(".index")]
        if blob is None:
            new = replace(entry.file, extra_files=others, embedded_index=None)
            if self._is_new(entry, new):
                return new
            blob = ContainerWriter({}).finish()
        if wanted.options.is_embedded(blob):
            new = replace(entry.file, extra_files=others, embedded_index=blob)
            if self._is_new(entry, new):
                return new
        name = f"{entry.file.file_name}-{uuid.uuid4()}.index"
        new = replace(entry.file, extra_files=[*others, name], embedded_index=None)
        if not self.dry_run:
            path = new.aligned_file_path(name)
            self.written.append(path)  # before it exists: half a file is removed too
            with self.table.file_io.new_output_stream(path) as out:
                out.write(blob)
        return new

    def _is_new(self, entry, file) -> bool:
        key = identity(replace(entry, file=file))
        return key not in self.base.deleted and key != identity(entry)


def _indexes(wanted: Wanted) -> tuple[str, ...]:
    return tuple(f"{kind} on {name}" for name, kinds in wanted.kinds.items() for kind in kinds)


@contextmanager
def _progress(entries, wanted):
    """A function that counts a FileRewrite as done; with a bar on a terminal where rich is installed.

    wanted : bool | None    None: a bar when standard error is a terminal
    """
    bar = None if wanted is False else _bar(wanted)
    with nullcontext() if bar is None else bar:
        if bar is None:
            yield lambda report: None
            return
        task = bar.add_task("indexing", total=sum(e.file.row_count for e in entries))
        yield lambda report: bar.advance(task, report.row_count)


def _bar(wanted):
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        return None
    console = Console(stderr=True)
    return Progress(console=console, transient=console.is_terminal) if wanted or console.is_terminal else None
