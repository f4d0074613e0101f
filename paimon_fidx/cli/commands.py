"""The commands: what they ask of the library. Every error of the input is one line and an exit code, never a traceback.

Exit codes: 0 done, 2 bad input (a path, a WHERE text, a column, a literal), 3 damaged index bytes.
"""
from __future__ import annotations

import functools
import json
import os
import warnings

import click

from ..errors import FileIndexError
from . import show

__all__ = ["cli"]

BAD_INPUT, DAMAGED = 2, 3


def _one_line_errors(command):
    """Turns what the library raises for bad input into one line on stderr and an exit code."""

    @functools.wraps(command)
    def run(*args, **kwargs):
        warnings.showwarning = _show_warning
        try:
            return command(*args, **kwargs)
        except FileIndexError as error:
            _fail(error, DAMAGED)
        except ModuleNotFoundError as missing:
            _fail(f"this needs {missing.name}; install it with: pip install 'paimon-fidx[cli,paimon]'", BAD_INPUT)
        except BrokenPipeError:  # the reader, `head` say, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        except (ValueError, TypeError, LookupError, OSError) as error:
            _fail(error, BAD_INPUT)

    return run


def _fail(error, code):
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    click.echo(f"paimon-fidx: {' '.join(str(text).split()) or type(error).__name__}", err=True)
    raise SystemExit(code)


def _show_warning(message, *_):
    click.echo(f"paimon-fidx: warning: {message}", err=True)


def _scan_options(command):
    """The options that choose rows: the same for every command that scans a table."""
    options = (
        click.argument("table", type=click.Path()),
        click.option("--where", metavar="SQL", help="Rows wanted, for example \"status = 'PENDING' AND amount > 10\"."),
        click.option("--snapshot", "snapshot_id", type=int, help="Read this snapshot instead of the latest."),
        click.option("--tag", help="Read the snapshot of this tag."),
        click.option("--timezone", default="UTC", show_default=True, help="Zone of timestamps without one."),
        click.option(
            "--on-index-error",
            type=click.Choice(["warn", "raise", "ignore"]),
            default="warn",
            show_default=True,
            help="What a missing or damaged index means: read the whole file and say so, stop, or say nothing.",
        ),
        click.option("--json", "as_json", is_flag=True, help="For programs."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _scan(table, where, columns=None, limit=None, **options):
    from ..table import open_table

    named = {name: value for name, value in options.items() if value is not None}
    return open_table(table).scan(where=where, columns=columns, limit=limit, **named)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="paimon-fidx")
def cli():
    """Apache Paimon data-file indexes: query tables with them, and look into them.

    Exit codes: 0 done, 2 bad input, 3 damaged index bytes.
    """


@cli.command()
@_scan_options
@click.option("--columns", metavar="A,B", help="Columns to show, in this order; all by default.")
@click.option("--limit", type=click.IntRange(min=0), help="Show at most so many rows.")
@click.option("--count", "only_count", is_flag=True, help="Show only how many rows there are.")
@_one_line_errors
def query(table, where, columns, limit, only_count, as_json, **options):
    """Shows the rows of TABLE (a directory or URI) that --where selects, reading only what the indexes leave.

    With --json each row is one line of JSON; --count --json is one object.
    """
    names = [name.strip() for name in columns.split(",")] if columns else None
    scan = _scan(table, where, names, limit, **options)
    if only_count:
        count = scan.count()
        click.echo(json.dumps({"count": count}) if as_json else count)
        show.note(show.summary(scan, count))
        return
    with show.progress(scan, "reading") as batches:
        if as_json:
            for batch in batches:
                for row in batch.to_pylist():
                    click.echo(show.json_row(row, scan.schema))
            return
        shown, row_count = show.first_rows(batches)
    show.rows(scan.schema, shown, row_count)
    show.note(show.summary(scan, row_count))


@cli.command()
@_scan_options
@_one_line_errors
def explain(table, where, as_json, **options):
    """Shows for each data file of TABLE what its index says about --where, and why."""
    scan = _scan(table, where, **options)
    click.echo(json.dumps(show.verdicts(scan), ensure_ascii=False) if as_json else scan.explain())


@cli.command()
@click.argument("path", metavar="FILE.index", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@_one_line_errors
def inspect(path, as_json):
    """Shows what an index file holds: columns, index kinds, where each lies and how long it is."""
    from ..core.container import Container
    from ..core.cursor import Source

    container = Container(Source(path))
    if as_json:
        click.echo(json.dumps(show.container_dict(path, container), ensure_ascii=False))
    else:
        show.container(path, container)
