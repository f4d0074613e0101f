"""``make demo``: the Spark job and the command on real tables, every answer checked against a full scan.

Runs on two tables that Java Paimon wrote (they ship with the tests) and on a larger one that it generates once, in the
working directory. The full scan is Spark's own Parquet reader over the same files with Spark's own filter: nothing of
this package takes part in it. Exit code 1 when an answer differs.
"""
import datetime as dt
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

from pyroaring import BitMap
from rich.console import Console
from rich.table import Table

import make_events
import paimon_fidx.spark as fs
from paimon_fidx.table import open_table

HERE = pathlib.Path(__file__).resolve().parent
JAVA_TABLES = HERE.parent / "tests" / "golden" / "tables" / "warehouse" / "db.db"
ORDERS, USER_EVENTS = str(JAVA_TABLES / "orders"), str(JAVA_TABLES / "user_events")
ROWS, FILES = int(os.environ.get("DEMO_ROWS", 2_000_000)), int(os.environ.get("DEMO_FILES", 20))
QUESTIONS = {
    ORDERS: [
        "status = 'PENDING'",
        "amount > 0 AND status <> 'PENDING'",
        "user_id = 1003 OR order_id >= 9",
    ],
    USER_EVENTS: ["event_type = 'view'", "user_id = 1001 AND event_type IN ('click', 'view')", "user_id = 4711"],
    "events": [
        "user_id = 271828",
        "status = 'CHARGEBACK'",
        "city = 'San Faro' AND status = 'PENDING' AND amount > 900",
        "amount BETWEEN 9000 AND 9100",
        "created BETWEEN TIMESTAMP '2024-01-07 12:00:00' AND TIMESTAMP '2024-01-07 12:00:30'",
        "status NOT IN ('PAID', 'PENDING', 'CANCELLED') OR event_id < 5",
        "city LIKE 'Port %' AND amount < 1.00",
        "note LIKE '%777777%'",
    ],
}
console = Console(width=150, highlight=False)


@dataclass
class Answer:
    """What one way of asking gave: how many rows, a digest of them in any order, seconds."""

    row_count: int
    digest: object
    seconds: float


def answer(frame) -> Answer:
    """Runs a DataFrame: every column of every row goes into the digest."""
    started = time.perf_counter()
    row = frame.selectExpr("count(*) AS n", "sum(cast(xxhash64(*) AS DECIMAL(38, 0))) AS digest").first()
    return Answer(row.n, row.digest, time.perf_counter() - started)


def megabytes(size: int) -> str:
    return f"{size / 1e6:,.2f} MB" if size >= 100_000 else f"{size / 1e3:,.1f} kB"


def ask(spark, path: str, where: str, shown: Table) -> bool:
    """One question both ways, one line of the table; whether the answers are equal."""
    everything = open_table(path).scan().splits()
    files = [file for split in everything for file in split.paths]
    size = sum(split.size for split in everything)
    report = fs.Report(spark)
    ours = answer(fs.scan(spark, path, where, report=report))
    full = answer(spark.read.parquet(*files).where(where))
    done = report.as_dict()
    equal = (ours.row_count, ours.digest) == (full.row_count, full.digest)
    read = done["data_bytes_read"] + done["index_bytes_read"]
    skipped = len(files) - done["files"] + done["files_skipped"]
    shown.add_row(
        where, f"{skipped} of {len(files)}", f"{done['rows_selected']:,}", f"{ours.row_count:,}",
        megabytes(read), megabytes(size), f"{ours.seconds:.2f} s", f"{full.seconds:.2f} s",
        "equal" if equal else f"DIFFERS: {full.row_count:,} rows",
        style=None if equal else "bold red",
    )
    return equal


def ask_all(spark, path: str, title: str, questions) -> int:
    """Asks every question of one table; prints the table; returns how many answers differ."""
    shown = Table(title=title, title_justify="left", header_style="bold")
    shown.add_column("WHERE", max_width=44)
    for name in ("files skipped", "rows selected", "rows", "read", "full scan reads", "time", "full scan"):
        shown.add_column(name, justify="right")
    shown.add_column("answer")
    different = sum(not ask(spark, path, where, shown) for where in questions)
    console.print(shown)
    return different


def pending_orders(spark) -> int:
    """The worked example: the index alone says which rows of the file are PENDING."""
    (file,) = fs.prune(spark, ORDERS, "status = 'PENDING'").collect()
    rows = list(BitMap.deserialize(file.rows))
    right = rows == [0, 2, 5, 8] and file.exact
    console.print(f"orders, status = 'PENDING': the index selects rows {rows}, exactly; expected [0, 2, 5, 8]: "
                  f"{'equal' if right else 'DIFFERS'}", markup=False)
    return 0 if right else 1


def command(*words: str) -> str:
    """Runs the paimon-fidx command of this environment; returns its output. A failure ends the demo."""
    program = str(pathlib.Path(sys.executable).parent / "paimon-fidx")
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"paimon-fidx {' '.join(words)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def command_line(spark, events: str) -> int:
    """The same answers without Spark, through the command; returns how many differ."""
    for verb in ("query", "explain"):
        console.print(f"$ paimon-fidx {verb} orders --where \"status = 'PENDING'\"", markup=False)
        console.print(command(verb, ORDERS, "--where", "status = 'PENDING'"), markup=False, soft_wrap=True)
    different = 0
    for path, where in ((ORDERS, QUESTIONS[ORDERS][0]), (events, QUESTIONS["events"][1])):
        lines = sorted(command("query", path, "--where", where, "--json").splitlines())
        equal = lines == sorted(json.dumps(row, ensure_ascii=False) for row in spark_rows(spark, path, where))
        different += not equal
        console.print(f"paimon-fidx query {pathlib.Path(path).name} --where \"{where}\" --json: {len(lines)} rows, "
                      f"{'equal to' if equal else 'DIFFERENT FROM'} the full scan", markup=False)
    return different


def spark_rows(spark, path: str, where: str) -> list[dict]:
    """Rows of the full scan as the command prints them: decimals and times as text."""
    files = [file for split in open_table(path).scan().splits() for file in split.paths]

    def text(value):
        if value is None or isinstance(value, (int, str)):
            return value
        return value.isoformat() if isinstance(value, dt.datetime) else str(value)

    rows = spark.read.parquet(*files).where(where).collect()
    return [{name: text(value) for name, value in row.asDict().items()} for row in rows]


def generated_table() -> str:
    """The path of the larger table; made when it is not there, or was made by another make_events.py."""
    recipe = (HERE / "make_events.py").read_bytes() + f"{ROWS} {FILES}".encode()
    wanted, stamp = hashlib.sha256(recipe).hexdigest(), pathlib.Path("warehouse", "made-by")
    path = pathlib.Path("warehouse", "demo.db", "events").resolve()
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree("warehouse", ignore_errors=True)
        with console.status("making the table") as status:
            make_events.make(str(path.parents[1]), ROWS, FILES, lambda text: status.update(f"making the table: {text}"))
        stamp.write_text(wanted)
    return str(path)


def main() -> int:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    started = time.perf_counter()
    console.print(f"making (or finding) a table of {ROWS:,} rows in {FILES} files, with indexes")
    events = generated_table()
    sizes = {ending: sum(file.stat().st_size for file in pathlib.Path(events).rglob("*" + ending))
             for ending in (".parquet", ".index")}
    console.print(f"it is there after {time.perf_counter() - started:.1f} s: {megabytes(sizes['.parquet'])} of data, "
                  f"{megabytes(sizes['.index'])} of indexes; starting Spark")
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("paimon_fidx demo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile=file:{HERE}/log4j2.properties")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for path in (ORDERS, events):  # workers and code are warm for the timings below
        ask(spark, path, "status = 'x'", Table(*"123456789"))
    different = pending_orders(spark)
    for path, title in ((ORDERS, "orders, written by Java Paimon"), (USER_EVENTS, "user_events, written by Java Paimon")):
        different += ask_all(spark, path, title, QUESTIONS[path])
    different += ask_all(spark, events, f"events, {ROWS:,} rows in {FILES} files, written here", QUESTIONS["events"])
    different += command_line(spark, events)
    spark.stop()
    if different:
        console.print(f"{different} answers differ from the full scan", style="bold red")
        return 1
    console.print(f"every answer equals the full scan ({time.perf_counter() - started:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
