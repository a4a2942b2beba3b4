"""The names of TLVs in the engine's table."""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import product

from headend import _engine


def find_name(types: str) -> str | None:
    """Give the name of a TLV in the table, such as ``target`` of ``24.35.2``; or None."""
    return _names().get(types)


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    """Give the names by the types from the outermost TLV on; rows may be of ``24|25.35.2``."""
    rows = json.loads(_engine.config_table())
    return {
        ".".join(types): row["name"]
        for row in rows
        for types in product(*(step.split("|") for step in row["number"].split(".")))
    }
