"""Arrow batches and table options in, the bytes of an index file out.

    >>> import pyarrow as pa
    >>> data = build_index(pa.table({"a": pa.array([3, 1, None], pa.int32())}), {"file-index.bsi.columns": "a"})
    >>> len(data)
    145

Bloom-filter, bsi and range-bitmap bodies are byte for byte what Java Paimon writes for the same rows; a bitmap differs
only in the order of its bitmaps, which stand in key order here and in the order of a Java hash map there.
"""
from __future__ import annotations

from paimon_fidx.core import arrow, bitmap, bloom_filter, bsi, columns, container, range_bitmap
from paimon_fidx.core.codes import Codes
from paimon_fidx.errors import UnsupportedError
from paimon_fidx.options import IndexOptions, parse_options
from paimon_fidx.types import parse_schema, parse_type, refusal

__all__ = ["IndexWriter", "build_index"]

KINDS = ("bool", "int8", "int16", "int32", "int64", "float32", "float64", "bytes")
NARROW = ("BOOLEAN", "TINYINT", "SMALLINT")       # few enough keys that Java puts each into a chunk of its own
STRINGS = ("CHAR", "VARCHAR", "STRING")


def build_index(batches, options, schema=None):
    """The bytes of the index file for all rows of ``batches``.

    Parameters
    ----------
    batches : anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pyarrow, polars, duckdb, nanoarrow,
        pandas), or an iterable of such; rows are numbered through all of them
    options : Mapping[str, str]   table options, see :mod:`paimon_fidx.options`, or an ``IndexOptions``
    schema : ``{name: Paimon SQL type}``, a pyarrow schema, or a Paimon schema's fields; else the Arrow types decide

    Raises
    ------
    ValueError   an unknown or unreadable option, a column that is missing, a value that does not fit its type
    UnsupportedError   (a ValueError too) a column type that the index cannot hold
    TypeError   ``batches`` is no Arrow data
    """
    writer = IndexWriter(schema, options)
    writer.write(batches)
    return writer.finish()


class IndexWriter:
    """Builds one index file from batches that arrive one after the other.

    The columns to be indexed stay referenced until :meth:`finish`; everything else in a batch is let go at once.
    Options, columns and types are checked before any row is read: here when a schema is given, else at the first batch.

    Example
    -------
    >>> writer = IndexWriter({"id": "BIGINT"}, {"file-index.bloom-filter.columns": "id"})
    >>> for batch in batches:                                        # doctest: +SKIP
    ...     writer.write(batch)
    >>> data = writer.finish()                                       # doctest: +SKIP

    Parameters and errors are those of :func:`build_index`.
    """

    def __init__(self, schema, options):
        self._options = options if isinstance(options, IndexOptions) else parse_options(options)
        if not self._options.plans:
            raise ValueError("the options ask for no index: there is no file-index.<kind>.columns among them")
        self._row_count = 0
        self._columns = None               # entry name -> (columns.Column, {kind: write function's maker})
        self._fields = {}                  # column of the table -> the columns.Column objects fed from it
        if schema is not None:
            self._settle(parse_schema(schema))

    @property
    def row_count(self):
        """Rows written so far."""
        return self._row_count

    @property
    def options(self):
        """The parsed :class:`~paimon_fidx.options.IndexOptions`; ``is_embedded`` says where the bytes belong."""
        return self._options

    def write(self, batches):
        """Adds the rows of one batch, or of anything :func:`build_index` takes."""
        if self._fields is None:
            raise ValueError("this index is finished; it takes no more rows")
        known = at = None
        for schema, batch in arrow.read_batches(batches):
            if self._columns is None:
                wanted = {plan.column for plan in self._options.plans}
                self._settle({name: parse_type(sql) if sql else None
                              for name, sql in schema.sql_types().items() if name in wanted})
            if schema is not known:
                known, at = schema, self._places(schema)
            if batch is None:
                continue
            for field, fed in at:
                taken = batch.take(field)
                for column in fed:
                    column.append(schema, field, taken)
            self._row_count += batch.length

    def finish(self):
        """The bytes of the index file. No rows can be added afterwards."""
        if self._fields is None:
            raise ValueError("this index is finished already")
        if self._columns is None:
            raise ValueError("no Arrow batch and no schema: the columns to index are unknown")
        out = container.Writer({name: tuple(writers) for name, (_, writers) in self._columns.items()})
        entries, self._columns, self._fields = self._columns, {}, None
        for name in list(entries):
            column, writers = entries.pop(name)
            if self._row_count == 0 and column.is_map_key:
                for _ in writers:          # Java: a MAP key's writer that was never called leaves an empty entry
                    out.segment(None)
                continue
            keys = column.keys()
            column = None
            codes = Codes(keys)            # bitmap and range-bitmap of one column share the sorting
            for write in writers.values():
                out.segment(lambda target, write=write: write(keys, codes, target))
        return out.finish()

    def _settle(self, types):
        """Checks every plan against the types and makes the columns; nothing is kept when one of them fails."""
        settled, fields = {}, {}
        for plan in self._options.plans:
            option = f"option 'file-index.{plan.kind}.columns'"
            if plan.column not in types:
                raise ValueError(f"{option} names {plan.name!r}, but there is no column {plan.column!r}")
            type_ = types[plan.column]
            if plan.map_key is not None and type_ is not None:
                if type_.root != "MAP":
                    raise UnsupportedError(f"{option}: column {plan.column!r}",
                                           expected="a MAP, to index one of its keys", found=type_.sql())
                if type_.key.root not in STRINGS:
                    raise UnsupportedError(f"{option}: column {plan.column!r}", expected="a MAP with strings as keys",
                                           found=type_.sql())
                type_ = type_.value
            reason = refusal(plan.kind, type_) if type_ is not None else "its Arrow type is no type of a Paimon column"
            if reason is not None:
                raise UnsupportedError(f"{option}: column {plan.name!r}: {reason}")
            if plan.name not in settled:
                column = columns.Column(plan.name, KINDS.index(type_.key_kind), _logical(type_), type_.scale or 0,
                                        plan.map_key)
                settled[plan.name] = column, {}
                fields.setdefault(plan.column, []).append(column)
            settled[plan.name][1][plan.kind] = _writer(plan, type_)
        self._columns, self._fields = settled, fields

    def _places(self, schema):
        """[(field number, columns fed from it)] of one Arrow schema, its types checked."""
        names, places = schema.names, []
        for name, fed in self._fields.items():
            found = [i for i, known in enumerate(names) if known == name]
            if len(found) != 1:
                wrong = "twice in" if found else "missing from"
                raise ValueError(f"column {name!r} is indexed but {wrong} the Arrow batch, which has "
                                 f"{', '.join(names[:20])}")
            for column in fed:
                column.check(schema, found[0])
            places.append((found[0], fed))
        return places


def _logical(type_):
    """What the numbers in an Arrow array mean, for :class:`columns.Column`."""
    if type_.root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        return "millis" if type_.precision <= 3 else "micros"
    if type_.key_kind == "bytes":
        return "string" if type_.root in STRINGS else "bytes"
    return {"DATE": "date", "TIME": "time", "DECIMAL": "decimal", "BOOLEAN": "", "FLOAT": "", "DOUBLE": ""}.get(
        type_.root, "int")


def _writer(plan, type_):
    """A function (keys, codes, output) that appends the index of one plan; ValueError for options that cannot be."""
    try:
        if plan.kind == "bloom-filter":
            writer = bloom_filter.Writer(plan.options.get("items", 1_000_000), plan.options.get("fpp", 0.1))
            return lambda keys, codes, out: writer.write(keys, out)
        if plan.kind == "bsi":
            writer = bsi.Writer()
            return lambda keys, codes, out: writer.write(keys, out)
        if plan.kind == "bitmap":
            writer = bitmap.Writer(plan.options.get("version", 2), plan.options.get("index-block-size", 16384))
        else:
            writer = range_bitmap.Writer(plan.options.get("chunk-size", 0 if type_.root in NARROW else 16384))
        return lambda keys, codes, out: writer.write(codes, out)
    except ValueError as error:
        raise ValueError(f"options file-index.{plan.kind}.{plan.name}.*: {error}") from None
