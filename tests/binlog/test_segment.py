"""Segments: fields side by side, several chunks, every kind of delete log, filters, and what verify names."""
from __future__ import annotations

import pickle
from datetime import datetime, timezone

import pyarrow as pa
import pytest

import paimon_fidx.binlog as bl
from paimon_fidx.binlog.paths import ids_of
from paimon_fidx.errors import CorruptError, UnsupportedError
from tests.binlog import samples

COLLECTION, PARTITION, SEGMENT = 1, 2, 3
FIELDS = {0: "Int64", 1: "Int64", 100: "Int64", 101: "VarChar", 102: "FloatVector"}


@pytest.fixture
def bucket(tmp_path):
    return Bucket(tmp_path / "files")


class Bucket:
    """Makes the files of one segment: chunks of (key, timestamp) rows."""

    def __init__(self, root):
        self.root = root
        self.log_id = 1000

    def folder(self, kind, *parts):
        path = self.root.joinpath(kind, str(COLLECTION), *map(str, parts))
        path.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def segment(self):
        return self.root / "insert_log" / str(COLLECTION) / str(PARTITION) / str(SEGMENT)

    def chunk(self, rows, field_ids=FIELDS, **other):
        keys, times = [key for key, _ in rows], [time for _, time in rows]
        values = {
            0: pa.array(range(len(rows)), pa.int64()), 1: pa.array(times, pa.int64()), 100: pa.array(keys, pa.int64()),
            101: pa.array([f"v{key}" for key in keys], pa.string()),
            102: pa.array([[key, 0.5] for key in keys], pa.list_(pa.float32(), 2)),
        }
        for field_id in field_ids:
            ids = {"collection_id": COLLECTION, "partition_id": PARTITION, "segment_id": SEGMENT, "field_id": field_id}
            file = bl.write_binlog(values[field_id], FIELDS[field_id], **{**ids, **other})
            (self.folder("insert_log", PARTITION, SEGMENT, field_id) / str(self.log_id)).write_bytes(file)
            self.log_id += 1

    def delete(self, pairs, partition=PARTITION, segment=SEGMENT, **how):
        file = bl.write_delete_log([key for key, _ in pairs], [time for _, time in pairs], collection_id=COLLECTION,
                                   partition_id=partition, segment_id=segment, **how)
        (self.folder("delta_log", partition, segment) / str(self.log_id)).write_bytes(file)
        self.log_id += 1

    def open(self, **options):
        return bl.open_segment(self.segment, **options)


ROWS = [(1, 10), (2, 10), (3, 30), (4, 40)]
MORE = [(5, 50), (1, 60)]


def keys(segment, **filters):
    return [row["100"] for row in segment.to_arrow(columns=["100"], **filters).to_pylist()]


def test_fields_and_chunks(bucket):
    bucket.chunk(ROWS)
    bucket.chunk(MORE)
    segment = bucket.open(names={100: "id", 101: "name"})
    assert (segment.collection_id, segment.partition_id, segment.segment_id) == (1, 2, 3)
    assert segment.columns == ("id", "name", "102", "0", "1") and segment.primary_key == 100
    table = segment.to_arrow()
    assert table.column_names == ["id", "name", "102"] and table.num_rows == segment.row_count == segment.count() == 6
    assert table.to_pylist()[4] == {"id": 5, "name": "v5", "102": [5.0, 0.5]}
    assert len(list(segment.to_batches())) == 2
    assert segment.to_arrow(columns=["1", "id"]).column_names == ["1", "id"]
    assert segment.verify() == []
    with pytest.raises(KeyError, match="no column 'x'"):
        segment.to_arrow(columns=["x"])


@pytest.mark.parametrize("form", ["text", "json", "json-stream", "multi-field"])
def test_a_delete_hits_older_rows_of_its_key(bucket, form):
    bucket.chunk(ROWS)
    bucket.chunk(MORE)
    bucket.delete([(1, 20), (2, 10), (3, 31), (9, 99)], form=form)
    segment = bucket.open()
    assert keys(segment) == [2, 4, 5, 1]  # the later row of key 1 stays, and a row written at the delete's own time
    assert keys(segment, deletes=False) == [1, 2, 3, 4, 5, 1]
    assert (segment.count(), segment.count(deletes=False)) == (4, 6)
    bucket.delete([(1, 61)], form=form)
    assert keys(bucket.open()) == [2, 4, 5]
    assert sorted(row["pk"] for row in bucket.open().deletes().to_pylist()) == [1, 2, 3, 9]


def test_deletes_of_a_partition_and_of_all(bucket):
    """L0 logs: under a segment without rows, of the partition or of partition -1; `delta` named their column once."""
    bucket.chunk(ROWS)
    bucket.delete([(1, 99)], segment=77, form="json-stream", column="delta")
    bucket.delete([(2, 99)], partition=-1, segment=78, form="json-stream", column="delta")
    bucket.delete([(3, 99)], partition=5, segment=79)  # of another partition
    bucket.folder("insert_log", PARTITION, 80)
    bucket.delete([(4, 99)], segment=80)  # of another segment with rows
    segment = bucket.open()
    assert keys(segment) == [3, 4]
    assert sorted(delta.reach for delta in segment.deltas) == ["collection", "partition"]


def test_keys_and_times(bucket):
    moments = [datetime(2024, 1, day, tzinfo=timezone.utc) for day in (1, 2, 3)]
    bucket.chunk([(i, bl.hybrid_timestamp(moment)) for i, moment in enumerate(moments)])
    segment = bucket.open()
    assert keys(segment, keys=[2, 0, 7]) == [0, 2]
    assert keys(segment, start=moments[1]) == [1, 2] and keys(segment, end=moments[1]) == [0]
    assert keys(segment, start=bl.hybrid_timestamp(moments[1]), end=moments[2], keys=[1, 2]) == [1]
    assert segment.count(start=moments[1]) == 2
    with pytest.raises(TypeError, match="keys="):
        keys(segment, keys=["a"])


def test_no_rows_and_no_deletes(bucket):
    bucket.chunk([])
    bucket.delete([])
    assert bucket.open().to_arrow().num_rows == bucket.open().count() == 0
    assert bucket.open().verify() == []


def test_the_segment_of_a_server(tmp_path):
    for name, data in samples.files().items():
        if name.startswith("real/backup_demo"):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    (folder,) = tmp_path.glob("real/backup_demo/binlogs/insert_log/*/*/*")
    segment = bl.open_segment(folder)
    assert segment.verify() == []
    assert (segment.row_count, segment.count(), segment.count(deletes=False)) == (3000, 2990, 3000)
    table = segment.to_arrow(columns=["100", "102", "103"], keys=[9, 10, 2999])
    assert table.column("100").to_pylist() == [10, 2999] and table.column("102").to_pylist() == ["10", "2999"]


def test_misaligned_files_are_named(bucket):
    bucket.chunk(ROWS)
    bucket.chunk(MORE, field_ids=[0, 1, 100])
    with pytest.raises(CorruptError, match="expected 2 files.*field 101: 1"):
        bucket.open()
    found = bl.verify_segment(bucket.segment)
    assert {each.path.rsplit("/", 1)[1] for each in found if "1 files" in each.message} == {"101", "102"}


def test_row_counts_that_differ(bucket):
    bucket.chunk(ROWS, field_ids=[0, 1, 100, 101])
    bucket.chunk(MORE, field_ids=[102])
    with pytest.raises(CorruptError, match="expected 4, as in .*found 2"):
        bucket.open().to_arrow()
    (problem,) = bucket.open().verify()
    assert problem.path.endswith("102/1004") and problem.message == "2 rows, other fields of its chunk have 4"


def test_ids_against_the_path(bucket):
    bucket.chunk(ROWS)
    bucket.chunk(MORE, segment_id=4)
    with pytest.raises(CorruptError, match="descriptor.segment_id at 37: expected 3, as the path says, found 4"):
        bucket.open().to_arrow()
    found = bucket.open().verify()
    assert len(found) == 5 and {each.offset for each in found} == {37}


def test_log_ids_with_a_gap(bucket):
    bucket.chunk(ROWS, field_ids=[0, 1])
    bucket.log_id += 1
    bucket.chunk(ROWS, field_ids=[100])
    assert keys(bucket.open()) == [1, 2, 3, 4]
    assert [each.message for each in bucket.open().verify()] == [
        "log ids of its chunk are not consecutive: 3 files from 1000 to 1003"]


def test_verify_names_the_damaged_byte(bucket):
    bucket.chunk(ROWS)
    path = bucket.segment / "101" / "1003"
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    (problem,) = bucket.open().verify()
    assert problem.path == str(path) and problem.offset is not None and "at most" in problem.message
    assert str(problem).startswith(f"{path} at ")
    path.write_bytes(whole.replace(b'"original_size":"', b'"original_sice":"'))
    assert [(each.offset, each.message) for each in bl.verify_binlog(path)] == [
        (85, "original_size is no text of digits but 'none'")]
    path.write_bytes(b"PAR1" + whole)
    assert "storage-V2" in bl.verify_binlog(path)[0].message


def test_missing_fields(bucket):
    bucket.chunk(ROWS, field_ids=[100, 101])
    assert len(bucket.open().to_arrow()) == 4
    assert [each.message for each in bucket.open().verify()] == [
        "no files of field 0, the row ids", "no files of field 1, the timestamps"]
    bucket.delete([(1, 99)])
    with pytest.raises(CorruptError, match=r"field\[1\]: expected files of the timestamps, found none"):
        bucket.open().to_arrow()


def test_statistics_that_miss_a_key(bucket):
    bucket.chunk(ROWS)
    path = bucket.folder("stats_log", PARTITION, SEGMENT, 100) / "1"
    path.write_bytes(bl.write_pk_stats([1, 2, 3, 4], field_id=100))
    assert bucket.open().verify() == []
    path.write_bytes(bl.write_pk_stats([1, 2, 3], field_id=100))
    (problem,) = bucket.open().verify()
    assert "1 keys of" in problem.message and "is 4" in problem.message
    path.write_bytes(b"{")
    assert "JSON" in bucket.open().verify()[0].message


def test_damaged_delete_logs(bucket):
    bucket.chunk(ROWS)
    bucket.delete([("a", 5)])
    with pytest.raises(CorruptError, match="as the deletes' keys"):
        bucket.open().to_arrow()
    bucket.delete([(1, 5)])
    with pytest.raises(CorruptError, match="as in other delete logs"):
        bucket.open().to_arrow()
    (bucket.folder("delta_log", PARTITION, SEGMENT) / "5").write_bytes(b"PAR1....")
    with pytest.raises(UnsupportedError):
        bucket.open().deletes()


def test_paths():
    with pytest.raises(ValueError, match="a segment is a folder"):
        bl.open_segment("somewhere/else")
    with pytest.raises(FileNotFoundError):
        bl.open_segment("files/insert_log/1/2/3")
    assert ids_of("a/insert_log/1/2/3/100/4") == {
        "collection_id": 1, "partition_id": 2, "segment_id": 3, "field_id": 100, "log_id": 4}
    assert ids_of("a/insert_log/1/2/x/100/4") == {} == ids_of("a/b")


@pytest.mark.parametrize("with_group", [True, False])
def test_groups_of_a_backup(bucket, with_group):
    """Segments one level deeper; their delete logs stand beside them or without the group."""
    bucket.chunk(ROWS)
    group = bucket.segment.parent / "9"
    group.mkdir()
    (bucket.segment).rename(group / str(SEGMENT))
    bucket.delete([(1, 99)])
    if with_group:
        deltas = bucket.folder("delta_log", PARTITION, SEGMENT)
        (deltas.parent / "9").mkdir()
        deltas.rename(deltas.parent / "9" / str(SEGMENT))
    segment = bl.open_segment(group / str(SEGMENT))
    assert (segment.collection_id, segment.partition_id, segment.segment_id) == (1, 2, 3)
    assert keys(segment) == [2, 3, 4] and segment.verify() == []
    assert ids_of(group / "3" / "100" / "7") == {
        "collection_id": 1, "partition_id": 2, "segment_id": 3, "field_id": 100, "log_id": 7}


def test_a_chunk_whose_type_only_others_tell(bucket):
    """A nullable vector field of nulls says its width; an array field of nulls does not say its kind."""
    folder = bucket.folder("insert_log", PARTITION, SEGMENT, 103)
    ids = {"collection_id": COLLECTION, "partition_id": PARTITION, "segment_id": SEGMENT, "field_id": 103}
    for log_id, rows in enumerate(([None, None], [[1], []])):
        column = pa.array(rows, pa.list_(pa.int32()))
        (folder / str(log_id)).write_bytes(bl.write_binlog(column, "Array", nullable=True, **ids))
    assert bucket.open().to_arrow().column(0).to_pylist() == [None, None, [1], []]


def test_descriptors_pickle():
    for entry in samples.binlogs()[:3]:
        descriptor = bl.open_binlog(samples.data(entry)).descriptor
        assert pickle.loads(pickle.dumps(descriptor)) == descriptor
