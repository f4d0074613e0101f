"""The table's columns in files of other schemas, and what becomes of a predicate there."""
from __future__ import annotations

import pytest

from paimon_fidx.predicate import ALWAYS, NEVER, col
from paimon_fidx.table.evolve import FileSchema, compares_by_value, is_constant, rewrite
from paimon_fidx.types import parse_schema, parse_type

TABLE = [{"id": 0, "name": "name", "type": "STRING"}, {"id": 1, "name": "n", "type": "BIGINT"},
         {"id": 2, "name": "new", "type": "INT"}, {"id": 3, "name": "dt", "type": "STRING"}]
OLD = [{"id": 0, "name": "title", "type": "STRING"}, {"id": 1, "name": "n", "type": "INT"},
       {"id": 3, "name": "dt", "type": "STRING"}]


def rewritten(predicate, file_fields=OLD, partition=None, **kwargs):
    schema = FileSchema(TABLE, file_fields, **kwargs)
    return rewrite(predicate, schema, parse_schema(TABLE), partition or {}, "UTC")


def test_a_renamed_column_has_its_old_name():
    predicate, types, reasons = rewritten(col("name") == "x")
    assert predicate == (col("title") == "x") and "title" in types and reasons == ()


def test_a_column_is_matched_by_id_not_by_name():
    swapped = [{"id": 1, "name": "name", "type": "INT"}, {"id": 0, "name": "n", "type": "STRING"}]
    predicate, types, _ = rewritten((col("name") == "x") & (col("n") == 1), swapped)
    assert predicate == ((col("n") == "x") & (col("name") == 1))
    assert types["n"].root == "STRING" and types["name"].root == "INT"


@pytest.mark.parametrize(("predicate", "constant"), [
    (col("new") == 1, NEVER), (col("new") != 1, NEVER), (col("new").is_null(), ALWAYS),
    (col("new").is_not_null(), NEVER), (col("new").not_in([1]), NEVER),
    ((col("new") == 1) | col("new").is_null(), ALWAYS), ((col("name") == "x") & (col("new") > 1), NEVER)])
def test_a_column_the_file_lacks_is_null(predicate, constant):
    assert is_constant(rewritten(predicate)[0], constant)


def test_constants_disappear_from_the_rest():
    assert rewritten((col("name") == "x") | (col("new") == 1))[0] == (col("title") == "x")
    assert rewritten((col("name") == "x") & col("new").is_null())[0] == (col("title") == "x")


def test_a_partition_column_is_answered_from_the_partition():
    predicate = (col("dt") == "a") & (col("name") == "x")
    assert rewritten(predicate, partition={"dt": "a"})[0] == (col("title") == "x")
    assert is_constant(rewritten(predicate, partition={"dt": "b"})[0], NEVER)
    assert is_constant(rewritten(col("dt") != "a", partition={"dt": None})[0], NEVER)
    assert is_constant(rewritten(col("dt").is_null(), partition={"dt": None})[0], ALWAYS)


def test_a_type_that_does_not_compare_is_not_asked():
    old = [{"id": 0, "name": "name", "type": "INT"}]
    predicate, types, reasons = rewritten(col("name") == "x", old)
    (column,) = predicate.columns()
    assert column.name.startswith("\0") and types[column.name].root == "STRING"
    assert reasons == ("column name changed its type from INT to STRING",)


def test_a_default_value_is_not_asked():
    predicate, _, reasons = rewritten(col("n").is_null(), defaulted={1})
    assert predicate.columns()[0].name.startswith("\0") and "default value" in reasons[0]
    predicate, _, reasons = rewritten(col("new").is_null(), defaulted={2})
    assert predicate.columns()[0].name.startswith("\0") and "default value" in reasons[0]


def test_columns_that_were_not_written_are_null():
    assert is_constant(rewritten(col("n") == 1, write_cols=("title",))[0], NEVER)
    assert rewritten(col("name") == "x", write_cols=("title",))[0] == (col("title") == "x")


def test_map_keys_are_renamed_with_their_column():
    table = [{"id": 0, "name": "tags", "type": {"type": "MAP", "key": "STRING", "value": "INT"}}]
    old = [dict(table[0], name="attrs")]
    predicate, _, _ = rewrite(col("tags")["os"] == 1, FileSchema(table, old), parse_schema(table), {}, "UTC")
    assert predicate.columns()[0].index_name == "attrs[os]"


def test_nested_types_compare_by_field_id():
    row = {"type": "ROW", "fields": [{"id": 5, "name": "a", "type": "INT"}]}
    other = {"type": "ROW", "fields": [{"id": 6, "name": "a", "type": "INT"}]}
    table = [{"id": 0, "name": "r", "type": row}]
    assert FileSchema(table, table).column("r").direct
    assert not FileSchema(table, [{"id": 0, "name": "r", "type": other}]).column("r").direct


@pytest.mark.parametrize(("old", "new", "safe"), [
    ("INT", "INT", True), ("INT NOT NULL", "INT", True), ("TINYINT", "BIGINT", True), ("BIGINT", "INT", False),
    ("FLOAT", "DOUBLE", True), ("DOUBLE", "FLOAT", False), ("INT", "DOUBLE", False), ("INT", "DECIMAL(12, 2)", True),
    ("INT", "DECIMAL(11, 2)", False), ("DECIMAL(10, 2)", "DECIMAL(12, 2)", True),
    ("DECIMAL(10, 2)", "DECIMAL(12, 3)", False), ("DECIMAL(10, 2)", "DECIMAL(8, 2)", False),
    ("VARCHAR(5)", "STRING", True), ("STRING", "VARCHAR(5)", False), ("CHAR(5)", "VARCHAR(5)", True),
    ("VARCHAR(3)", "CHAR(5)", False), ("BINARY(3)", "BYTES", True), ("STRING", "BYTES", False),
    ("TIMESTAMP(3)", "TIMESTAMP(6)", True), ("TIMESTAMP(6)", "TIMESTAMP(3)", False),
    ("TIMESTAMP(6)", "TIMESTAMP(9)", False), ("TIMESTAMP(7)", "TIMESTAMP(9)", True),
    ("TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", False), ("DATE", "TIMESTAMP(3)", False), ("INT", "STRING", False)])
def test_which_changes_keep_values(old, new, safe):
    assert compares_by_value(parse_type(old), parse_type(new)) is safe
