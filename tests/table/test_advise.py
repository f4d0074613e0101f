"""Advice is measured: sizes are those of real indexes, rows left those of real answers, options can be built."""
from __future__ import annotations

import pyarrow as pa
import pytest

from paimon_fidx.build import build_index
from paimon_fidx.predicate import col
from paimon_fidx.table import open_table

from .support import golden_path
from .test_rewrite import Warehouse

SCHEMA = pa.schema([("id", pa.int64()), ("status", pa.string()), ("noise", pa.string()), ("one", pa.int32())])
ROWS = 2000


@pytest.fixture
def warehouse(tmp_path):
    made = Warehouse(tmp_path)
    made.create(schema=SCHEMA)
    for file in range(3):
        made.write(pa.table({
            "id": range(file * ROWS, (file + 1) * ROWS), "status": [f"s{i % 5}" for i in range(ROWS)],
            "noise": [f"{(i * 7919 + file) % 100_003:06}" for i in range(ROWS)],
            "one": pa.array([1] * ROWS, pa.int32())}, SCHEMA))
    return made


def by_name(advice):
    return {c.name: c for c in advice.columns}


def test_sizes_and_cardinality_are_measured(warehouse):
    advice = warehouse.table().advise()
    found = by_name(advice)
    assert {n: c.distinct for n, c in found.items()} == {"id": ROWS, "status": 5, "noise": ROWS, "one": 1}
    assert (advice.files_sampled, advice.rows_sampled) == (3, 3 * ROWS)
    statuses = pa.table({"status": [f"s{i % 5}" for i in range(ROWS)]})
    assert found["status"].sizes["bitmap"] == len(build_index(statuses, {"file-index.bitmap.columns": "status"}))
    assert set(found["status"].sizes) == {"bitmap", "bloom-filter", "range-bitmap"}
    assert set(found["id"].sizes) == {"bitmap", "bloom-filter", "range-bitmap", "bsi"}


def test_the_kind_that_leaves_the_fewest_rows_wins_and_then_the_smallest(warehouse):
    queries = ["status = 's3'", "id BETWEEN 100 AND 120", "noise = '000007'"]
    advice = warehouse.table().advise(queries)
    found = by_name(advice)
    assert found["status"].use == "bitmap" and found["status"].rows_left["bitmap"] == 3 * ROWS // 5
    assert found["id"].rows_left[found["id"].use] == 21
    assert found["id"].sizes[found["id"].use] <= min(
        size for kind, size in found["id"].sizes.items() if found["id"].rows_left[kind] == 21)
    assert [q.rows_left for q in advice.queries][:2] == [3 * ROWS // 5, 21]
    assert advice.queries[1].files_skipped == 2 and advice.queries[1].rows_saved == 3 * ROWS - 21
    assert 0 < advice.queries[1].bytes_skipped < advice.queries[1].bytes_total


def test_no_index_where_none_helps(warehouse):
    advice = warehouse.table().advise(["one = 1"])
    assert by_name(advice)["one"].use is None and advice.options == {}


def test_the_options_can_be_built_and_do_what_was_said(warehouse):
    queries = [col("status") == "s3", col("id") == 77]
    advice = warehouse.table().advise(queries)
    assert warehouse.table().rewrite_index(advice.options).snapshot_id is not None
    for query, where in zip(advice.queries, queries):
        assert warehouse.table().scan(where).stats.rows_selected <= query.rows_left


def test_a_default_bloom_filter_is_named_for_its_size(tmp_path):
    warehouse = Warehouse(tmp_path)
    warehouse.create(schema=pa.schema([SCHEMA.field("id")]),
                     options={"file-index.bloom-filter.columns": "id"})
    warehouse.write(pa.table({"id": range(1000)}))
    (text,) = warehouse.table().advise().warnings
    assert "made for 1000000 items (the default)" in text and "599071 bytes" in text
    assert "file-index.bloom-filter.id.items = 1000" in text


def test_few_rows_of_few_files(warehouse):
    advice = warehouse.table().advise(["id = 5"], sample_files=2, sample_rows=100)
    assert (advice.files_sampled, advice.rows_sampled) == (2, 200)
    assert by_name(advice)["id"].distinct == 100


def test_map_keys_older_schemas_and_partitions():
    found = by_name(open_table(golden_path("map_nested")).advise(["attrs['color'] = 'red0'"]))
    assert found["attrs[color]"].use == "bitmap"
    found = by_name(open_table(golden_path("evolved")).advise(["new_name IS NULL", "extra = 1"]))
    assert set(found) == {"new_name", "extra"}
    advice = open_table(golden_path("append_parquet_separate")).advise(["dt = '20240101'"])
    assert advice.columns == () and "rows to read" in str(advice)


@pytest.mark.parametrize(("queries", "kind", "error"), [
    ("id = 1", TypeError, "a list of WHERE texts"), (["absent = 1"], ValueError, "no column 'absent'"),
    (["id = 'x'"], TypeError, "id"), ([5], TypeError, "WHERE text or a predicate"),
])
def test_queries_that_cannot_be(warehouse, queries, kind, error):
    with pytest.raises(kind, match=error):
        warehouse.table().advise(queries)


def test_a_table_without_rows(tmp_path):
    warehouse = Warehouse(tmp_path)
    warehouse.create()
    advice = warehouse.table().advise(["id = 1"])
    assert advice.columns[0].use is None and advice.rows_sampled == 0 and str(advice)
    with pytest.raises(ValueError, match="1 or more"):
        warehouse.table().advise(sample_files=0)
