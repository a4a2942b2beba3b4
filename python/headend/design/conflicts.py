"""What a sweep or study would set twice: by two axes, or for all points and by an axis."""

from __future__ import annotations

from collections.abc import Sequence

from headend.errors import InputError
from headend.scenario.conflicts import check_shared, spell_out
from headend.scenario.source import Overrides

#: Who sets what all points were to share.
BY_AXIS = "the axis {} sets it at every point"


def check_paths(
    paths: Sequence[str], shared: Overrides, added: Overrides, queue_path: str = ""
) -> None:
    """Refuse what would be called one thing and run as another.

    Parameters
    ----------
    paths
        What the axes vary.
    shared
        What the file sets at all points.
    added
        What the command line sets at all points.
    queue_path
        What ``queue`` stands for in its scenario; nothing where that is not known yet.

    Raises
    ------
    InputError
        Beginning with what was written: ``grid.PATH``, ``set.PATH`` or ``--set PATH``.
    """
    axes = [(path, spell_out(path, queue_path)) for path in paths]
    for number, (written, path) in enumerate(axes):
        for other, before in axes[:number]:
            if path == before:
                also = f': "{other}" is the same setting' if other != written else ""
                raise InputError(f'"{written}" is varied twice{also}')
        for other, above in axes:
            if path.startswith(f"{above}."):
                raise InputError(
                    f"{written}: would replace what {other} chose; vary one of them,"
                    f" or write tables among the values of {other}"
                )
    for shown_as, pairs in (("set.{}", shared), ("--set {}", added)):
        if "seed" in dict(pairs):
            raise InputError(
                f"{shown_as.format('seed')}: has no effect, since seeds say with which each point"
                " is run; leave it out, or write seeds = [3]"
            )
    varied = [(path, path) for path in paths]
    check_shared(varied, shared, queue_path, "set.{}", BY_AXIS)
    check_shared(varied, added, queue_path, "--set {}", BY_AXIS)
