"""Rules on upstream scheduling types: what each needs, and odd grants and polls."""

from __future__ import annotations

from collections.abc import Iterator

from headend.modem_file.finding import Found, rule
from headend.modem_file.settings import SCHEDULING, ServiceFlow, Setting, Settings
from headend.modem_file.words import write_size, write_time

NRTPS, RTPS, UGS_AD, UGS = 3, 4, 5, 6

#: What a scheduling type does not work without, by its TLV.
NEEDED = {
    RTPS: {17: "nominal polling interval"},
    UGS_AD: {19: "unsolicited grant size", 20: "nominal grant interval"},
    UGS: {19: "unsolicited grant size", 20: "nominal grant interval"},
}

#: What a CMTS chooses where the file does not say it, by its TLV.
CHOSEN = {
    NRTPS: {17: "nominal polling interval"},
    UGS_AD: {17: "nominal polling interval"},
}

#: Grants and polls come once in 1 ms at most, since a MAP covers about 2 ms, and once in a second
#: at least, µs (headend's bounds).
SHORTEST, LONGEST = 1000, 10**6

#: A grant carries at least a frame of 64 B and at most one of 2000 B, B (headend's bounds).
SMALLEST, LARGEST = 64, 2000

_SOURCE = "MULPI 7.2.3 and C.2.2.8"


@rule("error", "scheduling_parameter", _SOURCE, of="flows")
def parameter_is_absent(flow: ServiceFlow) -> Iterator[Found]:
    """Find a grant or a poll without its size or interval."""
    kind = flow.scheduling
    if not kind or flow.service_class:
        return
    told = f"The {flow.name} is {SCHEDULING.get(kind.value)} ({kind.path}) and has no"
    needed, chosen = NEEDED.get(kind.value, {}), CHOSEN.get(kind.value, {})
    for number, what in (needed | chosen).items():
        effect = "a CMTS refuses the flow" if number in needed else "each CMTS chooses its own"
        if not flow.tlv.get(number):
            path = f"{flow.path}.{number}"
            example = "232 B" if number == 19 else "20000, which is 20 ms"
            yield Found(
                path,
                f"{told} {what}: {effect}.",
                f"Add {path}, such as {example}.",
                severity=None if number in needed else "warning",
            )


@rule("warning", "scheduling_interval", "the unit: MULPI C.2.2.8; bounds of 1 ms and 1 s: headend")
def interval_is_odd(settings: Settings) -> Iterator[Found]:
    """Find an interval of grants or polls that is probably written in another unit."""
    for flow, what, interval in _intervals(settings):
        if SHORTEST <= interval.value <= LONGEST:
            continue
        short = interval.value < SHORTEST
        yield Found(
            interval.path,
            f"The nominal {what} interval of the {flow.name} is {write_time(interval.value * 1e3)},"
            f" {'shorter' if short else 'longer'} than"
            f" {write_time((SHORTEST if short else LONGEST) * 1e3)}: the number counts µs.",
            f"Set {interval.path} in µs: 20000 is 20 ms.",
        )


@rule("warning", "scheduling_grant", "bounds: headend", of="flows")
def grant_is_odd(flow: ServiceFlow) -> Iterator[Found]:
    """Find grants that hold no frame, or more than one, and intervals without a grant."""
    size, count = flow.grant_size, flow.grants_per_interval
    if not flow.is_unsolicited:
        return
    if size and not SMALLEST <= size.value <= LARGEST:
        yield Found(
            size.path,
            f"The unsolicited grants of the {flow.name} have {size.as_size}: a frame has"
            f" {write_size(SMALLEST)} to {write_size(LARGEST)}.",
            f"Set {size.path} to the bytes of a frame with its Ethernet and DOCSIS headers: 232 B"
            " holds a call's with G.711.",
        )
    if count and count.value == 0:
        yield Found(
            count.path,
            f"The {flow.name} has no grants per interval: it never sends.",
            f"Set {count.path} to 1.",
            source=_SOURCE,
        )


def _intervals(settings: Settings) -> Iterator[tuple[ServiceFlow, str, Setting]]:
    for flow in settings.flows:
        if flow.is_unsolicited and flow.grant_interval:
            yield flow, "grant", flow.grant_interval
        if flow.is_polled and flow.polling_interval:
            yield flow, "polling", flow.polling_interval
