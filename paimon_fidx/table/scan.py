"""Scans: one question to one snapshot of a table, answered once each for plan, verdicts and rows.

    scan.splits()        what is planned: one Split per data file, or per files that are read together
    scan.files           what the indexes say of each file
    scan.to_arrow()      the rows; scan.count() how many
"""
from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pypaimon.snapshot.time_travel_util import SCAN_KEYS

from ..predicate import ALWAYS, Predicate
from ..result import Decision
from .ahead import chain_ahead, map_ahead
from .evolve import is_constant
from .explain import render
from .files import FileGroup
from .formats import ReadMeter
from .locate import local_path
from .plan import plan_files
from .pushdown import to_pypaimon
from .read import count_group, read_group
from .spec import ScanSpec
from .topn import top_rows
from .verdict import FileVerdict, evaluate_group

__all__ = ["Scan", "ScanStats", "Split"]

MAX_THREADS = 16


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
        return list(map_ahead(Split.evaluate, self._splits, 1 if few else self._threads))

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
            work = [(split.group, verdicts) for split, verdicts in self._work()]
            rows = top_rows(self._spec, work, self._top_n, self._threads, self._meter)
            return iter(rows.slice(0, self._limit).to_batches())
        return self._limited(self._all_batches())

    def count(self) -> int:
        """How many rows match (at most ``limit`` or top_n's k); data is read only where the index is not exact."""
        total = 0
        bound = min((n for n in (self._limit, self._top_n and self._top_n.k) if n is not None), default=None)
        for number, meter in map_ahead(_count_one, self._work(), self._threads):
            total += number
            self._meter.add(meter)
        return total if bound is None else min(total, bound)

    def __arrow_c_stream__(self, requested_schema=None):
        reader = pa.RecordBatchReader.from_batches(self.schema, self.to_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _work(self):
        """The splits of which something is to be read, with their verdicts."""
        return [
            (s, v) for s, v in zip(self._splits, self._verdicts) if any(f.decision is not Decision.SKIP for f in v)
        ]

    def _all_batches(self):
        if self._limit is not None:  # the first files may do: none is read ahead
            for split, verdicts in self._work():
                yield from split.to_batches(verdicts, self._meter)
            return
        lock = threading.Lock()

        def read(item):
            meter = ReadMeter()
            yield from item[0].to_batches(item[1], meter)
            with lock:
                self._meter.add(meter)

        yield from chain_ahead(read, self._work(), self._threads)

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


def _count_one(work) -> tuple[int, ReadMeter]:
    split, verdicts = work
    meter = ReadMeter()
    return split.count(verdicts, meter), meter


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
