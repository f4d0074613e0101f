"""Writes a Paimon table with file indexes from Python: pypaimon writes Parquet, paimon_fidx builds the indexes.

    python examples/make_events.py FOLDER [ROWS] [FILES]

The table is FOLDER/demo.db/events, append-only, the same content for the same numbers. The table's options say which
columns get which index, exactly as they would for Java Paimon, whose readers use these indexes too.
"""
import datetime as dt
import os
import sys

import numpy as np
import pyarrow as pa
from pypaimon import CatalogFactory, Schema

import paimon_fidx as fidx

SCHEMA = pa.schema([
    ("event_id", pa.int64()),
    ("user_id", pa.int64()),
    ("status", pa.string()),
    ("city", pa.string()),
    ("amount", pa.decimal128(12, 2)),
    ("created", pa.timestamp("us")),
    ("note", pa.string()),
])
OPTIONS = {
    "bucket": "-1",
    "file.format": "parquet",
    "metadata.stats-mode": "full",
    "file-index.bitmap.columns": "status,city",
    "file-index.bsi.columns": "event_id",
    "file-index.range-bitmap.columns": "amount,created",
    "file-index.bloom-filter.columns": "user_id",
    "file-index.bloom-filter.user_id.items": "100000",
    "file-index.bloom-filter.user_id.fpp": "0.01",
}
STATUSES = {"PAID": 0.70, "PENDING": 0.20, "CANCELLED": 0.09995, "CHARGEBACK": 0.00005}
CITIES = [
    f"{kind} {name}" for name in ("Aldo", "Brix", "Caro", "Dune", "Elm", "Faro", "Gant")
    for kind in ("San", "Port", "Bad", "New")
]
FIRST_DAY = dt.datetime(2024, 1, 1)
ROW_GROUP = 5_000  # rows; small groups let a reader fetch little more than the rows it wants
EMBED_UP_TO = 500  # bytes; Paimon's default of file-index.in-manifest-threshold


def day_of_events(day: int, row_count: int) -> pa.Table:
    """One day's rows, in order of time; users come at random, each city has its days."""
    random = np.random.default_rng(day)
    of_a_day = np.sort(random.integers(0, 86_400_000_000, row_count))
    created = np.datetime64(FIRST_DAY + dt.timedelta(days=day), "us") + of_a_day.astype("timedelta64[us]")
    cents = np.minimum(random.lognormal(8.5, 1.2, row_count), 1e7).astype(np.int64)
    unscaled = np.stack([cents, np.zeros_like(cents)], axis=1)  # the 16 bytes of each decimal
    columns = {
        "event_id": np.arange(day * row_count, (day + 1) * row_count),
        "user_id": random.integers(0, 1_000_000, row_count),
        "status": random.choice(list(STATUSES), row_count, p=list(STATUSES.values())),
        "city": np.array(CITIES)[(day + random.integers(0, 7, row_count)) % len(CITIES)],
        "amount": pa.Array.from_buffers(pa.decimal128(12, 2), row_count, [None, pa.py_buffer(unscaled)]),
        "created": created,
        "note": np.char.add("note ", random.integers(0, 10**15, row_count).astype(str)),
    }
    return pa.table(columns, SCHEMA)


def write_day(table, data: pa.Table):
    """Writes one data file with its index; returns pypaimon's commit messages for it."""
    indexes = {}
    write = table.file_io.write_parquet

    def write_and_index(path, rows, *args, **options):
        write(path, rows, *args, row_group_size=ROW_GROUP, **options)
        indexes[path] = fidx.build_index(rows, OPTIONS)

    table.file_io.write_parquet = write_and_index  # sees exactly the rows of each data file
    writer = table.new_batch_write_builder().new_write()
    try:
        writer.write_arrow(data)
        messages = writer.prepare_commit()
    finally:
        writer.close()
        table.file_io.write_parquet = write
    for message in messages:
        for file in message.new_files:
            attach(table.file_io, file, indexes.pop(file.physical_path()))
    return messages


def attach(file_io, file, index: bytes) -> None:
    """Puts an index where Paimon looks for it: in the manifest when it is small, else beside the data file."""
    if len(index) <= EMBED_UP_TO:
        file.embedded_index = index
        return
    path = file.physical_path() + ".index"
    with file_io.new_output_stream(path) as stream:
        stream.write(index)
    file.extra_files = [*file.extra_files, os.path.basename(path)]


def make(folder: str, row_count: int = 2_000_000, file_count: int = 20, progress=print) -> str:
    """Makes the table with one commit; returns its path. An unfinished or different one is made anew."""
    path = os.path.join(folder, "demo.db", "events")
    catalog = CatalogFactory.create({"warehouse": folder})
    catalog.create_database("demo", True)
    catalog.drop_table("demo.events", True)
    catalog.create_table("demo.events", Schema.from_pyarrow_schema(SCHEMA, options=OPTIONS), False)
    table = catalog.get_table("demo.events")
    messages = []
    for day in range(file_count):
        messages += write_day(table, day_of_events(day, row_count // file_count))
        progress(f"{day + 1} of {file_count} files")
    commit = table.new_batch_write_builder().new_commit()
    try:
        commit.commit(messages)
    finally:
        commit.close()
    return path


if __name__ == "__main__":
    print(make(sys.argv[1], *map(int, sys.argv[2:])))
