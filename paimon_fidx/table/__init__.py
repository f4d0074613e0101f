"""Paimon tables through pypaimon: plan, evaluate the indexes, read what they select.

    from paimon_fidx.table import open_table
    open_table("warehouse/db.db/orders").scan(where="status = 'PENDING'").to_arrow()

Rooms, from the top: ``scan`` (Table, Scan, Split) -> ``plan`` (files of a snapshot), ``verdict`` (what an index says of
a file), ``read`` (rows) -> ``evolve`` (schemas), ``locate`` (index bytes), ``deletion``, ``residual``, ``formats``.
"""
from .files import DataFile, FileGroup
from .scan import Scan, ScanStats, Split, Table, open_table
from .topn import TopN
from .verdict import FileVerdict

__all__ = ["DataFile", "FileGroup", "FileVerdict", "Scan", "ScanStats", "Split", "Table", "TopN", "open_table"]
