"""Manifests of any Paimon version, read with fastavro.

pypaimon's own reader takes a manifest's fields for granted that older versions did not write (0.9 has no
``_VALUE_STATS_COLS``). This one has the same interface, so that pypaimon's scanner plans with it: partition and
statistics pruning, deletion vectors and splits stay pypaimon's. Absent fields have the value the field was
introduced with.
"""
from __future__ import annotations

import io
from datetime import datetime, timedelta, timezone

import fastavro
from pypaimon.data.timestamp import Timestamp
from pypaimon.manifest.manifest_file_manager import ManifestFileManager
from pypaimon.manifest.schema.data_file_meta import DataFileMeta
from pypaimon.manifest.schema.manifest_entry import ManifestEntry
from pypaimon.manifest.schema.simple_stats import SimpleStats
from pypaimon.table.row.binary_row import BinaryRow
from pypaimon.table.row.generic_row import GenericRowDeserializer

__all__ = ["AnyVersionManifests"]

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class AnyVersionManifests(ManifestFileManager):
    """pypaimon's ManifestFileManager for manifests of every version. ``table`` is a pypaimon FileStoreTable."""

    def read(self, manifest_file_name, manifest_entry_filter=None, drop_stats=True, early_entry_filter=None,
             early_record_filter=None, partition_filter=None, selected_blocks=None, file_size=None):
        """The entries of one manifest. ``selected_blocks`` belongs to a sidecar that old versions do not write."""
        path = f"{self.manifest_path}/{manifest_file_name}"
        with self.file_io.new_input_stream(path) as stream:
            data = stream.read()
        entries = []
        for record in fastavro.reader(io.BytesIO(data)):
            if early_entry_filter is not None and not early_entry_filter(record["_BUCKET"], record["_TOTAL_BUCKETS"]):
                continue
            if early_record_filter is not None and not early_record_filter(record):
                continue
            entry = self._entry(record)
            if partition_filter is not None and not partition_filter.test(entry.partition):
                continue
            if manifest_entry_filter is not None and not manifest_entry_filter(entry):
                continue
            entries.append(entry.copy_without_stats() if drop_stats else entry)
        return entries

    def _entry(self, record) -> ManifestEntry:
        stored = record["_FILE"]
        keys = self.trimmed_primary_keys_fields
        file = DataFileMeta(
            file_name=stored["_FILE_NAME"],
            file_size=stored["_FILE_SIZE"],
            row_count=stored["_ROW_COUNT"],
            min_key=GenericRowDeserializer.from_bytes(stored["_MIN_KEY"], keys),
            max_key=GenericRowDeserializer.from_bytes(stored["_MAX_KEY"], keys),
            key_stats=_stats(stored["_KEY_STATS"], keys),
            value_stats=_stats(stored["_VALUE_STATS"], self._stats_fields(stored)),
            min_sequence_number=stored["_MIN_SEQUENCE_NUMBER"],
            max_sequence_number=stored["_MAX_SEQUENCE_NUMBER"],
            schema_id=stored["_SCHEMA_ID"],
            level=stored["_LEVEL"],
            extra_files=stored["_EXTRA_FILES"],
            creation_time=_timestamp(stored.get("_CREATION_TIME")),
            delete_row_count=stored.get("_DELETE_ROW_COUNT"),
            embedded_index=stored.get("_EMBEDDED_FILE_INDEX"),
            file_source=stored.get("_FILE_SOURCE"),
            value_stats_cols=stored.get("_VALUE_STATS_COLS"),
            external_path=stored.get("_EXTERNAL_PATH"),
            first_row_id=stored.get("_FIRST_ROW_ID"),
            write_cols=stored.get("_WRITE_COLS"),
            write_cols_sequences=stored.get("_WRITE_COLS_SEQUENCES"),
        )
        return ManifestEntry(
            kind=record["_KIND"],
            partition=GenericRowDeserializer.from_bytes(record["_PARTITION"], self.partition_keys_fields),
            bucket=record["_BUCKET"],
            total_buckets=record["_TOTAL_BUCKETS"],
            file=file,
        )

    def _stats_fields(self, stored) -> list:
        """The fields that a file's value statistics are about, in their order."""
        table_schema = self.table.table_schema
        if stored["_SCHEMA_ID"] != table_schema.id:
            table_schema = self.table.schema_manager.get_schema(stored["_SCHEMA_ID"])
        columns = stored.get("_VALUE_STATS_COLS")
        if columns is None:
            columns = stored.get("_WRITE_COLS")
        if columns is None:
            return table_schema.fields
        by_name = {f.name: f for f in table_schema.fields}
        return [by_name[name] for name in columns if name in by_name]


def _stats(stored, fields) -> SimpleStats:
    return SimpleStats(
        min_values=BinaryRow(stored["_MIN_VALUES"], fields),
        max_values=BinaryRow(stored["_MAX_VALUES"], fields),
        null_counts=stored["_NULL_COUNTS"],
    )


def _timestamp(value) -> Timestamp | None:
    """``_CREATION_TIME`` as pypaimon keeps it; fastavro gives a datetime where the logical type is set."""
    if value is None:
        return None
    if isinstance(value, datetime):
        # in whole numbers: a float of seconds loses the last millisecond now and then
        value = (value if value.tzinfo else value.replace(tzinfo=timezone.utc)) - EPOCH
        value //= timedelta(milliseconds=1)
    return Timestamp.from_epoch_millis(int(value))
