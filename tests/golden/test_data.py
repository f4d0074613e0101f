"""The golden data itself: the full set is whole, and the committed selection is a part of it."""
from __future__ import annotations

from collections import Counter

import pytest

from . import data


def test_every_case_and_expectation_of_the_manifest_is_there():
    cases, expectations = Counter(), Counter()
    for case in data.cases():
        cases[case.index] += 1
        expectations[case.index] += len(case.expect or ())
    for index, counts in data.manifest()["cases"].items():
        if data.is_full():
            assert (cases[index], expectations[index]) == (counts["cases"], counts["expectations"])
        else:
            assert 0.97 * counts["cases"] < cases[index] <= counts["cases"]
    containers = data.containers()
    assert len(containers) >= data.manifest()["containers"]["files"] - (not data.is_full())
    assert len(data.table_names()) == data.manifest()["tables"]


@pytest.mark.parametrize("index, type", data.groups()[::6])
def test_the_committed_selection_is_a_part_of_the_full_set(index, type):
    packed = data.HERE / data.group_file(index, type)
    selected = {case.name: case for case in data._cases_at(packed)}
    full = {case.name: case for case in data.cases(index, type)}
    assert selected and all(full[name] == case for name, case in selected.items())


def test_every_table_has_its_expectations():
    for table in data.table_names():
        assert data.expected(table)["queries"] and data.expected(table)["files"]


def test_wrap_is_a_container(tmp_path):
    from paimon_fidx.core.container import Container
    from paimon_fidx.core.cursor import Source

    assert Container(Source(data.wrap("ß", "bsi", b"123"))).columns == {"ß": {"bsi": (45, 3)}}
