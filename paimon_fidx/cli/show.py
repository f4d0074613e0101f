"""How the commands show things: rich tables for people, plain values for JSON."""
from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import json
import math
import sys
from contextlib import contextmanager
from decimal import Decimal

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

MOST_SHOWN = 1000  # rows in a table for people; the others are counted
NOT_YET_READ = ("data_bytes", "rows_decoded", "row_groups_read", "row_groups_seen")  # counters of reading
WIDE = 200  # columns of text when the output is not a terminal


def console(stderr: bool = False) -> Console:
    """Where tables go. Made anew for each use, because tests and pipes exchange the streams."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=WIDE)


def bytes_text(count: int) -> str:
    """A byte count for people.

    >>> bytes_text(512), bytes_text(20_480), bytes_text(3_500_000)
    ('512 B', '20.0 KiB', '3.3 MiB')
    """
    size, units = float(count), iter(("B", "KiB", "MiB", "GiB", "TiB"))
    unit = next(units)
    while size >= 1024 and unit != "TiB":
        size, unit = size / 1024, next(units)
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


def plain(value, kind=None):
    """A value of a row as JSON can hold it: exact decimals, instants and bytes (base64) as text, NaN too.

    kind : pyarrow.DataType | None   the column's type, for nested values: a MAP becomes an object, its keys text.

    >>> plain(Decimal("1.50")), plain(dt.date(2024, 1, 2)), plain(float("nan"))
    ('1.50', '2024-01-02', 'NaN')
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, (dt.date, dt.time)):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, dict):
        return {name: plain(item, kind.field(name).type) for name, item in value.items()}
    if hasattr(kind, "item_type"):
        return {str(plain(key, kind.key_type)): plain(item, kind.item_type) for key, item in value}
    return [plain(item, kind.value_type) for item in value]


def cell(value, kind) -> str:
    """A value of a row for people."""
    if value is None:
        return "[dim]NULL[/dim]"
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, dt.datetime):
        return str(value)
    shown = plain(value, kind)
    return escape(shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False))


def json_row(row: dict, schema) -> str:
    """A row as one line of JSON. schema : the Arrow schema of the row."""
    return json.dumps({field.name: plain(row[field.name], field.type) for field in schema}, ensure_ascii=False)


def first_rows(batches) -> tuple[list, int]:
    """The rows that a table for people shows, and how many there are altogether."""
    shown, row_count = [], 0
    for batch in batches:
        shown.extend(batch.slice(0, max(0, MOST_SHOWN - row_count)).to_pylist())
        row_count += batch.num_rows
    return shown, row_count


def rows(schema, shown, row_count) -> None:
    """Prints rows as a table; below it, how many more there are. schema : the Arrow schema of the rows."""
    table = Table(header_style="bold")
    for name in schema.names:
        table.add_column(escape(name), overflow="fold")
    for row in shown:
        table.add_row(*(cell(row[field.name], field.type) for field in schema))
    console().print(table)
    if row_count > len(shown):
        console().print(f"... and {row_count - len(shown):,} more rows (--json prints all)")


def summary(scan, row_count: int) -> str:
    """What an answer cost, in one line."""
    stats = scan.stats
    return (
        f"{row_count:,} rows; {stats.files_skipped:,} of {stats.files_total:,} files skipped, "
        f"{stats.rows_selected:,} of {stats.rows_total:,} rows selected, read {bytes_text(stats.data_bytes)} of "
        f"{bytes_text(stats.data_bytes_total)} data and {bytes_text(stats.index_bytes)} of indexes"
    )


def verdicts(scan) -> dict:
    """What ``explain --json`` prints: each file's verdict, and what the scan costs."""
    files = [
        {
            "path": file.path,
            "partition": {name: None if value is None else str(value) for name, value in file.partition.items()},
            "row_count": file.row_count,
            "decision": file.decision.name,
            "selected": file.candidates,
            "exact": file.exact,
            "reason": file.reason,
            "index": file.index,
            "index_bytes": file.index_bytes,
        }
        for file in scan.files
    ]
    stats = {name: value for name, value in dataclasses.asdict(scan.stats).items() if name not in NOT_YET_READ}
    where = None if scan.where is None else str(scan.where)
    return {"table": scan.path, "snapshot_id": scan.snapshot_id, "where": where, "files": files, "stats": stats}


def note(text: str) -> None:
    """One line beside the answer: on stderr, so that the answer alone can be piped."""
    console(stderr=True).print(text, style="dim", markup=False)


@contextmanager
def progress(scan, what: str):
    """The batches of a scan, with a line on stderr while they are read, when stderr is a terminal."""
    if not sys.stderr.isatty():
        yield scan.to_batches()
        return
    columns = SpinnerColumn(), TextColumn("{task.description}: {task.completed:,.0f} rows"), TimeElapsedColumn()
    with Progress(*columns, console=console(stderr=True), transient=True) as line:
        task = line.add_task(what, total=None)

        def counted():
            for batch in scan.to_batches():
                line.advance(task, batch.num_rows)
                yield batch

        yield counted()


def container_dict(path, container) -> dict:
    """What ``inspect --json`` prints."""
    entries = [
        {"column": column, "index": kind, "start": start, "length": length, "empty": start < 0}
        for column, kinds in container.columns.items()
        for kind, (start, length) in kinds.items()
    ]
    unindexed = [column for column, kinds in container.columns.items() if not kinds]
    return {
        "path": str(path),
        "size": container.source.size,
        "version": 1,
        "head_length": container.head_length,
        "entries": entries,
        "columns_without_index": unindexed,
    }


def container(path, opened) -> None:
    """What ``inspect`` prints."""
    told = container_dict(path, opened)
    table = Table(header_style="bold")
    table.add_column("column")
    table.add_column("index")
    for name in ("offset", "length", "share"):
        table.add_column(name, justify="right")
    for entry in told["entries"]:
        place = ("-", "empty: no value was seen", "") if entry["empty"] else (
            f"{entry['start']:,}", f"{entry['length']:,}", f"{100 * entry['length'] / max(1, told['size']):.1f} %")
        table.add_row(escape(entry["column"]), entry["index"], *place)
    for column in told["columns_without_index"]:
        table.add_row(escape(column), "none", "-", "-", "")
    console().print(table)
    console().print(f"{told['path']}: {told['size']:,} bytes, version {told['version']}, "
                    f"head of {told['head_length']:,} bytes", markup=False)
