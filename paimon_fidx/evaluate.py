"""Predicate × one open index file → IndexResult: binding leaves to key sets, choosing an index, three-valued logic.

A predicate is bound to a schema once (`Bound`) and then asked of any number of files. A leaf goes to one index of its
column: the exact one that reads least. Leaves that no index of the file can answer are REMAIN.

    question                  indexes, best first
    few single keys           bitmap, range-bitmap, bsi, bloom-filter (SKIP or REMAIN)
    ranges, many keys         range-bitmap, bsi, bitmap
    LIKE, suffix, substring   range-bitmap, bitmap (over the distinct keys)
    IS [NOT] NULL             bitmap, range-bitmap, bsi
"""
from __future__ import annotations

from .core.bloom_filter import key_hashes
from .core.cursor import encode_modified_utf8
from .core.keys import Keys
from .core.pruning import BloomPruner
from .core.roaring import all_rows
from .errors import UnsupportedError
from .literals import NullTest, bind
from .predicate import And, Leaf, Or, Predicate
from .result import REMAIN, SKIP, rows_result
from .types import refusal

__all__ = ["Bound", "bound_predicate", "evaluate"]

FEW_KEYS = 16
MOST_STEPS = 64            # of a BloomPruner's program
FOR_FEW_KEYS = ("bitmap", "range-bitmap", "bsi", "bloom-filter")
FOR_RANGES = ("range-bitmap", "bsi", "bitmap", "bloom-filter")
FOR_PATTERNS = ("range-bitmap", "bitmap")
FOR_NULLS = ("bitmap", "range-bitmap", "bsi")


class Bound:
    """A predicate with its literals turned into index keys for one schema.

    Parameters
    ----------
    predicate : Predicate | str      a str is a WHERE text
    schema : dict[str, PaimonType]
    timezone : str | tzinfo      for literals that lack one

    Raises
    ------
    ValueError : a column that the schema lacks, a literal that does not parse; TypeError : what cannot be compared.
    """

    __slots__ = ("program", "predicate", "timezone", "types")

    def __init__(self, predicate, schema, timezone="UTC"):
        self.predicate, self.timezone = predicate, timezone
        if isinstance(predicate, str):
            from .sql import parse_where        # here: its parser takes a tenth of a second to import
            predicate = parse_where(predicate)
        if not isinstance(predicate, Predicate):
            raise TypeError("a predicate is built with fidx.col or fidx.parse_where, or is a WHERE text, "
                            f"not {type(predicate).__name__}")
        # Postfix: leaves push a result, ("and", n) and ("or", n) join the last n. Deep trees cost no Python stack.
        program, stack = [], [predicate]
        while stack:
            node = stack.pop()
            if isinstance(node, Leaf):
                program.append(_BoundLeaf(node, schema, timezone))
            elif isinstance(node, (And, Or)):
                stack.append((isinstance(node, And), len(node.children)))
                stack.extend(reversed(node.children))
            else:
                program.append(node)
        self.program = program
        self.types = {name: schema[name] for name in
                      {step.column.name for step in program if type(step) is _BoundLeaf}}

    def fits(self, schema, timezone):
        """Whether the predicate means the same for another schema: its columns have the same types."""
        return (timezone is self.timezone or timezone == self.timezone) and all(
            schema.get(name) is known or schema.get(name) == known for name, known in self.types.items())

    def bloom_pruner(self):
        """The predicate for many files of Bloom filters at once, or None where that path does not take it."""
        leaves = [step for step in self.program if type(step) is _BoundLeaf]
        if (len(self.program) > MOST_STEPS or any(refusal("bloom-filter", leaf.type) for leaf in leaves)
                or any(type(step) is tuple and step[1] == 0 for step in self.program)):
            return None
        places = iter(range(len(leaves)))
        program = [next(places) if type(step) is _BoundLeaf else -(2 * step[1] + (not step[0])) for step in self.program]
        return BloomPruner([encode_modified_utf8(leaf.name) for leaf in leaves], [leaf.hashes for leaf in leaves], program)


_recent = {}               # id of a predicate -> its Bound, which keeps the predicate and so the id
RECENT_MOST = 16


def bound_predicate(predicate, schema, timezone="UTC"):
    """The predicate bound to a schema; one of the last few again where it fits.

    Callers put one predicate object to file after file, and binding hundreds of literals takes longer than an answer.
    Parameters and errors as of `Bound`.
    """
    found = _recent.get(id(predicate))
    if found is None or not found.fits(schema, timezone):
        found = Bound(predicate, schema, timezone)
        if len(_recent) >= RECENT_MOST:
            _recent.clear()
        _recent[id(predicate)] = found
    return found


class _BoundLeaf:
    """A leaf, its column's name in the index, and the keys it selects."""

    __slots__ = ("column", "name", "type", "null_test", "keys", "negate", "exact", "order", "everything", "nothing",
                 "hashed", "_hashes")

    def __init__(self, leaf, schema, timezone):
        column = self.column = leaf.column
        self.type = column_type(column, schema)
        self.name = column.index_name
        bound = bind(leaf, self.type, timezone)
        self.null_test = isinstance(bound, NullTest)
        self.nothing = self.everything = self.hashed = False
        self._hashes = None
        self.exact = True
        if self.null_test:
            self.negate, self.order, self.keys = bound.negate, FOR_NULLS, None
            return
        self.exact, self.negate = bound.exact, bound.negate
        self.nothing = not bound.ranges and not bound.negate
        self.everything = not bound.ranges and bound.negate
        self.keys = None
        if self.everything:
            self.order = FOR_NULLS
        elif not self.nothing:
            self.keys = Keys(self.type.key_kind, bound.ranges, bound.like)
            self.order = (FOR_PATTERNS if bound.like is not None else
                          FOR_FEW_KEYS if self.keys.only_single(FEW_KEYS) else FOR_RANGES)


    @property
    def hashes(self):
        """The hashes that a Bloom filter is asked for: none for no key, None where a filter rules nothing out."""
        if not self.hashed:
            self.hashed = True
            if self.nothing:
                self._hashes = []
            elif self.keys is not None and not self.negate:      # only keys can be ruled out, not what is left without
                self._hashes = key_hashes(self.keys)
        return self._hashes


def column_type(column, schema):
    """The type of a column, or of a MAP column's values. ValueError names a column that the schema lacks."""
    type_ = schema.get(column.name)
    if type_ is None:
        known = ", ".join(list(schema)[:20]) + (", ..." if len(schema) > 20 else "")
        raise ValueError(f"column {column.name!r} is not in the schema; there are: {known}")
    if column.map_key is None:
        return type_
    if type_.root != "MAP":
        raise TypeError(f"{column!r}: column {column.name!r} is {type_}, not a MAP")
    return type_.value


def evaluate(bound, file, row_count):
    """The result of a bound predicate on an open file.

    Parameters
    ----------
    bound : Bound
    file : FileIndex      asked for ``entries(name)`` and ``reader(name, kind, type)``
    row_count : int | None   rows of the data file, where known

    Returns
    -------
    IndexResult
    """
    results = []
    for step in bound.program:
        if type(step) is _BoundLeaf:
            results.append(_leaf(step, file, row_count))
            continue
        conjunction, n = step
        if n == 0:
            results.append(_constant(conjunction, row_count))
            continue
        parts = results[-n:]
        del results[-n:]
        result = parts[0]
        for part in parts[1:]:
            result = result & part if conjunction else result | part
        results.append(result)
    return results[0]


def _constant(true, row_count):
    if not true:
        return SKIP
    return REMAIN if row_count is None else rows_result(all_rows(row_count), True)


def _leaf(leaf, file, row_count):
    kinds = file.entries(leaf.name)
    if kinds is None:
        return SKIP if leaf.nothing else REMAIN
    for kind, (start, _) in kinds.items():
        if start >= 0 and kind not in file.KINDS:
            raise UnsupportedError(f"{kind}[{leaf.name}]", path=file.path, offset=start,
                                   expected="an index of kind " + ", ".join(file.KINDS), found=repr(kind),
                                   hint="written by a newer Paimon?")
    if all(start < 0 for start, _ in kinds.values()):
        # An empty entry: the writer saw no value, so the column is NULL throughout.
        return _constant(leaf.null_test and not leaf.negate, row_count)
    if leaf.nothing:
        _open_all(leaf, file, kinds)
        return SKIP
    for kind in leaf.order:
        if kind not in kinds or kinds[kind][0] < 0:
            continue
        reader = file.reader(leaf.name, kind, leaf.type)
        if kind == "bloom-filter":
            return REMAIN if reader.may_contain_any(leaf.hashes) else SKIP
        if leaf.null_test or leaf.everything:
            rows = reader.value_rows(absent=leaf.null_test and not leaf.negate)
        else:
            rows = reader.select(leaf.keys, leaf.negate)
        return rows_result(rows, leaf.exact)
    _open_all(leaf, file, kinds)
    return REMAIN


def _open_all(leaf, file, kinds):
    """Opens what the answer does not need: a damaged index is an error whatever is asked of its column."""
    for kind, (start, _) in kinds.items():
        if start >= 0:
            file.reader(leaf.name, kind, leaf.type)
