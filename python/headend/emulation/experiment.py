"""Emulating a scenario: what can be checked before, the run in real time, and its result."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.emulation.programs import Host, Programs, list_hosts
from headend.emulation.rows import Rows
from headend.emulation.session import Session, Update, hand_on_signals
from headend.engine.description import REAL
from headend.errors import InputError, suggest
from headend.results.capture import Capture
from headend.results.output import check_output
from headend.running.execution import Execution
from headend.running.experiment import Plan, plan_run
from headend.scenario.file_access import FileAccess, read_allowed
from headend.scenario.source import Overrides, Source, Text, read_scenario
from headend.text.quantity import format_quantity
from headend.text.wording import write_count
from headend.wording.emulation import write_exit

if TYPE_CHECKING:
    from headend.running.result import Result

#: What the kernel has of congestion controls.
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")

#: A run that is shorter than this says little of a line that neighbours had yet to fill, in ns.
SETTLED_NS = 10_000_000_000

#: The verdict on a run during which headend was stopped. The process that emulates went on, but
#: whoever stops one of the two does not expect numbers that can be believed.
WAS_STOPPED = {"trustworthy": False, "why": "headend was stopped while the program ran"}


@dataclass(frozen=True)
class Options:
    """How to emulate, beside scenario and programs."""

    #: Whether the world outside stands in the place of the network's host.
    outside: bool = False
    #: The file for a recording, and how many bytes of each packet it keeps; 0 for all.
    record: Path | None = None
    snaplen: int = 0
    #: The congestion control in the hosts' namespaces; None for that of this machine.
    congestion: str | None = None


@dataclass(frozen=True)
class Emulated:
    """A run in real time, and how the commands ended."""

    result: Result
    #: What the main command exited with, as a shell has it.
    exit_code: int
    #: Whether the scenario's duration ended the command; its exit code then says nothing.
    is_cut: bool
    #: Why the recording is not whole, such as a disk that is full; empty if it is, or not wanted.
    unrecorded: str = ""


@dataclass(frozen=True)
class Emulation:
    """An emulation to be: a checked scenario with its text, and its real hosts."""

    plan: Plan
    text: Text
    hosts: Sequence[Host]

    def carry_out(
        self,
        programs: Programs,
        options: Options,
        *,
        output: Path | None = None,
        to_messages: bool = False,
        on_update: Callable[[Update], None] | None = None,
        on_warning: Callable[[str], None] | None = None,
    ) -> Emulated:
        """Run the programs until the main one exits, or until the scenario's duration is over.

        What the commands write goes to a file, by default to the terminal, and ``to_messages`` to
        standard error. Updates come some ten times a second, and a warning as soon as there is one;
        the result has it too. Where this machine does not let it begin, an InputError is raised.
        """
        request = self._make_request(programs, options, output)
        rows, began = Rows(), time.monotonic()
        capture: Capture | None = None
        failures = _Failures(programs.main, on_warning)
        session = Session(request, to_messages=to_messages)
        try:
            with hand_on_signals(session) as signals:
                for update in session.follow():
                    failures.take(update.state)
                    if update.capture:
                        capture = capture or Capture()
                        capture.append(update.capture)
                    if update.is_last:
                        break
                    rows.append(update.rows)
                    if on_update:
                        on_update(update)
        finally:
            session.close()
        state = dict(update.state)
        if signals.was_stopped:
            state["lateness"] = {**state["lateness"], **WAS_STOPPED}
        last, seconds = replace(update, state=state), time.monotonic() - began
        return self._conclude(programs, options, last, rows, capture, failures.warnings, seconds)

    def _make_request(
        self, programs: Programs, options: Options, output: Path | None
    ) -> dict[str, Any]:
        """Give what the process is to do."""
        overrides = list(self.plan.overrides)
        text = self.text.allow_named(overrides)
        return {
            "text": text.content,
            "format": text.format,
            "overrides": overrides,
            "files": text.read_files(overrides),
            "seed": self.plan.seed,
            "outside": options.outside,
            "options": {
                "commands": [
                    {"host": program.host, "argv": list(program.argv)}
                    for program in programs.programs
                ],
                "main": programs.main,
                "outside": options.outside,
                "record": str(options.record.resolve()) if options.record else None,
                "snaplen": options.snaplen,
                "output": str(output.resolve()) if output else "inherit",
                "cwd": str(Path.cwd()),
                "congestion": options.congestion,
            },
        }

    def _describe_unsettled(self, simulated_ns: int) -> list[str]:
        """Say that a run was too short for neighbours that started together with the command."""
        scenario = self.plan.loaded.scenario
        neighbours = sum(application != REAL for _, application in scenario.flows)
        if not neighbours or scenario.warmup_ns or simulated_ns >= SETTLED_NS:
            return []
        ran = format_quantity(simulated_ns, "time")
        started = f"{write_count(neighbours, 'neighbour')} started together with the programs"
        return [
            f"{started}, and the run was over after {ran}: the line may not have been full;"
            ' --set warmup="5 s" lets neighbours settle first'
        ]

    def _conclude(
        self,
        programs: Programs,
        options: Options,
        last: Update,
        rows: Rows,
        capture: Capture | None,
        warnings: Sequence[str],
        seconds: float,
    ) -> Emulated:
        """Make the result of what came."""
        from headend._engine import Run

        state, exited = last.state, last.state.get("exited", {})
        simulated_ns = int(state["simulated_ns"])
        is_limited = not self.plan.loaded.scenario.is_unlimited
        is_cut = is_limited and simulated_ns >= self.plan.duration_ns
        stopped = {host for host in state.get("stopped", ()) if is_cut or host != programs.main}
        unrecorded = state.get("unrecorded") or ""
        emulation = {
            "kind": "emulated",
            "hosts": {
                host.name: {
                    "command": programs.find(host.name),
                    **_describe_end(exited.get(host.name), is_stopped=host.name in stopped),
                }
                for host in self.hosts
            },
            "outside": options.outside,
            "scheduling": state.get("scheduling"),
            "lateness": state.get("lateness"),
            "overruns": state.get("overruns", 0),
            "strays": state.get("strays", 0),
            "cpu_seconds": state.get("cpu_seconds"),
            "frames": state.get("frames"),
            "recording": str(options.record) if options.record and not unrecorded else None,
            "changed": [],
            "equal": None,
        }
        execution = Execution(
            tables={},
            simulated_ns=simulated_ns,
            finished="failure" not in state,
            failure=state.get("failure"),
            wall_seconds=seconds,
            engine_version=Run.engine_version,
            capture=capture,
        )
        notes = (*self.plan.notes, *warnings, *self._describe_unsettled(simulated_ns))
        plan = replace(self.plan, notes=notes)
        result = plan.complete(execution, rows.complete(last.rows), emulation)
        return Emulated(result, int(exited.get(programs.main) or 0), is_cut, unrecorded)


class _Failures:
    """Programs that ended with an error while the main one still ran, each said once."""

    def __init__(self, main: str, tell: Callable[[str], None] | None) -> None:
        self.warnings: list[str] = []
        self._known = {main}
        self._tell = tell
        self._began: float | None = None

    def take(self, state: Mapping[str, Any]) -> None:
        now = time.monotonic()
        self._began = self._began or now
        exited: Mapping[str, int] = state.get("exited", {})
        ended = exited.keys() - self._known
        self._known |= ended
        for host in sorted(ended - set(state.get("stopped", ()))):
            if exited[host]:
                after = format_quantity(round(now - self._began, 1) * 1e9, "time")
                how = f"ended with {write_exit(exited[host])} after {after}"
                self.warnings.append(f"{host}: {how}, before the command was over")
                if self._tell:
                    self._tell(self.warnings[-1])


def plan_emulation(
    source: Source,
    overrides: Overrides = (),
    *,
    seed: int | None = None,
    allow_files: Sequence[str | Path] = (),
) -> Emulation:
    """Check a scenario that is to be emulated."""
    text = read_scenario(source, FileAccess(allowed=read_allowed(allow_files), person_writes=True))
    plan = plan_run(text, overrides, seed=seed, is_emulated=True)
    return Emulation(plan, text, list_hosts(plan.loaded.scenario))


def check_machine(options: Options, *, force: bool = False) -> None:
    """Refuse what this machine, or this user, cannot do, as far as that is known before a try."""
    if not sys.platform.startswith("linux"):
        raise InputError(
            "headend emulate needs Linux, for its network namespaces; headend run simulates the"
            " same line anywhere"
        )
    if options.outside and os.geteuid() != 0:
        raise InputError(
            "--outside: needs root, since the kernel translates addresses for it; without it,"
            " --server COMMAND runs the other side here"
        )
    if options.congestion is not None:
        try:
            known = AVAILABLE.read_text().split()
        except OSError:
            known = [options.congestion]  # the kernel says it when it is set
        if options.congestion not in known:
            raise InputError(
                "--congestion: this kernel has no congestion control called"
                f' "{options.congestion}"{suggest(options.congestion, known)}'
            )
    if options.record is not None:
        check_output(options.record, force=force)
    elif options.snaplen:
        raise InputError("--snaplen: has no effect without --record FILE")


def _describe_end(code: int | None, *, is_stopped: bool) -> dict[str, Any]:
    """Give what the manifest says of a program's end; headend's own stops have no code."""
    if is_stopped:
        return {"exit": None, "ended": "stopped"}
    return {"exit": code, "ended": None if code is None else "exited"}
