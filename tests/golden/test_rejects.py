"""rejects.json: which index takes which type, and the short files that Java wrote for those it takes."""
from __future__ import annotations

import pytest

import paimon_fidx as fidx
from paimon_fidx.types import accepts

from . import data, model

ATTEMPTS = data.rejects()
KNOWN = [each for each in ATTEMPTS if each["index"] != "no-such-index" and not each["options"]]
SHORT = [each for each in ATTEMPTS if each["accepted"] and "index_hex" in each]


@pytest.mark.parametrize("attempt", KNOWN, ids=lambda each: f"{each['index']}-{each['type']}-{each.get('stage', 'accepted')}")
def test_the_types_java_takes(attempt):
    """A refusal in create_writer is about the type; later ones are about a value or an option."""
    if attempt["accepted"]:
        assert accepts(attempt["index"], attempt["type"])
    elif attempt["stage"] == "create_writer":
        assert not accepts(attempt["index"], attempt["type"])


@pytest.mark.parametrize("attempt", SHORT, ids=lambda each: f"{each['index']}-{each['type']}")
def test_a_short_file_of_every_accepted_type(attempt):
    type, values = attempt["type"], attempt["values"]
    reader = fidx.open_index(data.wrap("c", attempt["index"], bytes.fromhex(attempt["index_hex"])), {"c": type})
    column = model.Column(type, values)
    for value in values:
        found = reader.evaluate(fidx.col("c") == model.literal(type, value), row_count=len(values))
        want = column.true_rows("EQUAL", [value])
        assert not (want & ~model.found_rows(found, len(values))).any()
        if found.exact:
            assert (model.found_rows(found, len(values)) == want).all()


def test_an_unknown_index_kind_is_refused_when_it_is_asked():
    reader = fidx.open_index(data.wrap("c", "no-such-index", b"\1\2\3"), {"c": "INT"})
    with pytest.raises(fidx.UnsupportedError, match="no-such-index"):
        reader.evaluate(fidx.col("c") == 1, row_count=3)
