"""Commands that read results: whatever strangers wrote there is answered in one line."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from click.exceptions import Abort, ClickException, Exit

from headend.errors import InputError, refuse_unfit
from headend.results.folder import is_results_folder

Function = TypeVar("Function", bound=Callable[..., None])

#: What is an answer already, or no fault of the results.
_ELSE = (InputError, ClickException, Abort, Exit, OSError, MemoryError)


def reads_results(parameter: str) -> Callable[[Function], Function]:
    """Let a command that reads results refuse those that were changed and sealed again.

    Parameters
    ----------
    parameter
        The command's argument or option with the folder, or the folders.
    """

    def wrap(command: Function) -> Function:
        @functools.wraps(command)
        def call(**values: Any) -> None:
            given = values[parameter]
            with doubt_results([given] if isinstance(given, str | Path) else given):
                command(**values)

        return call  # type: ignore[return-value]

    return wrap


@contextmanager
def doubt_results(folders: Iterable[str | Path]) -> Iterator[None]:
    """Let an error that nothing expects be one of the first folder with results, if there is one.

    Raises
    ------
    UnfitError
        In its place.
    """
    try:
        yield
    except _ELSE:
        raise
    except Exception as error:
        for folder in map(Path, folders):
            if is_results_folder(folder):
                raise refuse_unfit(folder, error) from error
        raise
