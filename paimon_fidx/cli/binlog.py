"""``paimon-fidx binlog``: look into Milvus binlogs and segments, check them, take their rows out, count deletes.

PATH is a file, or a segment: a folder insert_log/COLLECTION/PARTITION/SEGMENT. Exit code 3 also when verify finds
something wrong.
"""
from __future__ import annotations

import json
import os
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from . import show
from .commands import BAD_INPUT, DAMAGED, _fail, _one_line_errors, cli

__all__ = []

PATH = click.argument("path", type=click.Path())
JSON = click.option("--json", "as_json", is_flag=True, help="For programs.")
COLUMNS = click.option("--columns", metavar="A,B", help="Columns of a segment, by field id; user fields by default.")
DELETED = click.option("--with-deleted", is_flag=True, help="Keep rows that delete logs have hit.")
WHERE = click.option("--where", metavar="SQL", help="Rows of a segment wanted, for example \"`100` > 7\".")
SEGMENTS = "insert_log/*/*/*"
BINLOG, BARE_PARQUET = b"\xbc\xfa\xff\x00", b"PAR1"


@cli.group()
def binlog():
    """Milvus binlogs and segments."""


def _words(text):
    return [word.strip() for word in text.split(",")] if text else None


def _rows(path, columns, with_deleted, where):
    """(schema, batches) of a file or a segment."""
    from .. import binlog as bl

    if os.path.isdir(path):
        return bl.open_segment(path).stream(_words(columns), deletes=not with_deleted, where=where)
    if columns or where:
        _fail("--columns and --where are for segments; a file has one column, or pk and ts", BAD_INPUT)
    opened = bl.open_binlog(path)
    return opened.schema, opened.to_batches()


def _plain(batch):
    """The batch as values that can be shown: half floats as floats, which Python has."""
    import pyarrow as pa

    columns, fields = [], []
    for field, column in zip(batch.schema, batch.columns):
        type = field.type
        if pa.types.is_fixed_size_list(type) and type.value_type == pa.float16():
            type = pa.list_(pa.float32(), type.list_size)
            column = column.cast(type)
        columns.append(column)
        fields.append(pa.field(field.name, type))
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)) if columns else batch


@binlog.command()
@PATH
@JSON
@_one_line_errors
def inspect(path, as_json):
    """Shows what a file holds: the descriptor and events of a binlog, or the statistics of a statistics log."""
    from .. import binlog as bl

    with open(path, "rb") as file:
        start = file.read(4)
    if start in (BINLOG, BARE_PARQUET) or not start.lstrip()[:1] in (b"{", b"[") and "bm25_stats" not in str(path):
        with bl.open_binlog(path) as opened:
            told = _binlog(opened)
    elif start.lstrip()[:1] in (b"{", b"["):
        told = {"kind": "primary-key statistics", "filters": [
            {"field_id": each.field_id, "pk_type": each.pk_type.name, "filter": each.filter_type,
             "hash_count": each.hash_count, "filter_bytes": each.filter_len, "min_pk": each.min_pk,
             "max_pk": each.max_pk}
            for each in bl.open_pk_stats(path).filters]}
    else:
        stats = bl.open_bm25_stats(path)
        told = {"kind": "bm25 statistics", "row_count": stats.row_count, "token_count": stats.token_count,
                "distinct_tokens": len(stats.rows_with_token)}
    told = {"path": str(path), "size": os.path.getsize(path), **told}
    if as_json:
        click.echo(json.dumps(told, ensure_ascii=False))
        return
    tables = {name: told.pop(name) for name in ("events", "filters") if name in told}
    for name, value in told.items():
        show.console().print(f"{name:16} {value}", markup=False)
    for entries in tables.values():
        _print(entries)


def _binlog(opened) -> dict:
    d = opened.descriptor
    told = {
        "kind": "encrypted binlog" if opened.encrypted else f"{opened.kind} log",
        "collection_id": d.collection_id, "partition_id": d.partition_id, "segment_id": d.segment_id,
        "field_id": d.field_id, "data_type": getattr(d.data_type, "name", str(d.data_type)),
        "written": d.time and d.time.isoformat(), "start_timestamp": d.start_timestamp,
        "end_timestamp": d.end_timestamp, "extras": dict(d.extras),
    }
    if not opened.encrypted:
        told["rows"] = opened.row_count
        told["events"] = [
            {"type": getattr(event.type, "name", str(event.type)), "offset": event.offset, "length": event.length,
             "next_position": event.next_position, "start_timestamp": event.start_timestamp,
             "end_timestamp": event.end_timestamp}
            for event in opened.events]
    return told


def _print(entries) -> None:
    if entries:
        table = Table(header_style="bold")
        for name in entries[0]:
            table.add_column(name)
        for entry in entries:
            table.add_row(*(escape(str(value)) for value in entry.values()))
        show.console().print(table)


@binlog.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True))
@JSON
@_one_line_errors
def verify(paths, as_json):
    """Checks files, segments, or all segments below a folder; names each file and byte that is wrong.

    With --json each problem is one line of JSON.
    """
    from .. import binlog as bl

    problems, checked = [], 0
    for path in paths:
        if not os.path.isdir(path):
            problems += _verify_file(path)
            checked += 1
            continue
        try:
            problems += bl.verify_segment(path)
            checked += 1
        except ValueError:
            folders = [each for each in sorted(Path(path).rglob(SEGMENTS)) if each.is_dir()]
            if not folders:
                raise ValueError(f"{path}: no segment, and none below it ({SEGMENTS})") from None
            for folder in folders:
                problems += bl.verify_segment(folder)
            checked += len(folders)
    for problem in problems:
        line = {"path": problem.path, "offset": problem.offset, "message": problem.message}
        click.echo(json.dumps(line, ensure_ascii=False) if as_json else str(problem))
    show.note(f"{checked} checked, {len(problems)} problems")
    if problems:
        raise SystemExit(DAMAGED)


def _verify_file(path):
    from .. import binlog as bl
    from ..binlog.verify import problem_of
    from ..errors import FileIndexError

    kinds = (("stats_log", bl.open_pk_stats), ("bm25_stats", bl.open_bm25_stats))
    for kind, opened in kinds:
        if kind in Path(path).parts:
            try:
                opened(path)
            except FileIndexError as error:
                return [problem_of(path, error)]
            return []
    return bl.verify_binlog(path)


@binlog.command()
@PATH
@click.option("-n", "--rows", "row_count", type=click.IntRange(min=0), default=10, show_default=True, help="How many.")
@COLUMNS
@WHERE
@DELETED
@JSON
@_one_line_errors
def head(path, row_count, columns, where, with_deleted, as_json):
    """Shows the first rows of a file or a segment. With --json each row is one line of JSON."""
    schema, batches = _rows(path, columns, with_deleted, where)
    shown = []
    for batch in batches:
        batch = _plain(batch.slice(0, row_count - len(shown)))
        schema = batch.schema
        shown += batch.to_pylist()
        if len(shown) >= row_count:
            break
    if as_json:
        for row in shown:
            click.echo(show.json_row(row, schema))
    else:
        show.rows(schema, shown, len(shown))


@binlog.command()
@PATH
@click.argument("target", type=click.Path())
@COLUMNS
@WHERE
@DELETED
@JSON
@_one_line_errors
def export(path, target, columns, where, with_deleted, as_json):
    """Writes the rows of a file or a segment to TARGET: .parquet, .arrow (IPC file) or .jsonl, by its ending."""
    ending = Path(target).suffix
    if ending not in (".parquet", ".arrow", ".jsonl"):
        _fail(f"{target}: the ending is .parquet, .arrow or .jsonl", BAD_INPUT)
    schema, batches = _rows(path, columns, with_deleted, where)
    half = f"{target}.part"  # a name of its own until all is written: no half a file under the name asked for
    try:
        row_count = _write(half, ending, schema, batches)
        os.replace(half, target)
    finally:
        if os.path.exists(half):
            os.remove(half)
    if as_json:
        click.echo(json.dumps({"path": str(target), "rows": row_count, "bytes": os.path.getsize(target)}))
    else:
        show.note(f"{row_count:,} rows, {show.bytes_text(os.path.getsize(target))}: {target}")


def _write(path, ending, schema, batches) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    row_count = 0
    if ending == ".jsonl":
        with open(path, "w", encoding="utf-8") as out:
            for batch in batches:
                batch = _plain(batch)
                row_count += batch.num_rows
                out.writelines(show.json_row(row, batch.schema) + "\n" for row in batch.to_pylist())
        return row_count
    writer = pq.ParquetWriter(path, schema) if ending == ".parquet" else pa.ipc.new_file(path, schema)
    with writer:
        for batch in batches:
            row_count += batch.num_rows
            writer.write_batch(batch)
    return row_count


@binlog.command()
@PATH
@click.option("--list", "as_list", is_flag=True, help="Show each key with its latest delete instead of counts.")
@JSON
@_one_line_errors
def deletes(path, as_list, as_json):
    """Counts the deletes of a delete log, or those that a segment's rows meet and how many rows they hit."""
    from .. import binlog as bl

    if os.path.isdir(path):
        segment = bl.open_segment(path)
        table = segment.deletes()
        told = {"delete_logs": len(segment.deltas), "keys": table.num_rows, "rows": segment.row_count,
                "rows_hit": segment.row_count - segment.count()}
    else:
        with bl.open_binlog(path) as opened:
            if opened.kind != "delete":
                _fail(f"{path}: a log of kind {opened.kind}, not a delete log", BAD_INPUT)
            table = opened.to_arrow()
        told = {"deletes": table.num_rows, "keys": len(table["pk"].unique())}
    if as_list:
        if as_json:
            for row in table.to_pylist():
                click.echo(show.json_row(row, table.schema))
        else:
            show.rows(table.schema, table.slice(0, show.MOST_SHOWN).to_pylist(), table.num_rows)
    elif as_json:
        click.echo(json.dumps({"path": str(path), **told}))
    else:
        for name, count in told.items():
            click.echo(f"{name.replace('_', ' '):12} {count:,}")
