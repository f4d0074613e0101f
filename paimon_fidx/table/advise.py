"""Which index for which column: measured, by building every kind on a sample of the table's files and asking it.

Nothing is estimated by rules of thumb. Each candidate is built on the sampled rows, its size is what it takes on disk,
and each query is answered by it alone; the kind that leaves the fewest rows to read wins, the smallest among equals.
"""
from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ..build import IndexWriter
from ..core.bloom_filter import size_of
from ..index import open_index
from ..options import IndexOptions, IndexPlan
from ..predicate import ALWAYS
from ..result import Decision
from ..types import ACCEPTS, refusal
from .entries import read_snapshot
from .explain import table_text
from .plan import data_file
from .rewrite import latest_table
from .spec import ScanSpec
from .stored import NotReadable, file_batches
from .wanted import Wanted, table_options

__all__ = ["Advice", "ColumnAdvice", "QueryAdvice", "advise"]

SAME = 1.01  # a kind that leaves up to 1 % more rows counts as equal: then the smaller one wins
BLOOM_FPP = 0.01
BLOOM_HEAD_LEN = 4
DEFAULT_ITEMS = 1_000_000
HEADS = ("column", "type", "distinct", "nulls", "use", "index bytes", "other kinds", "why")


@dataclass(frozen=True, slots=True)
class ColumnAdvice:
    """What was measured of one column (or key of a MAP).

    distinct : int       distinct values of a sampled file, the most of any; nulls : share of the rows, 0 to 1
    sizes : dict         {index kind: bytes of a sampled file's index, on average}
    rows_left : dict     {index kind: rows that all queries on the column together leave to read, of the sample}
    use : str | None     the kind to build; None: none would help
    """

    name: str
    type: str
    distinct: int
    nulls: float
    sizes: dict
    rows_left: dict
    use: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class QueryAdvice:
    """One query with the advised indexes, on the sample: rows to read of all rows, bytes of files that are skipped of
    all bytes, bytes of the index files beside them."""

    where: str
    rows_total: int
    rows_left: int
    files_total: int
    files_skipped: int
    bytes_total: int
    bytes_skipped: int

    @property
    def rows_saved(self) -> int:
        return self.rows_total - self.rows_left


@dataclass(frozen=True, slots=True)
class Advice:
    """columns : tuple of ColumnAdvice; queries : tuple of QueryAdvice; warnings : tuple of str, about the options that
    the table has; options : dict, the ``file-index.*`` options to set; ``print`` shows all of it.
    """

    table_path: str
    columns: tuple
    queries: tuple
    options: dict
    warnings: tuple
    files_sampled: int
    rows_sampled: int

    def __str__(self):
        rows = [(c.name, c.type, str(c.distinct), f"{c.nulls:.1%}", c.use or "none",
                 str(c.sizes[c.use]) if c.use else "",
                 ", ".join(f"{kind} {size}" for kind, size in c.sizes.items() if kind != c.use), c.reason)
                for c in self.columns]
        lines = [f"{self.table_path}: {self.files_sampled} files, {self.rows_sampled} rows sampled"]
        lines += [table_text(HEADS, rows, ("column", "use"))] if rows else []
        lines += [f"{q.where}: {q.rows_left} of {q.rows_total} rows to read, {q.files_skipped} of {q.files_total} "
                  f"files ({q.bytes_skipped} of {q.bytes_total} bytes) skipped" for q in self.queries]
        lines += [f"warning: {text}" for text in self.warnings]
        lines += [f"{key} = {value}" for key, value in self.options.items()]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Sample:
    """Sampled rows of one data file: file : DataFile; fields : of its schema; table : pa.Table of stored columns"""

    file: object
    fields: list
    table: pa.Table


def advise(table, queries, sample_files: int, sample_rows: int) -> Advice:
    """See Table.advise. table : pypaimon FileStoreTable; queries : list of predicates."""
    table = latest_table(table)
    specs = [ScanSpec(table, where, (), {}) for where in queries]
    for spec in specs:
        _ = spec.residual  # binds the literals: errors now
    candidates = _candidates(table, queries)
    samples = _sample(table, candidates, specs, sample_files, sample_rows)
    columns = tuple(_column(table, name, kinds, specs, samples) for name, kinds in candidates.items())
    chosen = [_plan(table, c.name, c.use, c.distinct, candidates[c.name]) for c in columns if c.use]
    asked = tuple(_query(table, spec, chosen, samples) for spec in specs)
    return Advice(table.table_path, columns, asked, _options(chosen), tuple(_warnings(table, columns)), len(samples),
                  sum(s.table.num_rows for s in samples))


def _candidates(table, queries) -> dict:
    """{entry name: (column, MAP key, PaimonType, kinds)} of the queries' columns, or of all that can be indexed."""
    types = ScanSpec(table, ALWAYS, (), {}).types
    if queries:
        named = {c.index_name: (c.name, c.map_key) for where in queries for c in where.columns()}
    else:
        named = {name: (name, None) for name in types}
    found = {}
    for name, (column, key) in named.items():
        if column in table.partition_keys:
            continue  # a partition's files are known without an index
        type_ = types[column] if key is None else types[column].value
        kinds = tuple(kind for kind in ACCEPTS if type_ is not None and refusal(kind, type_) is None)
        if kinds:
            found[name] = (column, key, type_, kinds)
    return found


def _sample(table, candidates, specs, sample_files, sample_rows) -> list[_Sample]:
    """Rows of files spread evenly over the table."""
    entries = read_snapshot(table).entries
    step = max(1, len(entries) // sample_files)
    samples = []
    for entry in entries[::step][:sample_files]:
        file = data_file(entry.file, entry.bucket, entry.partition)
        same = file.schema_id == table.table_schema.id
        schema = table.table_schema if same else table.schema_manager.get_schema(file.schema_id)
        for spec in specs:
            spec.schemas[file.schema_id] = [f.to_dict() for f in schema.fields]
        plans = tuple(IndexPlan(column, key, kinds[0]) for column, key, _, kinds in candidates.values())
        wanted = Wanted(IndexOptions(plans), table, schema.fields, file.write_cols)
        if not wanted.columns:
            continue
        batches, rows = [], 0
        try:
            for batch in file_batches(table, file, entry.file, entry.partition, schema.fields, wanted.columns):
                batches.append(batch.slice(0, sample_rows - rows))
                rows += batches[-1].num_rows
                if rows >= sample_rows:
                    break
        except NotReadable:
            continue
        if rows:
            samples.append(_Sample(file, schema.fields, pa.Table.from_batches(batches)))
    return samples


def _plan(table, name, kind, distinct, candidate) -> IndexPlan:
    column, key, _, _ = candidate
    settings = {"items": max(1, distinct), "fpp": BLOOM_FPP} if kind == "bloom-filter" else {}
    return IndexPlan(column, key, kind, settings)


def _build(table, sample: _Sample, plans) -> tuple[bytes | None, Wanted]:
    """The index of a sample; None when the file has none of the columns."""
    wanted = Wanted(IndexOptions(tuple(plans)), table, sample.fields, sample.file.write_cols)
    if not wanted.options.plans:
        return None, wanted
    writer = IndexWriter(wanted.types, wanted.options)
    writer.write(sample.table)
    return writer.finish(), wanted


def _column(table, name, candidate, specs, samples) -> ColumnAdvice:
    _, _, type_, kinds = candidate
    distinct, nulls = _values(table, candidate, samples)
    rows = sum(s.table.num_rows for s in samples)
    asking = [spec for spec in specs if any(c.index_name == name for c in spec.where.columns())]
    sizes, left = {}, {}
    for kind in kinds:
        built = [(s, _build(table, s, [_plan(table, name, kind, distinct, candidate)])[0]) for s in samples]
        blobs = [blob for _, blob in built if blob is not None]
        if not blobs:
            continue
        sizes[kind] = sum(map(len, blobs)) // len(blobs)
        left[kind] = sum(_left(spec, sample, blob)[0] for spec in asking for sample, blob in built)
    use, reason = _choose(sizes, left, rows * len(asking), distinct)
    return ColumnAdvice(name, type_.sql(), distinct, nulls / rows if rows else 0.0, sizes, left, use, reason)


def _choose(sizes, left, all_rows, distinct):
    if not sizes:
        return None, "no rows were sampled"
    if not all_rows:  # no queries: the smallest kind that knows rows, not only files
        use = min((k for k in sizes if k != "bloom-filter"), key=sizes.get, default="bloom-filter")
        return use, f"the smallest that selects rows; {distinct} distinct values in a file"
    best = min(left.values())
    if best > 0.95 * all_rows:
        return None, "no index leaves out more than 5 % of the rows"
    use = min((k for k in left if left[k] <= best * SAME + 1), key=sizes.get)
    return use, f"leaves {left[use]} of {all_rows} rows, the smallest of those that do"


def _values(table, candidate, samples) -> tuple[int, int]:
    """(distinct values of a file, the most of any; NULLs of all) of a candidate's column."""
    column, key, _, kinds = candidate
    most = nulls = 0
    for sample in samples:
        plan = Wanted(IndexOptions((IndexPlan(column, key, kinds[0]),)), table, sample.fields, sample.file.write_cols)
        if not plan.columns:
            nulls += sample.table.num_rows
            continue
        values = sample.table.column(plan.columns[0])
        if key is not None:
            values = pc.map_lookup(values, pa.scalar(key, values.type.key_type), "last")
        nulls += values.null_count
        most = max(most, pc.count_distinct(values, mode="only_valid").as_py())
    return most, nulls


def _left(spec, sample: _Sample, blob) -> tuple[int, bool]:
    """(rows that an index leaves to read of a sample, whether the file is skipped)."""
    rows = sample.table.num_rows
    if blob is None:
        return rows, False
    question = spec.question(sample.file)
    with open_index(blob, question.types) as index:
        result = index.evaluate(question.bound, row_count=rows)
    if result.decision is Decision.SKIP:
        return 0, True
    return (len(result.rows) if result.rows is not None else rows), False


def _query(table, spec, plans, samples) -> QueryAdvice:
    rows_left = skipped = bytes_skipped = 0
    for sample in samples:
        rows, skip = _left(spec, sample, _build(table, sample, plans)[0] if plans else None)
        rows_left += rows
        skipped += skip
        bytes_skipped += sample.file.size * skip
    return QueryAdvice(repr(spec.where), sum(s.table.num_rows for s in samples), rows_left, len(samples), skipped,
                       sum(s.file.size for s in samples), bytes_skipped)


def _options(plans) -> dict:
    options = {}
    for plan in plans:
        key = f"file-index.{plan.kind}.columns"
        options[key] = f"{options[key]},{plan.name}" if key in options else plan.name
    for plan in plans:
        for name, value in plan.options.items():
            options[f"file-index.{plan.kind}.{plan.name}.{name}"] = str(value)
    return options


def _warnings(table, columns):
    """What the table's own options cost without need."""
    known = {c.name: c.distinct for c in columns}
    try:
        plans = table_options(table).plans
    except ValueError as error:
        yield f"the table's options cannot be built: {error}"
        return
    for plan in plans:
        items, fpp = plan.options.get("items", DEFAULT_ITEMS), plan.options.get("fpp", 0.1)
        distinct = known.get(plan.name)
        if plan.kind != "bloom-filter" or distinct is None:
            continue
        size = BLOOM_HEAD_LEN + size_of(items, fpp)[0] // 8
        fitting = BLOOM_HEAD_LEN + size_of(max(1, distinct), fpp)[0] // 8
        if items > 2 * max(1, distinct):
            origin = "" if "items" in plan.options else " (the default)"
            yield (f"bloom-filter on {plan.name} is made for {items} items{origin} and takes {size} bytes of every "
                   f"file; a file holds {distinct} values, for which {fitting} bytes do: set "
                   f"file-index.bloom-filter.{plan.name}.items = {max(1, distinct)}")
        elif distinct > 2 * items:
            yield (f"bloom-filter on {plan.name} is made for {items} items; a file holds {distinct} values: it says "
                   f"'maybe' far more often than {fpp:g}")
