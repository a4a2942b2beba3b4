"""What is said of an error in code of one's own: the lines of that code alone, in one line."""

from __future__ import annotations

import traceback
from types import TracebackType
from typing import Any

#: How many calls are named.
_MOST_CALLS = 4


def describe(
    name: str,
    error: BaseException,
    place: TracebackType | None = None,
    method: Any = None,
) -> str:
    """Say what went wrong in a code, such as ``my_law.py:MyLaw``, and in which of its lines.

    Where no line of it raised the error, what its method gave is wrong; the place is then that of
    the method's definition.
    """
    file = name.rpartition(":")[0]
    frames = traceback.extract_tb(place or error.__traceback__)
    own = [frame for frame in reversed(frames) if frame.filename == file]
    if not own:
        return f"{name}: {error}{_locate(method, file)}"
    what = " ".join("".join(traceback.format_exception_only(error)).split())
    if isinstance(error, KeyboardInterrupt):
        what = "interrupted, since the call did not return"
    line = f"{file}, line {own[0].lineno}, in {own[0].name}: {own[0].line}"
    callers = "".join(
        f"; called in line {frame.lineno}, in {frame.name}" for frame in own[1:_MOST_CALLS]
    )
    return f"{name}: {what} ({line}{callers})"


def _locate(method: Any, file: str) -> str:
    """Say where a method is defined, if that is in a code's file."""
    code = getattr(method, "__code__", None)
    if code is None or code.co_filename != file:
        return ""
    return f" ({file}, line {code.co_firstlineno}, in {code.co_name})"
