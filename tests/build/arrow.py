"""Values as the golden data writes them, as the Arrow column a user would have."""
from __future__ import annotations

import datetime as dt
import decimal

import pyarrow as pa

EPOCH = dt.date(1970, 1, 1)
PLAIN = {
    "BOOLEAN": pa.bool_(), "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(),
    "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "DATE": pa.date32(), "TIME": pa.time32("ms"), "CHAR": pa.string(),
    "VARCHAR": pa.string(), "STRING": pa.string(),
    "BINARY": pa.binary(), "VARBINARY": pa.binary(), "BYTES": pa.binary(),
}


def column(type: str, values: list) -> pa.Array:
    """The Arrow array of JSON values of one Paimon type; timestamps in nanoseconds, decimals in 128 bits."""
    base = type.split("(")[0].split(" ")[0]
    if base == "TIMESTAMP":
        zone = "UTC" if "LOCAL" in type else None
        nanos = [None if v is None else v["millis"] * 1_000_000 + v["nanosOfMilli"] for v in values]
        return pa.array(nanos, pa.int64()).cast(pa.timestamp("ns", tz=zone))
    if base == "DECIMAL":
        precision, scale = (int(part) for part in type[8:-1].split(","))
        return pa.array([None if v is None else decimal.Decimal(v) for v in values], pa.decimal128(precision, scale))
    if base in ("BINARY", "VARBINARY", "BYTES"):
        values = [None if v is None else bytes.fromhex(v) for v in values]
    elif base in ("DATE", "TIME"):
        return pa.array(values, pa.int32()).cast(PLAIN[base])
    elif base in ("FLOAT", "DOUBLE"):
        values = [None if v is None else float(v) for v in values]
    elif base == "BIGINT":
        values = [None if v is None else int(v) for v in values]
    return pa.array(values, PLAIN[base])


def fits(type: str, values: list) -> bool:
    """Whether the values have an Arrow form: nanoseconds of 64 bits, and no more digits than the type keeps."""
    if not type.startswith("TIMESTAMP"):
        return True
    digits = int(type[10])
    unit = 1_000_000 if digits <= 3 else 1_000 if digits <= 6 else 1
    return all(v is None or abs(v["millis"]) <= 9_000_000_000_000 and v["nanosOfMilli"] % unit == 0 for v in values)
