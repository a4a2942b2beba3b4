"""Whether the times of a run with real programs can be trusted, and its senders could react.

Pages, the terminal, notebooks and JSON take these sentences from here. What a run with real
programs is, stands in its manifest under ``emulation``.
"""

from __future__ import annotations

import math
import shlex
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headend.analysis.facts import OpenLoop, UnequalReplay, Untrustworthy
from headend.analysis.lateness import (
    NOT_TRUSTWORTHY,
    TRUSTWORTHY,
    find_emulation,
    is_open_loop,
    is_trustworthy,
)
from headend.analysis.quality import judge_flows
from headend.analysis.round_trips import NOT_IN_OPEN_LOOP
from headend.engine.description import REAL
from headend.text.quantity import format_quantity
from headend.text.wording import list_names, shorten, write_count
from headend.wording.flows import describe_experience

if TYPE_CHECKING:
    from headend.results.record import Record

#: What runs are called by their kind; a run without real programs has none.
KINDS = {
    "emulated": "emulated in real time",
    "replayed": "replayed from a recording",
    "open_loop": "replayed open loop",
}

#: A run without real programs.
SIMULATED = "simulated"

#: Changed settings that a sentence names at most.
MOST_NAMED = 3

#: Scheduling classes as they are told.
SCHEDULING = {
    "fifo": "real-time (SCHED_FIFO)",
    "other": "ordinary (SCHED_OTHER): any other program may delay it",
}


#: Characters of a command that a sentence shows at most.
LONGEST_COMMAND = 60

#: What a shell adds to the number of the signal that ended a command.
BY_SIGNAL = 128


@dataclass(frozen=True)
class Line:
    """One value of the page's tables of an emulated run: what it is, and the value in words."""

    name: str
    value: str
    #: Whether it is beyond its bound.
    is_bad: bool = False


def _read(result: Record) -> Mapping[str, Any]:
    return find_emulation(result) or {}


def name_kind(result: Record) -> str:
    """Say in what kind of run the numbers came about.

    Returns
    -------
    str
        ``simulated``, ``emulated in real time``, ``replayed from a recording`` or
        ``replayed open loop``.
    """
    kind = str(_read(result).get("kind", ""))
    return KINDS.get(kind, kind) or SIMULATED


def describe_kind(result: Record) -> str:
    """Say so where a run had real programs, as an aside; empty of a simulated run."""
    return name_kind(result) if _read(result) else ""


def full_untrustworthy(fact: Untrustworthy) -> str:
    """Say that a run fell behind real time, and how far.

    Examples
    --------
    >>> full_untrustworthy(Untrustworthy({"p99_ns": 3e6, "bound_p99_ns": 1e6}))
    'Not trustworthy: 1 frame in 100 was written more than 3 ms late, and the bound is 1 ms.'
    """
    lateness = fact.lateness
    return f"Not trustworthy: {str(lateness.get('why') or _explain(lateness)).strip().rstrip('.')}."


def _explain(lateness: Mapping[str, Any]) -> str:
    """Say by which bounds a run is not trustworthy."""
    reasons = []
    if _is_beyond(lateness, "p99_ns", "bound_p99_ns"):
        late, bound = (_write_time(lateness[name]) for name in ("p99_ns", "bound_p99_ns"))
        reasons.append(
            f"1 frame in 100 was written more than {late} late, and the bound is {bound}"
        )
    if _is_beyond(lateness, "longest_stall_ns", "bound_stall_ns"):
        longest, bound = (
            _write_time(lateness[name]) for name in ("longest_stall_ns", "bound_stall_ns")
        )
        reasons.append(f"it stood still for {longest}, and the bound is {bound}")
    return "; ".join(reasons) or "it fell behind real time"


def _is_beyond(lateness: Mapping[str, Any], value: str, bound: str) -> bool:
    measured, most = lateness.get(value), lateness.get(bound)
    return measured is not None and most is not None and bool(measured > most)


def full_open_loop(fact: OpenLoop) -> str:
    """Say that recorded senders do not react to what was changed.

    Examples
    --------
    >>> full_open_loop(OpenLoop(("queue",)))
    'Open loop: the recorded senders do not react to this queue.'
    """
    changed = fact.changed
    is_queue = bool(changed) and all("queue" in path.split(".") for path in changed)
    if is_queue or not changed:
        change = "this queue" if is_queue else "what was changed"
        return f"Open loop: the recorded senders do not react to {change}."
    named = list_names(list(changed), MOST_NAMED)
    return f"Open loop: the recorded senders do not react to what was changed ({named})."


def full_unequal(_: UnequalReplay) -> str:
    """Say that a replay went otherwise."""
    return "Not equal: the frames of this replay did not end as those of the recorded run did."


def list_programs(result: Record) -> list[tuple[str, str, str]]:
    """List what ran where: host, command and how it ended; only hosts on which something ran."""
    return [
        (str(host), shlex.join(map(str, entry["command"])), write_end(entry))
        for host, entry in (_read(result).get("hosts") or {}).items()
        if entry.get("command")
    ]


def describe_real(result: Record) -> list[str]:
    """Say for each real host what ran there, how it ended, and what its flows got on this line."""
    findings = {finding.flow: finding for finding in judge_flows(result)}
    flows = result.manifest["scenario"].get("flow", {})
    programs = {
        host: f"{shorten_command(command)} ({ended})"
        for host, command, ended in list_programs(result)
    }
    lines = []
    for host in map(str, _read(result).get("hosts") or {}):
        names = [name for name in findings if name == host or _name_host(flows, name) == host]
        results = [
            f"{describe_experience(findings[name])}{_describe_counts(result, name)}"
            for name in names
            if findings[name].application == REAL
        ]
        ran = [programs[host]] if host in programs else []
        if parts := [*ran, *results]:
            lines.append(f"{host}: {'; '.join(parts)}")
    return lines


def _name_host(flows: Mapping[str, Any], name: str) -> str:
    return str(flows.get(name, {}).get("host", ""))


def _describe_counts(result: Record, flow: str) -> str:
    """Say how many packets of a flow were dropped and marked, and what open loop leaves out."""
    import polars.selectors as cs

    rows = result.flows.filter(flow=flow)
    if not rows["packets_sent"].sum():
        return ": did it use the names or addresses of this run?"
    thinned = int(rows["discarded_ack_thinned"].sum())
    discarded = int(rows.select(cs.starts_with("discarded_")).sum().sum_horizontal().sum())
    text = f", {write_count(discarded - thinned, 'packet')} dropped"
    if thinned:
        text += f", {write_count(thinned, 'acknowledgement')} left out by the modem"
    if marked := int(rows["marked"].sum()):
        text += f", {marked:,} marked"
    is_tcp = not result.real_flows.filter(flow=flow, protocol="tcp").is_empty()
    return f"{text}; {NOT_IN_OPEN_LOOP}" if is_tcp and is_open_loop(result) else text


def shorten_command(command: str) -> str:
    """Cut a long command, and write one of several lines as one line.

    Examples
    --------
    >>> shorten_command("curl http://server/"), len(shorten_command(60 * "ab "))
    ('curl http://server/', 60)
    """
    return shorten(" ".join(command.split()), LONGEST_COMMAND)


def write_end(entry: Mapping[str, Any]) -> str:
    """Say how the program of a host ended, by its entry in the manifest.

    Examples
    --------
    >>> write_end({"exit": 7, "ended": "exited"}), write_end({"exit": None, "ended": "stopped"})
    ('exit code 7', 'stopped at the end')
    """
    return (
        "stopped at the end" if entry.get("ended") == "stopped" else write_exit(entry.get("exit"))
    )


def write_exit(code: int | None) -> str:
    """Say how a command ended, with its code as a shell has it.

    Examples
    --------
    >>> write_exit(7), write_exit(143), write_exit(None)
    ('exit code 7', 'exit code 143 (SIGTERM)', '–')
    """
    if code is None:
        return "–"
    names = {int(number): number.name for number in signal.Signals}
    name = names.get(code - BY_SIGNAL)
    return f"exit code {code} ({name})" if name else f"exit code {code}"


def list_timing(result: Record) -> list[Line]:
    """List how well a run kept to real time; empty of what ran in virtual time."""
    emulation = _read(result)
    lateness = emulation.get("lateness")
    if not lateness:
        return []
    bound, stall = (_write_time(lateness.get(name)) for name in ("bound_p99_ns", "bound_stall_ns"))
    late_p99 = _is_beyond(lateness, "p99_ns", "bound_p99_ns")
    overruns = lateness.get("overruns", emulation.get("overruns"))
    is_stalled = bool(lateness.get("stalls"))
    scheduling = str(emulation.get("scheduling") or "–")
    verdict = TRUSTWORTHY if is_trustworthy(result) else NOT_TRUSTWORTHY
    return [
        Line("verdict", verdict, not is_trustworthy(result)),
        Line("frames written", _write_count(lateness.get("frames"))),
        Line("late at the median", _write_time(lateness.get("p50_ns"))),
        Line(
            "late at the 99th percentile",
            f"{_write_time(lateness.get('p99_ns'))} (bound: {bound})",
            late_p99,
        ),
        Line("the latest frame was late by", _write_time(lateness.get("max_ns"))),
        Line(
            f"stalls of more than {stall}",
            _write_stalls(lateness),
            is_stalled,
        ),
        Line(
            "overruns (frames lost between the programs and the line)",
            _write_count(overruns),
            bool(overruns),
        ),
        Line(
            "strays (frames to an address that no host has)", _write_count(emulation.get("strays"))
        ),
        Line("scheduling of the emulator", SCHEDULING.get(scheduling, scheduling)),
    ]


def _write_stalls(lateness: Mapping[str, Any]) -> str:
    count = _write_count(lateness.get("stalls"))
    return (
        f"{count} (longest: {_write_time(longest)})"
        if (longest := lateness.get("longest_stall_ns"))
        else count
    )


def list_ends(result: Record) -> list[Line]:
    """List what became of the real frames."""
    frames = _read(result).get("frames") or {}
    names = {
        "entered": "entered the line",
        "delivered": "delivered",
        "discarded": "dropped",
        "marked": "marked (CE)",
    }
    return [
        Line(label, _write_count(frames[name])) for name, label in names.items() if name in frames
    ]


def describe_source(result: Record) -> str:
    """Say in a sentence how the run came about; empty of a simulated run."""
    emulation = _read(result)
    if not emulation:
        return ""
    neighbours = "; every other flow was simulated on the same line at the same time"
    if emulation.get("kind") == "emulated":
        where = " The network's side was the internet." if emulation.get("outside") else ""
        recording = emulation.get("recording")
        recorded = f" What they sent was recorded in {recording}." if recording else ""
        return (
            "Real programs sent their packets over this line in real"
            f" time{neighbours}.{where}{recorded}"
        )
    source = emulation.get("recording") or "a recording"
    equal = " Every frame ended as in the recorded run." if emulation.get("equal") else ""
    again = "" if is_open_loop(result) else " again"
    return (
        f"The packets of real programs, as recorded in {source}, crossed this line{again} in"
        f" virtual time{neighbours}.{equal}"
    )


def _write_time(value: float | None) -> str:
    return format_quantity(value, "time")


def _write_count(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{int(value):,}"
