"""Bars that show how far runs have come."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headend.running.execution import SLICE_SECONDS
from headend.text.quantity import format_quantity
from headend.text.reveal import reveal_line

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def show_bars(
    labels: Sequence[str], duration_ns: int, console: Console | None = None
) -> Iterator[Mapping[str, Callable[[int], None]]]:
    """Show a bar for each run: simulated time and how many times faster than real time.

    By default on standard error.

    Yields
    ------
    mapping of str to callable
        For each label, what to call with the simulated time so far, in ns.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[simulated]}"),
        TextColumn("{task.fields[speed]}", style="dim"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console or Console(stderr=True), transient=True) as progress:
        bars = {}
        for label in labels:
            task = progress.add_task(reveal_line(label), total=duration_ns, simulated="", speed="")
            bars[label] = functools.partial(_advance, progress, task, duration_ns, [])
        yield bars


def _advance(progress: Any, task: Any, duration_ns: int, began: list[float], now: int) -> None:
    if not began:
        began.append(time.monotonic() - SLICE_SECONDS)
    speed = now / 1e9 / (time.monotonic() - began[0])
    simulated = f"{format_quantity(now, 'time')} of {format_quantity(duration_ns, 'time')}"
    progress.update(task, completed=now, simulated=simulated, speed=f"{speed:,.0f} × real time")
