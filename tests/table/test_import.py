"""Without pypaimon the package still imports; tables say what to install."""
from __future__ import annotations

import subprocess
import sys


def test_without_pypaimon():
    code = (
        "import sys; sys.modules['pypaimon'] = None\n"
        "import paimon_fidx as fidx\n"
        "try:\n    fidx.open_table('x')\n"
        "except ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'paimon-fidx[paimon]'" in done.stdout
