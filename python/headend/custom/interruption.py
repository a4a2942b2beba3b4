"""Interrupting code of one's own that does not return: it cannot be asked whether to go on."""

from __future__ import annotations

import ctypes
import sys
from types import FrameType

#: How long a call may take to return after a run was to stop, in seconds. Whatever returns stops
#: much sooner.
PATIENCE_SECONDS = 1.0

#: What the names of the modules begin with that files with code become.
MODULE_PREFIX = "headend_custom_"


class CodeInterrupted(KeyboardInterrupt):
    """Raised in code of one's own that was still in a call after a run was to stop."""


def interrupt_code() -> None:
    """Raise `CodeInterrupted` in every thread that executes code of one's own.

    Python raises it at the next step of the code in that thread. A call that takes long within a
    library which is not Python is first waited for.
    """
    for thread, frame in sys._current_frames().items():
        if _executes_code(frame):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread), ctypes.py_object(CodeInterrupted)
            )


def _executes_code(frame: FrameType | None) -> bool:
    """Say whether a call of code of one's own has not returned yet."""
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(MODULE_PREFIX):
            return True
        frame = frame.f_back
    return False
