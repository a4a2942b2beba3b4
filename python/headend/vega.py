"""Vega, Vega-Lite and vega-embed as one script, which takes seconds to put together: done once, then kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
from importlib.metadata import version
from pathlib import Path

from headend.scratch import sweep_up, write_whole


def give_bundle() -> str:
    """Give the libraries that draw figures in a page. Without a cache that can be written they are put together each time."""
    kept = _locate()
    if kept is None:
        return _bundle()
    script = _read(kept)
    if script is None:
        script = _bundle()
        _keep(script, kept)
    return script


def _bundle() -> str:
    import vl_convert

    return vl_convert.javascript_bundle()  # type: ignore[call-arg]  # the stub asks for what has a default


def _locate() -> Path | None:
    """Say where the script of the installed release is kept; nowhere for who has no home."""
    try:
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(caches) / "headend" / f"vega-{version('vl-convert-python')}.js"


def _read(path: Path) -> str | None:
    """Give what is kept, unless it is damaged: it begins with the hash of the rest."""
    try:
        digest, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return content.decode() if digest == _hash(content) else None


def _keep(script: str, path: Path) -> None:
    """Keep it for the next command, whole or not at all; it is only a cache, so nobody needs to know where that fails."""
    content = script.encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep_up(path.parent)
        write_whole(path, _hash(content) + b"\n" + content)
    except OSError:
        pass


def _hash(content: bytes) -> bytes:
    return b"// " + hashlib.sha256(content).hexdigest().encode()
