"""Tables and scans: the public face of the package's table side.

    open_table(path).scan(where="status = 'PENDING'").to_arrow()

A Table is a pypaimon table; a Scan is one question to one snapshot of it. Planning, evaluating the indexes and reading
happen when their results are first asked for, each once.
"""
from __future__ import annotations

import datetime
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from zoneinfo import ZoneInfo

import pyarrow as pa
from pypaimon.snapshot.time_travel_util import SCAN_KEYS, TimeTravelUtil
from pypaimon.table.file_store_table import FileStoreTable

from ..predicate import ALWAYS, And, Or, Predicate, col
from ..result import Decision
from ..sql import parse_where
from .evolve import is_constant
from .explain import render
from .files import FileGroup
from .formats import ReadMeter
from .locate import local_path
from .plan import plan_files
from .pushdown import to_pypaimon
from .read import count_group, read_group
from .spec import ON_INDEX_ERROR, ScanSpec
from .topn import TopN
from .verdict import FileVerdict, evaluate_group, narrow_to_top

__all__ = ["Scan", "ScanStats", "Split", "Table", "open_table"]

MAX_THREADS = 16


def open_table(source) -> Table:
    """The Paimon table at a path (or a pypaimon table, of any catalog).

    source : str | PathLike | pypaimon FileStoreTable
    Raises ValueError when no table is there, TypeError for anything else.

    >>> open_table("warehouse/db.db/orders").scan(where="status = 'PENDING'").count()  # doctest: +SKIP
    4
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if "://" not in path and not path.startswith("file:"):
            path = os.path.abspath(path)
        try:
            return Table(FileStoreTable.from_path(path))
        except (ValueError, FileNotFoundError) as error:
            raise ValueError(
                f"{path}: no Paimon table is here ({error}); give the table's folder, the one that holds 'schema' "
                "and 'snapshot'"
            ) from error
    if hasattr(source, "table_schema") and hasattr(source, "new_read_builder"):
        return Table(source)
    raise TypeError(f"open_table takes a path or a pypaimon table, not {type(source).__name__}")


class Table:
    """A Paimon table. ``pypaimon`` is pypaimon's own table object."""

    def __init__(self, table):
        self.pypaimon = table

    @property
    def path(self) -> str:
        return self.pypaimon.table_path

    @property
    def schema(self) -> pa.Schema:
        """The current schema in Arrow, as pypaimon gives it."""
        return ScanSpec(self.pypaimon, ALWAYS, (), {}).arrow

    @property
    def types(self) -> dict:
        """Column name -> PaimonType."""
        return ScanSpec(self.pypaimon, ALWAYS, (), {}).types

    def __repr__(self):
        return f"Table({self.path!r})"

    def scan(self, where=None, columns=None, limit=None, top_n=None, snapshot_id=None, tag=None, timestamp=None,
             partitions=None, on_index_error="warn", timezone="UTC", threads=None) -> Scan:
        """A question to one snapshot (by default the latest); nothing is read yet.

        where : None | str | Predicate    a WHERE text (Spark SQL) or a predicate
        columns : None | list of str      the columns of the result, in order; None is all of them
        limit : None | int                at most so many rows, any that match
        top_n : None | TopN | tuple       (column, k) or (column, k, descending): the first k rows in that order
        snapshot_id, tag, timestamp       at most one; timestamp: milliseconds since the epoch, a datetime, or
                                          its ISO text (naive: in ``timezone``): the snapshot of that time
        partitions : None | dict | list of dict   only these partitions, ``{"dt": "20240101"}``; None is NULL
        on_index_error : "warn" | "raise" | "ignore"   an unusable index: read the file in full, or fail
        timezone : str                    of naive timestamps compared with TIMESTAMP WITH LOCAL TIME ZONE
        threads : None | int              how many files are evaluated and read at once

        Raises ValueError for an unknown column, TypeError for a literal that its column cannot be compared with;
        both name the column.
        """
        if on_index_error not in ON_INDEX_ERROR:
            raise ValueError(f"on_index_error is one of {', '.join(ON_INDEX_ERROR)}, not {on_index_error!r}")
        if limit is not None and (not isinstance(limit, int) or limit < 0):
            raise ValueError(f"limit is a number of rows, not {limit!r}")
        table = _travel(self.pypaimon, snapshot_id, tag, timestamp, timezone)
        names = table.field_names
        where = _predicate(where)
        chosen = _partition_predicate(partitions, table.partition_keys)
        if chosen is not None:
            where = chosen if is_constant(where, ALWAYS) else where & chosen
        for column in where.columns():
            _check_column(column.name, names, "where")
        columns = tuple(names) if columns is None else _check_columns(columns, names)
        if top_n is not None:
            top_n = TopN.of(top_n)
            _check_column(top_n.column, names, "top_n")
        spec = ScanSpec(table, where, columns, {}, on_index_error, timezone)
        _ = spec.residual  # binds every literal to its column: errors now, not in the middle of a read
        return Scan(spec, limit, top_n, threads)


@dataclass(frozen=True)
class Split:
    """One data file, or files that are read together, with all that is needed to evaluate and read it elsewhere.

    Picklable: made on a driver, used in an executor. ``meter`` of to_batches counts what was read.
    """

    spec: ScanSpec
    group: FileGroup

    @property
    def row_count(self) -> int:
        return self.group.row_count

    @property
    def size(self) -> int:
        """Bytes of its data files."""
        return self.group.size

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(f.path for f in self.group.files)

    def evaluate(self) -> tuple[FileVerdict, ...]:
        """The verdicts on its files; reads indexes and deletion vectors only."""
        return evaluate_group(self.spec, self.group)

    def to_batches(self, verdicts=None, meter=None, columns=None):
        """Its matching rows as RecordBatches of the scan's schema.

        verdicts : from evaluate(), else evaluated now; meter : a ReadMeter to count in; columns : others than the
        scan's own
        """
        verdicts = self.evaluate() if verdicts is None else verdicts
        return read_group(self.spec, self.group, verdicts, ReadMeter() if meter is None else meter, columns)

    def count(self, verdicts=None, meter=None) -> int:
        """How many rows match; reads data only where the index is not exact."""
        verdicts = self.evaluate() if verdicts is None else verdicts
        return count_group(self.spec, self.group, verdicts, ReadMeter() if meter is None else meter)


@dataclass(frozen=True, slots=True)
class ScanStats:
    """What a scan cost so far, and what a full scan of the snapshot costs.

    files_total, rows_total, data_bytes_total : the whole snapshot
    files_planned : files that pypaimon's partition, bucket and statistics pruning left
    files_skipped : files not read: pruned by pypaimon, or by their index
    rows_selected : rows to be read of the others
    index_requests, index_bytes : reads of index files; data_bytes : of column chunks; rows_decoded : rows read
    row_groups_read, row_groups_seen : of the files that were opened
    """

    files_total: int
    files_planned: int
    files_skipped: int
    rows_total: int
    rows_selected: int
    data_bytes_total: int
    index_requests: int
    index_bytes: int
    data_bytes: int
    rows_decoded: int
    row_groups_read: int
    row_groups_seen: int


class Scan:
    """One question to one snapshot.

    files : list of FileVerdict; splits() ; schema, types ; to_arrow(), to_batches(), count() ; explain() ; stats
    """

    def __init__(self, spec: ScanSpec, limit=None, top_n=None, threads=None):
        self._spec = spec
        self._limit = limit
        self._top_n = top_n
        self._threads = min(MAX_THREADS, os.cpu_count() or 1) if threads is None else max(1, threads)
        self._meter = ReadMeter()

    # ------------------------------------------------------------------ what it is about

    @property
    def where(self) -> Predicate | None:
        """The predicate, ``partitions`` included; None when every row is asked for."""
        return None if is_constant(self._spec.where, ALWAYS) else self._spec.where

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return self._spec.schema

    @property
    def types(self) -> dict:
        """{column of the result: PaimonType}"""
        return {name: self._spec.types[name] for name in self._spec.columns}

    @property
    def snapshot_id(self) -> int | None:
        return self._plan.snapshot_id

    @property
    def path(self) -> str:
        return self._spec.table.table_path

    # ------------------------------------------------------------------ plan and verdicts

    @cached_property
    def _pushed(self):
        """The part of the predicate that pypaimon's planner takes."""
        if self.where is None:
            return None
        return to_pypaimon(self._spec.where, _pushable(self._spec))

    @cached_property
    def _plan(self):
        plan = plan_files(self._spec.table, self._pushed)
        table = self._spec.table
        wanted = {f.schema_id for group in plan.groups for f in group.files}
        for schema_id in sorted(wanted - set(self._spec.schemas)):
            schema = table.table_schema if schema_id == table.table_schema.id else \
                table.schema_manager.get_schema(schema_id)
            if schema is None:
                raise ValueError(f"{table.table_path}: schema {schema_id}, with which data files were written, is gone")
            self._spec.schemas[schema_id] = [f.to_dict() for f in schema.fields]
        return plan

    @cached_property
    def _whole(self):
        """The plan of the whole snapshot, for comparison."""
        if self._pushed is None or self._plan.snapshot_id is None:
            return self._plan
        pinned = self._spec.table.copy_without_time_travel(dict.fromkeys(SCAN_KEYS) | {
            "scan.snapshot-id": str(self._plan.snapshot_id)})
        try:
            return plan_files(pinned)
        except (ValueError, FileNotFoundError):  # a tag outlives its snapshot
            return plan_files(self._spec.table)

    @cached_property
    def _splits(self) -> list[Split]:
        return [Split(self._spec, group) for group in self._plan.groups]

    def splits(self) -> list[Split]:
        """One Split per data file (or files that are read together); indexes are not read yet."""
        return list(self._splits)

    @cached_property
    def _verdicts(self) -> list[tuple[FileVerdict, ...]]:
        # an index on a local disk is read faster than a thread is started
        few = local_path(self._spec.table.file_io, self.path) is not None and len(self._splits) < 32
        return [split.evaluate() for split in self._splits] if few else list(self._each(Split.evaluate, self._splits))

    @property
    def files(self) -> list[FileVerdict]:
        """What is to be read of each planned file, and why."""
        return [v for verdicts in self._verdicts for v in verdicts]

    def explain(self) -> str:
        """The verdicts as a table of text."""
        return render(self)

    @property
    def stats(self) -> ScanStats:
        """Counters up to now; evaluates the indexes, reads no data."""
        files = self.files
        whole = [f for group in self._whole.groups for f in group.files]
        skipped = sum(v.decision is Decision.SKIP for v in files)
        return ScanStats(
            files_total=len(whole),
            files_planned=len(files),
            files_skipped=len(whole) - len(files) + skipped,
            rows_total=sum(f.row_count for f in whole),
            rows_selected=sum(v.candidates for v in files),
            data_bytes_total=sum(f.size for f in whole),
            index_requests=sum(v.index_requests for v in files),
            index_bytes=sum(v.index_bytes for v in files),
            data_bytes=self._meter.data_bytes,
            rows_decoded=self._meter.rows_decoded,
            row_groups_read=self._meter.groups_read,
            row_groups_seen=self._meter.groups_total,
        )

    # ------------------------------------------------------------------ answers

    def to_arrow(self) -> pa.Table:
        """The matching rows as one Arrow table, with the table's current column types."""
        return pa.Table.from_batches(self.to_batches(), self.schema)

    def to_batches(self):
        """The matching rows as an iterator of RecordBatches, file after file."""
        if self._top_n is not None:
            return iter(self._top_rows().to_batches())
        return self._limited(self._all_batches())

    def count(self) -> int:
        """How many rows match (at most ``limit`` or top_n's k); data is read only where the index is not exact."""
        work = [(s, v) for s, v in zip(self._splits, self._verdicts)]
        total = 0
        bound = min((n for n in (self._limit, self._top_n and self._top_n.k) if n is not None), default=None)
        for number, meter in self._each(_count_one, work):
            total += number
            self._meter.add(meter)
        return total if bound is None else min(total, bound)

    def __arrow_c_stream__(self, requested_schema=None):
        reader = pa.RecordBatchReader.from_batches(self.schema, self.to_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _all_batches(self, columns=None):
        work = [
            (s, v) for s, v in zip(self._splits, self._verdicts) if any(f.decision is not Decision.SKIP for f in v)
        ]
        if self._limit is not None and self._top_n is None:  # the first files may do: none is read ahead
            for split, verdicts in work:
                yield from split.to_batches(verdicts, self._meter, columns)
            return
        top, spec = self._top_n, self._spec

        def read(item):
            split, verdicts = item
            if top is not None and split.group.merge is None:
                verdicts = tuple(narrow_to_top(spec, v, top) for v in verdicts)
            return _read_one(split, verdicts, columns)

        for batches, meter in self._each(read, work):
            self._meter.add(meter)
            yield from batches

    def _limited(self, batches):
        left = self._limit
        if left is None:
            yield from batches
            return
        for batch in batches if left else ():
            yield batch.slice(0, left)
            left -= batch.num_rows
            if left <= 0:
                return

    def _top_rows(self) -> pa.Table:
        """The first k rows of the order asked for, over all files."""
        columns = self._spec.columns
        extended = columns if self._top_n.column in columns else (*columns, self._top_n.column)
        schema = pa.schema([self._spec.arrow.field(name) for name in extended])
        best = pa.Table.from_batches([], schema)
        for batch in self._all_batches(extended):
            best = self._top_n.take(pa.concat_tables([best, pa.Table.from_batches([batch], schema)]))
        best = best.select(list(columns))
        return best if self._limit is None else best.slice(0, self._limit)

    def _each(self, work, items):
        """``work`` of each item, in order, on several threads; never more than a few results ahead."""
        if self._threads == 1 or len(items) < 2:
            yield from map(work, items)
            return
        with ThreadPoolExecutor(min(self._threads, len(items))) as pool:
            pending, rest = deque(), iter(items)
            try:
                for item in rest:
                    pending.append(pool.submit(work, item))
                    if len(pending) > 2 * self._threads:
                        yield pending.popleft().result()
                while pending:
                    yield pending.popleft().result()
            finally:
                for future in pending:
                    future.cancel()


def _count_one(work) -> tuple[int, ReadMeter]:
    split, verdicts = work
    meter = ReadMeter()
    return split.count(verdicts, meter), meter


def _read_one(split, verdicts, columns) -> tuple[list, ReadMeter]:
    meter = ReadMeter()
    return list(split.to_batches(verdicts, meter, columns)), meter


def _pushable(spec: ScanSpec) -> dict:
    """Columns that pypaimon may prune by: partition columns, and those whose type never changed."""
    table = spec.table
    older = [s for s in table.schema_manager.list_all() if s.id != table.table_schema.id] \
        if table.table_schema.id > 0 else []
    types = {f.id: {str(f.type)} for f in table.fields}
    for schema in older:
        for field in schema.fields:
            types.setdefault(field.id, set()).add(str(field.type))
    return {
        f.name: (i, spec.types[f.name])
        for i, f in enumerate(table.fields)
        if f.name in table.partition_keys or (len(types[f.id]) == 1 and f.id not in spec.defaulted)
    }


def _predicate(where) -> Predicate:
    if where is None:
        return ALWAYS
    if isinstance(where, str):
        return parse_where(where)
    if isinstance(where, Predicate):
        return where
    raise TypeError(f"where is a WHERE text or a predicate, not {type(where).__name__}")


def _check_columns(columns, names) -> tuple:
    if isinstance(columns, str):
        raise TypeError(f"columns is a list of names, not the text {columns!r}")
    columns = tuple(columns)
    for name in columns:
        _check_column(name, names, "columns")
    if len(set(columns)) != len(columns) or not columns:
        raise ValueError(f"columns names each column once, and at least one: {', '.join(columns) or 'none given'}")
    return columns


def _check_column(name, names, where: str) -> None:
    if name not in names:
        raise ValueError(f"{where}: the table has no column {name!r}; it has {', '.join(names)}")


def _partition_predicate(partitions, keys):
    """The partitions asked for, as a predicate on their columns."""
    if partitions is None:
        return None
    wanted = [partitions] if isinstance(partitions, dict) else list(partitions)
    choices = []
    for spec in wanted:
        for name in spec:
            if name not in keys:
                raise ValueError(
                    f"partitions: {name!r} is no partition column; these are {', '.join(keys) or 'none'}")
        choices.append(And([col(n).is_null() if v is None else col(n) == v for n, v in spec.items()]))
    return choices[0] if len(choices) == 1 else Or(choices)


def _travel(table, snapshot_id, tag, timestamp, timezone):
    """The table at the snapshot asked for."""
    given = {"snapshot_id": snapshot_id, "tag": tag, "timestamp": timestamp}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ValueError(f"give one of {' and '.join(named)}")
    options = {"global-index.enabled": "false"}  # its own row ranges would take the place of whole files
    if snapshot_id is not None:
        options["scan.snapshot-id"] = str(int(snapshot_id))
    elif tag is not None:
        options["scan.tag-name"] = str(tag)
    elif timestamp is not None:
        options["scan.timestamp-millis"] = str(_millis(timestamp, timezone))
    if not named:
        return table.copy(options)
    try:
        table = table.copy(options)
        TimeTravelUtil.resolve_snapshot(table)  # does it exist? said now, not when files are planned
    except (ValueError, FileNotFoundError) as error:
        raise ValueError(f"{table.table_path}: {named[0]}={given[named[0]]!r}: {error}") from error
    return table


def _millis(timestamp, timezone: str) -> int:
    if isinstance(timestamp, int):
        return timestamp
    if isinstance(timestamp, str):
        timestamp = datetime.datetime.fromisoformat(timestamp)
    if not isinstance(timestamp, datetime.datetime):
        raise TypeError(f"timestamp is milliseconds, a datetime or its ISO text, not {type(timestamp).__name__}")
    if timestamp.tzinfo is None:
        timestamp = timestamp.replace(tzinfo=ZoneInfo(timezone))
    since = timestamp - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return since // datetime.timedelta(milliseconds=1)
