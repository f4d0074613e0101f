"""Paimon tables through PySpark, with their file indexes evaluated in the executors.

    import paimon_fidx.spark as fs

    frame = fs.scan(spark, "/warehouse/db.db/orders", "status = 'PENDING'")      # a DataFrame of the rows
    files = fs.prune(spark, "/warehouse/db.db/orders", "status = 'PENDING'")     # a DataFrame of the files

Needs the extras ``spark`` and ``paimon``; PySpark 3.5 or later. ``python -m paimon_fidx.spark query TABLE`` is the same
for spark-submit.
"""
from .job import Report, prune, scan

__all__ = ["Report", "prune", "scan"]
