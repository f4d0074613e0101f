"""One snapshot that exchanges manifest entries of data files that stay where they are, through pypaimon.

The snapshot is of kind COMPACT, as Java's ``rewrite_file_index`` commits it. Each DELETE stands before the ADD that
takes its place: with the ADD first, the next snapshot expiry takes the data file for one that is no longer used and
removes it. pypaimon's commit messages for compactions are refused by its 2.1.0, and its other messages write ADD first,
so its committer is handed the entries themselves.
"""
from __future__ import annotations

from pypaimon.manifest.schema.manifest_entry import ManifestEntry
from pypaimon.snapshot.snapshot import BATCH_COMMIT_IDENTIFIER

from .entries import ADD, DELETE, identity, read_snapshot

__all__ = ["CommitConflict", "CommitUnknown", "exchange"]


class CommitConflict(RuntimeError):
    """The table changed since it was read; nothing was committed."""


class CommitUnknown(RuntimeError):
    """The commit failed in a way that leaves open whether it took place; nothing may be cleaned up."""


class _Watched:
    """pypaimon's SnapshotCommit, which remembers how its attempts ended.

    It also hands the table's analyzed statistics on to the new snapshot, as Java does; pypaimon 2.1.0 drops them.
    """

    def __init__(self, inner, snapshots):
        self._inner, self._snapshots = inner, snapshots
        self.unknown = False  # an attempt ended with an exception
        self.committed = None  # the id of the snapshot that was committed

    def commit(self, base_snapshot_uuid, snapshot, statistics):
        previous = self._snapshots.get_snapshot_by_id(snapshot.id - 1)
        if previous is not None and snapshot.statistics is None and previous.schema_id == snapshot.schema_id:
            snapshot.statistics = previous.statistics  # the rows are the same
        before, self.unknown = self.unknown, True
        done = self._inner.commit(base_snapshot_uuid, snapshot, statistics)
        self.unknown = before
        if done:
            self.committed = snapshot.id
        return done

    def __enter__(self):
        self._inner.__enter__()
        return self

    def __exit__(self, *exc):
        return self._inner.__exit__(*exc)

    def __getattr__(self, name):
        return getattr(self._inner, name)


def exchange(table, base, pairs) -> int:
    """Commits ``pairs`` of (live entry, its new file) and returns the snapshot's id.

    table : pypaimon FileStoreTable; base : Snapshot that the entries were read from; pairs : the new file differs from
    the entry's own in its index only
    Raises CommitConflict (nothing was committed), CommitUnknown (perhaps it was), or what pypaimon raises before its
    first attempt to commit.
    """
    entries = []
    for entry, file in pairs:
        parts = entry.partition, entry.bucket, entry.total_buckets
        entries += [ManifestEntry(DELETE, *parts, entry.file), ManifestEntry(ADD, *parts, file)]
    added = {identity(entry) for entry in entries if entry.kind == ADD}

    def plan(latest):
        # Others may have committed and deleted what we add: then its identity must not come back.
        if latest is not None and latest.id != base.id and added & read_snapshot(table, latest).deleted:
            raise CommitConflict("an index that this run embeds was embedded and replaced by another run meanwhile")
        return entries

    builder = table.new_batch_write_builder()
    commit = builder.new_commit()
    committer = commit.file_store_commit
    watched = committer.snapshot_commit = _Watched(committer.snapshot_commit, table.snapshot_manager())
    try:
        committer._try_commit("COMPACT", BATCH_COMMIT_IDENTIFIER, plan, detect_conflicts=True)
    except BaseException as error:
        if watched.committed is not None:
            return watched.committed
        if watched.unknown:
            raise CommitUnknown(
                f"{table.table_path}: it is not known whether the commit by user {builder.commit_user} took place "
                f"({error}); nothing was cleaned up, verify_index() lists what is left over once it is known"
            ) from error
        if isinstance(error, KeyError):
            raise ValueError(f"{table.table_path}: pypaimon cannot commit to manifests of this Paimon version "
                             f"(no {error} in them)") from error
        if isinstance(error, RuntimeError) and not isinstance(error, CommitConflict):
            raise CommitConflict(f"{table.table_path}: {error}") from error
        raise
    finally:
        commit.close()
    if watched.committed is not None:
        return watched.committed
    # pypaimon found the snapshot of an earlier attempt, whose outcome it could not see at first
    return _snapshot_of(table, base, committer.commit_user)


def _snapshot_of(table, base, user: str) -> int:
    manager = table.snapshot_manager()
    latest = manager.get_latest_snapshot()
    for number in range(latest.id, base.id, -1):
        snapshot = manager.get_snapshot_by_id(number)
        if snapshot is not None and snapshot.commit_user == user:
            return number
    raise CommitUnknown(f"{table.table_path}: pypaimon reports a commit by user {user}, but no snapshot since "
                        f"{base.id} is by that user")
