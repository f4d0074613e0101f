"""Where Milvus keeps things: ids out of paths, and the files of a segment.

    {root}/insert_log/{collection}/{partition}/{segment}/{field}/{log}
    {root}/stats_log/{collection}/{partition}/{segment}/{primary key field}/{log}, or 1 for the compound log
    {root}/delta_log/{collection}/{partition}/{segment}/{log}       partition -1: deletes of all partitions

A backup may have one more level, a group of segments, between partition and segment.
"""
from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DeltaFile", "FieldFile", "SegmentPath", "ids_of"]

INSERT, STATS, DELTA = "insert_log", "stats_log", "delta_log"
ALL_PARTITIONS = -1


def _number(name: str) -> int | None:
    digits = name[1:] if name.startswith("-") else name
    return int(name) if digits.isascii() and digits.isdigit() and len(digits) < 20 else None


def _numbered(folder: Path, files: bool) -> list[tuple[int, Path]]:
    """The entries of a folder whose names are numbers, in the order of the numbers; none where it does not exist."""
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = [(_number(each.name), Path(each.path)) for each in entries if each.is_file() == files]
    return sorted((number, path) for number, path in found if number is not None)


def ids_of(path: str | os.PathLike[str]) -> dict[str, int]:
    """The ids that a file's path names: collection, partition, segment, field, log; empty for another path.

    >>> ids_of("files/delta_log/1/-1/3/4")
    {'collection_id': 1, 'partition_id': -1, 'segment_id': 3, 'log_id': 4}
    """
    parts = Path(path).parts
    for kind, last in ((INSERT, ["field_id", "log_id"]), (STATS, ["field_id", "log_id"]), (DELTA, ["log_id"])):
        for group in ([], ["group"]):
            names = ["collection_id", "partition_id", *group, "segment_id", *last]
            numbers = [_number(part) for part in parts[-len(names):]]
            if len(parts) > len(names) and parts[-len(names) - 1] == kind and None not in numbers:
                found = dict(zip(names, numbers))
                found.pop("group", None)
                return found
    return {}


@dataclass(frozen=True)
class FieldFile:
    """An insert log of one field."""

    path: Path
    field_id: int
    log_id: int


@dataclass(frozen=True)
class DeltaFile:
    """A delete log, and how far its deletes reach."""

    path: Path
    reach: str  # "segment", "partition" or "collection"


@dataclass(frozen=True)
class SegmentPath:
    """The folder ``insert_log/{collection}/{partition}/{segment}`` and what belongs to it elsewhere."""

    folder: Path
    root: Path
    collection_id: int
    partition_id: int
    segment_id: int
    group: str | None  # of a backup

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> SegmentPath:
        """ValueError for a path of another form, FileNotFoundError where there is no such folder."""
        folder = Path(path)
        for levels in (3, 4):
            parts = folder.parts[-levels:]
            numbers = [_number(part) for part in parts]
            if len(folder.parts) > levels and None not in numbers and folder.parts[-levels - 1] == INSERT:
                if not folder.is_dir():
                    raise FileNotFoundError(f"{folder}: there is no such folder")
                group = parts[2] if levels == 4 else None
                return cls(folder, folder.parents[levels], numbers[0], numbers[1], numbers[-1], group)
        raise ValueError(f"{folder}: a segment is a folder insert_log/COLLECTION/PARTITION/SEGMENT")

    def _beside(self, kind: str, partition: int) -> list[Path]:
        """The folders of segments of a partition, without and with the group."""
        base = self.root / kind / str(self.collection_id) / str(partition)
        return [base] if self.group is None else [base / self.group, base]

    def fields(self) -> dict[int, list[FieldFile]]:
        """The insert logs of each field, by log id."""
        return {
            field_id: [FieldFile(path, field_id, log_id) for log_id, path in _numbered(folder, files=True)]
            for field_id, folder in _numbered(self.folder, files=False)
        }

    def statistics(self) -> dict[int, list[Path]]:
        """The statistics logs of each field that has some: of the primary key."""
        return {field_id: [path for _, path in _numbered(each, files=True)]
                for base in self._beside(STATS, self.partition_id)
                for field_id, each in _numbered(base / str(self.segment_id), files=False)}

    def deltas(self) -> list[DeltaFile]:
        """Delete logs that may hit rows of this segment: its own, and those under no segment with rows, which Milvus
        keeps for a whole partition or, under partition -1, for the collection."""
        found = []
        for partition, reach in ((self.partition_id, "partition"), (ALL_PARTITIONS, "collection")):
            inserts = self._beside(INSERT, partition)
            for base in self._beside(DELTA, partition):
                for segment_id, folder in _numbered(base, files=False):
                    own = reach == "partition" and segment_id == self.segment_id
                    if own or not any((each / str(segment_id)).is_dir() for each in inserts):
                        found += [DeltaFile(path, "segment" if own else reach)
                                  for _, path in _numbered(folder, files=True)]
        return found
