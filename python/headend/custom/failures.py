"""What is said of an error in code of one's own: the lines of that code alone, in one line."""

from __future__ import annotations

import traceback
from types import TracebackType

#: How many calls are named.
_MOST_CALLS = 4


def describe(name: str, error: BaseException, place: TracebackType | None = None) -> str:
    """Say what went wrong in a code, such as ``my_law.py:MyLaw``, and in which of its lines."""
    file = name.rpartition(":")[0]
    frames = traceback.extract_tb(place or error.__traceback__)
    own = [frame for frame in reversed(frames) if frame.filename == file]
    if not own:  # what it gave, and not what it did, is wrong
        return f"{name}: {error}"
    what = " ".join("".join(traceback.format_exception_only(error)).split())
    line = f"{file}, line {own[0].lineno}, in {own[0].name}: {own[0].line}"
    callers = "".join(
        f"; called in line {frame.lineno}, in {frame.name}" for frame in own[1:_MOST_CALLS]
    )
    return f"{name}: {what} ({line}{callers})"
