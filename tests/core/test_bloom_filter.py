"""The Bloom filter's layout, rule by rule, against a model of a few lines."""
from __future__ import annotations

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

import paimon_fidx as fidx

from .octets import octets, patched
from .segment import C, opened, refusal, rows

M64, M32 = 2**64 - 1, 2**32 - 1


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def wang(key):
    """Thomas Wang's 64-bit hash of a Java long, as Java's signed shifts compute it."""
    key = (~key + (key << 21)) & M64
    key ^= (signed(key, 64) >> 24) & M64
    key = (key + (key << 3) + (key << 8)) & M64
    key ^= (signed(key, 64) >> 14) & M64
    key = (key + (key << 2) + (key << 4)) & M64
    key ^= (signed(key, 64) >> 28) & M64
    return (key + (key << 31)) & M64


def places(hash64, hash_count, bit_count):
    for probe in range(1, hash_count + 1):
        place = signed((hash64 + probe * (hash64 >> 32)) & M32, 32)
        yield (place if place >= 0 else ~place) % bit_count


def built(hashes, hash_count, length):
    bits = bytearray(length)
    for each in hashes:
        for place in places(each, hash_count, 8 * length):
            bits[place >> 3] |= 1 << (place & 7)
    return hash_count.to_bytes(4, "big") + bytes(bits)


def says_maybe(body, predicate, type):
    return rows(opened("bloom-filter", type, body), predicate, 10) == "REMAIN"


def test_an_empty_filter_knows_no_value():
    body = octets("""
        00000003              # 0   hash_count
        0000000000000000      # 4   64 bits
    """)
    assert not says_maybe(body, C == 1, "INT")
    assert not says_maybe(body, C.is_in([1, 2, 3]), "INT")
    for predicate in (C != 1, C < 1, C.is_null(), C.is_not_null(), C.not_in([1])):
        assert says_maybe(body, predicate, "INT")


@given(st.sets(st.integers(-(2**63), 2**63 - 1), max_size=20), st.integers(1, 8), st.integers(1, 40))
def test_numbers_against_the_model(values, hash_count, length):
    body = built([wang(value & M64) for value in values], hash_count, length)
    for value in [*values, 0, 1, -1, 2**63 - 1, -(2**63)]:
        bits = int.from_bytes(body[4:], "little")
        maybe = all(bits >> place & 1 for place in places(wang(value & M64), hash_count, 8 * length))
        assert says_maybe(body, C == value, "BIGINT") == maybe


@given(st.sets(st.text(max_size=8), max_size=20), st.integers(1, 8), st.integers(1, 40))
def test_texts_against_the_model(values, hash_count, length):
    body = built([xxhash.xxh64_intdigest(value.encode()) for value in values], hash_count, length)
    for value in [*values, "", "a", "€"]:
        bits, hash64 = int.from_bytes(body[4:], "little"), xxhash.xxh64_intdigest(value.encode())
        maybe = all(bits >> place & 1 for place in places(hash64, hash_count, 8 * length))
        assert says_maybe(body, C == value, "STRING") == maybe


@pytest.mark.parametrize("new, field, offset", [("00000000", "hash_count", 0), ("ffffffff", "hash_count", 0)])
def test_refuses(new, field, offset, tmp_path):
    error, error_at = refusal("bloom-filter", "INT", patched(octets("00000003 00000000"), 0, new), C == 1, 10, tmp_path)
    assert field in error.where and error_at == offset


def test_every_truncation_of_the_head_is_refused():
    for length in range(5):
        with pytest.raises(fidx.FileIndexError):
            rows(opened("bloom-filter", "INT", octets("00000003 ff")[:length]), C == 1, 10)
