"""A study's ``analysis.py``: importing it, and telling a mistake in it from one in headend.

An analysis is imported as a module of a package of its own, in which the folder above the study's
holds what the studies of a document share: ``from ..sharing import pool`` reads ``sharing.py``
there, and ``from .helping import draw`` a module beside the analysis. No study sees the modules of
another document, and each has its own copy of those it shares, read anew whenever it is imported.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import inspect
import os
import re
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

#: What the package of a study's own folder is called within that of its document: no import
#: statement can name it, so that a module of the document may be called as the study is.
_OWN = "this-study"


#: The package of a study, as an error about a module that is not there has it.
_PACKAGE = re.compile(rf"headend_study_\w+\.(?:{_OWN}\.)?")


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
    folder = path.parent.resolve()
    package = f"headend_study_{name.replace('/', '_').replace('-', '_')}"
    specification = importlib.util.spec_from_file_location(f"{package}.{_OWN}.analysis", path)
    if specification is None or specification.loader is None or not path.is_file():
        raise InputError(f"{path}: no such file; a study needs one")
    for known in [known for known in sys.modules if f"{known}.".startswith(f"{package}.")]:
        del sys.modules[known]
    _make_package(package, folder.parent)
    _make_package(f"{package}.{_OWN}", folder)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up
    with blame(path):
        specification.loader.exec_module(module)
    return module


def _make_package(name: str, folder: Path) -> None:
    """Let modules of a folder be imported as those of a package, whatever the folder is called."""
    specification = importlib.machinery.ModuleSpec(name, None, is_package=True)
    specification.submodule_search_locations = [str(folder)]
    sys.modules[name] = importlib.util.module_from_spec(specification)


@contextmanager
def blame(path: Path) -> Iterator[None]:
    """Turn what goes wrong in a study's own code into an error with its file and line.

    Parameters
    ----------
    path
        The analysis. A line in a module beside it, or in one that the studies of its document
        share, is told of that file. What goes wrong elsewhere, without a line of these on the way
        there, is raised as it is.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        place = _find_line(error, path)
        if place is None:
            raise
        file, line = place
        if "HEADEND_TRACEBACK" in os.environ:
            traceback.print_exception(error)
        what = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
        what = _PACKAGE.sub("", what)
        raise InputError(
            f"{file}: line {line}: {type(error).__name__}{f': {what}' if what else ''}"
            " (HEADEND_TRACEBACK=1 tells how it came there)"
        ) from error


def find_function(analysis: ModuleType, name: str, asked_by: str) -> Callable[..., Any]:
    """Give a function of an analysis; ``asked_by`` names it in ``study.toml``, for errors."""
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
        problem = f"expected it to take {len(arguments)} arguments: {error}"
        raise refuse_answer(analysis, name, problem) from None
    with blame(_locate(analysis)):
        return function(*arguments)


def refuse_answer(analysis: ModuleType, name: str, problem: str) -> InputError:
    """Give the error of a function whose answer cannot be used, with its line."""
    function = getattr(analysis, name)
    line = f"line {function.__code__.co_firstlineno}: " if _is_own(analysis, function) else ""
    return InputError(f"{_locate(analysis)}: {line}{name}: {problem}")


def _locate(analysis: ModuleType) -> Path:
    """Give the file of an analysis, as one would type it from here."""
    return _shorten(Path(getattr(analysis, "__file__", None) or ANALYSIS))


def _shorten(path: Path) -> Path:
    """Write a path as one would type it from here."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _is_own(analysis: ModuleType, value: object) -> bool:
    """Say whether a value is a function that the analysis defines, not one that it imports."""
    return inspect.isfunction(value) and value.__module__ == analysis.__name__


def _find_line(error: Exception, path: Path) -> tuple[Path, int] | None:
    """Give the last place in an analysis or shared modules that an error came through."""
    wanted = Path(path).resolve()
    folders = (wanted.parent, wanted.parent.parent)

    frames = traceback.extract_tb(error.__traceback__)
    lines = [(frame.filename, frame.lineno) for frame in frames]
    if isinstance(error, SyntaxError):
        lines.append((error.filename or "", error.lineno))
    for file, line in reversed(lines):
        found = Path(file).resolve()
        if found == wanted:
            return path, line or 1
        if found.parent in folders:
            return _shorten(found), line or 1
    return None
