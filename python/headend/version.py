"""Which version of headend is installed."""

from __future__ import annotations

import functools


def read_version() -> str:
    """Give the version of the installed package.

    Examples
    --------
    >>> read_version().count(".")
    2
    """
    return _ask_installation()


@functools.cache
def _ask_installation() -> str:
    from importlib.metadata import version

    return version("headend")
