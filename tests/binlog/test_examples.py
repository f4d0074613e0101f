"""The examples in the docstrings hold, and what needs no Arrow runs without it."""
from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import paimon_fidx
import paimon_fidx.binlog as bl
from tests.binlog import samples

MODULES = ["", ".blooms", ".events", ".model", ".paths", ".reader", ".segment", ".stats", ".text", ".write"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    found = doctest.testmod(importlib.import_module(f"paimon_fidx.binlog{name}"))
    assert found.failed == 0 and found.attempted > 0


WITHOUT_ARROW = """
import sys
sys.modules.update(pyarrow=None, numpy=None)        # as if they were not installed
import paimon_fidx.binlog as bl
binlog = bl.open_binlog(sys.stdin.buffer.read())
print(binlog.descriptor.field_id, binlog.event_count, binlog.kind)
try:
    binlog.to_arrow()
except ModuleNotFoundError as missing:
    print(missing.name)
"""


def test_descriptors_read_without_pyarrow():
    file = samples.find("multi_event/Int64_nullable_true")
    paths = [str(Path(paimon_fidx.__file__).resolve().parents[1])]
    answer = subprocess.run([sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}\n{WITHOUT_ARROW}"],
                            input=file, capture_output=True, check=True)
    binlog = bl.open_binlog(file)
    assert answer.stdout.decode().split() == [
        str(binlog.descriptor.field_id), str(binlog.event_count), "insert", "pyarrow"]
