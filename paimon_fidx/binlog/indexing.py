"""Paimon file indexes over the binlogs of a segment, one index file for each chunk.

They are kept beside the binlogs: {root}/fidx_log/{collection}/{partition}/{segment}/{least log}-{greatest log}.index.
A chunk's binlogs never change, and others have other log ids, so an index can be missing but not stale. Columns stand
in them by field id. What they answer is asked of the same code as for Paimon tables, and so are rows that they cannot
decide.
"""
from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..build import build_index
from ..errors import CorruptError
from ..index import open_index
from ..result import REMAIN, Decision, IndexResult
from ..sql import parse_where
from ..table.residual import Residual
from ..types import parse_type
from .model import DataType

if TYPE_CHECKING:
    from .paths import FieldFile
    from .segment import Segment

__all__ = ["ChunkVerdict", "Where", "build_indexes", "index_path"]

FOLDER = "fidx_log"
TYPES = {
    DataType.BOOL: "BOOLEAN", DataType.INT8: "TINYINT", DataType.INT16: "SMALLINT", DataType.INT32: "INT",
    DataType.INT64: "BIGINT", DataType.TIMESTAMPTZ: "BIGINT", DataType.FLOAT: "FLOAT", DataType.DOUBLE: "DOUBLE",
    DataType.STRING: "STRING", DataType.VARCHAR: "STRING", DataType.TEXT: "STRING",
}
FLOATS = (DataType.FLOAT, DataType.DOUBLE)
FEW_VALUES = 1000  # up to so many, or a tenth of the rows, a bitmap of each value is small


@dataclass(frozen=True)
class ChunkVerdict:
    """What a chunk's index says about a predicate.

    ``decision``: SKIP, REMAIN or ROWS; ``row_count``: of the rows it selects, None for REMAIN; ``exact``: no row has to
    be looked at again; ``index``: the index file's path, None where the chunk has none.
    """

    chunk: int
    decision: Decision
    row_count: int | None
    exact: bool
    index: str | None


def index_path(segment: Segment, chunk: Mapping[int, FieldFile]) -> Path:
    """Where the index of a chunk is, or would be."""
    found = segment.found
    logs = [file.log_id for file in chunk.values()]
    group = [] if found.group is None else [found.group]
    return found.root.joinpath(FOLDER, str(found.collection_id), str(found.partition_id), *group,
                               str(found.segment_id), f"{min(logs)}-{max(logs)}.index")


def build_indexes(segment: Segment, options: Mapping[str, str] | None) -> list[str]:
    """Writes an index file for each chunk; see :meth:`Segment.build_index`."""
    paths = []
    data_types = segment.data_types()
    scalars = [field_id for field_id, data_type in data_types.items() if data_type in TYPES]
    schema = {str(field_id): TYPES[data_types[field_id]] for field_id in scalars}
    for chunk in segment.chunks:
        columns = {str(field_id): segment.column(chunk, field_id) for field_id in scalars}
        chosen = _options(segment, data_types, columns) if options is None else dict(options)
        data = build_index(pa.table(columns), chosen, schema)
        path = index_path(segment, chunk)
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".part")  # renamed when whole: a reader never meets half an index
        half.write_bytes(data)
        os.replace(half, path)
        paths.append(str(path))
    return paths


def _options(segment: Segment, data_types: Mapping[int, int], columns: Mapping[str, pa.ChunkedArray]) -> dict[str, str]:
    """A Bloom filter and a range-bitmap for the primary key; for other scalars a bitmap where few values repeat, else a
    range-bitmap."""
    kinds: dict[str, list[str]] = {"bloom-filter": [], "range-bitmap": [], "bitmap": []}
    for name, column in columns.items():
        field_id = int(name)
        if field_id == segment.primary_key:
            kinds["bloom-filter"].append(name)
            kinds["range-bitmap"].append(name)
        elif data_types[field_id] not in FLOATS and len(column.unique()) <= max(FEW_VALUES, len(column) // 10):
            kinds["bitmap"].append(name)
        else:
            kinds["range-bitmap"].append(name)
    return {f"file-index.{kind}.columns": ",".join(names) for kind, names in kinds.items() if names}


class Where:
    """A predicate on a segment's columns, bound to its field ids and their types.

    where : WHERE text or a predicate; columns by name or field id. ValueError for text that does not parse, KeyError
    for an unknown column, TypeError for a column that cannot be compared, or not with that literal
    """

    def __init__(self, segment: Segment, where: Any):
        predicate = parse_where(where) if isinstance(where, str) else where
        fields = {column.name: segment.field_id(column.name) for column in predicate.columns()}
        self.predicate = predicate.rename({name: str(field_id) for name, field_id in fields.items()})
        self.fields = list(dict.fromkeys(fields.values()))
        data_types = segment.data_types()
        for name, field_id in fields.items():
            if data_types[field_id] not in TYPES:
                raise TypeError(f"where: column {name!r} has data type {data_types[field_id]}, which does not compare")
        self._schema = {str(field_id): TYPES[data_types[field_id]] for field_id in self.fields}
        self._residual = Residual(self.predicate, {name: parse_type(type) for name, type in self._schema.items()})
        self._segment = segment

    def ask(self, chunk: Mapping[int, FieldFile]) -> tuple[IndexResult, str | None]:
        """What the chunk's index says, and its path. Reads no binlog."""
        path = index_path(self._segment, chunk)
        if not path.is_file():
            return REMAIN, None
        with open_index(str(path), self._schema) as index:
            return index.evaluate(self.predicate), str(path)

    def mask(
        self, result: IndexResult, held: Mapping[int, pa.ChunkedArray], row_count: int, path: str | None
    ) -> pa.Array:
        """Which rows of a chunk match. ``held`` has the predicate's columns where the index's result is not exact."""
        mask = np.ones(row_count, dtype=bool)
        if result.decision is Decision.ROWS:
            if len(result.rows) and result.rows.max() >= row_count:
                raise CorruptError("index.rows", path=path, expected=f"rows below {row_count}, which the chunk has",
                                   found=result.rows.max())
            mask[:] = False
            mask[np.frombuffer(result.rows.to_array(), dtype=np.uint32)] = True
        if not result.exact:
            batch = pa.table({str(field_id): held[field_id] for field_id in self.fields})
            mask &= self._residual.mask(batch)
        return pa.array(mask)
