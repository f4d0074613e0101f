"""Every expectation of golden/containers: whole index files, several columns and indexes, nested predicates.

``*-random`` files are sound: our answers must be true, and exact where they say so. ``*-special-*`` files were built by
hand around sound bodies: what Java refuses, we refuse; what Java reads we may refuse too, but only by naming the reason.
"""
from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from pyroaring import BitMap

import paimon_fidx as fidx
from paimon_fidx.predicate import ALWAYS, NEVER

from . import data, model
from .test_cases import Complaints, top_rows

CONTAINERS = {container.name: container for container in data.containers()}
RANDOM = [name for name, container in CONTAINERS.items() if not container.special]
SPECIAL = [name for name, container in CONTAINERS.items() if container.special]


class Truth:
    """The columns of a container as the model sees them."""

    def __init__(self, container):
        self.container = container
        starts: dict[str, set] = {}
        self.filled = set()  # (column, index) with a body
        for entry in (container.header or {}).get("entries", ()):
            if entry["index"] is not None:
                starts.setdefault(entry["column"], set()).add(entry["start"] == -1)
                if entry["start"] != -1:
                    self.filled.add((entry["column"], entry["index"]))
        # An empty entry says that no value was seen: such a column counts as all NULL. One that has a filled entry
        # too contradicts itself; Java wrote those from columns that do have values.
        self.torn = {column for column, empty in starts.items() if len(empty) == 2}
        hollow = {column for column, empty in starts.items() if empty == {True}}
        self.columns = {
            name: model.Column(self.type_of(name), [None] * container.row_count if name in hollow else values)
            for name, values in container.values.items()
        }

    def type_of(self, name):
        schema = self.container.schema
        return schema[name] if name in schema else schema[name.partition("[")[0]].removeprefix("MAP<STRING, ")[:-1]

    def column(self, name):
        """What a user writes for an index entry: a plain column, or a key of a MAP column."""
        base, bracket, key = name.partition("[")
        return fidx.col(name) if name in self.container.schema or not bracket else fidx.col(base)[key[:-1]]

    def predicate(self, node):
        """(the library's predicate, its true rows, the columns it asks, whether it touches a nanosecond boundary)."""
        if "op" in node:
            type = self.type_of(node["column"])
            literals = [model.literal(type, each) for each in node["literals"]]
            rows = self.columns[node["column"]].true_rows(node["op"], node["literals"])
            boundary = model.is_boundary(type, node["op"], node["literals"])
            return model.leaf(self.column(node["column"]), node["op"], literals), rows, {node["column"]}, boundary
        both = "and" in node
        predicate, rows, columns, boundary = ALWAYS if both else NEVER, None, set(), False
        rows = np.full(self.container.row_count, both)
        for child in node.get("and", node.get("or")):
            its_predicate, its_rows, its_columns, its_boundary = self.predicate(child)
            predicate = predicate & its_predicate if both else predicate | its_predicate
            rows = rows & its_rows if both else rows | its_rows
            columns, boundary = columns | its_columns, boundary or its_boundary
        return predicate, rows, columns, boundary


@cache
def truth_of(name):
    return Truth(CONTAINERS[name])


def predicates_of(container):
    """The expectations on predicates, but for LIKE patterns that Spark refuses and Java's Paimon does not."""
    return [each for each in container.expect if "predicate" in each and all(map(spark_takes, leaves_of(each["predicate"])))]


def leaves_of(node):
    return [node] if "op" in node else [leaf for child in node.get("and", node.get("or")) for leaf in leaves_of(child)]


def spark_takes(leaf):
    try:
        return leaf["op"] != "LIKE" or bool(model.like_regex(leaf["literals"][0]))
    except ValueError:
        return False


@pytest.mark.parametrize("name", CONTAINERS)
def test_patterns_that_spark_refuses_are_refused(name, facts):
    for asked in CONTAINERS[name].expect:
        for leaf in leaves_of(asked.get("predicate", {"or": []})):
            if not spark_takes(leaf):
                with pytest.raises(ValueError, match="escape"):
                    fidx.col("c").like(leaf["literals"][0])
                facts["LIKE patterns that Spark refuses"] += 1


@pytest.mark.parametrize("name", RANDOM)
def test_predicates_on_a_sound_file(name, facts):
    container, truth, wrong = CONTAINERS[name], truth_of(name), Complaints()
    reader = fidx.open_index(container.data, container.schema)
    for asked in predicates_of(container):
        predicate, want, columns, boundary = truth.predicate(asked["predicate"])
        try:
            result = reader.evaluate(predicate, row_count=container.row_count)
            found = model.found_rows(result, container.row_count)
        except Exception as error:
            wrong.add(container, asked, repr(error))
            continue
        facts["predicates of golden/containers on sound files"] += 1
        if columns & truth.torn:
            continue  # in range is all that can be asked
        java = model.java_keeps(asked["result"], want, found)
        if (want & ~found).any():
            wrong.add(container, asked, f"lost rows {np.flatnonzero(want & ~found)[:5]}")
        if result.exact and (found != want).any():
            wrong.add(container, asked, f"says exact, but keeps {np.flatnonzero(found & ~want)[:5]} too")
        if java is not None and not boundary and java[0] and not java[1]:
            wrong.add(container, asked, "keeps rows that Java drops, rightly")
    wrong.check()


@pytest.mark.parametrize("name", RANDOM)
def test_top_n_on_a_sound_file(name, facts):
    container, truth, wrong = CONTAINERS[name], truth_of(name), Complaints()
    reader = fidx.open_index(container.data, container.schema)
    for asked in (each["topn"] for each in container.expect if "topn" in each):
        column = asked["column"]
        if column not in truth.columns:
            continue
        chosen, rows = np.ones(container.row_count, bool), None
        if asked["selection"] is not None:
            chosen = model.mask_of_runs(asked["selection"]["runs"], container.row_count)
            rows = BitMap(np.flatnonzero(chosen).tolist())
        try:
            result = reader.top_n(truth.column(column), asked["k"], descending=asked["direction"] == "DESCENDING",
                                  nulls_first=asked["nulls"] == "NULLS_FIRST", ties=asked["orders"] > 1, rows=rows)
        except fidx.NotAnswerable as error:
            if (column, "range-bitmap") in truth.filled:
                wrong.add(container, asked, repr(error))
            continue
        found = model.found_rows(result, container.row_count)
        ahead, tied, count = top_rows(truth.columns[column], asked, chosen)
        facts["TOP_N of golden/containers"] += 1
        if result.exact and ((ahead & ~found).any() or (found & ~(ahead | tied)).any() or found.sum() != count):
            wrong.add(container, asked, f"found {np.flatnonzero(found)[:12]}, want {count}")
        if not result.exact and (ahead & ~found).any():
            wrong.add(container, asked, f"lost rows {np.flatnonzero(ahead & ~found)[:5]}")
        if not result.exact and (column, "range-bitmap") in truth.filled and column not in truth.torn:
            wrong.add(container, asked, "could be exact")
    wrong.check()


@pytest.mark.parametrize("name", SPECIAL)
def test_predicates_on_a_special_file(name, facts):
    container, truth, wrong = CONTAINERS[name], truth_of(name), Complaints()
    for asked in predicates_of(container):
        predicate, want, columns, _ = truth.predicate(asked["predicate"])
        java_refuses = isinstance(asked["result"], dict) and "exception" in asked["result"]
        try:
            reader = fidx.open_index(container.data, container.schema)
            result = reader.evaluate(predicate, row_count=container.row_count)
        except fidx.FileIndexError as error:
            facts["refusals on special containers"] += 1
            if not java_refuses and asked["result"] != "REMAIN":
                facts[f"refusals of what Java reads: {name.partition('special-')[2]}"] += 1
            if not (error.where and (error.offset is not None or error.expected is not None or error.hint)):
                wrong.add(container, asked, f"a refusal without a reason: {error}")
            continue
        except Exception as error:
            wrong.add(container, asked, repr(error))
            continue
        facts["predicates of golden/containers on special files"] += 1
        found = model.found_rows(result, container.row_count)
        if java_refuses:
            wrong.add(container, asked, f"answered {result!r}, Java: {json.dumps(asked['result'])[:150]}")
        if not columns & truth.torn and (want & ~found).any():
            wrong.add(container, asked, f"lost rows {np.flatnonzero(want & ~found)[:5]}")
        if not columns & truth.torn and result.exact and (found != want).any():
            wrong.add(container, asked, "says exact, but is not")
    wrong.check()


@pytest.mark.parametrize("name", RANDOM)
def test_a_path_and_a_file_object_answer_as_bytes_do(name, tmp_path):
    container, truth = CONTAINERS[name], truth_of(name)
    path = tmp_path / "file.index"
    path.write_bytes(container.data)
    from_bytes = fidx.open_index(container.data, container.schema)
    with fidx.open_index(path, container.schema) as from_path, open(path, "rb") as file:
        from_file = fidx.open_index(file, container.schema)
        for asked in predicates_of(container):
            predicate = truth.predicate(asked["predicate"])[0]
            results = [reader.evaluate(predicate, row_count=container.row_count)
                       for reader in (from_bytes, from_path, from_file)]
            assert len({(each.decision, each.exact) for each in results}) == 1, asked
            assert results[0].rows == results[1].rows == results[2].rows, asked


@pytest.mark.parametrize("name", RANDOM)
def test_deleted_rows_are_taken_out(name):
    container, truth = CONTAINERS[name], truth_of(name)
    reader = fidx.open_index(container.data, container.schema)
    gone = np.random.default_rng(7).random(container.row_count) < 0.3
    deleted = BitMap(np.flatnonzero(gone).tolist())
    for asked in predicates_of(container):
        predicate, want, columns, _ = truth.predicate(asked["predicate"])
        if columns & truth.torn:
            continue
        result = reader.evaluate(predicate, row_count=container.row_count, deleted=deleted)
        found = model.found_rows(result, container.row_count)
        assert not (want & ~gone & ~found).any(), asked
        if result.decision is fidx.Decision.ROWS:
            assert not (found & gone).any(), asked
        if result.exact:
            assert (found == (want & ~gone)).all(), asked


@pytest.mark.parametrize("index, type", [("bloom-filter", "STRING"), ("bitmap", "INT"), ("bsi", "DATE"),
                                         ("range-bitmap", "DECIMAL(10,2)")])
def test_many_files_at_once_answer_as_one_by_one(index, type):
    cases = [case for case in data.cases(index, type) if case.body is not None and case.row_count < 10_000]
    sources, row_counts = [case.container() for case in cases], [case.row_count for case in cases]
    asked = max((case.expect for case in cases), key=len)
    for each in asked[:: max(1, len(asked) // 25)]:
        if each["op"] == "TOP_N":
            continue
        predicate = model.leaf(fidx.col("c"), each["op"], [model.literal(type, lit) for lit in each["literals"]])
        single = [fidx.open_index(source, {"c": type}).evaluate(predicate, row_count=row_count)
                  for source, row_count in zip(sources, row_counts)]
        for threads in (None, 1, 3):
            many = fidx.evaluate_many(sources, {"c": type}, predicate, row_counts=row_counts, threads=threads)
            assert [(r.decision, r.rows, r.exact) for r in many] == [(r.decision, r.rows, r.exact) for r in single]
