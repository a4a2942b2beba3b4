"""Which queue a direction has: how near the simulated line of each queue is to the measured one.

The likelihood of a queue falls with the distance of what its simulations show from what was
measured, in units of a scale for each feature. The scale has two parts. One is how far two seeds
of the same queue are apart. The other is a floor for what no simulation of the line has right:
`FLOORS` says where each comes from. The floor of the start, `FITTED_COST` and `OVERLAP` were set on
drawn lines (seed 1 of the study measured-lines/round-trip, which itself uses another seed), all
other numbers before any line was identified.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headend.fitting.estimates import QueueGuess, QueueKind
from headend.fitting.features import QUANTILES, name_quantile
from headend.fitting.samples import PACKET_BITS

#: What delays are known to at best, ms: clocks of tools and the simulated plain line, which has no
#: access method of its own.
RESOLUTION_MS = 1.0

#: The floors of the scales.
#: - delays, as natural logarithms: 10 %, to which a buffer is estimated;
#: - the start, five times that: how connections start together is not known;
#: - round trips within flows, twice that too: tools smooth them in other ways;
#: - losses, as the root of the share: 0.03 is 0.1 % beside 0 %, and 0.4 % beside 1 %;
#: - ranks, echoes and the spread of rates, which go from 0 to 1: 0.1;
#: - the mean rate, as a natural logarithm: 10 %, as others may use the line too.
FLOORS = {
    "delay": 0.1,
    "start.most": 0.5,
    "in_flow.p50": 0.2,
    "marked.p50": 0.2,
    "marked.p90": 0.2,
    "loss.share": 0.03,
    "loss.rank": 0.1,
    "loss.together": 0.1,
    "echo.short": 0.1,
    "echo.long": 0.1,
    "rate.low": 0.1,
    "rate.mean": 0.1,
}

#: How much each feature counts. The eight quantiles of the delay count as two: their place and
#: their spread. What says the same as another feature in part counts half.
WEIGHTS = {
    "delay": 2.0,
    "start.most": 0.5,
    "in_flow.p50": 1.0,
    "marked.p50": 1.0,
    "marked.p90": 0.5,
    "loss.share": 1.0,
    "loss.rank": 1.0,
    "loss.together": 0.5,
    "echo.short": 0.5,
    "echo.long": 0.5,
    "rate.low": 0.5,
    "rate.mean": 1.0,
}

#: A distance counts at most so much, in squared units of the scale: one feature alone does not
#: decide, however far it is off.
MOST_DISTANCE = 25.0

#: The squared distance at which a queue of no kind here is as likely as one that was simulated.
#: A queue that is right is beyond it with one feature in 70 (normal distribution, 2.4 units).
UNKNOWN_DISTANCE = 6.0

#: What a parameter costs that was fitted to the very delays that are compared: a plain buffer has
#: its depth, which no other queue has. Half the logarithm of some 50 independent delays (BIC).
FITTED_COST = 2.0

#: How much of the logarithm of a likelihood counts: features tell the same in part, such as the
#: quantiles of two probes in one queue.
OVERLAP = 0.7

#: The share that "unknown" has at least where a tool keeps no samples: a few numbers cannot tell
#: the shapes by which queues differ.
LEAST_UNKNOWN_OF_SUMMARIES = 0.6

#: And the share where no queue but a plain buffer comes near that number. Any of its depths makes
#: some number, so it is not sure. What else could make so long a delay, such as the queue of a
#: Wi-Fi or of the computer itself, is mostly a plain buffer too. How likely others are is a choice.
LEAST_UNKNOWN_OF_BUFFER = 0.3

#: Together less likely than so many times the plain buffer, no other queue comes near.
FAR = 0.05

#: A queue that makes probes wait no longer than so many times what delays are known to is empty.
EMPTY = 2.0

#: The share of "unknown" where no probe waited and nothing tells that the line was full: that the
#: senders did not fill it is as likely as that each flow has a queue.
LEAST_UNKNOWN_OF_EMPTY = 0.5

#: A shorter load, without its beginning, shows too little of a control law, s: PIE and CoDel need
#: some seconds to find the rate of their drops, and so does a saw-tooth to return.
LONG = 7.0

#: The share of "unknown" that such a load leaves at least: it is never sure.
LEAST_UNKNOWN_OF_SHORT = 0.2


@dataclass(frozen=True)
class Simulated:
    """What the simulations of one candidate and one load show, seed by seed.

    Parameters
    ----------
    name, kind
        Of the queue.
    prior
        How likely this load is, such as its congestion control, beside the others of the queue.
    runs
        The features of each seed.
    """

    name: str
    kind: QueueKind
    prior: float
    runs: Sequence[Mapping[str, float]]


@dataclass(frozen=True)
class Identified:
    """Which queue it is, and how near each candidate is.

    Parameters
    ----------
    guess
        The likelihoods of the kinds.
    best
        The name of the nearest; empty without simulations.
    distances
        The mean squared distance of each candidate, in units of the scale.
    """

    guess: QueueGuess
    best: str
    distances: Mapping[str, float]


def identify(
    measured: Mapping[str, float],
    simulated: Sequence[Simulated],
    rate: float,
    jitter: float = 0.0,
    *,
    has_samples: bool = True,
    was_full: bool = True,
    is_long: bool = True,
) -> Identified:
    """Find which queue is likely.

    Parameters
    ----------
    measured
        The features of the measurement.
    simulated
        Those of each candidate under each load.
    rate
        Of the direction, bit/s.
    jitter
        The spread of delays of the idle line, ms: added delays are known no better.
    has_samples
        Whether the tool keeps samples.
    was_full
        Whether connections lost packets, so that the load did fill the line; it did too where they
        waited. A line that senders do not fill looks to a probe as one with a queue for each flow.
    is_long
        Whether the load lasted long enough, and samples have times, for control laws to show how
        they control.

    Returns
    -------
    Identified
        With `QueueKind.UNKNOWN` as the likeliest where nothing comes near, or several come equally
        near.
    """
    resolution = RESOLUTION_MS + PACKET_BITS / rate * 1e3 + jitter / 2
    target = transform(measured, resolution)
    found: dict[str, list[tuple[float, float]]] = {}
    kinds = {own.name: own.kind for own in simulated}
    distances: dict[str, list[float]] = {}
    used = 0.0
    for own in simulated:
        runs = [transform(run, resolution) for run in own.runs]
        score, weight, distance = _score(target, runs)
        if weight <= 0:
            continue
        used = max(used, weight)
        found.setdefault(own.name, []).append((own.prior, score))
        distances.setdefault(own.name, []).append(distance)
    if not found:
        return Identified(QueueGuess({QueueKind.UNKNOWN: 1.0}), "", {})
    likelihoods = {
        name: _add_logarithms([(prior / _sum(pairs), score) for prior, score in pairs])
        for name, pairs in found.items()
    }
    by_kind = _share_kinds(likelihoods, kinds, -0.5 * UNKNOWN_DISTANCE * used)
    by_kind = _doubt(by_kind)
    empty = EMPTY * resolution
    was_full = was_full or measured.get("in_flow.p50", 0.0) > empty
    high = measured.get("delay.p90", measured.get("delay.p50", 0.0))
    if not was_full and high <= empty:
        by_kind = _keep_unknown(by_kind, LEAST_UNKNOWN_OF_EMPTY)
    if not is_long:
        by_kind = _keep_unknown(by_kind, LEAST_UNKNOWN_OF_SHORT)
    if not has_samples:
        only = _is_alone(by_kind, QueueKind.DROP_TAIL)
        least = LEAST_UNKNOWN_OF_BUFFER if only else LEAST_UNKNOWN_OF_SUMMARIES
        by_kind = _keep_unknown(by_kind, least)
    costs = {name: _find_cost(kind) if has_samples else 0.0 for name, kind in kinds.items()}
    # Of queues that one number cannot tell apart, the line is written with the usual one.
    best = max(likelihoods, key=lambda name: likelihoods[name] - costs[name])
    return Identified(
        QueueGuess(by_kind),
        best,
        {name: min(own) for name, own in distances.items()},
    )


def transform(features: Mapping[str, float], resolution: float) -> dict[str, float]:
    """Give features on scales on which a difference means the same everywhere.

    Delays become logarithms above what they are known to, shares of losses roots.
    """
    found = {}
    for name, value in features.items():
        if name.startswith(("delay.", "marked.", "in_flow.", "start.")):
            found[name] = math.log(max(value, 0.0) + resolution)
        elif name == "loss.share":
            found[name] = math.sqrt(value)
        elif name == "rate.mean":
            found[name] = math.log(max(value, 1.0))
        else:
            found[name] = value
    return found


def _score(
    target: Mapping[str, float], runs: Sequence[Mapping[str, float]]
) -> tuple[float, float, float]:
    """Give the logarithm of the likelihood, the sum of weights, and the mean squared distance."""
    score = total = distance = 0.0
    quantiles = [name_quantile(share) for share in QUANTILES]
    for name, weight in WEIGHTS.items():
        parts = quantiles if name == "delay" else [name]
        pairs = [
            own for part in parts if (own := _compare(part, FLOORS[name], target, runs)) is not None
        ]
        if not pairs:
            continue
        squared = math.fsum(min(own, MOST_DISTANCE) for own, _ in pairs) / len(pairs)
        widening = math.fsum(own for _, own in pairs) / len(pairs)
        score += weight * (-0.5 * squared - widening)
        distance += weight * squared
        total += weight
    return score, total, distance / total if total else 0.0


def _compare(
    name: str, floor: float, target: Mapping[str, float], runs: Sequence[Mapping[str, float]]
) -> tuple[float, float] | None:
    """Give the squared distance of a feature, and the logarithm of how wide its scale is."""
    values = [run[name] for run in runs if name in run]
    if name not in target or 2 * len(values) < max(len(runs), 1):
        return None
    spread = statistics.variance(values) if len(values) > 1 else 0.0
    if name == "loss.share" and (probes := target.get("loss.probes")):
        # The root of a share of n has the standard deviation 1 / (2 √n) by chance.
        spread = max(spread, 0.25 / probes)
    scale = spread * (1 + 1 / len(values)) + floor**2
    squared = (target[name] - math.fsum(values) / len(values)) ** 2 / scale
    return squared, 0.5 * math.log(scale / floor**2)


def _sum(pairs: Iterable[tuple[float, float]]) -> float:
    return math.fsum(prior for prior, _ in pairs)


def _add_logarithms(pairs: Sequence[tuple[float, float]]) -> float:
    top = max(score for _, score in pairs)
    return top + math.log(math.fsum(prior * math.exp(score - top) for prior, score in pairs))


def _share_kinds(
    likelihoods: Mapping[str, float], kinds: Mapping[str, QueueKind], unknown: float
) -> dict[QueueKind, float]:
    """Give the share of each kind, all of which are equally likely beforehand.

    A kind is as near as the nearest of its candidates: another kind of PIE does not make PIE less
    likely.
    """
    logs = {QueueKind.UNKNOWN: unknown}
    for name, own in likelihoods.items():
        kind = kinds[name]
        logs[kind] = max(logs.get(kind, -math.inf), own - _find_cost(kind))
    top = max(logs.values())
    weights = {kind: math.exp(OVERLAP * (own - top)) for kind, own in logs.items()}
    total = math.fsum(weights.values())
    return {kind: weights.get(kind, 0.0) / total for kind in QueueKind}


def _find_cost(kind: QueueKind) -> float:
    return FITTED_COST if kind is QueueKind.DROP_TAIL else 0.0


def _doubt(likelihoods: Mapping[QueueKind, float]) -> dict[QueueKind, float]:
    """Give unknown what two kinds that come equally near cannot share: half of the second's."""
    found = dict(likelihoods)
    known = sorted((own for own in found if own is not QueueKind.UNKNOWN), key=found.__getitem__)
    if len(known) < 2:
        return found
    first, second = known[-1], known[-2]
    half = found[second] / 2
    found[first] -= half
    found[second] -= half
    found[QueueKind.UNKNOWN] += 2 * half
    return found


def _is_alone(likelihoods: Mapping[QueueKind, float], kind: QueueKind) -> bool:
    """Whether no other kind comes near, and unknown is not the likeliest."""
    others = math.fsum(
        own for other, own in likelihoods.items() if other not in (kind, QueueKind.UNKNOWN)
    )
    return likelihoods[kind] > likelihoods[QueueKind.UNKNOWN] and others < FAR * likelihoods[kind]


def _keep_unknown(likelihoods: Mapping[QueueKind, float], least: float) -> dict[QueueKind, float]:
    """Give unknown a least share."""
    unknown = max(likelihoods[QueueKind.UNKNOWN], least)
    known = 1 - likelihoods[QueueKind.UNKNOWN]
    factor = (1 - unknown) / known if known > 0 else 0.0
    return {
        kind: unknown if kind is QueueKind.UNKNOWN else own * factor
        for kind, own in likelihoods.items()
    }
