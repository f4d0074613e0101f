"""The Spark job for spark-submit: ``python -m paimon_fidx.spark query TABLE --where "..."``.

Under spark-submit the master is spark-submit's; otherwise ``--master``, or all cores of this machine. The executors
run this Python (PYSPARK_PYTHON is set to it unless it is set). Exit codes: 0 done, 2 bad input.
"""
from __future__ import annotations

import argparse
import os
import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Runs the job; returns the exit code. arguments : the words after the module's name."""
    options = _parser().parse_args(arguments)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from . import scan

    spark = _session(options.master)
    try:
        columns = [name.strip() for name in options.columns.split(",")] if options.columns else None
        question = {"on_index_error": options.on_index_error, "timezone": options.timezone}
        try:
            frame = scan(spark, options.table, options.where, columns, snapshot_id=options.snapshot, **question)
        except (ValueError, TypeError, LookupError, OSError) as error:
            print(f"paimon_fidx.spark: {' '.join(str(error).split())}", file=sys.stderr)
            return 2
        _show(frame, options)
    finally:
        spark.stop()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m paimon_fidx.spark", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    query = commands.add_parser("query", help="show or save the rows that --where selects")
    query.add_argument("table", metavar="TABLE", help="directory or URI of a Paimon table")
    query.add_argument("--where", metavar="SQL", help="for example \"status = 'PENDING' AND amount > 10\"")
    query.add_argument("--columns", metavar="A,B", help="columns wanted, in this order; all by default")
    query.add_argument("--master", help="for example local[2]; all local cores unless spark-submit names one")
    query.add_argument("--snapshot", type=int, help="read this snapshot instead of the latest")
    query.add_argument("--timezone", help="zone of timestamps without one; the session's by default")
    query.add_argument("--on-index-error", choices=("warn", "raise"), default="warn")
    shown = query.add_mutually_exclusive_group()
    shown.add_argument("--limit", type=int, default=20, help="show at most so many rows (20)")
    shown.add_argument("--count", action="store_true", help="show only how many rows there are")
    shown.add_argument("--json", action="store_true", help="every row as one line of JSON")
    shown.add_argument("--save", metavar="DIRECTORY", help="write the rows as Parquet files instead of showing them")
    return parser


def _session(master):
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    conf = SparkConf()  # knows what spark-submit was told
    if master or not conf.contains("spark.master"):
        conf.setMaster(master or "local[*]")
    if not conf.contains("spark.app.name"):
        conf.setAppName("paimon-fidx query")
    return SparkSession.builder.config(conf=conf).getOrCreate()


def _show(frame, options) -> None:
    if options.count:
        print(frame.count())
    elif options.save:
        frame.write.parquet(options.save)
    elif options.json:
        for line in frame.toJSON().toLocalIterator():
            print(line)
    else:
        frame.show(options.limit, truncate=False)


if __name__ == "__main__":
    sys.exit(main())
