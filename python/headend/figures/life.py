"""One packet's life on lanes: arrival, request, collision, retry, MAP, grant, burst, delivery."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Figure, Panel
from headend.figures.theme import FAINT, PALETTE, make_chart
from headend.results.life import FIRST_STEPS, LAST_STEPS, Gap, Lane, Leg, Life, Moment, trace_life
from headend.results.record import Record

#: A lane takes as much height as so many rows of text; a row takes so many pixels.
LANE_ROWS, ROW_HEIGHT = 2.6, 17

#: A last step further away than this share of all before it is drawn as near as that.
NEAR = 0.35

#: Of the width, so much is left on the right for the words of the last steps.
ROOM_FOR_WORDS = 0.75

#: A plot of fewer pixels has its words in smaller letters along its left edge, as far out as the
#: names of the lanes.
NARROW, NAMES = 480, 56
IS_NARROW = f"width < {NARROW}"

#: Steps of one wait that the engine records at most, the first and the last half of them.
RECORDED = 128

#: What is along the bottom, with the second at which it begins.
AXIS_TITLE = "ms since {:.6f} s of simulated time"

#: Gives the place of a field on the lanes.
Height = Callable[[str], vl.Y]

#: Kinds of ways in words, in the order of the legend, with their colours.
KINDS = {
    "packet": ("the packet", PALETTE[0]),
    "request": ("a request", PALETTE[5]),
    "map": ("a MAP", PALETTE[3]),
    "backoff": ("a backoff", PALETTE[2]),
    "others": ("other traffic", FAINT),
    "collision": ("a collision", PALETTE[6]),
}

ARROWS = {True: "triangle-down", False: "triangle-up"}


def draw_life(results: Sequence[Record]) -> Figure | None:
    """Draw the life of the packet that a run followed."""
    lives = [(result.label, life) for result in results if (life := trace_life(result))]
    if not lives:
        return None
    life = lives[0][1]
    left_out = "".join(
        f" The wait was long: {_count(gap)} in its middle are left out, where the shade is."
        for _, life in lives
        for gap in life.gaps
    )
    loop = (
        " The modem asks, the CMTS answers in its next MAP, the modem sends where the grant lies:"
        " that loop is why a packet waits even on an idle upstream. A request that collides is"
        " heard by nobody; the modem learns of it from a MAP that has no answer, and asks again"
        " after a random wait."
    )
    air = (
        " In a cell the packet leaves its queue when it is its turn, waits until the channel has"
        " been idle for DIFS and for its backoff, which stands still while others send, and is"
        " answered. A frame that is not answered is sent again after a backoff from twice the"
        " window."
    )
    panels = [
        Panel(label, _draw(life), f"life {label}") if len(lives) > 1 else Panel("", _draw(life))
        for label, life in lives
    ]
    return Figure(
        "life",
        f"Life of a packet of {life.flow}" if life.flow else "Life of a packet",
        "Time runs to the right, from when the packet was sent; each step has its time."
        + (loop if life.asks else "")
        + (air if life.contends else "")
        + left_out,
        panels,
    )


def _count(gap: Gap) -> str:
    """Say how many steps a gap holds, as far as they were recorded."""
    recorded = gap.count + FIRST_STEPS + LAST_STEPS
    return f"{'at least ' if recorded >= RECORDED else ''}{gap.count} steps"


def _draw(life: Life) -> vl.Chart:
    lanes = sorted(
        {lane for leg in life.legs for lane in (leg.start, leg.end)}
        | {m.lane for m in life.moments}
    )
    height = {lane: LANE_ROWS * (len(lanes) - place) for place, lane in enumerate(lanes)}
    time = _Axis.fit(life)
    words = _list_words(life, height, time)
    colour = _colour({leg.kind for leg in life.legs} | {m.kind for m in life.moments})
    rows = LANE_ROWS * len(lanes) + len(words) + 1
    ticks = time.choose_ticks()
    x = vl.X(
        "ms:Q",
        title=AXIS_TITLE.format(life.born_ns / 1e9),
        scale=vl.Scale(
            domainMin=time.first,
            domainMax={"expr": f"{IS_NARROW} ? {1.02 * time.span} : {time.last}"},
            nice=False,
        ),
        axis=vl.Axis(
            grid=False, values=ticks, format=f",.{_count_digits(ticks)}f", labelFlush=False
        ),
    )
    scale = vl.Scale(
        domain=[-len(words) - 0.5, LANE_ROWS * len(lanes) + 0.5], nice=False, zero=False
    )
    axis = vl.Axis(
        values=list(height.values()), grid=True, ticks=False, domain=False, title=None,
        labelExpr=_name_lanes(height, life), labelFontSize=13,
    )  # fmt: skip

    def y(field: str) -> vl.Y:
        return vl.Y(f"{field}:Q", scale=scale, axis=axis)

    layers = [
        *_draw_gaps(life, time, max(height.values()), x, y),
        *_draw_words(words, time, x, y, colour),
        *_draw_legs(life.legs, time, height, x, y, colour),
    ]
    return vl.layer(*layers).properties(height=int(rows * ROW_HEIGHT))


@dataclass(frozen=True)
class _Axis:
    """Time along the bottom, in ms since birth; what comes after ``broken_ns`` is drawn nearer."""

    born_ns: int
    end_ns: int
    broken_ns: int

    @classmethod
    def fit(cls, life: Life) -> _Axis:
        """Break off before the last step where it leaves no room for all before it."""
        ends = {leg.to_ns for leg in life.legs}
        times = sorted(ends.union(moment.at_ns for moment in life.moments))
        last, before = times[-1], times[-2] if len(times) > 1 else times[-1]
        far = last - before > NEAR * (before - life.born_ns)
        return cls(life.born_ns, last, before if far and life.asks else last)

    @property
    def span(self) -> float:
        """How far it reaches."""
        return max(self.place(self.end_ns), 1e-3)

    @property
    def first(self) -> float:
        """Where the axis begins."""
        return -0.02 * self.span

    @property
    def last(self) -> float:
        """Where it ends, with room for words."""
        return (1 + ROOM_FOR_WORDS) * self.span

    def place(self, at_ns: int) -> float:
        """Give a time its place."""
        if at_ns <= self.broken_ns:
            return (at_ns - self.born_ns) / 1e6
        return (1 + NEAR) * (self.broken_ns - self.born_ns) / 1e6

    def write(self, at_ns: int) -> str:
        """Write a time."""
        nearer = " (drawn nearer)" if at_ns > self.broken_ns else ""
        return f"{(at_ns - self.born_ns) / 1e6:.3f} ms{nearer}"

    def choose_ticks(self) -> list[float]:
        """Give ticks where the axis is true to time."""
        true = max((self.broken_ns - self.born_ns) / 1e6, 1e-3)
        step = 10.0 ** math.floor(math.log10(true))
        step /= next(parts for parts in (1, 2, 5) if true / step * parts >= 4)
        return [round(step * number, 9) for number in range(int(true / step) + 1)]


def _count_digits(ticks: Sequence[float]) -> int:
    """Give as many decimals as tell ticks apart."""
    return max(-math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9), 0) if len(ticks) > 1 else 0


def _list_words(life: Life, height: dict[Lane, float], time: _Axis) -> pl.DataFrame:
    """Give each moment and gap a row below the lanes, the last on top: no line crosses words."""
    lane = Lane.MODEM if life.asks and Lane.MODEM in height else max(height)
    cuts = [
        Moment(
            gap.from_ns,
            lane,
            f"⋯ {_count(gap)} until {time.write(gap.to_ns)} are left out",
            "others",
        )
        for gap in life.gaps
    ]
    moments = sorted([*life.moments, *cuts], key=lambda moment: moment.at_ns)
    count = len(moments)
    return pl.DataFrame(
        [
            {
                "ms": time.place(moment.at_ns),
                "y": height[moment.lane],
                "row": float(place - count),
                "words": f"{time.write(moment.at_ns)}  {moment.text}",
                "kind": KINDS[moment.kind][0],
            }
            for place, moment in enumerate(moments)
        ]
    )


def _draw_gaps(life: Life, time: _Axis, top: float, x: vl.X, y: Height) -> list[vl.Chart]:
    """Shade where steps are left out, over all lanes, and say so between the first two."""
    if not life.gaps:
        return []
    gaps = [
        {
            "ms": time.place(gap.from_ns),
            "to_ms": time.place(gap.to_ns),
            "middle": (time.place(gap.from_ns) + time.place(gap.to_ns)) / 2,
            "y": LANE_ROWS / 2,
            "top": top + 0.5,
            "between": top - LANE_ROWS / 2,
            "words": f"⋯ {_count(gap)} left out ⋯",
        }
        for gap in life.gaps
    ]
    rows = make_chart(pl.DataFrame(gaps))
    shade = rows.mark_rect(color=FAINT, opacity=0.18).encode(
        x=x, x2="to_ms:Q", y=y("y"), y2="top:Q"
    )
    middle = vl.X("middle:Q", title=AXIS_TITLE.format(life.born_ns / 1e9))
    short = rows.transform_calculate("shown", f"{IS_NARROW} ? '⋯' : datum.words")
    words = short.mark_text(fontSize=12, baseline="middle").encode(
        x=middle, y=y("between"), text="shown:N"
    )
    return [shade, words]


def _draw_words(
    words: pl.DataFrame, time: _Axis, x: vl.X, y: Height, colour: vl.Color
) -> list[vl.Chart]:
    base = make_chart(words).encode(x=x)
    row = y("row")
    edge = f"{time.first} - {NAMES} / width * {1.02 * time.span - time.first}"
    # A field of its own: Vega writes into the row, and does so again when the width changes.
    moved = base.transform_calculate("words_ms", f"{IS_NARROW} ? {edge} : datum.ms").encode(
        x=vl.X("words_ms:Q", **{name: x[name] for name in ("title", "scale", "axis")})
    )
    size = {"expr": f"{IS_NARROW} ? 10 : 12"}
    leaders = base.mark_rule(strokeWidth=0.7, strokeDash=[2, 2], opacity=0.6).encode(
        y=y("y"), y2="row:Q"
    )
    text = moved.mark_text(align="left", dx=4, fontSize=size, style="halo").encode(
        y=row, text="words:N"
    )
    letters = moved.mark_text(align="left", dx=4, fontSize=size).encode(y=row, text="words:N")
    # Other shapes would be taken for the heads of arrows; the words say what each is.
    points = base.mark_point(shape="circle", filled=True, size=40, opacity=1).encode(
        y=y("y"), color=colour, tooltip=[vl.Tooltip("words:N", title=" ")]
    )
    return [leaders, text, letters, points]


def _draw_legs(
    legs: Sequence[Leg],
    time: _Axis,
    height: dict[Lane, float],
    x: vl.X,
    y: Height,
    colour: vl.Color,
) -> list[vl.Chart]:
    rows = pl.DataFrame(
        [
            {
                "ms": time.place(leg.from_ns),
                "to_ms": time.place(leg.to_ns),
                "y": height[leg.start],
                "to_y": height[leg.end],
                "kind": KINDS[leg.kind][0],
            }
            for leg in legs
        ]
    )
    across = rows.filter(pl.col("y") == pl.col("to_y"))
    along = rows.filter(pl.col("y") != pl.col("to_y"))
    width = vl.condition(f"datum.kind === {json.dumps(KINDS['packet'][0])}", 5, 2.5)
    layers = []
    if across.height:
        lines = make_chart(across).mark_rule(opacity=0.55)
        layers.append(lines.encode(x=x, x2="to_ms:Q", y=y("y"), color=colour, strokeWidth=width))
    if along.height:
        lines = make_chart(along).mark_rule(opacity=0.9)
        layers.append(lines.encode(x=x, y=y("y"), y2="to_y:Q", color=colour, strokeWidth=width))
    for down, form in ARROWS.items():
        ends = along.filter((pl.col("to_y") < pl.col("y")) == down)
        if ends.height:
            heads = make_chart(ends).mark_point(shape=form, filled=True, size=90, opacity=1)
            layers.append(heads.encode(x=x, y=y("to_y"), color=colour))
    return layers


def _colour(kinds: set[str]) -> vl.Color:
    """Give each kind its colour, and a legend of those that are there."""
    names, tones = zip(*KINDS.values(), strict=True)
    return vl.Color(
        "kind:N",
        scale=vl.Scale(domain=list(names), range=list(tones)),
        legend=vl.Legend(
            values=[name for kind, (name, _) in KINDS.items() if kind in kinds],
            title=None,
            columns=4,
            symbolType="circle",
        ),
    )


def _name_lanes(height: dict[Lane, float], life: Life) -> str:
    """Give the axis its words: an expression of Vega, as the axis holds numbers."""
    names = {lane: lane.name.lower() for lane in height} | {Lane.CMTS: "CMTS"}
    if not life.asks:
        names[Lane.MODEM] = life.queue
    pairs = [
        f"abs(datum.value - {place}) < 0.01 ? {json.dumps(names[lane])} : "
        for lane, place in height.items()
    ]
    return "".join(pairs) + "''"
