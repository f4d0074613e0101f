"""The container's layout table, rule by rule."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_fidx.core.container import Container
from paimon_fidx.core.cursor import Source, decode_modified_utf8, encode_modified_utf8
from paimon_fidx.errors import CorruptError, FileIndexError, TruncatedError, UnsupportedError

from .octets import octets, patched

SOUND = octets("""
    00054e4ed01a35ae      # 0   magic 1493475289347502
    00000001              # 8   version
    00000043              # 12  head_length: 67
    00000002              # 16  column_count
    0001 61               # 20  "a"
    00000002              # 23  index_count
    0003 627369           # 27  "bsi"
    00000043 00000003     # 32  start 67, length 3
    0006 6269746d6170     # 40  "bitmap"
    ffffffff 00000000     # 48  start -1, length 0: an empty entry
    0001 62               # 56  "b"
    00000000              # 59  no index
    00000000              # 63  redundant_length
    010203                # 67  the segment
""")
ENTRIES = {"a": {"bsi": (67, 3), "bitmap": (-1, 0)}, "b": {}}


def columns(payload):
    return Container(Source(payload)).columns


def test_columns_kinds_and_places():
    assert columns(SOUND) == ENTRIES


def test_the_redundant_length_may_be_absent():
    absent = patched(patched(SOUND[:63] + SOUND[67:], 12, "0000003f"), 32, "0000003f")
    assert columns(absent) == {"a": {"bsi": (63, 3), "bitmap": (-1, 0)}, "b": {}}


def test_redundant_bytes_are_skipped():
    more = SOUND[:63] + octets("00000002 beef") + SOUND[67:]
    more = patched(patched(more, 12, "00000045"), 32, "00000045")
    assert columns(more) == {"a": {"bsi": (69, 3), "bitmap": (-1, 0)}, "b": {}}


@pytest.mark.parametrize("at, new, error, field, offset", [
    (0, "00054e4ed01a35af", CorruptError, "magic", 0),
    (8, "00000002", UnsupportedError, "version", 8),
    (8, "00000000", UnsupportedError, "version", 8),
    (12, "ffffffff", CorruptError, "head_length", 12),
    (12, "00000010", CorruptError, "head_length", 12),
    (12, "00000047", TruncatedError, "head_length", 12),  # 71, one past the end
    (12, "0000003e", TruncatedError, "index_count", 59),  # the head ends inside index_count
    (16, "ffffffff", CorruptError, "column_count", 16),
    (16, "7fffffff", CorruptError, "column_count", 16),
    (16, "00000001", CorruptError, "redundant_length", 56),  # what follows one column is not a redundant_length
    (20, "ffff", TruncatedError, "name", 22),
    (22, "00", CorruptError, "name", 22),  # a zero byte is no modified UTF-8
    (22, "80", CorruptError, "name", 22),  # a continuation byte alone
    (23, "80000000", CorruptError, "index_count", 23),
    (23, "00000064", CorruptError, "index_count", 23),
    (32, "00000042", CorruptError, "start", 32),  # inside the head
    (32, "fffffffe", CorruptError, "start", 32),
    (32, "00000044", TruncatedError, "bsi", 0x44),  # three bytes from 68: one too many
    (36, "ffffffff", CorruptError, "length", 36),
    (36, "7fffffff", TruncatedError, "bsi", 67),
    (52, "00000001", CorruptError, "length", 52),  # an empty entry has no bytes
    (63, "00000001", CorruptError, "redundant_length", 63),
    (63, "ffffffff", CorruptError, "redundant_length", 63),
])
def test_a_broken_rule_is_refused_by_name_and_offset(at, new, error, field, offset, tmp_path):
    damaged = patched(SOUND, at, new)
    with pytest.raises(error) as refused:
        columns(damaged)
    assert field in refused.value.where
    assert refused.value.offset == offset
    assert refused.value.path is None
    path = tmp_path / "damaged.index"
    path.write_bytes(damaged)
    with pytest.raises(error) as refused:
        columns(path)
    assert refused.value.path == str(path)
    assert str(path) in str(refused.value) and str(offset) in str(refused.value)


def test_one_kind_twice_on_a_column_is_refused():
    twice = patched(SOUND, 40, "0003 627369".replace(" ", ""))  # "bitmap" becomes "bsi", three bytes are too many now
    twice = twice[:45] + twice[48:]
    twice = patched(patched(twice, 12, "00000040"), 32, "00000040")
    with pytest.raises(CorruptError, match="bsi index of column 'a'"):
        columns(twice)


@pytest.mark.parametrize("length", range(len(SOUND)))
def test_every_truncation_is_refused(length):
    with pytest.raises(TruncatedError):
        columns(SOUND[:length])


@given(st.binary(max_size=200))
def test_any_head_is_read_or_refused(rest):
    try:
        Container(Source(SOUND[:12] + rest))
    except FileIndexError:
        pass


# --- Java's modified UTF-8


@pytest.mark.parametrize("text, encoded", [
    ("plain", "706c61696e"),
    ("\0", "c080"),
    ("ß", "c39f"),
    ("ключ", "d0bad0bbd18ed187"),
    ("€", "e282ac"),
    ("😀", "eda0bdedb880"),  # a surrogate pair of three bytes each
    ("\ud800", "eda080"),  # a lone surrogate, legal in Java
])
def test_modified_utf8(text, encoded):
    assert encode_modified_utf8(text).hex() == encoded
    assert decode_modified_utf8(bytes.fromhex(encoded)) == text


@pytest.mark.parametrize("encoded", ["00", "80", "c3", "e282", "f09f9880", "c328", "e28228"])
def test_what_is_no_modified_utf8(encoded):
    assert decode_modified_utf8(bytes.fromhex(encoded)) is None


@given(st.text(st.characters(exclude_categories=())))
def test_modified_utf8_there_and_back(text):
    assert decode_modified_utf8(encode_modified_utf8(text)) == text
