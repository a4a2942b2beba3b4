"""What is wrong in a cell of Wi-Fi, with what helps: its queues, slow, hidden and far stations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headend.analysis import facts
from headend.analysis.air import find_cell_of
from headend.analysis.cell_settings import announce_frames, bring_nearer, separate_stations
from headend.analysis.channels import ChannelState
from headend.analysis.facts import Action, Remedy
from headend.analysis.hidden import find_hidden_pairs
from headend.analysis.queue_remedies import shorten
from headend.analysis.queue_state import QueueState, describe_queue
from headend.analysis.queues import LOSSY_SHARE, STANDING_TIME, weigh_queues
from headend.analysis.routes import list_links
from headend.analysis.signal import find_lost_signal
from headend.results.record import Record


def find_station_queues(record: Record, queue: QueueState) -> Remedy | None:
    """Propose a queue for each station, where stations share the one of their access point."""
    cell = find_cell_of(record, queue.link)
    if cell is None or queue.direction != "down":
        return None
    remedy = separate_stations(queue.link, cell)
    return remedy and replace(remedy, subject=queue.queue, queue=queue)


def relieve_cell(record: Record, queue: QueueState, channel: ChannelState) -> Iterator[Remedy]:
    """Find what else takes the air that a queue of a cell waits for, and what may give it back.

    That is a slow station, which may come nearer until its rate is its best. And it is another
    node's standing queue: what its senders have in flight comes back to this one.
    """
    cell = find_cell_of(record, channel.link)
    if cell and (slow := channel.slow_station):
        yield bring_nearer(channel.link, cell, slow.station)
    standing = (
        row
        for row in weigh_queues(record)
        if row["link"] == channel.link
        and row["queue"] != queue.queue
        and row["standing_ratio"] > STANDING_TIME
    )
    longest = max(standing, key=lambda row: row["median"], default=None)
    other = describe_queue(record, longest["queue"]) if longest else None
    if other is None:
        return
    if own := find_station_queues(record, other):
        yield own
    if other.is_tcps and (remedy := shorten(record, other)).action is Action.ADD_AQM:
        yield remedy


def find_hidden(record: Record, flow: str, *, suffers: bool) -> facts.HiddenStations | None:
    """Find a cell on a flow's way whose stations do not hear each other.

    Where nobody suffers, their frames may meet: then it matters only that many packets are given
    up.

    Parameters
    ----------
    suffers
        Whether a flow of the run suffers.
    """
    for link in list_links(record, flow):
        hidden = find_hidden_pairs(record, link)
        cell = find_cell_of(record, link)
        remedy = announce_frames(link, cell) if cell else None
        if hidden and remedy and (suffers or hidden.given_up_ratio > LOSSY_SHARE):
            return facts.HiddenStations(hidden, remedies=(remedy,))
    return None


def find_weak_signal(record: Record, flow: str) -> facts.WeakSignal | None:
    """Find that a station's signal is why the radio gives up most of what a flow loses."""
    signal = find_lost_signal(record, flow)
    if signal is None:
        return None
    # Where the scenario fixes the mode, another may do without a better signal.
    free = [Remedy(Action.FREE_RATE, signal.mode_path)] if signal.mode else []
    return facts.WeakSignal(signal, remedies=(*free, Remedy(Action.NEARER_STATION, signal.station)))
