"""One index file: open it, ask it which rows a predicate needs, count and rank from it alone."""
from __future__ import annotations

import datetime
import decimal
import os
import struct
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from pyroaring import BitMap

from .core import bitmap, bloom_filter, bsi, range_bitmap
from .core.container import Container
from .core.cursor import Source
from .core.roaring import all_rows
from .errors import CorruptError, FileIndexError, NotAnswerable, UnsupportedError
from .evaluate import Bound, bound_predicate, column_type, evaluate
from .predicate import Column, col
from .result import REMAIN, SKIP, Decision, rows_result
from .types import PaimonType, parse_schema, refusal

__all__ = ["FileIndex", "IndexStats", "evaluate_many", "open_index"]

READERS = {
    "bloom-filter": bloom_filter.Reader,
    "bitmap": bitmap.Reader,
    "bsi": bsi.Reader,
    "range-bitmap": range_bitmap.Reader,
}
RANKING = ("range-bitmap", "bsi", "bitmap")        # the indexes that know values, cheapest for TOP-N first
COUNTING = ("bitmap", "range-bitmap", "bsi")       # ... for counts per value


class IndexStats(NamedTuple):
    """What reading has cost so far: range requests and bytes. Both 0 for bytes-like sources."""

    requests: int
    bytes_read: int


def open_index(source, schema) -> FileIndex:
    """Opens an index file; only its head is read.

    Parameters
    ----------
    source : bytes-like, str or os.PathLike, or a binary file object (seek and read; only needed ranges are read)
    schema : {name: Paimon SQL type}, pyarrow.Schema, or the "fields" list of a Paimon schema: the *file's* schema

    Raises
    ------
    FileIndexError : not an index file, truncated, corrupt, of an unknown version
    FileNotFoundError, OSError : the file cannot be read
    ValueError, TypeError : the schema cannot be read

    >>> f = open_index("orders.parquet.index", {"status": "STRING"})            # doctest: +SKIP
    >>> f.evaluate(col("status") == "PENDING").rows                             # doctest: +SKIP
    BitMap([0, 2, 5, 8])
    """
    return FileIndex(source, schema)


class FileIndex:
    """An open index file. Usable as a context manager; not for use by several threads at once.

    Attributes
    ----------
    columns : dict[str, tuple[str, ...]]   column (``attrs[os]`` for a MAP key) -> its index kinds
    path : str | None
    stats : IndexStats
    """

    KINDS = tuple(READERS)

    def __init__(self, source, schema):
        self._schema = _schema(schema)
        self._source = Source(source)
        try:
            self._container = Container(self._source)
        except BaseException:
            self._source.close()
            raise
        self._readers = {}
        self._bound = (None, None, None)
        self._row_count = None       # as the file's own indexes say
        self._expected = None        # as the caller says, for the length of a call

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def __repr__(self):
        return f"<FileIndex {self.path or 'in memory'}: {self.columns}>"

    def close(self):
        """Closes the file that was opened for a path. A file object handed in stays open."""
        self._source.close()

    @property
    def columns(self):
        return {name: tuple(kinds) for name, kinds in self._container.columns.items()}

    @property
    def path(self):
        return self._source.path

    @property
    def stats(self):
        return IndexStats(self._source.request_count, self._source.bytes_read)

    # ---- what the evaluation asks of a file

    def entries(self, name):
        """{kind: (start, length)} of a column's entries, in bytes; start -1 is an empty entry. None: no entry."""
        return self._container.columns.get(name)

    def reader(self, name, kind, type_):
        """The reader of one segment, opened once.

        Raises UnsupportedError when no index of this kind holds columns of ``type_``: the schema is another file's.
        """
        found = self._readers.get((name, kind))
        if found is not None:
            return found
        start, length = self._container.columns[name][kind]
        why = refusal(kind, type_)
        if why is not None:
            raise UnsupportedError(f"{kind}[{name}]", path=self.path, offset=start, expected="a type this index holds",
                                   found=type_.sql(), hint=f"{why}; is this the schema of the file?")
        reader = READERS[kind](self._source, start, length, type_.key_kind, f"{kind}[{name}]")
        rows = getattr(reader, "row_count", None)
        if rows is not None:
            if self._row_count is not None and rows != self._row_count:
                raise CorruptError(f"{kind}[{name}].row_count", path=self.path, offset=start,
                                   expected=f"{self._row_count}, as the file's other indexes have", found=rows)
            self._row_count = rows
            self._check_rows(f"{kind}[{name}].row_count", start)
        self._readers[name, kind] = reader
        return reader

    def _check_rows(self, where="row_count", offset=None):
        if self._expected is not None and self._row_count is not None and self._expected != self._row_count:
            raise CorruptError(where, path=self.path, offset=offset, expected=f"{self._expected}, the data file's",
                               found=self._row_count, hint="the index belongs to another data file, or is stale")

    @contextmanager
    def _rows_known(self, row_count):
        """Within, errors name the file, and the data file has ``row_count`` rows, where the caller knows."""
        self._expected = row_count
        try:
            self._check_rows()
            yield
        except FileIndexError as error:
            if error.path is None:
                error.path = self.path
            raise
        finally:
            self._expected = None

    @property
    def _known_rows(self):
        return self._row_count if self._expected is None else self._expected

    # ---- questions

    def evaluate(self, predicate, row_count=None, deleted=None, timezone="UTC"):
        """Which rows a predicate needs.

        Parameters
        ----------
        predicate : Predicate | str  from ``col(...)``, or a WHERE text
        row_count : int | None       rows of the data file; needed where no index carries it (Bloom filters)
        deleted : BitMap | None      rows that a deletion vector removes
        timezone : str | tzinfo      the session's zone, for literals without one

        Returns
        -------
        IndexResult : SKIP, REMAIN, or ROWS with ``rows`` and ``exact``

        Raises
        ------
        FileIndexError : damaged bytes, an unknown index kind, an index of another data file
        ValueError, TypeError : a column the schema lacks, a literal that cannot be compared

        >>> f.evaluate(col("status") == "PENDING")                              # doctest: +SKIP
        IndexResult(ROWS, 4 rows, exact)
        """
        bound = self._bind(predicate, timezone)
        with self._rows_known(row_count):
            return evaluate(bound, self, self._known_rows).minus(deleted)

    def _bind(self, predicate, timezone):
        # The last one is kept: many callers ask the same object of the same file again.
        if isinstance(predicate, Bound):
            return predicate
        if self._bound[0] is not predicate or self._bound[1] != timezone:
            self._bound = (predicate, timezone, bound_predicate(predicate, self._schema, timezone))
        return self._bound[2]

    def count(self, predicate=None, row_count=None, deleted=None, timezone="UTC"):
        """How many rows match; of all rows without a predicate. Raises NotAnswerable where the index is not exact.

        >>> f.count(col("status") == "PENDING")                                 # doctest: +SKIP
        4
        """
        if predicate is None:
            with self._rows_known(row_count):
                rows = self._rows(None)
            return len(rows if deleted is None else rows - deleted)
        result = self.evaluate(predicate, row_count, deleted, timezone)
        if not result.exact:
            raise NotAnswerable(f"{self._name()}: no exact index for {predicate!r}"[:300])
        return len(result.rows) if result.rows is not None else 0

    def distinct(self, column, deleted=None, row_count=None):
        """The distinct values that are not NULL, in order, as Python values.

        >>> f.distinct("status")                                                # doctest: +SKIP
        ['DONE', 'FAILED', 'PENDING']
        """
        return [value for value in self.value_counts(column, deleted, row_count) if value is not None]

    def value_counts(self, column, deleted=None, row_count=None):
        """Rows per value, in the order of the values, then NULL as None; what GROUP BY and COUNT(*) give.

        >>> f.value_counts("status")                                            # doctest: +SKIP
        {'DONE': 5, 'FAILED': 1, 'PENDING': 4}
        """
        column, type_ = self._column(column)
        with self._rows_known(row_count):
            reader = self._value_reader(column, type_, COUNTING)
            selection = None if deleted is None else self._rows(reader) - deleted
            if reader is None:
                nulls = self._rows(None) if selection is None else selection
                return {None: len(nulls)} if nulls else {}
            counts = {}
            for key, n in sorted(reader.counts(selection).items()):
                value = python_value(type_, key)
                counts[value] = counts.get(value, 0) + n            # the two zeros are one value
            nulls = reader.value_rows(absent=True)
            nulls = len(nulls) if deleted is None else len(nulls - deleted)
            if nulls:
                counts[None] = nulls
            return counts

    def min_max(self, column, deleted=None, row_count=None):
        """The smallest and the largest value, (None, None) when all are NULL. NaN is the largest.

        >>> f.min_max("amount")                                                 # doctest: +SKIP
        (Decimal('1.50'), Decimal('999.00'))
        """
        column, type_ = self._column(column)
        with self._rows_known(row_count):
            reader = self._value_reader(column, type_, RANKING)
            selection = None if deleted is None else self._rows(reader) - deleted
            found = []
            for largest in (False, True):
                rows = BitMap() if reader is None else reader.top(1, largest, selection)
                if not rows:
                    return None, None
                keys = reader.counts(rows)
                if len(keys) != 1:
                    raise CorruptError(f"{column!r}", path=self.path, expected="one value a row", found=len(keys))
                found.append(python_value(type_, *keys))
            return tuple(found)

    def top_n(self, column, n, descending=True, nulls_first=False, ties=False, where=None, rows=None, row_count=None,
              deleted=None, timezone="UTC"):
        """The rows with the n largest (or smallest) values.

        Parameters
        ----------
        column : str or Column
        n : int                    at most so many rows; with ``ties`` also those that tie with the last
        nulls_first : bool         NULL rows before all others, else after them
        where : Predicate | None   only rows that match it
        rows : BitMap | None       only these rows

        Returns
        -------
        IndexResult : ROWS, exact; where the index cannot rank or ``where`` is not exact, a superset that is not.

        >>> f.top_n("amount", 10).rows                                          # doctest: +SKIP
        """
        if n < 0:
            raise ValueError(f"n is at least 0, not {n}")
        column, type_ = self._column(column)
        base = REMAIN
        if where is not None:
            base = self.evaluate(where, row_count, None, timezone)
            if base.decision is Decision.SKIP:
                return base
        with self._rows_known(row_count):
            try:
                reader = self._value_reader(column, type_, RANKING, floored=True)
                selection = self._rows(reader) if rows is not None or deleted is not None or where is not None else None
            except NotAnswerable:
                reader, selection = None, None
                kinds = self.entries(column.index_name)
                if not kinds or any(start >= 0 for start, _ in kinds.values()) or self._known_rows is None:
                    return self._narrow(base, rows).minus(deleted)
            if where is not None and not base.exact:
                return self._narrow(base, rows).minus(deleted)
            if selection is not None:
                for limit in (rows, base.rows):
                    selection = selection if limit is None else selection & limit
                selection = selection if deleted is None else selection - deleted
            elif reader is None:
                selection = self._narrow(rows_result(self._rows(None), True), rows).minus(deleted).rows or BitMap()
            floored = _floored(type_)
            chosen = self._ranked(reader, n, descending, nulls_first, ties or floored, selection, type_)
            return rows_result(chosen, not floored)

    def _ranked(self, reader, n, descending, nulls_first, ties, selection, type_):
        if n == 0:
            return BitMap()
        nulls = selection if reader is None else reader.value_rows(absent=True)
        if selection is not None:
            nulls = nulls & selection
        if nulls_first and len(nulls) >= n:
            return nulls if ties else nulls[:n]
        chosen = BitMap() if reader is None else reader.top(n - len(nulls) if nulls_first else n, descending, selection, ties)
        if ties and type_.root in ("FLOAT", "DOUBLE"):
            zeros = self._zeros(reader, type_, selection)           # -0.0 and 0.0 are two keys and one value
            if zeros is not None and not zeros.isdisjoint(chosen):
                chosen |= zeros
        if nulls_first:
            return chosen | nulls
        missing = n - len(chosen)
        if missing > 0:
            chosen |= nulls if ties else nulls[:missing]
        return chosen

    def _zeros(self, reader, type_, selection):
        if reader is None:
            return None
        from .core.keys import Keys
        zeros = reader.select(Keys(type_.key_kind, ((-1, 0),)), False)
        return zeros if selection is None else zeros & selection

    @staticmethod
    def _narrow(result, rows):
        if rows is None or result.decision is Decision.SKIP:
            return result
        return rows_result(rows if result.rows is None else result.rows & rows, result.exact)

    # ---- helpers

    def _name(self):
        return self.path or "this index"

    def _column(self, column):
        if isinstance(column, str):
            column = col(column)
        elif not isinstance(column, Column):
            raise TypeError(f"a column is a str or fidx.col(...), not {type(column).__name__}")
        return column, column_type(column, self._schema)

    def _rows(self, reader):
        """All rows of the data file."""
        count = self._known_rows if reader is None else reader.row_count
        if count is None:
            for name, kinds in self._container.columns.items():
                type_ = self._schema.get(name)
                for kind in COUNTING:
                    if kinds.get(kind, (-1, 0))[0] >= 0 and type_ is not None and refusal(kind, type_) is None:
                        return all_rows(self.reader(name, kind, type_).row_count)
            raise NotAnswerable(f"{self._name()}: no index here knows the number of rows; pass row_count")
        return all_rows(count)

    def _value_reader(self, column, type_, order, floored=False):
        """The reader that knows the column's values, None when it is NULL throughout; else NotAnswerable."""
        if _floored(type_) and not floored:
            raise NotAnswerable(f"{self._name()}: {type_} is indexed by microseconds; its values cannot be told apart")
        kinds = self.entries(column.index_name) or {}
        for kind in order:
            if kinds.get(kind, (-1, 0))[0] >= 0:
                return self.reader(column.index_name, kind, type_)
        if kinds and all(start < 0 for start, _ in kinds.values()):
            return None
        raise NotAnswerable(f"{self._name()}: no index on {column!r} knows its values"
                            + (f" (there is {', '.join(kinds)})" if kinds else ""))


def _floored(type_):
    return type_.root in ("TIMESTAMP", "TIMESTAMP_LTZ") and type_.precision > 6


def _schema(schema):
    if isinstance(schema, dict) and all(type(t) is PaimonType for t in schema.values()):
        return schema
    return parse_schema(schema)


def evaluate_many(sources, schema, predicate, row_counts=None, deleted=None, threads=None, timezone="UTC"):
    """One predicate on many index files: driver-side pruning.

    Parameters
    ----------
    sources : sequence of bytes-like, paths or file objects
    schema, predicate, timezone : as for ``open_index`` and ``FileIndex.evaluate``; bound once for all files
    row_counts, deleted : sequences as long as ``sources``, or None
    threads : int | None     worker threads; None for as many as the processor has, where it pays

    Returns
    -------
    list[IndexResult] : one a source, in order

    Raises
    ------
    FileIndexError : for the first source (in order) that cannot be used

    >>> evaluate_many([a, b], {"city": "STRING"}, col("city") == "Oslo")        # doctest: +SKIP
    [IndexResult(SKIP), IndexResult(ROWS, 3 rows, exact)]
    """
    sources = sources if type(sources) is list else list(sources)
    schema = _schema(schema)
    bound = bound_predicate(predicate, schema, timezone)
    row_counts = row_counts if row_counts is None else list(row_counts)
    deleted = deleted if deleted is None else list(deleted)
    for name, given in (("row_counts", row_counts), ("deleted", deleted)):
        if given is not None and len(given) != len(sources):
            raise ValueError(f"{len(sources)} sources, {len(given)} {name}: not as many")

    def one(i):
        with FileIndex(sources[i], schema) as file:
            return file.evaluate(bound, row_counts and row_counts[i], deleted and deleted[i])

    results, left = None, range(len(sources))
    pruner = bound.bloom_pruner() if len(sources) >= MANY else None
    if pruner is not None:
        results, asked = pruner.run(sources, (SKIP, REMAIN, None))
        left = [i for i, result in enumerate(results) if result is None] if asked else ()
    if results is None:
        results = [None] * len(sources)
    if threads is None:
        threads = min(os.cpu_count() or 1, 8) if any(isinstance(s, (str, os.PathLike)) for s in sources[:1]) else 1
    if threads <= 1 or len(left) < MANY:
        for i in left:
            results[i] = one(i)
    else:
        # Several files a task: handing one over costs as much as asking a file.
        step = -(-len(left) // (4 * threads))
        parts = [left[at:at + step] for at in range(0, len(left), step)]
        with ThreadPoolExecutor(threads) as pool:
            for part, found in zip(parts, pool.map(lambda part: [one(i) for i in part], parts)):
                for i, result in zip(part, found):
                    results[i] = result
    return results


MANY = 4                       # sources from which a batch pays


# ---- keys back to values

_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=datetime.timezone.utc)


def python_value(type_, key):
    """The Python value of an index key: what ``distinct``, ``value_counts`` and ``min_max`` return.

    Moments outside Python's datetime (years 1 to 9999) come as numpy.datetime64.
    """
    root = type_.root
    if type_.key_kind == "bytes":
        return key.decode("utf-8", "surrogateescape") if root in ("CHAR", "VARCHAR", "STRING") else key
    if root == "BOOLEAN":
        return bool(key)
    if root == "FLOAT":
        return struct.unpack(">f", struct.pack(">i", key if key >= 0 else key ^ 0x7FFFFFFF))[0] + 0.0
    if root == "DOUBLE":
        return struct.unpack(">d", struct.pack(">q", key if key >= 0 else key ^ 0x7FFFFFFFFFFFFFFF))[0] + 0.0
    if root == "DECIMAL":
        return decimal.Decimal((key < 0, tuple(map(int, str(abs(key)))), -type_.scale))
    try:
        if root == "DATE":
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=key)
        if root == "TIME":
            return (_EPOCH + datetime.timedelta(milliseconds=key)).time() if 0 <= key < 86_400_000 else key
        if root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
            unit = "milliseconds" if type_.precision <= 3 else "microseconds"
            return (_EPOCH if root == "TIMESTAMP" else _EPOCH_UTC) + datetime.timedelta(**{unit: key})
    except OverflowError:
        import numpy
        return numpy.datetime64(key, "D" if root == "DATE" else "ms" if type_.precision <= 3 else "us")
    return key
