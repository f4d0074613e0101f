"""What is wrong with a binlog, or with the files of a segment: each file and byte by name."""
from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..errors import FileIndexError
from . import columns  # noqa: F401  pyarrow is needed: say so before any file is looked at
from .model import EventType
from .paths import FieldFile, SegmentPath, ids_of
from .reader import Binlog, open_binlog
from .stats import open_pk_stats

__all__ = ["Problem", "problem_of", "verify_binlog", "verify_segment"]

IDS = {"collection_id": 21, "partition_id": 29, "segment_id": 37, "field_id": 45}  # and where they stand in the file
EXTRAS_AT = 85
SYSTEM_FIELDS = {0: "row ids", 1: "timestamps"}


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong. ``offset`` is None where no single byte is to blame."""

    path: str
    offset: int | None
    message: str

    def __str__(self) -> str:
        return f"{self.path}{'' if self.offset is None else f' at {self.offset}'}: {self.message}"


def verify_binlog(path: str | os.PathLike[str]) -> list[Problem]:
    """Checks one insert, delete or index log: the container, the extras, every row, and the ids that its path names.

    Returns an empty list when all is well. OSError where the file cannot be read.
    """
    return _verify(Path(path))[0]


def _verify(path: Path) -> tuple[list[Problem], Binlog | None, int | None]:
    """(problems, the open binlog or None, its rows or None)."""
    problems: list[Problem] = []
    try:
        binlog = open_binlog(path)
    except FileIndexError as error:
        return [problem_of(path, error)], None, None
    for name, found in ids_of(path).items():
        if name in IDS and getattr(binlog, name) != found:
            problems.append(Problem(str(path), IDS[name], f"{name} is {getattr(binlog, name)}, the path says {found}"))
    try:
        descriptor = binlog.descriptor
        if descriptor.original_size is None:
            found = descriptor.extras.get("original_size", "none")
            problems.append(Problem(str(path), EXTRAS_AT, f"original_size is no text of digits but {found!r}"))
        if binlog.encrypted:
            problems.append(Problem(str(path), None, "encrypted: only the descriptor could be checked"))
            return problems, binlog, None
        table = binlog.to_arrow()
        table.validate(full=True)
        if binlog.kind == "insert" and descriptor.extras.get("nullable") is False and table.column(0).null_count:
            nulls = table.column(0).null_count
            problems.append(Problem(str(path), None, f"{nulls} nulls in a field that is not nullable"))
        for event in binlog.events:
            if event.start_timestamp > event.end_timestamp and event.type != EventType.INDEX_FILE:
                problems.append(Problem(str(path), event.offset + 17, "start_timestamp is after end_timestamp"))
        return problems, binlog, table.num_rows
    except FileIndexError as error:
        return [*problems, problem_of(path, error)], binlog, None
    finally:
        binlog.close()


def problem_of(path: str | os.PathLike[str], error: FileIndexError) -> Problem:
    """The problem that an error of reading a file is."""
    text = str(error).removeprefix(f"{error.path}: ") if error.path is not None else str(error)
    return Problem(str(path), error.offset, text)


def verify_segment(path: str | os.PathLike[str], primary_key: int | None = None) -> list[Problem]:
    """Checks all files of a segment and that they agree: as many files and rows in each field, consecutive log ids in
    a chunk, row ids and timestamps present, delete logs readable, and every key in the primary-key statistics.

    path : the folder ``insert_log/{collection}/{partition}/{segment}``; primary_key : field id, found when None

    Returns an empty list when all is well. ValueError, FileNotFoundError for a path of another form.
    """
    found = SegmentPath.of(path)
    fields = found.fields()
    problems: list[Problem] = []
    statistics = found.statistics()
    if primary_key is None:
        primary_key = next(iter(statistics), None)
    required = {**SYSTEM_FIELDS, **({primary_key: "primary keys"} if primary_key is not None else {})}
    for field_id, what in required.items():
        if not fields.get(field_id):
            problems.append(Problem(str(found.folder / str(field_id)), None,
                                    f"no files of field {field_id}, the {what}"))
    most = max((len(files) for files in fields.values()), default=0)
    for field_id, files in fields.items():
        if len(files) != most:
            problems.append(Problem(str(found.folder / str(field_id)), None,
                                    f"{len(files)} files, other fields of the segment have {most}"))
    rows: dict[FieldFile, int] = {}
    for files in fields.values():
        for file in files:
            wrong, _, row_count = _verify(file.path)
            problems += wrong
            if row_count is not None:
                rows[file] = row_count
    for k in range(most):
        problems += _verify_chunk([files[k] for files in fields.values() if len(files) > k], rows)
    for delta in found.deltas():
        wrong, binlog, _ = _verify(delta.path)
        problems += wrong
        if binlog is not None and not wrong and binlog.kind != "delete":
            problems.append(Problem(str(delta.path), None, f"a log of kind {binlog.kind} among delete logs"))
    for field_id, paths in statistics.items():
        problems += _verify_statistics(paths, [file for file in fields.get(field_id, ()) if file in rows])
    return problems


def _verify_chunk(files: list[FieldFile], rows: dict[FieldFile, int]) -> list[Problem]:
    problems = []
    counts: dict[int, int] = {}
    for file in files:
        if file in rows:
            counts[rows[file]] = counts.get(rows[file], 0) + 1
    usual = max(counts, key=lambda count: counts[count], default=0)
    for file in files:
        if file in rows and rows[file] != usual:
            problems.append(Problem(str(file.path), None, f"{rows[file]} rows, other fields of its chunk have {usual}"))
    logs = sorted(file.log_id for file in files)
    if logs and logs[-1] - logs[0] != len(logs) - 1:
        least = min(files, key=lambda file: file.log_id)
        problems.append(Problem(
            str(least.path), None,
            f"log ids of its chunk are not consecutive: {len(logs)} files from {logs[0]} to {logs[-1]}"))
    return problems


def _verify_statistics(paths: list[Path], keys_of: list[FieldFile]) -> list[Problem]:
    problems, filters = [], []
    for path in paths:
        try:
            filters.append(open_pk_stats(path))
        except FileIndexError as error:
            problems.append(problem_of(path, error))
    if filters and not problems:
        for file in keys_of:
            with open_binlog(file.path) as binlog:
                keys = binlog.to_arrow().column(0).to_pylist()
            try:
                lost = [key for key in keys if not any(each.may_contain(key) for each in filters)]
            except TypeError as error:
                problems.append(Problem(str(paths[0]), None, f"{error}, in {file.path}"))
                break
            if lost:
                problems.append(Problem(str(paths[0]), None,
                                        f"{len(lost)} keys of {file.path} are in no filter, the first is {lost[0]!r}"))
    return problems
