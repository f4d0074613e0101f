"""Asks one input everything the public API can be asked. Used by the child process, the corpus and the fuzz targets."""
from __future__ import annotations

import io

import paimon_fidx as fidx
from tests.golden import model
from tests.hostile.guard import guarded

ALLOWED = (fidx.FileIndexError, fidx.NotAnswerable)
ROW_LIMIT = 2**31  # no index file holds more rows


class ShortFile(io.BytesIO):
    """A file object that gives at most a few bytes per read, as sockets and object stores may."""

    def read(self, size=-1):
        return super().read(min(size, 7) if size > 0 else size)


def everything(mutant) -> dict[str, int]:
    """Counts answers and refusals. Anything but a result in range or an allowed error is raised."""
    counts = {"answers": 0, "refusals": 0}

    def ask(question):
        try:
            result = question()
        except ALLOWED:
            counts["refusals"] += 1
            return None
        counts["answers"] += 1
        return result

    reader = ask(lambda: fidx.open_index(source_of(mutant), mutant.schema))
    if reader is None:
        return counts
    columns = {name: column_of(mutant.schema, name) for name, _, _ in mutant.questions}
    for name, op, literals in mutant.questions:
        type = type_of(mutant.schema, name)
        predicate = model.leaf(columns[name], op, [model.literal(type, each) for each in literals])
        in_range(ask(lambda: reader.evaluate(predicate, row_count=mutant.row_count)), mutant.row_count)
        ask(lambda: reader.count(predicate))
        if b"bloom-filter" in mutant.payload:
            many_as_single(mutant, predicate)
    for name, column in columns.items():
        for descending in (False, True):
            for ties in (False, True):
                in_range(ask(lambda: reader.top_n(column, 3, descending=descending, nulls_first=descending, ties=ties)), None)
        ask(lambda: reader.distinct(column))
        ask(lambda: reader.value_counts(column))
        ask(lambda: reader.min_max(column))
    return counts


def in_range(result, row_count):
    if result is not None and result.rows is not None and len(result.rows):
        limit = ROW_LIMIT if row_count is None else row_count
        assert result.rows.max() < limit, f"row {result.rows.max()} of {limit}"
        assert result.decision is fidx.Decision.ROWS


def many_as_single(mutant, predicate):
    """evaluate_many has a short way for Bloom filters in memory: it answers and refuses as opening each file does."""
    whole = mutant.payload
    sources = [whole, whole[:-1], whole + b"\0", bytearray(whole), whole[: len(whole) * 3 // 4], whole]
    single = []
    for source in sources:
        try:
            single.append(fidx.open_index(source, mutant.schema).evaluate(predicate, row_count=mutant.row_count))
        except fidx.FileIndexError:
            single.append(None)
    sound = [number for number, result in enumerate(single) if result is not None]
    many = fidx.evaluate_many([sources[number] for number in sound], mutant.schema, predicate,
                              row_counts=[mutant.row_count] * len(sound))
    assert many == [single[number] for number in sound], "evaluate_many differs from evaluate"
    for number, result in enumerate(single):
        if result is None:
            try:
                fidx.evaluate_many([sources[number]] * 5, mutant.schema, predicate, row_counts=[mutant.row_count] * 5)
            except fidx.FileIndexError:
                continue
            raise AssertionError("evaluate_many answers for a file that open_index refuses")


def source_of(mutant):
    if mutant.shape == "file":
        return io.BytesIO(mutant.payload)
    if mutant.shape == "short":
        return ShortFile(mutant.payload)
    return guarded(mutant.payload, at_end=len(mutant.payload) % 4 != 0)


def column_of(schema, name):
    base, bracket, key = name.partition("[")
    return fidx.col(name) if name in schema or not bracket else fidx.col(base)[key[:-1]]


def type_of(schema, name):
    return schema[name] if name in schema else schema[name.partition("[")[0]].removeprefix("MAP<STRING, ")[:-1]
