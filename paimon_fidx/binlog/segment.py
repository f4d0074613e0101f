"""A segment: the insert logs of its fields side by side, without the rows that delete logs have hit."""
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import CorruptError
from ..result import REMAIN, Decision
from .columns import SCALARS
from .deletes import PK, TS, delete_schema
from .model import DataType, hybrid_timestamp
from .paths import DeltaFile, FieldFile, SegmentPath
from .reader import Binlog, open_binlog

__all__ = ["Segment", "open_segment"]

ROW_ID, TIMESTAMP, FIRST_USER_FIELD = 0, 1, 100
KEY_TYPES = (DataType.INT64, DataType.VARCHAR)


def open_segment(
    path: str | os.PathLike[str],
    *,
    primary_key: int | None = None,
    names: Mapping[int, str] | None = None,
) -> Segment:
    """Opens a segment of a bucket or backup on this machine: lists its files, reads no rows.

    Parameters
    ----------
    path : the folder ``insert_log/{collection}/{partition}/{segment}``; delete and statistics logs are found beside it
    primary_key : field id; when None, the field that has statistics logs, else the first user field that can be a key
    names : column names by field id; the id itself where there is none

    Raises
    ------
    ValueError (a path of another form, no field files), FileNotFoundError;
    CorruptError when fields have different numbers of files

    Example
    -------
    >>> import paimon_fidx.binlog as bl
    >>> segment = bl.open_segment("files/insert_log/1/2/3", names={100: "id"})  # doctest: +SKIP
    >>> segment.to_arrow(columns=["id"])  # doctest: +SKIP
    """
    return Segment(SegmentPath.of(path), primary_key, dict(names or {}))


class Segment:
    """An open segment.

    Attributes
    ----------
    collection_id, partition_id, segment_id : int
    path : str
    chunks : tuple of {field id: FieldFile}   the k-th file by log id of every field
    deltas : tuple of DeltaFile   delete logs that may hit its rows
    primary_key : int | None   field id
    """

    def __init__(self, found: SegmentPath, primary_key: int | None, names: dict[int, str]):
        self.found = found
        self.path = str(found.folder)
        self.collection_id, self.partition_id = found.collection_id, found.partition_id
        self.segment_id = found.segment_id
        self.fields = {field_id: files for field_id, files in found.fields().items() if files}
        if not self.fields:
            raise ValueError(f"{self.path}: no field of this segment has a file")
        counts = {field_id: len(files) for field_id, files in self.fields.items()}
        most = max(counts.values())
        for field_id, count in counts.items():
            if count != most:
                listing = ", ".join(f"field {each}: {files}" for each, files in counts.items())
                raise CorruptError(f"segment[{self.segment_id}].field[{field_id}]", path=self.path,
                                   expected=f"{most} files, as other fields have", found=f"{count} ({listing})")
        self.chunks: tuple[dict[int, FieldFile], ...] = tuple(
            {field_id: files[k] for field_id, files in self.fields.items()} for k in range(most))
        self.deltas: tuple[DeltaFile, ...] = tuple(found.deltas())
        self._names = names
        self._deletes: pa.Table | None = None
        self._data_types: dict[int, int] | None = None
        self.primary_key = self._primary_key() if primary_key is None else primary_key

    def _primary_key(self) -> int | None:
        for field_id in (*self.found.statistics(), *sorted(self.fields)):
            if field_id >= FIRST_USER_FIELD and field_id in self.fields:
                with open_binlog(self.fields[field_id][0].path) as binlog:
                    if binlog.data_type in KEY_TYPES:
                        return field_id
        return None

    # --- columns

    def name(self, field_id: int) -> str:
        return self._names.get(field_id, str(field_id))

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names: user fields by id, then those of Milvus itself: 0, the row's id, and 1, its timestamp."""
        ordered = sorted(self.fields, key=lambda field_id: (field_id < FIRST_USER_FIELD, field_id))
        return tuple(self.name(field_id) for field_id in ordered)

    def field_id(self, column: str) -> int:
        """The field of a column, by its name or its id as text. KeyError for an unknown one."""
        for field_id in self.fields:
            if column in (self.name(field_id), str(field_id)):
                return field_id
        raise KeyError(f"{self.path}: no column {column!r}; there are {', '.join(self.columns)}")

    def _open(self, file: FieldFile) -> Binlog:
        """The binlog, its ids checked against the path."""
        binlog = open_binlog(file.path)
        for name, offset, wanted in (("collection_id", 21, self.collection_id), ("partition_id", 29, self.partition_id),
                                     ("segment_id", 37, self.segment_id), ("field_id", 45, file.field_id)):
            found = getattr(binlog, name)
            if found != wanted:
                raise CorruptError(f"descriptor.{name}", path=str(file.path), offset=offset,
                                   expected=f"{wanted}, as the path says", found=found)
        return binlog

    def _types(self, field_ids: Sequence[int]) -> list[pa.DataType]:
        """One type per field. Where the data type leaves it open, the first chunk that can tell: a vector's width, an
        array's kind."""
        types = []
        for field_id in field_ids:
            type = SCALARS.get(self.data_types()[field_id])
            for chunk in self.chunks if type is None else ():
                with self._open(chunk[field_id]) as binlog:
                    type = binlog.schema.types[0]
                    known = not (pa.types.is_list(type) and pa.types.is_null(type.value_type)
                                 or type == pa.binary() and binlog.data_type >= DataType.BINARY_VECTOR)
                if known:
                    break
            types.append(type)
        return types

    def data_types(self) -> dict[int, int]:
        """The data type of each field, from its first file."""
        if self._data_types is None:
            self._data_types = {}
            for field_id, file in self.chunks[0].items():
                with self._open(file) as binlog:
                    self._data_types[field_id] = binlog.data_type
        return self._data_types

    def column(self, chunk: Mapping[int, FieldFile], field_id: int) -> pa.ChunkedArray:
        """One field of a chunk."""
        file = chunk[field_id]
        with self._open(file) as binlog:
            if binlog.kind != "insert":
                raise CorruptError("event[0].type", path=str(file.path), expected="an insert log",
                                   found=f"one of kind {binlog.kind}")
            return binlog.to_arrow().column(0)

    # --- indexes

    def build_index(self, options: Mapping[str, str] | None = None) -> list[str]:
        """Builds a Paimon file index for each chunk and keeps it beside the binlogs, in ``fidx_log``; scans with
        ``where`` use it. Returns the paths.

        options : ``file-index.*`` options, columns by field id; when None a Bloom filter and a range-bitmap for the
            primary key, a bitmap or a range-bitmap for every other scalar field
        """
        from .indexing import build_indexes

        return build_indexes(self, options)

    def explain(self, where: Any) -> list:
        """What the index of each chunk says about a predicate: a list of ChunkVerdict. Reads index files only."""
        from .indexing import ChunkVerdict, Where

        bound, verdicts = Where(self, where), []
        for number, chunk in enumerate(self.chunks):
            result, path = bound.ask(chunk)
            count = {Decision.SKIP: 0, Decision.ROWS: len(result.rows or ())}.get(result.decision)
            verdicts.append(ChunkVerdict(number, result.decision, count, result.exact, path))
        return verdicts

    # --- deletes

    def deletes(self) -> pa.Table:
        """All deletes that may hit rows of this segment: each key once, as ``pk``, with its latest ``ts``."""
        if self._deletes is None:
            parts = []
            for delta in self.deltas:
                with open_binlog(delta.path) as binlog:
                    if binlog.kind != "delete":
                        raise CorruptError("event[0].type", path=str(delta.path), expected="a delete log",
                                           found=f"one of kind {binlog.kind}")
                    part = binlog.to_arrow()
                if part.num_rows:
                    if parts and part.schema != parts[0].schema:
                        raise CorruptError("event[0].payload.pk", path=str(delta.path),
                                           expected=f"{parts[0].schema.types[0]} keys, as in other delete logs",
                                           found=part.schema.types[0])
                    parts.append(part)
            if parts:
                latest = pa.concat_tables(parts).group_by(PK).aggregate([(TS, "max")])
                self._deletes = pa.table({PK: latest[PK], TS: latest[f"{TS}_max"]})
            else:
                self._deletes = delete_schema(text=False).empty_table()
        return self._deletes

    def _alive(self, keys: pa.ChunkedArray, times: pa.ChunkedArray, file: FieldFile) -> pa.ChunkedArray | None:
        """Which rows no delete has hit: a delete hits the rows of its key with a smaller timestamp."""
        deletes = self.deletes()
        if not deletes.num_rows:
            return None
        if deletes.schema.types[0] != keys.type:
            raise CorruptError("deletes.pk", path=str(file.path),
                               expected=f"{deletes.schema.types[0]}, as the deletes' keys", found=keys.type)
        hit = pc.take(deletes[TS], pc.index_in(keys, deletes[PK]))
        return pc.fill_null(pc.less_equal(hit, times), True)

    # --- rows

    @property
    def row_count(self) -> int:
        """Rows stored, deleted ones too. Reads one field's file footers."""
        field_id = min(self.fields)
        total = 0
        for chunk in self.chunks:
            with self._open(chunk[field_id]) as binlog:
                total += binlog.row_count
        return total

    def count(self, **filters: Any) -> int:
        """Rows that :meth:`to_arrow` would give."""
        return sum(batch.num_rows for batch in self.to_batches(columns=[], **filters))

    def to_arrow(self, columns: Sequence[str] | None = None, **filters: Any) -> pa.Table:
        """All chunks as one table; parameters and errors as for :meth:`to_batches`."""
        schema, batches = self.stream(columns, **filters)
        return pa.Table.from_batches(list(batches), schema)

    def to_batches(self, columns: Sequence[str] | None = None, **filters: Any) -> Iterator[pa.RecordBatch]:
        """The rows, chunk by chunk, in the stored order.

        Parameters
        ----------
        columns : names or field ids as text; the user fields when None
        deletes : bool = True      leave out rows that a delete has hit
        keys : iterable | None     only rows with these primary keys
        start, end : only rows whose timestamp is at least start and below end: hybrid, or a datetime
        where : str | predicate    SQL text or a predicate on scalar columns, by name or field id; what the indexes of
            :meth:`build_index` can tell is not read

        Raises
        ------
        KeyError (a column), ValueError (no primary key known where one is needed; a WHERE text), TypeError (literals);
        CorruptError, TruncatedError, UnsupportedError naming the file
        """
        return self.stream(columns, **filters)[1]

    def stream(
        self, columns: Sequence[str] | None = None, **filters: Any
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The schema and the batches of :meth:`to_batches`, for writers that ask for the schema first."""
        if columns is None:
            wanted = [field_id for field_id in sorted(self.fields) if field_id >= FIRST_USER_FIELD]
        else:
            wanted = [self.field_id(column) for column in columns]
        schema = pa.schema([(self.name(field_id), type) for field_id, type in zip(wanted, self._types(wanted))])
        return schema, self._rows(wanted, schema, _Filter(self, **filters))

    def _rows(self, wanted: list[int], schema: pa.Schema, chosen: _Filter) -> Iterator[pa.RecordBatch]:
        for chunk in self.chunks:
            result, index = chosen.where.ask(chunk) if chosen.where is not None else (REMAIN, None)
            if result.decision is Decision.SKIP:
                continue
            asked = [] if chosen.where is None or result.exact else chosen.where.fields
            held: dict[int, pa.ChunkedArray] = {}
            count: tuple[int, FieldFile] | None = None
            for field_id in dict.fromkeys([*wanted, *chosen.fields, *asked]) or [min(chunk)]:
                held[field_id] = self.column(chunk, field_id)
                if count is not None and len(held[field_id]) != count[0]:
                    raise CorruptError("rows", path=str(chunk[field_id].path),
                                       expected=f"{count[0]}, as in {count[1].path}", found=len(held[field_id]))
                count = (len(held[field_id]), chunk[field_id])
            mask = chosen.mask(held, chunk)
            if chosen.where is not None:
                matching = chosen.where.mask(result, held, count[0], index)
                mask = matching if mask is None else pc.and_(mask, matching)
            arrays = [_as(held[field_id], field.type, chunk[field_id]) for field_id, field in zip(wanted, schema)]
            if not wanted:  # a table without columns has no rows of its own: RecordBatch needs a struct to count them
                row_count = count[0] if mask is None else pc.sum(mask).as_py() or 0
                yield pa.RecordBatch.from_struct_array(pa.array([{}] * row_count, pa.struct([])))
                continue
            table = pa.Table.from_arrays(arrays, schema=schema)
            yield from (table if mask is None else table.filter(mask)).combine_chunks().to_batches()

    def verify(self) -> list:
        """What is wrong with its files, see :func:`verify_segment`; an empty list when all is well."""
        from .verify import verify_segment

        return verify_segment(self.path, primary_key=self.primary_key)

    def __repr__(self) -> str:
        return (f"<Segment {self.path}: {len(self.fields)} fields in {len(self.chunks)} chunks, "
                f"{len(self.deltas)} delete logs>")


class _Filter:
    """Which rows a caller wants, and the fields that it takes to tell."""

    def __init__(self, segment: Segment, deletes: bool = True, keys: Iterable[Any] | None = None,
                 start: int | datetime | None = None, end: int | datetime | None = None, where: Any = None):
        self.segment = segment
        self.where = None
        if where is not None:
            from .indexing import Where

            self.where = Where(segment, where)
        self.deletes = deletes and len(segment.deltas) > 0
        self.keys = None if keys is None else list(keys)
        self.start, self.end = (hybrid_timestamp(each) if isinstance(each, datetime) else each for each in (start, end))
        self.fields = []
        if self.deletes or self.keys is not None:
            if segment.primary_key is None:
                raise ValueError(f"{segment.path}: which field is the primary key? Say primary_key=")
            self.fields.append(self._present(segment.primary_key, "primary key"))
        if self.deletes or self.start is not None or self.end is not None:
            self.fields.append(self._present(TIMESTAMP, "timestamps"))

    def _present(self, field_id: int, what: str) -> int:
        if field_id not in self.segment.fields:
            raise CorruptError(f"segment[{self.segment.segment_id}].field[{field_id}]", path=self.segment.path,
                               expected=f"files of the {what}", found="none")
        return field_id

    def mask(self, held: dict[int, pa.ChunkedArray], chunk: dict[int, FieldFile]) -> pa.ChunkedArray | None:
        parts = []
        if self.deletes:
            key = self.segment.primary_key
            parts.append(self.segment._alive(held[key], held[TIMESTAMP], chunk[key]))
        if self.keys is not None:
            keys = held[self.segment.primary_key]
            try:
                parts.append(pc.is_in(keys, pa.array(self.keys, keys.type)))
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise TypeError(f"keys= of another type than the primary key's, {keys.type}: {error}") from None
        if self.start is not None:
            parts.append(pc.greater_equal(held[TIMESTAMP], pa.scalar(self.start, pa.int64())))
        if self.end is not None:
            parts.append(pc.less(held[TIMESTAMP], pa.scalar(self.end, pa.int64())))
        mask = None
        for part in parts:
            if part is not None:
                mask = part if mask is None else pc.and_(mask, part)
        return mask


def _as(column: pa.ChunkedArray, type: pa.DataType, file: FieldFile) -> pa.ChunkedArray:
    """A chunk's column in the segment's type: all null where it could not tell its own."""
    if column.type == type:
        return column
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), type)])
    if pa.types.is_list(column.type) and pa.types.is_null(column.type.value_type):
        return column.cast(type)
    raise CorruptError("payload.type", path=str(file.path), expected=f"{type}, as in other chunks", found=column.type)
