"""The way in: ``open_table(path)`` gives a Table, whose ``scan(...)`` checks what is asked and gives a Scan."""
from __future__ import annotations

import datetime
import os

import pyarrow as pa
from pypaimon.snapshot.time_travel_util import TimeTravelUtil
from pypaimon.table.file_store_table import FileStoreTable

from ..predicate import ALWAYS, And, Or, Predicate, col
from ..sql import parse_where
from ..temporal import zone
from .advise import Advice, advise
from .evolve import is_constant
from .listing import file_indexes
from .rewrite import rewrite_index
from .scan import Scan
from .spec import ON_INDEX_ERROR, ScanSpec
from .topn import TopN
from .verify import verify_index

__all__ = ["Table", "open_table"]


def open_table(source) -> Table:
    """The Paimon table at a path (or a pypaimon table, of any catalog).

    source : str | PathLike | pypaimon FileStoreTable
    Raises ValueError when no table is there, TypeError for anything else.

    >>> open_table("warehouse/db.db/orders").scan(where="status = 'PENDING'").count()  # doctest: +SKIP
    4
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if "://" not in path and not path.startswith("file:"):
            path = os.path.abspath(path)
        try:
            return Table(FileStoreTable.from_path(path))
        except (ValueError, FileNotFoundError) as error:
            raise ValueError(
                f"{path}: no Paimon table is here ({error}); give the table's folder, the one that holds 'schema' "
                "and 'snapshot'"
            ) from error
    if hasattr(source, "table_schema") and hasattr(source, "new_read_builder"):
        return Table(source)
    raise TypeError(f"open_table takes a path or a pypaimon table, not {type(source).__name__}")


class Table:
    """A Paimon table. ``pypaimon`` is pypaimon's own table object."""

    def __init__(self, table):
        self.pypaimon = table

    @property
    def path(self) -> str:
        return self.pypaimon.table_path

    @property
    def schema(self) -> pa.Schema:
        """The current schema in Arrow, as pypaimon gives it."""
        return ScanSpec(self.pypaimon, ALWAYS, (), {}).arrow

    @property
    def types(self) -> dict:
        """Column name -> PaimonType."""
        return ScanSpec(self.pypaimon, ALWAYS, (), {}).types

    def __repr__(self):
        return f"Table({self.path!r})"

    def scan(self, where=None, columns=None, limit=None, top_n=None, snapshot_id=None, tag=None, timestamp=None,
             partitions=None, on_index_error="warn", timezone="UTC", threads=None) -> Scan:
        """A question to one snapshot (by default the latest); nothing is read yet.

        where : None | str | Predicate    a WHERE text (Spark SQL) or a predicate
        columns : None | list of str      the columns of the result, in order; None is all of them
        limit : None | int                at most so many rows, any that match
        top_n : None | TopN | tuple       (column, k) or (column, k, descending): the first k rows in that order
        snapshot_id, tag, timestamp       at most one; timestamp: milliseconds since the epoch, a datetime, or
                                          its ISO text (naive: in ``timezone``): the snapshot of that time
        partitions : None | dict | list of dict   only these partitions, ``{"dt": "20240101"}``; None is NULL
        on_index_error : "warn" | "raise" | "ignore"   an unusable index: read the file in full, or fail
        timezone : str                    of naive timestamps compared with TIMESTAMP WITH LOCAL TIME ZONE
        threads : None | int              how many files are evaluated and read at once

        Raises ValueError for an unknown column, TypeError for a literal that its column cannot be compared with;
        both name the column.
        """
        if on_index_error not in ON_INDEX_ERROR:
            raise ValueError(f"on_index_error is one of {', '.join(ON_INDEX_ERROR)}, not {on_index_error!r}")
        if limit is not None and (not isinstance(limit, int) or limit < 0):
            raise ValueError(f"limit is a number of rows, not {limit!r}")
        table = _travel(self.pypaimon, snapshot_id, tag, timestamp, timezone)
        names = table.field_names
        where = _predicate(where)
        chosen = _partition_predicate(partitions, table.partition_keys)
        if chosen is not None:
            where = chosen if is_constant(where, ALWAYS) else where & chosen
        for column in where.columns():
            _check_column(column.name, names, "where")
        columns = tuple(names) if columns is None else _check_columns(columns, names)
        if top_n is not None:
            top_n = TopN.of(top_n)
            _check_column(top_n.column, names, "top_n")
        spec = ScanSpec(table, where, columns, {}, on_index_error, timezone)
        _ = spec.residual  # binds every literal to its column: errors now, not in the middle of a read
        return Scan(spec, limit, top_n, threads)

    def rewrite_index(self, options=None, where=None, dry_run=False, threads=None, progress=None, timezone="UTC"):
        """Gives the table's data files the indexes they should have, in one commit; data files are not touched.

        options : None | dict      ``file-index.*`` options to build by; None: the table's own
        where : None | str | Predicate    on partition columns: only the files of these partitions
        dry_run : bool             build in memory, report sizes, write nothing
        threads : None | int       data files indexed at once; each holds its indexed columns in memory
        progress : None | bool     a progress bar (rich); None: when standard error is a terminal

        Files whose index is as asked are left alone; indexes no longer asked for are dropped. Returns a
        RewriteResult; ``print`` shows it.

        Raises ValueError (an option, a column, a type that cannot be indexed, ``where`` on another column),
        CommitConflict when the files changed meanwhile (nothing is left behind: run it again), CommitUnknown when the
        commit's outcome is not known (nothing is cleaned up), OSError and FileIndexError for damaged data files.

        >>> print(open_table(path).rewrite_index({"file-index.bitmap.columns": "status"}))     # doctest: +SKIP
        """
        return rewrite_index(self.pypaimon, options, _predicate(where), dry_run, threads, progress, timezone)


    def verify_index(self, where=None, remove_orphans=False, min_age=None, threads=None, timezone="UTC"):
        """Checks every index against its data file, row by row, and looks for index files that nobody knows.

        where : None | str | Predicate     on partition columns: only the files of these partitions
        remove_orphans : bool              remove index files that no snapshot, tag, branch or changelog knows ...
        min_age : None | timedelta         ... and that are older than this; None is a day. A rewrite that is under way
                                           has written such files: stay above the time that it takes.
        threads : None | int               data files checked at once

        Returns a VerifyResult: ``ok``, ``files``, ``orphans``, ``removed``; ``print`` shows it. Raises ValueError
        (``where`` on another column), OSError and FileIndexError for damaged data files.

        >>> open_table(path).verify_index().ok                                     # doctest: +SKIP
        True
        """
        return verify_index(self.pypaimon, _predicate(where), remove_orphans, min_age, threads, timezone)

    def file_indexes(self, on_index_error="warn", threads=None) -> pa.Table:
        """Every index of every data file of the latest snapshot, one row each: where it is, and its size.

        on_index_error : "warn" | "raise" | "ignore"     an unusable index: leave it out, or fail

        >>> open_table(path).file_indexes().column("index_type")                   # doctest: +SKIP
        """
        if on_index_error not in ON_INDEX_ERROR:
            raise ValueError(f"on_index_error is one of {', '.join(ON_INDEX_ERROR)}, not {on_index_error!r}")
        return file_indexes(self.pypaimon, on_index_error, threads)

    def advise(self, queries=(), sample_files=4, sample_rows=1_000_000) -> Advice:
        """Which index for which column, measured by building every kind on sampled files and asking it the queries.

        queries : list of str | Predicate     what is asked of the table; without any, every column is looked at
        sample_files, sample_rows : int       files that are read, spread over the table, and rows of each

        Returns an Advice: ``columns``, ``queries``, ``warnings`` and ``options`` for rewrite_index; ``print`` shows it.
        Raises ValueError, TypeError (a query that does not fit the table).

        >>> print(open_table(path).advise(["status = 'PENDING'", "amount > 100"]))      # doctest: +SKIP
        """
        if isinstance(queries, (str, Predicate)):
            raise TypeError("queries is a list of WHERE texts or predicates")
        if sample_files < 1 or sample_rows < 1:
            raise ValueError("sample_files and sample_rows are 1 or more")
        queries = [_predicate(where) for where in queries]
        for where in queries:
            for column in where.columns():
                _check_column(column.name, self.pypaimon.field_names, "queries")
        return advise(self.pypaimon, queries, sample_files, sample_rows)


def _predicate(where) -> Predicate:
    if where is None:
        return ALWAYS
    if isinstance(where, str):
        return parse_where(where)
    if isinstance(where, Predicate):
        return where
    raise TypeError(f"where is a WHERE text or a predicate, not {type(where).__name__}")


def _check_columns(columns, names) -> tuple:
    if isinstance(columns, str):
        raise TypeError(f"columns is a list of names, not the text {columns!r}")
    columns = tuple(columns)
    for name in columns:
        _check_column(name, names, "columns")
    if len(set(columns)) != len(columns) or not columns:
        raise ValueError(f"columns names each column once, and at least one: {', '.join(columns) or 'none given'}")
    return columns


def _check_column(name, names, where: str) -> None:
    if name not in names:
        raise ValueError(f"{where}: the table has no column {name!r}; it has {', '.join(names)}")


def _partition_predicate(partitions, keys):
    """The partitions asked for, as a predicate on their columns."""
    if partitions is None:
        return None
    wanted = [partitions] if isinstance(partitions, dict) else list(partitions)
    choices = []
    for spec in wanted:
        for name in spec:
            if name not in keys:
                raise ValueError(
                    f"partitions: {name!r} is no partition column; these are {', '.join(keys) or 'none'}")
        choices.append(And([col(n).is_null() if v is None else col(n) == v for n, v in spec.items()]))
    return choices[0] if len(choices) == 1 else Or(choices)


def _travel(table, snapshot_id, tag, timestamp, timezone):
    """The table at the snapshot asked for."""
    given = {"snapshot_id": snapshot_id, "tag": tag, "timestamp": timestamp}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ValueError(f"give one of {' and '.join(named)}")
    options = {"global-index.enabled": "false"}  # its own row ranges would take the place of whole files
    if snapshot_id is not None:
        options["scan.snapshot-id"] = str(int(snapshot_id))
    elif tag is not None:
        options["scan.tag-name"] = str(tag)
    elif timestamp is not None:
        options["scan.timestamp-millis"] = str(_millis(timestamp, timezone))
    if not named:
        return table.copy(options)
    try:
        table = table.copy(options)
        TimeTravelUtil.resolve_snapshot(table)  # does it exist? said now, not when files are planned
    except (ValueError, FileNotFoundError) as error:
        raise ValueError(f"{table.table_path}: {named[0]}={given[named[0]]!r}: {error}") from error
    return table


def _millis(timestamp, timezone: str) -> int:
    if isinstance(timestamp, int):
        return timestamp
    if isinstance(timestamp, str):
        timestamp = datetime.datetime.fromisoformat(timestamp)
    if not isinstance(timestamp, datetime.datetime):
        raise TypeError(f"timestamp is milliseconds, a datetime or its ISO text, not {type(timestamp).__name__}")
    if timestamp.tzinfo is None:
        timestamp = timestamp.replace(tzinfo=zone(timezone))
    since = timestamp - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return since // datetime.timedelta(milliseconds=1)
