"""The live manifest entries of a snapshot, with everything that committing them again must keep.

A plan's files have lost their value statistics, and pypaimon decodes and encodes keys anew; an entry that is committed
again must equal the one it takes the place of in every field but those of the index. So entries are read here with
their statistics, keys keep their bytes where encoding them anew would change one, and what pypaimon would not write at
all (a field of a later Paimon) is refused.

An entry is known by its identity (partition, bucket, level, name, extra files, embedded index, external path). Readers,
Java's too, take a file for deleted when a DELETE of its identity stands anywhere in a snapshot's manifests, before the
ADD or after. So an identity that was deleted must never come back; ``deleted`` has them all.
"""
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pypaimon.manifest.manifest_list_manager import ManifestListManager
from pypaimon.manifest.schema.data_file_meta import DATA_FILE_META_SCHEMA
from pypaimon.table.row.binary_row import BinaryRow
from pypaimon.table.row.generic_row import GenericRowDeserializer, GenericRowSerializer
from pypaimon.utils.file_store_path_factory import canonical_data_file_path

from .manifests import AnyVersionManifests

__all__ = ["ADD", "DELETE", "Snapshot", "identity", "read_snapshot"]

ADD, DELETE = 0, 1
MANIFEST_THREADS = 8
KNOWN_FIELDS = {field["name"] for field in DATA_FILE_META_SCHEMA["fields"]}


@dataclass(frozen=True)
class Snapshot:
    """One snapshot's files.

    id : int | None      None: the table has no snapshot
    entries : tuple      pypaimon ManifestEntry of each live data file, whole, the file's path set, in manifest order
    deleted : frozenset  the identities of all DELETE entries
    """

    id: int | None
    entries: tuple
    deleted: frozenset


def read_snapshot(table, snapshot=None) -> Snapshot:
    """The entries of a snapshot (a pypaimon Snapshot; by default the latest) of a pypaimon table.

    Raises ValueError for an entry that pypaimon would not write back as it is.
    """
    snapshot = table.snapshot_manager().get_latest_snapshot() if snapshot is None else snapshot
    if snapshot is None:
        return Snapshot(None, (), frozenset())
    manager = WholeEntries(table)
    names = [meta.file_name for meta in ManifestListManager(table).read_all(snapshot)]
    with ThreadPoolExecutor(MANIFEST_THREADS) as pool:
        read = [entry for entries in pool.map(lambda name: manager.read(name, drop_stats=False), names)
                for entry in entries]
    deleted = frozenset(identity(entry) for entry in read if entry.kind == DELETE)
    live = [entry for entry in read if entry.kind == ADD and identity(entry) not in deleted]
    for entry in live:
        file = entry.file
        if not file.external_path:
            file.file_path = canonical_data_file_path(table, tuple(entry.partition.values), entry.bucket,
                                                      file.file_name)
    return Snapshot(snapshot.id, tuple(live), deleted)


def identity(entry) -> tuple:
    """What makes an entry the same file to every reader."""
    file = entry.file
    return (tuple(entry.partition.values), entry.bucket, file.level, file.file_name, tuple(file.extra_files or ()),
            file.embedded_index, file.external_path)


class WholeEntries(AnyVersionManifests):
    """Manifest entries that are written back byte for byte."""

    def _entry(self, record):
        stored = record["_FILE"]
        unknown = [name for name, value in stored.items() if name not in KNOWN_FIELDS and value is not None]
        if unknown:
            raise ValueError(f"{stored['_FILE_NAME']}: its manifest entry has {', '.join(unknown)}, which this "
                             "pypaimon does not write; a newer pypaimon is needed to commit it again")
        entry = super()._entry(record)
        if GenericRowSerializer.to_bytes(entry.partition) != record["_PARTITION"]:
            raise ValueError(f"{stored['_FILE_NAME']}: pypaimon would write its partition "
                             f"{entry.partition.to_dict()} in other bytes, and the file would count as another one")
        keys = self.trimmed_primary_keys_fields
        entry.file.min_key = _exact_row(stored["_MIN_KEY"], keys)
        entry.file.max_key = _exact_row(stored["_MAX_KEY"], keys)
        return entry


def _exact_row(stored: bytes, fields):
    row = GenericRowDeserializer.from_bytes(stored, fields)
    return row if GenericRowSerializer.to_bytes(row) == stored else BinaryRow(stored, fields)
