"""The commands that look after a table's indexes: rewrite, verify, indexes, advise.

Exit codes beside those of the other commands: 3 also when verify finds a missing, corrupt or stale index; 4 when the
table changed while its indexes were built, or the commit's outcome is not known.
"""
from __future__ import annotations

import dataclasses
import datetime
import functools
import json

import click

from . import show
from .commands import BAD_INPUT, DAMAGED, _fail, _one_line_errors, cli

__all__ = []

NOT_COMMITTED = 4
WHERE = click.option("--where", metavar="SQL", help="Only these partitions, for example \"dt = '20240101'\".")
THREADS = click.option("--threads", type=click.IntRange(min=1), help="Data files worked on at once.")
JSON = click.option("--json", "as_json", is_flag=True, help="For programs.")


def _commit_errors(command):
    @functools.wraps(command)
    def run(*args, **kwargs):
        try:
            return command(*args, **kwargs)
        except RuntimeError as error:
            _fail(error, NOT_COMMITTED)

    return run


@cli.command()
@click.argument("table", type=click.Path())
@click.option("--option", "-o", "options", multiple=True, metavar="KEY=VALUE",
              help="A file-index.* option, for example file-index.bitmap.columns=status; given any, the table's own "
                   "are not used. Repeat it.")
@WHERE
@click.option("--dry-run", is_flag=True, help="Build, show the sizes, write nothing.")
@THREADS
@JSON
@_one_line_errors
@_commit_errors
def rewrite(table, options, where, dry_run, threads, as_json):
    """Gives the data files of TABLE the indexes that its options (or --option) ask for, in one commit."""
    from ..table import open_table

    asked = None
    if options:
        asked = {}
        for option in options:
            key, equals, value = option.partition("=")
            if not equals:
                _fail(f"--option is KEY=VALUE, not {option!r}", BAD_INPUT)
            asked[key.strip()] = value.strip()
    result = open_table(table).rewrite_index(asked, where, dry_run, threads, progress=False if as_json else None)
    click.echo(json.dumps(dataclasses.asdict(result), default=str, ensure_ascii=False) if as_json else result)


@cli.command()
@click.argument("table", type=click.Path())
@WHERE
@click.option("--remove-orphans", is_flag=True, help="Remove index files that no snapshot, tag or branch knows.")
@click.option("--min-age-hours", type=click.FloatRange(min=0), default=24.0, show_default=True,
              help="Remove only orphans of this age; stay above the time that a rewrite takes.")
@THREADS
@JSON
@_one_line_errors
def verify(table, where, remove_orphans, min_age_hours, threads, as_json):
    """Checks every index of TABLE against its data file, row by row, and lists index files that nobody knows."""
    from ..table import open_table

    result = open_table(table).verify_index(where, remove_orphans, datetime.timedelta(hours=min_age_hours), threads)
    if as_json:
        click.echo(json.dumps({"ok": result.ok, **dataclasses.asdict(result)}, default=str, ensure_ascii=False))
    else:
        click.echo(result)
    if not result.ok:
        raise SystemExit(DAMAGED)


@cli.command()
@click.argument("table", type=click.Path())
@JSON
@_one_line_errors
def indexes(table, as_json):
    """Lists every index of every data file of TABLE: column, kind, where it is, how long."""
    from ..table import open_table

    found = open_table(table).file_indexes()
    if as_json:
        for row in found.to_pylist():
            click.echo(json.dumps(row, ensure_ascii=False))
        return
    names = ["file_path", "partition", "column_name", "index_type", "storage_type", "index_size_in_bytes",
             "index_container_size_in_bytes", "record_count"]
    shown = found.select(names).to_pylist()
    for row in shown:
        row["file_path"] = row["file_path"].rsplit("/", 1)[-1]
    show.rows(found.select(names).schema, shown, len(shown))


@cli.command()
@click.argument("table", type=click.Path())
@click.option("--query", "-q", "queries", multiple=True, metavar="SQL", help="A WHERE text that is asked. Repeat it.")
@click.option("--files", "sample_files", type=click.IntRange(min=1), default=4, show_default=True,
              help="Data files to sample.")
@click.option("--rows", "sample_rows", type=click.IntRange(min=1), default=1_000_000, show_default=True,
              help="Rows of each.")
@JSON
@_one_line_errors
def advise(table, queries, sample_files, sample_rows, as_json):
    """Says which index each column of TABLE should have, by building all kinds on a sample and asking the queries."""
    from ..table import open_table

    advice = open_table(table).advise(list(queries), sample_files, sample_rows)
    click.echo(json.dumps(dataclasses.asdict(advice), ensure_ascii=False) if as_json else advice)
