"""The families of names that can be evaluated, each with its document, cases and baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headend.evaluation import media_cases, queue_cases, sender_cases
from headend.evaluation.case import Case, Untested
from headend.evaluation.curves import Curve, Trade


@dataclass(frozen=True)
class Family:
    """What is evaluated by one document.

    Parameters
    ----------
    name
        What the command calls it.
    noun
        What one of its names is.
    document
        The RFC.
    title
        Of the RFC.
    baseline
        The name that all are held against.
    against
        Names that stand beside the baseline by default.
    cases
        In the order of the RFC.
    untested
        What is not run of the RFC, and why.
    rates, rtts, buffers
        Where cases are run by default: bit/s, ns, and bandwidth-delay products.
    needs
        How far the RFC wants a section's scenario, where it says so.
    curves, trades
        What is drawn.
    """

    name: str
    noun: str
    document: str
    title: str
    baseline: str
    against: tuple[str, ...]
    cases: tuple[Case, ...]
    untested: tuple[Untested, ...]
    rates: tuple[float, ...]
    rtts: tuple[float, ...]
    buffers: tuple[float, ...]
    needs: Mapping[str, str] = field(default_factory=dict)
    curves: tuple[Curve, ...] = ()
    trades: tuple[Trade, ...] = ()

    def find_case(self, name: str) -> Case:
        """Give a case by its id; a KeyError where it has none."""
        return {case.id: case for case in self.cases}[name]


FAMILIES = {
    "queue": Family(
        "queue",
        "queue",
        "RFC 7928",
        "Characterization Guidelines for Active Queue Management (AQM)",
        "drop_tail",
        (),
        queue_cases.CASES,
        queue_cases.UNTESTED,
        (10e6, 50e6),
        (20e6, 100e6),
        (1.0, 4.0),
        queue_cases.NEEDS,
        queue_cases.CURVES,
        queue_cases.TRADES,
    ),
    "sender": Family(
        "sender",
        "congestion control",
        "RFC 9743",
        "Specifying New Congestion Control Algorithms",
        "cubic",
        ("reno",),
        sender_cases.CASES,
        sender_cases.UNTESTED,
        (10e6, 50e6),
        (20e6, 100e6),
        (0.5, 1.0, 4.0),
        {},
        sender_cases.CURVES,
        sender_cases.TRADES,
    ),
    "media": Family(
        "media",
        "application",
        "RFC 8867",
        "Test Cases for Evaluating Congestion Control for Interactive Real-Time Media",
        "",
        (),
        media_cases.CASES,
        media_cases.UNTESTED,
        (media_cases.REFERENCE.rate,),
        (media_cases.REFERENCE.rtt,),
        (media_cases.REFERENCE.buffer,),
        {},
        media_cases.CURVES,
        media_cases.TRADES,
    ),
}
