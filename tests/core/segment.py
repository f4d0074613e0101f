"""One segment in the smallest container, asked through the public API."""
from __future__ import annotations

import paimon_fidx as fidx
from tests.golden import data

C = fidx.col("c")


def base(kind: str) -> int:
    """Where the segment starts in the file."""
    return len(data.wrap("c", kind, b""))


def opened(kind: str, type: str, body: bytes, source=lambda payload: payload):
    return fidx.open_index(source(data.wrap("c", kind, body)), {"c": type})


def rows(reader, predicate, row_count: int) -> list[int] | str:
    """The selected rows, or the decision's name where it is not ROWS. Asserts that ROWS are exact."""
    result = reader.evaluate(predicate, row_count=row_count)
    if result.decision is fidx.Decision.ROWS:
        assert result.exact
        return list(result.rows)
    return [] if result.decision is fidx.Decision.SKIP else "REMAIN"


def refusal(kind: str, type: str, body: bytes, predicate, row_count: int, tmp_path):
    """The error that opening or asking gives, the same from memory and from a path; its offset relative to the segment."""
    path = tmp_path / "damaged.index"
    path.write_bytes(data.wrap("c", kind, body))
    found = []
    for source in (path.read_bytes(), path):
        try:
            with fidx.open_index(source, {"c": type}) as reader:
                result = reader.evaluate(predicate, row_count=row_count)
        except fidx.FileIndexError as error:
            found.append(error)
        else:
            raise AssertionError(f"not refused: {result!r}")
    memory, file = found
    assert type_and_text(memory) == type_and_text(file), "a path gives another error than bytes"
    assert memory.path is None and file.path == str(path) and str(path) in str(file)
    assert memory.expected is not None, memory
    return memory, memory.offset - base(kind)


def type_and_text(error):
    return type(error), error.where, error.offset, str(error.expected), str(error.found)
