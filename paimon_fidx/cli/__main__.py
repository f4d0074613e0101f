"""``python -m paimon_fidx.cli`` is the ``paimon-fidx`` command."""
from . import main

main()
