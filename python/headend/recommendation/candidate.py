"""The candidates of a tier: every setting that a recommendation tries, in the order of preference.

Buffers are whole KiB, as devices have them, in steps of a factor of about the square root of two,
from 10 ms of the tier's rate to 200 ms. DOCSIS-PIE is tried with its defaults (a target of 10 ms, a
buffer of 250 ms), with other targets, and with shorter buffers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from headend.modem_file.generation import find_generation
from headend.recommendation.air import Air
from headend.recommendation.router import Router, list_routers
from headend.recommendation.tier import Tier

#: The buffers that are tried, in time at the sustained rate: the shortest and the longest, in s.
SHORTEST, LONGEST = 0.010, 0.200

#: The latency target of DOCSIS-PIE where nobody sets it, and others that are tried, in ms.
DEFAULT_TARGET, TARGETS = 10, (5, 15, 20, 30)

#: Buffers of DOCSIS-PIE that are tried besides its default, in s at the sustained rate.
LIMITS = (0.100, 0.050)

#: The end of the name of a router before a modem whose AQM is on.
WITH_AQM = ", modem's AQM on"

_KIB = 1024


class Feature(StrEnum):
    """What may be set; the value is the word of ``--may-set``."""

    #: What the tier has today, where a modem's file or the file of tiers says so.
    TODAY = "today"
    #: What a modem of the generation has that nobody has set.
    DELIVERED = "as-delivered"
    #: The buffer of a modem as delivered, without its AQM.
    AQM_OFF = "aqm-off"
    #: The size of the upstream buffer (TLV 24.35), with the AQM off.
    BUFFER_CONTROL = "buffer-control"
    #: DOCSIS-PIE: its latency target (TLV 24.40.2) and its buffer (24.35).
    AQM = "aqm"
    #: Low Latency DOCSIS: an aggregate of a classic and a low-latency service flow (TLVs 70, 71).
    LOW_LATENCY = "low-latency"
    #: A home's own router before a modem without AQM, or before the modem as its file has it.
    ROUTER = "router"
    #: The same before a modem whose AQM is on.
    ROUTER_AND_AQM = "router-and-aqm"
    #: The buffer of the device before a plain link.
    BUFFER = "buffer"
    #: Twice the rates, which a provider sells.
    FASTER = "faster-tier"
    #: The same line while nobody uploads.
    NO_UPLOAD = "no-upload"
    #: What is set in the Wi-Fi before the line.
    WIFI = "wifi"
    #: A station of the Wi-Fi nearer to its access point, or on a cable.
    STATION = "station"
    #: The same line without the Wi-Fi before it.
    ETHERNET = "ethernet"

    @property
    def words(self) -> str:
        """Its name above a column."""
        names = {
            "buffer-control": "Buffer Control",
            "aqm": "AQM",
            "aqm-off": "AQM off",
            "router-and-aqm": "router and AQM",
            "wifi": "Wi-Fi",
            "ethernet": "Ethernet",
        }
        return names.get(self, self.replace("-", " "))

    @property
    def place(self) -> int:
        """Its place among the columns."""
        return list(Feature).index(self)


#: What the operator sets in the modem.
OF_MODEM = (Feature.BUFFER_CONTROL, Feature.AQM, Feature.LOW_LATENCY)

#: Those that ``--may-set`` can name.
CHOOSABLE = (*OF_MODEM, Feature.ROUTER)


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
        Whether it can be recommended: what is there to compare with cannot.
    target
        The latency target of DOCSIS-PIE, in ms; None where it is not set.
    size
        The target buffer, in KiB; None where it is not set.
    router
        The home's own router; None where there is none.
    has_uploads
        Whether the people's uploads run.
    air
        What is different of the Wi-Fi before the line; None where it stays as it is.
    station
        The station that this is about, ``LINK.STATION``; empty where it is about all.
    """

    label: str
    feature: Feature
    upstream: Mapping[str, Any] = field(default_factory=dict)
    downstream: Mapping[str, Any] = field(default_factory=dict)
    is_settable: bool = True
    target: int | None = None
    size: int | None = None
    router: Router | None = None
    has_uploads: bool = True
    air: Air | None = None
    station: str = ""

    @property
    def is_pie_by_default(self) -> bool:
        """Whether it is DOCSIS-PIE with its defaults, as modems of DOCSIS 3.1 have it."""
        return self.feature is Feature.AQM and self.target is None and self.size is None

    def write_link(self, tier: Tier) -> dict[str, Any]:
        """Give the content of ``[link.NAME.KIND]`` with this setting."""
        own = {"upstream": self.upstream, "downstream": self.downstream}
        tables = {
            tier.name_table(way): {**tier.find_table(way), **table} for way, table in own.items()
        }
        return {**tier.link, **tables}

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it; `from_dict` makes the same candidate of it."""
        found = {**asdict(self), "feature": str(self.feature)}
        unused = {key for key in ("air", "station") if not found[key]}
        return {key: found[key] for key in found if key not in unused}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Candidate:
        """Make a candidate of what `to_dict` gave."""
        router, air = content.get("router"), content.get("air")
        found = cls(
            **{
                **content,
                "feature": Feature(content["feature"]),
                "router": router and Router(**router),
                "air": air and Air(air),
            }
        )
        # Results of before call a modem as delivered what a tier has today.
        is_delivered = found.feature is Feature.TODAY and not found.is_settable
        return replace(found, feature=Feature.DELIVERED) if is_delivered else found


def list_candidates(
    tier: Tier, features: Sequence[Feature], *, varies: bool = False
) -> list[Candidate]:
    """List the candidates of a tier.

    The order is that of preference between candidates that are as good: the one that leaves the
    modem as it is comes first, then those with fewer settings.

    Parameters
    ----------
    tier, features
        Of whom, and what may be set.
    varies
        Whether the line's rate varies.
    """
    limits = dict.fromkeys(round_size(tier.upstream * limit / 8) for limit in LIMITS)
    aqm = [
        _set_aqm(f"AQM {DEFAULT_TARGET} ms"),
        *(_set_aqm(f"AQM {DEFAULT_TARGET} ms, buffer {size} KiB", size=size) for size in limits),
        *(_set_aqm(f"AQM {target} ms", target=target) for target in TARGETS),
    ]
    ends = [tier.upstream * end / 8 / _KIB for end in (SHORTEST, LONGEST)]
    buffers = [
        Candidate(
            f"buffer {size} KiB",
            Feature.BUFFER_CONTROL,
            {"queue": {"buffer_control": {"target": f"{size} KiB"}}},
            size=size,
        )
        for size in list_sizes(*ends)
    ]
    # A modem of DOCSIS 3.1 has an AQM: to set its buffer alone is to switch that off.
    tried = [*aqm, *buffers] if tier.is_docsis31 else [*buffers, *aqm]
    if tier.is_docsis31:
        on: dict[str, Any] = {"low_latency": {}}
        tried.append(Candidate("low latency", Feature.LOW_LATENCY, on, on))
        for target in (15, 20):
            queue = {"queue": {"docsis_pie": {"target": f"{target} ms"}}}
            label = f"low latency, AQM {target} ms"
            own = Candidate(label, Feature.LOW_LATENCY, {**on, **queue}, on, target=target)
            tried.append(own)
    compared = _list_baselines(tier, has_pie=Feature.AQM in features)
    if Feature.ROUTER in features:
        tried += _list_routers(tier, list_routers(varies=varies))
        # What the operator could do in place of it.
        compared += [
            replace(own, is_settable=False)
            for own in tried
            if own.label == Feature.LOW_LATENCY.words and own.feature not in features
        ]
    tried = [own for own in tried if own.feature in features or not own.is_settable]
    if tier.today is None:
        return [*tried, *compared]
    # Whoever sets a router alone leaves the modem as it is, and has a reason to set something.
    can_stay = any(own in features for own in OF_MODEM)
    upstream, downstream = _find_today(tier)
    today = Candidate("as it is", Feature.TODAY, upstream, downstream, is_settable=can_stay)
    return [today, *tried, *compared]


def _find_today(tier: Tier) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Give what the modem has today, upstream and downstream."""
    today = tier.today or {}
    return today.get("upstream", {}), today.get("downstream", {})


def _list_routers(tier: Tier, routers: Sequence[Router]) -> list[Candidate]:
    """List a home's own routers: before the modem as it is today, or before one without AQM.

    Nobody at home can see whether a modem's AQM is on: where that is not known, a setting has to
    hold without it, and with it is there to compare with.
    """
    own = find_generation(tier.preset)
    upstream, downstream = _find_today(tier)
    if tier.today is None and own.has_aqm:
        upstream = {"queue": {"drop_tail": {"limit": own.buffer}}}
    alone = [
        Candidate(
            router.label,
            Feature.ROUTER,
            upstream,
            downstream,
            is_settable=not router.is_edge,
            router=router,
        )
        for router in routers
    ]
    if tier.today is not None or not own.has_aqm:
        return alone
    feature = Feature.ROUTER_AND_AQM
    return [
        *alone,
        *(
            Candidate(f"{one.label}{WITH_AQM}", feature, is_settable=False, router=one.router)
            for one in alone
            if one.router and one.router.queue == "cake" and not one.router.has_autorate
        ),
    ]


def _list_baselines(tier: Tier, *, has_pie: bool) -> list[Candidate]:
    """List what is there to compare with: a modem as delivered, and with its AQM off.

    As delivered a modem of DOCSIS 3.1 has DOCSIS-PIE with its defaults, which may be among the
    settings that are tried (``has_pie``); one without AQM is the same with its AQM off.
    """
    own, name = find_generation(tier.preset), Feature.DELIVERED.words
    if not own.has_aqm:
        label = f"{name}: no AQM, {own.buffer}"
        return [Candidate(label, Feature.DELIVERED, is_settable=False)]
    label = f"{name}: DOCSIS-PIE, {own.buffer}"
    delivered = [] if has_pie else [Candidate(label, Feature.DELIVERED, is_settable=False)]
    queue = {"queue": {"drop_tail": {"limit": own.buffer}}}
    off = Candidate(f"no AQM, {own.buffer}", Feature.AQM_OFF, queue, is_settable=False)
    return [*delivered, off]


def _set_aqm(label: str, *, target: int | None = None, size: int | None = None) -> Candidate:
    settings = {"target": f"{target} ms"} if target else {"limit": f"{size} KiB"} if size else None
    queue = {"docsis_pie": settings} if settings else "docsis_pie"
    return Candidate(label, Feature.AQM, {"queue": queue}, target=target, size=size)


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


def order_candidates(candidates: Sequence[Candidate]) -> list[int]:
    """Give the numbers of candidates in a reader's order: by feature, then size or latency target.

    Examples
    --------
    >>> sizes = [Candidate(f"{size}", Feature.BUFFER_CONTROL, size=size) for size in (32, 8)]
    >>> order_candidates([*sizes, Candidate("no AQM", Feature.TODAY)])
    [3, 2, 1]
    """

    def place(number: int) -> tuple[int, ...]:
        own = candidates[number - 1]
        return own.feature.place, own.target or DEFAULT_TARGET, own.size or 0

    return sorted(range(1, len(candidates) + 1), key=place)
