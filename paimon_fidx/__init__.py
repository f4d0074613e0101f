"""Apache Paimon's data-file indexes: read, evaluate, build and verify, byte-compatible with Java.

>>> import paimon_fidx as fidx
>>> f = fidx.open_index("data-0.parquet.index", {"status": "STRING"})           # doctest: +SKIP
>>> f.evaluate(fidx.col("status") == "PENDING")                                 # doctest: +SKIP
IndexResult(ROWS, 4 rows, exact)
"""
from importlib import import_module as _import_module

from .errors import CorruptError, FileIndexError, NotAnswerable, TruncatedError, UnsupportedError
from .index import FileIndex, evaluate_many, open_index
from .predicate import And, Column, Leaf, Or, Predicate, col, timestamp_ns
from .result import Decision, IndexResult

__version__ = "0.1.0"

# Rooms that need an extra (sqlglot's parser, pypaimon) or take long to import are loaded when they are first used.
_LAZY = {
    "parse_where": ".sql",
    "build_index": ".build",
    "IndexWriter": ".build",
    "open_table": ".table",
}

__all__ = [
    "And", "Column", "CorruptError", "Decision", "FileIndex", "FileIndexError", "IndexResult", "IndexWriter",
    "Leaf", "NotAnswerable", "Or", "Predicate", "TruncatedError", "UnsupportedError", "build_index", "col",
    "evaluate_many", "open_index", "open_table", "parse_where", "timestamp_ns",
]


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(_LAZY[name], __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
