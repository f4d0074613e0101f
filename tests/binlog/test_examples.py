"""The examples in the docstrings hold."""
from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = ["", ".blooms", ".events", ".model", ".paths", ".reader", ".segment", ".stats", ".text", ".write"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    found = doctest.testmod(importlib.import_module(f"paimon_fidx.binlog{name}"))
    assert found.failed == 0 and found.attempted > 0
