"""The same line if it is a little different from what was fitted: other ends, other queues.

A fitted value has an interval, and the kind of a queue a likelihood. The line as it is today and
what is recommended are run also with the low and the high end of the buffers and of the rates, and
with each other kind of queue that is likely. The scenario's own values are changed in the ratio of
an end to the fitted value: a cable line counts other bytes than what was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headend.modem_file.generation import find_generation
from headend.recommendation.own_choices import find_limit, find_today, name_queue
from headend.recommendation.rates import write_rate
from headend.recommendation.sender import Sender
from headend.recommendation.tier import Tier, Variation
from headend.scenario.fit_note import FitNote, QueueKind
from headend.text.quantity import format_quantity, parse_quantity

#: Kinds of queue of at least this likelihood are tried; it is what a 90 % interval leaves out.
LEAST_LIKELIHOOD = 0.1

#: An end that differs by less than this share is the value itself: within a tie of two results.
LEAST_CHANGE = 0.05

#: What stands for a kind of queue in scenarios of a cable line and of a plain link. Low latency of
#: a cable line is a setting of both directions.
_QUEUES: Mapping[QueueKind, tuple[str, str]] = {
    QueueKind.PIE: ("docsis_pie", "pie"),
    QueueKind.CODEL: ("codel", "codel"),
    QueueKind.FLOW_QUEUEING: ("fq_codel", "fq_codel"),
    QueueKind.LOW_LATENCY: ("docsis_pie", "dualpi2"),
}

#: Kinds by the names of queues in scenarios.
_KINDS = {
    "drop_tail": QueueKind.DROP_TAIL,
    "buffer_control": QueueKind.DROP_TAIL,
    "docsis_pie": QueueKind.PIE,
    "pie": QueueKind.PIE,
    "codel": QueueKind.CODEL,
    "fq_codel": QueueKind.FLOW_QUEUEING,
    "cake": QueueKind.FLOW_QUEUEING,
    "dualpi2": QueueKind.LOW_LATENCY,
}

_WAYS = {"up": "upstream", "down": "downstream"}


def list_variations(tier: Tier, tried: Sequence[str]) -> list[Tier]:
    """List the variations of a line; none of a line whose scenario does not say what it is fit to.

    Parameters
    ----------
    tier
        The line.
    tried
        The labels of what is run with each.
    """
    if tier.fit is None:
        return []
    return [
        replace(own, name=f"{tier.name} {words}", variation=variation)
        for words, likelihood, own in (
            *_vary_buffer(tier, tier.fit),
            *_vary_rates(tier, tier.fit),
            *_vary_queue(tier, tier.fit),
        )
        if (variation := Variation(tier.name, words, tuple(tried), likelihood))
    ]


def list_sender_variations(
    tier: Tier, tried: Sequence[str], senders: Sequence[Sender]
) -> list[Tier]:
    """List the same line with other senders of the uploads."""
    words = {own: f"with uploads of {own.words}" for own in senders}
    return [
        replace(
            tier,
            name=f"{tier.name} {told}",
            variation=Variation(tier.name, told, tuple(tried), sender=str(own)),
        )
        for own, told in words.items()
        if tried
    ]


_Varied = tuple[str, float | None, Tier]


def _vary_buffer(tier: Tier, fit: FitNote) -> Iterator[_Varied]:
    """Vary the buffer upstream, where the queue is a plain one."""
    limit, ends = find_limit(find_today(tier)[0]), fit.values.get("up.buffer")
    if limit is None or ends is None:
        return
    for end in _list_ends(ends):
        queue = {"drop_tail": {"limit": _scale_limit(limit, end / ends[1])}}
        yield f"with a buffer of {end:.4g} ms", None, _put_queue(tier, queue)


def _scale_limit(limit: str, factor: float) -> str:
    """Change a limit that is a time or a size.

    Examples
    --------
    >>> _scale_limit("180 ms", 0.5), _scale_limit("64 KiB", 2)
    ('90 ms', '131072 B')
    """
    if limit.endswith("s"):
        return f"{parse_quantity(limit, 'time').value * factor / 1e6:.6g} ms"
    return f"{parse_quantity(limit, 'size').value * factor:.0f} B"


def _vary_rates(tier: Tier, fit: FitNote) -> Iterator[_Varied]:
    """Vary the rates of both directions together; not those that vary with time."""
    ends = {way: fit.values.get(f"{key}.rate") for key, way in _WAYS.items()}
    for at in (0, 2):
        own, told = tier, []
        for key, way in _WAYS.items():
            found, rate = ends[way], tier.find_table(way).get("rate")
            if found is None or not isinstance(rate, str) or not _is_apart(found[at], found[1]):
                continue
            own = _put_rate(own, way, found[at] / found[1])
            told.append(f"{format_quantity(float(f'{found[at]:.3g}'), 'rate')} {key}")
        if told:
            yield f"with a rate of {' and '.join(told)}", None, own


def _vary_queue(tier: Tier, fit: FitNote) -> Iterator[_Varied]:
    """Vary the kind of queue upstream."""
    likelihoods = fit.queues.get("up", {})
    upstream, _ = find_today(tier)
    today = _KINDS.get(name_queue(upstream))
    today = QueueKind.LOW_LATENCY if "low_latency" in upstream else today
    # Then the kinds are tried that modems have most.
    is_unknown = max(likelihoods, key=likelihoods.__getitem__, default="") == QueueKind.UNKNOWN
    for kind in (QueueKind.DROP_TAIL, *_QUEUES):
        likelihood = likelihoods.get(kind, 0.0)
        is_tried = likelihood >= LEAST_LIKELIHOOD or (
            is_unknown and kind in (QueueKind.DROP_TAIL, QueueKind.PIE)
        )
        if kind == today or not is_tried:
            continue
        if kind == QueueKind.DROP_TAIL:
            limit = _suppose_limit(tier, fit)
            if limit is None:
                continue
            queue: Any = {"drop_tail": {"limit": limit}}
            words = f"if its queue is {kind} with {limit}"
        else:
            queue = _QUEUES[kind][0 if tier.is_cable else 1]
            words = f"if its queue is {kind}"
        varied = _put_queue(tier, queue)
        if kind == QueueKind.LOW_LATENCY and tier.is_cable:
            if not tier.is_docsis31:
                continue
            on: dict[str, Any] = {"low_latency": {}}
            varied = replace(tier, today={"upstream": on, "downstream": on})
            words = "if it has low latency"
        yield words, likelihood or None, varied


def _suppose_limit(tier: Tier, fit: FitNote) -> str | None:
    """Give the buffer of a plain queue: as it was fitted, or else as modems have it."""
    if "up.buffer" in fit.values:
        return f"{fit.values['up.buffer'][1]:.4g} ms"
    return find_generation(tier.preset).buffer if tier.is_cable else None


def _list_ends(values: tuple[float, float, float]) -> Iterator[float]:
    low, value, high = values
    return (end for end in (low, high) if end > 0 and _is_apart(end, value))


def _is_apart(end: float, value: float) -> bool:
    return abs(end - value) >= LEAST_CHANGE * abs(value)


def _put_queue(tier: Tier, queue: Any) -> Tier:
    """Give the line with another queue upstream."""
    today = dict(tier.today or {})
    return replace(tier, today={**today, "upstream": {"queue": queue}})


def _put_rate(tier: Tier, way: str, factor: float) -> Tier:
    """Give the line with so many times a rate; what is typed into a router stays.

    A buffer in bytes stays as it is.
    """
    rate = factor * (tier.upstream if way == "upstream" else tier.downstream)
    table = {**tier.find_table(way), "rate": write_rate(round(rate))}
    peak = table.get("peak")
    if peak and peak != "unlimited" and parse_quantity(str(peak), "rate").value < rate:
        table["peak"] = table["rate"]
    return replace(tier, link={**tier.link, tier.name_table(way): table})
