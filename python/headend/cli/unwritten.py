"""Reports, pictures and tables made from saved results, and errors in writing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headend.cli.terminal import ExitCode, quote_path, tell_fault
from headend.errors import InputError, tell_system
from headend.results.folder import REPORT


@dataclass(frozen=True)
class Unwritten:
    """A report or picture that could not be made of results which are kept.

    Parameters
    ----------
    line
        What was to be written, why it is not there, and how to make it later; empty where an
        interruption is the reason.
    code
        What the command exits with: as for what cannot be written, or for a mistake in headend.
    """

    line: str
    code: ExitCode

    @property
    def is_interruption(self) -> bool:
        """Whether somebody asked to stop."""
        return self.code is ExitCode.INTERRUPTED


def attempt(write: Callable[[], object], path: Path, later: str) -> Unwritten | None:
    """Write what is made of results that are kept; if that fails, the command goes on.

    Parameters
    ----------
    write
        Writes it.
    path
        The file, for the error.
    later
        Where the results are kept and how to make the file of them.
    """
    try:
        write()
    except KeyboardInterrupt:
        return Unwritten("", ExitCode.INTERRUPTED)
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic in a library is none of the usual exceptions
        return explain_unwritten(error, path, later)
    return None


def explain_unwritten(error: BaseException, path: Path, later: str) -> Unwritten:
    """Say why a file was not written; the exit code tells a user's error from headend's."""
    code = ExitCode.BAD_INPUT
    if isinstance(error, InputError):
        why = " ".join(str(error).split())
    elif isinstance(error, OSError):
        why = f"{path}: cannot be written: {tell_system(error)}"
    elif isinstance(error, MemoryError):
        why = f"{path}: cannot be made: out of memory"
    else:
        why, code = f"{path}: cannot be made: {tell_fault(error)}", ExitCode.INTERNAL
    return Unwritten(f"{why}; {later}", code)


def make_report(write: Callable[[Path], object], folder: Path) -> Unwritten | None:
    """Write the report of saved results; any failure or interruption costs only the report."""
    from headend.running.execution import interrupt_at_once

    path = folder / REPORT
    later = f"the results are kept, and headend report {quote_path(folder)} makes it of them"
    with interrupt_at_once():
        return attempt(lambda: write(path), path, later)


def tell_in_json(unwritten: Sequence[Unwritten]) -> dict[str, str]:
    """Give what a JSON document says in addition where something could not be written."""
    lines = [one.line for one in unwritten if one.line]
    return {"error": "; ".join(lines)} if lines else {}
