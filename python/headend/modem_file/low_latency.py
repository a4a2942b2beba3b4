"""Says in words what a file's low latency does: an aggregate's flows, marks, protection."""

from __future__ import annotations

from headend.modem_file.delay import Protection, Ramp, find_protection, find_ramp, find_rate
from headend.modem_file.settings import Aggregate, ServiceFlow, Settings
from headend.modem_file.words import write_rate, write_time
from headend.text.quantity import format_quantity
from headend.text.wording import capitalise

#: Where the file sets none: the scheduling weight, of 256, and the coupling factor, in tenths.
DEFAULT_WEIGHT, DEFAULT_COUPLING = 230, 20

#: A weight is a number of this many parts.
PARTS = 256


def tell_aggregate(aggregate: Aggregate, settings: Settings) -> str | None:
    """Describe an aggregate's low latency in sentences; None without a low-latency flow."""
    low = settings.find_low(aggregate)
    return None if low is None else " ".join(_tell(aggregate, low, settings))


def _tell(aggregate: Aggregate, low: ServiceFlow, settings: Settings) -> list[str]:
    off = settings.low_latency_disabled
    if off and off.value:
        return [f"Low latency is off ({off.path})."]
    classic = settings.find_classic(aggregate)
    shared = write_rate(aggregate.rate.value) if aggregate.rate and aggregate.rate.value else None
    who = f"Service flow {_number(low)} is the low-latency one"
    told = [
        f"{who}, {_number(classic)} the classic one{f'. They share {shared}' if shared else ''}."
        if classic
        else f"{who}."
    ]
    told.append(f"{capitalise(tell_weight(aggregate, settings))}.")
    if low.aqm_disabled and low.aqm_disabled.value:
        told.append(f"The AQM of the low-latency flow is off ({low.aqm_disabled.path}).")
        return told
    if not find_rate(low, settings):
        told.append(
            "Without a rate its delay counts as 0: it marks nothing on its own, and queue"
            " protection never acts."
        )
        return told
    told.append(f"{capitalise(tell_ramp(find_ramp(low, settings)))}.")
    coupling = find_coupling(aggregate)
    told.append(
        f"The base probability of the classic flow's AQM, times {coupling / 10:g}, marks them too."
        if coupling
        else "The classic flow's AQM marks none of them: the coupling factor is 0."
    )
    told.append(f"{capitalise(tell_protection(find_protection(aggregate, low, settings)))}.")
    return told


def tell_weight(aggregate: Aggregate, settings: Settings) -> str:
    """Say what the low-latency flow gets while both flows have packets, as a clause."""
    weight = find_weight(aggregate)
    share = f"{weight / PARTS:.1%}".replace("%", " %").replace(".0 ", " ")
    low = settings.find_low(aggregate)
    rate = aggregate.rate.value if aggregate.rate else 0
    if low and low.sustained:
        rate = min(rate * weight // PARTS, low.sustained) if rate else 0
    else:
        rate = rate * weight // PARTS
    speed = f", {format_quantity(rate, 'rate')}" if rate else ""
    return f"while both flows have packets, the low-latency one gets {share} of the rate{speed}"


def tell_ramp(ramp: Ramp) -> str:
    """Say which packets of a low-latency flow are marked, as a clause."""
    if write_time(ramp.low) == write_time(ramp.high):
        return f"from {write_time(ramp.high)} of delay on every packet is marked"
    return (
        f"from {write_time(ramp.low)} of delay on some packets are marked, from"
        f" {write_time(ramp.high)} on every packet"
    )


def tell_protection(protection: Protection) -> str:
    """Say whom queue protection moves, as a clause."""
    if not protection.is_on:
        return (
            "queue protection is off: a flow that ignores marks delays all others up to the limit"
            " of the queue"
        )
    return (
        "queue protection moves packets to the classic queue while the delay is above"
        f" {write_time(protection.latency)}, if their flow has a score above"
        f" {write_time(protection.score)}, or above less at a longer delay; scores decay at"
        f" {format_quantity(protection.drain, 'rate')} of marked packets"
    )


def find_weight(aggregate: Aggregate) -> int:
    """Give the scheduling weight of the low-latency flow, of 256."""
    return aggregate.weight.value if aggregate.weight else DEFAULT_WEIGHT


def find_coupling(aggregate: Aggregate) -> int:
    """Give the coupling factor in tenths."""
    return aggregate.coupling.value if aggregate.coupling else DEFAULT_COUPLING


def _number(flow: ServiceFlow) -> str:
    return f"{flow.reference.value}" if flow.reference else f"at {flow.path}"
