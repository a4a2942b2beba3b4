"""The order and the names in which the settings of a tier are listed."""

from __future__ import annotations

from collections.abc import Sequence

from headend.recommendation.candidate import DEFAULT_TARGET, Candidate
from headend.recommendation.feature import Feature


def order_candidates(candidates: Sequence[Candidate]) -> list[int]:
    """Give the numbers of candidates in a reader's order: by feature, then size or latency target.

    Examples
    --------
    >>> sizes = [Candidate(f"{size}", Feature.BUFFER_CONTROL, size=size) for size in (32, 8)]
    >>> order_candidates([*sizes, Candidate("no AQM", Feature.TODAY)])
    [3, 2, 1]
    """

    def place(item: tuple[int, Candidate]) -> tuple[int, ...]:
        number, own = item
        target = own.target or DEFAULT_TARGET
        return list(Feature).index(own.feature), target, own.size or 0, number

    return [number for number, _ in sorted(enumerate(candidates, start=1), key=place)]


def name_feature(candidate: Candidate) -> str:
    """Name the feature of a candidate; the buffer of a modem that nobody has set is of none."""
    return candidate.feature.words if candidate.is_settable else "unmanaged"
