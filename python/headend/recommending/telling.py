"""What a recommendation says: the answer with its matrix, and three sentences for each tier."""

from __future__ import annotations

from collections.abc import Sequence

from headend.judging.answer import Answer, Cell, Matrix, Row
from headend.judging.grading import Grade
from headend.recommending.deciding import Decision


def answer_recommendation(title: str, decisions: Sequence[Decision]) -> Answer:
    """Answer what the tiers shall have."""
    features = list(dict.fromkeys(own for decision in decisions for own in decision.bests))
    rows = tuple(
        Row(
            decision.tier.name,
            tuple(
                Cell(Grade.GOOD, "", decision.find(best.setting).label)
                if (best := decision.bests.get(own)) and best.setting
                else None
                for own in features
            ),
        )
        for decision in decisions
    )
    return Answer(
        title or "What shall these tiers have?",
        (),
        Matrix(tuple(own.words for own in features), rows),
        "trade-off",
    )


def tell_tier(decision: Decision) -> tuple[str, str, str]:
    """Say what a tier shall have and why, what that costs, and how sure it is."""
    return (f"{decision.tier.name}: …", "…", "…")
