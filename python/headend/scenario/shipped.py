"""The scenarios, studies and sweeps that ship with headend.

They live at the top of the source tree; ``headend/shipped`` links there, and a wheel holds copies
in its place.
"""

from __future__ import annotations

from pathlib import Path

SHIPPED = Path(__file__).parents[1] / "shipped"

#: The name of the scenarios' JSON Schema where it lies beside them, for editors.
SCHEMA = "scenario.schema.json"

#: How the first line of a scenario names its schema; to TOML it is a comment.
DIRECTIVE = "#:schema "


def list_scenarios() -> dict[str, Path]:
    """Give every shipped scenario by name: its path below ``scenarios`` without ``.toml``."""
    root = SHIPPED / "scenarios"
    return {
        path.relative_to(root).with_suffix("").as_posix(): path
        for path in sorted(root.rglob("*.toml"))
    }


def list_studies() -> dict[str, Path]:
    """Give every shipped study's folder by name, such as ``buffer-control/ping-latency``."""
    root = SHIPPED / "studies"
    return {
        path.parent.relative_to(root).as_posix(): path.parent
        for path in sorted(root.rglob("study.toml"))
    }


def list_sweeps() -> dict[str, Path]:
    """Give every shipped sweep's file by name, such as ``buffer-sizes``."""
    root = SHIPPED / "sweeps"
    return {path.stem: path for path in sorted(root.glob("*.toml"))}


def read_copy(path: Path) -> str:
    """Read a shipped scenario as a copy of it begins: its schema lies beside it."""
    text = path.read_text(encoding="utf-8")
    if text.startswith(DIRECTIVE):
        text = text.partition("\n")[2]
    return f"{DIRECTIVE}{SCHEMA}\n{text}"
