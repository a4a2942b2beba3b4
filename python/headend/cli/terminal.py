"""What commands share on the terminal: consoles, errors, JSON, progress bars, exit codes."""

from __future__ import annotations

import codecs
import io
import json
import logging
import math
import os
import re
import shlex
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from click.exceptions import Abort, ClickException, Exit

from headend.cli.streams import close_output
from headend.errors import InputError, UnfitError, describe_system, refuse_unwritable
from headend.files import STANDARD_INPUT
from headend.interruption import INTERRUPTED, hear_as_exception
from headend.text.quantity import format_quantity
from headend.text.reveal import (
    escape_in_json,
    reveal_line,
)
from headend.text.wording import wrap_sentence

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from headend.running.executor import Progress as PointProgress

#: What stands for a letter that the terminal's encoding has not got.
_LIKE = {
    **dict(zip("✓✗↑↓↕←→–−—×·≤≥Δµμ", "+x^v=<>---x.<>duu", strict=True)),
    "…": "...",
    "•": "*",
}

#: Whether answers go to standard error.
_ON_MESSAGES = ContextVar("on_messages", default=False)

#: Columns of what is not written to a terminal.
WIDTH_OF_FILES = 120


class ExitCode(IntEnum):
    """What the command line's exit codes mean."""

    OK = 0
    MISSED = 1
    BAD_INPUT = 2
    INTERNAL = 70
    INTERRUPTED = INTERRUPTED


def write_line(*parts: str | tuple[str, str]) -> Text:
    """Put a line together from texts, some with a style; newlines in them are made visible too."""
    from rich.text import Text

    pairs = (part if isinstance(part, tuple) else (part, "") for part in parts)
    return Text.assemble(*((reveal_line(text), style) for text, style in pairs))


def print_sentence(console: Console, text: str, style: str = "") -> None:
    """Print a sentence; no line ends between a number and its unit, or within a command."""
    for line in wrap_sentence(reveal_line(text), console.width):
        console.print(write_line((line, style)), soft_wrap=True)


def print_point(console: Console, text: str) -> None:
    """Print a point of a list: a dot before it, and its further lines below its first word."""
    for at, line in enumerate(wrap_sentence(reveal_line(text), console.width - 4)):
        console.print(write_line(f"{'    ' if at else '  • '}{line}"), soft_wrap=True)


def quote_path(path: str | Path) -> str:
    """Write a path, or a name, as a shell takes it for one word, and a command for no option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


@contextmanager
def answer_on_messages() -> Iterator[None]:
    """Let a command's answers go to standard error: standard output is another program's."""
    token = _ON_MESSAGES.set(True)
    try:
        yield
    finally:
        _ON_MESSAGES.reset(token)


def make_output() -> Console:
    """Make the console for what was asked for."""
    from headend.cli.console import Output, PlainConsole

    console = PlainConsole(stderr=True) if _ON_MESSAGES.get() else Output()
    # A file or a pipe has no width of its own, and Rich's guess of 80 is less than the tables need.
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH_OF_FILES
    return console


class _Notices(logging.Handler):
    """Prints what is logged as all else that goes to standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        make_messages().print(write_line(record.getMessage()), soft_wrap=True)


def print_notices() -> None:
    """Print what headend logs while it works, such as that a cluster does not answer."""
    logger = logging.getLogger("headend")
    if not logger.handlers:
        logger.addHandler(_Notices())


def announce_reading(source: str) -> None:
    """Say that the command waits for a scenario to be typed."""
    if source == STANDARD_INPUT and is_input_terminal():
        told = "reading a scenario from the terminal; Ctrl-D ends it"
        make_messages().print(told)


def is_input_terminal() -> bool:
    """Tell whether standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def open_closed_streams() -> None:
    """Let what is written to a standard output or error that is closed go nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, nowhere)


def replace_unknown_letters() -> None:
    """Let what the terminal's encoding lacks be printed as a similar letter or a question mark."""
    codecs.register_error("headend", _replace)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="headend")


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Replace what cannot be encoded: a letter by a letter, so that tables stay straight."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    return "".join(_LIKE.get(letter, "?") for letter in unknown), error.end


def finish_output() -> ExitCode | None:
    """Write out what waits for standard output; an exit code where that cannot be."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        close_output()
    except OSError as error:
        return refuse_output(error)
    return None


def refuse_output(error: OSError) -> ExitCode:
    """Say that standard output cannot be written."""
    close_output()
    print_error(f"standard output: cannot be written: {describe_system(error)}")
    return ExitCode.BAD_INPUT


def make_messages() -> Console:
    """Make the console for errors, notes and progress."""
    from headend.cli.console import PlainConsole

    return PlainConsole(stderr=True)


@contextmanager
def answer_errors(typed: Iterable[object] = (), *, as_json: bool = False) -> Iterator[None]:
    """Turn errors that a person can mend into one line and exit code 2, and Ctrl-C into 130.

    Parameters
    ----------
    typed
        The values of the command's arguments and options.
    as_json
        Whether the error is also printed as JSON.
    """
    hear_as_exception()
    try:
        _check_typed(typed)
        yield
    except InputError as error:
        if isinstance(error, UnfitError):
            _print_traceback(error)
        fail(str(error), as_json=as_json)
    except (ClickException, Abort, Exit):
        raise
    except OSError as error:
        if error.filename is not None:
            fail(f"{error.filename}: {describe_system(error)}")
        raise Exit(refuse_output(error)) from None
    except KeyboardInterrupt:
        make_messages().print("interrupted")
        raise Exit(ExitCode.INTERRUPTED) from None
    except Exception as error:
        report_fault(error)
        raise Exit(ExitCode.INTERNAL) from None


def _check_typed(values: Iterable[object]) -> None:
    """Refuse typed text that cannot be encoded."""
    for value in values:
        for item in value if isinstance(value, tuple) else [value]:
            if isinstance(item, str | Path):
                refuse_unwritable(str(item))


def report_fault(error: BaseException) -> None:
    """Say in one line that something is wrong with headend: a broken invariant, or a mistake."""
    print_error(describe_fault(error))


def describe_fault(error: BaseException) -> str:
    """Write the line for a fault of headend; with the traceback if HEADEND_TRACEBACK is set."""
    from headend._engine import RunError

    _print_traceback(error)
    what = " ".join(str(error).split())
    kind = "" if isinstance(error, RunError) else f"{type(error).__name__}: "
    return f"internal error, please report it: {kind}{what} (HEADEND_TRACEBACK=1 tells where)"


def _print_traceback(error: BaseException) -> None:
    """Print where an error comes from, if HEADEND_TRACEBACK is set."""
    if "HEADEND_TRACEBACK" in os.environ:
        make_messages().print("".join(traceback.format_exception(error)), soft_wrap=True)


def fail(message: str, *, as_json: bool = False) -> NoReturn:
    """Say what is wrong in one line and leave with exit code 2."""
    line = _leave_out_python(" ".join(message.split()))
    if as_json:
        print_json({"error": line})
    print_error(line)
    raise Exit(ExitCode.BAD_INPUT)


def print_error(line: str) -> None:
    """Print an error on standard error."""
    told = _leave_out_python(line)
    make_messages().print(write_line(("error", "bold red"), ": ", told), soft_wrap=True)


def _leave_out_python(line: str) -> str:
    """Leave out what an error says to who calls headend from Python."""
    return re.sub(r" \(from Python, [^()]*\)", "", line)


def print_note(line: str) -> None:
    """Print on standard error what a command leaves out or does otherwise without an error."""
    make_messages().print(write_line(("note", "yellow"), ": ", line), soft_wrap=True)


def print_json(document: Any) -> None:
    """Print one JSON document on standard output; what is not a number becomes null."""
    # JSON has a way of its own to write what an encoding has not got.
    escape = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    text = json.dumps(_without_nan(document), indent=2, ensure_ascii=escape)
    print_text(escape_in_json(text) + "\n")


def print_text(text: str) -> None:
    """Print text on standard output as it is."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        close_output()


@contextmanager
def show_progress(
    labels: Sequence[str], duration_ns: int, *, hidden: bool = False
) -> Iterator[Mapping[str, Callable[[int], None]]]:
    """Show a bar for each run: simulated time and how many times faster than real time.

    Yields
    ------
    mapping of str to callable
        For each label, what to call with the simulated time so far, in ns.
    """
    console = None if hidden else make_messages()
    if not console or not console.is_terminal:
        yield dict.fromkeys(labels, _ignore)
        return
    from headend.running.progress import show_bars

    with show_bars(labels, duration_ns, console) as bars:
        yield bars


class PointBar:
    """A bar over points; by itself, one that nobody sees."""

    def __call__(self, now: PointProgress) -> None:
        """Show the progress."""

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the bar away while something else is printed."""
        yield


@contextmanager
def show_points(title: str, *, hidden: bool = False) -> Iterator[PointBar]:
    """Show one bar over the points of a sweep or of studies: done, running, time left.

    Yields
    ------
    PointBar
        What to call with the progress.
    """
    console = None if hidden else make_messages()
    if not console or not console.is_terminal:
        yield PointBar()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[kept]}", style="dim"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[running]}"),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(reveal_line(title), total=None, kept="", running="", left="")
        began = time.monotonic()

        class Shown(PointBar):
            def __call__(self, now: PointProgress) -> None:
                bar.update(
                    task,
                    completed=now.done,
                    total=now.total,
                    kept=f"({now.kept} kept)" if now.kept else "",
                    running=f"{now.running} running",
                    left=_describe_left(now, time.monotonic() - began),
                )

            @contextmanager
            def aside(self) -> Iterator[None]:
                bar.stop()
                try:
                    yield
                finally:
                    bar.start()

        yield Shown()


def _describe_left(now: PointProgress, seconds: float) -> str:
    """Guess the time left from the points that were run, not from those that were kept."""
    ran, left = now.done - now.kept, now.total - now.done
    if not ran or not left:
        return ""
    return f"{format_quantity(math.ceil(seconds / ran * left) * 1e9, 'time')} left"


def _ignore(_now: object) -> None:
    pass


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return value
