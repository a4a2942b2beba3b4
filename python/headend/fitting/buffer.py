"""How deep a drop-tail buffer is: the ceiling of the delay that load adds.

A full drop-tail queue drops what arrives, so no delay exceeds the depth, and senders that fill the
queue until something is lost return to it again and again. That ceiling over the base delay is the
depth in time (QFind: the largest delay times the rate). Without a ceiling the largest delay is a
lower bound only: the senders may have stopped before, as those do whose window is small, or who
keep to a model of the line, such as BBR; or a control law may have dropped before.

What limits it: one packet more or less fits, and the highest sample is below the ceiling by what
the queue changed between two probes.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from headend.fitting.delay import Added
from headend.fitting.estimates import Bound, Estimate
from headend.fitting.intervals import bound_minimum, find_quantile
from headend.fitting.samples import Delays, find_least_queue, find_sending_time
from headend.measurement.record import Probe
from headend.text.wording import write_count

#: A ceiling has at least this share of the samples so near to the largest.
NEAR, NEAR_SHARE = 0.95, 0.01

#: The ceiling is at this percentile, but no lower than the middle of what is near to it. The
#: largest sample may have waited in the other direction too.
TOP = 0.99

#: And at least so many samples, since 1 % of 50 is none.
NEAR_COUNT = 5

#: The queue has left the ceiling when a sample is below this share of it.
LEFT = 0.9

#: A probe is lost at the ceiling when the answered one before or behind it, within this time, s, is
#: near to it.
LOST_WITHIN = 1.0

#: Losses are of the ceiling when their share there is this many times that elsewhere.
LOST_RATIO = 3.0

#: A queue that never leaves the ceiling, and loses nothing, is held up by the senders' windows: at
#: least this share of the samples are near to the largest.
FLAT_SHARE = 0.9

#: Senders that go by a model of the line fill its queue for a quarter of the time only where it is
#: shorter than their model says.
MODEL_SHARE = 0.25

#: Names of congestion controls that go by a model.
BY_MODEL = ("bbr", "vegas", "ledbat", "fast")

#: Transfers slow down within this time, s, of a loss: two round trips through a queue of 0.5 s.
DIPS_WITHIN = 1.5

#: Senders that fill a queue until it is full leave it empty for less than this share of the time.
EMPTY_SHARE = 0.25

#: Without a loss that proves it, so many samples must be near to the top as of a queue that grows
#: steadily from nothing to its top for the rest of the time.
LONG_NEAR = (1 - NEAR) * (1 - EMPTY_SHARE)


@dataclass(frozen=True)
class Ceiling:
    """What was seen of the largest delays.

    Parameters
    ----------
    level
        The largest delay above the base that others are near to, ms.
    near
        How many samples are near to the level.
    samples
        How many there are.
    is_reached
        Whether it is the ceiling of a full queue.
    reason
        Why, or why not: a sentence with the numbers, without its full stop.
    """

    level: float
    near: int
    samples: int
    is_reached: bool
    reason: str


def find_ceiling(
    added: Added,
    rate: float | None = None,
    congestion: str = "",
    dips: Sequence[float] | None = None,
) -> Ceiling | None:
    """Find the ceiling of the delays that load adds.

    Parameters
    ----------
    added
        The delays above the base.
    rate
        Of the direction, bit/s: how long a packet takes.
    congestion
        The name of the senders' congestion control; empty where it is not known.
    dips
        When transfers slowed down, s; None where that is not known.

    Returns
    -------
    What was seen; None without samples. ``is_reached`` says whether the queue was full.
    """
    delays = added.whole.delays
    if not delays:
        return None
    ordered = sorted(delays)
    level = _find_supported(ordered)
    near = len(ordered) - bisect_left(ordered, NEAR * level)
    # Outliers above the level are not near to it.
    near -= len(ordered) - bisect_left(ordered, level / NEAR)
    is_reached, reason = _judge(added, level, near, find_least_queue(rate), congestion, dips)
    return Ceiling(level, near, len(ordered), is_reached, reason)


def _judge(
    added: Added,
    level: float,
    near: int,
    least: float,
    congestion: str,
    dips: Sequence[float] | None,
) -> tuple[bool, str]:
    """Say whether a level is the ceiling of a full queue, and why or why not."""
    count, lost = len(added.whole.delays), added.whole.lost_count
    settled = sorted(added.settled.delays)
    flat = sum(delay >= NEAR * level for delay in settled) / len(settled)
    seen = f"{near} of {write_count(count, 'sample')} are within 5 % of {level:.3g} ms"
    if added.series.probe is Probe.IN_FLOW:
        return (
            False,
            "the delays are of connections that fill the line, which smooth or add to them",
        )
    if level < least or find_quantile(settled, EMPTY_SHARE) < least:
        return False, (
            f"more than {EMPTY_SHARE * 100:.0f} % of the samples are below {least:.3g} ms: the"
            " queue was empty too often for one that senders fill"
        )
    if near < max(NEAR_COUNT, NEAR_SHARE * count):
        return False, f"only {seen}"
    if lost == 0 and flat >= FLAT_SHARE:
        return False, (
            f"{seen} and no probe was lost, so the senders' windows may have held the queue there"
        )
    touches = _count_touches(added.settled, level)
    lost_near = _count_lost_near(added.whole, level)
    if touches > 0 and _lose_at_ceiling(added.whole, level, near, lost_near):
        return True, f"{seen}, and {lost_near} of {lost} lost probes were lost there"
    if dips is not None and not _follow(dips, added.whole, level):
        return False, f"{seen}, but no transfer slowed down behind that, as one does after a loss"
    if any(name in congestion.lower() for name in BY_MODEL):
        if flat >= MODEL_SHARE:
            return True, f"{seen}, although the senders ({congestion}) do not fill a queue"
        return False, f"the senders ({congestion}) do not fill a queue until it is full"
    if near < LONG_NEAR * count:
        return False, f"{seen}, fewer than of a queue that fills steadily"
    if touches >= 2:
        return True, f"{seen}, which the delay reached {touches} times"
    return False, f"{seen}, but the delay reached that only once"


def estimate_buffer(
    added: Added | None,
    ceiling: Ceiling | None,
    base: Estimate | None,
    rate: Estimate | None,
    spread: float,
) -> Estimate | None:
    """Estimate how long a full queue takes to empty, ms.

    Parameters
    ----------
    added
        The delays above the base.
    ceiling
        As ``find_ceiling`` gives it.
    base, rate
        The base delay, and the rate of the direction.
    spread
        How much the idle line's delays spread, ms: the highest samples may hold as much.
    """
    if added is None or ceiling is None or ceiling.level <= 0:
        return None
    if added.mixed and not ceiling.is_reached:
        return None
    packet = find_sending_time(rate.value if rate is not None else None)
    unsure = base.value - base.low if base is not None else 0.0
    level = ceiling.level
    if not ceiling.is_reached:
        basis = f"the largest delay of {write_count(ceiling.samples, 'sample')} under load"
        low = max(0.0, level - spread - packet)
        return Estimate(level, low, level + unsure, basis, ceiling.samples, Bound.AT_LEAST)
    basis = f"{ceiling.near} of {write_count(ceiling.samples, 'sample')} at the ceiling"
    ordered = sorted(delay for delay in added.whole.delays if delay <= level)
    middle = statistics.median([delay for delay in ordered if delay >= NEAR * level])
    value = max(middle, find_quantile(ordered, TOP))
    if added.mixed:
        high = level + unsure + packet
        return Estimate(value, 0.0, high, basis, ceiling.near, Bound.AT_MOST)
    top = [-delay for delay in reversed(ordered)]
    highest = min(-bound_minimum(top, growth=1)[0] + _find_rise(added.whole, level), level / NEAR)
    low = max(0.0, middle - spread - packet)
    return Estimate(value, low, highest + unsure + packet, basis, ceiling.near)


def _find_rise(whole: Delays, level: float) -> float:
    """Give how much the delay grows from one probe to the next as it comes to the level, ms."""
    rises = [
        later - earlier
        for earlier, later in pairwise(whole.delays)
        if later >= NEAR * level and later > earlier
    ]
    return statistics.median(rises) if rises else 0.0


def _find_supported(ordered: list[float]) -> float:
    """Give the largest delay that two others are near to, but for one in a hundred."""
    most = max(1, round(NEAR_SHARE * len(ordered)))
    for place in range(len(ordered) - 1, max(1, len(ordered) - 1 - most), -1):
        if ordered[place - 2] >= NEAR * ordered[place]:
            return ordered[place]
    return ordered[-1]


def _count_touches(settled: Delays, level: float) -> int:
    """Count how often the delay came near to the level and left it again."""
    touches, is_near = 0, False
    for delay in settled.delays if settled.times else ():
        if not is_near and delay >= NEAR * level:
            touches, is_near = touches + 1, True
        elif delay < LEFT * level:
            is_near = False
    return touches


def _follow(dips: Sequence[float], whole: Delays, level: float) -> bool:
    """Say whether transfers slowed down after the delay was near to the level."""
    high = [
        time
        for time, delay in zip(whole.times, whole.delays, strict=bool(whole.times))
        if delay >= NEAR * level
    ]
    return not whole.times or any(
        bisect_left(dips, time) < bisect_left(dips, time + DIPS_WITHIN) for time in high
    )


def _count_lost_near(whole: Delays, level: float) -> int:
    found = 0
    for time in whole.lost:
        after = bisect_left(whole.times, time)
        beside = [k for k in (after - 1, after) if 0 <= k < len(whole.times)]
        found += any(
            abs(whole.times[k] - time) <= LOST_WITHIN and whole.delays[k] >= LEFT * level
            for k in beside
        )
    return found


def _lose_at_ceiling(whole: Delays, level: float, near: int, lost_near: int) -> bool:
    """Say whether probes were lost at the ceiling, and more seldom elsewhere."""
    lost_elsewhere = len(whole.lost) - lost_near
    high = sum(delay >= LEFT * level for delay in whole.delays)
    elsewhere = len(whole.delays) - high
    if lost_near < 2 or near == 0:
        return False
    share = lost_near / (lost_near + high)
    share_elsewhere = lost_elsewhere / max(1, lost_elsewhere + elsewhere)
    return share >= LOST_RATIO * share_elsewhere
