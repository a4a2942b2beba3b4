"""Fonts that are installed, so that an absent one is refused, not replaced in silence."""

from __future__ import annotations

import functools
import shutil
import subprocess

from headend.errors import InputError, suggest

#: Families that CSS knows without any font of that name, and those that what draws pictures brings.
KNOWN = (
    "cursive",
    "fantasy",
    "monospace",
    "sans-serif",
    "serif",
    "system-ui",
    "Liberation Mono",
    "Liberation Sans",
    "Liberation Serif",
)


@functools.cache
def list_fonts() -> tuple[str, ...]:
    """List the families that are installed; none where fontconfig is not there."""
    program = shutil.which("fc-list")
    if program is None:
        return ()
    try:
        listed = subprocess.run(
            [program, ":", "family"], capture_output=True, text=True, timeout=10, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ()
    names = (name.strip() for line in listed.splitlines() for name in line.split(","))
    return tuple(dict.fromkeys(filter(None, names)))


def check_font(font: str, option: str) -> None:
    """Refuse a family that is not installed, where it can be known which ones are.

    Parameters
    ----------
    font
        Its name, whatever its case.
    option
        Where it was given, for the error.

    Raises
    ------
    InputError
        With the name that was perhaps meant.
    """
    installed = list_fonts()
    names = (*installed, *KNOWN)
    if installed and font.casefold() not in {name.casefold() for name in names}:
        raise InputError(f'{option}: no font "{font}" is installed{suggest(font, names)}')
