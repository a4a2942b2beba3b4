"""How evenly transfers of one direction share a line, within groups and between them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from headend.engine.description import list_applications
from headend.engine.metrics import compute_jain
from headend.scenario.groups import name_group

if TYPE_CHECKING:
    from headend.results.record import Record


@dataclass(frozen=True)
class GroupShare:
    """What a group of bulk flows got.

    Parameters
    ----------
    group
        The flow's name in the scenario.
    direction
        Which way they go: ``up`` or ``down``.
    members
        How many there are of it.
    mean_bps
        Goodput of a member on average, bit/s.
    jain_index
        Jain's index over the members' goodputs, 1/n to 1; None of one alone, and without data.
    ratio
        Their mean over that of the group of their direction whose members got most.
    """

    group: str
    direction: str
    members: int
    mean_bps: float
    jain_index: float | None
    ratio: float | None

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return asdict(self)


def measure_fairness(result: Record) -> list[GroupShare]:
    """Measure each group of bulk flows, in the tables' order; nothing where only one goes that way.

    Up and down are apart: what goes one way leaves what goes the other its line.
    """
    return [
        share
        for direction, groups in _gather_goodputs(result).items()
        if sum(len(goodputs) for goodputs in groups.values()) > 1
        for share in _share_out(direction, groups)
    ]


def measure_evenness(result: Record) -> dict[str, float]:
    """Give Jain's index over all bulk flows of each direction with several; NaN if none got any."""
    indices = {}
    for direction, groups in _gather_goodputs(result).items():
        goodputs = [goodput for own in groups.values() for goodput in own]
        if len(goodputs) > 1:
            index = compute_jain(goodputs)
            indices[direction] = math.nan if index is None else index
    return indices


def _gather_goodputs(result: Record) -> dict[str, dict[str, list[float]]]:
    """Give the goodputs of bulk flows by direction and group, bit/s."""
    goodputs: dict[str, dict[str, list[float]]] = {}
    for row in result.rows("flows"):
        if row["carries"] == "data" and row["application"] in list_applications("bulk"):
            groups = goodputs.setdefault(row["direction"], {})
            group = name_group(row["flow"]) or row["flow"]
            groups.setdefault(group, []).append(float(row["goodput_bps"]))
    return goodputs


def _share_out(direction: str, goodputs: Mapping[str, Sequence[float]]) -> list[GroupShare]:
    means = {group: sum(members) / len(members) for group, members in goodputs.items()}
    most = max(means.values())
    return [
        GroupShare(
            group,
            direction,
            len(members),
            means[group],
            compute_jain(members),
            means[group] / most if most else None,
        )
        for group, members in goodputs.items()
    ]
