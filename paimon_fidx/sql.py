"""WHERE text to predicate, by sqlglot: what Spark SQL says, or a ValueError that names the part not understood.

    accepted
    column            name   `any name`   attrs['os']   element_at(attrs, 'os')
    literal           1  5L  10.5 (Decimal)  2BD  1e3  1.5D  1.5F  'text'  r'text'  X'AB'  TRUE  NULL, - before numbers,
                      DATE '...'  TIMESTAMP '...'  TIMESTAMP_NTZ '...'  TIMESTAMP_LTZ '...'  TIME '...'  double('NaN')
    comparison        =  ==  <>  !=  <  <=  >  >=  <=>  IS [NOT] DISTINCT FROM, the literal on either side
    test              [NOT] IN (...)  [NOT] BETWEEN  [NOT] LIKE [ESCAPE]  IS [NOT] NULL | TRUE | FALSE
                      startswith endswith contains isnan isnull isnotnull; a BOOLEAN column by itself
    logic             AND  OR  NOT  parentheses  TRUE  FALSE  1 = 1

A string is read with Spark's escapes (``\\n``, ``\\'``, ``\\u0041``, ``\\101``; ``\\%`` and ``\\_`` stay for LIKE). Two
strings side by side are refused, for Spark 3 joins them, and Spark 4 reads ``'it''s'`` as one with a quote. A
TIMESTAMP without a zone is a clock time, as TIMESTAMP_NTZ is: it becomes an instant when it meets a column of instants.
"""
from __future__ import annotations

import datetime
import decimal
import re
import struct

from .predicate import ALWAYS, NEVER, col
from .temporal import DAY_NS, parse_date, parse_time, parse_timestamp, wall_offset
from .values import TimestampNs

__all__ = ["parse_where"]

_SPARK = ("spark", "spark2", "databricks")
_COMPARISONS = {"EQ": "=", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TEXT_TESTS = {"startswith": "starts_with", "endswith": "ends_with", "contains": "contains"}
_HINTS = {
    "RegexpLike": "regular expressions cannot be answered by an index; use LIKE, startswith, endswith or contains",
    "ILike": "only LIKE, which minds upper and lower case",
    "Subquery": "there are no subqueries", "Select": "there are no subqueries", "Exists": "there are no subqueries",
    "Case": "there is no CASE", "Placeholder": "there are no parameters; write the value",
    "Parameter": "there are no parameters; write the value",
    "Concat": "strings side by side are not joined; write \\' for a quote inside a string",
}


def parse_where(text, dialect="spark"):
    """The predicate of a WHERE text.

    Parameters
    ----------
    text : str        without the word WHERE
    dialect : str     sqlglot's name of the SQL dialect it is written in

    Returns
    -------
    Predicate, not yet bound to types: ``day = '2024-01-01'`` becomes a date when ``day`` turns out to be one.

    Raises
    ------
    ValueError : not SQL, or something that is not supported; says what and where.    TypeError : not a str.

    >>> parse_where("status = 'PENDING' AND NOT (10 > amount OR attrs['os'] IS NULL)")
    status = 'PENDING' AND amount >= 10 AND attrs['os'] IS NOT NULL
    """
    if not isinstance(text, str):
        raise TypeError(f"a WHERE text is a str, not {type(text).__name__}")
    return _Reader(text).predicate(_parse(text, dialect))


def _parse(text, dialect):
    """The sqlglot expression; its errors become one ValueError each, without terminal colours."""
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import ParseError, TokenError
    from sqlglot.tokens import TokenType

    language = Dialect.get_or_raise(dialect)
    try:
        tokens = language.tokenize(text)
        for before, token in zip([None, *tokens], tokens):
            if token.token_type == TokenType.STRING:
                if before is not None and before.token_type == TokenType.STRING:
                    raise ValueError(f"WHERE text at {before.start}: {_cut(text[before.start:token.end + 1])}: "
                                     + _HINTS["Concat"])
                if dialect in _SPARK:  # sqlglot knows fewer escapes
                    token.text = _unescape(text[token.start + 1:token.end])
            elif token.token_type == TokenType.HEX_STRING and text[token.start] == "0" and dialect in _SPARK:
                raise ValueError(f"WHERE text at {token.start}: Spark has no hexadecimal numbers; bytes are X'1F'")
        found = language.parser().parse_into(exp.Condition, tokens, text)
    except TokenError as error:
        raise ValueError(f"WHERE text {_cut(text)}: {_plain(error)}; is a quote or a comment left open?") from None
    except ParseError as error:
        raise ValueError(f"WHERE text {_cut(text)}: {_described(error)}") from None
    except RecursionError:
        raise ValueError(f"WHERE text {_cut(text)}: parentheses nested too deeply") from None
    except ValueError:
        raise
    except Exception as error:  # sqlglot stumbles over some malformed texts with an IndexError and the like
        raise ValueError(f"WHERE text {_cut(text)}: it cannot be parsed ({type(error).__name__}: {error})") from None
    if len(found) != 1 or found[0] is None:
        what = f" {_cut(text)}: one condition is expected" if text.strip() else " is empty"
        raise ValueError("WHERE text" + what)
    return found[0]


def _plain(error):
    return re.sub(r"\x1b\[\d*m", "", str(error)).partition("\n")[0]


def _described(error):
    """The last error in the list is the one nearest to the cause."""
    known = [e for e in error.errors if e.get("line")]
    if not known:
        return _plain(error)
    first = known[-1]
    what = first["description"]
    if what.startswith("Required keyword"):
        what = "a part of the expression is missing"
    return f"{what} at line {first['line']}, column {first['col']}, near {first['highlight']!r}"


def _cut(text):
    return repr(text if len(text) <= 80 else text[:77] + "...")


_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([01][0-7]{2})|(.))", re.S)
_NAMED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def _unescape(body):
    """The inside of a Spark string literal as the string it means."""
    def one(found):
        u4, u8, octal, other = found.groups()
        if octal:
            return chr(int(octal, 8))
        if u4 or u8:
            code = int(u4 or u8, 16)
            if code > 0x10FFFF:
                raise ValueError(f"{found[0]!r} is no character")
            return chr(code)
        return _NAMED.get(other, other)
    if "\\" not in body:
        return body
    text = _ESCAPE.sub(one, body)
    # \ud83d\ude00 is one character in two halves
    return re.sub("[\ud800-\udbff][\udc00-\udfff]",
                  lambda m: m[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le"), text)


class _Reader:
    """One text's expressions as predicates, columns and literals."""

    def __init__(self, text):
        self.text = text

    def refuse(self, node, why=None):
        """ValueError with the part of the text and where it is."""
        kind = type(node).__name__
        spans = [(m["start"], m["end"]) for n in node.walk() if (m := n.meta).get("start") is not None]
        start = min((s for s, _ in spans), default=None)
        try:
            part = node.sql(dialect="spark")
        except Exception:  # sqlglot cannot write all that it reads
            part = self.text[start:start + 80] if start is not None else kind
        where = "" if start is None else f" at {start}"
        why = why or _HINTS.get(kind, f"{kind} is not supported")
        raise ValueError(f"WHERE text{where}: {_cut(part)}: {why}")

    def predicate(self, root):
        """Walks AND, OR, NOT and parentheses with its own stack; the rest are leaves."""
        todo, done = [root], []
        while todo:
            node = todo.pop()
            if isinstance(node, str):
                if node == "Not":
                    done.append(~done.pop())
                else:
                    right = done.pop()
                    left = done.pop()
                    done.append(left & right if node == "And" else left | right)
                continue
            kind = type(node).__name__
            if kind in ("And", "Or"):
                todo += [kind, node.expression, node.this]
            elif kind == "Not":
                todo += [kind, node.this]
            elif kind == "Paren":
                todo.append(node.this)
            else:
                done.append(self.test(node, kind))
        return done.pop()

    def test(self, node, kind):
        """One node that is neither AND, OR nor NOT."""
        if kind == "Boolean":
            return ALWAYS if node.this else NEVER
        if kind in _COMPARISONS:
            return self.comparison(node, _COMPARISONS[kind])
        if kind in ("NullSafeEQ", "NullSafeNEQ"):
            found = self.null_safe(node)
            return found if kind == "NullSafeEQ" else ~found
        if kind == "Is":
            return self.is_test(node)
        if kind == "In":
            if node.args.get("query") or node.args.get("unnest") or node.args.get("field"):
                self.refuse(node, "IN takes a list of literals")
            if not node.expressions:
                self.refuse(node, "IN needs at least one literal")
            return self.column(node.this).is_in([self.literal(e) for e in node.expressions])
        if kind == "Between":
            if node.args.get("symmetric"):
                self.refuse(node, "BETWEEN SYMMETRIC is not supported")
            return self.column(node.this).between(self.literal(node.args["low"]), self.literal(node.args["high"]))
        if kind in ("Like", "Escape"):
            return self.like(node, kind)
        if self.is_column(node):
            return self.column(node) == True  # noqa: E712, a BOOLEAN column by itself
        return self.function(node, kind)

    def comparison(self, node, op):
        left, right = _bare(node.this), _bare(node.expression)
        if self.is_column(left):
            if self.is_column(right):
                self.refuse(node, "a column is compared with a literal, not with a column")
            return _compared(self.column(left), op, self.literal(right))
        if self.is_column(right):
            return _compared(self.column(right), _MIRRORED[op], self.literal(left))
        left, right = self.literal(left), self.literal(right)
        if type(left) is not type(right) or not isinstance(left, (int, str, decimal.Decimal)):
            self.refuse(node, "a comparison names a column")
        return ALWAYS if {"=": left == right, "!=": left != right, "<": left < right, "<=": left <= right,
                          ">": left > right, ">=": left >= right}[op] else NEVER

    def null_safe(self, node):
        """``x <=> v`` is false for NULL, not unknown, so that its negation keeps the NULL rows."""
        left, right = _bare(node.this), _bare(node.expression)
        if not self.is_column(left):
            left, right = right, left
        if self.is_column(right):
            self.refuse(node, "a column is compared with a literal, not with a column")
        column, value = self.column(left), self.literal(right)
        return column.is_null() if value is None else (column == value) & column.is_not_null()

    def is_test(self, node):
        value = type(node.expression).__name__
        if not self.is_column(node.this):
            self.refuse(node, "IS tests a column")
        column = self.column(node.this)
        if value == "Null":
            return column.is_null()
        if value == "Boolean":  # false for NULL, not unknown
            return (column == bool(node.expression.this)) & column.is_not_null()
        self.refuse(node, "IS is followed by NULL, TRUE or FALSE")

    def like(self, node, kind):
        escape = None
        inner = node
        if kind == "Escape":
            inner, escape = node.this, self.literal(node.expression)
            if type(inner).__name__ != "Like":
                self.refuse(node)
            if not isinstance(escape, str):
                self.refuse(node, "the escape of LIKE is a string of one character")
        pattern = self.literal(inner.expression)
        if not isinstance(pattern, str) and pattern is not None:
            self.refuse(node, "the pattern of LIKE is a string")
        try:
            found = self.column(inner.this).like(pattern, escape)
        except ValueError as error:
            self.refuse(node, str(error))
        return ~found if inner.args.get("negate") else found

    def function(self, node, kind):
        name = (node.name if kind == "Anonymous" else kind).lower().replace("_", "")
        args = node.expressions if kind == "Anonymous" else [node.this, node.expression]
        args = [a for a in args if a is not None and not isinstance(a, str)]
        if name in _TEXT_TESTS and len(args) == 2:
            return getattr(self.column(args[0]), _TEXT_TESTS[name])(self.literal(args[1]))
        if len(args) == 1:
            if name == "isnan":
                return self.column(args[0]).is_nan()
            if name == "isnull":
                return self.column(args[0]).is_null()
            if name == "isnotnull":
                return self.column(args[0]).is_not_null()
        if kind in ("Literal", "RawString", "HexString", "Neg", "Null", "Cast", "TryCast"):
            self.refuse(node, "a condition is expected, not a value")
        self.refuse(node, f"there is no function {node.name}" if kind == "Anonymous" else None)

    def is_column(self, node):
        node = _bare(node)
        kind = type(node).__name__
        return kind == "Column" or kind == "Bracket" and type(node.this).__name__ == "Column"

    def column(self, node):
        node = _bare(node)
        if not self.is_column(node):
            kind = type(node).__name__
            self.refuse(node, _HINTS.get(kind, "a column is expected here, not an expression"))
        if type(node).__name__ == "Bracket":
            keys = [self.literal(e) for e in node.expressions]
            if len(keys) != 1 or not isinstance(keys[0], str):
                self.refuse(node, "a MAP key is one string")
            return self.column(node.this)[keys[0]]
        if node.args.get("table") is not None or type(node.this).__name__ != "Identifier":
            self.refuse(node, "a column is one name; a name with a dot stands in backquotes")
        return col(node.this.name)

    def literal(self, node):
        """The Python value of a literal, with the minus signs before it."""
        top, sign = node, 1
        while type(node).__name__ in ("Neg", "Paren"):
            sign = -sign if type(node).__name__ == "Neg" else sign
            node = node.this
        kind = type(node).__name__
        if kind == "Literal":
            value = node.this if node.is_string else _number(node.this)
        elif kind == "Null":
            value = None
        elif kind == "Boolean":
            value = bool(node.this)
        elif kind == "HexString":
            digits = str(node.this)
            if re.fullmatch("[0-9A-Fa-f]*", digits) is None:
                self.refuse(node, "not hexadecimal")
            value = bytes.fromhex("0" * (len(digits) % 2) + digits)
        elif kind == "RawString":
            value = node.this
        elif kind in ("Cast", "TryCast") and type(node.this).__name__ in ("Literal", "Neg"):
            try:
                value = _typed(self.literal(node.this), node.to.this.name, node.to)
            except (ValueError, decimal.InvalidOperation) as error:
                self.refuse(node, str(error))
        else:
            self.refuse(node, _HINTS.get(kind, "a literal is expected here"))
        if sign > 0:
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float, decimal.Decimal)):
            self.refuse(top, "only a number can be negative")
        return value.copy_negate() if isinstance(value, decimal.Decimal) else -value


def _bare(node):
    while type(node).__name__ == "Paren":
        node = node.this
    return node


def _compared(column, op, value):
    return {"=": column.__eq__, "!=": column.__ne__, "<": column.__lt__, "<=": column.__le__,
            ">": column.__gt__, ">=": column.__ge__}[op](value)


def _number(text):
    """Spark's kinds: digits are an integer, a point makes a DECIMAL, an exponent a DOUBLE."""
    if "e" in text.lower():
        return float(text)
    return decimal.Decimal(text) if "." in text else int(text)


_INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def _typed(value, name, to):
    """A typed literal: ``DATE '...'``, ``5L``, ``1.5D``; a cast of a literal that says the same is taken too."""
    if name in _INTEGER_BITS and isinstance(value, int) and not isinstance(value, bool):
        if -1 << (_INTEGER_BITS[name] - 1) <= value < 1 << (_INTEGER_BITS[name] - 1):
            return value
        raise ValueError(f"{value} is out of the range of {name}")
    if name in ("FLOAT", "DOUBLE"):
        if isinstance(value, str):
            plain = value.strip().lower()
            if not re.fullmatch(r"nan|[+-]?(inf|infinity|\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?)[df]?", plain):
                raise ValueError(f"{value!r} is no number")
            value = plain.rstrip("df") if plain[-1:] in "df" and "inf" not in plain else plain
        if not isinstance(value, bool):
            value = float(value)
            if name == "FLOAT" and abs(value) <= 3.4028235677973366e38:
                value = struct.unpack(">f", struct.pack(">f", value))[0]
            return value
    if name == "DECIMAL" and isinstance(value, (str, int, decimal.Decimal)) and not isinstance(value, bool):
        found = decimal.Decimal(value)
        params = [int(p.name) for p in to.expressions] or [10, 0]
        digits, scale = params[0], params[1] if len(params) > 1 else 0
        if found.is_finite() and found == round(found, scale) and found.adjusted() < max(digits - scale, 1):
            return found
        raise ValueError(f"{value} has other digits as DECIMAL({digits}, {scale})")
    if isinstance(value, str):
        if name == "DATE":
            days = parse_date(value)
            try:
                return datetime.date(1970, 1, 1) + datetime.timedelta(days=days)
            except OverflowError:
                return TimestampNs(days * DAY_NS, "wall")
        if name == "TIME":
            return (datetime.datetime.min + datetime.timedelta(microseconds=parse_time(value) // 1000)).time()
        if name.startswith("TIMESTAMP"):
            return _timestamp(value, name)
    raise ValueError("casts are not supported")


def _timestamp(text, name):
    ns, tz = parse_timestamp(text)
    if tz is not None and name == "TIMESTAMPNTZ":
        raise ValueError("TIMESTAMP_NTZ has no time zone")
    try:
        local = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=ns // 1000)
    except OverflowError:
        local = None
    if local is not None and ns % 1000 == 0:
        return local.replace(tzinfo=tz)
    if tz is None:
        return TimestampNs(ns, "wall")
    return TimestampNs(ns - wall_offset(tz, ns // 10**9) * 10**9, "instant")
