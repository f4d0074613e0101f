"""Every table at hand through the Spark job: the rows that were recorded, or that Spark's own filter leaves."""
import datetime as dt
from decimal import Decimal

import pytest

import paimon_fidx.spark as fs
from paimon_fidx.table import open_table

from ..golden import data
from ..table.support import EPOCH, golden_path, golden_rows, other_tables, predicate, sorted_rows

QUERIES = [(table, number) for table in data.table_names() for number in range(len(data.expected(table)["queries"]))]
MIDNIGHT = dt.datetime(1970, 1, 1)


def golden(value):
    """A value of a Spark row as golden JSON writes it."""
    if isinstance(value, dt.datetime):
        micros = (value - MIDNIGHT) // dt.timedelta(microseconds=1)
        return {"millis": micros // 1000, "nanosOfMilli": micros % 1000 * 1000}
    if isinstance(value, dt.date):
        return (value - EPOCH).days
    return format(value, "f") if isinstance(value, Decimal) else value


def spark_rows(frame):
    return sorted_rows([golden(value) for value in row] for row in frame.collect())


@pytest.mark.parametrize("table", data.table_names())
def test_a_scan_without_predicate_gives_every_live_row(spark, table):
    live = []
    for file in data.expected(table)["files"]:
        deleted = set(file["deleted"] or ())
        live += [row for position, row in enumerate(file["rows"]) if position not in deleted]
    assert spark_rows(fs.scan(spark, golden_path(table))) == sorted_rows(live)


@pytest.mark.parametrize(("table", "number"), QUERIES)
def test_a_query_gives_the_recorded_rows(spark, facts, table, number):
    expected = data.expected(table)
    query = expected["queries"][number]
    rows = []
    for file, found in zip(expected["files"], query["files"]):
        deleted = set(file["deleted"] or ())
        rows += [file["rows"][position] for position in found["matching_positions"] if position not in deleted]
    where = predicate(query["predicate"], expected["columns"])
    through_spark = spark_rows(fs.scan(spark, golden_path(table), where))
    assert through_spark == sorted_rows(rows)
    assert through_spark == golden_rows(open_table(golden_path(table)).scan(where).to_arrow())
    facts["recorded table queries through Spark"] += 1


def questions(frame):
    """WHERE texts about the values of every plain column of a frame, as (text, column) pairs."""
    for field in frame.schema.fields:
        name, kind = f"`{field.name}`", field.dataType.simpleString()
        yield f"{name} IS NULL"
        values = [row[0] for row in frame.select(field.name).dropna().distinct().orderBy(field.name).limit(3).collect()]
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
        arrow = open_table(str(path)).scan().to_arrow()
        assert full.count() == arrow.num_rows, name
        for where in questions(full):
            ours, right = fs.scan(spark, str(path), where), full.where(where)
            assert sorted(map(str, ours.collect())) == sorted(map(str, right.collect())), (name, where)
            facts["queries of tables from other Paimon versions through Spark"] += 1
        full.unpersist()
