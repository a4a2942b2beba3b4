"""Which share of the probes is lost: under load, and on the idle line.

What is lost on the idle line is lost at random; what is lost under load besides is lost for the
load. Losses come in groups, so that many trials count as fewer: their number is divided by how much
more the losses of a block of some seconds vary than independent ones would. Then the interval is
Wilson's. Of round trips it is not known in which direction a probe was lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from headend.fitting.delay import Added, rank_speaking
from headend.fitting.estimates import Bound, Estimate
from headend.fitting.intervals import BLOCK, bound_share
from headend.fitting.samples import (
    TRIP_OF,
    Delays,
    gather,
    list_idle_phases,
    list_loading_phases,
    list_phases,
)
from headend.fitting.summaries import estimate_loss_by_summaries
from headend.measurement.record import (
    Direction,
    Load,
    Measurement,
    Probe,
    Trip,
)
from headend.text.wording import write_count


def estimate_loss(
    measurement: Measurement, direction: Direction, added: Added | None
) -> Estimate | None:
    """Estimate the share of probes that are lost while a direction is loaded.

    Without probes it is the share of data that was sent again, which is at least what was lost.

    Parameters
    ----------
    measurement
        What was measured.
    direction
        Of the load.
    added
        The probes under load.
    """
    found = None
    if added is not None and _counts_losses(added.series.probe):
        found = _estimate_under_load(measurement, direction, added)
    if found is not None:
        return found
    return estimate_loss_by_summaries(measurement, direction) or _estimate_by_retransmissions(
        measurement, direction
    )


def _estimate_under_load(
    measurement: Measurement, direction: Direction, added: Added
) -> Estimate | None:
    probes, is_apart = added.whole, not added.mixed
    if added.series.trip is not Trip.ROUND and added.series.lost_count == 0:
        # Of one way only what arrived is known; the round trips tell what did not.
        phases = list_loading_phases(list_phases(measurement), direction)
        for series in rank_speaking(measurement, Trip.ROUND):
            if _counts_losses(series.probe) and series.times:
                probes = gather(series, phases, Load.BOTH)
                is_apart = all(phase.load is not Load.BOTH for phase in phases)
                break
    found = estimate_share(probes, "under load")
    if found is None or is_apart:
        return found
    return replace(found, low=0.0, bound=Bound.AT_MOST)


def estimate_random_loss(measurement: Measurement, direction: Direction) -> Estimate | None:
    """Estimate the share of probes that are lost on the idle line."""
    phases = list_idle_phases(list_phases(measurement))
    for trip in (TRIP_OF[direction], Trip.ROUND):
        for series in rank_speaking(measurement, trip):
            found = gather(series, phases, Load.IDLE)
            # A series of one way may leave the losses to that of the round trips.
            is_known = trip is Trip.ROUND or series.lost_count > 0
            if found.sent == 0 or not is_known or not _counts_losses(series.probe):
                continue
            estimate = estimate_share(found, "on the idle line")
            if estimate is None or trip is not Trip.ROUND:
                return estimate
            return replace(
                estimate, low=0.0, basis=f"{estimate.basis}, there and back", bound=Bound.AT_MOST
            )
    return None


def estimate_share(probes: Delays, where: str) -> Estimate | None:
    """Estimate the share that is lost of some probes.

    Parameters
    ----------
    probes
        Answered and lost ones.
    where
        Words that follow "3 of 200 probes lost".
    """
    if probes.sent == 0:
        return None
    trials = probes.sent / _measure_grouping(probes)
    share = probes.lost_count / probes.sent
    low, high = bound_share(share * trials, trials)
    basis = f"{probes.lost_count} of {write_count(probes.sent, 'probe')} lost {where}"
    return Estimate(share, low, high, basis, probes.sent)


def _measure_grouping(probes: Delays) -> float:
    """Give how much more the losses of blocks vary than independent ones; 1 at least."""
    if probes.lost_count < 2 or not probes.lost or not probes.times:
        return 1.0
    sent = _count_by_block([*probes.times, *probes.lost])
    lost = _count_by_block(probes.lost)
    share = probes.lost_count / probes.sent
    if len(sent) < 3 or share >= 1:
        return 1.0
    squares = sum(
        (lost.get(block, 0) - share * count) ** 2 / (count * share * (1 - share))
        for block, count in sent.items()
    )
    return max(1.0, squares / (len(sent) - 1))


def _count_by_block(times: Sequence[float]) -> Counter[int]:
    return Counter(int(time // BLOCK) for time in times)


def _counts_losses(probe: Probe) -> bool:
    """Say whether a probe that is lost stays lost: connections send again."""
    return probe not in {Probe.IN_FLOW, Probe.REQUEST}


def _estimate_by_retransmissions(measurement: Measurement, direction: Direction) -> Estimate | None:
    shares = [each.share for each in measurement.retransmissions if each.direction is direction]
    if not shares:
        return None
    value = sum(shares) / len(shares)
    basis = "the share of data that was sent again"
    return Estimate(value, 0.0, value, basis, len(shares), Bound.AT_MOST)
