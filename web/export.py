"""Writes what the lab shares with pages (src/generated.json).

That is: colours, the bounds of grades, and what the workbench needs besides (workbench.py).
"""

from __future__ import annotations

import json
from pathlib import Path

from workbench import list_for_workbench

from headend.analysis.grading import DELAY, GAME_DELAY, LOSS
from headend.figures.theme import PALETTE

TARGET = Path(__file__).parent / "src/generated.json"


def main() -> None:
    """Write the file."""
    content = {
        "palette": PALETTE,
        "delay_ms": [bound / 1e6 for bound in DELAY.bounds],
        "game_delay_ms": [bound / 1e6 for bound in GAME_DELAY.bounds],
        "loss": LOSS.bounds,
        **list_for_workbench(),
    }
    TARGET.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
