"""Writes the engine's reference pages: ``python -m headend.engine.reference [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path

HOME = Path("docs/reference")


def write_scenario_schema() -> str:
    """Write the JSON Schema of scenarios, as it lies in a file."""
    from headend import _engine

    return _engine.schema()


def render_reference() -> dict[Path, str]:
    """Give every generated file and its content."""
    from headend import _engine
    from headend.engine.modem_file import read_table, write_page, write_schema

    tlvs = read_table()
    return {
        HOME / "scenario.schema.json": write_scenario_schema(),
        HOME / "scenario.md": _engine.reference(),
        HOME / "modem-file.schema.json": write_schema(tlvs),
        HOME / "modem-file.md": write_page(tlvs),
    }


def write(*, check: bool) -> int:
    """Write the files, or say which are stale.

    Returns
    -------
    int
        The exit code: 1 when checking and a file is stale.
    """
    stale = [
        (path, content)
        for path, content in render_reference().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != content
    ]
    for path, content in stale:
        if check:
            print(f"{path} is stale: run make generate", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
            print(f"{path} written")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(write(check="--check" in sys.argv[1:]))
