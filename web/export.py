"""Writes what the lab shares with pages: colours, and the marks of grades (src/generated.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headend.analysis.grading import DELAY, LOSS, MARKS_OF_MEASURES, Mark
from headend.figures.theme import PALETTE

TARGET = Path(__file__).parent / "src/generated.json"


def describe(mark: Mark) -> dict[str, Any]:
    """Describe a mark: its bounds in base units, and how its number is written."""
    return {
        "bounds": mark.bounds,
        "kind": mark.kind,
        "about": mark.shown or mark.about,
        "before": mark.before,
        "after": mark.after,
    }


def main() -> None:
    """Write the file."""
    marks = MARKS_OF_MEASURES | {"delay": DELAY, "loss": LOSS}
    content = {
        "palette": PALETTE,
        "marks": {name: describe(mark) for name, mark in marks.items()},
    }
    TARGET.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
