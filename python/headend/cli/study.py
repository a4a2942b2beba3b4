"""``headend study``: published results, reproduced: expected, measured, verdict."""

from __future__ import annotations

import typer

app = typer.Typer(
    help="Published results, reproduced: list, show NAME, run NAME.", no_args_is_help=True
)
