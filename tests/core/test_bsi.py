"""The BSI's layout, rule by rule, on the column [1, -2, NULL, 2, 5] of INT."""
from __future__ import annotations

import pytest

import paimon_fidx as fidx

from .octets import octets, patched
from .segment import C, opened, refusal, rows

VALUES = [1, -2, None, 2, 5]
ROW_COUNT = len(VALUES)
BODY = octets("""
    01                    # 0   version
    00000005              # 1   row_count
    01                    # 5   has_positive
    01                    # 6   positive.version
    0000000000000000      # 7   min 0
    0000000000000005      # 15  max 5
    3a300000 01000000 0000 0200 10000000 0000 0300 0400   # 23  ebm: rows 0, 3, 4
    00000003              # 45  slice_count
    3a300000 01000000 0000 0100 10000000 0000 0400        # 49  bit 0: rows 0 and 4
    3a300000 01000000 0000 0000 10000000 0300             # 69  bit 1: row 3
    3a300000 01000000 0000 0000 10000000 0400             # 87  bit 2: row 4
    01                    # 105 has_negative
    01                    # 106 negative.version
    0000000000000000      # 107 min 0
    0000000000000002      # 115 max 2
    3a300000 01000000 0000 0000 10000000 0100             # 123 ebm: row 1
    00000002              # 141 slice_count
    3a300000 00000000                                     # 145 bit 0: no row
    3a300000 01000000 0000 0000 10000000 0100             # 153 bit 1: row 1
""")


def test_the_literal_is_whole():
    assert len(BODY) == 171


@pytest.mark.parametrize("predicate, want", [
    (C == 1, [0]), (C == -2, [1]), (C == 2, [3]), (C == 0, []), (C == 4, []), (C == 8, []), (C == -1, []), (C == -4, []),
    (C != 2, [0, 1, 4]), (C != 0, [0, 1, 3, 4]),
    (C < 1, [1]), (C < 0, [1]), (C < -2, []), (C <= -2, [1]), (C <= 2, [0, 1, 3]), (C > 2, [4]), (C > -2, [0, 3, 4]),
    (C >= -2, [0, 1, 3, 4]), (C > 5, []), (C >= 5, [4]), (C < 100, [0, 1, 3, 4]), (C > -100, [0, 1, 3, 4]),
    (C < 2**70, [0, 1, 3, 4]), (C > 2**70, []), (C >= -(2**31), [0, 1, 3, 4]),
    (C.between(-2, 2), [0, 1, 3]), (C.between(-5, -1), [1]), (C.between(1, 2), [0, 3]), (C.between(3, 1), []),
    (C.not_between(-1, 2), [1, 4]), (C.is_in([-2, 5, 7]), [1, 4]), (C.not_in([-2, 5, 7]), [0, 3]),
    (C.is_null(), [2]), (C.is_not_null(), [0, 1, 3, 4]),
], ids=repr)
def test_answers(predicate, want):
    assert rows(opened("bsi", "INT", BODY), predicate, ROW_COUNT) == want


def test_no_values_at_all():
    reader = opened("bsi", "INT", octets("01 00000005 00 00"))
    assert rows(reader, C.is_null(), 5) == [0, 1, 2, 3, 4]
    assert rows(reader, C < 3, 5) == []
    assert rows(reader, C != 3, 5) == []


DAMAGE = [
    (0, "00", C == 2, "version", 0),
    (0, "02", C == 2, "version", 0),
    (1, "ffffffff", C == 2, "row_count", 1),
    (5, "02", C == 2, "has_positive", 5),
    (6, "02", C == 2, "version", 6),
    (7, "ffffffffffffffff", C == 2, "min", 7),
    (15, "ffffffffffffffff", C == 2, "min", 7),
    (23, "00000000", C == 2, "cookie", 23),
    (27, "02000000", C == 2, "", None),
    (31, "0100", C == 2, "key", 31),
    (35, "00000000", C == 2, "offset", 35),
    (43, "0500", C.is_not_null(), "", None),  # row 5 of 5
    (45, "ffffffff", C == 2, "slice_count", 45),
    (45, "00000041", C == 2, "slice_count", 45),  # 65 bits
    (45, "00000002", C == 2, "", None),  # the third slice stands where has_negative should
    (49, "ffffffff", C == 2, "cookie", 49),
    (105, "07", C == 2, "has_negative", 105),
    (145, "00000000", C == -2, "cookie", 145),
]


def test_an_index_of_another_data_file_is_refused():
    with pytest.raises(fidx.CorruptError, match=r"row_count at \d+: expected 7, the data file's, found 5"):
        rows(opened("bsi", "INT", BODY), C == 2, 7)


@pytest.mark.parametrize("at, new, predicate, field, offset", DAMAGE, ids=lambda value: str(value)[:30])
def test_refuses(at, new, predicate, field, offset, tmp_path):
    error, error_at = refusal("bsi", "INT", patched(BODY, at, new), predicate, ROW_COUNT, tmp_path)
    assert field in error.where
    assert 0 <= error_at <= len(BODY) if offset is None else error_at == offset


def test_bytes_after_the_last_slice_are_refused(tmp_path):
    error, error_at = refusal("bsi", "INT", BODY + b"\0", C == 2, ROW_COUNT, tmp_path)
    assert error_at == len(BODY)


def test_every_truncation_is_refused():
    for length in range(len(BODY)):
        with pytest.raises(fidx.FileIndexError):
            rows(opened("bsi", "INT", BODY[:length]), C >= 2, ROW_COUNT)


def test_a_slice_bit_outside_the_existence_bitmap_never_selects():
    """Slices are only combined under ebm: row 2 in slice 0 stays NULL (or is refused)."""
    damaged = patched(BODY, 65, "0200")  # bit 0: rows 2 and 4 instead of 0 and 4
    try:
        assert 2 not in rows(opened("bsi", "INT", damaged), C >= 0, ROW_COUNT)
    except fidx.FileIndexError:
        pass
