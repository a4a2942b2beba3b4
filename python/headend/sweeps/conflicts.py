"""What a sweep or study would set twice: two axes at one setting, or a value for all points where an axis has its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headend.errors import InputError
from headend.scenario import QUEUE_ALIAS, Overrides

if TYPE_CHECKING:
    from headend.sweeps.definition import Sweep


def check_paths(sweep: Sweep, queue_path: str = "") -> None:
    """Refuse what would be called one thing and run as another.

    Parameters
    ----------
    sweep
        The sweep.
    queue_path
        What ``queue`` stands for in its scenario; nothing where that is not known yet.

    Raises
    ------
    InputError
        Beginning with what was written: ``grid.PATH``, ``set.PATH`` or ``--set PATH``.
    """
    axes = [(axis.path, _spell_out(axis.path, queue_path)) for axis in sweep.axes]
    for number, (written, path) in enumerate(axes):
        for other, before in axes[:number]:
            if path == before:
                also = f': "{other}" is the same setting' if other != written else ""
                raise InputError(f'"{written}" is varied twice{also}')
        for other, above in axes:
            if path.startswith(f"{above}."):
                raise InputError(
                    f"{written}: would take the place of what {other} chose; vary one of them,"
                    f" or write tables among the values of {other}"
                )
    check_shared(axes, sweep.overrides, "set.{}", queue_path)
    check_shared(axes, sweep.added, "--set {}", queue_path)


def check_shared(
    axes: Iterable[tuple[str, str]], shared: Overrides, shown_as: str, queue_path: str = ""
) -> None:
    """Refuse what all points would share if no axis took its place at each of them.

    Parameters
    ----------
    axes
        Each axis as it is called, with a path that it sets at every point.
    shared
        What is set at all points.
    shown_as
        How that was written, with ``{}`` for the path; the error begins with it.
    queue_path
        What ``queue`` stands for; nothing where that is not known yet.
    """
    varied = [(axis, _spell_out(path, queue_path)) for axis, path in axes]
    for written, _ in shared:
        path = _spell_out(written, queue_path)
        for axis, above in varied:
            if path == above or path.startswith(f"{above}."):
                raise InputError(
                    f"{shown_as.format(written)}: has no effect, since the axis {axis} sets it at every point;"
                    " leave out one of them"
                )


def _spell_out(path: str, queue_path: str) -> str:
    first, dot, rest = path.partition(".")
    return f"{queue_path}{dot}{rest}" if queue_path and first == QUEUE_ALIAS else path
