"""Every Arrow layout of the same values gives the same bytes."""
from __future__ import annotations

import datetime as dt
import decimal
import random

import pyarrow as pa
import pytest

from paimon_fidx.build import IndexWriter, build_index

RNG = random.Random(7)
ROWS = 300
SAMPLE = ("", "a", "bb", "a string of more than twelve bytes", "é", "a\0")
WORDS = [None if RNG.random() < 0.2 else RNG.choice(SAMPLE) + str(i % 9) for i in range(ROWS)]
NUMBERS = [None if RNG.random() < 0.2 else RNG.randint(-100, 100) for _ in range(ROWS)]


def build(array, type, kind=None):
    kinds = [kind] if kind else ["bitmap", "range-bitmap"]
    options = {f"file-index.{each}.columns": "c" for each in kinds}
    data = array if hasattr(array, "schema") or isinstance(array, list) else pa.table({"c": array})
    return build_index(data, options, {"c": type})


def views(array):
    """The rows as part of something larger, at offsets that are no multiple of 8, and in pieces."""
    padded = pa.concat_arrays([array[:13], array, array[:5]])
    yield "sliced", padded[13 : 13 + len(array)]
    yield "chunked", pa.chunked_array([array[:1], array[1:1], array[1:77], array[77:]])
    yield "sliced chunks", pa.chunked_array([padded[13:100], padded[100 : 13 + len(array)]])
    yield "dictionary", array.dictionary_encode()
    yield "sliced dictionary", padded.dictionary_encode()[13 : 13 + len(array)]
    yield "two dictionaries", [pa.table({"c": part.dictionary_encode()}) for part in (array[:50], array[50:])]
    yield "run-end encoded", pa.compute.run_end_encode(array)
    yield "sliced runs", pa.compute.run_end_encode(padded)[13 : 13 + len(array)]


@pytest.mark.parametrize("type", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_strings(type):
    expected = build(pa.array(WORDS), "STRING")
    array = pa.array(WORDS, pa.string()).cast(type) if type != pa.string_view() else pa.array(WORDS, type)
    assert build(array, "STRING") == expected
    layouts = views(pa.array(WORDS, pa.large_string())) if type == pa.large_string() else views(pa.array(WORDS))
    if type == pa.string_view():
        layouts = [("sliced", pa.array([None, "x"] + WORDS, type)[2:]),
                   ("chunked", pa.chunked_array([pa.array(WORDS[:9], type), pa.array(WORDS[9:], type)]))]
    for name, each in layouts:
        assert build(each, "STRING") == expected, name


@pytest.mark.parametrize("sql, type", [
    ("TINYINT", pa.int8()), ("SMALLINT", pa.int16()), ("INT", pa.int32()), ("BIGINT", pa.int64()), ("FLOAT", pa.float32()),
    ("DOUBLE", pa.float64())])
def test_numbers(sql, type):
    array = pa.array(NUMBERS, type)
    expected = build(array, sql)
    for name, each in views(array):
        assert build(each, sql) == expected, name


@pytest.mark.parametrize("sql", ["TINYINT", "SMALLINT", "INT", "BIGINT"])
@pytest.mark.parametrize("type", [
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()], ids=str)
def test_integers_of_any_width(sql, type):
    values = [None if v is None else abs(v) for v in NUMBERS]
    assert build(pa.array(values, type), sql) == build(pa.array(values, pa.int64()), sql)


def test_booleans():
    values = [None if v is None else v > 0 for v in NUMBERS]
    expected = build(pa.array(values), "BOOLEAN")
    for name, each in views(pa.array(values)):
        assert build(each, "BOOLEAN") == expected, name


@pytest.mark.parametrize("type", [pa.decimal128(9, 2), pa.decimal128(38, 2), pa.decimal256(60, 2)], ids=str)
def test_decimals(type):
    values = [None if v is None else decimal.Decimal(v) / 4 for v in NUMBERS]
    expected = build(pa.array(values, pa.decimal128(9, 2)), "DECIMAL(9, 2)", "range-bitmap")
    for name, each in [("whole", pa.array(values, type)), *views(pa.array(values, type))]:
        assert build(each, "DECIMAL(9, 2)", "range-bitmap") == expected, name


def test_decimal_beyond_64_bits_names_the_column():
    array = pa.array([decimal.Decimal(2**63)], pa.decimal128(38, 0))
    with pytest.raises(ValueError, match="'c'.*64 bits"):
        build(array, "DECIMAL(38, 0)", "bsi")


def test_decimal_of_another_scale_is_refused():
    with pytest.raises(ValueError, match="'c'.*scale 2"):
        build(pa.array([decimal.Decimal("1.234")]), "DECIMAL(9, 2)", "bsi")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_timestamps(unit, zone):
    """Whole seconds in every unit are one instant; times before 1970 among them."""
    values = [None if v is None else v * 1_000_003 for v in NUMBERS]
    steps = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    array = pa.array([None if v is None else v * steps for v in values], pa.int64()).cast(pa.timestamp(unit, tz=zone))
    for precision, kept in ((3, 10**3), (6, 10**6)):
        sql = f"TIMESTAMP({precision})" + (" WITH LOCAL TIME ZONE" if zone else "")
        plain = build(pa.array([None if v is None else v * kept for v in values], pa.int64()), "BIGINT")
        assert build(array, sql) == plain
        for name, each in views(array):
            assert build(each, sql) == plain, name


def test_digits_below_the_unit_are_floored():
    nanos = pa.array([-1, 0, 999, 1000, -1001], pa.int64()).cast(pa.timestamp("ns"))
    assert build(nanos, "TIMESTAMP(9)", "bsi") == build(pa.array([-1, 0, 0, 1, -2]), "BIGINT", "bsi")
    assert build(nanos, "TIMESTAMP(3)", "bsi") == build(pa.array([-1, 0, 0, 0, -1]), "BIGINT", "bsi")


def test_timestamp_too_large_for_its_unit():
    with pytest.raises(ValueError, match="'c'"):
        build(pa.array([2**62], pa.int64()).cast(pa.timestamp("s")), "TIMESTAMP(6)", "bsi")


def test_dates_and_times():
    days = [None if v is None else dt.date(2020, 1, 1) + dt.timedelta(v) for v in NUMBERS]
    assert build(pa.array(days, pa.date64()), "DATE") == build(pa.array(days, pa.date32()), "DATE")
    times = [None if v is None else dt.time(12, abs(v) % 60, 1) for v in NUMBERS]
    millis = build(pa.array(times, pa.time32("ms")), "TIME(3)")
    for type in (pa.time32("s"), pa.time64("us"), pa.time64("ns")):
        assert build(pa.array(times, type), "TIME(3)") == millis


@pytest.mark.parametrize("type", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(3)], ids=str)
def test_binaries(type):
    values = [None if v is None else abs(v).to_bytes(3, "big") for v in NUMBERS]
    expected = build(pa.array(values, pa.binary()), "BYTES", "bloom-filter")
    assert build(pa.array(values, type), "BYTES", "bloom-filter") == expected


def test_null_column():
    assert build(pa.nulls(ROWS), "STRING") == build(pa.nulls(ROWS, pa.string()), "STRING")
    assert build(pa.nulls(ROWS), "BIGINT") == build(pa.nulls(ROWS, pa.int64()), "BIGINT")


def test_null_slots_may_hold_anything():
    numbers = pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\x05"), pa.array([7, -2**63, 9]).buffers()[1]])
    assert build(numbers, "BIGINT", "bsi") == build(pa.array([7, None, 9]), "BIGINT", "bsi")
    assert build(numbers, "TINYINT", "bsi") == build(pa.array([7, None, 9]), "TINYINT", "bsi")
    wide = pa.array([decimal.Decimal(7), decimal.Decimal(10**30), decimal.Decimal(9)], pa.decimal128(38, 0))
    hidden = pa.Array.from_buffers(wide.type, 3, [pa.py_buffer(b"\x05"), wide.buffers()[1]])
    assert build(hidden, "DECIMAL(9, 0)", "bsi") == build(pa.array([7, None, 9]), "BIGINT", "bsi")


def test_dictionary_with_unused_and_null_entries():
    entries = pa.array(["unused", "b", None, "unused too"])
    array = pa.DictionaryArray.from_arrays(pa.array([1, 2, None, 1], pa.int8()), entries)
    assert build(array, "STRING") == build(pa.array(["b", None, None, "b"]), "STRING")


def test_dictionary_with_repeated_entries():
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1]), pa.array(["a", "b", "a"]))
    assert build(array, "STRING") == build(pa.array(["a", "b", "a", "b"]), "STRING")


def test_broken_dictionary_index_is_an_error():
    array = pa.DictionaryArray.from_arrays(pa.array([0, 5], pa.int32()), pa.array(["a"]), safe=False)
    with pytest.raises(ValueError, match="'c'.*dictionary"):
        build(array, "STRING")


# --- MAP columns

KEYS = ("os", "", "a[b", "x" * 20)
MAPS = [None if RNG.random() < 0.1 else [(k, RNG.choice(WORDS[:20])) for k in KEYS if RNG.random() < 0.6]
        for _ in range(ROWS)]


def segments(data, kind):
    """What follows the start of the only entry: two files that differ in its name only agree in this."""
    return data[data.index(kind.encode()) + len(kind) + 8 :]


@pytest.mark.parametrize("wanted", ["os", "", "a[b", "x" * 20, "absent"])
@pytest.mark.parametrize("keys", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_map_keys(wanted, keys):
    plain = [None if m is None else dict(m).get(wanted) for m in MAPS]
    expected = build(pa.array(plain, pa.string()), "STRING", "bitmap")
    array = pa.array(MAPS, pa.map_(pa.string(), pa.string()))
    if keys != pa.string():
        array = pa.MapArray.from_arrays(array.offsets, array.keys.cast(keys), array.items,
                                        mask=array.is_null()) if hasattr(array, "offsets") else array
    for name, each in [("whole", array), ("sliced", pa.concat_arrays([array[:7], array])[7:]),
                       ("chunked", pa.chunked_array([array[:100], array[100:]]))]:
        options = {"file-index.bitmap.columns": f"m[{wanted}]"}
        data = build_index(pa.table({"m": each}), options, {"m": "MAP<STRING, STRING>"})
        assert segments(data, "bitmap") == segments(expected, "bitmap"), name


def test_map_of_numbers():
    array = pa.array([[("k", 300)], None, [], [("j", 1), ("k", -5)], [("k", None)]], pa.map_(pa.string(), pa.int64()))
    data = build_index(pa.table({"m": array}), {"file-index.bsi.columns": "m[k]"}, {"m": "MAP<STRING, SMALLINT>"})
    plain = build(pa.array([300, None, None, -5, None]), "SMALLINT", "bsi")
    assert segments(data, "bsi") == segments(plain, "bsi")


def test_the_first_of_repeated_map_keys_counts():
    array = pa.array([[("k", "a"), ("k", "b")]], pa.map_(pa.string(), pa.string()))
    data = build_index(pa.table({"m": array}), {"file-index.bitmap.columns": "m[k]"}, {"m": "MAP<STRING, STRING>"})
    assert segments(data, "bitmap") == segments(build(pa.array(["a"]), "STRING", "bitmap"), "bitmap")


def test_map_key_without_rows_is_an_empty_entry():
    """Java: a writer that was never called leaves start -1; a plain column always leaves a body."""
    schema = {"m": "MAP<STRING, INT>", "a": "INT"}
    table = pa.table({"m": pa.array([], pa.map_(pa.string(), pa.int32())), "a": pa.array([], pa.int32())})
    data = build_index(table, {"file-index.bsi.columns": "m[k],a"}, schema)
    assert data[data.index(b"bsi") + 3 :][:8] == b"\xff\xff\xff\xff\0\0\0\0"
    assert data.endswith(b"\x01\0\0\0\0\0\0")


# --- batches

def test_batches_of_any_kind():
    table = pa.table({"a": pa.array(range(100), pa.int32()), "c": pa.array(NUMBERS[:100], pa.int64())})
    expected = build(table, "BIGINT")
    for batches in (table.to_batches(max_chunksize=7), iter(table.to_batches(max_chunksize=7)),
                    table.to_reader(max_chunksize=30), [table.slice(0, 40), table.slice(40)], table.to_batches()[0]):
        assert build_index(batches, {"file-index.bitmap.columns": "c", "file-index.range-bitmap.columns": "c"},
                           {"c": "BIGINT"}) == expected


def test_batch_whose_struct_is_sliced():
    table = pa.table({"c": pa.array(NUMBERS, pa.int64())})
    struct = table.to_struct_array().combine_chunks()
    assert build_index([Struct(struct[10:90])], {"file-index.bsi.columns": "c"}, {"c": "BIGINT"}) == build(
        pa.array(NUMBERS[10:90], pa.int64()), "BIGINT", "bsi")


class Struct:
    """Only __arrow_c_array__, of a sliced struct array."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__(requested_schema)


def test_columns_in_another_order():
    writer = IndexWriter({"c": "INT"}, {"file-index.bsi.columns": "c"})
    writer.write(pa.table({"c": pa.array([1], pa.int32()), "d": pa.array(["x"])}))
    writer.write(pa.table({"d": pa.array(["x"]), "c": pa.array([2], pa.int16())}))
    assert writer.finish() == build(pa.array([1, 2]), "INT", "bsi")


def test_rows_that_are_null_as_a_whole():
    struct = pa.StructArray.from_arrays([pa.array([1, 2])], ["c"], mask=pa.array([False, True]))
    with pytest.raises(ValueError, match="NULL rows"):
        build_index([Struct(struct)], {"file-index.bsi.columns": "c"})


def test_producer_that_fails():
    def batches():
        yield pa.record_batch({"c": [1]})
        raise OSError("disk gone")
    reader = pa.RecordBatchReader.from_batches(pa.schema({"c": pa.int64()}), batches())
    with pytest.raises(ValueError, match="disk gone"):
        build_index(reader, {"file-index.bsi.columns": "c"})


def test_no_batch_but_a_stream():
    table = pa.schema({"c": pa.int32()}).empty_table()
    expected = build(pa.array([], pa.int32()), "INT", "bsi")
    assert build_index(table.to_reader(), {"file-index.bsi.columns": "c"}) == expected


@pytest.mark.parametrize("type, sql", [
    (pa.int32(), "INT"), (pa.uint16(), "INT"), (pa.date32(), "DATE"), (pa.time64("us"), "TIME(6)"),
    (pa.timestamp("ms"), "TIMESTAMP(3)"),
    (pa.timestamp("us", "UTC"), "TIMESTAMP(6) WITH LOCAL TIME ZONE"), (pa.decimal128(9, 2), "DECIMAL(9, 2)"),
    (pa.dictionary(pa.int32(), pa.int64()), "BIGINT")], ids=str)
def test_types_from_arrow(type, sql):
    values = [None, dt.datetime(2020, 1, 1)] if pa.types.is_timestamp(type) else [None]
    array = pa.array(values, type)
    options = {"file-index.bsi.columns": "c"}
    assert build_index(pa.table({"c": array}), options) == build_index(pa.table({"c": array}), options, {"c": sql})


def test_arrow_type_without_a_paimon_type():
    with pytest.raises(ValueError, match="'c'.*Arrow type"):
        build_index(pa.table({"c": pa.array([dt.timedelta(1)])}), {"file-index.bsi.columns": "c"})


def test_unaligned_values():
    buffer = pa.py_buffer(b"\0" + b"".join(i.to_bytes(4, "little") for i in range(50)))
    array = pa.Array.from_buffers(pa.int32(), 50, [None, buffer.slice(1)])
    assert build(array, "INT") == build(pa.array(range(50), pa.int32()), "INT")


def test_input_is_freed_and_unused_columns_at_once():
    before = pa.total_allocated_bytes()
    writer = IndexWriter({"c": "INT"}, {"file-index.bsi.columns": "c"})
    writer.write(pa.table({"c": pa.array(range(1000), pa.int32()), "big": pa.array(["x" * 1000] * 1000)}))
    assert pa.total_allocated_bytes() - before < 100_000
    writer.finish()
    assert pa.total_allocated_bytes() == before
