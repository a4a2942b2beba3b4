"""Ctrl-C before a command has begun: one line, at once.

Raised while modules are imported, KeyboardInterrupt is printed with its traceback, or caught by
whatever is being imported.
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

#: The exit code: 128 and the signal's number, as shells have it.
INTERRUPTED = 130


def leave_at_once() -> None:
    """Let an interruption end the program: nothing is begun yet. One that is ignored stays so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def hear_as_exception() -> None:
    """Let an interruption be a KeyboardInterrupt again: a command has begun."""
    if threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGINT) is _leave
    ):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
