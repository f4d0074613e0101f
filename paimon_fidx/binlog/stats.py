"""Statistics logs: which primary keys a segment may hold, and BM25 counts of a text field. Both without a container.

    primary keys: one JSON object, or an array of them in the compound log named 1
        fieldID, pkType (5 when missing), bfType (3 when missing), bf, minPk / maxPk (min / max in old files)
        bf of type 3: {"m": bits, "k": hashes, "b": base64url of the filter};  type 4: {"k": hashes, "b": [base64url of
        64 bytes, ...]};  type 2: anything, every key may be there

    BM25:                                                                        little-endian
        0    le32     version          0
        4    le64     row_count
        12   le64     token_count
        20            pairs            le32 token, le32 rows_with_token, up to the end
"""
from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from xxhash import xxh3_64_intdigest

from ..core.cursor import Source
from ..errors import CorruptError, TruncatedError, UnsupportedError
from . import blooms
from .events import bm25_numbers, read_all
from .model import DataType
from .text import parse

__all__ = ["Bm25Stats", "PkFilter", "PkStats", "open_bm25_stats", "open_pk_stats"]

ALWAYS, BASIC, BLOCKED = 2, 3, 4
MOST_HASHES = 1024  # Milvus takes fewer than 64; a lie must not cost time
BLOCK_LEN = 64
PAIR_AT, PAIR_LEN = 20, 8


def open_pk_stats(source: Any) -> PkStats:
    """Reads primary-key statistics. ``source`` as in :func:`open_binlog`; the whole file is read.

    Raises CorruptError, TruncatedError, UnsupportedError (an unknown filter or key type).

    Example
    -------
    >>> import paimon_fidx.binlog as bl
    >>> bl.open_pk_stats(b'{"fieldID":100,"bfType":2,"bf":{},"pkType":5,"maxPk":9,"minPk":1}').may_contain(5)
    True
    """
    opened = source if isinstance(source, Source) else Source(source)
    try:
        value = parse(read_all(opened), "pk_stats", opened.path, 0)
        values = value if isinstance(value, list) else [value]
        return PkStats(tuple(PkFilter(each, f"pk_stats[{i}]", opened.path) for i, each in enumerate(values)))
    finally:
        if not isinstance(source, Source):
            opened.close()


class PkStats:
    """Primary-key statistics of a segment. ``filters``: a tuple of PkFilter, one per log in a compound file."""

    __slots__ = ("filters",)

    def __init__(self, filters: tuple[PkFilter, ...]):
        self.filters = filters

    def may_contain(self, pk: int | str) -> bool:
        """False: no row has this key. True: one may. TypeError for a key of another type than the field's."""
        return any([each.may_contain(pk) for each in self.filters])

    @property
    def min_pk(self) -> int | str | None:
        return min((each.min_pk for each in self.filters if each.min_pk is not None), default=None)

    @property
    def max_pk(self) -> int | str | None:
        return max((each.max_pk for each in self.filters if each.max_pk is not None), default=None)

    def __repr__(self) -> str:
        return f"<PkStats: {len(self.filters)} filters, keys {self.min_pk!r} to {self.max_pk!r}>"


class PkFilter:
    """One object of a statistics log.

    Attributes
    ----------
    field_id : int;  pk_type : DataType (INT64 or VARCHAR);  filter_type : 2 always, 3 basic, 4 blocked
    hash_count : int;  filter_len : int, bytes;  min_pk, max_pk : int | str | None
    """

    __slots__ = ("field_id", "pk_type", "filter_type", "hash_count", "min_pk", "max_pk", "_data")

    def __init__(self, value: Any, where: str, path: str | None):
        self._data = b""
        self.hash_count = 0

        def refuse(name, expected, found):
            return CorruptError(f"{where}.{name}", path=path, expected=expected, found=repr(found)[:80])

        if not isinstance(value, dict):
            raise CorruptError(where, path=path, offset=0, expected="a JSON object", found=repr(value)[:80])
        self.field_id = value.get("fieldID", -1)
        if type(self.field_id) is not int:
            raise refuse("fieldID", "an integer", self.field_id)
        pk_type = value.get("pkType", DataType.INT64)
        if pk_type not in (DataType.INT64, DataType.VARCHAR):
            raise UnsupportedError(f"{where}.pkType", path=path, expected="5 (Int64) or 21 (VarChar)",
                                   found=repr(pk_type)[:80])
        self.pk_type = DataType(pk_type)
        key = int if self.pk_type == DataType.INT64 else str
        old = key is int and ("minPk" not in value or "maxPk" not in value)
        self.min_pk = value.get("min" if old else "minPk")
        self.max_pk = value.get("max" if old else "maxPk")
        for name, bound in (("minPk", self.min_pk), ("maxPk", self.max_pk)):
            if bound is not None and type(bound) is not key:
                raise refuse(name, key.__name__, bound)
        self.filter_type = value.get("bfType", BASIC)
        if self.filter_type == ALWAYS:
            return
        if self.filter_type not in (BASIC, BLOCKED):
            raise UnsupportedError(f"{where}.bfType", path=path, expected="2, 3 or 4",
                                   found=repr(self.filter_type)[:80])
        filter = value.get("bf")
        if not isinstance(filter, dict):
            raise refuse("bf", "an object", filter)
        self.hash_count = filter.get("k")
        if type(self.hash_count) is not int or not 0 < self.hash_count <= MOST_HASHES:
            raise refuse("bf.k", f"1 to {MOST_HASHES}", self.hash_count)
        stored = filter.get("b")
        try:
            self._data = _basic(stored, filter.get("m")) if self.filter_type == BASIC else _blocked(stored)
        except (ValueError, binascii.Error) as error:
            raise refuse("bf.b", str(error), stored) from None

    @property
    def filter_len(self) -> int:
        return len(self._data)

    def may_contain(self, pk: int | str) -> bool:
        """False: the key was never added. TypeError for a key of another type than the field's."""
        if self.pk_type == DataType.INT64:
            if type(pk) is not int:
                raise TypeError(f"the primary key is an integer, not {type(pk).__name__}")
            if not -(2**63) <= pk < 2**63:
                return False
            key = pk.to_bytes(8, "little", signed=True)
        else:
            if not isinstance(pk, str):
                raise TypeError(f"the primary key is text, not {type(pk).__name__}")
            key = pk.encode("utf-8", "surrogatepass")
        if self.filter_type == BASIC:
            return blooms.basic_contains(self._data, key, self.hash_count)
        if self.filter_type == BLOCKED:
            return blooms.blocked_contains(self._data, xxh3_64_intdigest(key), self.hash_count)
        return True


def _text_bytes(stored: Any) -> bytes:
    if not isinstance(stored, str) or not stored.isascii():
        raise ValueError("base64url text")
    raw = base64.b64decode(stored.encode(), altchars=b"-_", validate=True)
    return raw


def _basic(stored: Any, bit_count: Any) -> bytes:
    data = _text_bytes(stored)
    if type(bit_count) is not int or bit_count < 1:
        raise ValueError("m of at least 1 bit")
    if len(data) != 8 + (bit_count + 63) // 64 * 8 or int.from_bytes(data[:8], "big") != bit_count:
        raise ValueError(f"{8 + (bit_count + 63) // 64 * 8} bytes of a filter of {bit_count} bits")
    return data


def _blocked(stored: Any) -> bytes:
    if not isinstance(stored, list) or not stored:
        raise ValueError("blocks of 64 bytes")
    blocks = [_text_bytes(each) for each in stored]
    if any(len(each) != BLOCK_LEN for each in blocks):
        raise ValueError("blocks of 64 bytes")
    return b"".join(blocks)


def open_bm25_stats(source: Any) -> Bm25Stats:
    """Reads BM25 statistics. ``source`` as in :func:`open_binlog`; the whole file is read.

    Raises CorruptError, TruncatedError, UnsupportedError (a version other than 0).
    """
    opened = source if isinstance(source, Source) else Source(source)
    try:
        data, path = read_all(opened), opened.path
    finally:
        if not isinstance(source, Source):
            opened.close()
    if len(data) < PAIR_AT:
        raise TruncatedError("bm25.head", path=path, offset=0, expected=f"{PAIR_AT} bytes", found=f"{len(data)}")
    version, row_count, token_count, pairs = bm25_numbers(data)
    if version != 0:
        raise UnsupportedError("bm25.version", path=path, offset=0, expected=0, found=version)
    for name, at, count in (("row_count", 4, row_count), ("token_count", 12, token_count)):
        if count < 0:
            raise CorruptError(f"bm25.{name}", path=path, offset=at, expected="at least 0", found=count)
    if (len(data) - PAIR_AT) % PAIR_LEN:
        raise TruncatedError("bm25.pairs", path=path, offset=PAIR_AT, expected=f"pairs of {PAIR_LEN} bytes",
                             found=f"{len(data) - PAIR_AT} bytes")
    rows: dict[int, int] = {}
    for i, (token, count) in enumerate(pairs):
        if token in rows:
            raise CorruptError(f"bm25.pair[{i}].token", path=path, offset=PAIR_AT + i * PAIR_LEN,
                               expected="each token once", found=token)
        if count < 0:
            raise CorruptError(f"bm25.pair[{i}].rows", path=path, offset=PAIR_AT + i * PAIR_LEN + 4,
                               expected="at least 0", found=count)
        rows[token] = count
    return Bm25Stats(row_count, token_count, MappingProxyType(rows))


class Bm25Stats:
    """BM25 counts: ``row_count``, ``token_count`` and ``rows_with_token``, a mapping from token to rows."""

    __slots__ = ("row_count", "token_count", "rows_with_token")

    def __init__(self, row_count: int, token_count: int, rows_with_token: Mapping[int, int]):
        self.row_count, self.token_count, self.rows_with_token = row_count, token_count, rows_with_token

    def __repr__(self) -> str:
        return f"<Bm25Stats: {self.row_count} rows, {self.token_count} tokens, {len(self.rows_with_token)} distinct>"
