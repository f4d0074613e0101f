"""``paimon-fidx inspect``: what stands in an index file, and what is said of one that is none."""
import json
import struct

import pytest
from click.testing import CliRunner

from paimon_fidx.cli.commands import cli

from ..golden import data


def run(*arguments):
    return CliRunner().invoke(cli, arguments)


@pytest.fixture(scope="module")
def index_file():
    """An index file of a table that Java wrote."""
    return next((data.tables() / "warehouse" / "db.db" / "orders_separate").rglob("*.index"))


def test_json_says_what_java_put_in(index_file):
    told = json.loads(run("inspect", str(index_file), "--json").output)
    (file,) = data.expected("orders_separate")["files"]
    assert [(e["column"], e["index"], e["start"], e["length"]) for e in told["entries"]] == [
        (e["column"], e["index"], e["start"], e["length"]) for e in file["index_header"]["entries"]
    ]
    assert told["size"] == index_file.stat().st_size and told["head_length"] == file["index_header"]["head_length"]


def test_table_names_columns_kinds_and_lengths(index_file):
    answer = run("inspect", str(index_file))
    assert answer.exit_code == 0
    for word in ("order_id", "status", "bsi", "bitmap", "bloom-filter", "range-bitmap", "version 1"):
        assert word in answer.output


def test_empty_entries_and_columns_without_index(tmp_path):
    def utf(text):
        return struct.pack(">H", len(text)) + text.encode()

    head = struct.pack(">i", 2) + utf("a") + struct.pack(">i", 1) + utf("bitmap") + struct.pack(">ii", -1, 0)
    head += utf("b[x]") + struct.pack(">i", 0)
    path = tmp_path / "f.index"
    path.write_bytes(struct.pack(">qii", data.MAGIC, 1, 16 + len(head) + 4) + head + bytes(4))
    told = json.loads(run("inspect", str(path), "--json").output)
    assert told["entries"] == [{"column": "a", "index": "bitmap", "start": -1, "length": 0, "empty": True}]
    assert told["columns_without_index"] == ["b[x]"]
    assert "empty: no value was seen" in run("inspect", str(path)).output
    assert "b[x]" in run("inspect", str(path)).output


@pytest.mark.parametrize("content, said", [
    (b"", "container.head at 0: expected 16 bytes, found 0"),
    (b"PAR1" * 10, "not a Paimon index file"),
    (struct.pack(">qii", data.MAGIC, 7, 20) + bytes(4), "container.version at 8: expected 1, found 7"),
])
def test_damage_is_one_line_with_the_offset(tmp_path, content, said):
    path = tmp_path / "f.index"
    path.write_bytes(content)
    answer = run("inspect", str(path))
    assert answer.exit_code == 3 and answer.output.count("\n") == 1
    assert said in answer.output and str(path) in answer.output


def test_a_missing_file_is_one_line(tmp_path):
    answer = run("inspect", str(tmp_path / "none.index"))
    assert answer.exit_code == 2 and "none.index" in answer.output and answer.output.count("\n") == 1
