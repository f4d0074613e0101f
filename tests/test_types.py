"""Paimon types: every spelling, schemas, Arrow counterparts, which index accepts which."""
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_fidx.types import ACCEPTS, PaimonType, accepts, from_arrow, parse_schema, parse_type, refusal, to_arrow

INT = PaimonType("INT")


@pytest.mark.parametrize("text, type_, sql, kind", [
    ("BOOLEAN", PaimonType("BOOLEAN"), "BOOLEAN", "bool"),
    ("tinyint", PaimonType("TINYINT"), "TINYINT", "int8"),
    ("SMALLINT", PaimonType("SMALLINT"), "SMALLINT", "int16"),
    ("INTEGER", INT, "INT", "int32"),
    (" INT  NOT\nNULL ", PaimonType("INT", nullable=False), "INT NOT NULL", "int32"),
    ("INT NULL", INT, "INT", "int32"),
    ("BIGINT", PaimonType("BIGINT"), "BIGINT", "int64"),
    ("FLOAT", PaimonType("FLOAT"), "FLOAT", "float32"),
    ("DOUBLE PRECISION", PaimonType("DOUBLE"), "DOUBLE", "float64"),
    ("DECIMAL", PaimonType("DECIMAL", 10, 0), "DECIMAL(10, 0)", "int64"),
    ("NUMERIC(5)", PaimonType("DECIMAL", 5, 0), "DECIMAL(5, 0)", "int64"),
    ("dec(38,10)", PaimonType("DECIMAL", 38, 10), "DECIMAL(38, 10)", "int64"),
    ("CHAR", PaimonType("CHAR", length=1), "CHAR(1)", "bytes"),
    ("CHAR(5)", PaimonType("CHAR", length=5), "CHAR(5)", "bytes"),
    ("VARCHAR(20)", PaimonType("VARCHAR", length=20), "VARCHAR(20)", "bytes"),
    ("VARCHAR(2147483647)", PaimonType("STRING"), "STRING", "bytes"),
    ("STRING", PaimonType("STRING"), "STRING", "bytes"),
    ("BINARY(3)", PaimonType("BINARY", length=3), "BINARY(3)", "bytes"),
    ("VARBINARY", PaimonType("VARBINARY", length=1), "VARBINARY(1)", "bytes"),
    ("VARBINARY(2147483647)", PaimonType("BYTES"), "BYTES", "bytes"),
    ("DATE", PaimonType("DATE"), "DATE", "int32"),
    ("TIME", PaimonType("TIME", 0), "TIME(0)", "int32"),
    ("TIME(3) WITHOUT TIME ZONE", PaimonType("TIME", 3), "TIME(3)", "int32"),
    ("TIMESTAMP", PaimonType("TIMESTAMP", 6), "TIMESTAMP(6)", "int64"),
    ("TIMESTAMP(9) WITHOUT TIME ZONE", PaimonType("TIMESTAMP", 9), "TIMESTAMP(9)", "int64"),
    ("TIMESTAMP(3) WITH LOCAL TIME ZONE", PaimonType("TIMESTAMP_LTZ", 3), "TIMESTAMP(3) WITH LOCAL TIME ZONE", "int64"),
    ("TIMESTAMP_LTZ(0)", PaimonType("TIMESTAMP_LTZ", 0), "TIMESTAMP(0) WITH LOCAL TIME ZONE", "int64"),
    ("TIMESTAMP_LTZ", PaimonType("TIMESTAMP_LTZ", 6), "TIMESTAMP(6) WITH LOCAL TIME ZONE", "int64"),
    ("ARRAY<INT NOT NULL>", PaimonType("ARRAY", value=PaimonType("INT", nullable=False)), "ARRAY<INT NOT NULL>", None),
    ("INT ARRAY", PaimonType("ARRAY", value=INT), "ARRAY<INT>", None),
    ("INT MULTISET NOT NULL", PaimonType("MULTISET", value=INT, nullable=False), "MULTISET<INT> NOT NULL", None),
    ("VECTOR<FLOAT, 3>", PaimonType("VECTOR", value=PaimonType("FLOAT"), length=3), "VECTOR<FLOAT, 3>", None),
    ("MAP<STRING,INT>", PaimonType("MAP", key=PaimonType("STRING"), value=INT), "MAP<STRING, INT>", None),
    ("ROW<a INT, `b ``c` DATE 'a comment'>", PaimonType("ROW", fields=(("a", INT), ("b `c", PaimonType("DATE")))),
     "ROW<`a` INT, `b ``c` DATE>", None),
    ("ROW(a INT)", PaimonType("ROW", fields=(("a", INT),)), "ROW<`a` INT>", None),
    ("ROW<>", PaimonType("ROW"), "ROW<>", None),
    ("VARIANT", PaimonType("VARIANT"), "VARIANT", None),
    ("BLOB NOT NULL", PaimonType("BLOB", nullable=False), "BLOB NOT NULL", None),
])
def test_spellings(text, type_, sql, kind):
    assert parse_type(text) == type_ and parse_type(sql) == type_
    assert (type_.sql(), str(type_), type_.key_kind) == (sql, sql, kind)
    assert parse_type(type_) is type_


@pytest.mark.parametrize("text, named", [
    ("", "expected a type name, found the end"), ("INTT", "found 'INTT' at 0"), ("INT INT", "found 'INT' at 4"),
    ("INT NOT", "found 'NOT' at 4"), ("DECIMAL(", "expected a number, found the end"), ("DECIMAL(0)", "1 <= p <= 38"),
    ("DECIMAL(39)", "1 <= p <= 38"), ("DECIMAL(5, 6)", "0 <= s <= p"), ("DECIMAL(5, -1)", "found '-' at 11"),
    ("CHAR(0)", "a length is 1 to"), ("CHAR(99999999999999999999999)", "a length is 1 to"),
    ("TIMESTAMP(10)", "the precision of TIMESTAMP is 0 to 9"), ("TIME WITH LOCAL TIME ZONE", "found 'WITH' at 5"),
    ("TIMESTAMP_LTZ(3) WITH LOCAL TIME ZONE", "found 'WITH'"), ("ARRAY<INT", "expected '>'"),
    ("MAP<INT>", "expected ','"),
    ("ROW<INT>", "expected a type name"), ("ROW<'a' INT>", "expected a field name"), ("ARRAY<" * 5000, "nested deeper"),
    ("INT" + " ARRAY" * 5000, "nest"), ("`INT`", "expected a type name"), ("VECTOR<INT, x>", "expected a number"),
])
def test_what_is_no_type_is_said_with_its_place(text, named):
    with pytest.raises(ValueError) as error:
        parse_type(text)
    assert named in str(error.value)


@settings(max_examples=200, deadline=None)
@given(st.text("INTDECMALROWP<>(),` '5NULLOT", max_size=30))
def test_any_text_is_a_type_or_a_value_error(text):
    try:
        found = parse_type(text)
    except ValueError:
        return
    assert parse_type(found.sql()) == found


def test_the_dict_form_of_schema_files():
    spec = json.loads("""{"type": "ROW NOT NULL", "fields": [
        {"id": 1, "name": "m", "type": {"type": "MAP", "key": "STRING NOT NULL", "value": "TIMESTAMP(3)"}},
        {"id": 2, "name": "a", "type": {"type": "ARRAY NOT NULL", "element": {"type": "MULTISET", "element": "INT"}}},
        {"id": 3, "name": "v", "type": {"type": "VECTOR", "element": "FLOAT", "length": 2}}]}""")
    assert parse_type(spec).sql() == ("ROW<`m` MAP<STRING NOT NULL, TIMESTAMP(3)>, `a` ARRAY<MULTISET<INT>> NOT NULL, "
                                      "`v` VECTOR<FLOAT, 2>> NOT NULL")


@pytest.mark.parametrize("spec", [{}, {"type": 5}, {"type": "MAP"}, {"type": "MAP", "key": "INT"}, {"type": "ARRAY"},
                                  {"type": "ROW", "fields": [5]}, {"type": "ROW", "fields": None}, {"type": "ODD"},
                                  {"type": "ARRAY", "element": 5}, {"type": "VECTOR", "element": "INT", "length": "x"}])
def test_dicts_that_are_no_type(spec):
    with pytest.raises(ValueError):
        parse_type(spec)


def test_a_deep_dict_is_refused():
    spec = "INT"
    for _ in range(5000):
        spec = {"type": "ARRAY", "element": spec}
    with pytest.raises(ValueError, match="nested deeper"):
        parse_type(spec)


@pytest.mark.parametrize("wrong", [5, None, ["INT"], b"INT"])
def test_other_things_are_a_type_error(wrong):
    with pytest.raises(TypeError, match="a Paimon type is"):
        parse_type(wrong)


# ------------------------------------------------------------------------------------- schemas

class Field:
    def __init__(self, name, type_):
        self.name, self.type = name, type_


class Written:
    def to_dict(self):
        return "INT NOT NULL"


def test_schemas_of_every_form():
    want = {"a": PaimonType("INT", nullable=False), "k[": PaimonType("STRING")}
    assert parse_schema({"a": "INT NOT NULL", "k[": PaimonType("STRING")}) == want
    fields = [{"id": 0, "name": "a", "type": "INT NOT NULL"}, {"id": 1, "name": "k[", "type": "STRING"}]
    assert parse_schema(fields) == want
    assert parse_schema([Field("a", Written()), Field("k[", "STRING")]) == want
    assert list(parse_schema({"z": "INT", "a": "INT"})) == ["z", "a"]


def test_pyarrow_schemas():
    pa = pytest.importorskip("pyarrow")
    schema = pa.schema([pa.field("a", pa.int32(), nullable=False), pa.field("k[", pa.string())])
    assert parse_schema(schema) == {"a": PaimonType("INT", nullable=False), "k[": PaimonType("STRING")}
    with pytest.raises(TypeError, match="column 'u': Arrow type uint8 has no Paimon counterpart"):
        parse_schema(pa.schema([("u", pa.uint8())]))


@pytest.mark.parametrize("schema, kind, named", [
    ({"a": "INTT"}, ValueError, "column 'a': not a Paimon type"), ({"a": 5}, TypeError, "column 'a': a Paimon type is"),
    ({5: "INT"}, TypeError, "a column name is a str"), ([{"name": "a"}], ValueError, "has a name and a type"),
    ([{"name": "a", "type": "INT"}] * 2, ValueError, "'a' appears twice"), ("a INT", TypeError, "not str"),
    ([5], TypeError, "not int"), (None, TypeError, "not NoneType"),
])
def test_schemas_that_are_none(schema, kind, named):
    with pytest.raises(kind, match=named):
        parse_schema(schema)


# ------------------------------------------------------------------------------------- Arrow

@pytest.mark.parametrize("text", [
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 2)", "STRING", "BYTES", "DATE",
    "TIME(3)", "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "ARRAY<INT NOT NULL>", "VECTOR<FLOAT, 3>", "MAP<STRING NOT NULL, ARRAY<INT>>", "ROW<`a` INT, `b` DATE NOT NULL>",
])
def test_arrow_and_back(text):
    pytest.importorskip("pyarrow")
    assert from_arrow(to_arrow(text)).sql() == text


@pytest.mark.parametrize("text, arrow", [
    ("CHAR(5)", "string"), ("VARBINARY(3)", "binary"), ("TIME(0)", "time32[ms]"), ("TIMESTAMP(1)", "timestamp[ms]"),
    ("TIMESTAMP(5)", "timestamp[us]"), ("TIMESTAMP_LTZ(7)", "timestamp[ns, tz=UTC]"), ("BLOB", "large_binary"),
    ("MULTISET<INT>", "map<int32, int32>"), ("DECIMAL(38, 10)", "decimal128(38, 10)"),
])
def test_arrow_types_that_say_less(text, arrow):
    pytest.importorskip("pyarrow")
    found = str(to_arrow(text))
    assert found == arrow or found.startswith(arrow[:-1])  # newer releases name a map's fields


def test_more_arrow_types():
    pa = pytest.importorskip("pyarrow")
    for arrow, text in ((pa.large_string(), "STRING"), (pa.large_binary(), "BYTES"), (pa.binary(4), "BINARY(4)"),
                        (pa.date64(), "DATE"), (pa.time64("ns"), "TIME(9)"),
                        (pa.large_list(pa.int8()), "ARRAY<TINYINT>"),
                        (pa.dictionary(pa.int32(), pa.string()), "STRING"), (pa.decimal256(20, 2), "DECIMAL(20, 2)")):
        assert from_arrow(arrow).sql() == text
    for arrow in (pa.uint32(), pa.float16(), pa.null(), pa.duration("s"), pa.decimal256(50, 2)):
        with pytest.raises(TypeError, match="has no Paimon counterpart"):
            from_arrow(arrow)
    with pytest.raises(TypeError, match="GEOMETRY has no Arrow counterpart"):
        to_arrow("GEOMETRY")


# ------------------------------------------------------------------------------------- which index takes which type

NUMERIC = ["TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP_LTZ(6)"]
TEXT = ["CHAR(5)", "VARCHAR(20)", "STRING"]
BINARY = ["BINARY(3)", "VARBINARY(20)", "BYTES"]
FLOATS = ["FLOAT", "DOUBLE"]
TAKEN = {
    "bloom-filter": NUMERIC + TEXT + BINARY + FLOATS + ["TIMESTAMP(9)"],
    "bitmap": NUMERIC + TEXT + FLOATS + ["BOOLEAN", "TIMESTAMP(9)"],
    "bsi": NUMERIC + ["DECIMAL(18, 2)", "DECIMAL(38, 0)", "TIMESTAMP(9)"],
    "range-bitmap": NUMERIC + TEXT + FLOATS + ["BOOLEAN", "DECIMAL(18, 2)"],
}
EVERY = NUMERIC + TEXT + BINARY + FLOATS + ["BOOLEAN", "DECIMAL(18, 2)", "DECIMAL(38, 0)", "TIMESTAMP(9)", "ARRAY<INT>",
                                            "MAP<STRING, INT>", "MULTISET<INT>", "ROW<a INT>", "VECTOR<FLOAT, 3>",
                                            "VARIANT", "BLOB"]


@pytest.mark.parametrize("kind", TAKEN)
def test_what_each_index_accepts(kind):
    assert [t for t in EVERY if accepts(kind, parse_type(t))] == [t for t in EVERY if t in TAKEN[kind]]
    assert set(ACCEPTS) == set(TAKEN)


def test_refusals_say_why():
    assert refusal("bsi", "STRING NOT NULL") == "bsi does not index STRING NOT NULL"
    assert refusal("range-bitmap", "DECIMAL(19, 2)").endswith("it takes DECIMAL up to precision 18")
    assert refusal("lucene", "INT").startswith("there is no index 'lucene'")
    assert refusal("bitmap", "INT") is None
