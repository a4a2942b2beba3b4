"""A study's ``analysis.py``: importing it, and telling a mistake in it from one in headend."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from headend.errors import InputError, suggest

#: The file's name in a study's folder.
ANALYSIS = "analysis.py"


def import_analysis(name: str, path: Path) -> ModuleType:
    """Import an analysis.

    Parameters
    ----------
    name
        Of its study.
    path
        The file.

    Raises
    ------
    InputError
        When it is not there, or cannot be imported: with its line.
    """
    module_name = f"headend_study_{name.replace('/', '_').replace('-', '_')}"
    specification = importlib.util.spec_from_file_location(module_name, path)
    if specification is None or specification.loader is None or not path.is_file():
        raise InputError(f"{path}: no such file; a study needs one")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up
    with blame(path):
        specification.loader.exec_module(module)
    return module


@contextmanager
def blame(path: Path) -> Iterator[None]:
    """Turn what goes wrong in a study's own code into an error with its file and line.

    Parameters
    ----------
    path
        The code's file. What goes wrong elsewhere, without a line of this file on the way there, is raised as it is.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        line = _find_line(error, path)
        if line is None:
            raise
        if "HEADEND_TRACEBACK" in os.environ:
            traceback.print_exception(error)
        what = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
        raise InputError(
            f"{path}: line {line}: {type(error).__name__}{f': {what}' if what else ''}"
            " (HEADEND_TRACEBACK=1 tells how it came there)"
        ) from error


def find_function(analysis: ModuleType, name: str, asked_by: str) -> Callable[..., Any]:
    """Give a function of an analysis; ``asked_by`` is what names it in ``study.toml``, for the error."""
    function = getattr(analysis, name, None)
    if not callable(function):
        own = [key for key, value in vars(analysis).items() if _is_own(analysis, value)]
        raise InputError(
            f'{_locate(analysis)}: {asked_by}: no function "{name}"{suggest(name, own)}'
        )
    return cast("Callable[..., Any]", function)


def call(analysis: ModuleType, name: str, asked_by: str, *arguments: Any) -> Any:
    """Call a function of an analysis; where it goes wrong, the error tells its line."""
    function = find_function(analysis, name, asked_by)
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise InputError(
            f"{_place(analysis, name)}{name}: expected it to take {len(arguments)} arguments: {error}"
        ) from None
    with blame(_locate(analysis)):
        return function(*arguments)


def refuse_answer(analysis: ModuleType, name: str, expected: str, found: object) -> InputError:
    """Give the error of a function that returns something else than it should."""
    return InputError(
        f"{_place(analysis, name)}{name}: expected it to return {expected}, found {type(found).__name__}"
    )


def refuse_chart(analysis: ModuleType, name: str, error: Exception) -> InputError:
    """Give the error of a function whose chart cannot be drawn."""
    return InputError(
        f"{_place(analysis, name)}{name}: a chart that cannot be drawn: {' '.join(str(error).split())}"
    )


def _place(analysis: ModuleType, name: str) -> str:
    """Say where a function stands, for the beginning of an error."""
    function = getattr(analysis, name)
    line = f"line {function.__code__.co_firstlineno}: " if _is_own(analysis, function) else ""
    return f"{_locate(analysis)}: {line}"


def _locate(analysis: ModuleType) -> Path:
    """Give the file of an analysis, as one would type it from here."""
    path, here = Path(getattr(analysis, "__file__", None) or ANALYSIS), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _is_own(analysis: ModuleType, value: object) -> bool:
    """Say whether a value is a function that the analysis defines, not one that it imports."""
    return inspect.isfunction(value) and value.__module__ == analysis.__name__


def _find_line(error: Exception, path: Path) -> int | None:
    """Give the last line of a file that an error came through."""
    wanted = os.path.realpath(path)
    if isinstance(error, SyntaxError) and os.path.realpath(error.filename or "") == wanted:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if os.path.realpath(frame.filename) == wanted]
    return lines[-1] if lines else None
