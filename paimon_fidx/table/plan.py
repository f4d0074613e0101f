"""The live data files of a snapshot, planned by pypaimon.

pypaimon resolves the snapshot, prunes by partition, bucket and column statistics, and groups files into splits; this
room turns its splits into the records of files.py and says of each whether a file's row is the table's row.
"""
from __future__ import annotations

import logging
from dataclasses import dataclass

from pypaimon.manifest.schema.data_file_meta import DataFileMeta
from pypaimon.read.split import DataSplit

from .files import DataFile, DeletionVectorRef, FileGroup, IndexRef
from .manifests import AnyVersionManifests

__all__ = ["Plan", "data_file", "is_dedicated", "plan_files", "split_groups"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Plan:
    """snapshot_id : int | None (a table without snapshots); groups : tuple of FileGroup, in pypaimon's order."""

    snapshot_id: int | None
    groups: tuple[FileGroup, ...]


def plan_files(table, predicate=None) -> Plan:
    """The files of ``table`` that pypaimon's pruning leaves.

    table : pypaimon FileStoreTable, its snapshot chosen by its ``scan.*`` options
    predicate : pypaimon Predicate | None, pushed into its planning (see pushdown.py)
    Raises what pypaimon raises for an unreadable table.
    """
    plan = _pypaimon_plan(table, predicate)
    evolution = table.options.data_evolution_enabled()
    groups = []
    for split in plan.splits():
        groups.extend(_groups(split, evolution))
    return Plan(plan.snapshot_id, tuple(groups))


def _pypaimon_plan(table, predicate):
    """pypaimon's plan; manifests that it cannot read (Paimon 0.9 and older) are read by manifests.py."""
    try:
        return _new_scan(table, predicate).plan()
    except KeyError as error:
        logger.debug("pypaimon cannot plan %s (no %s in its manifests): reading them here", table.table_path, error)
    scan = _new_scan(table, predicate)
    scan.file_scanner.manifest_file_manager = AnyVersionManifests(table)
    return scan.plan()


def _new_scan(table, predicate):
    builder = table.new_read_builder()
    return (builder if predicate is None else builder.with_filter(predicate)).new_scan()


def _groups(split, evolution: bool) -> list[FileGroup]:
    if type(split) is not DataSplit:
        files = tuple(_data_file(split, i) for i in range(len(split.files)))
        return [FileGroup(files, f"a {type(split).__name__} is read by pypaimon as a whole", split)]
    if evolution:
        return _row_id_groups(split)
    if split.raw_convertible:
        return split_groups(split)
    files = tuple(_data_file(split, i) for i in range(len(split.files)))
    return [FileGroup(files, "primary-key files that may hold several versions of a row are merged", split)]


def split_groups(split) -> list[FileGroup]:
    """One group per file of a DataSplit whose files' rows are the table's rows."""
    return [_single(split, i) for i in range(len(split.files))]


def _row_id_groups(split) -> list[FileGroup]:
    """Files of a data-evolution table: those that share row ids belong together."""
    files = split.files
    if any(f.first_row_id is None for f in files):
        if split.raw_convertible:
            return [_single(split, i) for i in range(len(files))]
        records = tuple(_data_file(split, i) for i in range(len(files)))
        return [FileGroup(records, "data-evolution files without row ids are read together", split)]
    order = sorted(range(len(files)), key=lambda i: (files[i].first_row_id, -files[i].row_count))
    runs, end = [], None
    for i in order:
        first = files[i].first_row_id
        if end is None or first >= end:
            runs.append([])
            end = first
        runs[-1].append(i)
        end = max(end, first + files[i].row_count)
    groups = []
    for run in runs:
        if len(run) == 1 and not is_dedicated(files[run[0]].file_name):
            groups.append(_single(split, run[0]))
            continue
        members = [files[i] for i in run]
        first, last = members[0].first_row_id, max(f.first_row_id + f.row_count for f in members) - 1
        names = {f.file_name for f in members}
        groups.append(FileGroup(
            tuple(_data_file(split, i) for i in run),
            f"{len(run)} data-evolution files share the row ids {first} to {last}: a newer file overwrites columns",
            split.filter_file(lambda f, names=names: f.file_name in names),
        ))
    return groups


def is_dedicated(name: str) -> bool:
    """A file that holds one column of rows whose other columns stand elsewhere."""
    return DataFileMeta.is_blob_file(name) or DataFileMeta.is_vector_file(name)


def _single(split, position: int) -> FileGroup:
    """One file whose rows are the table's rows. Its source has no deletion vector: we remove deleted rows."""
    source = DataSplit(
        files=[split.files[position]], partition=split.partition, bucket=split.bucket, raw_convertible=True,
        snapshot_id=split.snapshot_id, bucket_path=split.bucket_path, total_buckets=split.total_buckets,
    )
    return FileGroup((_data_file(split, position),), None, source)


def _data_file(split, position: int) -> DataFile:
    vectors = getattr(split, "data_deletion_files", None)
    vector = vectors[position] if vectors else None
    deletion = None
    if vector is not None:
        deletion = DeletionVectorRef(vector.dv_index_path, vector.offset, vector.length, vector.cardinality)
    return data_file(split.files[position], split.bucket, split.partition, deletion)


def data_file(meta, bucket: int, partition, deletion=None) -> DataFile:
    """The record of one data file. meta : pypaimon DataFileMeta, its path set; partition : pypaimon row."""
    index, index_error = _index_of(meta)
    return DataFile(
        name=meta.file_name,
        path=meta.physical_path(),
        format=meta.file_name.rsplit(".", 1)[-1].lower(),
        size=meta.file_size,
        row_count=meta.row_count,
        schema_id=meta.schema_id,
        level=meta.level,
        bucket=bucket,
        partition=partition.to_dict(),
        index=index,
        index_error=index_error,
        deletion=deletion,
        first_row_id=meta.first_row_id,
        write_cols=None if meta.write_cols is None else tuple(meta.write_cols),
        extra_files=tuple(meta.extra_files or ()),
    )


def _index_of(meta) -> tuple[IndexRef | None, str | None]:
    """Where the index is: embedded first, as Java looks for it, else the single extra file ``*.index``."""
    if meta.embedded_index is not None:
        return IndexRef(embedded=bytes(meta.embedded_index)), None
    names = [name for name in meta.extra_files or () if name.endswith(".index")]
    if not names:
        return None, None
    if len(names) > 1:
        return None, f"expected one index file, found {len(names)}: {', '.join(names)}"
    return IndexRef(path=meta.aligned_file_path(names[0])), None
