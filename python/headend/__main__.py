"""The ``headend`` command, also as ``python -m headend``."""

from __future__ import annotations

from headend.interruption import leave_at_once


def start() -> None:
    """Import the command line, which takes a moment, and start it."""
    leave_at_once()
    from headend.cli.main import start as start_commands

    start_commands()


if __name__ == "__main__":
    start()
