"""The Spark job: files are planned by the driver, indexes evaluated and rows read by the executors.

The plan becomes a DataFrame of one row a file (or a group of files that must be merged), small and self-contained;
``mapInArrow`` over it opens each file's index, reads the selected rows and yields them as Arrow batches. What is common
to all files (the question asked and the table's schemas) travels once, in the function.
"""
from __future__ import annotations

import os
import pickle
import sys

import pyarrow as pa

from ..result import Decision
from ..table import Split, open_table
from ..table.formats import ReadMeter
from .types import exchange_schema, spark_schema, to_exchange

__all__ = ["Report", "prune", "scan"]

TASK_BYTES = 1 << 30  # data bytes of the files of one task, roughly, when there are many files
TASK_FILES = 1000  # at most so many files a task: a retry repeats them
GROUP_COLUMNS = "path STRING, bytes BIGINT, `group` BINARY"
VERDICT_COLUMNS = pa.schema([
    ("path", pa.string()),
    ("partition", pa.map_(pa.string(), pa.string())),
    ("bytes", pa.int64()),
    ("row_count", pa.int64()),
    ("decision", pa.string()),
    ("selected", pa.int64()),
    ("exact", pa.bool_()),
    ("rows", pa.binary()),
    ("reason", pa.string()),
    ("index_location", pa.string()),
    ("index_bytes", pa.int64()),
])


class Report:
    """What the executors did for a scan, summed up once an action has run.

    Needs a classic (not Connect) session, whose accumulators it uses: a retried or repeated task counts again.

    Example
    -------
    >>> report = Report(spark)                                                                       # doctest: +SKIP
    >>> scan(spark, path, "status = 'PENDING'", report=report).count(), report["files_skipped"]      # doctest: +SKIP
    """

    NAMES = (
        "files", "files_skipped", "rows", "rows_selected", "rows_returned",
        "data_size", "data_bytes_read", "index_bytes_read",
    )

    def __init__(self, spark):
        self._sums = {name: spark.sparkContext.accumulator(0) for name in self.NAMES}

    def __getitem__(self, name: str) -> int:
        return self._sums[name].value

    def as_dict(self) -> dict[str, int]:
        """Every number: counts of files and rows, sizes in bytes."""
        return {name: self[name] for name in self.NAMES}

    def add(self, **numbers: int) -> None:
        """Adds to the sums, in an executor."""
        for name, number in numbers.items():
            self._sums[name].add(number)


def scan(spark, table, where=None, columns=None, *, report: Report | None = None, **options):
    """The rows of a Paimon table that ``where`` selects, as a DataFrame.

    spark : SparkSession
    table : str | pypaimon table   the table's directory or URI
    where : str | predicate | None   SQL text or an expression over ``paimon_fidx.col``
    columns : list of str | None   all by default
    report : Report | None   collects what was read
    options : snapshot_id, tag, timestamp, partitions, on_index_error and timezone of ``Table.scan``; the timezone is
        the session's unless given

    The DataFrame is lazy: planning happens now, and pins the snapshot; indexes and data are read when it runs.
    Raises ValueError, TypeError for a bad question, now; FileIndexError for damaged indexes, when the frame runs.

    >>> scan(spark, "/warehouse/db.db/orders", "status = 'PENDING'").show()                          # doctest: +SKIP
    """
    planned = _plan(spark, table, where, columns, options)
    read = _ReadRows(exchange_schema(planned.schema), report)
    return _on_each_split(spark, planned, read, spark_schema(planned.schema))


def prune(spark, table, where=None, **options):
    """What the indexes say of each file, as a DataFrame of one row a file; no data is read.

    Columns: path, partition (MAP of strings), bytes, row_count, decision (SKIP, ROWS or REMAIN), selected (rows left
    to read), exact, rows (a serialized Roaring bitmap of their positions when the decision is ROWS), reason,
    index_location (``embedded``, a path, or NULL), index_bytes (read from it). Parameters and errors as for ``scan``.
    """
    planned = _plan(spark, table, where, None, options)
    return _on_each_split(spark, planned, _judge, spark_schema(VERDICT_COLUMNS))


def _plan(spark, table, where, columns, options):
    """The scan, planned: bad questions fail here."""
    _name_python(spark)
    if options.get("timezone") is None:
        options["timezone"] = spark.conf.get("spark.sql.session.timeZone")
    return open_table(table).scan(where=where, columns=columns, **options)


def _name_python(spark) -> None:
    """Lets local workers run this very Python, in which the package is installed, unless one is named.

    Spark would take ``python3`` of the PATH. On a cluster the workers' Python is the cluster's business.
    """
    context = getattr(spark, "sparkContext", None) if "PYSPARK_PYTHON" not in os.environ else None
    if context is not None and context.master.startswith("local") and context.pythonExec == "python3":
        context.pythonExec = sys.executable


def _on_each_split(spark, planned, answer, schema):
    """A DataFrame of ``answer(split)``, Arrow batches, over all splits of a planned scan."""
    splits = planned.splits()
    if not splits:
        return spark.createDataFrame([], schema)
    return _files(spark, [split.group for split in splits]).mapInArrow(_Task(splits[0].spec, answer), schema)


def _files(spark, groups):
    """The plan as a DataFrame of one row a group, dealt out so that every task gets a like share of bytes."""
    parallelism = spark.sparkContext.defaultParallelism
    tasks = max(parallelism, sum(group.size for group in groups) // TASK_BYTES, len(groups) // TASK_FILES)
    largest_first = sorted(groups, key=lambda group: group.size, reverse=True)
    dealt = [group for task in range(tasks) for group in largest_first[task::tasks]]
    rows = [(group.files[0].path, group.size, pickle.dumps(group, pickle.HIGHEST_PROTOCOL)) for group in dealt]
    frame = spark.createDataFrame(rows, GROUP_COLUMNS)  # cut into ``parallelism`` partitions, in this order
    return frame if tasks == parallelism else frame.repartition(tasks)


class _Task:
    """What mapInArrow calls in an executor: the answers for the groups of files in the rows of ``_files``.

    Pickled by reference, with the question that all splits share and a function of a split.
    """

    def __init__(self, spec, answer):
        self.spec = spec
        self.answer = answer

    def __call__(self, batches):
        for batch in batches:
            for group in batch.column("group"):
                yield from self.answer(Split(self.spec, pickle.loads(group.as_py())))


class _ReadRows:
    """Evaluates the indexes of a split and yields the rows selected, with Spark's types."""

    def __init__(self, target: pa.Schema, report: Report | None):
        self.target = target
        self.report = report

    def __call__(self, split):
        verdicts = split.evaluate()
        meter, row_count = ReadMeter(), 0
        for batch in split.to_batches(verdicts, meter):
            row_count += batch.num_rows
            yield to_exchange(batch, self.target)
        if self.report is not None:
            self.report.add(
                files=len(verdicts),
                files_skipped=sum(verdict.decision is Decision.SKIP for verdict in verdicts),
                rows=split.row_count,
                rows_selected=sum(verdict.candidates for verdict in verdicts),
                rows_returned=row_count,
                data_size=split.size,
                data_bytes_read=meter.data_bytes,
                index_bytes_read=sum(verdict.index_bytes for verdict in verdicts),
            )


def _judge(split):
    """Evaluates the indexes of a split and yields one row a file."""
    yield pa.RecordBatch.from_pylist(
        [
            {
                "path": verdict.path,
                "partition": [(key, None if value is None else str(value)) for key, value in verdict.partition.items()],
                "bytes": verdict.file.size,
                "row_count": verdict.row_count,
                "decision": verdict.decision.name,
                "selected": verdict.candidates,
                "exact": verdict.exact,
                "rows": None if verdict.rows is None else verdict.rows.serialize(),
                "reason": verdict.reason,
                "index_location": verdict.index,
                "index_bytes": verdict.index_bytes,
            }
            for verdict in split.evaluate()
        ],
        schema=VERDICT_COLUMNS,
    )
