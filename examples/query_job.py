"""A PySpark job that reads a Paimon table with its file indexes.

    python examples/query_job.py TABLE "status = 'PENDING'"
    spark-submit --master yarn examples/query_job.py TABLE "status = 'PENDING'"
"""
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import paimon_fidx.spark as fs

table, where = sys.argv[1:]
spark = SparkSession.builder.appName("query with file indexes").getOrCreate()

# Which files are left, and why: only indexes are read.
fs.prune(spark, table, where).select("decision", "row_count", "selected", "exact", "reason").show(truncate=False)

# The rows, an ordinary DataFrame from here on.
rows = fs.scan(spark, table, where)
rows.show(truncate=False)
rows.agg(F.count("*").alias("rows")).show()
spark.stop()
