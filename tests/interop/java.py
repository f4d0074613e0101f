"""A live Java Paimon 1.4.2 (``oracle/``) to ask: started once, one JSON line per question."""
from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

ORACLE = Path(__file__).resolve().parent / "oracle"
SOURCES = sorted(ORACLE.glob("src/main/java/oracle/*.java"))
TOOLS = ("java", "javac", "mvn")


def missing() -> str | None:
    """Why the oracle cannot run here, or None."""
    absent = [tool for tool in TOOLS if not _tool(tool)]
    return f"needs a JDK 17 and Maven; not found: {', '.join(absent)}" if absent else None


def _tool(name: str) -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home and name != "mvn" and (Path(home) / "bin" / name).exists():
        return str(Path(home) / "bin" / name)
    return shutil.which(name)


def _compiled() -> tuple[Path, str]:
    """(classes, class path), made on first use and kept under the digest of what they are made from."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in [*SOURCES, ORACLE / "pom.xml"])).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "paimon-fidx-oracle" / digest
    if not (folder / "ready").exists():
        (folder / "classes").mkdir(parents=True, exist_ok=True)
        # ORACLE may lie in a read-only place: the project file is copied, nothing is written beside it
        shutil.copyfile(ORACLE / "pom.xml", folder / "pom.xml")
        _run([_tool("mvn"), "-q", "-B", "-f", str(folder / "pom.xml"), "dependency:build-classpath",
              f"-Dmdep.outputFile={folder / 'cp.txt'}"])
        _run([_tool("javac"), "-nowarn", "-encoding", "UTF-8", "-cp", (folder / "cp.txt").read_text().strip(), "-d",
              str(folder / "classes"), *map(str, SOURCES)])
        (folder / "ready").touch()
    return folder / "classes", (folder / "cp.txt").read_text().strip()


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name} failed: {(done.stderr + done.stdout)[-2000:]}")


class Java:
    """The running server; use as a context manager.

    Example
    -------
    >>> with Java() as java:                                                        # doctest: +SKIP
    ...     java.write("bsi", "INT", [1, None, 2])
    """

    def __init__(self, heap: str = "1g"):
        classes, path = _compiled()
        command = [_tool("java"), f"-Xmx{heap}", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8", "-cp",
                   f"{classes}{os.pathsep}{path}", "oracle.Server"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                         encoding="utf-8")

    def __enter__(self) -> Java:
        return self

    def __exit__(self, *_) -> None:
        self._process.stdin.close()
        self._process.wait(timeout=30)

    def call(self, **request) -> dict:
        """One request; RuntimeError when the server is gone."""
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the Java oracle ended")
        return json.loads(line)

    def write(self, index: str, type: str, values: list, options: dict | None = None) -> bytes | str:
        """The body Java writes, or the text of its error."""
        answer = self.call(cmd="write", index=index, type=type, values=values, options=options or {})
        return base64.b64decode(answer["base64"]) if "base64" in answer else answer["error"]

    def ask(self, columns: dict[str, str], file: bytes, questions: list[tuple]) -> list:
        """Answers to (column, op, literals) questions about a whole index file: "REMAIN", "SKIP" or a set of rows."""
        answer = self.call(
            cmd="ask", columns=[{"name": name, "type": type} for name, type in columns.items()],
            base64=base64.b64encode(file).decode(),
            questions=[{"column": column, "op": op, "literals": list(literals)} for column, op, literals in questions])
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return [{row for start, length in each for row in range(start, start + length)}
                if isinstance(each, list) else each for each in answer["answers"]]

    def plan(self, path, column: str | None = None, op: str | None = None, literals=(), **options: str) -> dict:
        """A table's planned files (sorted names), the rows that reading them gives, and those that match.

        options : dynamic table options, ``_`` for ``-`` and ``__`` for ``.``
        """
        named = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
        where = [] if column is None else [{"column": column, "op": op, "literals": list(literals)}]
        answer = self.call(cmd="plan", path=str(path), options=named, where=where)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return {**answer, "files": sorted(answer["files"])}

    def expire(self, path) -> int:
        """Expires every snapshot of a table but the last; how many these were."""
        answer = self.call(cmd="expire", path=str(path))
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["expired"]
