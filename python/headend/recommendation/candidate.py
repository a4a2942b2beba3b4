"""The candidates of a tier: every setting that a recommendation tries, in the order of preference.

Buffers are whole KiB, as devices have them, in steps of a factor of about the square root of two,
from 10 ms of the tier's rate to 200 ms. DOCSIS-PIE is tried with its defaults (a target of 10 ms, a
buffer of 250 ms), with other targets, and with shorter buffers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headend.recommendation.feature import Feature
from headend.recommendation.tier import Tier

#: The buffers that are tried, in time at the sustained rate: the shortest and the longest, in s.
SHORTEST, LONGEST = 0.010, 0.200

#: The buffer of a modem that nobody has set: 250 ms at the sustained rate.
UNMANAGED = "250 ms"

#: The latency target of DOCSIS-PIE where nobody sets it, in ms.
DEFAULT_TARGET = 10

#: Latency targets of DOCSIS-PIE that are tried besides its default, in ms.
TARGETS = (5, 15, 20, 30)

#: Buffers of DOCSIS-PIE that are tried besides its default, in s at the sustained rate.
LIMITS = (0.100, 0.050)

_KIB = 1024


@dataclass(frozen=True)
class Candidate:
    """One setting of a tier.

    Parameters
    ----------
    label
        What it is called, such as ``buffer 32 KiB``.
    feature
        The column that it belongs to.
    upstream, downstream
        What it writes to the tables of the two directions.
    is_settable
        Whether it can be recommended: the buffer of a modem that nobody has set cannot.
    target
        The latency target of DOCSIS-PIE, in ms; None where it is not set.
    size
        The target buffer, in KiB; None where it is not set.
    """

    label: str
    feature: Feature
    upstream: Mapping[str, Any] = field(default_factory=dict)
    downstream: Mapping[str, Any] = field(default_factory=dict)
    is_settable: bool = True
    target: int | None = None
    size: int | None = None

    def write_link(self, tier: Tier) -> dict[str, Any]:
        """Give the content of ``[link.cable.docsis]`` with this setting."""
        link = dict(tier.link)
        for way, own in (("upstream", self.upstream), ("downstream", self.downstream)):
            link[way] = {**link[way], **own}
        return link


def list_candidates(tier: Tier, features: Sequence[Feature]) -> list[Candidate]:
    """List the candidates of a tier.

    The order is that of preference between candidates that are as good: the one that leaves the
    modem as it is comes first, then those with fewer settings.
    """
    found: list[Candidate] = []
    if Feature.AQM in features:
        found += _list_aqm(tier)
    if Feature.BUFFER_CONTROL in features:
        buffers = _list_buffers(tier)
        # A modem of DOCSIS 3.1 has an AQM: to set its buffer alone is to switch that off.
        found = [*found, *buffers] if tier.is_docsis31 else [*buffers, *found]
    if Feature.LOW_LATENCY in features and tier.is_docsis31:
        found += _list_low_latency()
    today = _make_today(tier)
    return [today, *found] if today.is_settable else [*found, today]


def _list_aqm(tier: Tier) -> list[Candidate]:
    default = Candidate(f"AQM {DEFAULT_TARGET} ms", Feature.AQM, {"queue": "docsis_pie"})
    limits = [
        Candidate(
            f"AQM {DEFAULT_TARGET} ms, buffer {size} KiB",
            Feature.AQM,
            {"queue": {"docsis_pie": {"limit": f"{size} KiB"}}},
            size=size,
        )
        for size in dict.fromkeys(round_size(tier.upstream * limit / 8) for limit in LIMITS)
    ]
    targets = [
        Candidate(
            f"AQM {target} ms",
            Feature.AQM,
            {"queue": {"docsis_pie": {"target": f"{target} ms"}}},
            target=target,
        )
        for target in TARGETS
    ]
    return [default, *limits, *targets]


def _list_buffers(tier: Tier) -> list[Candidate]:
    ends = [tier.upstream * end / 8 / _KIB for end in (SHORTEST, LONGEST)]
    return [
        Candidate(
            f"buffer {size} KiB",
            Feature.BUFFER_CONTROL,
            {"queue": {"buffer_control": {"target": f"{size} KiB"}}},
            size=size,
        )
        for size in list_sizes(*ends)
    ]


def _list_low_latency() -> list[Candidate]:
    default = Candidate(
        "low latency", Feature.LOW_LATENCY, {"low_latency": {}}, {"low_latency": {}}
    )
    targets = [
        Candidate(
            f"low latency, AQM {target} ms",
            Feature.LOW_LATENCY,
            {"low_latency": {}, "queue": {"docsis_pie": {"target": f"{target} ms"}}},
            {"low_latency": {}},
            target=target,
        )
        for target in (15, 20)
    ]
    return [default, *targets]


def _make_today(tier: Tier) -> Candidate:
    """Make the setting that the tier has today."""
    if tier.today is None:
        queue = {"queue": {"drop_tail": {"limit": UNMANAGED}}}
        return Candidate(f"no AQM, {UNMANAGED}", Feature.TODAY, queue, is_settable=False)
    return Candidate(
        "as it is", Feature.TODAY, tier.today.get("upstream", {}), tier.today.get("downstream", {})
    )


def list_sizes(low: float, high: float) -> list[int]:
    """List whole sizes 2, 3, 4, 6, 8, 12, … from the one nearest to ``low`` to that of ``high``.

    Examples
    --------
    >>> list_sizes(12.2, 130)
    [12, 16, 24, 32, 48, 64, 96, 128]
    """
    first, last = (_find_step(end) for end in (low, high))
    return [_write_step(step) for step in range(first, last + 1)]


def round_size(size: float) -> int:
    """Round bytes to the nearest of these sizes, in KiB.

    Examples
    --------
    >>> round_size(62500)
    64
    """
    return _write_step(_find_step(size / _KIB))


def _write_step(step: int) -> int:
    """Give the size of a step: powers of two, and half as much again between them."""
    power = 1 << (step // 2)
    return power * 3 // 2 if step % 2 else power


def _find_step(size: float) -> int:
    """Find the step whose size is nearest; 2 KiB are the least."""
    return min(range(2, 61), key=lambda step: abs(_write_step(step) - size))
