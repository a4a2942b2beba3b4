"""Why a queue is likely, in words with the numbers that were measured and simulated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from headend.fitting.estimates import QueueKind
from headend.fitting.identifying import UNKNOWN_DISTANCE, Identified, Simulated
from headend.text.quantity import format_quantity
from headend.text.wording import join_names

#: What candidates are called in sentences.
NAMES = {
    "drop_tail": "a plain buffer",
    "drop_tail_deep": "a plain buffer that is never full",
    "pie": "PIE",
    "docsis_pie": "the PIE of cable modems",
    "codel": "CoDel",
    "fq_codel": "FQ-CoDel",
    "pi2": "the classic queue of a low-latency line",
    "dualpi2": "a low-latency line",
}

#: Less is no queue, ms.
LEAST_MS = 2.0

#: With which other queue one is contrasted: the one that people would think of.
_CONTRASTS = {
    QueueKind.DROP_TAIL: ("pie", "codel"),
    QueueKind.PIE: ("drop_tail", "codel"),
    QueueKind.CODEL: ("pie", "drop_tail"),
    QueueKind.FLOW_QUEUEING: ("drop_tail", "pie"),
    QueueKind.LOW_LATENCY: ("drop_tail", "pie"),
}


def list_reasons(
    measured: Mapping[str, float], simulated: Sequence[Simulated], found: Identified
) -> tuple[str, ...]:
    """List the reasons of a guess, a sentence each."""
    means: dict[str, dict[str, float]] = {}
    for own in simulated:
        # Of several congestion controls that may have loaded the line, the one that comes nearest.
        mean = _average(own.runs)
        if _find_gap(measured, mean) < _find_gap(measured, means.get(own.name, {})):
            means[own.name] = mean
        means.setdefault(own.name, mean)
    return tuple(_list(measured, means, found))


def _list(
    measured: Mapping[str, float], means: Mapping[str, Mapping[str, float]], found: Identified
) -> Iterator[str]:
    if not found.best:
        yield "Nothing that was measured under load can be compared with a simulated queue."
        return
    if found.guess.kind is QueueKind.UNKNOWN:
        yield _explain_unknown(measured, found)
    if "delay.p50" in measured:
        yield from _describe_delay(measured, found, means)
    if (loss := measured.get("loss.share")) is not None:
        yield _describe_loss(loss, measured)
    if "in_flow.p50" in measured and "delay.p50" in measured:
        yield _describe_in_flow(measured["delay.p50"], measured["in_flow.p50"])
    if "marked.p50" not in measured and found.guess.kind is QueueKind.PIE:
        yield (
            "Whether a low-latency queue stands beside it cannot be told without a marked probe;"
            " its classic queue is like PIE."
        )
    if "marked.p50" in measured and "delay.p50" in measured:
        yield (
            f"Load adds {_ms(measured['marked.p50'])} to marked probes and"
            f" {_ms(measured['delay.p50'])} to others."
        )


def _describe_delay(
    measured: Mapping[str, float], found: Identified, means: Mapping[str, Mapping[str, float]]
) -> Iterator[str]:
    known = {
        kind: share
        for kind, share in found.guess.likelihoods.items()
        if kind is not QueueKind.UNKNOWN
    }
    kind = max(known, key=known.__getitem__, default=QueueKind.UNKNOWN)
    names = [found.best, *(own for own in _CONTRASTS.get(kind, ()) if own != found.best)]
    simulated = [
        f"{_ms(means[name]['delay.p50'])} with {NAMES.get(name, name)}"
        for name in names
        if "delay.p50" in means.get(name, {})
    ]
    text = f"Load adds {_ms(measured['delay.p50'])} in the median"
    if "delay.p99" in measured:
        text += f" and {_ms(measured['delay.p99'])} at the 99th percentile"
    yield f"{text}."
    if simulated:
        yield f"Simulated, the median is {join_names(simulated)}."


def _describe_in_flow(probe: float, inside: float) -> str:
    text = f"Load adds {_ms(probe)} to the probe and {_ms(inside)} to its own connections"
    if max(probe, inside) < LEAST_MS:
        return f"{text}: nothing waits."
    if probe < inside / 2:
        return f"{text}: the probe waits in another queue than they do."
    return f"{text}: all wait in one queue."


def _describe_loss(loss: float, measured: Mapping[str, float]) -> str:
    share = format_quantity(loss, "ratio")
    if loss == 0:
        return "No probe was lost under load."
    rank = measured.get("loss.rank")
    if rank is None:
        return f"{share} of the probes were lost under load."
    where = (
        "where delays are at their ceiling"
        if rank > 0.8
        else "at all delays, not at a ceiling only"
    )
    return f"{share} of the probes were lost under load, {where}."


def _explain_unknown(measured: Mapping[str, float], found: Identified) -> str:
    if (
        max(measured.get(name, 0.0) for name in ("delay.p90", "delay.p50", "in_flow.p50"))
        < LEAST_MS
    ):
        return (
            "Nothing waited: that the senders did not fill the line is as likely as that each flow"
            " has a queue."
        )
    near = sorted(found.distances.items(), key=lambda pair: pair[1])
    name, distance = near[0]
    if distance > UNKNOWN_DISTANCE / 2:
        return (
            f"No simulated queue comes near: the nearest is {NAMES.get(name, name)},"
            f" {math.sqrt(distance):.1f} units of the scale away."
        )
    names = [NAMES.get(own, own) for own, other in near if other <= distance + 1.5][:3]
    if len(names) < 2:
        return f"What was measured is too little to tell that it is {names[0]}."
    return f"Several queues come equally near: {join_names(names)}."


def _find_gap(measured: Mapping[str, float], mean: Mapping[str, float]) -> float:
    """Give how far the median delays are apart; infinity where one is not known."""
    return abs(measured.get("delay.p50", math.inf) - mean.get("delay.p50", -math.inf))


def _average(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = {name for run in runs for name in run}
    return {
        name: math.fsum(values) / len(values)
        for name in names
        if (values := [run[name] for run in runs if name in run])
    }


def _ms(value: float) -> str:
    return format_quantity(round(value, 2) * 1e6, "time")
