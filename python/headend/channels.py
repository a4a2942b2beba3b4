"""The channels that the queues of a cable line share: how much of each was used, and whether it was full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headend.quantity import format_quantity

if TYPE_CHECKING:
    from headend.result import Result

#: Share of the time in which somebody waited for a channel, and share of it that was used, from which it is called full: in single MAPs more
#: is asked for than there is on any busy channel.
FULL_TIME = 0.5
FULL_USE = 0.95


@dataclass(frozen=True)
class ChannelState:
    """What went over a channel. Rates in bit/s.

    Parameters
    ----------
    queues
        How many queues share it.
    full_ratio
        Share of the time in which it had less to give than was asked for.
    """

    channel: str
    link: str
    direction: str
    queues: int
    capacity_bps: float
    used_bps: float
    neighbours_bps: float
    utilisation: float
    full_ratio: float

    @property
    def is_full(self) -> bool:
        """Whether it is what those wait for whose queues share it."""
        return self.full_ratio > FULL_TIME and self.utilisation > FULL_USE

    @property
    def is_shared(self) -> bool:
        """Whether others have a part of it too."""
        return self.queues > 1 or self.neighbours_bps > 0

    @property
    def sharing(self) -> str:
        """Who shares it, in words."""
        queues = f"{self.queues} queue{'s' if self.queues > 1 else ''}"
        return f"{queues} and neighbours" if self.neighbours_bps > 0 else queues


def gather_channels(result: Result) -> list[ChannelState]:
    """Give the channels that are shared or full."""
    import polars as pl

    sizes = result.queues.group_by("link", "direction").agg(queues=pl.len())
    rows = result.channels.join(
        sizes, on=["link", "direction"], how="left", maintain_order="left"
    ).filter(pl.col("utilisation").is_not_nan())
    states = [ChannelState(**row) for row in rows.to_dicts()]
    return [state for state in states if state.is_shared or state.is_full]


def tell_channel(state: ChannelState) -> str:
    """Say that a channel is full, and by how much."""
    used = format_quantity(state.used_bps, "rate")
    if state.neighbours_bps > 0:
        used += f" used and {format_quantity(state.neighbours_bps, 'rate')} taken by neighbours"
    return (
        f"The {state.direction}stream channel {state.channel} ({state.sharing}) is full: {used} of"
        f" {format_quantity(state.capacity_bps, 'rate')}, and {format_quantity(state.full_ratio, 'ratio')} of the time more"
        " was asked for than it has."
    )
