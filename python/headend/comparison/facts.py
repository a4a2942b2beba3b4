"""What a comparison found, as typed facts; ``comparison/sentences.py`` has their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headend.analysis.channels import gather_channels
from headend.analysis.ties import TIE
from headend.comparison.choosing import NO_COST, TOGETHER, find_costs, pick
from headend.comparison.outcomes import TierOutcome

#: A median queue delay that exceeds the shortest one by this much explains why a flow suffers, ns.
FELT = 20e6


@dataclass(frozen=True)
class SharedCause:
    """Why a flow suffers under some choices.

    Parameters
    ----------
    is_lost
        Whether its packets are lost; else they wait in the queue.
    values
        The shares lost, or the queue's delays in ns, of the choices that share the cause.
    under
        The choice that it is known of alone, the worst; None where it is that of all.
    """

    is_lost: bool
    values: tuple[float, ...]
    under: int | None


def find_shared_cause(tier: TierOutcome, main: str, hurt: Sequence[int]) -> SharedCause | None:
    """Find why a flow suffers under some choices: one cause, else that of the worst choice."""
    found = {at: own for at in hurt if (own := _find_cause(tier, main, at))}
    if not found:
        return None
    fates = tier.people[main]
    worst = max(found, key=lambda at: max(fate.badness for fate in pick(fates, [at])))
    is_lost, value = found[worst]
    alike = tuple(other for own, other in found.values() if own == is_lost)
    if len(alike) < len(hurt):
        return SharedCause(is_lost, (value,), worst)
    return SharedCause(is_lost, alike, None)


def _find_cause(tier: TierOutcome, main: str, at: int) -> tuple[bool, float] | None:
    """Find whether packets are lost, and the share, or else how long they wait, ns."""
    fate, queue = tier.people[main][at], tier.queues[at]
    if fate is None or queue is None or not fate.suffers:
        return None
    worst = fate.party.worst
    if worst.symptom == "lost":
        return (True, worst.loss_ratio) if worst.loss_ratio else None
    delays = [own.delay.mean for own in tier.queues if own and own.delay]
    if queue.delay is None or queue.delay.mean - min(delays) < FELT:
        return None
    return False, queue.delay.mean


@dataclass(frozen=True)
class Costs:
    """What transfers lose or gain under the best choices: changes as shares, one for each tier.

    Parameters
    ----------
    losses
        By transfer, the largest first: those at all tiers, and those that are no tie at one.
    gain
        The transfer that gains most; None where none gains.
    is_even
        Whether none loses or gains, also within its interval.
    together
        The changes of what several transfers get together; None where there is one.
    unclear
        The transfer that loses most within its interval, `TOGETHER` before the others; None where
        none loses as much as counts.
    """

    losses: Mapping[str, Sequence[float]]
    gain: tuple[str, Sequence[float]] | None
    is_even: bool
    together: Sequence[float] | None = None
    unclear: tuple[str, float] | None = None


def weigh_costs(
    tiers: Sequence[tuple[TierOutcome, Sequence[int], Sequence[int]]],
) -> Costs | None:
    """Weigh what `find_costs` finds; None where there is no transfer."""
    costs = find_costs(tiers)
    if costs is None:
        return None
    found = dict(costs.clear)
    together = found.pop(TOGETHER, None)
    least = {name: min(own) for name, own in found.items()}
    losing = [
        name for name, own in found.items() if least[name] <= (-NO_COST if max(own) < 0 else -TIE)
    ]
    ordered = sorted(losing, key=lambda name: least[name])
    # The largest loss of a single transfer is always named; others only where they are no tie.
    losses = {
        name: found[name]
        for at, name in enumerate(ordered)
        if least[name] <= -TIE or (not at and together is None)
    }
    gains = [name for name, own in least.items() if own >= NO_COST]
    gain = max(gains, key=lambda name: max(found[name])) if gains else ""
    unclear = {name: min(own) for name, own in costs.unclear.items() if min(own) <= -NO_COST}
    most = min(unclear, key=lambda name: (name != TOGETHER, unclear[name]), default=None)
    is_even = not unclear and all(own > -NO_COST for own in least.values())
    return Costs(
        losses,
        (gain, found[gain]) if gain else None,
        is_even,
        together,
        None if most is None else (most, unclear[most]),
    )


def find_full_channels(tier: TierOutcome) -> list[str]:
    """Name the channels that are full under every choice."""
    own = [
        {state.title for state in gather_channels(result) if state.is_full}
        for result in tier.results
        if result
    ]
    return sorted(set.intersection(*own)) if own else []


def find_queue_gap(tier: TierOutcome) -> list[tuple[float, int]]:
    """Give the shortest and the longest delay of the queue, ns, each with its choice.

    Nothing where the difference is not felt.
    """
    known = [(own.delay.mean, at) for at, own in enumerate(tier.queues) if own and own.delay]
    is_felt = known and max(known)[0] - min(known)[0] >= FELT
    return [min(known), max(known)] if is_felt else []
