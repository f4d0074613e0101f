"""Every input that ever broke a promise, forever: one small file each, replayed by test_corpus.py.

``<name>.json.gz``: what was wrong, the whole index file in base64, the schema and what was asked.
"""
from __future__ import annotations

import base64
import gzip
import hashlib
import json
from pathlib import Path

from tests.hostile.mutate import Mutant

HERE = Path(__file__).resolve().parent


def add(mutant: Mutant, what: str, folder: Path = HERE) -> Path:
    """Keep an input. The name is a digest of its bytes, so the same input is kept once."""
    row = {"label": mutant.label, "what": what, "payload": base64.b64encode(mutant.payload).decode(), "schema": mutant.schema,
           "row_count": mutant.row_count, "questions": mutant.questions, "shape": mutant.shape}
    path = folder / f"{hashlib.sha256(mutant.payload).hexdigest()[:16]}.json.gz"
    path.write_bytes(gzip.compress(json.dumps(row).encode(), 9, mtime=0))
    return path


def load(path: Path) -> Mutant:
    row = json.loads(gzip.decompress(path.read_bytes()))
    return Mutant(row["label"], base64.b64decode(row["payload"]), row["schema"], row["row_count"],
                  [tuple(each) for each in row["questions"]], row["shape"])


def paths() -> list[Path]:
    return sorted(HERE.glob("*.json.gz"))
