"""The process that emulates: it enters its namespaces, and drives the engine's emulation.

It is started as a program of its own, since a process with threads cannot enter a user namespace,
and what draws tables makes threads. So only the engine and small modules are imported.

Whoever starts it gives two file descriptors. From the first it reads a request and then signals for
the commands, to the second it writes what happens, as `headend.emulation.session` expects it. When
the one who started it is gone, it ends, and with it the namespaces and all that runs in them.
"""

from __future__ import annotations

import json
import marshal
import os
import select
import signal
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from headend.custom.interruption import PATIENCE_SECONDS, interrupt_code

#: Signals that the process leaves to the one who started it: those of them that the platform has.
HANDLED_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)

#: The exit code is this and the number of the signal that killed the emulation.
KILLED = 128

#: Messages are plain values, each after its length. Both ends are one version of Python, so its own
#: `marshal` serves; it needs no slow import.
_LENGTH = struct.Struct("<Q")

#: How long an update is waited for, in seconds; a signal for the commands is passed on within it.
SLICE_SECONDS = 0.1

#: How long one call of the user's own code may take, in seconds, while the run goes on.
CALL_SECONDS = 5.0


def main(arguments: list[str]) -> None:
    """Read the request, enter the namespaces, and emulate in a child, their first process."""
    open_standard_streams()
    orders, reports = (int(text) for text in arguments)
    for pipe in (orders, reports):
        os.set_inheritable(pipe, False)  # the commands have no part in them
    for number in HANDLED_SIGNALS:
        # Not ignored: the commands would inherit that. The parent says what they get.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _leave_to_parent)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED_SIGNALS)
    with os.fdopen(orders, "rb", buffering=0) as reader, os.fdopen(reports, "wb") as writer:
        try:
            request = receive(reader)
        except EOFError:
            return  # who started this process is gone
        try:
            scenario, emulation = _enter(request)
        except ValueError as error:
            with suppress(BrokenPipeError):
                send(writer, ("refused", str(error)))
            return
        child = os.fork()
        if child == 0:
            _emulate(scenario, emulation, request, reader, writer)
        # What the emulation was allowed is for its child alone, which waits for no other.
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    sys.exit(KILLED - code if code < 0 else code)


def open_standard_streams() -> None:
    """Let /dev/null be whichever of standard input, output and error is closed.

    Else the next file that is opened would take its place, and programs would use that one.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _leave_to_parent(_number: int, _frame: object) -> None:
    pass


def _enter(request: dict[str, Any]) -> tuple[Any, Any]:
    """Parse the scenario and enter the namespaces; a ValueError says why that cannot be."""
    from headend import _engine

    scenario = _engine.parse(
        request["text"],
        format=request["format"],
        overrides=request["overrides"],
        files=request["files"],
    )
    try:
        _engine.Emulation.enter(request["outside"])
    except _engine.EmulationError as error:
        raise ValueError(str(error)) from error
    return scenario, _engine.Emulation


def _emulate(
    scenario: Any, kind: Any, request: dict[str, Any], orders: BinaryIO, reports: BinaryIO
) -> None:
    """Emulate to the end, and leave the process, whatever happens."""
    from headend._engine import EmulationError

    code = 1
    try:
        emulation = kind(scenario, request["seed"], json.dumps(request["options"]))
        send(reports, ("began",))
        if _follow(emulation, orders, reports):
            state, tables = emulation.finish()
            send(reports, ("finished", state, _list_columns(tables), emulation.take_capture()))
            code = 0
    except BrokenPipeError:
        pass  # nobody listens any more
    except BaseException as error:
        # What the engine cannot begin or go on with is its own kind of error, such as a full disk.
        is_told = isinstance(error, EmulationError) and "internal error" not in str(error)
        name = type(error).__name__
        send(reports, ("refused", str(error)) if is_told else ("failed", name, str(error)))
    finally:
        os._exit(code)


def _follow(emulation: Any, orders: BinaryIO, reports: BinaryIO) -> bool:
    """Report each update until the run is over; False where the one who listens is gone.

    Code of the user's own that does not return is interrupted: real time does not wait for it.
    """
    poll = select.poll()
    poll.register(orders, select.POLLIN)
    is_stopped, heard = False, time.monotonic()
    while True:
        if poll.poll(0):
            try:
                emulation.stop(receive(orders))
            except EOFError:
                return False
            is_stopped = True
        update = emulation.next(SLICE_SECONDS)
        if update is None:
            _interrupt_code(time.monotonic() - heard, is_stopped=is_stopped)
            continue
        heard = time.monotonic()
        state, rows = update
        send(reports, ("update", state, _list_columns(rows), emulation.take_capture()))
        if json.loads(state)["over"]:
            return True


def _interrupt_code(silence: float, *, is_stopped: bool) -> None:
    """Interrupt code of the user's own where nothing was heard of the emulation for so long."""
    if silence >= (PATIENCE_SECONDS if is_stopped else CALL_SECONDS):
        interrupt_code()


def _list_columns(tables: dict[str, Any]) -> dict[str, Any]:
    """Give tables as plain values."""
    return {name: columns.read() for name, columns in tables.items()}


def send(pipe: BinaryIO, message: Any) -> None:
    """Write one message of texts, numbers, bytes, lists, tuples, dictionaries and None."""
    content = marshal.dumps(message)
    pipe.write(_LENGTH.pack(len(content)) + content)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """Read one message; an EOFError where the other end is gone."""
    (length,) = _LENGTH.unpack(_read(pipe, _LENGTH.size))
    return marshal.loads(_read(pipe, length))


def _read(pipe: BinaryIO, length: int) -> bytes:
    """Read exactly so many bytes: an unbuffered one gives at most what the pipe holds."""
    content = b""
    while len(content) < length:
        piece = pipe.read(length - len(content))
        if not piece:
            raise EOFError
        content += piece
    return content


if __name__ == "__main__":
    # Started by its path, so that the environment does not decide what is imported.
    sys.path[:0] = [str(Path(__file__).parents[2])]
    main(sys.argv[1:])
