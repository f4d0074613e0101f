"""Choose what of the full golden data is committed here, and pack it.

    python -m tests.golden.choose FULL_GOLDEN_DIR

Chosen: every case and container whose packed form is at most 100,000 bytes, all rejects, all tables. Left out: the
few large shapes, which the full set still checks. Output is deterministic: same input, same bytes. Data files of
tables stay as they are, because real readers open them; everything else is gzip-compressed JSON.
"""
from __future__ import annotations

import gzip
import json
import shutil
import sys
from pathlib import Path

from tests.golden import data

CASE_MAX_LEN = 100_000  # bytes of one case or container, compressed alone
FILE_MAX_LEN = 1_000_000  # bytes of one committed file
TOTAL_MAX_LEN = 8_000_000  # bytes of the whole selection


def pack(payload: bytes) -> bytes:
    return gzip.compress(payload, 9, mtime=0)  # no time in the header: the same input gives the same file


def line(row: dict) -> bytes:
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def keep(row: dict, left_out: list[str]) -> bool:
    packed_len = len(pack(line(row)))
    if packed_len > CASE_MAX_LEN:
        left_out.append(f"{row['name']}: {packed_len} bytes packed, {row['row_count']} rows")
    return packed_len <= CASE_MAX_LEN


def write(path: Path, payload: bytes) -> None:
    if len(payload) > FILE_MAX_LEN:
        raise SystemExit(f"{path}: {len(payload)} bytes, more than {FILE_MAX_LEN}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(payload)


def choose(full: Path, out: Path) -> None:
    for old in ("cases", "tables"):
        shutil.rmtree(out / old, ignore_errors=True)
    left_out: list[str] = []
    groups: dict[tuple[str, str], list[bytes]] = {}
    for meta_path in sorted(full.glob("cases/*/*/meta.json")):
        row = data.case_row(meta_path.parent)
        if keep(row, left_out):
            groups.setdefault((row["index"], row["type"]), []).append(line(row))
    for group, lines in groups.items():
        write(out / data.group_file(*group), pack(b"".join(lines)))
    write(out / "groups.json", json.dumps(sorted(groups), indent=0).encode() + b"\n")

    rows = [data.container_row(folder) for folder in sorted((full / "containers").iterdir())]
    kept = [line(row) for row in rows if keep(row, left_out)]
    write(out / data.PACKED, pack(b"".join(kept)))

    write(out / "MANIFEST.json", data.load(full, "MANIFEST.json"))
    write(out / "rejects.json.gz", pack(data.load(full, "rejects.json")))
    for path in sorted((full / "tables").rglob("*")):
        if path.is_file():
            name, payload = path.relative_to(full), path.read_bytes()
            if name.parts[1] == "expected" and name.suffix == ".json":
                name, payload = name.with_name(name.name + ".gz"), pack(payload)
            write(out / name, payload)

    total = sum(path.stat().st_size for path in out.rglob("*") if path.is_file() and path.suffix != ".py")
    cases = sum(map(len, groups.values()))
    print(f"chosen: {cases} cases in {len(groups)} groups, {len(kept)} containers, all tables; {total} bytes")
    print(f"left out, above {CASE_MAX_LEN} bytes each:", *left_out, sep="\n  ")
    if total > TOTAL_MAX_LEN:
        raise SystemExit(f"{total} bytes in all, more than {TOTAL_MAX_LEN}")


if __name__ == "__main__":
    choose(Path(sys.argv[1]), data.HERE)
