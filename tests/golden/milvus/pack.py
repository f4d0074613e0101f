"""Packs the Milvus samples into samples.zip, the same input giving the same bytes.

    python tests/golden/milvus/pack.py SAMPLES_DIR
"""
from __future__ import annotations

import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).parent


def pack(root: Path) -> None:
    with zipfile.ZipFile(HERE / "samples.zip", "w") as packed:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(str(path.relative_to(root)), (1980, 1, 1, 0, 0, 0))
                entry.external_attr = 0o644 << 16
                packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
