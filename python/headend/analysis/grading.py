"""Grades, and the marks that they are made by.

Where the marks come from:

- a call: ITU-T G.107 Annex B's classes of satisfaction, as MOS 4.0, 3.6 and 3.1, applied to the 5th
  percentile of the scoring periods (a call is as good as its bad spells);
- one-way delay: ITU-T G.114's 150 ms (good) and 400 ms (unacceptable);
- ping: 130 ms round trip, what games ask for, then 250 and 400 ms;
- loss of pings and datagrams, and calls that could not be set up: 1, 2.5 and 5 %, ours;
- packets of a game that were lost or came after their deadline, in the mean over the scoring
  periods: 5, 20 and 50 %, ours;
- video: frames that were late or never whole, in the mean over the scoring periods: 1, 5 and 20 %,
  ours; time in which the picture stood still: 0.5, 2 and 5 %, ours;
- page load: 2, 4 and 10 s, ours; of a page that never came, the time waited for it;
- a transfer of which nothing came while some of it was under way: the same marks, for the time
  waited for it, and no grade before the first of them: it had next to no time;
- a video: the same until the first picture, and 0.1, 1 and 5 % of the time standing still, ours;
- responsiveness: 1000, 500 and 200 round trips per minute (60, 120 and 300 ms), ours;
- whatever sent and got nothing through is bad.

The word for a grade is the grade itself, but for the far end of bad, which is called unusable:
where nothing came through, a call below MOS 2.6 (G.107 Annex B recommends against it), and of games
and videos those of which three quarters were late, lost or frozen.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headend.analysis.key_figure import KeyFigure
from headend.engine.description import REAL, find_application
from headend.text.quantity import Kind, format_quantity

#: The word for the far end of bad.
UNUSABLE = "unusable"

#: The far end of bad: a call's MOS below this one, and shares above this one of what a game or a
#: video shows.
UNUSABLE_SCORE = 2.6
UNUSABLE_SHARE = 0.75


class Grade(StrEnum):
    """How a flow fared; ``NONE`` where there is nothing to judge, as for a bulk transfer."""

    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"
    BAD = "bad"
    NONE = "none"


#: From nothing to judge to the worst.
ORDER = [Grade.NONE, Grade.GOOD, Grade.FAIR, Grade.POOR, Grade.BAD]


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
    shown
        The number's meaning beside a value, where it is another text.
    before, after
        Words around a value.
    is_score
        Whether it is a score, of which a half or a double means nothing.
    """

    metric: str
    about: str
    kind: Kind
    bounds: tuple[float, float, float]
    shown: str = ""
    before: str = ""
    after: str = ""
    is_score: bool = False

    @property
    def higher_is_better(self) -> bool:
        """Whether more is better."""
        return self.bounds[0] > self.bounds[-1]

    def grade(self, value: float | None) -> Grade:
        """Grade a value in its base unit; None has no grade."""
        if value is None:
            return Grade.NONE
        sign = -1 if self.higher_is_better else 1
        passed = sum(sign * value > sign * bound for bound in self.bounds)
        return (Grade.GOOD, Grade.FAIR, Grade.POOR, Grade.BAD)[passed]

    def is_met(self, value: float, grade: Grade) -> bool:
        """Say whether a value has a grade or a better one.

        Examples
        --------
        >>> MOS.is_met(3.7, Grade.FAIR), MOS.is_met(3.7, Grade.GOOD)
        (True, False)
        """
        return ORDER.index(self.grade(value)) <= ORDER.index(grade)

    def show(self, value: float | None) -> KeyFigure:
        """Give a value with its meaning and the words around it."""
        return KeyFigure(
            self.shown or self.about,
            value,
            self.kind,
            self.before,
            self.after,
            self.higher_is_better,
            is_bad=self.grade(value) is Grade.BAD,
            is_score=self.is_score,
        )

    def write_bound(self, place: int) -> str:
        """Write the expectation met by values that are good (0), at least fair (1) or poor (2)."""
        sign = ">=" if self.higher_is_better else "<="
        return f"{sign} {format_quantity(self.bounds[place], self.kind)}".replace(",", "")


_WAIT, _FEW = (2e9, 4e9, 10e9), (0.01, 0.025, 0.05)
_DELAYED = "95th percentile of the one-way delay"

MOS = Mark(
    "mos.p5",
    "score in the worst 5 % of scoring periods",
    "number",
    (4.0, 3.6, 3.1),
    "MOS in the worst 5 % of scoring periods",
    before="MOS",
    is_score=True,
)
FAILED = Mark("call_failed.mean", "share of calls that failed", "ratio", _FEW, after="failed")
PAGES = Mark("page_load_time.p50", "median page load time", "time", _WAIT)
START = Mark("startup_delay.p50", "time to the first picture", "time", _WAIT)
STALLED = Mark(
    "stalled.mean",
    "time in which the video stood still",
    "ratio",
    (0.001, 0.01, 0.05),
    "share of the time in which the picture stood still",
    after="frozen",
)
#: A choice of ours: a step of the grade for each halving of the rate, two for the last.
PICTURE = Mark(
    "segment_rate.p50",
    "median rate of the picture, as a share of the best that the film has",
    "ratio",
    (0.5, 0.25, 0.0625),
    "rate of the picture, of the best that the film has",
    after="of the best picture",
)
RPM = Mark("rpm.p50", "round trips a minute", "number", (1000, 500, 200), after="RPM")
PING = Mark("rtt.p95", "95th percentile of the round trip", "time", (130e6, 250e6, 400e6))
LOSS = Mark("loss", "share of packets lost", "ratio", _FEW, after="lost")
FRAMES = Mark(
    "frames_late.mean",
    "share of frames late or never whole",
    "ratio",
    (0.01, 0.05, 0.2),
    "share of frames late or lost",
    after="late",
)
FROZEN = Mark(
    "frozen.mean",
    "time in which the picture stood still",
    "ratio",
    (0.005, 0.02, 0.05),
    "share of the time in which the picture stood still",
    after="frozen",
)
MISSED = Mark(
    "missed.mean", "share of packets late or lost", "ratio", (0.05, 0.2, 0.5), after="late"
)
#: That of the input of a cloud game.
INPUT = Mark(
    "missed.mean",
    "share of packets late or lost",
    "ratio",
    MISSED.bounds,
    "share of input packets late or lost",
    after="of input late",
)
#: Of datagrams that have no measure of their own, and of a game's.
DELAY = Mark("delay.p95", _DELAYED, "time", (150e6, 275e6, 400e6))
GAME_DELAY = Mark("delay.p95", _DELAYED, "time", (65e6, 125e6, 200e6))

#: By its name, the mark of each measure that alone says how somebody fares.
MARKS_OF_MEASURES = {
    mark.metric.split(".")[0]: mark
    for mark in (MOS, PAGES, START, PING, RPM, MISSED, FRAMES, FROZEN, STALLED)
}


def grade_measure(measure: str, value: float) -> Grade:
    """Grade a value of a measure by the marks of people's grades; ``NONE`` where it has none.

    Parameters
    ----------
    measure
        Its name, such as ``mos``.
    value
        In its base unit: ns, a share, or plain.

    Examples
    --------
    >>> grade_measure("mos", 3.7), grade_measure("page_load_time", 1e9), grade_measure(
    ...     "goodput", 1e6
    ... )
    (<Grade.FAIR: 'fair'>, <Grade.GOOD: 'good'>, <Grade.NONE: 'none'>)
    """
    mark = MARKS_OF_MEASURES.get(measure)
    return mark.grade(value) if mark else Grade.NONE


def find_mark(application: str, about: str) -> Mark | None:
    """Find the mark of an application whose number has a meaning as it is shown; or None.

    Examples
    --------
    >>> find_mark("voice", "MOS in the worst 5 % of scoring periods").metric
    'mos.p5'
    """
    marks = list_marks(application)
    return next((mark for mark in marks if about in (mark.shown, mark.about)), None)


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
    for measure, marks, optional in (
        ("mos", (MOS,), {"call_failed": FAILED}),
        ("page_load_time", (PAGES,), {}),
        ("stalled", (START, STALLED), {}),
        ("rpm", (RPM,), {}),
        ("rtt", (PING, LOSS), {}),
        ("frames_late", (FRAMES, FROZEN), {"missed": MISSED}),
        ("missed", (MISSED, LOSS), {}),
    ):
        if measure in measures:
            return (*marks, *(mark for name, mark in optional.items() if name in measures))
    return () if about.properties & {"bulk", "greedy", "probe", "transfer"} else (DELAY, LOSS)
