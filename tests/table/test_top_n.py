"""The first k rows of an order over tables with indexes: as sorting all rows gives them, from fewer rows."""
from __future__ import annotations

import pytest

from paimon_fidx.predicate import col
from paimon_fidx.table import TopN, open_table
from paimon_fidx.table.verdict import narrow_to_top

from .support import golden_path

TABLES = [("append_parquet_separate", "score"), ("append_orc_embedded", "at"), ("append_parquet_embedded", "id"),
          ("orders_separate", "amount"), ("pk_dv", "qty"), ("pk_dv", "status"), ("append_orc_separate", "amt")]


@pytest.mark.parametrize(("table", "column"), TABLES)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls_first", [False, True])
@pytest.mark.parametrize("k", [1, 7, 1000])
def test_as_sorting_gives_it(table, column, descending, nulls_first, k):
    opened = open_table(golden_path(table))
    values = opened.scan(columns=[column]).to_arrow()[column].to_pylist()
    known = sorted((v for v in values if v is not None), reverse=descending)
    nulls = [None] * values.count(None)
    expected = (nulls + known if nulls_first else known + nulls)[:k]
    scan = opened.scan(columns=[column], top_n=TopN(column, k, descending, nulls_first))
    assert scan.to_arrow()[column].to_pylist() == expected


def test_of_the_rows_that_match():
    opened = open_table(golden_path("append_parquet_separate"))
    where = col("name") == "n4"
    ids = sorted(i for i in opened.scan(where, ["id"]).to_arrow()["id"].to_pylist() if i is not None)
    assert opened.scan(where, ["id"], top_n=("id", 3)).to_arrow()["id"].to_pylist() == ids[:3]


def test_the_index_leaves_k_rows_of_a_file():
    scan = open_table(golden_path("orders")).scan(top_n=("amount", 2))
    (verdict,) = scan.files
    assert len(narrow_to_top(scan._spec, verdict, TopN("amount", 2)).rows) == 2
    assert narrow_to_top(scan._spec, verdict, TopN("create_time", 2)) is verdict  # it has no index
    assert narrow_to_top(scan._spec, verdict, TopN("amount", 99)) is verdict
