"""Scores that people know from other tests: QoO, the letter of bufferbloat, round trips a minute.

They are of flows that measure round trips: pings, isochronous probes and real programs' TCP, and of
responsiveness tests. A call or a game has delays of each direction and no round trips: it has none
of these scores.

QoO (Quality of Outcome) is that of draft-ietf-ippm-qoo: an application's requirements are latencies
at percentiles and a share of lost packets, each with a value from which on the network is optimal
(the draft's ROP, earlier NRP) and one from which on it is of no use (CPUP, earlier NRPoU). Between
the two the score falls linearly from 100 to 0, and the least of all requirements counts. The draft
names no application's requirements; ``PROFILES`` has those of public implementations.

The letter is that of the speed test of DSLReports, by the increase of the mean round trip under
load. The test measures the idle line first. A run has no such phase, so its reference is the least
round trip that the flow saw, the warm-up included: where the line was full all the time, the
increase is a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headend.analysis.round_trips import ROUND_TRIPS
from headend.engine.columns import Lists, Tables
from headend.engine.description import REAL, name_measure
from headend.results.record import Record, cached_on_record

MS = 1e6


@dataclass(frozen=True)
class Profile:
    """What an application requires of the network's round trips.

    Parameters
    ----------
    title
        What the application is.
    source
        The implementation that has these numbers.
    delays
        By percentile the round trip that is optimal, and the one that is of no use, ns.
    loss
        The same of the share of lost packets; None where nothing is required of it.
    rate_bps
        The least throughput, a requirement that is met or not; None where there is none.
    """

    title: str
    source: str
    delays: Mapping[float, tuple[float, float]]
    loss: tuple[float, float] | None = None
    rate_bps: float | None = None


_LIBREQOS = "LibreQoE/LibreQoS, src/qoo_profiles.json at 9b3065c6 (2026-02-02)"
_GORESPONSIVENESS = (
    "network-quality/goresponsiveness, GetGamingQoO of qualityattenuation/qualityattenuation.go"
)

#: The profiles by name; ``QOO_PROFILES`` of the metrics lists them for expectations. Those of
#: LibreQoS have its names.
PROFILES: dict[str, Profile] = {
    "web_browsing": Profile("web pages", _LIBREQOS, {90: (50 * MS, 150 * MS)}, (0.005, 0.01)),
    "video_streaming": Profile("films", _LIBREQOS, {95: (50 * MS, 100 * MS)}, (0.001, 0.01)),
    "video_conferencing": Profile(
        "video calls", _LIBREQOS, {95: (50 * MS, 100 * MS)}, (0.001, 0.005)
    ),
    "real_time_gaming": Profile("fast games", _LIBREQOS, {95: (50 * MS, 100 * MS)}, (0.005, 0.01)),
    "gaming": Profile(
        "games",
        _GORESPONSIVENESS,
        {50: (30 * MS, 150 * MS), 95: (65 * MS, 200 * MS), 99: (100 * MS, 250 * MS)},
    ),
}

#: DSLReports, FAQ 17930 "Bufferbloat Grades": the letter for an increase below this one, ns. There
#: is no E.
LETTERS = ((5 * MS, "A+"), (30 * MS, "A"), (60 * MS, "B"), (200 * MS, "C"), (400 * MS, "D"))
WORST_LETTER = "F"

#: draft-ietf-ippm-responsiveness-09 §1.2: round trips a minute from which on responsiveness is of
#: this class. "300 RPM or worse" is poor.
RESPONSIVENESS = ((6000.0, "excellent"), (1000.0, "good"), (math.nextafter(300.0, 301.0), "fair"))
WORST_RESPONSIVENESS = "poor"

#: The words that Apple's networkQuality prints. Apple publishes no bounds (article 101942 says what
#: each word means for people); these are what its users saw: Low up to 183, Medium from 206 to 993,
#: High from 1060 on (network-quality/goresponsiveness#40).
APPLE = ((1000.0, "High"), (200.0, "Medium"))
WORST_APPLE = "Low"

#: Of fewer answers than these the 99th percentile is the longest round trip, or next to it.
FEW_ANSWERS = 100


def score_qoo(
    profile: Profile,
    delays: Mapping[float, float],
    loss: float | None,
    rate_bps: float | None = None,
) -> float:
    """Score measurements by a profile, from 0 to 100.

    Parameters
    ----------
    delays
        Round trips by percentile, ns: at least those that the profile has requirements of. NaN
        where no packet was answered.
    loss
        Share of lost packets; None where it is not known, and nothing is deducted then.
    rate_bps
        The throughput; None where it was not measured.

    Examples
    --------
    The example of draft-ietf-ippm-qoo, whose three scores are 50, 75 and 100:

    >>> example = Profile(
    ...     "", "", {99: (200e6, 500e6), 99.9: (300e6, 600e6)}, (0.01, 0.05), rate_bps=4e6
    ... )
    >>> round(score_qoo(example, {99: 350e6, 99.9: 375e6}, loss=0.02, rate_bps=28e6), 6)
    50.0
    >>> round(score_qoo(example, {99: 100e6, 99.9: 375e6}, loss=0.02), 6)
    75.0
    >>> score_qoo(example, {99: 100e6, 99.9: 300e6}, loss=0.0, rate_bps=1e6)
    0.0
    """
    scores = [
        _interpolate(delays[percentile], *bounds) for percentile, bounds in profile.delays.items()
    ]
    if profile.loss and loss is not None:
        scores.append(_interpolate(loss, *profile.loss))
    if profile.rate_bps is not None and rate_bps is not None:
        scores.append(100.0 if rate_bps >= profile.rate_bps else 0.0)
    return min(scores)


def _interpolate(value: float, optimal: float, useless: float) -> float:
    if math.isnan(value):
        return 0.0
    return 100 * min(max((useless - value) / (useless - optimal), 0.0), 1.0)


def find_letter(bloat_ns: float) -> str:
    """Give the letter for an increase of the mean round trip.

    Examples
    --------
    >>> [find_letter(ms * 1e6) for ms in (4.9, 5, 30, 60, 200, 400)]
    ['A+', 'A', 'B', 'C', 'D', 'F']
    """
    return next((letter for bound, letter in LETTERS if bloat_ns < bound), WORST_LETTER)


def classify_rpm(rpm: float) -> str:
    """Give the class of responsiveness by the draft.

    Examples
    --------
    >>> [classify_rpm(rpm) for rpm in (300, 301, 1000, 6000)]
    ['poor', 'fair', 'good', 'excellent']
    """
    return next((word for bound, word in RESPONSIVENESS if rpm >= bound), WORST_RESPONSIVENESS)


def name_as_apple(rpm: float) -> str:
    """Give the word that Apple's networkQuality prints.

    Examples
    --------
    >>> [name_as_apple(rpm) for rpm in (183, 206, 993, 1060)]
    ['Low', 'Medium', 'Medium', 'High']
    """
    return next((word for bound, word in APPLE if rpm >= bound), WORST_APPLE)


@dataclass(frozen=True)
class RoundTrips:
    """What was measured of a flow's round trips, in ns; NaN where nothing was answered.

    Parameters
    ----------
    answers
        How many packets were answered.
    loss
        Share of those that were not; of a real program, of its packets that were lost.
    least_ns
        The least round trip that the run saw.
    delays
        Round trips by percentile.
    """

    answers: int
    loss: float | None
    least_ns: float
    mean_ns: float
    delays: Mapping[float, float]

    @property
    def bloat_ns(self) -> float:
        """How much longer the mean round trip is than the least one."""
        return self.mean_ns - self.least_ns

    def score(self, profile: str) -> float:
        """Score them by a profile."""
        return score_qoo(PROFILES[profile], self.delays, self.loss)


@dataclass(frozen=True)
class Scores:
    """The scores of a flow: of its round trips, or of a responsiveness test the RPM alone.

    Parameters
    ----------
    rpm
        Of round trips a minute over their mean; of a responsiveness test the median of its results
        in the worse direction. None where nothing was answered.
    """

    flow: str
    application: str
    trips: RoundTrips | None
    rpm: float | None

    @property
    def qoo(self) -> dict[str, float]:
        """QoO by profile; empty where there are no round trips."""
        return {name: self.trips.score(name) for name in PROFILES} if self.trips else {}

    @property
    def bloat_ns(self) -> float | None:
        """The increase of the mean round trip; None where there are no round trips."""
        return self.trips.bloat_ns if self.trips and self.trips.answers else None

    def to_dict(self) -> dict[str, Any]:
        """Give them as plain values for JSON, None where something was not measured."""
        trips, bloat = self.trips, self.bloat_ns
        has_answers = trips is not None and trips.answers > 0
        return {
            "flow": self.flow,
            "application": self.application,
            "answers": trips.answers if trips else None,
            "loss_ratio": trips.loss if trips else None,
            "rtt_min_ns": trips.least_ns if trips and has_answers else None,
            "rtt_mean_ns": trips.mean_ns if trips and has_answers else None,
            "bloat_ns": bloat,
            "bloat_grade": None if bloat is None else find_letter(bloat),
            "rpm": self.rpm,
            "rpm_class": None if self.rpm is None else classify_rpm(self.rpm),
            "rpm_apple": None if self.rpm is None else name_as_apple(self.rpm),
            "qoo": self.qoo or None,
        }


@cached_on_record
def score_flows(record: Record) -> list[Scores]:
    """Score every flow that measured round trips or responsiveness, in the order of the flows."""
    flows = record.lists("flows")
    applications = dict(zip(flows["flow"], flows["application"], strict=True))
    trips = measure_trips(record.tables, applications)
    tests = _read_tests(record.lists("measures"))
    return [
        Scores(flow, application, trips.get(flow), _find_rpm(trips.get(flow), tests.get(flow)))
        for flow, application in applications.items()
        if flow in trips or flow in tests
    ]


def _find_rpm(trips: RoundTrips | None, tested: float | None) -> float | None:
    if tested is not None:
        return tested
    return 60e9 / trips.mean_ns if trips and trips.answers else None


def _read_tests(measures: Lists) -> dict[str, float]:
    """Give the median result of each responsiveness test, of two directions the lower one."""
    names = [name_measure("rpm", way) for way in ("up", "down")]
    found: dict[str, float] = {}
    for place in measures.find_rows(measure=names):
        flow, value = measures["flow"][place], measures["p50"][place]
        if not math.isnan(value):
            found[flow] = min(found.get(flow, value), value)
    return found


def measure_trips(tables: Tables, among: Collection[str]) -> dict[str, RoundTrips]:
    """Give the round trips of those flows that measured any, by flow."""
    measures = Lists.of(tables, "measures")
    rows = measures.find_rows(flow=among, measure=[ROUND_TRIPS])
    names = {measures["flow"][row]: row for row in rows if measures["count"][row]}
    real = {flow: loss for flow, loss in _read_losses(Lists.of(tables, "flows")) if flow in names}
    unanswered = _count_unanswered(tables, names)
    least = _find_least(tables, names.keys() - real.keys())
    trips = {}
    for flow, row in names.items():
        count, lost = measures["count"][row], unanswered.get(flow, 0)
        delays = {at: measures[f"p{at:g}"][row] for at in _list_percentiles()}
        trips[flow] = RoundTrips(
            count - lost,
            real[flow] if flow in real else lost / count,
            min(measures["min"][row], least.get(flow, math.inf)) if lost < count else math.nan,
            measures["mean"][row],
            delays,
        )
    return trips


def _list_percentiles() -> list[float]:
    return sorted({at for profile in PROFILES.values() for at in profile.delays})


def _read_losses(flows: Lists) -> Iterator[tuple[str, float | None]]:
    """Give the share of lost packets of each real program, in the worse direction.

    Acknowledgements that a modem leaves out are no loss.
    """
    shares: dict[str, list[float]] = {}
    for row in flows.find_rows(application=[REAL]):
        own = shares.setdefault(flows["flow"][row], [])
        loss = flows["loss_ratio"][row]
        if not math.isnan(loss):
            thinned = flows["discarded_ack_thinned"][row] / max(flows["packets_sent"][row], 1)
            own.append(max(loss - thinned, 0.0))
    for flow, losses in shares.items():
        yield flow, max(losses, default=None)


def _count_unanswered(tables: Tables, among: Collection[str]) -> dict[str, int]:
    """Count the packets of each flow that had no answer."""
    counts: dict[str, int] = {}
    if "samples" in tables:
        samples = Lists.of(tables, "samples")
        for row in samples.find_rows(flow=among, measure=[ROUND_TRIPS]):
            if math.isnan(samples["value"][row]):
                flow = samples["flow"][row]
                counts[flow] = counts.get(flow, 0) + 1
    return counts


def _find_least(tables: Tables, among: Collection[str]) -> dict[str, float]:
    """Give the least delay of both directions together, the warm-up included, by flow.

    Samples begin after the warm-up, when a queue may already stand. The series have the mean of
    each interval from the start on, which is no less than the least delay of that interval.
    """
    if "flow_series" not in tables or not among:
        return {}
    series = Lists.of(tables, "flow_series")
    least: dict[tuple[str, str], float] = {}
    for row in series.find_rows(flow=among):
        delay = series["delay_mean_ns"][row]
        if not math.isnan(delay):
            key = series["flow"][row], series["direction"][row]
            least[key] = min(least.get(key, delay), delay)
    return {
        flow: least[flow, "up"] + least[flow, "down"]
        for flow in among
        if (flow, "up") in least and (flow, "down") in least
    }


def read_scores(tables: Tables, members: Collection[str], profile: str | None) -> list[float]:
    """Give each flow's QoO by a profile, or without one, its increase of the mean round trip.

    Nothing where one of them was not measured.
    """
    trips = measure_trips(tables, members)
    if profile is not None:
        return [own.score(profile) for own in trips.values()]
    increases = [own.bloat_ns for own in trips.values()]
    return [] if any(map(math.isnan, increases)) else increases
