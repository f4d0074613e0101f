"""The range bitmap's layout, rule by rule, on the columns [1, 2, NULL, 2, 5] of INT and ["b", "", NULL, "b"] of STRING."""
from __future__ import annotations

import pytest

import paimon_fidx as fidx

from .octets import octets, patched
from .segment import C, opened, refusal, rows

ROW_COUNT = 5
BODY = octets("""
    00000015              # 0   header_len: 21
    01                    # 4   version
    00000005              # 5   row_count
    00000003              # 9   cardinality
    00000001 00000005     # 13  min 1, max 5
    00000036              # 21  dictionary_len: 54
    0000000d              # 25  dictionary.header_len: 13
    01                    # 29  dictionary.version
    00000001              # 30  chunk_count
    00000004              # 34  offsets_len
    00000019              # 38  chunks_len: 25
    00000000              # 42  offset of chunk 0
    01                    # 46  chunk.version
    00000001              # 47  its first key: 1
    00000000              # 51  the code of this key
    00000000              # 55  where its other keys start
    00000002              # 59  key_count: two more
    00000008              # 63  keys_len
    00000004              # 67  key_len
    00000002 00000005     # 71  keys 2 and 5
    0000001a              # 79  bsi.header_len: 26
    01                    # 83  bsi.version
    02                    # 84  slice_count
    00000018              # 85  ebm_len: 24
    00000010              # 89  indexes_len
    00000000 00000014     # 93  slice 0: at 0, 20 bytes
    00000014 00000012     # 101 slice 1: at 20, 18 bytes
    3a300000 01000000 0000 0300 10000000 0000 0100 0300 0400   # 109 ebm: rows 0, 1, 3, 4
    3a300000 01000000 0000 0100 10000000 0100 0300             # 133 codes with bit 0: rows 1 and 3
    3a300000 01000000 0000 0000 10000000 0400                  # 153 codes with bit 1: row 4
""")
TEXT = octets("""
    00000016 01 00000004 00000002   # 0   22 bytes; version; 4 rows; 2 values
    00000000 00000001 62            # 13  min "", max "b"
    00000037                        # 22  dictionary_len: 55
    0000000d 01 00000001 00000004 00000019   # 26  one chunk of 25 bytes
    00000000                        # 43  its offset
    01 00000000 00000000            # 47  version, first key "", its code
    00000000 00000001               # 56  keys at 0, one more key
    00000004 00000005               # 64  offsets_len, keys_len
    00000000                        # 72  offset of the key
    00000001 62                     # 76  "b"
    00000012 01 01 00000016 00000008   # 81  bsi: one slice, ebm of 22 bytes
    00000000 00000014               # 95  the slice: at 0, 20 bytes
    3a300000 01000000 0000 0200 10000000 0000 0100 0300   # 103 ebm: rows 0, 1, 3
    3a300000 01000000 0000 0100 10000000 0000 0300        # 125 code 1: rows 0 and 3
""")


def test_the_literals_are_whole():
    assert (len(BODY), len(TEXT)) == (171, 145)


@pytest.mark.parametrize("predicate, want", [
    (C == 1, [0]), (C == 2, [1, 3]), (C == 5, [4]), (C == 3, []), (C == 0, []), (C == 6, []),
    (C != 2, [0, 4]), (C != 3, [0, 1, 3, 4]),
    (C < 1, []), (C < 2, [0]), (C <= 4, [0, 1, 3]), (C < 6, [0, 1, 3, 4]), (C > 5, []), (C > 1, [1, 3, 4]), (C >= 3, [4]),
    (C.between(2, 4), [1, 3]), (C.not_between(2, 4), [0, 4]), (C.between(5, 1), []),
    (C.is_in([5, 1, 9]), [0, 4]), (C.not_in([5, 1, 9]), [1, 3]),
    (C.is_null(), [2]), (C.is_not_null(), [0, 1, 3, 4]),
], ids=repr)
def test_answers(predicate, want):
    assert rows(opened("range-bitmap", "INT", BODY), predicate, ROW_COUNT) == want


@pytest.mark.parametrize("predicate, want", [
    (C == "", [1]), (C == "b", [0, 3]), (C == "a", []), (C < "b", [1]), (C >= "a", [0, 3]), (C.is_null(), [2]),
    (C.starts_with("b"), [0, 3]), (C.starts_with(""), [0, 1, 3]), (C.ends_with("b"), [0, 3]), (C.contains("a"), []),
    (C.like("_"), [0, 3]), (C.like("%"), [0, 1, 3]), (C != "b", [1]),
], ids=repr)
def test_answers_on_strings(predicate, want):
    assert rows(opened("range-bitmap", "STRING", TEXT), predicate, 4) == want


@pytest.mark.parametrize("k, options, want", [
    (1, {}, {4}), (2, {}, None), (3, {}, {1, 3, 4}), (2, {"ties": True}, {1, 3, 4}), (9, {}, {0, 1, 2, 3, 4}), (0, {}, set()),
    (1, {"descending": False}, {0}), (1, {"nulls_first": True}, {2}), (2, {"descending": False, "nulls_first": True}, {0, 2}),
])
def test_top_n(k, options, want):
    result = opened("range-bitmap", "INT", BODY).top_n("c", k, **{"descending": True} | options)
    assert result.exact
    found = set(result.rows) if result.rows is not None else set()
    assert found in ([{1, 4}, {3, 4}] if want is None else [want])


DAMAGE = [
    (0, "ffffffff", C == 2, "header_len", 0),
    (0, "00000014", C == 2, "", None),
    (0, "7fffffff", C == 2, "header_len", 0),
    (4, "02", C == 2, "version", 4),
    (5, "ffffffff", C == 2, "row_count", 5),
    (9, "ffffffff", C == 2, "cardinality", 9),
    (9, "00000006", C.is_null(), "cardinality", 9),  # six values in five rows
    (21, "ffffffff", C == 2, "dictionary", 21),
    (21, "00000037", C == 2, "", None),
    (25, "0000000e", C == 2, "", None),
    (29, "02", C == 2, "version", 29),
    (30, "ffffffff", C == 2, "chunk_count", 30),
    (30, "00000002", C == 2, "", None),
    (34, "00000008", C == 2, "", None),
    (38, "ffffffff", C == 2, "", None),
    (42, "00000001", C == 2, "", None),
    (46, "02", C == 2, "version", 46),
    (51, "00000001", C == 2, "", None),  # the first code is not 0
    (55, "00000001", C == 2, "", None),
    (59, "00000003", C == 2, "", None),
    (63, "00000009", C == 2, "", None),
    (67, "00000008", C == 2, "", None),
    (79, "0000001b", C == 2, "", None),
    (83, "02", C == 2, "version", 83),
    (84, "ff", C == 2, "slice_count", 84),
    (84, "03", C == 2, "", None),
    (85, "ffffffff", C == 2, "", None),
    (93, "00000001", C == 2, "", None),
    (101, "7fffffff", C == 2, "", None),
    (105, "ffffffff", C == 2, "", None),
    (109, "00000000", C == 2, "cookie", 109),
    (117, "0100", C == 2, "key", 117),
    (131, "0500", C.is_not_null(), "", None),  # row 5 of 5
    (133, "00000000", C == 2, "cookie", 133),
]


def test_an_index_of_another_data_file_is_refused():
    with pytest.raises(fidx.CorruptError, match=r"row_count at \d+: expected 7, the data file's, found 5"):
        rows(opened("range-bitmap", "INT", BODY), C == 2, 7)


@pytest.mark.parametrize("at, new, predicate, field, offset", DAMAGE, ids=lambda value: str(value)[:30])
def test_refuses(at, new, predicate, field, offset, tmp_path):
    error, error_at = refusal("range-bitmap", "INT", patched(BODY, at, new), predicate, ROW_COUNT, tmp_path)
    assert field in error.where
    assert 0 <= error_at <= len(BODY) if offset is None else error_at == offset


@pytest.mark.parametrize("body, type, row_count", [(BODY, "INT", 5), (TEXT, "STRING", 4)])
def test_every_truncation_is_refused(body, type, row_count):
    value = 2 if type == "INT" else "b"
    for length in range(len(body)):
        with pytest.raises(fidx.FileIndexError):
            rows(opened("range-bitmap", type, body[:length]), C >= value, row_count)
