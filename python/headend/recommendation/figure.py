"""The figures of a recommendation: the trade-off that decides, and each person's gain."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from headend.analysis.criteria import Condition, Term
from headend.analysis.grading import list_marks
from headend.analysis.ranking import Feasibility
from headend.figures import vegalite as vl
from headend.figures.figure import MOST_NAMED, Figure, Panel
from headend.figures.placing import LETTER, LINE, find_share, mark_among
from headend.figures.theme import (
    QUEUES,
    SHAPES,
    choose_tone,
    fade,
    highlight,
    make_chart,
    make_legend,
    mark_along,
)
from headend.figures.trade_off import (
    MOST_PANELS,
    Drawn,
    choose_axis,
    draw_halo,
    draw_intervals,
    encode,
    list_tooltips,
    make_room,
    read_ends,
    scale_columns,
)
from headend.recommendation.candidate import Feature, order_candidates
from headend.recommendation.people import name_application
from headend.recommendation.sentences import TRADE_OFF, name_term
from headend.recommendation.worst import measure_worst
from headend.sweeps.naming import write_mean, write_operators
from headend.text.quantity import format_quantity
from headend.text.wording import capitalise, join_names, list_names

if TYPE_CHECKING:
    from headend.analysis.measures import MeasureValues
    from headend.recommendation.deciding import Decision

#: The colour and the shape of each feature; those that are there to compare with are grey, as
#: queues are.
_SLOTS = {
    Feature.TODAY: QUEUES,
    Feature.DELIVERED: QUEUES,
    Feature.AQM_OFF: QUEUES,
    Feature.BUFFER_CONTROL: 0,
    Feature.AQM: 1,
    Feature.LOW_LATENCY: 2,
    Feature.ROUTER: 3,
    Feature.ROUTER_AND_AQM: 4,
    # A plain link has a buffer in place of Buffer Control.
    Feature.BUFFER: 0,
    Feature.FASTER: QUEUES,
    Feature.NO_UPLOAD: QUEUES,
    Feature.WIFI: 4,
    Feature.STATION: 5,
    Feature.ETHERNET: QUEUES,
}
_ROUTERS = ("triangle-right", "triangle-left")
_SHAPES = dict(
    zip(
        _SLOTS,
        (
            SHAPES[5],
            *SHAPES[3:5],
            *SHAPES[:3],
            *_ROUTERS,
            SHAPES[0],
            *SHAPES[3:5],
            _ROUTERS[1],
            SHAPES[0],
            SHAPES[5],
        ),
        strict=True,
    )
)

#: Of the length of an axis, so much is left beyond the values at each end.
ROOM = 0.04

#: Steps along a line between two points, to find what crosses a label.
STEPS = 20

#: The height of a row of settings, in pixels.
ROW = 16


@dataclass(frozen=True)
class _Tier:
    """A tier as it is drawn: its settings in the order of a list, and what is drawn, by name."""

    decision: Decision
    order: tuple[int, ...]
    measures: Mapping[str, MeasureValues]

    @property
    def name(self) -> str:
        """What the tier is called."""
        return self.decision.tier.name

    def find_bounds(self, measure: str) -> list[Condition]:
        """Give the conditions on a measure."""
        return [own for own in self.decision.criteria.constraints if own.term.text == measure]

    def read_ends(self, name: str, measure: str, setting: int) -> dict[str, float] | None:
        """Give mean and interval of a measure as columns; None where it has no value."""
        known = self.measures.get(measure)
        return read_ends(name, known, setting) if known else None


def draw_recommendation(
    decisions: Sequence[Decision], flows: Mapping[str, Mapping[str, Any]], table: pl.DataFrame
) -> list[Figure]:
    """Draw the page's figures; ``trade-off`` comes first, where two measures are opposed.

    Parameters
    ----------
    decisions
        Of all tiers.
    flows
        The people's ``[flow]`` tables.
    table
        All points, as `Recommendation.table`.
    """
    done = [own for own in decisions if set(own.standings.values()) != {Feasibility.MISSING}]
    if not done:
        return []
    left = list_names([own.tier.name for own in done[MOST_PANELS:]], MOST_NAMED)
    note = f" Not drawn, as there is room for {MOST_PANELS} panels: {left}." if left else ""
    if len(done[0].senders) > 1:
        note += " Each value is that with the sender with which it is worst."
    people = _list_people(done[0], flows, set(table["measure"].drop_nulls()))
    names = list(dict.fromkeys(name for own in people.values() for name in own))
    tiers = []
    for decision in done[:MOST_PANELS]:
        rows = table.filter(pl.col("tier") == decision.tier.name)
        others = [Term(name, (name,)) for name in names if name not in decision.terms]
        wishes = (decision.criteria, decision.demands)
        worst = measure_worst(rows, others, decision.senders, wishes)
        measures = {**decision.terms, **worst.terms}
        tiers.append(_Tier(decision, tuple(order_candidates(decision.candidates)), measures))
    figures = []
    axes = _choose_axes(tiers, names)
    if axes and (trade_off := _draw_trade_off(tiers, axes, note)):
        figures.append(trade_off)
    for subject, drawn_of in people.items():
        for number, measure in enumerate(drawn_of):
            name = f"{subject}-{number + 1}" if number else subject
            drawn = _draw_measure(tiers, name, measure, note)
            figures += [drawn] if drawn else []
    return figures


# What is drawn.


def _list_people(
    decision: Decision, flows: Mapping[str, Mapping[str, Any]], known: AbstractSet[str]
) -> dict[str, list[str]]:
    """List the measures of each person: the conditions' and the objective's, else the graded.

    Terms that are of no person, such as a queue's delay, have their own names.
    """
    found: dict[str, list[str]] = {name: [] for name in flows}
    others: dict[str, list[str]] = {}
    for term in decision.criteria.terms:
        subject = term.measures[0].partition(".")[0]
        if subject in found:
            found[subject].append(term.text)
        else:
            others[f"condition-{len(others) + 1}"] = [term.text]
    for name, flow in flows.items():
        marks = [] if found[name] else list_marks(name_application(flow))
        graded = [f"{name}.{mark.metric}" for mark in marks]
        fitting = [own for own in (*graded, f"{name}.goodput") if own in known]
        found[name] = found[name] or fitting[:1]
    return {**found, **others}


def _choose_axes(tiers: Sequence[_Tier], names: Sequence[str]) -> tuple[str, str] | None:
    """Choose what goes along the bottom and up the side of the trade-off.

    That is the objective, and the condition that most settings of all tiers miss. Without an
    objective it is the two conditions that most miss. None where no two measures have values.
    """
    missed: dict[str, int] = {}
    for tier in tiers:
        for condition in tier.decision.criteria.constraints:
            judged = [tier.decision.judge(condition, own) for own in tier.order]
            count = sum(own is not Feasibility.HOLDS for own in judged)
            missed[condition.term.text] = missed.get(condition.term.text, 0) + count
    order = sorted(missed, key=lambda name: -missed[name])
    objective = tiers[0].decision.criteria.objective
    valued = {name for tier in tiers for name, own in tier.measures.items() if own.estimates}
    along = [objective.text] if objective and objective.text in valued else []
    # What nobody asks for still shows who pays.
    found = [own for own in dict.fromkeys([*along, *order, *names]) if own in valued]
    if len(found) < 2:
        return None
    return (found[0], found[1]) if along else (found[1], found[0])


def _list_rows(tier: _Tier, measures: Mapping[str, str]) -> pl.DataFrame:
    """Give a row for each setting that has a value of all measures, which are columns."""
    decision, rows = tier.decision, []
    for place, setting in enumerate(tier.order):
        ends = [tier.read_ends(name, own, setting) for name, own in measures.items()]
        if None in ends:
            continue
        candidate = decision.find(setting)
        rows.append(
            {
                "setting": candidate.label,
                "number": setting,
                "place": place,
                "feature": str(candidate.feature),
                "series": candidate.feature.words,
                "is_buffer": candidate.feature is Feature.BUFFER_CONTROL,
                "best": setting == decision.chosen.setting,
                "holds": all(
                    decision.judge(condition, setting) is Feasibility.HOLDS
                    for own in measures.values()
                    for condition in tier.find_bounds(own)
                ),
                **{key: value for one in ends for key, value in (one or {}).items()},
            }
        )
    return pl.DataFrame(rows)


def _choose_scale(
    frames: Sequence[pl.DataFrame], tiers: Sequence[_Tier], measure: str, *, from_zero: bool
) -> list[tuple[Drawn, list[tuple[float, str]], str]]:
    """Choose a measure's axis for each tier, with bounds: one scale for all, except for rates."""
    about = next(own.measures[measure].info for own in tiers if measure in own.measures)
    alone = about.kind == "rate"
    found = []
    for frame, tier in zip(frames, tiers, strict=True):
        is_own = alone and not frame.is_empty()
        rows = frame if is_own else pl.concat([own for own in frames if not own.is_empty()])
        drawn = choose_axis(rows, about, from_zero=from_zero)
        # The quantity in words, and its unit.
        unit = drawn.title.removeprefix(about.name).strip(" ()")
        name = name_term(measure)
        drawn = replace(drawn, title=f"{name} ({unit})" if unit and unit not in name else name)
        bounds = []
        for one in tier.find_bounds(measure):
            bound = one.read_bound(about.kind)
            limit = format_quantity(bound, about.kind) if about.kind == "rate" else one.limit
            bounds.append((bound / drawn.base, write_operators(f"{one.operator} {limit}")))
        found.append(make_room(drawn, bounds))
    return found


def _pick(frames: Sequence[pl.DataFrame], name: str) -> list[pl.DataFrame]:
    """Give the columns of one measure as `choose_axis` reads them."""
    return [
        own.select(mean=name, low=f"{name}_low", high=f"{name}_high") if not own.is_empty() else own
        for own in frames
    ]


def _make_colour(rows: pl.DataFrame) -> dict[str, Any]:
    """Tell features apart by colour and shape."""
    shown = dict(rows.select("feature", "series").rows())
    found = [own for own in Feature if own in shown]
    names = [shown[own] for own in found]
    forms = vl.Scale(domain=names, range=[_SHAPES[own] for own in found])
    tones = vl.Scale(domain=names, range=[choose_tone(_SLOTS[own]) for own in found])
    return {
        "color": vl.Color("series:N", scale=tones, legend=make_legend(names), sort=names),
        "shape": vl.Shape("series:N", scale=forms, legend=make_legend(names), sort=names),
    }


def _describe_marks(tiers: Sequence[_Tier], between: str, note: str) -> str:
    """Say which setting has a ring, and what the bars are."""
    found = {own.decision.recommended is not None for own in tiers if own.decision.chosen.setting}
    ring = " A ring marks the recommended setting, or the nearest where none meets all conditions."
    if len(found) < 2:
        ring = ""
    if found == {True}:
        ring = " A ring marks the recommended setting."
    if found == {False}:
        ring = " A ring marks the setting that comes nearest, as none meets all conditions."
    has_intervals = tiers[0].decision.has_intervals
    bars = " The bars are 95 % intervals over seeds." if has_intervals else ""
    return f"{ring}{between}{bars}{note}"


def _draw_points(
    points: pl.DataFrame, x: Drawn, y: vl.Channel, tooltip: Sequence[vl.Tooltip]
) -> tuple[vl.Chart, vl.Chart, vl.Parameter]:
    """Begin a chart of settings, with and without their shapes, and what highlights one."""
    chosen = highlight()
    base = make_chart(points).encode(
        x=encode(vl.X, "x", x),
        y=y,
        **_make_colour(points),
        opacity=fade(chosen),
        tooltip=[vl.Tooltip("setting:N", title=" "), *tooltip],
    )
    bare = base.properties(
        encoding={key: own for key, own in base.parts["encoding"].items() if key != "shape"}
    )
    return base, bare, chosen


# The trade-off.


def _draw_trade_off(tiers: Sequence[_Tier], axes: tuple[str, str], note: str) -> Figure | None:
    first, second = axes
    frames = [_list_rows(own, {"x": first, "y": second}) for own in tiers]
    if all(frame.is_empty() for frame in frames):
        return None
    along, up = (
        [
            (_widen(drawn), marks, beyond)
            for drawn, marks, beyond in _choose_scale(
                _pick(frames, name), tiers, measure, from_zero=False
            )
        ]
        for name, measure in (("x", first), ("y", second))
    )
    panels = []
    for tier, frame, x, y in zip(tiers, frames, along, up, strict=True):
        if not frame.is_empty():
            chart = _draw_against(tier, frame, axes, x[:2], y[:2])
            place = {"tier": tier.name}
            panels.append(Panel(tier.name, chart, f"{TRADE_OFF} {tier.name}", place))
    beyond = {
        own.replace(" The bound", f" The bound of {name_term(name)}")
        for name, found in ((first, along), (second, up))
        for *_, own in found
        if own
    }
    note = "".join(sorted(beyond)) + note
    buffers = (
        " The line joins the buffers by size."
        if any(frame["is_buffer"].sum() > 1 for frame in frames if not frame.is_empty())
        else ""
    )
    ends = (
        ("top" if _is_better_higher(tiers, second) else "bottom"),
        ("right" if _is_better_higher(tiers, first) else "left"),
    )
    return Figure(
        TRADE_OFF,
        f"Who gains and who pays: {name_term(second)} against {name_term(first)}",
        f"Each point is a setting; the best are at the {' '.join(ends)}."
        f"{_describe_marks(tiers, buffers, note)}",
        panels,
        note,
    )


def _widen(drawn: Drawn) -> Drawn:
    """Leave some room at both ends of a linear axis, so that labels have places."""
    if drawn.scale.get("type") == "log" or not drawn.scale.get("nice", True):
        return drawn
    low, high = drawn.scale["domain"]
    room = ROOM * (high - low)
    return replace(drawn, scale=vl.Scale(domain=[low - room, high + room], nice=False))


def _is_better_higher(tiers: Sequence[_Tier], measure: str) -> bool:
    """Say whether more of a measure is better: by the objective or condition, else as known."""
    wish = tiers[0].decision.criteria
    if wish.objective and wish.objective.text == measure:
        return wish.higher_is_better
    for condition in tiers[0].find_bounds(measure):
        return condition.higher_is_better
    return (
        next(
            own.measures[measure] for own in tiers if measure in own.measures
        ).info.higher_is_better
        is not False
    )


def _draw_against(
    tier: _Tier,
    rows: pl.DataFrame,
    axes: tuple[str, str],
    along: tuple[Drawn, list[tuple[float, str]]],
    up: tuple[Drawn, list[tuple[float, str]]],
) -> vl.Chart:
    """Draw one measure against another."""
    (x, x_marks), (y, y_marks) = along, up
    points = _label(tier, scale_columns(scale_columns(rows, "x", x), "y", y), x, y)
    base, bare, chosen = _draw_points(
        points,
        x,
        encode(vl.Y, "y", y),
        list_tooltips(x, y),
    )
    line = bare.mark_line(strokeWidth=1.5).encode(order=vl.Order("place:Q"))
    layers = [
        line.transform_filter("datum.is_buffer"),
        *draw_intervals(bare, x, y),
        base.mark_point(filled=True, size=50).add_params(chosen),
    ]
    ring = bare.mark_point(shape="circle", filled=False, size=220, strokeWidth=2)
    layers.append(ring.transform_filter("datum.best"))
    layers += mark_among(points, list(y_marks), y.scale, x="x", y="y") if y_marks else []
    layers += [mark_along(value, words, "x", above=True) for value, words in x_marks]
    for left, below in sorted(
        set(points.filter(pl.col("label") != "").select("left", "below").rows())
    ):
        text = bare.mark_text(
            align="right" if left else "left",
            baseline="top" if below else "bottom",
            dx=-8 if left else 8,
            dy=5 if below else -5,
            style="halo",
        ).encode(text="label:N")
        own = text.transform_filter(
            f"datum.label != '' && datum.left == {str(left).lower()} && datum.below =="
            f" {str(below).lower()}"
        )
        layers += draw_halo(own)
    return vl.layer(*layers).properties(
        description=f"{tier.name}: {y.title} against {x.title}, a point for each of {rows.height}"
        f" settings.{_describe_best(tier, axes)}"
    )


def _describe_best(tier: _Tier, measures: Sequence[str]) -> str:
    """Name the point with a ring, with its values, for those who cannot see it."""
    decision = tier.decision
    if decision.chosen.setting is None:
        return ""
    values = join_names(
        [
            f"{name_term(own)} {write_mean(tier.measures[own], decision.chosen.setting)}"
            for own in measures
        ]
    )
    word = "Recommended" if decision.recommended else "Nearest"
    return f" {word}: {decision.find(decision.chosen.setting).label}, with {values}."


def _label(tier: _Tier, points: pl.DataFrame, x: Drawn, y: Drawn) -> pl.DataFrame:
    """Name the points that the text speaks of, each beside its point, and no two over each other.

    They are the one with a ring, those to compare with, the ends of the buffers, and the best of
    each feature, in this order.
    """
    decision = tier.decision
    shown = points["number"].to_list()
    buffers = points.filter("is_buffer")["number"].to_list()
    wanted = [
        decision.chosen.setting,
        *(own for own in shown if own in decision.baselines.values()),
        *buffers[:1],
        *buffers[-1:],
        *(best.setting for best in decision.bests.values()),
    ]
    places = {
        number: (find_share(one, x.scale), find_share(other, y.scale))
        for number, one, other in points.select("number", "x", "y").rows()
    }
    curve = [places[number] for number in buffers]
    crossed = [*places.values(), *_walk(curve)]
    taken: list[_Box] = []
    labels: dict[int, tuple[str, bool, bool]] = {}
    for number in dict.fromkeys(wanted):
        if number is None or number not in places:
            continue
        text = decision.find(number).label
        if number == decision.chosen.setting:
            text = f"{'recommended' if decision.recommended else 'nearest'}: {text}"
        boxes = {
            (left, below): _Box.of(places[number], text, left=left, below=below)
            for left, below in ((False, False), (True, False), (False, True), (True, True))
        }
        free = {
            key: box
            for key, box in boxes.items()
            if box.is_inside and not any(box.overlaps(own) for own in taken)
        }
        if not free and taken:
            continue
        key = min(free or boxes, key=lambda own: boxes[own].count(crossed))
        taken.append(boxes[key])
        labels[number] = text, *key
    told = [labels.get(number, ("", False, False)) for number in shown]
    return points.with_columns(
        label=pl.Series([text for text, *_ in told], dtype=pl.String),
        left=pl.Series([left for _, left, _ in told], dtype=pl.Boolean),
        below=pl.Series([below for *_, below in told], dtype=pl.Boolean),
    )


def _walk(curve: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Give points in small steps along a line, without the ends of its parts."""
    for (x, y), (next_x, next_y) in itertools.pairwise(curve):
        for step in range(1, STEPS):
            share = step / STEPS
            yield x + share * (next_x - x), y + share * (next_y - y)


@dataclass(frozen=True)
class _Box:
    """The place of a text in a chart, in shares of its width and height."""

    left: float
    right: float
    bottom: float
    top: float

    @classmethod
    def of(cls, point: tuple[float, float], text: str, *, left: bool, below: bool) -> _Box:
        """Place a text beside a point."""
        (x, y), width, gap = point, LETTER * (len(text) + 2), LINE / 4
        begin = x - gap - width if left else x + gap
        bottom = y - gap - LINE if below else y + gap
        return cls(begin, begin + width, bottom, bottom + LINE)

    @property
    def is_inside(self) -> bool:
        """Whether it is within the chart."""
        return min(self.left, self.bottom) >= 0 and max(self.right, self.top) <= 1

    def overlaps(self, other: _Box) -> bool:
        """Say whether another box covers a part of it."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )

    def count(self, points: Sequence[tuple[float, float]]) -> tuple[float, int]:
        """Count the points below it, after how far it reaches beyond the chart."""
        beyond = sum(
            max(0.0, own) for own in (-self.left, self.right - 1, -self.bottom, self.top - 1)
        )
        return beyond, sum(
            self.left <= x <= self.right and self.bottom <= y <= self.top for x, y in points
        )


# One measure.


def _draw_measure(tiers: Sequence[_Tier], name: str, measure: str, note: str) -> Figure | None:
    """Draw one measure of all settings, a row for each; None where no setting has a value."""
    frames = [_list_rows(own, {"x": measure}) for own in tiers]
    if all(frame.is_empty() for frame in frames):
        return None
    scales = _choose_scale(_pick(frames, "x"), tiers, measure, from_zero=True)
    panels = [
        Panel(
            tier.name,
            _draw_rows(tier, measure, frame, drawn, marks),
            f"{name} {tier.name}",
            {"tier": tier.name},
        )
        for tier, frame, (drawn, marks, _) in zip(tiers, frames, scales, strict=True)
        if not frame.is_empty()
    ]
    end = "right" if _is_better_higher(tiers, measure) else "left"
    text = f"A row for each setting; the further to the {end}, the better."
    if any(own.find_bounds(measure) for own in tiers):
        text += (
            " The dashed line is the bound; a filled point is within it over the whole interval, an"
            " open one is not."
        )
    note = "".join(dict.fromkeys(beyond for *_, beyond in scales)) + note
    return Figure(
        name,
        f"{capitalise(name_term(measure))} of each setting",
        f"{text}{_describe_marks(tiers, '', note)}",
        panels,
        note,
    )


def _draw_rows(
    tier: _Tier, measure: str, rows: pl.DataFrame, drawn: Drawn, marks: Sequence[tuple[float, str]]
) -> vl.Chart:
    points = scale_columns(rows, "x", drawn)
    labels = [tier.decision.find(own).label for own in tier.order]
    best = points.filter("best")["setting"].to_list()
    weight: Any = "normal"
    if best:
        test = f"datum.value == {json.dumps(best[0])}"
        weight = {"condition": {"test": test, "value": "bold"}, "value": "normal"}
    axis = vl.Axis(labelFontWeight=weight, labelLimit=190, labelPadding=9, ticks=False)
    base, bare, chosen = _draw_points(
        points,
        drawn,
        vl.Y("setting:N", title=None, sort=labels, axis=axis),
        [
            vl.Tooltip("x:Q", title=drawn.title, format=".4~g"),
            vl.Tooltip("x_low:Q", title="from", format=".4~g"),
            vl.Tooltip("x_high:Q", title="to", format=".4~g"),
        ],
    )
    layers = [
        bare.mark_rule().encode(x=encode(vl.X, "x_low", drawn), x2="x_high:Q"),
        base.mark_point(filled=True, size=50).transform_filter("datum.holds").add_params(chosen),
        base.mark_point(filled=False, size=40, strokeWidth=1.5).transform_filter("!datum.holds"),
    ]
    ring = bare.mark_point(shape="circle", filled=False, size=170, strokeWidth=2)
    layers.append(ring.transform_filter("datum.best"))
    layers += [mark_along(value, text, "x", above=True) for value, text in marks]
    return vl.layer(*layers).properties(
        height=ROW * len(labels),
        description=f"{tier.name}: {drawn.title}, a row for each of {len(labels)}"
        f" settings.{_describe_best(tier, [measure])}",
    )
