"""What is kept of each run: of each group of people, how many were judged, and suffer from what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from headend.analysis.causes import DelayCause, DelaySource, list_flow_causes
from headend.analysis.grading import Grade
from headend.analysis.quality import judge_flows
from headend.running.measuring import make_frame
from headend.scenario.groups import name_group
from headend.scenario.subjects import Vocabulary

if TYPE_CHECKING:
    import polars as pl

    from headend.results.record import Record

#: The metric that counts people of whom enough was measured.
JUDGED = "judged"

#: What a channel carried, and what it could carry, bit/s.
USED, CAPACITY = "used", "capacity"


class Cause(StrEnum):
    """What people suffer from."""

    OWN = "own"
    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"
    REQUESTS = "requests"
    UNKNOWN = "unknown"

    @property
    def is_shared(self) -> bool:
        """Whether fewer homes would help; of an unknown cause that is assumed."""
        return self is not Cause.OWN

    @property
    def words(self) -> str:
        """The cause as a table names it."""
        return _WORDS[self]


_WORDS = {
    Cause.OWN: "transfers of the own home",
    Cause.UPSTREAM: "the full upstream channel",
    Cause.DOWNSTREAM: "the full downstream channel",
    Cause.REQUESTS: "requests that collide",
    Cause.UNKNOWN: "an unknown cause",
}


#: The causes that fewer homes would help.
SHARED = tuple(cause for cause in Cause if cause.is_shared)


@dataclass(frozen=True)
class Suffering:
    """Counts people by group and cause, and measures the channels that homes share."""

    def describe(self) -> str:
        """Give a text that is the same for equal selections."""
        return "suffering by group"

    def check(self, vocabulary: Vocabulary) -> None:
        """Refuse nothing: every scenario has people or has not."""

    def take(self, record: Record, vocabulary: Vocabulary) -> pl.DataFrame:
        """Take a row for each group and cause, and two for each shared channel."""
        return make_frame([*_count_people(record), *_measure_channels(record)])


def _count_people(record: Record) -> Iterator[dict[str, Any]]:
    """Count the judged people of each group, and those who suffer, by cause."""
    judged = [own.flow for own in judge_flows(record) if own.grade is not Grade.NONE]
    # Also of a few: the same people have the same name with any number of homes.
    names = {flow: name_group(flow) or flow for flow in judged}
    suffering: Counter[tuple[str, Cause]] = Counter()
    for finding, cause in list_flow_causes(record):
        if finding.flow in names:
            suffering[names[finding.flow], _name_cause(record, cause)] += 1
    for name, number in Counter(names.values()).items():
        yield _make_row(name, JUDGED, number, "1")
        for own in Cause:
            yield _make_row(name, own, suffering[name, own], "1")


def _name_cause(record: Record, found: DelayCause | None) -> Cause:
    if found is None:
        return Cause.UNKNOWN
    if found.source is DelaySource.QUEUE and _has_own_rate(record, found):
        return Cause.OWN
    if found.source is DelaySource.CONTENTION:
        return Cause.REQUESTS
    return Cause.UPSTREAM if found.direction == "up" else Cause.DOWNSTREAM


def _has_own_rate(record: Record, found: DelayCause) -> bool:
    """Say whether a home's queue has a lower rate than its channel; without one it fills that."""
    (rate,) = (row["rate_bps"] for row in record.rows("queues") if row["queue"] == found.queue)
    capacities = (
        row["capacity_bps"]
        for row in record.rows("channels")
        if row["link"] == found.link and row["direction"] == found.direction
    )
    return all(rate < capacity for capacity in capacities)


def _measure_channels(record: Record) -> Iterator[dict[str, Any]]:
    for row in record.rows("channels"):
        if row["direction"] in ("up", "down"):
            subject = f"{row['link']}.{row['direction']}"
            yield _make_row(subject, USED, row["used_bps"], "bit/s")
            yield _make_row(subject, CAPACITY, row["capacity_bps"], "bit/s")


def _make_row(subject: str, metric: str, value: float, unit: str) -> dict[str, Any]:
    return {
        "measure": f"{subject}.{metric}",
        "subject": subject,
        "metric": metric,
        "value": float(value),
        "unit": unit,
    }
