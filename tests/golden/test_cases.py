"""Every expectation of golden/cases: one column, one index, what Java answered, what is true."""
from __future__ import annotations

import json
from functools import lru_cache

import numpy as np
import pytest
from pyroaring import BitMap

import paimon_fidx as fidx

from . import data, model

GROUPS = data.groups()
RANGE_TYPES = [type for index, type in GROUPS if index == "range-bitmap"]
LIKE_JAVA = [group for group in GROUPS if group[1] not in ("FLOAT", "DOUBLE")]  # there Java tells the zeros apart
ROW_INDEXES = ("bitmap", "bsi", "range-bitmap")  # a Bloom filter only says SKIP or REMAIN


class Complaints:
    """Collects what is wrong, so that one failure does not hide the next thousand."""

    def __init__(self):
        self.lines = []

    def add(self, case, expectation, why):
        asked = {name: expectation[name] for name in expectation if not name.startswith(("result", "vs_"))}
        self.lines.append(f"{case.name} {json.dumps(asked)[:300]}: {why}")

    def check(self):
        assert not self.lines, "\n".join([f"{len(self.lines)} wrong", *self.lines[:20]])


@lru_cache(maxsize=1)  # the tests of one group follow one another
def group(index, type):
    return [(case, model.Column(type, case.values)) for case in data.cases(index, type) if case.body is not None]


def opened(case):
    return fidx.open_index(case.container(), {"c": case.type})


@pytest.mark.parametrize("index, type", GROUPS)
def test_leaf_predicates(index, type, shares, facts):
    wrong = Complaints()
    for case, column in group(index, type):
        reader = opened(case)
        for asked in case.expect:
            if asked["op"] == "TOP_N":
                continue
            op, literals = asked["op"], asked["literals"]
            want = column.true_rows(op, literals)
            try:
                predicate = model.leaf(fidx.col("c"), op, [model.literal(type, each) for each in literals])
                result = reader.evaluate(predicate, row_count=case.row_count)
                found = model.found_rows(result, case.row_count)
            except Exception as error:
                wrong.add(case, asked, repr(error))
                continue
            facts["leaf predicates of golden/cases"] += 1
            boundary = model.is_boundary(type, op, literals)
            shares[index, op, "boundary" if boundary else "exact" if result.exact else "superset"] += 1
            for why in complaints(index, column, asked, want, found, result.exact, boundary):
                wrong.add(case, asked, why)
    wrong.check()


def complaints(index, column, asked, want, found, exact, boundary):
    """What is wrong with the found rows of one leaf predicate."""
    lost = want & ~found
    if lost.any():
        yield f"lost rows {np.flatnonzero(lost)[:5]}"
    if exact and (found != want).any():
        yield f"says exact, but keeps rows {np.flatnonzero(found & ~want)[:5]} too"
    if index in ROW_INDEXES and not exact and not boundary:
        yield "could be exact"
    if boundary and index in ROW_INDEXES and (found & ~want & ~column.boundary_rows(asked["literals"])).any():
        yield "keeps rows that are in no literal's microsecond"
    java = model.java_keeps(asked["result"], want, found)
    if java is not None and not boundary and java[0] and not java[1]:
        yield "keeps rows that Java drops, rightly"


@pytest.mark.parametrize("index, type", LIKE_JAVA)
def test_the_model_agrees_with_java(index, type, facts):
    """Where Java calls its own answer exact, the model says the same; so a wrong model cannot pass."""
    for case, column in group(index, type):
        if model.is_timestamp(type) and any(model.key(type, v) != model.stored_key(type, v) for v in case.values):
            continue  # values finer than their type: Java calls exact what it cannot know
        for asked in case.expect:
            if asked.get("vs_true_rows") == "exact":
                want = column.true_rows(asked["op"], asked["literals"])
                assert model.java_equals(asked["result"], want), (case.name, asked)
                facts["answers that Java calls exact and the model confirms"] += 1


def top_rows(column, asked, chosen):
    """(rows that must be there, rows to fill up from, how many in all) for one TOP_N expectation."""
    places = column.sort_places(asked["direction"] == "DESCENDING", asked["nulls"] == "NULLS_FIRST")
    order = np.sort(places[chosen])
    k = min(asked["k"], len(order))
    if k == 0:
        return np.zeros(column.row_count, bool), np.zeros(column.row_count, bool), 0
    last = order[k - 1]
    ahead, tied = chosen & (places < last), chosen & (places == last)
    return ahead, tied, (ahead.sum() + tied.sum()) if asked["orders"] > 1 else k


@pytest.mark.parametrize("type", RANGE_TYPES)
def test_top_n_against_the_values(type, facts):
    wrong = Complaints()
    for case, column in group("range-bitmap", type):
        reader = opened(case)
        for asked in case.expect:
            if asked["op"] != "TOP_N":
                continue
            chosen, rows = np.ones(case.row_count, bool), None
            if asked["selection"] is not None:
                chosen = model.mask_of_runs(asked["selection"]["runs"], case.row_count)
                rows = BitMap(np.flatnonzero(chosen).tolist())
            ahead, tied, count = top_rows(column, asked, chosen)
            try:
                result = reader.top_n("c", asked["k"], descending=asked["direction"] == "DESCENDING",
                                      nulls_first=asked["nulls"] == "NULLS_FIRST", ties=asked["orders"] > 1, rows=rows)
                found = model.found_rows(result, case.row_count)
            except Exception as error:
                wrong.add(case, asked, repr(error))
                continue
            facts["TOP_N expectations"] += 1
            if not result.exact:
                wrong.add(case, asked, "not exact")
            if (ahead & ~found).any() or (found & ~(ahead | tied)).any() or found.sum() != count:
                wrong.add(case, asked, f"found {np.flatnonzero(found)[:12]}, {found.sum()} rows, "
                                       f"want {count} with {np.flatnonzero(ahead)[:12]}")
    wrong.check()


@pytest.mark.parametrize("type", [type for index, type in LIKE_JAVA if index == "range-bitmap"])
def test_the_top_n_model_agrees_with_java(type, facts):
    """The recorded TOP_N rows are ones the model would accept, apart from Java's bugs with groups of nulls."""
    for case, column in group("range-bitmap", type):
        if not column.keys:
            continue  # a column of nulls: Java ignores k, selection and orders
        for asked in case.expect:
            if asked["op"] == "TOP_N":
                chosen = np.ones(case.row_count, bool)
                if asked["selection"] is not None:
                    chosen = model.mask_of_runs(asked["selection"]["runs"], case.row_count)
                ahead, tied, count = top_rows(column, asked, chosen)
                java = asked.get("result_2_1_snapshot", asked["result"])
                if "digest" in java:
                    assert java["digest"]["count"] == count, (case.name, asked)
                else:
                    rows = model.mask_of_runs(java["runs"], case.row_count)
                    assert not (ahead & ~rows).any() and not (rows & ~(ahead | tied)).any(), (case.name, asked)
                    assert rows.sum() == count, (case.name, asked)
                facts["TOP_N answers of Java that the model confirms"] += 1
