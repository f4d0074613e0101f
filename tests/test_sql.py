"""WHERE texts: what each means, what is refused and how, and that a predicate's text is read back as itself."""
import datetime as dt
import math
import sys
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_fidx.predicate import ALWAYS, NEVER, And, Leaf, Or, TimestampNs, col
from paimon_fidx.sql import parse_where

A, B, M = col("a"), col("b"), col("m")
UTC = dt.timezone.utc


@pytest.mark.parametrize("text, predicate", [
    ("a = 1", A == 1), ("a == 1", A == 1), ("a <> 1", A != 1), ("a != 1", A != 1), ("a < 1", A < 1), ("a <= 1", A <= 1),
    ("a > 1", A > 1), ("a >= 1", A >= 1), ("1 = a", A == 1), ("1 <> a", A != 1), ("1 < a", A > 1), ("1 <= a", A >= 1),
    ("1 > a", A < 1), ("1 >= a", A <= 1),
    ("a <=> 1", (A == 1) & A.is_not_null()), ("NOT a <=> 1", (A != 1) | A.is_null()),
    ("1 <=> a", (A == 1) & A.is_not_null()),
    ("a <=> NULL", A.is_null()), ("NOT (NULL <=> a)", A.is_not_null()),
    ("a IS NOT DISTINCT FROM 1", (A == 1) & A.is_not_null()), ("a IS DISTINCT FROM 1", (A != 1) | A.is_null()),
    ("a IN (1, NULL, 'x')", A.is_in([1, None, "x"])), ("a NOT IN (1)", A.not_in([1])), ("NOT a IN (1)", A.not_in([1])),
    ("a BETWEEN 1 AND 2", A.between(1, 2)), ("a NOT BETWEEN 1 AND 2", A.not_between(1, 2)),
    ("NOT a BETWEEN NULL AND 2 AND b = 1", A.not_between(None, 2) & (B == 1)),
    ("a IS NULL", A.is_null()), ("a IS NOT NULL", A.is_not_null()), ("NOT a IS NULL", A.is_not_null()),
    ("a LIKE 'x%'", A.like("x%")), ("a NOT LIKE 'x%'", ~A.like("x%")), ("NOT a LIKE 'x%'", ~A.like("x%")),
    ("a LIKE 'x!%' ESCAPE '!'", A.like("x!%", "!")), ("a NOT LIKE 'x!%' ESCAPE '!'", ~A.like("x!%", "!")),
    ("a LIKE NULL", A.like(None)),
    ("startswith(a, 'x')", A.starts_with("x")), ("endswith(a, 'x')", A.ends_with("x")),
    ("CONTAINS(a, 'x')", A.contains("x")),
    ("NOT startswith(a, 'x')", ~A.starts_with("x")),
    ("isnan(a)", A.is_nan()), ("NOT isnan(a)", Leaf(A, "is_not_nan") | A.is_null()),
    ("isnull(a)", A.is_null()), ("isnotnull(a)", A.is_not_null()),
    ("a", A == True), ("NOT a", A != True), ("!a", A != True), ("a AND NOT b", (A == True) & (B != True)),  # noqa: E712
    ("a IS TRUE", (A == True) & A.is_not_null()), ("a IS NOT TRUE", (A != True) | A.is_null()),  # noqa: E712
    ("a IS FALSE", (A == False) & A.is_not_null()), ("a IS NOT FALSE", (A != False) | A.is_null()),  # noqa: E712
    ("TRUE", ALWAYS), ("FALSE", NEVER), ("1 = 1 AND a = 1", A == 1), ("1 > 2 OR a = 1", A == 1), ("'a' < 'b'", ALWAYS),
    ("a = 1 OR b = 2 AND a = 3", (A == 1) | (B == 2) & (A == 3)),
    ("(a = 1 OR b = 2) AND a = 3", ((A == 1) | (B == 2)) & (A == 3)),
    ("NOT (a = 1 AND b = 2)", (A != 1) | (B != 2)), ("((((a)))) = ((1))", A == 1),
    ("a IN ((1), (-2))", A.is_in([1, -2])),
    ("m['os'] = 'x'", M["os"] == "x"), ("element_at(m, 'os') = 'x'", M["os"] == "x"),
    ("m['o\\'s'] IS NULL", M["o's"].is_null()),
    ("`my col` = 1", col("my col") == 1), ("`a``b` = 1", col("a`b") == 1), ("`k[` = 1", col("k[") == 1),
    ("`a.b` = 1", col("a.b") == 1),
    ("date = 1 AND value = 2 AND comment = 3", (col("date") == 1) & (col("value") == 2) & (col("comment") == 3)),
    ("Status = 1", col("Status") == 1), ("a = 1 -- because\n AND /* and */ b = 2", (A == 1) & (B == 2)),
])
def test_meaning(text, predicate):
    assert parse_where(text) == predicate


@pytest.mark.parametrize("text, value", [
    ("5", 5), ("-5", -5), ("- -5", 5), ("+5", 5), ("5L", 5), ("-9223372036854775808", -2**63), ("7S", 7), ("7Y", 7),
    ("10.5", Decimal("10.5")), ("-0.50", Decimal("-0.50")), (".5", Decimal("0.5")), ("10.", Decimal("10")),
    ("2BD", Decimal(2)), ("1.50BD", Decimal("1.50")), ("1E3BD", Decimal(1000)),
    ("1e3", 1000.0), ("-1.5E-2", -0.015), ("1.5D", 1.5), ("2D", 2.0), ("1.5F", 1.5), ("0.1F", 0.10000000149011612),
    ("double('Infinity')", math.inf), ("-double('inf')", -math.inf), ("double('-1e2')", -100.0),
    ("'x'", "x"), ("\"x\"", "x"), ("r'a\\n'", "a\\n"), ("''", ""), ("TRUE", True), ("false", False), ("NULL", None),
    ("X'aB01'", b"\xab\x01"), ("X'F'", b"\x0f"), ("X''", b""),
    ("DATE'2024-1-2'", dt.date(2024, 1, 2)), ("DATE '12345-01-01'", TimestampNs(3789391 * 86400 * 10**9, "wall")),
    ("TIMESTAMP'2024-01-02 03:04:05.5'", dt.datetime(2024, 1, 2, 3, 4, 5, 500000)),
    ("TIMESTAMP '2024'", dt.datetime(2024, 1, 1)),
    ("TIMESTAMP_NTZ '2024-01-02'", dt.datetime(2024, 1, 2)), ("TIMESTAMP_LTZ '2024-01-02'", dt.datetime(2024, 1, 2)),
    ("TIMESTAMP'2024-01-02 03:00:00Z'", dt.datetime(2024, 1, 2, 3, tzinfo=UTC)),
    ("TIMESTAMP'1970-01-01 00:00:00.000000001'", TimestampNs(1, "wall")), ("TIME '1:2:3.5'", dt.time(1, 2, 3, 500000)),
])
def test_literals(text, value):
    found = parse_where(f"a >= {text}")
    assert found == (A >= value)


def test_nan_is_itself():
    assert parse_where("a = double('NaN')") == (A == math.nan)


def test_the_zone_of_a_timestamp_is_kept():
    value = parse_where("a = TIMESTAMP '2024-07-01 12:00:00 Europe/Berlin'").literals[0]
    assert value == dt.datetime(2024, 7, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize("body, value", [
    (r"it\'s", "it's"), (r"\"", '"'), (r"\\", "\\"), (r"\n\r\t\b\0\Z", "\n\r\t\b\0\x1a"), (r"\%\_", "\\%\\_"),
    (r"\q\x", "qx"), (r"\101\060", "A0"), (r"\377", "377"), ("\\u00e9\\U0001F600", "é😀"), (r"\ud83d\ude00", "😀"),
    (r"\08", "\x008"), (r"\u12", "u12"), ("\n", "\n"), ("--", "--"), ("😀", "😀"), (r"\\n", "\\n"),
])
def test_string_escapes_are_sparks(body, value):
    assert parse_where(f"a = '{body}'").literals == (value,)


def test_like_sees_the_backslash_that_the_string_leaves():
    assert parse_where(r"a LIKE 'x\%'") == A.like("x\\%")
    assert parse_where(r"a LIKE 'x\\%'") == A.like("x\\%")


@pytest.mark.parametrize("text, named", [
    ("", "empty"), ("   ", "empty"), ("a =", "missing"), ("(a = 1", "line 1, column"), ("a = 1)", "near ')'"),
    ("a = 'x", "left open"), ("a = 1 b", "near 'b'"), ("a = 1; DROP TABLE t", "near 'DROP'"), ("a ~ 1", "near '~'"),
    ("a RLIKE 'x'", "regular expressions"), ("a REGEXP 'x'", "regular expressions"), ("a ILIKE 'x'", "only LIKE"),
    ("a = b", "WHERE text at 0: 'a = b': a column is compared with a literal, not with a column"),
    ("b = 1 AND a + 1 = 2", "at 10: 'a + 1'"), ("b = 1 AND upper(a) = 'x'", "UPPER(a)"),
    ("f(a)", "there is no function f"),
    ("1 + 1", "not supported"), ("5", "a condition is expected, not a value"), ("NULL", "a condition is expected"),
    ("a IN ()", "at least one"), ("a IN (SELECT 1)", "a list of literals"), ("EXISTS (SELECT 1)", "subqueries"),
    ("a = (SELECT 1)", "subqueries"), ("a IN (b)", "at 6: 'b': a literal is expected"),
    ("1 IN (a)", "a column is expected"),
    ("1 BETWEEN a AND b", "a column is expected"), ("a BETWEEN SYMMETRIC 2 AND 1", "SYMMETRIC"),
    ("a LIKE b", "'b'"), ("a LIKE 5", "the pattern of LIKE is a string"), ("a LIKE 'x' ESCAPE 'ab'", "one character"),
    ("a LIKE 'x!y' ESCAPE '!'", "can only stand before"), ("a LIKE ANY ('x', 'y')", "a literal is expected"),
    ("(a = 1) IS NULL", "IS tests a column"), ("a = 1 = TRUE", "a literal is expected"),
    ("CASE WHEN a THEN b END", "CASE"),
    ("t.a = 1", "'t.a': a column is one name"), ("m[0] = 1", "a MAP key is one string"), ("m['a']['b'] = 1", "literal"),
    ("a = :x", "parameters"), ("a = ?", "parameters"), ("a = 0x1F", "at 4: Spark has no hexadecimal numbers"),
    ("a = 'it''s'", "at 4: \"'it''s'\": strings side by side"), ("a = 'x' 'y'", "side by side"),
    ("a = current_date()", "a literal is expected"), ("a = INTERVAL 1 DAY", "a literal is expected"),
    ("a = CAST('x' AS INT)", "casts are not supported"), ("a = CAST(1.5 AS INT)", "casts are not supported"),
    ("a = CAST(b AS INT)", "a literal is expected"), ("a = 300Y", "300 is out of the range of TINYINT"),
    ("a = DATE '2024-13-01'", "at 9: \"CAST('2024-13-01' AS DATE)\": '2024-13-01' cannot be read as DATE"),
    ("a = TIMESTAMP 'soon'", "'soon' cannot be read as TIMESTAMP"),
    ("a = TIMESTAMP_NTZ '2024-01-01 00:00:00Z'", "has no time zone"),
    ("a = -'x'", "only a number can be negative"), ("a = X'0G'", "a = X'0G'"), ("a = double('x')", "'x' is no number"),
    ("a = CAST('1.55' AS DECIMAL(3, 1))", "other digits as DECIMAL(3, 1)"),
    ("a = 'x' COLLATE utf8", "a literal is expected"),
    ("(a, b) = (1, 2)", "a literal is expected"), ("a || 'x' = 'y'", "a literal is expected"),
    ("1 = NULL", "a comparison names a column"),
    ("map( - * % 1Y", "it cannot be parsed"), ("a = 1E99999BD X''", "WHERE text"),
    ("1 <=> 1", "a column is expected"), ("map_contains_key(m, 'x')", "not supported"),
])
def test_what_is_not_supported_is_said(text, named):
    with pytest.raises(ValueError) as error:
        parse_where(text)
    assert named in str(error.value) and "WHERE text" in str(error.value) and "\x1b" not in str(error.value)


def test_only_a_str_is_parsed():
    for wrong in (5, b"a = 1", None):
        with pytest.raises(TypeError, match="a WHERE text is a str"):
            parse_where(wrong)


def test_another_dialect():
    assert parse_where('"my col" = \'it\'\'s\'', dialect="duckdb") == (col("my col") == "it's")
    with pytest.raises(ValueError, match="nonsense"):
        parse_where("a = 1", dialect="nonsense")


# ------------------------------------------------------------------------------------- size

def test_long_chains_and_lists():
    p = parse_where(" AND ".join(f"a <> {i}" for i in range(10_000)))
    assert type(p) is And and len(p.children) == 10_000
    p = parse_where(" OR ".join(f"(a = {i} AND b = 1)" for i in range(3_000)))
    assert type(p) is Or and len(p.children) == 3_000
    assert len(parse_where(f"a IN ({', '.join(map(str, range(10_000)))})").literals) == 10_000
    strings = parse_where(f"a NOT IN ({', '.join(map(repr, map(str, range(10_000))))})")
    assert strings.op == "not_in" and strings.literals[-1] == "9999"


@pytest.mark.parametrize("text", [
    "(" * 20_000 + "a" + ")" * 20_000, "NOT " * 20_000 + "a", "a = " + "- " * 20_000 + "1",
], ids=["parentheses", "not", "minus"])
def test_nesting_too_deep_for_the_parser_is_refused(text):
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_where(text)
    assert sys.getrecursionlimit() < 20_000


# ------------------------------------------------------------------------------------- back and forth

ODD_NAMES = ["a", "date", "select", "my col", "k[", "é", "x", "_1", "a.b", "any", "case", "true"]
NAMES = st.one_of(st.sampled_from(ODD_NAMES),
                  st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=4))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
LITERALS = st.one_of(
    st.integers(-10**20, 10**20), st.booleans(), st.none(), TEXTS, st.binary(max_size=3), st.floats(), st.dates(),
    st.datetimes(), st.times(), st.datetimes(timezones=st.just(UTC)),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-10**6, max_value=10**6))
COLUMNS = st.one_of(st.builds(col, NAMES), st.builds(lambda n, k: col(n)[k], NAMES, TEXTS))
LEAVES = st.one_of(
    st.builds(Leaf, COLUMNS, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), st.tuples(LITERALS)),
    st.builds(Leaf, COLUMNS, st.sampled_from(["in", "not_in"]), st.lists(LITERALS, min_size=1, max_size=3)),
    st.builds(Leaf, COLUMNS, st.sampled_from(["between", "not_between"]), st.tuples(LITERALS, LITERALS)),
    st.builds(Leaf, COLUMNS, st.sampled_from(["starts_with", "not_ends_with", "contains"]), st.tuples(TEXTS)),
    st.builds(Leaf, COLUMNS, st.sampled_from(["like", "not_like"]),
              st.tuples(TEXTS.map(lambda text: text.replace("\\", "")))),
    st.builds(Leaf, COLUMNS, st.sampled_from(["is_null", "is_not_null", "is_nan"])))
TREES = st.recursive(LEAVES, lambda t: st.builds(lambda kind, parts: kind(parts), st.sampled_from([And, Or]),
                                                 st.lists(t, min_size=2, max_size=3)), max_leaves=6)


@settings(max_examples=300, deadline=None)
@given(TREES)
def test_a_predicates_text_is_read_back_as_itself(p):
    assert parse_where(repr(p)) == p


WORDS = """a = 1 'x' AND NOT IN ( ) , NULL LIKE BETWEEN IS m['k'] DATE - <=> CASE CAST AS INT [ ] . * ESCAPE EXISTS f(
    `b_c` X'0' TRUE -- INTERVAL map( 1Y 2BD 1e9999 SELECT FROM : :: -> ARRAY OVER { } @ DIV %""".split()


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=20), st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)))
def test_any_text_is_a_predicate_or_a_value_error(text):
    try:
        repr(parse_where(text))
    except ValueError as error:
        assert "WHERE text" in str(error)
