"""The expression tree: columns, comparisons with literals, AND, OR, NOT. Pure data, no types and no evaluation.

    Predicate = Leaf(column, op, literals, escape) | And(children) | Or(children)

* NOT is pushed to the leaves and never survives: ``~(a & b)`` is ``~a | ~b``, ``~(x < 5)`` is ``x >= 5``. SQL's
  three-valued logic makes this exact: a leaf on NULL is unknown, and so is its negation.
* And in And and Or in Or are flattened. Both, and the pushing of NOT, happen when ``children`` is first read, with
  an explicit stack: building a tree of n nodes in any shape costs O(n), and no depth crashes.
* Trees are immutable, hash and compare by structure, pickle, and print as SQL. ``==`` on a Column builds a Leaf; on
  a Predicate it compares.

    op                                                        literals
    =  !=  <  <=  >  >=                                       one
    in  not_in                                                any number
    between  not_between                                      lower, upper (both included)
    starts_with  ends_with  contains  and not_...             one
    like  not_like                                            one; ``escape``, None for the backslash
    is_null  is_not_null  is_nan  is_not_nan                  none

What a leaf means for a column of some type is said in ``literals.bind``.
"""
from __future__ import annotations

import re
from enum import IntEnum
from itertools import zip_longest

from .values import TimestampNs, literal, sql_text, timestamp_ns

__all__ = ["ALWAYS", "And", "Column", "Leaf", "NEVER", "Or", "Predicate", "TimestampNs", "Wildcard", "col",
           "parse_like", "timestamp_ns"]

NEGATION = {
    "=": "!=", "<": ">=", ">": "<=", "in": "not_in", "between": "not_between", "is_null": "is_not_null",
    "is_nan": "is_not_nan", "starts_with": "not_starts_with", "ends_with": "not_ends_with",
    "contains": "not_contains", "like": "not_like",
}
NEGATION |= {v: k for k, v in NEGATION.items()}
LITERAL_COUNT = {op: 1 for op in NEGATION} | {
    "in": None, "not_in": None, "between": 2, "not_between": 2,
    "is_null": 0, "is_not_null": 0, "is_nan": 0, "is_not_nan": 0,
}


class Column:
    """A column, or one key of a MAP column: ``col("attrs")["os"]``. Comparisons give a Leaf.

    Attributes
    ----------
    name : str
    map_key : str | None
    index_name : str      the name of its entry in an index file: ``status``, ``attrs[os]``; never parsed back

    >>> (col("attrs")["os"] == "linux") & col("amount").between(1, 9)
    attrs['os'] = 'linux' AND amount BETWEEN 1 AND 9
    """

    __slots__ = ("name", "map_key")
    __array_ufunc__ = None  # numpy scalars on the left leave the comparison to us
    __hash__ = None         # == builds a Leaf, so a Column cannot be a dict key; use (name, map_key)

    def __init__(self, name, map_key=None):
        if not isinstance(name, str) or not isinstance(map_key, (str, type(None))):
            raise TypeError(f"a column name and a MAP key are str: {name!r}, {map_key!r}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "map_key", map_key)

    def __setattr__(self, name, value):
        raise AttributeError("a Column cannot be changed")

    def __reduce__(self):
        return Column, (self.name, self.map_key)

    def __getitem__(self, key):
        if self.map_key is not None:
            raise TypeError(f"{self!r} is a MAP key already; only one level of keys is indexed")
        if not isinstance(key, str):
            raise TypeError(f"a MAP key is a str, not {type(key).__name__}")
        return Column(self.name, key)

    __iter__ = None

    @property
    def index_name(self):
        return self.name if self.map_key is None else f"{self.name}[{self.map_key}]"

    def same(self, other):
        """Whether both are the same column (``==`` builds a predicate)."""
        return isinstance(other, Column) and (self.name, self.map_key) == (other.name, other.map_key)

    def __eq__(self, value):
        return Leaf(self, "=", (value,))

    def __ne__(self, value):
        return Leaf(self, "!=", (value,))

    def __lt__(self, value):
        return Leaf(self, "<", (value,))

    def __le__(self, value):
        return Leaf(self, "<=", (value,))

    def __gt__(self, value):
        return Leaf(self, ">", (value,))

    def __ge__(self, value):
        return Leaf(self, ">=", (value,))

    def is_in(self, values):
        """One of the values; a NULL among them never matches. Takes any iterable but a str."""
        return Leaf(self, "in", _values(values))

    def not_in(self, values):
        """None of the values; with a NULL among them nothing matches, as in SQL."""
        return Leaf(self, "not_in", _values(values))

    def between(self, lower, upper):
        """``lower <= column <= upper``."""
        return Leaf(self, "between", (lower, upper))

    def not_between(self, lower, upper):
        """``column < lower OR column > upper``; a NULL bound leaves the other to decide."""
        return Leaf(self, "not_between", (lower, upper))

    def is_null(self):
        return Leaf(self, "is_null")

    def is_not_null(self):
        return Leaf(self, "is_not_null")

    def is_nan(self):
        """NaN, of a FLOAT or DOUBLE column. Its negation keeps NULL, as Spark's isnan is false for NULL."""
        return Leaf(self, "is_nan")

    def starts_with(self, prefix):
        return Leaf(self, "starts_with", (prefix,))

    def ends_with(self, suffix):
        return Leaf(self, "ends_with", (suffix,))

    def contains(self, part):
        return Leaf(self, "contains", (part,))

    def like(self, pattern, escape=None):
        """SQL LIKE: ``%`` any run, ``_`` one character; ``escape`` (default: backslash) before ``%``, ``_`` or itself.

        Raises ValueError for a pattern with the escape before anything else, or for an escape that is not one
        character.
        """
        return Leaf(self, "like", (pattern,), escape)

    def __bool__(self):
        raise TypeError(f"{self!r} has no truth value; a BOOLEAN column is compared: col({self.name!r}) == True")

    def _no_logic(self, other=None):
        raise TypeError(f"{self!r} is a column, not a predicate; a BOOLEAN column is compared: "
                        f"col({self.name!r}) == True")

    __and__ = __or__ = __rand__ = __ror__ = __invert__ = _no_logic

    def __repr__(self):
        name = self.name
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.A) or name.upper() in _RESERVED:
            name = "`" + name.replace("`", "``") + "`"
        return name if self.map_key is None else f"{name}[{sql_text(self.map_key)}]"


_RESERVED = {"ALL", "AND", "ANY", "BETWEEN", "CASE", "CAST", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP",
             "CURRENT_USER", "DATE", "ESCAPE", "EXISTS", "FALSE", "FROM", "IF", "IN", "INTERVAL", "IS", "LIKE",
             "LOCALTIME", "LOCALTIMESTAMP", "NOT", "NULL", "OR", "SELECT", "SESSION_USER", "SOME", "TIME", "TIMESTAMP",
             "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TRUE", "VALUES", "WHERE", "X"}


def col(name) -> Column:
    """The column of this name; nothing is checked before the predicate meets a schema."""
    return Column(name)


def _values(values):
    if isinstance(values, (str, bytes, Column)) or not hasattr(values, "__iter__"):
        raise TypeError(f"is_in and not_in take a list of values, not {type(values).__name__}")
    return tuple(values)


# --------------------------------------------------------------------------------------------- the tree


class Predicate:
    """A condition: Leaf, And or Or. Combine with ``&``, ``|`` and ``~``."""

    __slots__ = ()

    def __setattr__(self, name, value):
        raise AttributeError("a predicate cannot be changed")

    def __and__(self, other):
        return _join(And, self, other)

    def __or__(self, other):
        return _join(Or, self, other)

    def __rand__(self, other):
        return _join(And, other, self)

    def __ror__(self, other):
        return _join(Or, other, self)

    def __bool__(self):
        raise TypeError("a predicate has no truth value: combine with & | ~ (in parentheses) instead of and, or, not, "
                        "and write between(low, high) instead of low <= column <= high")

    def __eq__(self, other):
        if not isinstance(other, Predicate):
            return NotImplemented
        if self is other:
            return True
        pairs = zip_longest(_postfix(self), _postfix(other))
        return all(a is b or a is not None and b is not None and _shape(a) == _shape(b) for a, b in pairs)

    def __hash__(self):
        return hash(tuple(map(_shape, _postfix(self))))

    def __reduce__(self):
        # Flat, so that pickle does not recurse: leaves in postfix order, and a (name, child count) per And and Or.
        program = tuple(n if isinstance(n, Leaf) else (type(n).__name__, len(n.children)) for n in _postfix(self))
        return _replay, (program,)

    def fold(self, leaf, every, some):
        """The tree from the leaves up: ``leaf(Leaf)``, ``every(list)`` for And, ``some(list)`` for Or.

        Never recurses; each call gets the results of the children in order.

        >>> ((col("a") == 1) & ~(col("b") > 2)).fold(lambda x: x.op, "&".join, "|".join)
        '=&<='
        """
        results = []
        for node in _postfix(self):
            if isinstance(node, Leaf):
                results.append(leaf(node))
            else:
                count = len(node.children)
                args = results[len(results) - count:]
                del results[len(results) - count:]
                results.append((every if isinstance(node, And) else some)(args))
        return results.pop()

    def leaves(self):
        """The leaves from left to right, repeated ones too."""
        return [node for node in _postfix(self) if isinstance(node, Leaf)]

    def columns(self):
        """The columns it speaks of, each once, as a tuple of Column in order of appearance."""
        return tuple({(leaf.column.name, leaf.column.map_key): leaf.column for leaf in self.leaves()}.values())

    def rename(self, names):
        """The same predicate with columns renamed: ``{old: new}``; MAP keys stay.

        >>> (col("a") == 1).rename({"a": "b"})
        b = 1
        """
        def renamed(leaf):
            name = names.get(leaf.column.name)
            if name is None:
                return leaf
            return _leaf(Column(name, leaf.column.map_key), leaf.op, leaf.literals, leaf.escape)
        return self.fold(renamed, And, Or)

    def __repr__(self):
        out, stack = [], [self]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                out.append(node)
            elif isinstance(node, Leaf):
                out.append(node._text())
            elif not node.children:
                out.append("TRUE" if isinstance(node, And) else "FALSE")
            else:
                for i, child in enumerate(reversed(node.children)):
                    if i:
                        stack.append(" AND " if isinstance(node, And) else " OR ")
                    if isinstance(child, Leaf) or isinstance(node, Or) or len(child.children) < 2:
                        stack.append(child)
                    else:
                        stack += [")", child, "("]
        return "".join(out)


class Leaf(Predicate):
    """One comparison of a column with literals.

    Attributes
    ----------
    column : Column
    op : str             see the module's table
    literals : tuple     None (NULL), bool, int, float, Decimal, str, bytes, date, time, datetime or TimestampNs:
                         what ``values.literal`` makes of the values given
    escape : str | None  of like and not_like

    Raises ValueError for an unknown op or a malformed LIKE pattern, TypeError for values that are no literals.
    """

    __slots__ = ("column", "op", "literals", "escape")
    __match_args__ = ("column", "op", "literals", "escape")

    def __init__(self, column, op, literals=(), escape=None):
        if not isinstance(column, Column):
            raise TypeError(f"a leaf is about a Column, not {type(column).__name__}")
        if op not in LITERAL_COUNT:
            raise ValueError(f"no operator {op!r}")
        try:
            literals = tuple([literal(v) for v in literals])
        except (TypeError, ValueError) as error:
            raise type(error)(f"{column!r} {op}: {error}") from None
        if LITERAL_COUNT[op] not in (None, len(literals)):
            raise ValueError(f"{op} takes {LITERAL_COUNT[op]} literals, not {len(literals)}")
        if op in ("like", "not_like"):
            _check_like(column, literals[0], escape)
        elif escape is not None:
            raise ValueError(f"{op} takes no escape character")
        _fill(self, column, op, literals, escape)

    def __invert__(self):
        negated = _leaf(self.column, NEGATION[self.op], self.literals, self.escape)
        # isnan(NULL) is false, not unknown, so NOT isnan(NULL) is true
        return negated if self.op != "is_nan" else Or((negated, _leaf(self.column, "is_null", (), None)))

    def __reduce__(self):
        return Leaf, (self.column, self.op, self.literals, self.escape)

    def _text(self):
        negated = "NOT " if self.op.startswith("not_") else ""
        c, op, v = repr(self.column), self.op.removeprefix("not_"), [sql_text(x) for x in self.literals]
        if op in ("is_null", "is_not_null"):
            return f"{c} {op.upper().replace('_', ' ')}"
        if op in ("is_nan", "is_not_nan"):
            return f"isnan({c})" if op == "is_nan" else f"({c} IS NOT NULL AND NOT isnan({c}))"
        if op == "in":
            return f"{c} {negated}IN ({', '.join(v)})"
        if op == "between":
            return f"{c} {negated}BETWEEN {v[0]} AND {v[1]}"
        if op == "like":
            return f"{c} {negated}LIKE {v[0]}" + ("" if self.escape is None else f" ESCAPE {sql_text(self.escape)}")
        if op in ("starts_with", "ends_with", "contains"):
            return f"{negated}{op.replace('_', '')}({c}, {v[0]})"
        return f"{c} {op} {v[0]}"


def _fill(leaf, column, op, literals, escape):
    put = object.__setattr__
    put(leaf, "column", column)
    put(leaf, "op", op)
    put(leaf, "literals", literals)
    put(leaf, "escape", escape)
    return leaf


def _leaf(column, op, literals, escape):
    """A Leaf of parts that are known to be right."""
    return _fill(Leaf.__new__(Leaf), column, op, literals, escape)


class _Junction(Predicate):
    """And or Or over ``_parts``, which are negated on reading when ``_negated``; ``children`` settles both."""

    __slots__ = ("_parts", "_negated", "_flat")
    __match_args__ = ("children",)

    def __init__(self, children=()):
        if isinstance(children, (Predicate, Column, str)):
            raise TypeError(f"{type(self).__name__} takes one iterable of predicates")
        parts = tuple(children)
        for part in parts:
            if not isinstance(part, Predicate):
                raise TypeError(f"{type(self).__name__} joins predicates, not {_kind(part)}")
        self._set(parts, False)

    def _set(self, parts, negated):
        put = object.__setattr__
        put(self, "_parts", parts)
        put(self, "_negated", negated)
        put(self, "_flat", None)
        return self

    def __invert__(self):
        dual = Or if type(self) is And else And
        return dual.__new__(dual)._set(self._parts, not self._negated)

    @property
    def children(self):
        """The joined predicates, none of them of this node's own class."""
        if self._flat is None:
            found, seen, stack = [], {}, [self]
            while stack:
                node = stack.pop()
                if type(node) is not type(self):
                    found.append(node)
                elif node._flat is not None:
                    found += node._flat
                elif (id(node._parts), node._negated) not in seen:  # p & (p & q): p counts once
                    seen[id(node._parts), node._negated] = node     # and stays alive, so that its id stays its own
                    stack += [~p for p in reversed(node._parts)] if node._negated else reversed(node._parts)
            object.__setattr__(self, "_flat", tuple(found))
        return self._flat


class And(_Junction):
    """All of the children; ``And(())`` is ALWAYS."""

    __slots__ = ()


class Or(_Junction):
    """Any of the children; ``Or(())`` is NEVER."""

    __slots__ = ()


ALWAYS = And(())
NEVER = Or(())


def _kind(value):
    return f"the column {value!r} (compare it: == True)" if isinstance(value, Column) else type(value).__name__


def _join(kind, left, right):
    for side in (left, right):
        if not isinstance(side, Predicate):
            raise TypeError(f"{'&' if kind is And else '|'} joins predicates, not {_kind(side)}; "
                            "put comparisons in parentheses: (a == 1) & (b == 2)")
    if left is right:
        return left
    for one, other in ((left, right), (right, left)):
        if type(one) is kind and not one._parts:  # ALWAYS & p, NEVER | p
            return other
    return kind.__new__(kind)._set((left, right), False)


def _postfix(node):
    """Every node after its children."""
    stack = [(node, False)]
    while stack:
        node, done = stack.pop()
        if done or isinstance(node, Leaf):
            yield node
        else:
            stack.append((node, True))
            stack += [(child, False) for child in reversed(node.children)]


def _shape(node):
    """What one node adds to the tree's identity."""
    if not isinstance(node, Leaf):
        return type(node).__name__, len(node.children)
    # 1, True, 1.0 and Decimal(1) are equal in Python but not the same literal; NaN is not equal to itself
    literals = tuple((type(v).__name__, v.hex() if isinstance(v, float) else v) for v in node.literals)
    return node.column.name, node.column.map_key, node.op, literals, node.escape


def _replay(program):
    """The tree of ``Predicate.__reduce__``'s postfix program."""
    stack = []
    for step in program:
        if isinstance(step, Leaf):
            stack.append(step)
        else:
            name, count = step
            parts = stack[len(stack) - count:]
            del stack[len(stack) - count:]
            stack.append((And if name == "And" else Or)(parts))
    return stack.pop()


# --------------------------------------------------------------------------------------------- LIKE


class Wildcard(IntEnum):
    """The wildcards of a parsed LIKE pattern."""

    ANY_CHAR = 1  # one code point
    ANY_RUN = 2   # any number of them, none included


def parse_like(pattern, escape=None) -> list:
    """A LIKE pattern as its parts: str | Wildcard, no two str side by side, ``_`` before ``%``, at most one ``%``.

    Parameters
    ----------
    pattern : str
    escape : str | None    one character; None is Spark's default, the backslash

    Raises ValueError where the escape stands before anything but ``%``, ``_`` and itself, or at the end.

    >>> parse_like("a%_%b")
    ['a', <Wildcard.ANY_CHAR: 1>, <Wildcard.ANY_RUN: 2>, 'b']
    """
    mark = "\\" if escape is None else escape
    parts, text, at = [], [], 0
    while at < len(pattern):
        c = pattern[at]
        at += 1
        if c == mark:
            if at == len(pattern) or pattern[at] not in ("%", "_", mark):
                found = f"before {pattern[at]!r}" if at < len(pattern) else "at the end"
                raise ValueError(f"LIKE pattern {pattern!r}: the escape {mark!r} {found} (position {at - 1}); it can "
                                 "only stand before %, _ and itself")
            text.append(pattern[at])
            at += 1
        elif c in "%_":
            if text:
                parts.append("".join(text))
                text = []
            if c == "%":
                if not parts or parts[-1] is not Wildcard.ANY_RUN:
                    parts.append(Wildcard.ANY_RUN)
            elif parts and parts[-1] is Wildcard.ANY_RUN:
                parts.insert(-1, Wildcard.ANY_CHAR)
            else:
                parts.append(Wildcard.ANY_CHAR)
        else:
            text.append(c)
    return parts + ["".join(text)] if text else parts


def _check_like(column, pattern, escape):
    if escape is not None and not (isinstance(escape, str) and len(escape) == 1):
        raise ValueError(f"{column!r} LIKE: the escape is one character, not {escape!r}")
    if isinstance(pattern, str):
        parse_like(pattern, escape)
