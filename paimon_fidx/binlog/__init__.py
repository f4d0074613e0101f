"""Milvus binlogs (storage V1): insert, delete and index logs, primary-key and BM25 statistics.

Needs the extra ``arrow`` for rows; descriptors, events and statistics read without it.
"""
from __future__ import annotations

from .model import DataType, Descriptor, Event, EventType, hybrid_datetime, hybrid_timestamp
from .reader import Binlog, open_binlog, open_binlogs
from .stats import Bm25Stats, PkStats, open_bm25_stats, open_pk_stats

__all__ = [
    "Binlog", "Bm25Stats", "DataType", "Descriptor", "Event", "EventType", "PkStats", "hybrid_datetime",
    "hybrid_timestamp", "open_binlog", "open_binlogs", "open_bm25_stats", "open_pk_stats", "write_binlog",
    "write_bm25_stats", "write_delete_log", "write_pk_stats",
]
WRITERS = ("write_binlog", "write_bm25_stats", "write_delete_log", "write_pk_stats")


def __getattr__(name: str):
    # Writers need pyarrow as soon as they are imported; reading descriptors and statistics does not.
    if name in WRITERS:
        from . import write

        return getattr(write, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
