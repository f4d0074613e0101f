"""Every table at hand through the Spark job: the rows that were recorded, or that Spark's own filter leaves."""
import datetime as dt
import functools
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import paimon_fidx.spark as fs
from paimon_fidx.table import open_table

from ..golden import data
from ..table.support import EPOCH, golden_path, golden_rows, other_tables, predicate, sorted_rows

MIDNIGHT = dt.datetime(1970, 1, 1)


def golden(value):
    """A value of a Spark row as golden JSON writes it."""
    if isinstance(value, dt.datetime):
        micros = (value - MIDNIGHT) // dt.timedelta(microseconds=1)
        return {"millis": micros // 1000, "nanosOfMilli": micros % 1000 * 1000}
    if isinstance(value, dt.date):
        return (value - EPOCH).days
    return format(value, "f") if isinstance(value, Decimal) else value


def collected(frames):
    """The rows of many frames, one list a frame, from one Spark job."""
    tagged = [frame.select(F.lit(i).alias("frame"), F.struct("*").alias("row")) for i, frame in enumerate(frames)]
    rows = [[] for _ in tagged]
    for answer in functools.reduce(DataFrame.unionAll, tagged).collect():
        rows[answer.frame].append(answer.row)
    return rows


def golden_texts(rows):
    return sorted_rows([golden(value) for value in row] for row in rows)


@pytest.mark.parametrize("table", data.table_names())
def test_a_scan_without_predicate_gives_every_live_row(spark, table):
    live = []
    for file in data.expected(table)["files"]:
        deleted = set(file["deleted"] or ())
        live += [row for position, row in enumerate(file["rows"]) if position not in deleted]
    assert golden_texts(fs.scan(spark, golden_path(table)).collect()) == sorted_rows(live)


@pytest.mark.parametrize("table", data.table_names())
def test_queries_give_the_recorded_rows(spark, facts, table):
    expected, path = data.expected(table), golden_path(table)
    wheres = [predicate(query["predicate"], expected["columns"]) for query in expected["queries"]]
    answers = collected(fs.scan(spark, path, where) for where in wheres)
    for query, where, rows in zip(expected["queries"], wheres, answers, strict=True):
        right = []
        for file, found in zip(expected["files"], query["files"]):
            deleted = set(file["deleted"] or ())
            right += [file["rows"][position] for position in found["matching_positions"] if position not in deleted]
        through_spark = golden_texts(rows)
        assert through_spark == sorted_rows(right), where
        assert through_spark == golden_rows(open_table(path).scan(where).to_arrow()), where
        facts["recorded table queries through Spark"] += 1


def questions(frame):
    """WHERE texts about the values of every plain column of a frame."""
    rows = frame.collect()
    for field in frame.schema.fields:
        name, kind = f"`{field.name}`", field.dataType.simpleString()
        yield f"{name} IS NULL"
        values = [row[field.name] for row in rows if row[field.name] is not None]
        for value in values[-1:]:
            if kind in ("tinyint", "smallint", "int", "bigint") or kind.startswith("decimal"):
                yield f"{name} = {value}"
                yield f"{name} > {values[0]} AND {name} <= {value}"
            elif kind == "string":
                text = value.replace("'", "''")
                yield f"{name} IN ('{text}', 'no such text')"
                yield f"{name} <> '{text}'"
            elif kind in ("date", "timestamp_ntz"):
                yield f"{name} <= {'DATE' if kind == 'date' else 'TIMESTAMP'} '{value}'"
            elif kind == "boolean":
                yield f"{name} = {value}"


def test_tables_of_other_paimon_versions(spark, facts):
    """Full scans equal the reader's without Spark; filtered scans equal the full scan with Spark's own filter."""
    for name, path in other_tables().items():
        full = fs.scan(spark, str(path)).cache()
        assert full.count() == open_table(str(path)).scan().count(), name
        wheres = list(questions(full))
        ours = collected(fs.scan(spark, str(path), where) for where in wheres)
        right = collected(full.where(where) for where in wheres)
        for where, our_rows, right_rows in zip(wheres, ours, right, strict=True):
            assert sorted(map(str, our_rows)) == sorted(map(str, right_rows)), (name, where)
            facts["queries of tables from other Paimon versions through Spark"] += 1
        full.unpersist()
