"""An emulation in a process of its own: what happens, row by row, and signals for commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from headend.emulation import process
from headend.emulation.process import receive, send
from headend.errors import InputError

if TYPE_CHECKING:
    from headend.emulation.rows import Column

#: How the process is started; two file descriptors follow. `-P` imports nothing from here.
COMMAND = (sys.executable, "-P", str(Path(process.__file__)))

#: How long the process may take to end when nobody listens to it any more, in seconds, and how long
#: to begin when it is to end.
LONGEST_END = 2.0


#: Signals that end a process whose own program is at fault.
FAULTS = frozenset(
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS", "SIGTRAP")
    if hasattr(signal, name)
)


class EmulationFaultError(RuntimeError):
    """The process that emulates ended in a way that is a fault of headend."""


@dataclass(frozen=True)
class Update:
    """What happened since the last one."""

    #: As the engine has it: time, lateness of the interval, who exited.
    state: Mapping[str, Any]
    #: Rows of tables, as columns.
    rows: Mapping[str, Mapping[str, Column]]
    #: What was captured, by point.
    capture: Mapping[str, bytes]
    #: Whether the run is over; then the state and the tables are those of the whole run.
    is_last: bool


class Session:
    """An emulation that was started.

    The request has text, format, overrides and files of the scenario, the seed, and the engine's
    options. What commands write to standard output may go ``to_messages``, standard error.
    """

    def __init__(self, request: Mapping[str, Any], *, to_messages: bool = False) -> None:
        process.open_standard_streams()
        #: Whether the programs were started. Until then the process reads no orders.
        self.has_begun = False
        self._is_given_up = False
        self._is_foreground = False
        with suppress(OSError):  # standard input is a terminal that this process may read from
            self._is_foreground = os.tcgetpgrp(0) == os.getpgrp()
        orders, self._orders = _open_pipe()
        self._reports, reports = _open_pipe()
        # Signals are blocked until the process has installed its handlers.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, process.HANDLED_SIGNALS)
        try:
            self._process = subprocess.Popen(
                [*COMMAND, str(orders.fileno()), str(reports.fileno())],
                pass_fds=(orders.fileno(), reports.fileno()),
                stdout=2 if to_messages else None,
            )
        finally:
            orders.close()
            reports.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        with suppress(BrokenPipeError):
            send(self._orders, dict(request))

    def follow(self) -> Iterator[Update]:
        """Give what happens, until the run is over.

        An InputError is raised where it cannot begin, or was killed from outside; a
        KeyboardInterrupt where `signal` has ended it before it began; and an EmulationFaultError
        where it ended otherwise.
        """
        while True:
            try:
                kind, *content = receive(self._reports)
            except EOFError:
                if self._is_given_up:
                    raise KeyboardInterrupt from None
                raise self._explain_end() from None
            if kind == "refused":
                raise InputError(" ".join(content[0].split()))
            if kind == "failed":
                raise EmulationFaultError(f"{content[0]}: {content[1]}")
            if kind == "began":
                self.has_begun = True
                continue
            state, rows, capture = content
            yield Update(json.loads(state), rows, capture, kind == "finished")
            if kind == "finished":
                return

    def signal(self, number: int) -> None:
        """Pass a signal on to the commands; if they do not start soon, end everything."""
        with suppress(BrokenPipeError, ValueError):
            send(self._orders, int(number))
        if not self.has_begun:
            timer = threading.Timer(LONGEST_END, self._give_up)
            timer.daemon = True
            timer.start()

    def _give_up(self) -> None:
        """End a process that has not begun."""
        if not self.has_begun:
            self._is_given_up = True
            self._process.kill()

    def close(self) -> None:
        """End the process, if it still runs, and with it all that runs in its namespaces."""
        for pipe in (self._orders, self._reports):
            with suppress(BrokenPipeError):
                pipe.close()
        try:
            self._process.wait(timeout=LONGEST_END)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            self._process.kill()
            self._process.wait()
        if self._is_foreground:
            # The main command was in the terminal's foreground.
            before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            with suppress(OSError):  # the terminal may be gone
                os.tcsetpgrp(0, os.getpgrp())
            signal.signal(signal.SIGTTOU, before)

    def _explain_end(self) -> Exception:
        """Give the error for a process that has ended before the run was over."""
        code = self._process.wait()
        number = -code if code < 0 else code - process.KILLED
        if number > 0 and number not in FAULTS:
            short = ", as Linux does when memory is short" if number == signal.SIGKILL else ""
            name = f"signal {number}"  # a real-time signal has no other
            with suppress(ValueError):
                name = f"{signal.Signals(number).name} ({number})"
            return InputError(
                f"the process that emulates was killed by {name}{short}, and the"
                " programs with it; there are no results, and a recording breaks off: run it"
                " again"
            )
        how = f"signal {number}" if number > 0 else f"exit code {code}"
        return EmulationFaultError(f"the emulation ended before the run was over ({how})")


@dataclass
class Signals:
    """Signals that were passed on to the commands; and whether this process was stopped."""

    handed_on: list[int]
    was_stopped: bool = False


@contextmanager
def hand_on_signals(session: Session) -> Iterator[Signals]:
    """Pass the first SIGINT, SIGTERM or SIGHUP on; the second kills commands, the third ends all.

    Before the commands were started, as while their network is set up, the second ends all.
    """
    came = Signals([])

    def hand_on(number: int, _frame: FrameType | None) -> None:
        if len(came.handed_on) > int(session.has_begun):
            raise KeyboardInterrupt
        # Either way the run ends, and its results are kept.
        session.signal(signal.SIGKILL if came.handed_on else number)
        came.handed_on.append(number)

    def note_stop(_number: int, _frame: FrameType | None) -> None:
        # The command timeout sends a SIGCONT after its SIGTERM, stopped or not.
        if not came.handed_on:
            came.was_stopped = True

    previous: dict[int, Any] = {signal.SIGCONT: signal.signal(signal.SIGCONT, note_stop)}
    for number in process.HANDLED_SIGNALS:
        # Whoever starts headend in the background may have it ignore an interruption.
        if signal.getsignal(number) != signal.SIG_IGN:
            previous[number] = signal.signal(number, hand_on)
    try:
        yield came
    finally:
        for number, before in previous.items():
            signal.signal(number, before)


def _open_pipe() -> tuple[Any, Any]:
    """Open a pipe for bytes: the end to read and the end to write."""
    reader, writer = os.pipe()
    return os.fdopen(reader, "rb"), os.fdopen(writer, "wb")
