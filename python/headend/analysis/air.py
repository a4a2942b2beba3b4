"""Who takes the air of a cell, and why it is full: slow stations, small packets, collisions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headend.scenario.cells import Cell, find_cell
from headend.scenario.groups import find_groups, label_member

if TYPE_CHECKING:
    from headend.results.record import Record

#: A station is slow from this share of the fastest station's rate down: its frames then take about
#: twice the air of the others' at least, and in an 802.11 cell everybody has as many turns (Heusse
#: et al. 2003).
SLOW_RATE = 0.5

#: Share of the time from which it matters that a slow station, or collisions, take it.
MUCH_AIR = 0.1

#: Mean size of a cell's packets up to which they are small, in bytes: a fifth of the 1500 B of a
#: full one.
SMALL_PACKET = 300.0

#: Share of the time of frames, with their gaps and answers, up to which packets' own bits are
#: little of what they cost: a fifth. Frames that carry many packets do better.
FEW_BITS = 0.2


@dataclass(frozen=True)
class AirShare:
    """What a station, or a group of stations with one name, takes of the time of its cell.

    Parameters
    ----------
    label
        What to call it: ``printer``, or ``phone ×7``.
    station
        The station's name in the scenario.
    air_ratio
        Share of the time: its frames up and down with their gaps and answers, and broken ones.
    rate_bps
        Its data rate, bit/s: of what rate control chose the harmonic mean, weighted by MPDUs; of a
        group the lowest.
    is_slow
        Whether its rate is half of the fastest station's or less.
    """

    label: str
    station: str
    air_ratio: float
    rate_bps: float
    is_slow: bool = False


def find_cell_of(record: Record, link: str) -> Cell | None:
    """Give the cell that a link of a run is; None for another link."""
    return find_cell(record.manifest.get("scenario", {}).get("link", {}).get(link))


def list_air_shares(record: Record, link: str) -> tuple[AirShare, ...]:
    """List what the stations of a cell take of its time, the one with most of it first."""
    used: dict[str, float] = {}
    for row in record.rows("air_time"):
        if row["link"] == link and row["station"]:
            used[row["station"]] = used.get(row["station"], 0.0) + row["air_ratio"]
    rates = _list_rates(record, link)
    fastest = max(rates.values(), default=0.0)
    groups, shares = find_groups(used), dict[str, AirShare]()
    cell = find_cell_of(record, link)
    for name, ratio in used.items():
        label, rate = label_member(name, groups), rates.get(name, fastest)
        before = shares.get(label)
        if before:
            ratio, rate = ratio + before.air_ratio, min(rate, before.rate_bps)
        stem = name.rpartition(".")[0] if cell and name not in cell.stations else name
        shares[label] = AirShare(label, stem or name, ratio, rate, rate <= SLOW_RATE * fastest)
    return tuple(sorted(shares.values(), key=lambda one: -one.air_ratio))


def find_fastest_rate(record: Record, link: str) -> float | None:
    """Give the rate of the fastest station that a cell's frames go to or come from, bit/s.

    None of another link, and of a cell that sent nothing.
    """
    if find_cell_of(record, link) is None:
        return None
    rates = _list_rates(record, link)
    rows = (row for row in record.rows("air_time") if row["link"] == link)
    active = {row["station"] for row in rows if row["air_ratio"]}
    return max((rates[name] for name in active if name in rates), default=None)


def _list_rates(record: Record, link: str) -> Mapping[str, float]:
    """List the data rates of a cell's stations, by their names, bit/s.

    Of what rate control chose it is the harmonic mean, weighted by MPDUs from and to a station.
    """
    rates = {
        _name_station(link, row["queue"]): row["rate_bps"]
        for row in record.rows("queues")
        if row["link"] == link and row["direction"] == "up"
    }
    mpdus: defaultdict[str, int] = defaultdict(int)
    times: defaultdict[str, float] = defaultdict(float)
    for row in record.rows("rate_control"):
        if row["link"] == link:
            mpdus[row["station"]] += row["mpdus"]
            times[row["station"]] += row["mpdus"] / row["rate_bps"]
    return rates | {station: mpdus[station] / times[station] for station in mpdus}


def _name_station(link: str, queue: str) -> str:
    """Name the station whose queue of what goes up this is."""
    return queue.removeprefix(f"{link}.").rpartition(".")[0]


def measure_bits(record: Record, link: str) -> float:
    """Give the share of the time of a cell's frames, gaps included, that bits of packets take.

    Downlink bits are counted at the fastest station's rate: the share is too small where another
    station is slower.
    """
    time = (record.manifest["simulated_ns"] - record.manifest.get("warmup_ns", 0)) / 1e9
    rates = _list_rates(record, link)
    bits = 0.0
    for row in record.rows("queues"):
        if row["link"] != link:
            continue
        rate = row["rate_bps"]
        if row["direction"] == "up":
            rate = rates[_name_station(link, row["queue"])]
        bits += 8 * row["bytes_dequeued"] / rate if rate else 0.0
    taken = sum(share.air_ratio for share in list_air_shares(record, link))
    return float(bits / (time * taken)) if time and taken else 0.0


def measure_packets(record: Record, link: str) -> float:
    """Give the mean size of the packets that a cell's queues sent, in bytes; 0 for none."""
    rows = [row for row in record.rows("queues") if row["link"] == link]
    packets = sum(row["packets_dequeued"] for row in rows)
    return float(sum(row["bytes_dequeued"] for row in rows)) / packets if packets else 0.0
