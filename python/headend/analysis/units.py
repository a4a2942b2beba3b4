"""The units that the tables of people and of queues are written in: one to a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headend.text.quantity import PER_CENT, Unit, choose_unit

if TYPE_CHECKING:
    from headend.analysis.bottleneck import QueueGroup
    from headend.analysis.channels import ChannelState
    from headend.analysis.flow_groups import FlowGroup
    from headend.analysis.quality import FlowQuality


@dataclass(frozen=True)
class TableUnits:
    """The units of a table's columns, one for each kind of quantity; all delays share one."""

    delay: Unit
    rate: Unit
    size: Unit
    share: Unit = PER_CENT


def choose_people_units(parties: Sequence[FlowGroup]) -> TableUnits:
    """Choose the units of the table of people, by the rows that it has."""
    shown = [finding for party in parties for finding in (party.worst, party.middle)]
    return choose_member_units(shown)


def choose_member_units(findings: Sequence[FlowQuality]) -> TableUnits:
    """Choose the units of a table with a row for each of some flows."""
    delays = [own for finding in findings for own in (finding.delay_p50_ns, finding.delay_p95_ns)]
    rates = [finding.goodput_bps for finding in findings]
    return TableUnits(
        choose_unit(delays, "time"), choose_unit(rates, "rate"), choose_unit([], "size")
    )


def choose_queue_units(
    parties: Sequence[QueueGroup], channels: Sequence[ChannelState] = ()
) -> TableUnits:
    """Choose the units of the table of queues and channels, by the rows that it has."""
    shown = [row for party in parties for row in (party.worst, party.middle)]
    delays = [row[name] for row in shown for name in ("delay_p50_ns", "delay_p99_ns")]
    rates = [row["rate_bps"] for row in shown] + [state.capacity_bps for state in channels]
    sizes = [row["backlog_max_bytes"] for row in shown]
    return TableUnits(
        choose_unit(delays, "time"), choose_unit(rates, "rate"), choose_unit(sizes, "size")
    )
