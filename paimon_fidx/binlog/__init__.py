"""Milvus binlogs (storage V1): insert, delete and index logs, primary-key and BM25 statistics, whole segments.

    one file      open_binlog, open_binlogs, open_pk_stats, open_bm25_stats, verify_binlog
    a segment     open_segment (rows without deleted ones, file indexes and where), verify_segment
    writing       write_binlog, write_delete_log, write_pk_stats, write_bm25_stats

Needs the extra ``arrow`` for rows; descriptors, events and statistics read without it.

Example
-------
>>> import pyarrow as pa
>>> import paimon_fidx.binlog as bl
>>> file = bl.write_binlog(pa.array(["a", "b"]), "VarChar", field_id=101, collection_id=1)
>>> binlog = bl.open_binlog(file)                         # or a path, or a binary file object
>>> binlog.descriptor.collection_id, binlog.events[0].type.name
(1, 'INSERT')
>>> binlog.to_arrow().to_pydict()
{'101': ['a', 'b']}
"""
from __future__ import annotations

import importlib

from .model import DataType, Descriptor, Event, EventType, hybrid_datetime, hybrid_timestamp
from .reader import Binlog, open_binlog, open_binlogs
from .stats import Bm25Stats, PkStats, open_bm25_stats, open_pk_stats

__all__ = [
    "Binlog", "Bm25Stats", "ChunkVerdict", "DataType", "Descriptor", "Event", "EventType", "PkStats", "Problem",
    "Segment", "hybrid_datetime", "hybrid_timestamp", "open_binlog", "open_binlogs", "open_bm25_stats",
    "open_pk_stats", "open_segment", "verify_binlog", "verify_segment", "write_binlog", "write_bm25_stats",
    "write_delete_log", "write_pk_stats",
]
# These need pyarrow as soon as they are imported; reading descriptors and statistics does not.
NEED_ARROW = {
    "ChunkVerdict": "indexing",
    "Problem": "verify",
    "Segment": "segment",
    "open_segment": "segment",
    "verify_binlog": "verify",
    "verify_segment": "verify",
    "write_binlog": "write",
    "write_bm25_stats": "write",
    "write_delete_log": "write",
    "write_pk_stats": "write",
}


def __getattr__(name: str):
    if name in NEED_ARROW:
        return getattr(importlib.import_module(f".{NEED_ARROW[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
