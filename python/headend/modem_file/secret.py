"""The secret that signs a modem's file: an option, a file, standard input, the environment."""

from __future__ import annotations

import os
from pathlib import Path

from headend.errors import InputError
from headend.files import STANDARD_INPUT, read_bytes, read_standard_input

#: The environment variable that holds the secret where no option gives one.
VARIABLE = "HEADEND_CONFIG_SECRET"

#: A secret is a word or some dozens of random bytes.
LARGEST_SECRET_BYTES = 4096


def read_secret(text: str | None, file: str | None) -> bytes | None:
    """Read the secret; None where none is given.

    Parameters
    ----------
    text
        The secret itself; an empty one is a secret too.
    file
        The path of a file that holds it, or ``-`` for standard input. One line end at its end is no
        part of the secret.

    Raises
    ------
    InputError
        If both are given, or if the file cannot be read or holds nothing.
    """
    if text is not None and file is not None:
        raise InputError("--secret: has no effect beside --secret-file; leave out one of them")
    if text is not None:
        return text.encode()
    if file is not None:
        return _read_file(file)
    # An empty variable counts as not set; --secret "" is the empty secret.
    return os.fsencode(os.environ.get(VARIABLE, "")) or None


def _read_file(file: str) -> bytes:
    if file == STANDARD_INPUT:
        content = read_standard_input(LARGEST_SECRET_BYTES, "secret")
    else:
        content = read_bytes(Path(file), LARGEST_SECRET_BYTES, "secret")
    secret = content.removesuffix(b"\n").removesuffix(b"\r")
    if not secret:
        raise InputError(
            f'--secret-file {file}: expected a secret, found nothing; --secret "" is the empty one'
        )
    return secret
