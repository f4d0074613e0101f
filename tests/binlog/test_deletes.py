"""Rows of delete logs: the forms that Milvus writes are read a column at a time, others row by row; both agree."""
from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paimon_fidx.binlog as bl
from paimon_fidx.binlog import events
from paimon_fidx.errors import CorruptError


def log(*texts, type=None):
    """A delete log of these texts."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"0": pa.array(texts, type or pa.string())}), sink)
    writer = events.Writer(1, 1, 2, 3, -1, 0, 0, 20, b'{"original_size":"1"}')
    writer.event(1, 2, 1, 1, sink.getvalue().to_pybytes())
    return bl.open_binlog(writer.finish())


LAST = 2**63 - 1


def test_forms():
    row = '{"pk":-5,"ts":7,"pkType":5}'
    for first in (row, '{"ts":7,"pk":-5,"pkType":5}', ' {"pk": -5, "ts": 7}', "-5,7", " -5 , 7 "):
        for second in (row, "-5,7"):
            assert log(first, second).to_arrow().to_pylist() == [{"pk": -5, "ts": 7}] * 2
    assert log(f"{-LAST - 1},{LAST}", f"{LAST},0").to_arrow().to_pylist() == [
        {"pk": -LAST - 1, "ts": LAST}, {"pk": LAST, "ts": 0}]
    assert log(b'{"pk":1,"ts":2,"pkType":5}', type=pa.binary()).to_arrow().to_pylist() == [{"pk": 1, "ts": 2}]


@pytest.mark.parametrize("key", ["", "a", 'quote " and \\', "ü😀", "a\nb", "x,y", "<&>", "\u2028", "1,2"])
def test_text_keys(key):
    for ascii in (True, False):
        text = json.dumps({"pk": key, "ts": 9, "pkType": 21}, separators=(",", ":"), ensure_ascii=ascii)
        plain = '{"pk":"a","ts":9,"pkType":21}'
        assert log(text, plain).to_arrow().to_pylist() == [{"pk": key, "ts": 9}, {"pk": "a", "ts": 9}]
        assert log(plain, text).to_arrow().column("pk").to_pylist() == ["a", key]


@pytest.mark.parametrize("text, found", [
    ("", "row[1]"), ("5", "row[1]"), ("5,", "row[1]"), ("[]", "JSON object"), ("null", "JSON object"),
    ('{"pk":1,"pkType":5}', "row[1].ts"), ('{"pk":1,"ts":-1,"pkType":5}', "row[1].ts"),
    ('{"pk":1,"ts":9223372036854775808,"pkType":5}', "row[1].ts"), ('{"pk":1,"ts":1.0,"pkType":5}', "row[1].ts"),
    ('{"pk":9223372036854775808,"ts":1,"pkType":5}', "row[1].pk"), ('{"pk":true,"ts":1,"pkType":5}', "row[1].pk"),
    ('{"pk":"a","ts":1,"pkType":5}', "row[1].pk"), ('{"pk":1,"ts":1,"pkType":21}', "row[1].pk"),
    ('{"pk":1,"ts":1,"pkType":6}', "row[1].pk"), ('{"pk":"\\ud800","ts":1,"pkType":21}', "row[1].pk"),
    ('{"pk":"a","ts":1,"pkType":21}', "keys of one type"), ('{"pk":1e3,"ts":1,"pkType":5}', "row[1].pk"),
    ("[" * 100_000, "nested too deeply"), (None, "null"),
])
def test_refused(text, found):
    with pytest.raises(CorruptError) as caught:
        log('{"pk":1,"ts":2,"pkType":5}', text).to_arrow()
    assert found in str(caught.value)


def test_a_column_of_another_type():
    with pytest.raises(CorruptError, match="one column of text, or pk and ts"):
        log(1, 2, type=pa.int64()).to_arrow()


def test_batches_with_keys_of_two_types():
    """The first batch tells the type; a later one may not change it."""
    texts = ['{"pk":1,"ts":2,"pkType":5}'] * 3 + ['{"pk":"a","ts":2,"pkType":21}'] * 3
    with pytest.raises(CorruptError, match="keys of one type"):
        list(log(*texts).to_batches(3))
