"""The main evaluations take no more instructions than recorded. A count, not a time: no other load can move it."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import instructions

SCRIPT = Path(instructions.__file__)
REQUIRED = os.environ.get("PAIMON_FIDX_INSTRUCTIONS") == "required"


def test_no_evaluation_became_dearer():
    reason = instructions.unavailable()
    if reason:
        if REQUIRED:
            pytest.fail(f"the counts must be compared here, but bench/instructions.py {reason}")
        pytest.skip(f"bench/instructions.py {reason}")
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_compare():
    recorded = {"kept": 1000, "dearer": 1000, "cheaper": 1000, "gone": 1000}
    worse, better = instructions.compare({"kept": 1050, "dearer": 1051, "cheaper": 949, "new": 1}, recorded)
    assert worse == ["dearer: 1,051 instructions, 5.1 % more than the 1,000 recorded", "gone: recorded, but no workload",
                     "new: not recorded"]
    assert better == ["cheaper: 949 instructions, 5.1 % fewer than the 1,000 recorded"]


def test_costs_of_a_profile():
    """Self costs only: the line after ``calls=`` is what the called function took."""
    profile = "ob=(1) /lib/libx.so.6\nfn=(1) outer\n0 7\n+3 1\ncfn=(2) inner\ncalls=1 0\n0 90\n\nfn=(2)\n0 90\n"
    assert instructions.costs(profile) == [(90, "libx: inner"), (8, "libx: outer")]


def test_recorded_by_name():
    recorded = json.loads(instructions.BASELINE.read_text())
    assert set(recorded) == {"environment", "instructions"}
    assert all(type(count) is int and count > 0 for count in recorded["instructions"].values())
