"""count, distinct, value_counts, min_max and filtered TOP-N of golden columns, compared with the values."""
from __future__ import annotations

import numpy as np
import pytest
from pyroaring import BitMap

import paimon_fidx as fidx

from . import data, model
from .test_cases import GROUPS, group, opened, top_rows

ROW_GROUPS = [each for each in GROUPS if each[0] != "bloom-filter"]
ANSWERS_ALL = ("bitmap", "range-bitmap")  # a BSI has no list of its values


def answer(question, needed, case):
    """The answer, or None where the index may say that it has none."""
    try:
        return question()
    except fidx.NotAnswerable as error:
        assert not needed, f"{case.name}: {error}"
        return None


@pytest.mark.parametrize("index, type", ROW_GROUPS)
def test_distinct_value_counts_and_min_max(index, type, facts):
    exact_type = not model.is_nanos(type)  # else the keys are floored and no value is known
    for case, column in group(index, type):
        reader = opened(case)
        counts = np.bincount(column.ranks[~column.is_null], minlength=len(column.keys))
        nulls = int(column.is_null.sum())
        needed = index in ANSWERS_ALL and exact_type
        found = answer(lambda: reader.distinct("c"), needed, case)
        if found is not None:
            keys = [model.python_key(type, value) for value in found]
            assert keys == column.keys, case.name
            facts["distinct"] += 1
        found = answer(lambda: reader.value_counts("c"), needed, case)
        if found is not None:
            keys = {model.python_key(type, value): count for value, count in found.items()}
            assert len(keys) == len(found)
            assert keys == dict(zip(column.keys, counts.tolist())) | ({None: nulls} if nulls else {}), case.name
            facts["value_counts"] += 1
        found = answer(lambda: reader.min_max("c"), needed, case)
        if found is not None:
            want = (column.keys[0], column.keys[-1]) if column.keys else (None, None)
            assert tuple(model.python_key(type, value) for value in found) == want, case.name
            facts["min_max"] += 1


@pytest.mark.parametrize("index, type", GROUPS)
def test_count(index, type, facts):
    for case, column in group(index, type):
        reader = opened(case)
        leaves = [each for each in case.expect if each["op"] != "TOP_N"]
        for asked in leaves[:: max(1, len(leaves) // 20)]:
            predicate = model.leaf(fidx.col("c"), asked["op"], [model.literal(type, each) for each in asked["literals"]])
            needed = index != "bloom-filter" and not model.is_boundary(type, asked["op"], asked["literals"])
            found = answer(lambda: reader.count(predicate), needed, case)
            if found is not None:
                assert found == column.true_rows(asked["op"], asked["literals"]).sum(), (case.name, asked)
                facts["count"] += 1


@pytest.mark.parametrize("index, type", [each for each in ROW_GROUPS if not model.is_nanos(each[1])])
def test_top_n_of_the_rows_that_match(index, type, facts):
    """where= chooses among the rows of a predicate; a BSI or a bitmap may decline TOP-N."""
    for case, column in group(index, type):
        if not column.keys or case.row_count > 20_000:
            continue
        reader = opened(case)
        leaves = [each for each in case.expect if each["op"] in ("LESS_THAN", "NOT_EQUAL", "IS_NULL", "IN")]
        for number, asked in enumerate(leaves[:: max(1, len(leaves) // 6)]):
            predicate = model.leaf(fidx.col("c"), asked["op"], [model.literal(type, each) for each in asked["literals"]])
            question = {"k": (1, 3, 10)[number % 3], "direction": ("ASCENDING", "DESCENDING")[number % 2],
                        "nulls": ("NULLS_FIRST", "NULLS_LAST")[number // 2 % 2], "orders": 1 + number // 3 % 2}
            result = answer(lambda: reader.top_n("c", question["k"], descending=question["direction"] == "DESCENDING",
                                                 nulls_first=question["nulls"] == "NULLS_FIRST",
                                                 ties=question["orders"] > 1, where=predicate),
                            index == "range-bitmap", case)
            if result is None or not result.exact and index != "range-bitmap":
                continue
            chosen = column.true_rows(asked["op"], asked["literals"])
            ahead, tied, count = top_rows(column, question, chosen)
            found = model.found_rows(result, case.row_count)
            assert result.exact, (case.name, asked, question)
            assert not (ahead & ~found).any() and not (found & ~(ahead | tied)).any(), (case.name, asked, question)
            assert found.sum() == count, (case.name, asked, question)
            facts["filtered TOP-N"] += 1


@pytest.mark.parametrize("index, type", [each for each in ROW_GROUPS if model.is_nanos(each[1])])
def test_top_n_of_nanoseconds_keeps_every_candidate(index, type, facts):
    """The index ranks microseconds: the answer is a superset from which a reader can take the right rows."""
    for case, column in group(index, type):
        reader = opened(case)
        for number, k in enumerate((1, 2, 5, 40)):
            question = {"k": k, "direction": ("ASCENDING", "DESCENDING")[number % 2],
                        "nulls": ("NULLS_FIRST", "NULLS_LAST")[number // 2], "orders": 1 + number % 2}
            result = answer(lambda: reader.top_n("c", k, descending=question["direction"] == "DESCENDING",
                                                 nulls_first=question["nulls"] == "NULLS_FIRST",
                                                 ties=question["orders"] > 1), False, case)
            if result is not None:
                found = model.found_rows(result, case.row_count)
                ahead, tied, count = top_rows(column, question, np.ones(case.row_count, bool))
                assert not (ahead & ~found).any() and (found & (ahead | tied)).sum() >= count, (case.name, question)
                facts["TOP-N of nanoseconds"] += 1


@pytest.mark.parametrize("index, type", [each for each in ROW_GROUPS if not model.is_nanos(each[1])])
def test_whole_column_questions_without_deleted_rows(index, type, facts):
    for case, column in group(index, type):
        if case.row_count > 20_000:
            continue
        reader, kept = opened(case), np.random.default_rng(case.row_count).random(case.row_count) < 0.6
        deleted = BitMap(np.flatnonzero(~kept).tolist())
        counts = np.bincount(column.ranks[kept & ~column.is_null], minlength=len(column.keys))
        there = [key for key, count in zip(column.keys, counts) if count]
        nulls = int((kept & column.is_null).sum())
        found = reader.value_counts("c", deleted=deleted)
        assert {model.python_key(type, value): count for value, count in found.items()} == \
            {key: int(count) for key, count in zip(column.keys, counts) if count} | ({None: nulls} if nulls else {}), case.name
        assert [model.python_key(type, value) for value in reader.distinct("c", deleted=deleted)] == there, case.name
        assert tuple(model.python_key(type, value) for value in reader.min_max("c", deleted=deleted)) == \
            ((there[0], there[-1]) if there else (None, None)), case.name
        assert reader.count(fidx.col("c").is_not_null(), deleted=deleted) == counts.sum(), case.name
        for ties in (False, True):
            result = reader.top_n("c", 3, ties=ties, deleted=deleted)
            question = {"k": 3, "direction": "DESCENDING", "nulls": "NULLS_LAST", "orders": 1 + ties}
            ahead, tied, count = top_rows(column, question, kept)
            top = model.found_rows(result, case.row_count)
            assert result.exact and not (ahead & ~top).any() and not (top & ~(ahead | tied)).any(), case.name
            assert top.sum() == count, case.name
        facts["columns with deleted rows"] += 1


def test_a_bloom_filter_lists_nothing():
    case = next(each for each in data.cases("bloom-filter", "INT") if each.body is not None and each.row_count > 3)
    for question in ("distinct", "value_counts", "min_max"):
        with pytest.raises(fidx.NotAnswerable, match="c"):
            getattr(opened(case), question)("c")
