"""Simulates a fitted line under the load of the measurement, and takes what its probes show."""

from __future__ import annotations

import json
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from headend.fitting.candidate import Candidate, write_ms
from headend.fitting.features import Samples, find_features
from headend.fitting.fitted_line import FittedLine, Medium, name_host, write_link
from headend.fitting.intervals import find_quantile
from headend.fitting.observation import Observation, list_directions
from headend.fitting.samples import PACKET_BITS
from headend.measurement.record import Direction, Load, Measurement, Probe, Trip
from headend.running.measuring import make_frame

if TYPE_CHECKING:
    import polars as pl

    from headend.results.record import Record
    from headend.scenario.subjects import Vocabulary

#: How long the line is idle before the load, s: the least delay is found then.
IDLE_SECONDS = 2.0

#: Within what time the flows of the load begin, s, from seed to seed: nobody knows how exactly a
#: tool starts them together.
SPREADS = (0.01, 0.2, 1.0)

#: The load that is simulated is no longer, s.
MOST_SECONDS = 30.0

#: Nor shorter: a slow controller needs some seconds.
FEWEST_SECONDS = 10.0

#: Packets of the load that one simulation carries, by which the load of fast lines is shortened.
MOST_PACKETS = 800_000

#: How much less each pair of queues may cost, of which there are so many more.
PAIRS_COST = 4

#: How much less a load costs of which the tool keeps no times: what changes with time is not seen.
UNTIMED_COST = 2

#: Connections of a direction where the tool does not say: speed tests have some.
SUPPOSED_FLOWS = 4

#: Connections that are simulated at most: more behave as these, and cost more.
MOST_FLOWS = 32

#: What tools call congestion controls, and how a scenario names them.
CONGESTION = {
    "bbr": "bbr",
    "bbr1": "bbr",
    "bbr2": "bbr3",
    "bbr3": "bbr3",
    "cubic": "cubic",
    "newreno": "reno",
    "reno": "reno",
    "vegas": "vegas",
    "westwood": "westwood",
    "prague": "prague",
    "dctcp": "dctcp",
}

#: The congestion controls that fill a line where the tool does not name one.
USUAL = ("cubic", "bbr3", "reno")

#: How likely the congestion control is that a tool names, of the direction that the tool's own
#: computer sends. The other direction is sent by a server, of which it knows nothing.
_OWN, _SERVERS = 1.0, 0.8

#: The names of the flows.
_LOAD, _PROBE, _MARKED = "load", "probe", "marked"


@dataclass(frozen=True)
class Plan:
    """What is simulated of a phase of load.

    Parameters
    ----------
    load
        What is filled.
    seconds
        How long.
    flows
        Connections, by the direction's name.
    trip, interval, is_icmp
        Of the probe; s.
    has_marked
        Whether a marked probe runs too.
    idle
        What the access of the measured line adds to delays by itself, as quantiles in even steps,
        ms: a plain link has none of its own. Empty where the simulated line has.
    is_timed, has_samples
        Whether the times of the delays are known, and whether single delays are.
    """

    load: Load
    seconds: float
    flows: Mapping[str, int]
    trip: Trip
    interval: float
    is_icmp: bool
    has_marked: bool
    idle: tuple[float, ...] = ()
    is_timed: bool = True
    has_samples: bool = True


def plan(observation: Observation, line: FittedLine, flows: Mapping[Direction, int | None]) -> Plan:
    """Plan how a phase of load is simulated: no longer than is needed."""
    ways = list(list_directions(observation.load))
    rate = sum(line.directions[way].rate for way in ways)
    packets = MOST_PACKETS / (PAIRS_COST if len(ways) > 1 else 1)
    packets /= 1 if observation.is_timed else UNTIMED_COST
    most = max(min(MOST_SECONDS, packets * PACKET_BITS / rate), FEWEST_SECONDS)
    return Plan(
        observation.load,
        math.floor(min(observation.seconds, most)),
        {way.value: min(flows.get(way) or SUPPOSED_FLOWS, MOST_FLOWS) for way in ways},
        observation.trip,
        observation.interval,
        observation.kind is Probe.ICMP,
        observation.marked is not None,
        () if line.medium is Medium.CABLE else observation.idle,
        observation.is_timed,
        observation.median is None,
    )


def find_congestion(name: str) -> str | None:
    """Give the scenario's name of a congestion control that a tool names; None if unknown.

    Examples
    --------
    >>> find_congestion("BBR"), find_congestion("highspeed")
    ('bbr', None)
    """
    return CONGESTION.get(name.strip().lower().replace("_", "").replace("-", ""))


def list_congestion(measurement: Measurement, observation: Observation) -> list[tuple[str, float]]:
    """List who may have loaded the line, each with how likely that is."""
    named = find_congestion(measurement.senders.congestion)
    if named is None:
        return [(own, 1 / len(USUAL)) for own in USUAL]
    # Of both directions at once every pair of queues is tried: one congestion control is enough.
    sure = _SERVERS if observation.load is Load.DOWN else _OWN
    others = [own for own in USUAL if own != named]
    return [(named, sure), *((own, (1 - sure) / len(others)) for own in others if sure < 1)]


def count_flows(measurement: Measurement) -> dict[Direction, int | None]:
    """Give how many connections loaded each direction; None where the tool does not say."""
    senders = measurement.senders
    return {Direction.UP: senders.up, Direction.DOWN: senders.down}


def write_scenario(
    line: FittedLine,
    queues: Mapping[Direction, Candidate],
    own: Plan,
    congestion: str,
    rtt: float,
    spread: float = SPREADS[1],
) -> dict[str, Any]:
    """Write the scenario of a line under the load of a measurement.

    Parameters
    ----------
    line, queues
        What is simulated.
    own
        Under what load.
    congestion
        The congestion control of the load.
    rtt
        Round trip of the wide area, ms.
    spread
        Within what time the flows of the load begin, s.
    """
    where = {"host": name_host(line)} if name_host(line) else {}
    shared = {"rtt": write_ms(rtt), **where}
    probe: dict[str, Any] = {
        "application": {
            ("ping" if own.is_icmp else "isochronous"): {
                "interval": write_ms(own.interval * 1e3),
                "timeout": "3 s",
            }
        },
        "start": {"from": "0 s", "to": write_ms(own.interval * 1e3)},
        **shared,
    }
    flows: dict[str, Any] = {_PROBE: probe}
    if own.has_marked:
        apart = any(queue.takes_marked for queue in queues.values())
        marks = {"ecn": "ect1", "dscp": 46} if apart else {}
        probe = {**probe, **marks}
        probe["application"] = {
            "isochronous": {"interval": write_ms(own.interval * 1e3), "timeout": "3 s"}
        }
        flows[_MARKED] = probe
    for way, count in own.flows.items():
        flows[f"{_LOAD}_{way}"] = {
            "application": "bulk",
            "direction": way,
            "count": count,
            "start": {"from": f"{IDLE_SECONDS} s", "to": f"{IDLE_SECONDS + spread} s"},
            "tcp": {"congestion": congestion},
            **shared,
        }
    return {
        "duration": f"{IDLE_SECONDS + own.seconds} s",
        "results": {"interval": write_ms(choose_interval(own) * 1e3)},
        **write_link(line, queues, IDLE_SECONDS),
        "flow": flows,
    }


def choose_interval(own: Plan) -> float:
    """Give the interval of the series over time, s: of delays one way, that of the probe."""
    return 0.5 if own.trip is Trip.ROUND else min(max(own.interval, 0.02), 0.1)


@dataclass(frozen=True)
class Probed:
    """Takes from a run what its probes show, as `find_features` names it."""

    trip: str
    ways: tuple[str, ...]
    idle: tuple[float, ...] = ()

    def describe(self) -> str:
        """Give a text that is the same for equal selections."""
        return f"probed {json.dumps(asdict(self))}"

    def check(self, vocabulary: Vocabulary) -> None:
        """Refuse nothing: the scenario was written for it."""

    def take(self, record: Record, vocabulary: Vocabulary) -> pl.DataFrame:
        """Take a row for each feature and direction; delays in ns, all else in 1."""
        rows = []
        for way in self.ways:
            found = take_features(record, Trip(self.trip), self.idle, Direction(way))
            for name, value in found.items():
                is_delay = is_time(name)
                rows.append(
                    {
                        "measure": f"{way}.{name}",
                        "subject": _PROBE,
                        "direction": way,
                        "metric": name,
                        "value": value * (1e6 if is_delay else 1.0),
                        "unit": "ns" if is_delay else "1",
                    }
                )
        return make_frame(rows or [{}])


def is_time(name: str) -> bool:
    """Whether a feature is a time, which features have in ms."""
    return name.partition(".")[0] in ("delay", "in_flow", "marked", "start")


def take_features(
    record: Record, trip: Trip, idle: Sequence[float], direction: Direction
) -> dict[str, float]:
    """Find what the probes of a run show of a direction."""
    probe = take_probe(record, _PROBE, trip, idle)
    marked = take_probe(record, _MARKED, trip, idle)
    return find_features(
        probe,
        marked if marked.added else None,
        take_in_flow(record, direction),
        take_rates(record, direction),
    )


def take_probe(record: Record, name: str, trip: Trip, idle: Sequence[float] = ()) -> Samples:
    """Take what the load adds to the delays of a probe, and what the access does by itself.

    Parameters
    ----------
    record, name, trip
        The run, the probe's flow, and which delays.
    idle
        What the access adds, as quantiles in even steps, ms; each probe draws one. Empty for none.
    """
    if trip is Trip.ROUND:
        rows = [
            row for row in record.rows("samples") if row["flow"] == name and row["measure"] == "rtt"
        ]
        answered = [(row["time_ns"], row["value"]) for row in rows if not _is_absent(row["value"])]
        # A sample is recorded when the answer came, or when nobody waited for it any longer.
        pairs = sorted(((at - value) / 1e9, value / 1e6) for at, value in answered)
        lost = [row["time_ns"] / 1e9 - 3.0 for row in rows if _is_absent(row["value"])]
    else:
        rows = [
            row
            for row in record.rows("flow_series")
            if row["flow"] == name and row["direction"] == trip.value
        ]
        pairs = [
            (row["time_ns"] / 1e9, row["delay_mean_ns"] / 1e6)
            for row in rows
            if not _is_absent(row["delay_mean_ns"])
        ]
        lost = [row["time_ns"] / 1e9 for row in rows for _ in range(int(row["discarded"] or 0))]
    if not pairs:
        return Samples((), ())
    least = min(own for _, own in pairs)
    kept = [(at - IDLE_SECONDS, own - least) for at, own in pairs if at >= IDLE_SECONDS]
    return Samples(
        [at for at, _ in kept],
        [own + extra for (_, own), extra in zip(kept, _draw_idle(idle, len(kept)), strict=True)],
        sorted(at - IDLE_SECONDS for at in lost if at >= IDLE_SECONDS),
    )


def _draw_idle(idle: Sequence[float], count: int) -> list[float]:
    """Draw what the access adds to so many probes; the same draws for equal counts."""
    if not idle:
        return [0.0] * count
    drawn = random.Random(count)
    return [find_quantile(idle, drawn.random()) for _ in range(count)]


def take_in_flow(record: Record, direction: Direction) -> Samples | None:
    """Take what the load adds to the round trips of its own flows."""
    name = f"{_LOAD}_{direction.value}"
    table = record.lists("connection_series")
    rows = [
        (at / 1e9, srtt / 1e6)
        for flow, at, srtt in zip(
            *(table[column] for column in ("flow", "time_ns", "srtt_ns")), strict=True
        )
        if flow.startswith(name) and not _is_absent(srtt)
    ]
    if not rows:
        return None
    least = min(own for _, own in rows)
    rows = [(at - IDLE_SECONDS, own - least) for at, own in rows if at >= IDLE_SECONDS]
    rows.sort()
    return Samples([at for at, _ in rows], [own for _, own in rows])


def take_rates(record: Record, direction: Direction) -> list[float]:
    """Take the rate of the load's data in bins of a second, bit/s."""
    name = f"{_LOAD}_{direction.value}"
    table = record.lists("flow_series")
    sums: dict[int, float] = {}
    for flow, way, at, rate in zip(
        *(table[column] for column in ("flow", "direction", "time_ns", "goodput_bps")), strict=True
    ):
        if way == direction.value and flow.startswith(name):
            sums[at] = sums.get(at, 0.0) + rate
    bins: dict[int, list[float]] = {}
    for at, rate in sums.items():
        since = at / 1e9 - IDLE_SECONDS
        if since > 1e-9:
            bins.setdefault(math.ceil(since - 1e-9) - 1, []).append(rate)
    return [statistics.fmean(own) for _, own in sorted(bins.items())]


def _is_absent(value: float | None) -> bool:
    return value is None or math.isnan(value)
