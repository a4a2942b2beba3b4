"""What the lab's page is made of, as one SHA-256: the page names it in its head.

A page whose hash is not that of the sources is stale. Only Python's standard library is needed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

#: Files and folders with all files below them, from the top of the source tree.
PLACES = (
    "Cargo.lock",
    "Cargo.toml",
    "crates/docsis-config/Cargo.toml",
    "crates/docsis-config/src",
    "crates/headend-wasm/Cargo.toml",
    "crates/headend-wasm/src",
    "crates/headend/Cargo.toml",
    "crates/headend/src",
    "scenarios",
    "web",
)

#: What is in these places and no source: what npm and Python install or make, and web/export.py's.
IGNORED = {"__pycache__", "generated.json", "node_modules"}

_META = re.compile(r'<meta name="headend-sources" content="([0-9a-f]{64})"')


def list_sources(root: Path = ROOT) -> list[str]:
    """List the sources by their paths from the top of the source tree, in order."""
    found = []
    for place in PLACES:
        path = root / place
        found += [path] if path.is_file() else list(_walk(path))
    return sorted(path.relative_to(root).as_posix() for path in found)


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in IGNORED:
            continue
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path


def hash_sources(shared: Mapping[str, Any], root: Path = ROOT) -> str:
    """Give the SHA-256 of all sources: their paths, their content, and what the page shares.

    Parameters
    ----------
    shared
        What web/export.py takes from headend for the page.
    """
    digest = hashlib.sha256()
    for name in list_sources(root):
        content = (root / name).read_bytes()
        digest.update(f"{name}\n{len(content)}\n".encode())
        digest.update(content)
    digest.update(json.dumps(shared, sort_keys=True).encode())
    return digest.hexdigest()


def read_hash(page: str) -> str | None:
    """Give the SHA-256 that a page names, or None."""
    found = _META.search(page)
    return found[1] if found else None
