"""Code of one's own in a resolved scenario: which files' laws and congestion controls it runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

#: The kind of a queue or congestion control whose code is not headend's.
KIND = "custom"


def find_file(name: str) -> str | None:
    """Give the file of a code's name; None for a name that is no code's.

    Examples
    --------
    >>> find_file("laws/my_law.py:MyLaw"), find_file("codel")
    ('laws/my_law.py', None)
    """
    from headend import _engine

    return _engine.file_of_code(name)


def list_codes(scenario: Mapping[str, Any]) -> dict[str, str]:
    """Give the SHA-256 of each code's file, by the code's name.

    Examples
    --------
    >>> queue = {"custom": {"code": "my_law.py:MyLaw", "limit": "1 MB", "text": "…"}}
    >>> list_codes({"link": {"line": {"queue": queue}}})["my_law.py:MyLaw"][:8]
    'b4935894'
    >>> list_codes({"link": {"line": {"queue": {"codel": {}}}}})
    {}
    """
    return {
        str(code["code"]): hashlib.sha256(str(code.get("text", "")).encode()).hexdigest()
        for code in _find(scenario)
    }


def describe_codes(scenario: Mapping[str, Any]) -> str:
    """Say which code that is not headend's a resolved scenario runs; nothing where there is none.

    Examples
    --------
    >>> describe_codes({"tcp": {"congestion": {"custom": {"code": "my_cc.py:Mine"}}}})
    'own code: my_cc.py:Mine (SHA-256 e3b0c442…)'
    """
    codes = [f"{name} (SHA-256 {digest[:8]}…)" for name, digest in list_codes(scenario).items()]
    return f"own code: {', '.join(codes)}" if codes else ""


def _find(content: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(content, Mapping):
        return
    for key, value in content.items():
        if key == KIND and isinstance(value, Mapping) and "code" in value:
            yield value
        else:
            yield from _find(value)
