"""The marks that each application is graded by, for pages and for bounds in ``[expect]``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headend.analysis.grading import (
    DELAY_MARKS,
    FRAME_MARKS,
    FREEZE_MARKS,
    LOSS_MARKS,
    MOS_MARKS,
    PING_MARKS,
    PLAY_MARKS,
    RPM_MARKS,
    STALL_MARKS,
    WAIT_MARKS,
)
from headend.engine.description import REAL, find_application
from headend.text.quantity import Kind, format_quantity
from headend.text.wording import join_names


@dataclass(frozen=True)
class Mark:
    """A number that an application is graded by; of several, the one with the worst grade counts.

    Parameters
    ----------
    metric
        The number's name in ``[expect]`` after the flow's name, such as ``mos.p5``.
    about
        The number's meaning.
    kind
        What it measures.
    bounds
        The last value that is still good, fair and poor, in base units.
    """

    metric: str
    about: str
    kind: Kind
    bounds: tuple[float, float, float]

    @property
    def is_rising(self) -> bool:
        """Whether more is better."""
        return self.bounds[0] > self.bounds[-1]

    def write_bound(self, place: int) -> str:
        """Write the expectation met by values that are good (0), at least fair (1) or poor (2)."""
        sign = ">=" if self.is_rising else "<="
        return f"{sign} {format_quantity(self.bounds[place], self.kind)}".replace(",", "")


_MOS = Mark("mos.p5", "score of bad spells (5 % are worse)", "number", MOS_MARKS)
_FAILED = Mark("call_failed.mean", "share of calls that failed", "ratio", LOSS_MARKS)
_PAGES = Mark("page_load_time.p50", "median page load time", "time", WAIT_MARKS)
_START = Mark("startup_delay.p50", "time to the first picture", "time", WAIT_MARKS)
_STALLED = Mark("stalled.mean", "time in which the video stood still", "ratio", STALL_MARKS)
_RPM = Mark("rpm.p50", "round trips a minute", "number", RPM_MARKS)
_PING = Mark("rtt.p95", "95th percentile of the round trip", "time", PING_MARKS)
_LOSS = Mark("loss", "share of packets lost", "ratio", LOSS_MARKS)
_FRAMES = Mark("frames_late.mean", "share of frames late or never whole", "ratio", FRAME_MARKS)
_FROZEN = Mark("frozen.mean", "time in which the picture stood still", "ratio", FREEZE_MARKS)
_MISSED = Mark("missed.mean", "share of packets late or lost", "ratio", PLAY_MARKS)
_DELAY = Mark("delay.p95", "95th percentile of the one-way delay", "time", DELAY_MARKS)


def list_marks(application: str) -> tuple[Mark, ...]:
    """List the marks of an application; empty for one without a grade, such as a bulk transfer.

    Examples
    --------
    >>> [mark.metric for mark in list_marks("video_call")], list_marks("bulk")
    (['frames_late.mean', 'frozen.mean'], ())
    """
    about = find_application(application)
    if about.name == REAL:
        return ()
    measures = {kind.name for kind, _ in about.measures}
    if "mos" in measures:
        return (_MOS, *([_FAILED] if "call_failed" in measures else []))
    if "page_load_time" in measures:
        return (_PAGES,)
    if "stalled" in measures:
        return (_START, _STALLED)
    if "rpm" in measures:
        return (_RPM,)
    if "rtt" in measures:
        return (_PING, _LOSS)
    if "frames_late" in measures:
        return (_FRAMES, _FROZEN, *([_MISSED] if "missed" in measures else []))
    if "missed" in measures:
        return (_MISSED, _LOSS)
    if about.properties & {"bulk", "greedy", "transfer"}:
        return ()
    return (_DELAY, _LOSS)


def tell_marks(applications: Iterable[str]) -> str:
    """Say by which numbers the given applications are graded.

    Examples
    --------
    >>> tell_marks(["ping", "bulk"])
    'ping by 95th percentile of the round trip (130 ms, 250 ms, 400 ms) and share of packets lost (1
    %, 2.5 %, 5 %)'
    """
    alike: dict[tuple[Mark, ...], list[str]] = {}
    for name in dict.fromkeys(applications):
        if marks := list_marks(name):
            alike.setdefault(marks, []).append(name)
    return "; ".join(
        f"{join_names(names)} by {join_names([_tell(mark) for mark in marks])}"
        for marks, names in alike.items()
    )


def _tell(mark: Mark) -> str:
    bounds = ", ".join(format_quantity(bound, mark.kind) for bound in mark.bounds)
    return f"{mark.about} ({bounds})"
