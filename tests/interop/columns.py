"""Random columns of every type, in the JSON form of the golden data."""
from __future__ import annotations

import math
import random
import struct

TYPES = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5, 2)", "DECIMAL(18, 4)",
    "DECIMAL(38, 10)", "CHAR(5)", "VARCHAR(20)", "STRING", "BINARY(3)", "BYTES", "DATE", "TIME(0)", "TIME(3)",
    "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP(9) WITH LOCAL TIME ZONE",
)
BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
ALPHABETS = ("ab", "0123456789", "abcdefghijklmnopqrstuvwxyz", "aé߿ࠀ\uffff😀\U0010ffff", "\0\x01a")
SHAPES = ("few", "unique", "runs", "null-heavy", "constant", "extremes", "all-null", "one", "empty")


def column(rng: random.Random, type: str, rows: int | None = None) -> list:
    """One column: its shape, its number of rows and its share of NULLs are random too."""
    shape = rng.choice(SHAPES)
    rows = rng.choice((2, 7, 60, 64, 65, 130, 400)) if rows is None else rows
    rows = {"empty": 0, "one": 1}.get(shape, rows)
    nulls = {"null-heavy": 0.9, "all-null": 1.0}.get(shape, rng.choice((0, 0, 0.01, 0.3)))
    draw = [value(rng, type, shape == "extremes") for _ in range({"few": 5, "constant": 1}.get(shape, max(rows, 1)))]
    if shape == "runs":
        out = [item for item in draw[: rows // 10 + 1] for _ in range(rng.randint(1, 40))][:rows]
    elif shape in ("few", "constant", "extremes"):
        out = [rng.choice(draw) for _ in range(rows)]
    else:
        out = draw[:rows]
    return [None if rng.random() < nulls else item for item in out]


def value(rng: random.Random, type: str, extreme: bool = False):
    base = type.split("(")[0]
    if base == "BOOLEAN":
        return rng.random() < 0.5
    if base in BITS:
        most = (1 << BITS[base] - 1) - 1
        if extreme:
            return _big(rng.choice((most, -most, 0, -1, 1)))       # the least value has no bsi: Java cannot write it
        return _big(rng.randint(-most, most) >> rng.choice((0, 0, BITS[base] // 2, BITS[base] * 3 // 4)))
    if base == "DATE":
        return rng.choice((0, 2932896, -719162)) if extreme else rng.randint(-30000, 30000)
    if base == "TIME":
        return rng.choice((0, 86_399_999)) if extreme else rng.randrange(86_400_000)
    if base in ("FLOAT", "DOUBLE"):
        return _float(rng, base, extreme)
    if base == "DECIMAL":
        return _decimal(rng, type, extreme)
    if base == "TIMESTAMP":
        return _timestamp(rng, int(type[10]), extreme)
    if base in ("BINARY", "BYTES"):
        return rng.randbytes(rng.choice((0, 1, 3, 3, 8, 33, 70))).hex()
    length = rng.choice((0, 200, 1000)) if extreme else rng.choice((0, 1, 2, 3, 5, 8, 9, 14, 16, 17, 40))
    return rng.choice(("", "prefix-", "a common prefix of many strings ")) * (not extreme) + "".join(
        rng.choices(rng.choice(ALPHABETS), k=length))


def _big(number: int):
    return number if abs(number) <= 1 << 53 else str(number)


def _float(rng, base, extreme):
    if extreme:
        return rng.choice(("NaN", "Infinity", "-Infinity", "-0.0", 0.0, 1.5, -1.5))
    code, width = ("f", 4) if base == "FLOAT" else ("d", 8)
    number = float(rng.randint(-99, 99)) / 8
    if rng.random() < 0.5:
        number = struct.unpack("<" + code, rng.randbytes(width))[0]
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return "-0.0" if number == 0 and math.copysign(1, number) < 0 else number


def _decimal(rng, type, extreme):
    precision, scale = (int(part) for part in type[8:-1].split(","))
    digits = min(precision, 18)                                     # what an index keeps: 64 bits
    most = 10**digits - 1
    number = rng.choice((most, -most, 0)) if extreme else rng.randint(-most, most) // 10 ** rng.choice((0, digits // 2))
    text = f"{abs(number):0{scale + 1}d}"
    return ("-" if number < 0 else "") + text[: len(text) - scale] + ("." + text[len(text) - scale :] if scale else "")


def _timestamp(rng, precision, extreme):
    millis = rng.choice((0, -1, 8_999_999_999_999, -8_999_999_999_999)) if extreme else rng.randint(-10**12, 2 * 10**12)
    nanos = 0 if precision <= 3 else rng.randrange(1000) * 1000 if precision <= 6 else rng.randrange(1_000_000)
    return {"millis": millis, "nanosOfMilli": nanos}


def key(type: str, item):
    """What an index takes two equal values for: comparable by ``==`` and ``<`` as Java compares them."""
    if item is None:
        return None
    base = type.split("(")[0]
    if base in BITS:
        return int(item)
    if base in ("FLOAT", "DOUBLE"):
        code = "<f" if base == "FLOAT" else "<d"
        number = struct.unpack(code, struct.pack(code, float(item)))[0]
        return (2, 0, 0) if math.isnan(number) else (1, number, math.copysign(1, number))
    if base == "TIMESTAMP":
        return item["millis"] if int(type[10]) <= 3 else item["millis"] * 1000 + item["nanosOfMilli"] // 1000
    if base in ("CHAR", "VARCHAR", "STRING"):
        return item.encode()
    return item
