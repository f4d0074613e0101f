"""The bitmap's two layouts, rule by rule, on the column [1, 2, NULL, 2, 5] of INT."""
from __future__ import annotations

import pytest

import paimon_fidx as fidx

from .octets import octets, patched
from .segment import C, opened, refusal, rows

VALUES = [1, 2, None, 2, 5]
ROW_COUNT = len(VALUES)
V2 = octets("""
    02                    # 0   version
    00000005              # 1   row_count
    00000003              # 5   entry_count
    01                    # 9   has_null
    fffffffd              # 10  null_off: row 2 alone
    00000012              # 14  null_len, means nothing for a single row
    00000001              # 18  block_count
    00000001              # 22  block[0].key: 1
    00000000              # 26  block[0].off
    00000028              # 30  blocks_len: 40 bytes of blocks
    00000003              # 34  block[0].entry_count
    00000001 ffffffff ffffffff   # 38  key 1: row 0 alone
    00000002 00000000 00000014   # 50  key 2: the bitmap at 0, 20 bytes
    00000005 fffffffb ffffffff   # 62  key 5: row 4 alone
    3a300000 01000000     # 74  cookie without runs, one container
    0000 0100             # 82  key 0, two rows
    10000000              # 86  its offset: 16
    0100 0300             # 90  rows 1 and 3
""")
V1 = octets("""
    01                    # 0   version
    00000005              # 1   row_count
    00000003              # 5   entry_count
    01                    # 9   has_null
    fffffffd              # 10  null_off: row 2 alone
    00000001 ffffffff     # 14  key 1: row 0 alone
    00000002 00000000     # 22  key 2: the bitmap at 0
    00000005 fffffffb     # 30  key 5: row 4 alone
    3a300000 01000000     # 38  cookie without runs, one container
    0000 0100             # 46  key 0, two rows
    10000000              # 50  its offset: 16
    0100 0300             # 54  rows 1 and 3
""")
BODIES = [pytest.param(V1, id="V1"), pytest.param(V2, id="V2")]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("predicate, want", [
    (C == 1, [0]), (C == 2, [1, 3]), (C == 5, [4]), (C == 3, []),
    (C != 2, [0, 4]), (C != 3, [0, 1, 3, 4]),
    (C < 2, [0]), (C <= 2, [0, 1, 3]), (C > 2, [4]), (C >= 2, [1, 3, 4]), (C < 1, []), (C > -(2**40), [0, 1, 3, 4]),
    (C.between(2, 4), [1, 3]), (C.not_between(2, 4), [0, 4]), (C.between(4, 2), []),
    (C.is_in([1, 5, 9]), [0, 4]), (C.not_in([1, 5, 9]), [1, 3]), (C.not_in([1, None]), []),
    (C.is_null(), [2]), (C.is_not_null(), [0, 1, 3, 4]),
    ((C == 1) | C.is_null(), [0, 2]), ((C >= 2) & (C < 5), [1, 3]), (~(C == 2), [0, 4]), (~C.is_null(), [0, 1, 3, 4]),
], ids=repr)
def test_answers(body, predicate, want):
    assert rows(opened("bitmap", "INT", body), predicate, ROW_COUNT) == want


@pytest.mark.parametrize("body", BODIES)
def test_whole_column_questions(body):
    reader = opened("bitmap", "INT", body)
    assert reader.columns == {"c": ("bitmap",)}
    assert reader.count(C == 2) == 2
    assert reader.min_max("c") == (1, 5)


V2_DAMAGE = [
    (0, "00", C == 2, "version", 0),
    (0, "03", C == 2, "version", 0),
    (1, "ffffffff", C == 2, "row_count", 1),
    (5, "ffffffff", C == 2, "entry_count", 5),
    (5, "00000006", C == 2, "entry_count", 5),  # six values in five rows, one of them NULL
    (9, "02", C == 2, "has_null", 9),
    (10, "80000000", C.is_null(), "entry.off", None),  # row 2147483647
    (10, "00000064", C.is_null(), "entry", None),  # a bitmap past the end
    (18, "ffffffff", C == 2, "block_count", 18),
    (18, "00000100", C == 2, "block", None),
    (26, "00000001", C == 2, "block", None),
    (26, "7fffffff", C == 2, "block", None),
    (30, "ffffffff", C == 2, "blocks_len", 30),
    (30, "00000064", C == 2, "blocks_len", 30),
    (34, "ffffffff", C == 2, "entry_count", 34),
    (34, "00000004", C == 2, "entry_count", 34),
    (50, "00000000", C == 2, "key", None),  # keys not ascending
    (54, "00000001", C == 2, "bitmap", None),  # off by one: no cookie there
    (54, "00000063", C == 2, "", None),
    (58, "00000015", C == 2, "", None),  # one byte more than there is
    (58, "fffffffe", C == 2, "", None),
    (66, "80000000", C == 5, "", None),  # row 2147483647 alone
    (66, "fffffffa", C == 5, "", None),  # row 5 of 5
    (74, "3a310000", C == 2, "cookie", 74),
    (78, "ffffffff", C == 2, "container_count", 78),
    (78, "02000000", C == 2, "", None),
    (82, "0100", C == 2, "key", 82),  # rows 65,537 and 65,539
    (84, "ff00", C == 2, "", None),  # 256 values
    (86, "11000000", C == 2, "offset", 86),
    (92, "0500", C == 2, "", None),  # row 5 of 5
    (92, "0100", C == 2, "", None),  # row 1 twice
]


def test_an_index_of_another_data_file_is_refused():
    with pytest.raises(fidx.CorruptError, match=r"row_count at \d+: expected 7, the data file's, found 5"):
        rows(opened("bitmap", "INT", V2), C == 2, 7)


@pytest.mark.parametrize("at, new, predicate, field, offset", V2_DAMAGE, ids=lambda value: str(value)[:30])
def test_v2_refuses(at, new, predicate, field, offset, tmp_path):
    error, error_at = refusal("bitmap", "INT", patched(V2, at, new), predicate, ROW_COUNT, tmp_path)
    assert field in error.where
    assert error_at >= 0 if offset is None else error_at == offset


V1_DAMAGE = [
    (0, "00", C == 2, "version", 0),
    (5, "ffffffff", C == 2, "entry_count", 5),
    (5, "00000100", C == 2, "entry_count", 5),
    (9, "ff", C == 2, "has_null", 9),
    (10, "00000064", C.is_null(), "entry", None),
    (26, "00000014", C == 2, "", None),
    (26, "7fffffff", C == 2, "", None),
    (34, "80000000", C == 5, "", None),
    (38, "00000000", C == 2, "cookie", 38),
    (56, "0500", C == 2, "", None),
]


@pytest.mark.parametrize("at, new, predicate, field, offset", V1_DAMAGE, ids=lambda value: str(value)[:30])
def test_v1_refuses(at, new, predicate, field, offset, tmp_path):
    error, error_at = refusal("bitmap", "INT", patched(V1, at, new), predicate, ROW_COUNT, tmp_path)
    assert field in error.where
    assert error_at >= 0 if offset is None else error_at == offset


@pytest.mark.parametrize("body", BODIES)
def test_every_truncation_is_refused(body):
    for length in range(len(body)):
        with pytest.raises(fidx.FileIndexError):
            rows(opened("bitmap", "INT", body[:length]), C == 2, ROW_COUNT)


def test_two_blocks():
    """A key is looked up in the block whose first key is the last one not above it."""
    body = octets("""
        02 00000003 00000003 00   # 0   three rows, three values, no NULL
        00000002                  # 10  block_count
        0000000a 00000000         # 14  block[0] starts with 10, at 0
        0000001e 0000001c         # 22  block[1] starts with 30, at 28
        0000002c                  # 30  blocks_len: 28 + 16 bytes of blocks
        00000002                  # 34  block[0]
        0000000a ffffffff ffffffff  #     10: row 0
        00000014 fffffffe ffffffff  #     20: row 1
        00000001                  # 62  block[1]
        0000001e fffffffd ffffffff  #     30: row 2
    """)
    reader = opened("bitmap", "INT", body)
    for value, want in {9: [], 10: [0], 15: [], 20: [1], 29: [], 30: [2], 31: []}.items():
        assert rows(reader, C == value, 3) == want
    assert rows(reader, C > 10, 3) == [1, 2]
    assert rows(reader, C < 30, 3) == [0, 1]
    assert rows(reader, C.between(15, 35), 3) == [1, 2]


def test_strings():
    body = octets("""
        02 00000003 00000002 00   # 0   three rows, two values, no NULL
        00000001                  # 10  block_count
        00000000 00000000         # 14  the first key is the empty string
        0000001b                  # 22  blocks_len: 27 bytes of blocks
        00000002                  # 26  entry_count
        00000000 ffffffff ffffffff          # 30  "": row 0
        00000003 e282ac 00000000 00000014   # 42  "€": the bitmap at 0, 20 bytes
        3a300000 01000000 0000 0100 10000000 0100 0200   # rows 1 and 2
    """)
    reader = opened("bitmap", "STRING", patched(body, 22, "0000001f"))
    assert rows(reader, C == "", 3) == [0]
    assert rows(reader, C == "€", 3) == [1, 2]
    assert rows(reader, C.starts_with("€"), 3) == [1, 2]
    assert rows(reader, C.like("_"), 3) == [1, 2]
    assert rows(reader, C.ends_with(""), 3) == [0, 1, 2]
    assert rows(reader, C.contains("€"), 3) == [1, 2]
    assert rows(reader, C < "a", 3) == [0]
