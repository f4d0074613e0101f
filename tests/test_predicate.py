"""The expression tree: what the operators build, NOT and flattening, depth, identity, pickle, text."""
import copy
import datetime as dt
import pickle
import sys
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_fidx.predicate import (
    ALWAYS, NEVER, And, Column, Leaf, Or, TimestampNs, Wildcard, col, parse_like, timestamp_ns)

A, B, D = col("a"), col("b"), col("d")
DEEP = 10_000


@pytest.mark.parametrize("leaf, op, literals", [
    (A == 1, "=", (1,)), (A != 1, "!=", (1,)), (A < 1, "<", (1,)), (A <= 1, "<=", (1,)), (A > 1, ">", (1,)),
    (A >= 1, ">=", (1,)), (1 == A, "=", (1,)), (1 < A, ">", (1,)), (1 >= A, "<=", (1,)),
    (A.is_in([1, None]), "in", (1, None)), (A.is_in(range(2)), "in", (0, 1)), (A.not_in({5}), "not_in", (5,)),
    (A.between(1, 2), "between", (1, 2)), (A.not_between(1, 2), "not_between", (1, 2)),
    (A.is_null(), "is_null", ()), (A.is_not_null(), "is_not_null", ()), (A.is_nan(), "is_nan", ()),
    (A.starts_with("x"), "starts_with", ("x",)), (A.ends_with("x"), "ends_with", ("x",)),
    (A.contains("x"), "contains", ("x",)), (A.like("x%"), "like", ("x%",)),
])
def test_columns_build_leaves(leaf, op, literals):
    assert type(leaf) is Leaf and leaf.column.same(A)
    assert (leaf.op, leaf.literals) == (op, literals)


@pytest.mark.parametrize("op, negated", [
    ("=", "!="), ("<", ">="), (">", "<="), ("in", "not_in"), ("between", "not_between"), ("is_null", "is_not_null"),
    ("like", "not_like"), ("starts_with", "not_starts_with"), ("ends_with", "not_ends_with"),
    ("contains", "not_contains"),
])
def test_not_turns_each_operator_into_its_opposite(op, negated):
    literals = {"between": (1, 2), "is_null": ()}.get(op, ("x",))
    leaf = Leaf(A, op, literals)
    assert ~leaf == Leaf(A, negated, literals) and ~~leaf == leaf


def test_not_isnan_keeps_null_as_spark_does():
    assert ~A.is_nan() == Leaf(A, "is_not_nan") | A.is_null()
    assert ~Leaf(A, "is_not_nan") == A.is_nan()


def test_the_escape_survives_negation():
    leaf = ~A.like("a!%", escape="!")
    assert (leaf.op, leaf.escape) == ("not_like", "!")


def test_not_is_pushed_to_the_leaves_by_de_morgan():
    p = ~((A == 1) & ((B < 2) | ~(D > 3)))
    assert p == (A != 1) | ((B >= 2) & (D > 3))
    assert [type(x) for x in (p, p.children[1])] == [Or, And]


def test_and_and_or_are_flattened():
    p = (A == 1) & ((B == 2) & (D == 3)) & (A == 4)
    assert p.children == (A == 1, B == 2, D == 3, A == 4)
    assert And([And([A == 1]), Or([B == 1, Or([D == 1])])]) == (A == 1) & ((B == 1) | (D == 1))
    assert (~((A == 1) | ((B == 2) | (D == 3)))).children == (A != 1, B != 2, D != 3)


def test_constants():
    assert ALWAYS == And(()) and NEVER == Or(()) and ALWAYS != NEVER
    assert ~ALWAYS == NEVER and ~NEVER == ALWAYS
    assert (ALWAYS & (A == 1)) == (A == 1) and ((A == 1) | NEVER) == (A == 1)
    assert (repr(ALWAYS), repr(NEVER)) == ("TRUE", "FALSE")
    assert ((A == 1) & NEVER).children == (A == 1, NEVER)


def test_a_shared_part_is_taken_once():
    p = A == 1
    for _ in range(200):  # a tree of 2**200 leaves, were each part copied
        p = p & (p & (B == 2)) & p
    assert (A == 1) in p.children and len(p.children) < 1000
    assert len((~p).children) == len(p.children)


# ------------------------------------------------------------------------------------- depth

def chain(step):
    p = A == 0
    for i in range(DEEP):
        p = step(p, B == i)
    return p


@pytest.mark.parametrize("step, leaves", [
    (lambda p, leaf: p & leaf, DEEP + 1),
    (lambda p, leaf: leaf & p, DEEP + 1),
    (lambda p, leaf: p & leaf if leaf.literals[0] % 2 else p | leaf, DEEP + 1),
    (lambda p, leaf: ~(p & leaf), DEEP + 1),
    (lambda p, leaf: ~p, 1),
    (lambda p, leaf: And([p]), 1),
    (lambda p, leaf: Or([And([p])]), 1),
], ids=["left", "right", "alternating", "negated", "not", "and of one", "or of and of one"])
def test_depth_neither_crashes_nor_costs_more_than_its_nodes(step, leaves):
    p = chain(step)
    assert len(p.leaves()) == leaves
    text, number, again = repr(p), hash(p), pickle.loads(pickle.dumps(p))
    assert again == p and hash(again) == number and repr(again) == text
    assert len(p.columns()) == min(leaves, 2)
    assert (~~p) == p
    assert p.rename({"b": "c"}).leaves()[-1].column.name != "b"
    assert p.fold(lambda leaf: 1, sum, sum) == leaves
    del p, again


def test_a_hundred_thousand_levels():
    p, leaf = A == 0, B == 1
    for _ in range(50_000):
        p = ~(~(p & leaf) & leaf)
    for _ in range(100_000):
        p = ~p
    assert len(p.leaves()) == 100_001 and len(pickle.loads(pickle.dumps(p)).leaves()) == 100_001


def test_a_long_chain_is_one_node():
    p = chain(lambda p, leaf: p | leaf)
    assert type(p) is Or and len(p.children) == DEEP + 1
    assert len((~p).children) == DEEP + 1


def test_the_recursion_limit_does_not_matter():
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(200)
        p = A == 0
        for i in range(2000):
            p = ~(p & (B == i))
        assert copy.deepcopy(p) == p and len(repr(p)) > 2000
    finally:
        sys.setrecursionlimit(limit)


# ------------------------------------------------------------------------------------- identity

LEAVES = st.builds(lambda name, n: [col(name) == n, col(name) < n, col(name).is_null(), col(name).is_in([n])][n % 4],
                   st.sampled_from("abc"), st.integers(0, 9))
TREES = st.recursive(LEAVES, lambda t: st.one_of(
    st.builds(lambda x, y: x & y, t, t), st.builds(lambda x, y: x | y, t, t), st.builds(lambda x: ~x, t),
    st.builds(And, st.lists(t, max_size=3)), st.builds(Or, st.lists(t, max_size=3))), max_leaves=12)


def truth(predicate, row):
    """Three-valued evaluation over {column: int or None}; None is unknown."""
    def leaf(x):
        v = row[x.column.name]
        if x.op in ("is_null", "is_not_null"):
            return (v is None) == (x.op == "is_null")
        if v is None:
            return None
        n = x.literals[0]
        return {"=": v == n, "!=": v != n, "<": v < n, ">=": v >= n, "in": v == n, "not_in": v != n}[x.op]

    def every(xs):
        return False if False in xs else None if None in xs else True

    def some(xs):
        return True if True in xs else None if None in xs else False
    return predicate.fold(leaf, every, some)


ROWS = [{"a": a, "b": b, "c": 4} for a in (None, 1, 5) for b in (None, 3)]


@settings(max_examples=150, deadline=None)
@given(TREES, TREES)
def test_trees_mean_what_their_operators_say(p, q):
    def no(x):
        return None if x is None else not x
    for row in ROWS:
        t, u = truth(p, row), truth(q, row)
        assert truth(~p, row) == no(t) and truth(~~p, row) == t
        assert truth(p & q, row) == (False if False in (t, u) else None if None in (t, u) else True)
        assert truth(p | q, row) == (True if True in (t, u) else None if None in (t, u) else False)


@settings(max_examples=150, deadline=None)
@given(TREES)
def test_no_node_has_a_child_of_its_own_class(p):
    stack = [p]
    while stack:
        node = stack.pop()
        if isinstance(node, Leaf):
            continue
        assert all(type(child) is not type(node) for child in node.children)
        stack += node.children


@settings(max_examples=150, deadline=None)
@given(TREES)
def test_pickle_copy_and_hash(p):
    for q in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p), copy.copy(p), p.rename({})):
        assert q == p and hash(q) == hash(p) and repr(q) == repr(p)


def test_structure_decides_equality():
    assert (A == 1) & (B == 2) != (B == 2) & (A == 1)
    assert (A == 1) & (B == 2) != (A == 1) | (B == 2)
    assert ((A == 1) == 5) is False and (A == 1) != "a = 1"
    assert (A["k"] == 1) != (A == 1)
    assert A.like("x") != A.like("x", escape="!")
    assert And([A == 1]) != (A == 1)


def test_literals_of_different_types_are_different():
    leaves = {A == x for x in (1, 1.0, True, Decimal(1), "1", b"1", None)}
    assert len(leaves) == 7
    assert (A == float("nan")) == (A == float("nan"))
    assert hash(A == 0.0) != hash(A == -0.0) or (A == 0.0) != (A == -0.0)


def test_predicates_and_columns_cannot_be_changed():
    for thing, name in ((A, "name"), (A == 1, "op"), ((A == 1) & (B == 2), "children"), (timestamp_ns(1), "ns")):
        with pytest.raises(AttributeError):
            setattr(thing, name, "x")


# ------------------------------------------------------------------------------------- columns

def test_a_map_key_is_a_column_of_its_own():
    key = col("attrs")["os"]
    assert (key.name, key.map_key, key.index_name) == ("attrs", "os", "attrs[os]")
    assert (col("k[").index_name, col("a[b]").map_key) == ("k[", None)
    assert key.same(pickle.loads(pickle.dumps(key))) and not key.same(col("attrs")) and not key.same(col("attrs[os]"))
    with pytest.raises(TypeError, match="MAP key already"):
        key["x"]
    with pytest.raises(TypeError, match="a MAP key is a str, not int"):
        A[0]


def test_columns_are_listed_once_and_renamed_by_name():
    p = (A == 1) & (col("m")["x"] == 2) | (A > 3) & (col("m")["y"] == 4) & (col("m")["x"] == 5)
    assert [c.index_name for c in p.columns()] == ["a", "m[x]", "m[y]"]
    assert [c.index_name for c in p.rename({"m": "n", "zz": "q"}).columns()] == ["a", "n[x]", "n[y]"]


def test_a_column_is_no_dict_key_and_no_iterable():
    with pytest.raises(TypeError):
        {A: 1}
    with pytest.raises(TypeError):
        list(A)
    with pytest.raises(TypeError, match="str"):
        col(5)
    with pytest.raises(TypeError):
        Column("a", 5)


# ------------------------------------------------------------------------------------- mistakes

def test_and_or_not_and_chained_comparisons_are_refused_with_the_way_out():
    for mistake in (lambda: (A == 1) and (B == 2), lambda: not (A == 1), lambda: 1 < A < 5,  # noqa: E711
                    lambda: bool((A == 1) & (B == 2))):
        with pytest.raises(TypeError, match="combine with & | ~"):
            mistake()
    with pytest.raises(TypeError, match="== True"):
        bool(A)


def test_a_bare_column_is_no_predicate():
    for mistake in (lambda: A & (B == 1), lambda: (B == 1) & A, lambda: (B == 1) | A, lambda: ~A, lambda: And([A])):
        with pytest.raises(TypeError, match="== True"):
            mistake()
    for mistake in (lambda: (B == 1) & 5, lambda: True | (B == 1), lambda: And(A == 1), lambda: And("a"),
                    lambda: Or([1])):
        with pytest.raises(TypeError):
            mistake()


@pytest.mark.parametrize("mistake, kind, text", [
    (lambda: A == B, TypeError, "a column is compared with a literal"),
    (lambda: A == (B == 1), TypeError, "a column is compared with a literal"),
    (lambda: A == [1], TypeError, "a =: builtins.list is no literal"),
    (lambda: A.is_in("abc"), TypeError, "take a list of values, not str"),
    (lambda: A.is_in(5), TypeError, "take a list of values, not int"),
    (lambda: A.is_in([[1]]), TypeError, "a in: builtins.list is no literal"),
    (lambda: Leaf(A, "~"), ValueError, "no operator '~'"),
    (lambda: Leaf(A, "between", (1,)), ValueError, "between takes 2 literals, not 1"),
    (lambda: Leaf(A, "=", (1,), "!"), ValueError, "= takes no escape"),
    (lambda: Leaf("a", "=", (1,)), TypeError, "not str"),
    (lambda: A.like("a\\b"), ValueError, r"the escape '\\\\' before 'b' \(position 1\)"),
    (lambda: A.like("a\\"), ValueError, "at the end"),
    (lambda: A.like("a", escape=""), ValueError, "one character"),
    (lambda: A.like("a", escape="!!"), ValueError, "one character"),
    (lambda: A.like("a", escape=5), ValueError, "one character"),
    (lambda: A.like("!a", escape="!"), ValueError, "before 'a'"),
])
def test_mistakes_are_named(mistake, kind, text):
    with pytest.raises(kind, match=text):
        mistake()


# ------------------------------------------------------------------------------------- LIKE

RUN, CHAR = Wildcard.ANY_RUN, Wildcard.ANY_CHAR


@pytest.mark.parametrize("pattern, escape, parts", [
    ("", None, []), ("abc", None, ["abc"]), ("%", None, [RUN]), ("%%%", None, [RUN]), ("_", None, [CHAR]),
    ("a%", None, ["a", RUN]), ("%_%", None, [CHAR, RUN]), ("%__a", None, [CHAR, CHAR, RUN, "a"]),
    ("a\\%b", None, ["a%b"]), ("\\_\\\\", None, ["_\\"]), ("a!%", None, ["a!", RUN]), ("a!%", "!", ["a%"]),
    ("a\\%", "!", ["a\\", RUN]), ("__a", "_", ["_a"]), ("%%a", "%", ["%a"]), ("a\nb", None, ["a\nb"]),
])
def test_like_patterns(pattern, escape, parts):
    assert parse_like(pattern, escape) == parts


# ------------------------------------------------------------------------------------- text

@pytest.mark.parametrize("predicate, text", [
    ((A == 1) & ((B == 2) | (D == 3)), "a = 1 AND (b = 2 OR d = 3)"),
    ((A == 1) | (B == 2) & (D == 3), "a = 1 OR b = 2 AND d = 3"),
    (A == "it's\n\\", r"a = 'it\'s\n\\'"),
    (A == b"\xab", "a = X'AB'"),
    (A == None, "a = NULL"),  # noqa: E711
    (A == True, "a = TRUE"),  # noqa: E712
    (A == 1.5, "a = 1.5D"),
    (A == float("-inf"), "a = double('-Infinity')"),
    (A == Decimal("1.50"), "a = 1.50"),
    (A == Decimal("5"), "a = 5BD"),
    (A == Decimal("1E+900"), "a = 1E+900BD"),
    (A == dt.date(2024, 1, 2), "a = DATE '2024-01-02'"),
    (A == dt.datetime(2024, 1, 2, 3), "a = TIMESTAMP '2024-01-02 03:00:00'"),
    (A == dt.time(3, 4), "a = TIME '03:04:00'"),
    (A == timestamp_ns(5), "a = timestamp_ns(5)"),
    (A == TimestampNs(-1, "wall"), "a = TIMESTAMP '1969-12-31 23:59:59.999999999'"),
    (A == TimestampNs(1, "instant"), "a = TIMESTAMP '1970-01-01 00:00:00.000000001Z'"),
    (A == TimestampNs(10**30, "wall"), f"a = TimestampNs({10**30}, 'wall')"),
    (A.is_in([1, None]), "a IN (1, NULL)"),
    (A.not_in(["x"]), "a NOT IN ('x')"),
    (A.between(1, 2), "a BETWEEN 1 AND 2"),
    (~A.between(1, 2), "a NOT BETWEEN 1 AND 2"),
    (A.like("x%", escape="!"), "a LIKE 'x%' ESCAPE '!'"),
    (~A.like("x%"), "a NOT LIKE 'x%'"),
    (A.starts_with("x"), "startswith(a, 'x')"),
    (~A.contains("x"), "NOT contains(a, 'x')"),
    (A.is_null(), "a IS NULL"),
    (~A.is_null(), "a IS NOT NULL"),
    (A.is_nan(), "isnan(a)"),
    (col("my col")["k'"] == 1, r"`my col`['k\''] = 1"),
    (col("date") == 1, "`date` = 1"),
    (col("a`b") == 1, "`a``b` = 1"),
])
def test_repr_is_sql(predicate, text):
    assert repr(predicate) == text
