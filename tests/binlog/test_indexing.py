"""File indexes over binlogs: scans with ``where`` give the same rows with and without them, reading less."""
from __future__ import annotations

import random

import pyarrow as pa
import pytest

import paimon_fidx as fidx
import paimon_fidx.binlog as bl
from paimon_fidx.errors import CorruptError, FileIndexError
from tests.binlog.test_segment import Bucket

FIELDS = {0: "Int64", 1: "Int64", 100: "Int64", 101: "VarChar", 102: "Int8", 103: "Double", 104: "Bool",
          105: "FloatVector"}
NAMES = {100: "id", 101: "city", 102: "grade", 103: "price", 104: "new"}
CITIES = ["Aachen", "Bonn", "Cuxhaven", "Dresden"]


def rows_of(seed, count=200):
    chance = random.Random(seed)
    return [{
        100: seed * 1000 + i, 101: chance.choice([None, *CITIES]), 102: chance.choice([None, -3, 0, 7]),
        103: chance.choice([None, -0.0, 1.5, float("nan"), chance.random() * 100]), 104: chance.random() < 0.5,
        105: [i, 0.5], 0: i, 1: (seed * 1000 + i) << 18,
    } for i in range(count)]


TYPES = {"Int64": pa.int64(), "VarChar": pa.string(), "Int8": pa.int8(), "Double": pa.float64(), "Bool": pa.bool_(),
         "FloatVector": pa.list_(pa.float32(), 2)}


@pytest.fixture
def segment(tmp_path):
    """Three chunks with keys 0.., 1000.., 2000.., and a few deletes."""
    bucket = Bucket(tmp_path)
    for seed in range(3):
        rows = rows_of(seed)
        for field_id, data_type in FIELDS.items():
            column = pa.array([row[field_id] for row in rows], TYPES[data_type])
            file = bl.write_binlog(column, data_type, field_id=field_id, collection_id=1, partition_id=2, segment_id=3,
                                   nullable=bool(column.null_count))
            (bucket.folder("insert_log", 2, 3, field_id) / str(bucket.log_id)).write_bytes(file)
            bucket.log_id += 1
    bucket.delete([(key, 1 << 60) for key in (3, 1007, 2100)])
    return bucket.open(names=NAMES)


WHERE = [
    "id = 1005", "id = 77777", "id BETWEEN 190 AND 1003", "id IN (3, 4, 2100, 2101)", "city = 'Bonn'", "city IS NULL",
    "city LIKE '%en' AND grade = 7", "NOT city = 'Bonn' OR new = true", "grade < 0", "grade > 1000", "price = 0",
    "price > 50 AND id < 100", "price IS NOT NULL AND NOT price > 1.5", "`1` > 0 AND id < 5",
    "city IN ('Dresden', 'nowhere') AND id >= 2000",
]


def ids(segment, where):
    return segment.to_arrow(columns=["id"], where=where).column(0).to_pylist()


@pytest.mark.parametrize("where", WHERE)
def test_with_and_without_indexes(segment, where):
    plain = ids(segment, where)
    assert [verdict.index for verdict in segment.explain(where)] == [None] * 3
    assert len(segment.build_index()) == 3
    assert ids(segment, where) == plain
    assert segment.count(where=where) == len(plain)
    assert all(verdict.index for verdict in segment.explain(where))
    assert plain == ids(segment, fidx.parse_where(where))


def test_chunks_are_passed_over(segment):
    segment.build_index()
    decisions = [verdict.decision for verdict in segment.explain("id = 1005")]
    assert decisions == [fidx.Decision.SKIP, fidx.Decision.ROWS, fidx.Decision.SKIP]
    assert [verdict.row_count for verdict in segment.explain("id = 1005")] == [0, 1, 0]
    # the binlogs of a chunk that is passed over are not even opened
    for file in segment.chunks[2].values():
        file.path.write_bytes(b"")
    (batch,) = segment.to_batches(columns=["id", "1"], where="id = 1005")
    assert batch.to_pylist() == [{"id": 1005, "1": 1005 << 18}]


def test_exact_answers_read_no_column_of_the_predicate(segment):
    segment.build_index()
    expected = segment.to_arrow(columns=["id"], where="city = 'Bonn'", deletes=False)
    for chunk in segment.chunks[1:]:
        chunk[101].path.write_bytes(b"")
    again = segment.to_arrow(columns=["id"], where="city = 'Bonn'", deletes=False)
    assert again == expected and again.num_rows > 0


def test_options_and_missing_indexes(segment):
    paths = segment.build_index({"file-index.bloom-filter.columns": "100"})
    assert [path.rsplit("/", 1)[1] for path in paths] == ["1000-1007.index", "1008-1015.index", "1016-1023.index"]
    verdicts = segment.explain("id = 5 AND grade = 7")
    assert [verdict.decision.name for verdict in verdicts] == ["REMAIN", "SKIP", "SKIP"] and not verdicts[0].exact
    (segment.found.root / "fidx_log" / "1" / "2" / "3" / "1000-1007.index").unlink()
    assert segment.explain("id = 5")[0].index is None
    assert ids(segment, "id = 5") == [5]


def test_a_damaged_index_is_named(segment):
    path = segment.build_index()[0]
    with open(path, "r+b") as file:
        file.truncate(40)
    with pytest.raises(FileIndexError) as caught:
        ids(segment, "id = 5")
    assert caught.value.path == path


def test_an_index_of_more_rows_is_named(segment):
    """As when somebody copied an index to another segment."""
    paths = segment.build_index()
    data = fidx.build_index(pa.table({"100": pa.array(range(5000), pa.int64())}), {"file-index.bitmap.columns": "100"})
    with open(paths[0], "wb") as file:
        file.write(data)
    with pytest.raises(CorruptError, match="rows below 200"):
        ids(segment, "id >= 4000")


def test_columns_that_do_not_compare(segment):
    with pytest.raises(TypeError, match="'105' has data type 101"):
        ids(segment, "`105` = 1")
    with pytest.raises(KeyError, match="no column 'nothing'"):
        ids(segment, "nothing = 1")
    with pytest.raises(TypeError):
        ids(segment, "city = 5")
    with pytest.raises(ValueError):
        ids(segment, "city ==")
