"""What a scan asks, in one immutable, picklable record shared by all its splits."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pypaimon.schema.data_types import PyarrowFieldParser

from ..evaluate import Bound
from ..types import PaimonType, parse_type
from .evolve import FileSchema, rewrite
from .residual import Residual

__all__ = ["ON_INDEX_ERROR", "Question", "ScanSpec"]

ON_INDEX_ERROR = ("warn", "raise", "ignore")


class Question:
    """A predicate in the terms of a file: its columns' names and types there.

    predicate, types, reasons : as evolve.rewrite gives them; bound : the predicate with its literals as index keys
    """

    def __init__(self, predicate, types, reasons, timezone):
        self.predicate, self.types, self.reasons = predicate, types, reasons
        self._timezone = timezone

    @cached_property
    def bound(self) -> Bound:
        return Bound(self.predicate, self.types, self._timezone)


@dataclass(frozen=True)
class ScanSpec:
    """One question to one snapshot.

    table : pypaimon's FileStoreTable, its snapshot chosen; where : predicate, And(()) for none;
    columns : the columns asked for, in order; schemas : {schema id: fields as in schema files}, of all planned files;
    on_index_error : "warn", "raise" or "ignore"; timezone : of naive datetimes.
    """

    table: Any
    where: Any
    columns: tuple
    schemas: dict
    on_index_error: str = "warn"
    timezone: str = "UTC"

    @cached_property
    def types(self) -> dict[str, PaimonType]:
        """Every column of the table with its type."""
        return {f.name: parse_type(f.type) for f in self.table.fields}

    @cached_property
    def arrow(self) -> pa.Schema:
        """The table's whole Arrow schema, as pypaimon gives it."""
        return PyarrowFieldParser.from_paimon_schema(self.table.fields)

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of what the scan returns."""
        return pa.schema([self.arrow.field(name) for name in self.columns])

    @cached_property
    def residual(self) -> Residual:
        """The predicate over Arrow batches."""
        return Residual(self.where, self.types, self.timezone)

    @cached_property
    def defaulted(self) -> frozenset:
        """Ids of fields with a default value."""
        options = self.table.table_schema.options
        return frozenset(
            f.id for f in self.table.fields
            if f.default_value is not None or f"fields.{f.name}.default-value" in options
        )

    @cached_property
    def _file_schemas(self) -> dict:
        return {}

    def file_schema(self, schema_id: int, write_cols=None) -> FileSchema:
        """How the table's columns look in files of one schema."""
        key = (schema_id, write_cols)
        if key not in self._file_schemas:
            table_fields = [f.to_dict() for f in self.table.fields]
            self._file_schemas[key] = FileSchema(table_fields, self.schemas[schema_id], write_cols, self.defaulted)
        return self._file_schemas[key]

    def question(self, file) -> Question:
        """What to ask of the index of a file; files of one schema and partition share it."""
        key = (file.schema_id, file.write_cols, tuple(file.partition.items()))
        if key not in self._questions:
            schema = self.file_schema(file.schema_id, file.write_cols)
            self._questions[key] = Question(*rewrite(self.where, schema, self.types, file.partition, self.timezone),
                                            self.timezone)
        return self._questions[key]

    @cached_property
    def _questions(self) -> dict:
        return {}

    @cached_property
    def opaque_schema(self) -> FileSchema:
        """The schema of files that are merged."""
        return FileSchema.opaque([f.to_dict() for f in self.table.fields], "merged")

    def __getstate__(self):
        kept = ("table", "where", "columns", "schemas", "on_index_error", "timezone")
        return {name: self.__dict__[name] for name in kept}

    def __setstate__(self, state):
        self.__dict__.update(state)
