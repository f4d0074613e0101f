"""The ``paimon-fidx`` command. ``main`` is its entry point; the commands stand in ``commands``, ``upkeep`` and
``binlog``, their looks in ``show``."""
from __future__ import annotations

import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Runs the command and exits: 0 done, 2 bad input, 3 damaged index bytes.

    arguments : the words after the command's name; ``sys.argv`` when None.
    """
    try:
        import click  # noqa: F401
        import rich  # noqa: F401
    except ModuleNotFoundError as missing:
        sys.exit(f"paimon-fidx: this command needs {missing.name}; install it with: pip install 'paimon-fidx[cli,paimon]'")
    from . import binlog, upkeep  # noqa: F401    they add their commands
    from .commands import cli

    cli.main(arguments, prog_name="paimon-fidx")
