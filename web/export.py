"""Writes what the lab shares with pages: colours, and the bounds of grades (src/generated.json)."""

from __future__ import annotations

import json
from pathlib import Path

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
    }
    TARGET.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
