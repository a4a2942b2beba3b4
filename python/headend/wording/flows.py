"""Words for how flows fared, and for the marks that they are graded by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headend.analysis.grading import Mark, list_marks
from headend.analysis.quality import FlowQuality
from headend.text.quantity import format_quantity
from headend.text.wording import join_names
from headend.wording.quantities import number, rate, share, time


def name_de_jitter(buffer: str) -> str:
    """Name a de-jitter buffer by its length; empty if there is none."""
    if buffer == "adaptive":
        return "an adaptive de-jitter buffer"
    return f"a de-jitter buffer of {buffer}" if buffer else ""


def _late(lost: float, buffer: str) -> str:
    held = f" for {name_de_jitter(buffer)}" if buffer else ""
    return f"{share(lost)} of its packets arrived too late{held}"


def _long_way(delay: float, buffer: str) -> str:
    return f"each way takes {time(delay)}{f' ({name_de_jitter(buffer)})' if buffer else ''}"


def _rpm(by_direction: Mapping[str, float]) -> str:
    rates = ", ".join(f"{direction} {number(rpm)}" for direction, rpm in by_direction.items())
    return f"round trips a minute: {rates} (one takes {time(60e9 / min(by_direction.values()))})"


def _got(rates: Mapping[str, float]) -> str:
    texts = [f"{rate(bps)} {direction}" for direction, bps in rates.items()]
    return join_names(texts or ["nothing that programs read"])


def _trips(middle: float | None, slow: float | None) -> str:
    return f"{time(middle)} at the median, {time(slow)} at the 95th percentile"


#: What a user notices, by kind: what stands before it where it is not the first, and its words.
DETAILS: dict[str, tuple[str, Callable[..., str]]] = {
    "told": ("; ", str),
    "report": ("; ", lambda title, value, kind: f"{title} {format_quantity(value, kind)}"),
    "score": (
        "; ",
        lambda low, middle: f"MOS {number(low)} in bad spells, {number(middle)} at the median",
    ),
    "late": (": ", _late),
    "lost": (": ", lambda lost: f"{share(lost)} of its packets were lost"),
    "also_lost": (" and ", lambda lost: f"{share(lost)} were lost"),
    "long_way": (": ", _long_way),
    "none_arrived": (": ", lambda: "no packet arrived"),
    "answered": ("; ", lambda waited: f"answered in {time(waited)}"),
    "failed": ("", lambda lost, of: f"{lost} of {of} calls could not be set up"),
    "pages": ("", lambda middle, slow: f"pages load in {_trips(middle, slow)}"),
    "starts": ("", lambda delay: f"starts in {time(delay)}"),
    "film": (", ", rate),
    "stands": (", ", lambda stood: f"stands still {share(stood)} of the time"),
    "rpm": ("", _rpm),
    "trips": ("", _trips),
    "also": (", ", lambda lost: f"{share(lost)} lost"),
    "video": ("", lambda bps: f"{rate(bps)} of video"),
    "frames": (", ", lambda delay: f"frames in {time(delay)}"),
    "frames_late": (", ", lambda late: f"{share(late)} late or lost"),
    "frozen": (", ", lambda stood: f"picture still {share(stood)} of the time"),
    "input": (
        ", ",
        lambda missed, slow: (
            f"{share(missed)} of the input late or lost, its delay {time(slow)} at the 95th"
            " percentile"
        ),
    ),
    "game": (
        "",
        lambda missed, slow: (
            f"{share(missed)} lost or too late, delay {time(slow)} at the 95th percentile"
        ),
    ),
    "datagrams": (
        "; ",
        lambda slow, lost: f"delay {time(slow)} at the 95th percentile, {share(lost)} lost",
    ),
    "file": ("", lambda bps, lasted: f"{rate(bps)}, a file in {time(lasted)}"),
    "speed": ("", lambda bps: f"a test shows {rate(bps)}"),
    "rate": ("", rate),
    "got": ("", _got),
    "tcp_trips": (
        ", ",
        lambda middle, slow: (
            f"TCP round trips of {time(middle)} at the median and {time(slow)} at the 95th"
            " percentile"
        ),
    ),
}


def describe_experience(quality: FlowQuality) -> str:
    """Say what a flow's user notices, in full."""
    text = ""
    for kind, *values in quality.details:
        before, write = DETAILS[kind]
        text += f"{before if text else ''}{write(*values)}"
    return text or quality.key_figures[0].told


def describe_quality(quality: FlowQuality) -> dict[str, Any]:
    """Give a flow's quality as JSON has it."""
    return {
        "flow": quality.flow,
        "application": quality.application,
        "grade": quality.grade,
        "experience": describe_experience(quality),
        "delay_p50_ns": quality.delay_p50_ns,
        "delay_p95_ns": quality.delay_p95_ns,
        "loss_ratio": quality.loss_ratio,
        "goodput_bps": quality.goodput_bps,
        "strain": quality.severity,
        "path_loss_ratio": quality.path_loss_ratio,
        "is_both_ways": quality.is_both_ways,
        "harm": quality.symptom,
        "way": quality.direction,
        "word": quality.word,
        "number": quality.number,
        "about": quality.about,
        "late_ratio": quality.late_ratio,
        "headlines": [vars(figure) for figure in quality.key_figures],
        "delay_way": quality.delay_direction,
        "limit": quality.limit,
    }


def describe_marks(applications: Iterable[str]) -> str:
    """Say by which numbers the given applications are graded.

    Examples
    --------
    >>> describe_marks(["ping", "bulk"])
    'ping by 95th percentile of the round trip (130 ms, 250 ms, 400 ms) and share of packets lost (1
    %, 2.5 %, 5 %)'
    """
    alike: dict[tuple[Mark, ...], list[str]] = {}
    for name in dict.fromkeys(applications):
        if marks := list_marks(name):
            alike.setdefault(marks, []).append(name)
    return "; ".join(
        f"{join_names(names)} by {join_names(list(map(_describe_mark, marks)))}"
        for marks, names in alike.items()
    )


def _describe_mark(mark: Mark) -> str:
    bounds = ", ".join(format_quantity(bound, mark.kind) for bound in mark.bounds)
    return f"{mark.about} ({bounds})"
