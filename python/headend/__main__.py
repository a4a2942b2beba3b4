"""The ``headend`` command, also as ``python -m headend``."""

from __future__ import annotations

import gc

from headend.interruption import leave_at_once

#: New objects between two garbage collections. Imports create tens of thousands of objects and no
#: garbage; Python's default of 700 costs a short run 4 % of its CPU time.
OBJECTS = 50_000


def start() -> None:
    """Import the command line, which takes a moment, and start it."""
    leave_at_once()
    gc.set_threshold(OBJECTS)
    from headend.cli.main import start as start_commands

    start_commands()


if __name__ == "__main__":
    start()
