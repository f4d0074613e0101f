"""What the README says of tables runs as it stands."""
from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa

import paimon_fidx as fidx

from .test_rewrite import Warehouse

README = Path(__file__).resolve().parents[2] / "README.md"
SCHEMA = pa.schema([("status", pa.string()), ("amount", pa.int64())])


def test_the_parts_on_existing_tables_and_pypaimon(tmp_path, capsys):
    _, existing, hooks, *_ = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    warehouse = Warehouse(tmp_path)
    warehouse.create(schema=SCHEMA, options={"file-index.bitmap.columns": "status"})
    rows = pa.table({"status": ["PENDING", "PAID"], "amount": [50, 150]}, SCHEMA)
    warehouse.write(rows)
    exec(compile(existing, "README.md", "exec"), {"fidx": fidx, "path": str(warehouse.path())})
    printed = capsys.readouterr().out
    assert "1 files, 2 rows sampled" in printed and "dry run, nothing written" in printed
    assert warehouse.table().file_indexes().num_rows == 1

    table = warehouse.catalog.get_table("db.t")
    builder = table.new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    write.write_arrow(rows)
    names = {"table": table, "write": write, "commit": commit, "builder": table.new_read_builder()}
    exec(compile(hooks, "README.md", "exec"), names)
    assert sum(s.row_count for s in names["splits"]) == 1
    assert warehouse.table().file_indexes().num_rows == 2
