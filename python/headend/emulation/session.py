"""An emulation in a process of its own: what happens, row by row, and signals for commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from headend.emulation import process
from headend.emulation.messages import receive, send
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
    """What happened since the last one.

    Parameters
    ----------
    state
        As the engine tells it: time, lateness of the interval, who exited.
    rows
        Rows of tables, as columns.
    capture
        What was captured, by point.
    is_last
        Whether the run is over; then the state and the tables are those of the whole run.
    """

    state: Mapping[str, Any]
    rows: Mapping[str, Mapping[str, Column]]
    capture: Mapping[str, bytes]
    is_last: bool


class Session:
    """An emulation that was started.

    Parameters
    ----------
    request
        Text, format, overrides and files of the scenario, the seed, and the engine's options.
    to_messages
        Whether what the commands write to standard output goes to standard error.
    """

    def __init__(self, request: Mapping[str, Any], *, to_messages: bool = False) -> None:
        process.open_standard_streams()
        #: Whether the programs were started. Until then the process reads no orders.
        self.has_begun = False
        self._is_given_up = False
        self._is_foreground = _is_foreground()
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

        Raises
        ------
        InputError
            Where it cannot begin, or was killed from outside, in one line.
        EmulationFaultError
            Where it ended otherwise.
        KeyboardInterrupt
            Where `signal` has ended it before it began.
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
            _take_terminal_back()

    def _explain_end(self) -> Exception:
        """Give the error for a process that has ended before the run was over."""
        code = self._process.wait()
        number = -code if code < 0 else code - process.KILLED
        if number > 0 and number not in FAULTS:
            short = ", as Linux does when memory is short" if number == signal.SIGKILL else ""
            return InputError(
                f"the process that emulates was killed by {_name_signal(number)}{short}, and the"
                " programs with it; there are no results, and a recording breaks off: run it"
                " again"
            )
        how = f"signal {number}" if number > 0 else f"exit code {code}"
        return EmulationFaultError(f"the emulation ended before the run was over ({how})")


def _name_signal(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} ({number})"
    except ValueError:  # a real-time signal
        return f"signal {number}"


@dataclass
class Signals:
    """What signals came while the commands ran.

    Parameters
    ----------
    handed_on
        Those that were passed on to the commands.
    was_stopped
        Whether this process was stopped, and continued later.
    """

    handed_on: list[int]
    was_stopped: bool = False


@contextmanager
def hand_on_signals(session: Session) -> Iterator[Signals]:
    """Pass the first SIGINT, SIGTERM or SIGHUP on; the second kills commands, the third ends all.

    Before the commands were started, as while their network is set up, the second ends all.

    Yields
    ------
    Signals
        Those that came so far.
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
        for own, before in previous.items():
            signal.signal(own, before)


def _is_foreground() -> bool:
    """Say whether standard input is a terminal, and this process may read from it."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _take_terminal_back() -> None:
    """Be in the terminal's foreground again, where the main command was."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    with suppress(OSError):  # the terminal may be gone
        os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, before)


def _open_pipe() -> tuple[Any, Any]:
    """Open a pipe for bytes: the end to read and the end to write."""
    reader, writer = os.pipe()
    return os.fdopen(reader, "rb"), os.fdopen(writer, "wb")


def make_options(
    commands: Sequence[tuple[str, Sequence[str]]], main: str, **others: Any
) -> dict[str, Any]:
    """Give the options of the engine's emulation.

    Parameters
    ----------
    commands
        A host and the words of its command, each.
    main
        The host whose command ends the run.
    others
        ``outside``, ``record``, ``snaplen``, ``output``, ``cwd`` and ``congestion``.
    """
    return {
        "commands": [{"host": host, "argv": list(argv)} for host, argv in commands],
        "main": main,
        **others,
    }
