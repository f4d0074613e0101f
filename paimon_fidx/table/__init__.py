"""Paimon tables through pypaimon: plan, evaluate the indexes, read what they select.

    from paimon_fidx.table import open_table
    open_table("warehouse/db.db/orders").scan(where="status = 'PENDING'").to_arrow()

Rooms, from the top: ``opening`` (Table) -> ``scan`` (Scan, Split) -> ``plan`` (files of a snapshot), ``verdict`` (what
an index says of a file), ``read`` (rows), ``topn``, ``explain`` -> ``spec`` (what is asked) -> ``evolve`` (schemas),
``locate`` (index bytes), ``deletion``, ``residual``, ``formats``, ``files`` (records).

Beside ``scan``: ``rewrite`` (indexes for existing files), ``verify`` (``agree``, ``orphans``), ``listing``,
``advise`` -> ``commit``, ``wanted`` (which index a file should have), ``stored`` (a file's own rows) -> ``entries``
(whole manifest entries).
"""
try:
    import pypaimon as _pypaimon  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"tables are read through pypaimon, which cannot be imported here ({error}): pip install 'paimon-fidx[paimon]'",
        name=error.name,
    ) from error

from .advise import Advice, ColumnAdvice, QueryAdvice
from .commit import CommitConflict, CommitUnknown
from .files import DataFile, FileGroup
from .formats import ReadMeter
from .opening import Table, open_table
from .rewrite import FileRewrite, RewriteResult
from .scan import Scan, ScanStats, Split
from .topn import TopN
from .verdict import FileVerdict
from .verify import FileCheck, VerifyResult

__all__ = [
    "Advice", "ColumnAdvice", "CommitConflict", "CommitUnknown", "DataFile", "FileCheck", "FileGroup", "FileRewrite",
    "FileVerdict", "QueryAdvice", "ReadMeter", "RewriteResult", "Scan", "ScanStats", "Split", "Table", "TopN", "VerifyResult",
    "open_table",
]
