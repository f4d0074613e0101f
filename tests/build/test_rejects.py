"""Types and options Java accepts or refuses are accepted or refused here, and the message says which."""
from __future__ import annotations

import re

import pyarrow as pa
import pytest

from paimon_fidx.build import IndexWriter, build_index
from paimon_fidx.errors import UnsupportedError
from tests.build.arrow import column, fits
from tests.golden import data

ATTEMPTS = [(i, each) for i, each in enumerate(data.rejects()) if fits(each["type"], each.get("values", []))]


def name(each):
    return "-".join([each["index"], each["type"], *(f"{k}={v}" for k, v in each["options"].items())])


@pytest.mark.parametrize("each", [each for _, each in ATTEMPTS], ids=[f"{i}-{name(each)}" for i, each in ATTEMPTS])
def test_as_java(each):
    kind, type, options = each["index"], each["type"], each["options"]
    options = {f"file-index.{kind}.columns": "c"} | {f"file-index.{kind}.c.{k}": v for k, v in options.items()}
    if each.get("values") is None:
        with pytest.raises(ValueError, match=kind):
            IndexWriter({"c": type}, options)
        return
    table = pa.table({"c": column(type, each["values"])})
    if not each["accepted"]:
        with pytest.raises(ValueError) as refused:
            build_index(table, options, {"c": type})
        assert re.search(f"{kind}|'c'", str(refused.value))
        return
    built = build_index(table, options, {"c": type})
    head = len(data.wrap("c", kind, b""))
    assert len(built) == head + each["index_length"]
    if "index_hex" in each and kind != "bitmap":
        assert built[head:].hex() == each["index_hex"]


SCHEMA = {"a": "INT", "m": "MAP<STRING, INT>", "s": "STRING", "n": "MAP<INT, INT>"}


def refusal(options, error=ValueError):
    with pytest.raises(error) as refused:
        IndexWriter(SCHEMA, options)
    return str(refused.value)


def test_no_index_at_all():
    assert "file-index.<kind>.columns" in refusal({"bucket": "-1"})


def test_unknown_kind():
    assert "'bloom'" in refusal({"file-index.bloom.columns": "a"})


def test_unknown_option():
    text = refusal({"file-index.bitmap.columns": "a", "file-index.bitmap.a.items": "5"})
    assert "file-index.bitmap.a.items" in text and "index-block-size" in text


def test_unknown_option_of_all_indexes():
    assert "file-index.threshold" in refusal({"file-index.bsi.columns": "a", "file-index.threshold": "1"})


def test_option_of_a_column_that_is_not_indexed():
    assert "'b'" in refusal({"file-index.bitmap.columns": "a", "file-index.bitmap.b.version": "1"})


def test_option_of_another_kind():
    assert "'a'" in refusal({"file-index.bitmap.columns": "a", "file-index.bloom-filter.a.items": "1"})


def test_missing_column():
    text = refusal({"file-index.bsi.columns": "a,b"})
    assert "file-index.bsi.columns" in text and "'b'" in text


@pytest.mark.parametrize("names", ["", " ", "a,,s", ",a"])
def test_empty_column_name(names):
    assert "empty column" in refusal({"file-index.bitmap.columns": names})


def test_nothing_behind_the_last_comma():
    assert IndexWriter({"a": "INT"}, {"file-index.bsi.columns": " a ,"}).options.plans[0].name == "a"


def test_refused_type():
    text = refusal({"file-index.bsi.columns": "s"}, error=UnsupportedError)
    assert "file-index.bsi.columns" in text and "'s'" in text and "STRING" in text


def test_map_without_key():
    assert "MAP" in refusal({"file-index.bitmap.columns": "m"}, error=UnsupportedError)


def test_key_of_a_column_that_is_no_map():
    assert "'a'" in refusal({"file-index.bitmap.columns": "a[x]"}, error=UnsupportedError)


def test_map_whose_keys_are_no_strings():
    assert "strings" in refusal({"file-index.bitmap.columns": "n[1]"}, error=UnsupportedError)


def test_bracket_without_end_is_a_plain_name():
    assert IndexWriter({"k[": "INT"}, {"file-index.bsi.columns": "k["}).options.plans[0].map_key is None


def test_filter_of_no_bits():
    text = refusal({"file-index.bloom-filter.columns": "a", "file-index.bloom-filter.a.fpp": "0"})
    assert "fpp" in text and "bloom-filter.a" in text


def test_column_missing_from_a_batch():
    writer = IndexWriter({"a": "INT"}, {"file-index.bsi.columns": "a"})
    with pytest.raises(ValueError, match="'a'"):
        writer.write(pa.table({"b": pa.array([1], pa.int32())}))


@pytest.mark.parametrize("values", [pa.array(["1"]), pa.array([1.5]), pa.array([True]), pa.array([[1]])], ids=str)
def test_arrow_type_that_is_another(values):
    with pytest.raises(UnsupportedError, match="'a'.*integer"):
        build_index(pa.table({"a": values}), {"file-index.bsi.columns": "a"}, {"a": "INT"})


def test_value_that_does_not_fit():
    with pytest.raises(ValueError, match="'a'.*300"):
        build_index(pa.table({"a": pa.array([300, 1])}), {"file-index.bsi.columns": "a"}, {"a": "TINYINT"})


@pytest.mark.parametrize("batches", [5, "abc", b"abc", [1], {"a": [1]}, pa.array([1])], ids=str)
def test_no_batches(batches):
    with pytest.raises((TypeError, ValueError), match="Arrow"):
        build_index(batches, {"file-index.bsi.columns": "a"}, {"a": "INT"})


def test_finished_writer():
    writer = IndexWriter({"a": "INT"}, {"file-index.bsi.columns": "a"})
    writer.finish()
    with pytest.raises(ValueError, match="finished"):
        writer.write(pa.table({"a": pa.array([1], pa.int32())}))
    with pytest.raises(ValueError, match="finished"):
        writer.finish()
