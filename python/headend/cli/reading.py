"""Commands that read results report damaged ones in one line."""

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

#: Errors that have a message already, or are not about the results.
_PASSED_ON = (InputError, ClickException, Abort, Exit, OSError, MemoryError)


def reads_results(parameter: str) -> Callable[[Function], Function]:
    """Let a command report results that it cannot use, of a parameter's folders, in one line."""

    def wrap(command: Function) -> Function:
        @functools.wraps(command)
        def call(**values: Any) -> None:
            given = values[parameter]
            with report_unfit([given] if isinstance(given, str | Path) else given):
                command(**values)

        return call  # type: ignore[return-value]

    return wrap


@contextmanager
def report_unfit(folders: Iterable[str | Path]) -> Iterator[None]:
    """Raise an unexpected error as an UnfitError.

    Without results in any of the folders it is raised as it is.

    Raises
    ------
    UnfitError
        It names the folders that hold results.
    """
    try:
        yield
    except _PASSED_ON:
        raise
    except Exception as error:
        if read := [folder for folder in map(Path, folders) if is_results_folder(folder)]:
            raise refuse_unfit(read, error) from error
        raise
