"""Says what low latency of a modem's file does to packets: rates, marks, queue protection."""

from __future__ import annotations

from headend.modem_file.settings import Aggregate, Protection, Ramp, Settings, read_defaults
from headend.modem_file.words import write_rate, write_time
from headend.text.quantity import format_quantity
from headend.text.wording import capitalise


def describe_aggregate(aggregate: Aggregate, settings: Settings) -> str | None:
    """Describe the low latency of an aggregate in sentences; None without a low-latency flow."""
    low, off = settings.find_low(aggregate), settings.low_latency_disabled
    if low is None:
        return None
    if off and off.value:
        return f"Low latency is off ({off.path})."
    told = f"Service flow {low.number} is the low-latency one"
    if classic := settings.find_classic(aggregate):
        told += f", {classic.number} the classic one"
        if aggregate.rate and aggregate.rate.value:
            told += f". They share {write_rate(aggregate.rate.value)}"
    clauses = [told, describe_weight(aggregate)]
    if low.aqm_disabled and low.aqm_disabled.value:
        clauses.append(f"the AQM of the low-latency flow is off ({low.aqm_disabled.path})")
    elif not low.drained_at:
        clauses.append(
            "without a rate its delay counts as 0: it marks nothing on its own, and queue"
            " protection never acts"
        )
    else:
        clauses += [
            describe_ramp(low.ramp),
            f"the base probability of the classic flow's AQM, times {aggregate.couples / 10:g},"
            " marks them too"
            if aggregate.couples
            else "the classic flow's AQM marks none of them: the coupling factor is 0",
            describe_protection(aggregate.queue_protection),
        ]
    return " ".join(f"{capitalise(clause)}." for clause in clauses)


def describe_weight(aggregate: Aggregate) -> str:
    """Say what the low-latency flow gets while both flows have packets, as a clause."""
    share = f"{aggregate.weighs / read_defaults().weights:.1%}".replace("%", " %").replace(
        ".0 ", " "
    )
    rate = aggregate.low_latency_rate
    speed = f", {format_quantity(rate, 'rate')}" if rate else ""
    return f"while both flows have packets, the low-latency one gets {share} of the rate{speed}"


def describe_ramp(ramp: Ramp) -> str:
    """Say which packets of a low-latency flow are marked, as a clause."""
    if write_time(ramp.low) == write_time(ramp.high):
        return f"from {write_time(ramp.high)} of delay on every packet is marked"
    return (
        f"from {write_time(ramp.low)} of delay on some packets are marked, from"
        f" {write_time(ramp.high)} on every packet"
    )


def describe_protection(protection: Protection | None) -> str:
    """Say whom queue protection moves, as a clause."""
    if not (protection and protection.is_on):
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
