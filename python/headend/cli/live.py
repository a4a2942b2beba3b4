"""The live view of an emulation on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headend.analysis.lateness import NOT_TRUSTWORTHY, TRUSTWORTHY
from headend.cli.terminal import write_line
from headend.emulation.state import Flow, Queue, State
from headend.engine.description import REAL
from headend.text.quantity import format_quantity
from headend.text.wording import write_count

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from headend.emulation.experiment import Emulation
    from headend.emulation.session import Update

#: How often it is drawn, each second.
DRAWN_EACH_SECOND = 5

#: Queues and neighbours that it shows at most.
MOST_QUEUES = 4
MOST_NEIGHBOURS = 12

#: Delays of a queue below this are written as 0: a packet that does not wait, in ns.
SHORTEST_DELAY_NS = 10_000


@contextmanager
def show_live(emulation: Emulation, console: Console) -> Iterator[Callable[[Update], None]]:
    """Show the view while a block runs; it is gone afterwards.

    Yields
    ------
    callable
        What takes each update.
    """
    from rich.live import Live

    scenario = emulation.plan.loaded.scenario
    state = State(scenario.flows, choose_queues(scenario.queues, scenario.bottleneck))
    bounds = scenario.emulation_bounds_ns
    with Live(
        console=console,
        refresh_per_second=DRAWN_EACH_SECOND,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as live:

        def show(update: Update) -> None:
            state.take(update)
            live.update(draw_state(state, bounds))

        yield show


def choose_queues(queues: Sequence[str], bottleneck: str | None) -> list[str]:
    """Choose the queues to show: the bottleneck first.

    Examples
    --------
    >>> choose_queues(["a.up", "a.down", "b.up"], "b.up")
    ['b.up', 'a.up', 'a.down']
    """
    return sorted(queues, key=lambda name: name != bottleneck)[:MOST_QUEUES]


def draw_state(state: State, bounds: tuple[int, int]) -> RenderableType:
    """Draw what goes on, with bounds of the lateness's 99th percentile and of stalls, in ns."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    for justify in ("left", "right", "right", "left"):
        table.add_column(justify=justify, no_wrap=True)
    real = {name: flow for name, flow in state.flows.items() if flow.application == REAL}
    others = {name: flow for name, flow in state.flows.items() if name not in real}
    for name, flow in real.items():
        _add_flow(table, name, flow, state.now_ns, "bold")
    for name, queue in state.queues.items():
        table.add_row(write_line((name, "cyan")), *_write_queue(queue))
    for name, flow in list(others.items())[:MOST_NEIGHBOURS]:
        _add_flow(table, name, flow, state.now_ns, "dim")
    if (more := len(others) - MOST_NEIGHBOURS) and more > 0:
        table.add_row(write_line((f"{write_count(more, 'neighbour')} more", "dim")), "", "", "")
    from rich.console import Group

    seconds = f"{state.now_ns / 1e9:.0f} s"
    latest = write_line((f"{seconds}, ", "dim"), _write_latest(state, bounds[0]))
    return Group(table, latest, write_line(_judge(state, bounds[0])))


def _add_flow(table: object, name: str, flow: Flow, now_ns: int, style: str) -> None:
    down, up = (format_quantity(flow.read_rate(way, now_ns), "rate") for way in ("down", "up"))
    parts = []
    if (trip := flow.read_trip(now_ns)) is not None:
        parts.append(f"RTT {format_quantity(trip, 'time')}")
    parts += _write_counts(flow.discarded, flow.marked)
    row = (name, f"↓ {down}", f"↑ {up}", ", ".join(parts))
    table.add_row(*(write_line((text, style)) for text in row))  # type: ignore[attr-defined]


def _write_queue(queue: Queue) -> tuple[str, str, str]:
    waited = queue.delay_ns
    if waited is not None and waited < SHORTEST_DELAY_NS:
        waited = 0
    delay = "" if waited is None else f"delay {format_quantity(waited, 'time')}"
    backlog = f"backlog {format_quantity(queue.backlog_bytes, 'size')}"
    return backlog, delay, ", ".join(_write_counts(queue.discarded, queue.marked))


def _write_counts(discarded: int, marked: int) -> list[str]:
    counts = ((discarded, "dropped"), (marked, "marked"))
    return [f"{count:,} {what}" for count, what in counts if count]


def _write_latest(state: State, bound_ns: int) -> tuple[str, str]:
    """Write the lateness of the last interval in which frames were written."""
    if not state.lateness.get("frames"):
        return "no frame written yet", "dim"
    p50, p99, most = (
        format_quantity(state.lateness[f"{name}_ns"], "time") for name in ("p50", "p99", "max")
    )
    is_late = _is_late(state, bound_ns)
    beyond = f", beyond {format_quantity(bound_ns, 'time')}" if is_late else ""
    told = f"lateness now: p50 {p50}, p99 {p99}{beyond}, max {most}"
    return told, "bold red" if is_late else "dim"


def _is_late(state: State, bound_ns: int) -> bool:
    return bool((state.lateness.get("p99_ns") or 0) > bound_ns)


def _judge(state: State, bound_ns: int) -> tuple[str, str]:
    """Write what has happened to the run as a whole, and whether it is trustworthy so far."""
    counts = [write_count(state.stalls, "stall") if state.stalls else "no stalls"]
    if state.overruns:
        counts.append(write_count(state.overruns, "overrun"))
    if is_late := _is_late(state, bound_ns):
        counts.append("late now")
    is_bad = bool(state.stalls or state.overruns or is_late)
    verdict = NOT_TRUSTWORTHY if is_bad else TRUSTWORTHY
    return f"so far: {', '.join(counts)}: {verdict}", "bold red" if is_bad else "green"
