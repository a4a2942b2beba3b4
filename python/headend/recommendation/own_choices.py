"""What is tried for a line of one's own: what its owner can do, and what the provider can.

Settings of the provider's device (a buffer, an AQM, low latency) and the owner's router can be
recommended. What costs money (twice the rate) or comfort (no uploads, no Wi-Fi) is there to compare
with. Fewer sizes are tried than for an operator's tier: an owner asks whether a shorter buffer
helps, and not for the best KiB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headend.recommendation.air import Air, list_airs
from headend.recommendation.candidate import (
    DEFAULT_TARGET,
    LONGEST,
    SHORTEST,
    Candidate,
    Feature,
    list_sizes,
)
from headend.recommendation.people import People
from headend.recommendation.rates import find_capacities, write_rate
from headend.recommendation.router import LOW_SHARES, SHARES, Router, list_routers
from headend.recommendation.tier import Tier
from headend.text.quantity import parse_quantity

#: The label of the line as it is.
AS_IT_IS = "as it is"

#: Every so many sizes of buffers are tried: each is twice the one before.
_STEP = 2

#: Another latency target of DOCSIS-PIE that is tried, in ms.
_OTHER_TARGET = 20

#: The AQMs of a plain link's device that are tried, with their defaults.
PLAIN_AQMS = ("fq_codel", "codel", "pie")

#: A faster tier has so many times the rates.
FACTOR = 2

#: A tier that is faster by less than this factor, as the channel has no more, is none.
_LEAST_FACTOR = 1.2

#: The packets that a buffer of a plain link must hold at least, in bytes: three full ones.
_LEAST_SIZE = 4500

_KIB = 1024


def list_own_candidates(
    tier: Tier,
    features: Sequence[Feature],
    people: People,
    *,
    varies: bool,
    has_uploads: bool,
) -> list[Candidate]:
    """List what is tried for a line of one's own, in the order of preference.

    Parameters
    ----------
    tier, features
        The line, and what may be set.
    people
        Whose hosts may be in the Wi-Fi before it.
    varies
        Whether the line's rate varies.
    has_uploads
        Whether somebody uploads, and somebody else is there.
    """
    up, down = find_today(tier)
    tried = [Candidate(AS_IT_IS, Feature.TODAY, up, down)]
    if Feature.ROUTER in features:
        tried += [
            Candidate(own.label, Feature.ROUTER, up, down, router=own)
            for own in [*list_routers(varies=varies), *_list_low_routers(tier)]
            if not own.is_edge
        ]
    tried += _list_cable(tier) if tier.is_cable else _list_plain(tier)
    if has_uploads:
        tried.append(
            Candidate(
                "nobody uploads",
                Feature.NO_UPLOAD,
                up,
                down,
                is_settable=False,
                has_uploads=False,
            )
        )
    if not varies:
        tried += _list_faster(tier)
    tried += _list_air(tier, people, is_alone=Feature.ROUTER not in features)
    asked = {*features, Feature.TODAY, Feature.NO_UPLOAD, Feature.FASTER}
    asked |= {Feature.BUFFER} if Feature.BUFFER_CONTROL in features else set()
    asked |= {Feature.WIFI, Feature.STATION, Feature.ETHERNET}
    found = [
        own
        for own in tried
        if own.feature in asked and (own.feature is Feature.TODAY or not _is_today(tier, own))
    ]
    if tier.variation:
        return [own for own in found if own.label in tier.variation.tried]
    return found


def _list_air(tier: Tier, people: People, *, is_alone: bool) -> Iterator[Candidate]:
    """List what is tried of the Wi-Fi before a line: settings, its stations, the line without it.

    Where a router may be set too, each is tried together with one: both links may need something.
    """
    if not tier.cells:
        return
    up, down = find_today(tier)
    hosts = people.others.get("host", {})
    places = list_airs(tier.cells, hosts, people.flows, tier.line)
    labels = Counter(own.label for own in places)
    for own in places:
        feature = Feature.WIFI if own.air.is_setting else Feature.STATION
        # Two cells can have stations of one name.
        label = own.label if labels[own.label] == 1 else f"{own.station} {own.air}"
        yield Candidate(label, feature, up, down, air=own.air, station=own.station)
        if not is_alone:
            router = Router("cake", SHARES[0])
            both = f"{label}, {router.label}"
            yield Candidate(
                both, feature, up, down, router=router, air=own.air, station=own.station
            )
    label = str(Air.ETHERNET)
    yield Candidate(label, Feature.ETHERNET, up, down, is_settable=False, air=Air.ETHERNET)


def _list_low_routers(tier: Tier) -> list[Router]:
    """List slower routers, down to the low end of the fitted rates, where the usual are not."""
    values = tier.fit.values if tier.fit else {}
    ends = [values[name] for name in ("up.rate", "down.rate") if name in values]
    least = min((low / value for low, value, _ in ends if value > 0), default=1.0) * 100
    if least >= SHARES[-1]:
        return []
    shares = [own for own in LOW_SHARES if own >= least] or []
    below = next((own for own in LOW_SHARES if own < least), None)
    shares += [below] if below else []
    return [Router(queue, own) for queue in ("cake", "fq_codel") for own in shares]


def find_today(tier: Tier) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Give what the line has today, upstream and downstream."""
    today = tier.today or {}
    return today.get("upstream", {}), today.get("downstream", {})


def _list_cable(tier: Tier) -> Iterator[Candidate]:
    """List what the provider can set in a cable modem."""
    yield _set_pie(None)
    yield _set_pie(_OTHER_TARGET)
    for size in _list_sizes(tier):
        queue = {"buffer_control": {"target": f"{size} KiB"}}
        yield Candidate(f"buffer {size} KiB", Feature.BUFFER_CONTROL, {"queue": queue}, size=size)
    if tier.is_docsis31:
        on: dict[str, Any] = {"low_latency": {}}
        yield Candidate("low latency", Feature.LOW_LATENCY, on, on)


def _set_pie(target: int | None) -> Candidate:
    queue = {"docsis_pie": {"target": f"{target} ms"}} if target else "docsis_pie"
    label = f"AQM {target or DEFAULT_TARGET} ms"
    return Candidate(label, Feature.AQM, {"queue": queue}, target=target)


def _list_plain(tier: Tier) -> Iterator[Candidate]:
    """List what the provider can set in the device before a plain link, upstream."""
    _, down = find_today(tier)
    for name in PLAIN_AQMS:
        yield Candidate(f"AQM {name}", Feature.AQM, {"queue": name}, down)
    for size in _list_sizes(tier):
        if size * _KIB >= _LEAST_SIZE:
            queue = {"drop_tail": {"limit": f"{size} KiB"}}
            yield Candidate(f"buffer {size} KiB", Feature.BUFFER, {"queue": queue}, down, size=size)


def _list_sizes(tier: Tier) -> list[int]:
    """List the buffers that are tried, in KiB: from 10 ms of the rate to 200 ms."""
    ends = [tier.upstream * end / 8 / _KIB for end in (SHORTEST, LONGEST)]
    return list_sizes(*ends)[::_STEP]


def _list_faster(tier: Tier) -> Iterator[Candidate]:
    """List the line with twice its rates: as it is today, with its buffer's bytes, with a router.

    Nobody knows from outside whether a faster tier has the same buffer in time or in bytes.
    """
    rates = {"upstream": tier.upstream * FACTOR, "downstream": tier.downstream * FACTOR}
    if tier.is_cable:
        most = find_capacities(tier.preset)
        rates = {way: min(rate, most[way]) for way, rate in rates.items()}
    if rates["upstream"] < _LEAST_FACTOR * tier.upstream:
        return
    up, down = (
        {**today, **_scale(tier, way, rates[way])}
        for way, today in zip(rates, find_today(tier), strict=True)
    )
    label = "twice the rate"
    yield Candidate(label, Feature.FASTER, up, down, is_settable=False)
    if queue := _write_bytes(tier):
        bytewise = {**up, "queue": queue}
        yield Candidate(
            f"{label}, same buffer in bytes", Feature.FASTER, bytewise, down, is_settable=False
        )
    router = Router("cake", 95)
    yield Candidate(
        f"{label}, {router.label}", Feature.FASTER, up, down, is_settable=False, router=router
    )


def _scale(tier: Tier, way: str, rate: float) -> dict[str, Any]:
    """Write the rate of a faster tier, and its peak in proportion."""
    before = {"upstream": tier.upstream, "downstream": tier.downstream}[way]
    peak, found = tier.find_table(way).get("peak"), {"rate": write_rate(round(rate))}
    if peak and peak != "unlimited":
        own = parse_quantity(str(peak), "rate").value * rate / before
        found["peak"] = write_rate(round(own))
    return found


def _write_bytes(tier: Tier) -> dict[str, Any] | None:
    """Write the buffer of today in bytes; None where it is in bytes, or no plain buffer."""
    limit = find_limit(find_today(tier)[0])
    if limit is None or not limit.endswith("s"):
        return None
    size = parse_quantity(limit, "time").value * tier.upstream / 8e9
    return {"drop_tail": {"limit": f"{round(size)} B"}}


def find_limit(today: Mapping[str, Any]) -> str | None:
    """Give the limit of a drop-tail queue as it is written; None for another queue.

    Examples
    --------
    >>> find_limit({"queue": {"drop_tail": {"limit": "180 ms"}}}), find_limit({"queue": "codel"})
    ('180 ms', None)
    """
    queue = today.get("queue")
    table = queue.get("drop_tail") if isinstance(queue, Mapping) else None
    limit = table.get("limit") if isinstance(table, Mapping) else None
    return limit if isinstance(limit, str) else None


def name_queue(today: Mapping[str, Any]) -> str:
    """Give the name of a queue that is written as a name or as a table; empty for none.

    Examples
    --------
    >>> name_queue({"queue": {"codel": {}}}), name_queue({"queue": "pie"}), name_queue({})
    ('codel', 'pie', '')
    """
    queue = today.get("queue", "")
    return str(next(iter(queue), "")) if isinstance(queue, Mapping) else str(queue)


def _is_today(tier: Tier, candidate: Candidate) -> bool:
    """Say whether a setting of the provider's is what the line has today."""
    if (
        candidate.router
        or candidate.air
        or candidate.feature
        in (
            Feature.NO_UPLOAD,
            Feature.FASTER,
        )
    ):
        return False
    today, _ = find_today(tier)
    if candidate.feature is Feature.LOW_LATENCY:
        return "low_latency" in today
    if "low_latency" in today or today.get("aqm_disabled"):
        return False
    if not tier.is_cable and candidate.feature is Feature.AQM:
        return name_queue(today) == name_queue(candidate.upstream)
    return bool(_spell(today.get("queue")) == _spell(candidate.upstream.get("queue")))


def _spell(queue: Any) -> Any:
    return {queue: {}} if isinstance(queue, str) else queue
