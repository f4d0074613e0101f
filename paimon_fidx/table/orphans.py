"""Index files that no snapshot, tag, branch or changelog of a table knows.

They are left by rewrites: what was replaced outlives the expiry of its snapshots, and a run that was killed leaves what
it had written. A file of a run that is under way looks the same, so nothing young is ever removed.
"""
from __future__ import annotations

import datetime
import io
import time
from dataclasses import dataclass

import fastavro
from pyarrow.fs import FileType
from pypaimon.manifest.manifest_list_manager import ManifestListManager

__all__ = ["DEFAULT_AGE", "Orphan", "find_orphans", "remove_orphans"]

DEFAULT_AGE = datetime.timedelta(days=1)
DELETE = 1
MAIN = "main"


@dataclass(frozen=True, slots=True)
class Orphan:
    """An index file that nobody knows. age : seconds since it was written, None when the file system does not say."""

    path: str
    size: int
    age: float | None


def find_orphans(table) -> list[Orphan]:
    """The orphans beside the data files of a pypaimon table.

    Raises what reading a snapshot raises: without all of them nothing is known to be an orphan.
    """
    folders = {table.path_factory().data_file_path().rstrip("/"): len(table.partition_keys)}
    external = _folders(table, _entries_of(table, [table.snapshot_manager().get_latest_snapshot()]))
    listed = []  # before the snapshots are read: what is committed in between is known
    for folder, depth in folders.items():
        listed += _index_files(table.file_io, folder, depth)
    for folder in sorted(external):
        listed += _files(table.file_io, folder)
    if not listed:
        return []
    known = _known_names(table)
    found = {o.path: o for o in listed if o.path.rsplit("/", 1)[-1] not in known}
    return [found[path] for path in sorted(found)]


def remove_orphans(table, orphans, min_age: datetime.timedelta) -> list[Orphan]:
    """Removes those that are older than ``min_age``; which these were."""
    removed = []
    for orphan in orphans:
        if orphan.age is not None and orphan.age >= min_age.total_seconds():
            table.file_io.delete(orphan.path)
            removed.append(orphan)
    return removed


def _index_files(file_io, folder: str, depth: int):
    """Index files in ``folder/<depth partition folders>/bucket-*``."""
    for status in file_io.list_status(folder):
        if status.type != FileType.Directory:
            continue
        path = f"{folder}/{status.base_name}"
        if depth and "=" in status.base_name:
            yield from _index_files(file_io, path, depth - 1)
        elif not depth and status.base_name.startswith("bucket-"):
            yield from _files(file_io, path)


def _files(file_io, folder: str):
    for status in file_io.list_status(folder):
        if status.type == FileType.File and status.base_name.endswith(".index"):
            yield Orphan(f"{folder}/{status.base_name}", status.size, _age(status))


def _age(status) -> float | None:
    written = getattr(status, "mtime", None)
    if written is None:
        return None
    return time.time() - (written.timestamp() if isinstance(written, datetime.datetime) else written)


def _folders(table, entries) -> set[str]:
    """Folders outside the table that hold data files."""
    from pypaimon.utils.path import to_file_io_path
    return {to_file_io_path(e["_FILE"]["_EXTERNAL_PATH"]).rsplit("/", 1)[0]
            for e in entries if e["_FILE"].get("_EXTERNAL_PATH")}


def _known_names(table) -> set[str]:
    """The extra files of every data file that some snapshot, tag, branch or changelog still has."""
    cache, known = {}, set()
    branches = [MAIN, *table.branch_manager().branches()]
    for branch in dict.fromkeys(branches):
        branched = table if branch == table.current_branch() else table.copy({"branch": branch})
        for snapshot in _snapshots(branched):
            known |= {name for e in _live(_entries_of(branched, [snapshot], cache))
                      for name in e["_FILE"]["_EXTRA_FILES"] or ()}
        for changelog in branched.changelog_manager().safely_get_all_changelogs():
            # every entry: what a changelog needs of the files it names is not told apart here
            lists = (changelog.base_manifest_list, changelog.delta_manifest_list, changelog.changelog_manifest_list)
            for name in filter(None, lists):
                if branched.file_io.exists(f"{ManifestListManager(branched).manifest_path}/{name}"):
                    metas = ManifestListManager(branched).read(name)
                    known |= {extra for meta in metas for e in _manifest(branched, meta.file_name, cache)
                              for extra in e["_FILE"]["_EXTRA_FILES"] or ()}
    return known


def _snapshots(table):
    yield from table.snapshot_manager().list_snapshots()
    tags = table.tag_manager()
    for name in tags.list_tags():
        yield tags.get_or_throw(name).trim_to_snapshot()


def _entries_of(table, snapshots, cache=None):
    cache = {} if cache is None else cache
    manager = ManifestListManager(table)
    return [e for snapshot in snapshots for meta in manager.read_all(snapshot)
            for e in _manifest(table, meta.file_name, cache)]


def _manifest(table, name: str, cache: dict) -> list[dict]:
    if name not in cache:
        with table.file_io.new_input_stream(f"{ManifestListManager(table).manifest_path}/{name}") as stream:
            cache[name] = list(fastavro.reader(io.BytesIO(stream.read())))
    return cache[name]


def _live(entries) -> list[dict]:
    deleted = {_identity(e) for e in entries if e["_KIND"] == DELETE}
    return [e for e in entries if e["_KIND"] != DELETE and _identity(e) not in deleted]


def _identity(entry) -> tuple:
    file = entry["_FILE"]
    return (entry["_PARTITION"], entry["_BUCKET"], file["_LEVEL"], file["_FILE_NAME"],
            tuple(file["_EXTRA_FILES"] or ()), file.get("_EMBEDDED_FILE_INDEX"), file.get("_EXTERNAL_PATH"))
