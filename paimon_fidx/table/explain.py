"""Verdicts and reports as tables of text: with rich when it is installed (the ``cli`` extra), else in plain columns."""
from __future__ import annotations

import io

from ..result import Decision

__all__ = ["partition_text", "render", "table_text"]

HEADS = ("file", "partition", "rows", "deleted", "verdict", "selected", "index", "why")
RIGHT = {"rows", "deleted", "selected", "bytes", "index bytes", "distinct", "nulls"}
WIDTH = 200
MAX_PREDICATE = 500  # characters of it are shown


def render(scan) -> str:
    """The text of ``scan.explain()``.

    One line per planned file: its verdict (SKIP, ROWS, ROWS~ for rows still to be filtered, REMAIN for all rows), how
    many rows are selected, where its index is, and why.
    """
    lines = [_line(v) for v in scan.files]
    stats = scan.stats
    where = "every row" if scan.where is None else repr(scan.where)
    if len(where) > MAX_PREDICATE:
        where = where[:MAX_PREDICATE] + " ..."
    head = f"{scan.path}, snapshot {scan.snapshot_id}: {where}"
    foot = (
        f"{stats.files_total} files, {stats.files_skipped} skipped "
        f"({stats.files_total - stats.files_planned} by partition, bucket or statistics); "
        f"{stats.rows_selected} of {stats.rows_total} rows to read; "
        f"index: {stats.index_requests} requests, {stats.index_bytes} bytes; data: {stats.data_bytes_total} bytes"
    )
    return "\n".join((head, table_text(HEADS, lines, ("file", "verdict")), foot))


def _line(verdict) -> tuple[str, ...]:
    decision = verdict.decision.name
    if verdict.decision is Decision.ROWS and not verdict.exact:
        decision += "~"
    deleted = "" if verdict.deleted is None else str(len(verdict.deleted))
    index = "" if verdict.index is None else verdict.index.rsplit("/", 1)[-1]
    if index.startswith(verdict.file.name):
        index = "*" + index[len(verdict.file.name):]  # the data file's name and ...
    return (verdict.file.name, partition_text(verdict.partition), str(verdict.row_count), deleted, decision,
            str(verdict.candidates), index, verdict.reason)


def partition_text(partition: dict) -> str:
    """``dt=20240101, region=NULL``"""
    return ", ".join(f"{k}={'NULL' if v is None else v}" for k, v in partition.items())


def table_text(heads, lines, always=()) -> str:
    """Lines of text cells under heads; columns without any text are left out unless ``always`` names them."""
    used = [i for i, head in enumerate(heads) if head in always or any(line[i] for line in lines)]
    heads = [heads[i] for i in used]
    rows = [[line[i] for i in used] for line in lines]
    try:
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return _plain(heads, rows)
    table = Table(box=box.SIMPLE_HEAD)
    for head in heads:
        table.add_column(head, justify="right" if head in RIGHT else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    out = io.StringIO()
    Console(file=out, width=WIDTH, color_system=None, force_terminal=False).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines() if line.strip())


def _plain(heads, rows) -> str:
    widths = [max(len(head), *(len(row[i]) for row in rows), 0) for i, head in enumerate(heads)] if rows else \
        [len(head) for head in heads]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if head in RIGHT else cell.ljust(width)
            for head, cell, width in zip(heads, row, widths)
        ).rstrip()
        for row in (heads, ["-" * width for width in widths], *rows)
    )
