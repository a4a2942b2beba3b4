"""The message integrity checks of a file, as the engine verifies them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from headend import _engine
from headend.errors import InputError

#: The name of each check, and its TLV.
_MICS = {
    "cm_mic": ("CM MIC", "6"),
    "cmts_mic": ("CMTS MIC", "7"),
    "extended_mic": ("extended CMTS MIC", "43.6"),
}


@dataclass(frozen=True)
class Mic:
    """The result of verifying one message integrity check.

    Parameters
    ----------
    key
        ``cm_mic``, ``cmts_mic`` or ``extended_mic``.
    name
        Such as ``CM MIC``.
    path
        The types of its TLV.
    state
        ``right``, ``wrong``, ``stale`` (the file was changed after it was signed), ``unverifiable``
        or ``missing``.
    found, computed
        The digest in the file, and the digest of its content, in hexadecimal.
    why
        The reason for the state, as a clause.
    """

    key: str
    name: str
    path: str
    state: str
    found: str | None = None
    computed: str | None = None
    why: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Give it as an object of JSON."""
        keys = ("name", "path", "state", "found", "computed", "why")
        return {"mic": self.key, **{key: getattr(self, key) for key in keys}}


def verify(data: bytes, secret: bytes | None) -> tuple[Mic, ...]:
    """Verify the message integrity checks of a modem's file.

    Parameters
    ----------
    data
        The bytes of the file.
    secret
        The secret of the CMTS; None leaves the CMTS MIC unverified.
    """
    found = json.loads(_engine.config_mics(data, secret))
    return tuple(
        Mic(key, name, path, own["state"], own.get("found"), own.get("computed"), own.get("why"))
        for key, (name, path) in _MICS.items()
        if (own := found.get(key))
    )


def is_unsigned(data: bytes) -> bool:
    """Say whether a cable modem's file has no message integrity check; an MTA's file is none."""
    try:
        return all(mic.state == "missing" for mic in verify(data, None))
    except _engine.ConfigError:
        return False


def sign(data: bytes, secret: bytes | None, shown_as: str) -> bytes:
    """Compute the integrity checks of a file anew; without a secret, only that of the modem.

    ``shown_as`` names the file in the error where it cannot be signed.
    """
    try:
        return _engine.config_sign(data, secret, cm_only=secret is None)
    except ValueError as error:
        raise InputError(f"{shown_as}: {error}") from error
