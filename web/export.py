"""Writes what the lab shares with pages (src/generated.json).

That is: colours, and the marks of grades with what else the workbench needs (workbench.py). With
them stands the SHA-256 of all that the page is made of, which the page names in its head.
``--check PAGE`` writes nothing, and ends with 1 where a page was made of other sources.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sources import hash_sources, read_hash
from workbench import list_for_workbench

from headend.figures.theme import PALETTE

TARGET = Path(__file__).parent / "src/generated.json"


def list_shared() -> dict[str, Any]:
    """List what is shared."""
    return {"palette": PALETTE, **list_for_workbench()}


def main() -> None:
    """Write the file, or check a page."""
    shared = list_shared()
    sources = hash_sources(shared)
    if sys.argv[1:2] == ["--check"]:
        page = Path(sys.argv[2])
        named = read_hash(page.read_text(encoding="utf-8"))
        if named != sources:
            sys.exit(f"{page.name}: made of {named}, expected {sources}: run make web")
        return
    content = {**shared, "sources": sources}
    TARGET.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
