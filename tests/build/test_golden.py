"""What Java Paimon wrote for the golden columns, built again from Arrow."""
from __future__ import annotations

import pyarrow as pa
import pytest

from paimon_fidx.build import build_index
from tests.build.arrow import column, fits
from tests.golden import data


@pytest.mark.parametrize("index, type", data.groups())
def test_bodies(index, type, facts):
    """Byte for byte; a bitmap's bitmaps may stand in another order, so its length."""
    for case in data.cases(index, type):
        if not fits(case.type, case.values):
            continue
        options = {f"file-index.{index}.columns": "c"}
        options.update({f"file-index.{index}.c.{name}": value for name, value in case.options.items()})
        table = pa.table({"c": column(type, case.values)})
        if case.body is None:
            with pytest.raises(ValueError):
                build_index(table, options, {"c": type})
            facts["columns refused as Java refuses them"] += 1
            continue
        built = build_index(table, options, {"c": type})
        if index == "bitmap":
            assert len(built) == len(case.container()), case.name
            facts["bitmap indexes as long as Java's"] += 1
        else:
            assert built == case.container(), case.name
            facts["indexes identical to Java's"] += 1
