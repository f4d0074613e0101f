"""Paimon SQL types: their spelling, their keys in an index, their Arrow counterparts, which index accepts them.

    spelling                                            root             key in an index
    BOOLEAN                                             BOOLEAN          bool
    TINYINT  SMALLINT  INT | INTEGER  BIGINT            the same         int8  int16  int32  int64
    FLOAT  DOUBLE [PRECISION]                           the same         float32  float64
    DECIMAL | NUMERIC | DEC [(p[, s])]                  DECIMAL          int64, the unscaled value
    CHAR[(n)]  VARCHAR(n)  STRING                       the same         bytes, UTF-8
    BINARY[(n)]  VARBINARY(n)  BYTES                    the same         bytes
    DATE                                                DATE             int32, days since 1970-01-01
    TIME[(p)] [WITHOUT TIME ZONE]                       TIME             int32, milliseconds of the day
    TIMESTAMP[(p)] [WITHOUT TIME ZONE]                  TIMESTAMP        int64, ms for p <= 3, else microseconds
    TIMESTAMP[(p)] WITH LOCAL TIME ZONE | TIMESTAMP_LTZ[(p)]   TIMESTAMP_LTZ   as TIMESTAMP
    ARRAY<t>  MULTISET<t>  VECTOR<t, n>  MAP<k, v>  ROW<name t, ...>  VARIANT  BLOB    the same    none

``VARCHAR(2147483647)`` is STRING and ``VARBINARY(2147483647)`` is BYTES. Any type may end in ``NOT NULL``.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, replace

__all__ = ["ACCEPTS", "PaimonType", "accepts", "from_arrow", "parse_schema", "parse_type", "refusal", "to_arrow"]

MAX_LEN = 2147483647
MAX_DEPTH = 100  # of nested types; what is deeper is refused before Python's own stack is
DEFAULT_PRECISION = {"DECIMAL": 10, "TIME": 0, "TIMESTAMP": 6, "TIMESTAMP_LTZ": 6}
MAX_PRECISION = {"DECIMAL": 38, "TIME": 9, "TIMESTAMP": 9, "TIMESTAMP_LTZ": 9}
KEY_KINDS = {
    "BOOLEAN": "bool", "TINYINT": "int8", "SMALLINT": "int16", "INT": "int32", "BIGINT": "int64",
    "FLOAT": "float32", "DOUBLE": "float64", "DECIMAL": "int64", "DATE": "int32", "TIME": "int32",
    "TIMESTAMP": "int64", "TIMESTAMP_LTZ": "int64", "CHAR": "bytes", "VARCHAR": "bytes", "STRING": "bytes",
    "BINARY": "bytes", "VARBINARY": "bytes", "BYTES": "bytes",
}
SYNONYMS = {"INTEGER": "INT", "NUMERIC": "DECIMAL", "DEC": "DECIMAL"}
NESTED = ("ARRAY", "MULTISET", "VECTOR", "MAP", "ROW")
OPAQUE = ("VARIANT", "BLOB", "GEOMETRY", "GEOGRAPHY")

_INTEGERS = {"TINYINT", "SMALLINT", "INT", "BIGINT"}
_STRINGS = {"CHAR", "VARCHAR", "STRING"}
_TIMES = {"DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ"}
ACCEPTS = {
    "bloom-filter": frozenset(_INTEGERS | _STRINGS | _TIMES | {"FLOAT", "DOUBLE", "BINARY", "VARBINARY", "BYTES"}),
    "bitmap": frozenset(_INTEGERS | _STRINGS | _TIMES | {"BOOLEAN", "FLOAT", "DOUBLE"}),
    "bsi": frozenset(_INTEGERS | _TIMES | {"DECIMAL"}),
    "range-bitmap": frozenset(_INTEGERS | _STRINGS | _TIMES | {"BOOLEAN", "FLOAT", "DOUBLE", "DECIMAL"}),
}
"""Index kind -> the roots it can index. ``accepts`` knows the limits on precision as well."""

_LIMITS = {  # the largest precision an index kind takes, where it is less than the type's own
    ("range-bitmap", "DECIMAL"): 18, ("range-bitmap", "TIMESTAMP"): 6, ("range-bitmap", "TIMESTAMP_LTZ"): 6,
}


@dataclass(frozen=True, slots=True)
class PaimonType:
    """One Paimon type.

    Attributes
    ----------
    root : str                "INT", "TIMESTAMP_LTZ", ...: the name without parameters (see the module's table)
    precision : int | None    DECIMAL: digits; TIME, TIMESTAMP, TIMESTAMP_LTZ: digits of the second's fraction
    scale : int | None        DECIMAL: digits after the point
    length : int | None       CHAR, VARCHAR: characters; BINARY, VARBINARY: bytes; VECTOR: elements
    nullable : bool
    key, value : PaimonType | None   MAP: both; ARRAY, MULTISET, VECTOR: the element is ``value``
    fields : tuple            ROW: (name, PaimonType) pairs

    Example
    -------
    >>> t = parse_type("DECIMAL(10, 2) NOT NULL")
    >>> t.root, t.precision, t.scale, t.nullable, t.key_kind
    ('DECIMAL', 10, 2, False, 'int64')
    """

    root: str
    precision: int | None = None
    scale: int | None = None
    length: int | None = None
    nullable: bool = True
    key: PaimonType | None = None
    value: PaimonType | None = None
    fields: tuple = ()

    @property
    def key_kind(self) -> str | None:
        """How an index stores this type's keys: "bool", "int8" ... "int64", "float32", "float64", "bytes"; or None."""
        return KEY_KINDS.get(self.root)

    def sql(self) -> str:
        """The type as Paimon writes it in a schema.

        >>> parse_type("timestamp_ltz(3)").sql()
        'TIMESTAMP(3) WITH LOCAL TIME ZONE'
        """
        root = self.root
        if root == "DECIMAL":
            text = f"DECIMAL({self.precision}, {self.scale})"
        elif root == "TIMESTAMP_LTZ":
            text = f"TIMESTAMP({self.precision}) WITH LOCAL TIME ZONE"
        elif root in ("TIME", "TIMESTAMP"):
            text = f"{root}({self.precision})"
        elif root in ("ARRAY", "MULTISET"):
            text = f"{root}<{self.value.sql()}>"
        elif root == "VECTOR":
            text = f"VECTOR<{self.value.sql()}, {self.length}>"
        elif root == "MAP":
            text = f"MAP<{self.key.sql()}, {self.value.sql()}>"
        elif root == "ROW":
            text = "ROW<" + ", ".join(f"`{_double(name)}` {t.sql()}" for name, t in self.fields) + ">"
        elif self.length is not None:
            text = f"{root}({self.length})"
        else:
            text = root
        return text if self.nullable else text + " NOT NULL"

    def __str__(self):
        return self.sql()


def _double(name):
    return name.replace("`", "``")


def accepts(kind, type_) -> bool:
    """Whether an index of ``kind`` can be built on a column (or on the values of a MAP key) of this type.

    >>> accepts("range-bitmap", parse_type("DECIMAL(18, 2)")), accepts("range-bitmap", parse_type("DECIMAL(19, 2)"))
    (True, False)
    """
    return refusal(kind, type_) is None


def refusal(kind, type_) -> str | None:
    """Why an index of ``kind`` cannot be built on ``type_`` (a sentence), or None when it can.

    >>> refusal("bsi", parse_type("STRING"))
    'bsi does not index STRING'
    """
    if kind not in ACCEPTS:
        return f"there is no index {kind!r}; there are {', '.join(ACCEPTS)}"
    type_ = parse_type(type_)
    if type_.root not in ACCEPTS[kind]:
        return f"{kind} does not index {type_.sql()}"
    limit = _LIMITS.get((kind, type_.root))
    if limit is not None and type_.precision > limit:
        return f"{kind} does not index {type_.sql()}: it takes {type_.root} up to precision {limit}"
    return None


# --------------------------------------------------------------------------------------------- parsing

_TOKEN = re.compile(r"\s*(?:([A-Za-z_]\w*)|(\d+)|(`(?:[^`]|``)*`)|('(?:[^']|'')*')|(.))", re.S)


def parse_type(type_) -> PaimonType:
    """The type for a SQL text, for the dict form of a schema file, or for a PaimonType (returned as it is).

    Parameters
    ----------
    type_ : str | dict | PaimonType
        ``"DECIMAL(10, 2) NOT NULL"``, or ``{"type": "MAP", "key": "STRING", "value": "INT"}`` as schema files have it;
        pypaimon's type objects are taken through their own ``to_dict()``.

    Raises
    ------
    ValueError : not a Paimon type; says where.    TypeError : neither text nor dict nor type.

    >>> parse_type("map<string, timestamp_ltz(9) not null>").value.sql()
    'TIMESTAMP(9) WITH LOCAL TIME ZONE NOT NULL'
    """
    if isinstance(type_, PaimonType):
        return type_
    if isinstance(type_, str):
        return _Text(type_).parse()
    if isinstance(type_, dict):
        return _from_dict(type_, 0)
    if hasattr(type_, "to_dict"):
        return parse_type(type_.to_dict())
    raise TypeError(f"a Paimon type is a SQL text or a dict, not {type(type_).__name__}")


def _from_dict(spec, depth):
    """The dict form: ``type`` names the constructor, its parts stand beside it."""
    if isinstance(spec, str):
        return _Text(spec).parse()
    if not isinstance(spec, dict) or not isinstance(spec.get("type"), str):
        raise ValueError(f"not a Paimon type: {spec!r}")
    if depth > MAX_DEPTH:
        raise ValueError(f"a type nested deeper than {MAX_DEPTH} levels")
    words = spec["type"].upper().split()
    root, nullable = (words or [""])[0], words[-2:] != ["NOT", "NULL"]
    try:
        if root in ("ARRAY", "MULTISET"):
            return PaimonType(root, nullable=nullable, value=_from_dict(spec["element"], depth + 1))
        if root == "VECTOR":
            return PaimonType(root, nullable=nullable, value=_from_dict(spec["element"], depth + 1),
                              length=int(spec["length"]))
        if root == "MAP":
            return PaimonType(root, nullable=nullable, key=_from_dict(spec["key"], depth + 1),
                              value=_from_dict(spec["value"], depth + 1))
        if root == "ROW":
            fields = tuple((f["name"], _from_dict(f["type"], depth + 1)) for f in spec["fields"])
            return PaimonType(root, nullable=nullable, fields=fields)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a Paimon type: {spec!r} ({root} lacks {error})") from None
    return _Text(spec["type"]).parse()


class _Text:
    """A recursive-descent parser over one type's text."""

    def __init__(self, text):
        self.text = text
        self.tokens = []  # (kind, value, at)
        for m in _TOKEN.finditer(text):
            kind = ("word", "number", "name", "comment", "sign")[m.lastindex - 1]
            value = m[m.lastindex]
            if kind == "sign" and value.isspace():
                continue
            self.tokens.append((kind, value.upper() if kind == "word" else value, m.start(m.lastindex)))
        self.at = 0

    def fail(self, expected):
        found = self.tokens[self.at] if self.at < len(self.tokens) else None
        where = f"{found[1]!r} at {found[2]}" if found else "the end"
        raise ValueError(f"not a Paimon type: {self.text!r}: expected {expected}, found {where}")

    def peek(self, *values):
        """Whether the next tokens are these words or signs."""
        ahead = self.tokens[self.at:self.at + len(values)]
        return [v for k, v, _ in ahead if k in ("word", "sign")] == list(values)

    def skip(self, *values):
        if self.peek(*values):
            self.at += len(values)
            return True
        return False

    def want(self, value):
        if not self.skip(value):
            self.fail(repr(value))

    def number(self):
        if self.at >= len(self.tokens) or self.tokens[self.at][0] != "number":
            self.fail("a number")
        self.at += 1
        return int(self.tokens[self.at - 1][1][:20])

    def parse(self):
        found = self.type(0)
        if self.at < len(self.tokens):
            self.fail("the end")
        return found

    def type(self, depth):
        if depth > MAX_DEPTH:
            raise ValueError(f"a type nested deeper than {MAX_DEPTH} levels: {self.text[:60]!r}...")
        found = self.nullability(self.unnamed(depth))
        while self.peek("ARRAY") or self.peek("MULTISET"):  # the suffix notation: INT ARRAY
            root = self.tokens[self.at][1]
            self.at += 1
            depth += 1
            if depth > MAX_DEPTH:
                self.fail(f"at most {MAX_DEPTH} levels of nesting")
            found = self.nullability(PaimonType(root, value=found))
        return found

    def nullability(self, found):
        if self.skip("NOT", "NULL"):
            return replace(found, nullable=False)
        self.skip("NULL")
        return found

    def unnamed(self, depth):
        if self.at >= len(self.tokens) or self.tokens[self.at][0] != "word":
            self.fail("a type name")
        root = SYNONYMS.get(self.tokens[self.at][1], self.tokens[self.at][1])
        if root not in KEY_KINDS and root not in NESTED and root not in OPAQUE:
            self.fail("a type name")
        self.at += 1
        if root in ("CHAR", "VARCHAR", "BINARY", "VARBINARY"):
            return self.with_length(root)
        if root == "DECIMAL":
            return self.decimal()
        if root in ("TIME", "TIMESTAMP", "TIMESTAMP_LTZ"):
            return self.temporal(root)
        if root in ("ARRAY", "MULTISET"):
            self.want("<")
            found = PaimonType(root, value=self.type(depth + 1))
            self.want(">")
            return found
        if root == "VECTOR":
            self.want("<")
            element = self.type(depth + 1)
            self.want(",")
            found = PaimonType(root, value=element, length=self.number())
            self.want(">")
            return found
        if root == "MAP":
            self.want("<")
            key = self.type(depth + 1)
            self.want(",")
            found = PaimonType(root, key=key, value=self.type(depth + 1))
            self.want(">")
            return found
        if root == "ROW":
            return self.row(depth)
        if root == "DOUBLE":
            self.skip("PRECISION")
        elif root in ("GEOMETRY", "GEOGRAPHY") and self.skip("("):
            while not self.skip(")"):
                if self.at >= len(self.tokens):
                    self.fail("')'")
                self.at += 1
        return PaimonType(root)

    def with_length(self, root):
        length = 1
        if self.skip("("):
            length = self.number()
            self.want(")")
        if not 1 <= length <= MAX_LEN:
            raise ValueError(f"not a Paimon type: {self.text!r}: a length is 1 to {MAX_LEN}")
        if root in ("VARCHAR", "VARBINARY") and length == MAX_LEN:
            return PaimonType("STRING" if root == "VARCHAR" else "BYTES")
        return PaimonType(root, length=length)

    def decimal(self):
        precision, scale = DEFAULT_PRECISION["DECIMAL"], 0
        if self.skip("("):
            precision = self.number()
            if self.skip(","):
                scale = self.number()
            self.want(")")
        if not 1 <= precision <= MAX_PRECISION["DECIMAL"] or scale > precision:
            raise ValueError(f"not a Paimon type: {self.text!r}: DECIMAL(p, s) has 1 <= p <= 38 and 0 <= s <= p")
        return PaimonType("DECIMAL", precision=precision, scale=scale)

    def temporal(self, root):
        precision = DEFAULT_PRECISION[root]
        if self.skip("("):
            precision = self.number()
            self.want(")")
        if precision > MAX_PRECISION[root]:
            raise ValueError(f"not a Paimon type: {self.text!r}: the precision of {root} is 0 to 9")
        if root == "TIMESTAMP" and self.skip("WITH", "LOCAL", "TIME", "ZONE"):
            root = "TIMESTAMP_LTZ"
        elif root != "TIMESTAMP_LTZ":
            self.skip("WITHOUT", "TIME", "ZONE")
        return PaimonType(root, precision=precision)

    def row(self, depth):
        close = ">" if self.skip("<") else ")"
        if close == ")":
            self.want("(")
        fields = []
        while not self.skip(close):
            if fields:
                self.want(",")
            kind, name = self.tokens[self.at][:2] if self.at < len(self.tokens) else (None, None)
            if kind == "name":
                name = name[1:-1].replace("``", "`")
            elif kind == "word":
                name = self.text[self.tokens[self.at][2]:][:len(name)]  # as it was spelled
            else:
                self.fail("a field name")
            self.at += 1
            fields.append((name, self.type(depth + 1)))
            if self.at < len(self.tokens) and self.tokens[self.at][0] == "comment":
                self.at += 1
        return PaimonType("ROW", fields=tuple(fields))


def parse_schema(schema) -> dict[str, PaimonType]:
    """Column name -> type, in the order of the schema.

    Parameters
    ----------
    schema : dict of name to SQL type (or PaimonType) | pyarrow.Schema | the "fields" list of a Paimon schema file
        (dicts with "name" and "type") | a list of objects with ``name`` and ``type``, as pypaimon has them.

    Raises
    ------
    ValueError : a type that cannot be read, a name twice; names the column.    TypeError : none of the above.

    >>> {name: str(t) for name, t in parse_schema([{"id": 0, "name": "day", "type": "DATE NOT NULL"}]).items()}
    {'day': 'DATE NOT NULL'}
    """
    if type(schema).__module__.partition(".")[0] == "pyarrow":
        pairs = [(field.name, field) for field in schema]
        parse = _from_arrow_field
    elif isinstance(schema, dict):
        pairs, parse = list(schema.items()), parse_type
    elif isinstance(schema, (list, tuple)):
        pairs, parse = [_named(field) for field in schema], parse_type
    else:
        raise TypeError("a schema is a dict of name to type, a pyarrow.Schema, or the fields of a Paimon schema, "
                        f"not {type(schema).__name__}")
    found = {}
    for name, type_ in pairs:
        if not isinstance(name, str):
            raise TypeError(f"a column name is a str, not {type(name).__name__}: {name!r}")
        if name in found:
            raise ValueError(f"column {name!r} appears twice in the schema")
        try:
            found[name] = parse(type_)
        except (TypeError, ValueError) as error:
            raise type(error)(f"column {name!r}: {error}") from None
    return found


def _named(field):
    if isinstance(field, dict):
        if "name" not in field or "type" not in field:
            raise ValueError(f"a field of a schema has a name and a type: {field!r}")
        return field["name"], field["type"]
    if isinstance(field, (list, tuple)) and len(field) == 2:
        return tuple(field)
    if hasattr(field, "name") and hasattr(field, "type"):
        return field.name, field.type
    raise TypeError(f"a field of a schema is a dict with name and type, not {type(field).__name__}")


# --------------------------------------------------------------------------------------------- Arrow

_UNIT_PRECISION = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def _from_arrow_field(field):
    found = from_arrow(field.type)
    return found if field.nullable else replace(found, nullable=False)


def from_arrow(type_) -> PaimonType:
    """The Paimon type of an Arrow type; raises TypeError for an Arrow type without one (unsigned integers, ...)."""
    import pyarrow.types as t

    simple = {"bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT",
              "float": "FLOAT", "double": "DOUBLE", "string": "STRING", "large_string": "STRING",
              "string_view": "STRING", "binary": "BYTES", "large_binary": "BYTES", "binary_view": "BYTES",
              "date32[day]": "DATE", "date64[ms]": "DATE"}.get(str(type_))
    if simple:
        return PaimonType(simple)
    if t.is_decimal(type_) and type_.scale >= 0 and type_.precision <= 38:
        return PaimonType("DECIMAL", precision=type_.precision, scale=type_.scale)
    if t.is_fixed_size_binary(type_):
        return PaimonType("BINARY", length=type_.byte_width)
    if t.is_timestamp(type_):
        return PaimonType("TIMESTAMP" if type_.tz is None else "TIMESTAMP_LTZ", precision=_UNIT_PRECISION[type_.unit])
    if t.is_time(type_):
        return PaimonType("TIME", precision=_UNIT_PRECISION[type_.unit])
    if t.is_dictionary(type_):
        return from_arrow(type_.value_type)
    if t.is_map(type_):
        return PaimonType("MAP", key=_from_arrow_field(type_.key_field), value=_from_arrow_field(type_.item_field))
    if t.is_fixed_size_list(type_):
        return PaimonType("VECTOR", value=_from_arrow_field(type_.value_field), length=type_.list_size)
    if t.is_list(type_) or t.is_large_list(type_):
        return PaimonType("ARRAY", value=_from_arrow_field(type_.value_field))
    if t.is_struct(type_):
        fields = [type_.field(i) for i in range(type_.num_fields)]
        return PaimonType("ROW", fields=tuple((f.name, _from_arrow_field(f)) for f in fields))
    raise TypeError(f"Arrow type {type_} has no Paimon counterpart")


def to_arrow(type_):
    """The pyarrow.DataType that a Paimon reader gives for this type; raises TypeError where there is none.

    >>> to_arrow("TIMESTAMP(3) WITH LOCAL TIME ZONE")
    TimestampType(timestamp[ms, tz=UTC])
    """
    import pyarrow as pa

    type_ = parse_type(type_)
    root, p = type_.root, type_.precision
    simple = {"BOOLEAN": pa.bool_, "TINYINT": pa.int8, "SMALLINT": pa.int16, "INT": pa.int32, "BIGINT": pa.int64,
              "FLOAT": pa.float32, "DOUBLE": pa.float64, "DATE": pa.date32, "CHAR": pa.string, "VARCHAR": pa.string,
              "STRING": pa.string, "BINARY": pa.binary, "VARBINARY": pa.binary, "BYTES": pa.binary,
              "BLOB": pa.large_binary}.get(root)
    if simple:
        return simple()
    if root == "DECIMAL":
        return pa.decimal128(p, type_.scale)
    if root == "TIME":
        return pa.time32("ms")  # what the files hold, whatever the precision
    if root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        unit = "s" if p == 0 else "ms" if p <= 3 else "us" if p <= 6 else "ns"
        return pa.timestamp(unit, tz="UTC" if root == "TIMESTAMP_LTZ" else None)
    if root == "ARRAY":
        return pa.list_(_arrow_field("item", type_.value))
    if root == "VECTOR":
        return pa.list_(_arrow_field("item", type_.value), type_.length)
    if root == "MAP":
        return pa.map_(pa.field("key", to_arrow(type_.key), nullable=False), _arrow_field("value", type_.value))
    if root == "MULTISET":
        return pa.map_(pa.field("key", to_arrow(type_.value), nullable=False),
                       pa.field("value", pa.int32(), nullable=False))
    if root == "ROW":
        return pa.struct([_arrow_field(name, t) for name, t in type_.fields])
    if root == "VARIANT":
        return pa.struct([pa.field(name, pa.binary(), nullable=False) for name in ("value", "metadata")])
    raise TypeError(f"{type_.sql()} has no Arrow counterpart")


def _arrow_field(name, type_):
    import pyarrow as pa

    return pa.field(name, to_arrow(type_), nullable=type_.nullable)
