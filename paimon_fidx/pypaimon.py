"""File indexes for pypaimon's own reading and writing, one line each.

    import paimon_fidx.pypaimon as fp
    builder = table.new_read_builder().with_filter(predicate)
    splits = fp.prune(table, builder.new_scan().plan().splits(), predicate)      # fewer splits, fewer rows in them
    builder.new_read().to_arrow(splits)          # or, through pypaimon_rust: fp.read_native(table, splits)

    messages = fp.with_indexes(table, write.prepare_commit())                     # between writing and committing
    commit.commit(messages)

Nothing of pypaimon is patched: what comes out are its own DataSplits and IndexedSplits, and its CommitMessages.
"""
from __future__ import annotations

import dataclasses
import logging
import math
import os
import warnings

import pyarrow as pa
from pypaimon.common.json_util import JSON
from pypaimon.common.predicate import Predicate as PaimonPredicate
from pypaimon.filesystem.local_file_io import LocalFileIO
from pypaimon.globalindex.indexed_split import IndexedSplit
from pypaimon.manifest.schema.manifest_entry import ManifestEntry
from pypaimon.read.split import DataSplit
from pypaimon.read.split_serializer import serialize_split_v1
from pypaimon.schema.data_types import PyarrowFieldParser
from pypaimon.table.row.generic_row import GenericRow
from pypaimon.utils.file_store_path_factory import canonical_data_file_path
from pypaimon.utils.range import Range

from .predicate import ALWAYS, And, Leaf, Or, Predicate, col
from .result import Decision
from .table.ahead import map_ahead
from .table.entries import ADD, Snapshot
from .table.plan import is_dedicated, split_groups
from .table.rewrite import Run
from .table.spec import ScanSpec
from .table.verdict import evaluate_group
from .table.wanted import table_options

__all__ = ["from_pypaimon", "prune", "read_native", "with_indexes"]

logger = logging.getLogger(__name__)

MAX_THREADS = 16
MAX_RANGES = 4096  # of one file; rows scattered over more are read as the whole file
OPS = {
    "equal": "=", "notEqual": "!=", "lessThan": "<", "lessOrEqual": "<=", "greaterThan": ">", "greaterOrEqual": ">=",
    "in": "in", "notIn": "not_in", "between": "between", "isNull": "is_null", "isNotNull": "is_not_null",
    "startsWith": "starts_with", "endsWith": "ends_with", "contains": "contains",
}
NEGATIVE = ("!=", "not_in")


def prune(table, splits, predicate, on_index_error="warn", timezone="UTC", threads=None) -> list:
    """The splits that can hold matching rows, and of their files the row ranges that can.

    table : pypaimon FileStoreTable that planned the splits
    splits : list of its splits
    predicate : str (a WHERE text) | predicate of paimon_fidx | pypaimon Predicate
    on_index_error : "warn" | "raise" | "ignore"   an unusable index: keep the file, or fail

    Returns DataSplits (files left out) and IndexedSplits (row ranges too), which every output of pypaimon's TableRead
    reads. They hold every matching row, others too where an index is not exact: keep the reader's own filter. Splits
    whose files are merged while reading are returned as they are. Warns when the table's options ask for indexes that
    no file has.

    Raises ValueError, TypeError (a predicate that does not fit the table), FileIndexError, FileNotFoundError
    (``on_index_error="raise"``).
    """
    where = _where(table, predicate, timezone)
    spec = ScanSpec(table, where, (), {}, on_index_error, timezone)
    _ = spec.residual  # binds every literal to its column: errors now
    splits = list(splits)
    prunable = [s for s in splits if _is_prunable(table, s)]
    for schema_id in {f.schema_id for s in prunable for f in s.files}:
        same = schema_id == table.table_schema.id
        schema = table.table_schema if same else table.schema_manager.get_schema(schema_id)
        spec.schemas[schema_id] = [f.to_dict() for f in schema.fields]
    _warn_without_indexes(table, [f for s in prunable for f in s.files])
    threads = min(MAX_THREADS, os.cpu_count() or 1) if threads is None else max(1, threads)
    pruned = dict(zip(map(id, prunable), map_ahead(lambda s: _prune_split(spec, s), prunable, threads)))
    return [new for new in (pruned.get(id(s), s) for s in splits) if new is not None]


def _is_prunable(table, split) -> bool:
    return type(split) is DataSplit and split.raw_convertible and not table.options.data_evolution_enabled() and \
        not (table.options.row_tracking_enabled() and any(f.first_row_id is None for f in split.files))


def _prune_split(spec, split):
    """The split without what the indexes rule out; None when nothing is left."""
    verdicts = [evaluate_group(spec, group)[0] for group in split_groups(split)]
    kept = [v for v in verdicts if v.decision is not Decision.SKIP]
    if not kept:
        return None
    if len(kept) < len(verdicts):
        names = {v.file.name for v in kept}
        split = split.filter_file(lambda f: f.file_name in names)
    tracked = spec.table.options.row_tracking_enabled()
    ranges, position, narrowed = [], 0, False
    for verdict in kept:
        start = verdict.file.first_row_id if tracked else position
        runs = _runs(verdict)
        narrowed |= runs is not None
        ranges += [Range(start + a, start + b) for a, b in runs or [(0, verdict.row_count - 1)]]
        position += verdict.row_count
    return IndexedSplit(split, ranges) if narrowed else split


def _runs(verdict) -> list | None:
    """The runs of selected rows, both ends included; None for all rows of the file."""
    if verdict.rows is None or len(verdict.rows) == verdict.row_count:
        return None
    runs = []
    for row in verdict.rows:
        if runs and row == runs[-1][1] + 1:
            runs[-1][1] = row
        elif len(runs) == MAX_RANGES:
            return None
        else:
            runs.append([row, row])
    return runs


def _where(table, predicate, timezone) -> Predicate:
    if isinstance(predicate, PaimonPredicate):
        return from_pypaimon(predicate, table, timezone)
    if isinstance(predicate, str):
        from .sql import parse_where
        predicate = parse_where(predicate)
    if not isinstance(predicate, Predicate):
        raise TypeError("a predicate is a WHERE text, one of paimon_fidx or one of pypaimon, not "
                        f"{type(predicate).__name__}")
    for column in predicate.columns():
        if column.name not in table.field_names:
            raise ValueError(f"the table has no column {column.name!r}; it has {', '.join(table.field_names)}")
    return predicate


def from_pypaimon(predicate: PaimonPredicate, table, timezone="UTC") -> Predicate:
    """A predicate that is true for every row for which pypaimon's is: for pruning.

    What pypaimon compares in another way than Spark SQL becomes "every row": a method that is not known here, a literal
    that its column is not compared with, NaN in a negation.
    """
    if predicate.method in ("and", "or"):
        parts = [from_pypaimon(child, table, timezone) for child in predicate.literals]
        if predicate.method == "and":
            kept = [p for p in parts if p is not ALWAYS]
            return And(kept) if kept else ALWAYS
        return ALWAYS if any(p is ALWAYS for p in parts) else Or(parts)
    op = OPS.get(predicate.method)
    literals = tuple(predicate.literals or ())
    if op is None or predicate.field not in table.field_names:
        return ALWAYS
    if op in NEGATIVE and any(isinstance(v, float) and math.isnan(v) for v in literals):
        return ALWAYS
    try:
        leaf = Leaf(col(predicate.field), op, literals)
        _ = ScanSpec(table, leaf, (), {}, timezone=timezone).residual
    except (TypeError, ValueError):
        return ALWAYS
    return leaf


def read_native(table, splits, columns=None) -> pa.Table:
    """The rows of splits through pypaimon_rust's reader (extra ``native``), many times faster for few rows.

    table : pypaimon FileStoreTable; splits : of its plan, or from prune(); columns : list of str | None for all
    What that reader cannot read (another file system than the local one, a split or a file it refuses or fails on) is
    read by pypaimon. As with pypaimon without a filter, every row of the splits comes back, in no promised order.

    Raises ModuleNotFoundError when pypaimon_rust is not installed, and what pypaimon raises.
    """
    import pypaimon_rust.datafusion as rust

    builder = table.new_read_builder()
    builder = builder if columns is None else builder.with_projection(list(columns))
    splits = list(splits)
    schema = PyarrowFieldParser.from_paimon_schema(builder.read_type())
    if splits and isinstance(table.file_io, LocalFileIO):
        try:
            return _read_rust(rust, table, splits, schema)
        except BaseException as error:  # a panic is no Exception
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            logger.debug("pypaimon_rust cannot read %s (%s): pypaimon does", table.table_path, error)
    return builder.new_read().to_arrow(splits)


def _read_rust(rust, table, splits, schema):
    options = {str(k): str(v) for k, v in table.table_schema.options.items() if v is not None}
    native = rust.Table.from_resolved_schema(
        table.table_path, JSON.to_json(table.table_schema.copy(new_options=options)),
        database=table.identifier.get_database_name(), table=table.identifier.get_table_name(),
        branch=table.current_branch(), options={})
    handed = [rust.Split.deserialize(serialize_split_v1(split)) for split in splits]
    batches = native.new_read_builder().with_projection(schema.names).new_read().read(handed)
    if not batches:
        return schema.empty_table()
    return pa.Table.from_batches([pa.record_batch(batch) for batch in batches]).select(schema.names).cast(schema)


def _warn_without_indexes(table, files) -> None:
    asked = [key for key in table.table_schema.options if key.startswith("file-index.") and key.endswith(".columns")]
    bare = [f for f in files if f.embedded_index is None and not any(n.endswith(".index") for n in f.extra_files or ())]
    if asked and bare:
        warnings.warn(
            f"{table.table_path}: {len(bare)} of {len(files)} data files have no index though the options ask for one "
            f"({', '.join(sorted(asked))}): their writer ignored them. open_table(...).rewrite_index() adds them, "
            "with_indexes() does so before a commit", stacklevel=3)


def with_indexes(table, commit_messages, options=None) -> list:
    """Commit messages whose new data files have the indexes that the table's options ask for.

    table : pypaimon FileStoreTable; commit_messages : of its writer, not yet committed; options : None | dict
    ``file-index.*`` options in the place of the table's own

    The files just written are read back. An ``abort`` of the messages removes the index files too; when building fails,
    they are removed here and the messages are as they were.

    Raises ValueError (options that cannot be built), OSError.
    """
    options = table_options(table, options)
    messages = list(commit_messages)
    if not options.plans:
        return messages
    run = Run(table, options, Snapshot(None, (), frozenset()))
    try:
        return [_message_with_indexes(table, run, message) for message in messages]
    except BaseException:
        run.clean_up()
        raise


def _message_with_indexes(table, run, message):
    partition = GenericRow(list(message.partition), table.partition_keys_fields)
    files = []
    for file in message.new_files:
        if not file.physical_path():
            file = dataclasses.replace(file, file_path=canonical_data_file_path(
                table, tuple(message.partition), message.bucket, file.file_name))
        if is_dedicated(file.file_name) or file.write_cols is not None and table.options.data_evolution_enabled():
            files.append(file)  # its rows are part of other files' rows
            continue
        entry = ManifestEntry(ADD, partition, message.bucket, table.total_buckets, file)
        report, new = run.one(entry)
        if report.action == "skip":
            warnings.warn(f"{file.file_name} gets no index: it {report.reason}", stacklevel=4)
        files.append(new or file)
    return dataclasses.replace(message, new_files=files)
