"""How evenly transfers share a line: within each group of them, and between groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from headend.groups import name_group

if TYPE_CHECKING:
    from headend.result import Result


@dataclass(frozen=True)
class GroupShare:
    """What a group of bulk flows got.

    Parameters
    ----------
    group
        The flow's name in the scenario.
    members
        How many there are of it.
    mean_bps
        Goodput of a member on average, bit/s.
    jain_index
        Jain's index over the members' goodputs, 1/n to 1; None of one alone, and where nobody got anything.
    ratio
        Their mean over that of the group whose members got most.
    """

    group: str
    members: int
    mean_bps: float
    jain_index: float | None
    ratio: float | None

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return asdict(self)


def measure_fairness(result: Result) -> list[GroupShare]:
    """Measure each group of bulk flows, in the order of the tables; nothing where there is a single such flow."""
    import polars as pl

    data = result.flows.filter((pl.col("carries") == "data") & (pl.col("application") == "bulk"))
    goodputs: dict[str, list[float]] = {}
    for flow, goodput in data.select("flow", "goodput_bps").iter_rows():
        goodputs.setdefault(name_group(flow) or flow, []).append(float(goodput))
    if sum(len(own) for own in goodputs.values()) < 2:
        return []
    most = max(sum(own) / len(own) for own in goodputs.values())
    return [
        GroupShare(group, len(own), mean, compute_jain(own), mean / most if most else None)
        for group, own in goodputs.items()
        for mean in [sum(own) / len(own)]
    ]


def compute_jain(values: Sequence[float]) -> float | None:
    """Compute Jain's index; None of fewer than two values, and where all are 0.

    Examples
    --------
    >>> compute_jain([3.0, 3.0, 3.0]), compute_jain([6.0, 0.0]), compute_jain([1.0])
    (1.0, 0.5, None)
    """
    squares = len(values) * sum(value * value for value in values)
    return sum(values) ** 2 / squares if len(values) > 1 and squares else None
