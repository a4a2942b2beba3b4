"""The channels that the queues of a cable line or of a cell share: their use, and whether full."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from headend.analysis.air import (
    FEW_BITS,
    MUCH_AIR,
    SMALL_PACKET,
    AirShare,
    list_air_shares,
    measure_bits,
    measure_packets,
)
from headend.results.record import Record, cached_on_record
from headend.scenario.cells import find_cell

#: A channel is full from these shares on: of the time in which a modem waited for it, and of its
#: capacity that was used. The time alone is not enough: on any busy channel, modems request more
#: than single MAPs have.
FULL_TIME = 0.5
FULL_USE = 0.95

#: A cell is full from this share on of the time in which a station had a frame to send; gaps
#: between frames take much of its capacity.
FULL_CELL = 0.95


@dataclass(frozen=True)
class ChannelState:
    """The use of a channel. Rates in bit/s.

    Parameters
    ----------
    queues
        How many queues share it.
    full_ratio
        Share of the time in which modems requested more than the channel had; in a cell, in which a
        station had a frame to send.
    granted_maps_ratio
        Of a cable upstream: share of MAPs that carried a grant; NaN elsewhere.
    collision_ratio, broken_ratio, idle_ratio
        Of a cell: shares of the time in which frames collided, in which frames arrived broken, and
        in which nobody sent; NaN elsewhere.
    is_cell
        Whether it is the channel of a cell, which all queues share in both directions.
    stations
        Of a cell: what each station takes of its time, the one with most of it first.
    packet_bytes
        Of a cell: the mean size of the packets that its queues sent; NaN elsewhere.
    bits_ratio
        Of a cell: the share of its frames' time that their packets' own bits take; NaN elsewhere.
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
    granted_maps_ratio: float = math.nan
    collision_ratio: float = math.nan
    broken_ratio: float = math.nan
    idle_ratio: float = math.nan
    is_cell: bool = False
    stations: tuple[AirShare, ...] = ()
    packet_bytes: float = math.nan
    bits_ratio: float = math.nan

    @property
    def slow_station(self) -> AirShare | None:
        """The slow station that takes most of a cell's time; None where none takes much of it."""
        slow = (one for one in self.stations if one.is_slow and one.air_ratio >= MUCH_AIR)
        return next(slow, None)

    @property
    def has_small_packets(self) -> bool:
        """Whether packets of a cell are small, and cost much more air than their bits take."""
        return 0 < self.packet_bytes <= SMALL_PACKET and self.bits_ratio <= FEW_BITS

    @property
    def has_collisions(self) -> bool:
        """Whether collisions take much of a cell's time."""
        return self.collision_ratio >= MUCH_AIR

    @property
    def has_broken_frames(self) -> bool:
        """Whether frames that arrive broken take much of a cell's time."""
        return self.broken_ratio >= MUCH_AIR

    @property
    def title(self) -> str:
        """The channel's name in a sentence."""
        if self.is_cell:
            return f"channel of {self.channel}"
        return f"{self.direction}stream channel {self.channel}"

    def serves(self, link: str, direction: str) -> bool:
        """Say whether the queues of a link and direction send over this channel."""
        return self.link == link and (self.is_cell or self.direction == direction)

    @property
    def is_full(self) -> bool:
        """Whether the channel, not a queue, is what packets of its queues wait for."""
        if self.is_cell:
            return self.full_ratio > FULL_CELL
        return self.full_ratio > FULL_TIME and self.utilisation > FULL_USE

    @property
    def is_shared(self) -> bool:
        """Whether several queues, or a queue and neighbours, share the channel."""
        return self.queues > 1 or self.neighbours_bps > 0

    @property
    def sharing(self) -> str:
        """Who shares it, in words."""
        queues = f"{self.queues} queue{'s' if self.queues > 1 else ''}"
        return f"{queues} and neighbours" if self.neighbours_bps > 0 else queues


def gather_channels(result: Record) -> list[ChannelState]:
    """Give the channels that are shared or full."""
    return [state for state in _gather(result) if state.is_shared or state.is_full]


def gather_cells(result: Record) -> list[ChannelState]:
    """Give the channels of cells."""
    return [state for state in _gather(result) if state.is_cell]


@cached_on_record
def _gather(result: Record) -> list[ChannelState]:
    links = result.manifest.get("scenario", {}).get("link", {})
    states = []
    for row in result.rows("channels"):
        if math.isnan(row["utilisation"]):
            continue
        is_cell = find_cell(links.get(row["link"])) is not None
        state = ChannelState(**row, queues=0)
        if is_cell:
            state = replace(
                state,
                channel=row["link"],
                is_cell=True,
                stations=list_air_shares(result, row["link"]),
                packet_bytes=measure_packets(result, row["link"]),
                bits_ratio=measure_bits(result, row["link"]),
            )
        sharing = [
            queue
            for queue in result.rows("queues")
            if queue["link"] == state.link and state.serves(queue["link"], queue["direction"])
        ]
        states.append(replace(state, queues=len(sharing)))
    return states
