"""The tables of a sweep's page: best settings, knees, and the variance by axis."""

from __future__ import annotations

from headend.analysis.estimate import format_cell
from headend.analysis.ranking import Feasibility
from headend.sweeps.conclusion import Conclusion, Knee, Shape
from headend.sweeps.naming import write_operators
from headend.text.quantity import choose_unit
from headend.text.wording import join_names
from headend.wording.table import Cell, Column, Row, Table, make_table

_WORDS = {
    Feasibility.HOLDS: "holds",
    Feasibility.UNDECIDED: "undecided",
    Feasibility.FAILS: "fails; nothing holds",
    Feasibility.MISSING: "no result",
}


def tabulate_bests(conclusion: Conclusion) -> Table | None:
    """List the best setting along each axis under the wish; None without a wish."""
    if not conclusion.bests:
        return None
    criteria, grid = conclusion.criteria, conclusion.grid
    found = [conclusion.terms[term.text] for term in criteria.terms]
    units = [
        choose_unit(
            [
                own.estimates[best.setting].mean
                for best in conclusion.bests
                if best.setting in own.estimates
            ],
            own.info.kind,
        )
        for own in found
    ]
    rows = []
    order = sorted(conclusion.bests, key=lambda best: best.along != conclusion.main)
    for best in order:
        dimension = grid.dimensions[best.along]
        line = grid.name_place(best.among[0], [best.along], whole=True)
        labels = [grid.find_place(own)[best.along] for own in best.ties]
        cells = [
            Cell(format_cell(own.estimates[best.setting], own.info.kind, unit))
            if best.setting in own.estimates
            else None
            for own, unit in zip(found, units, strict=True)
        ]
        grade = best.standing.grade
        label = best.setting and dimension.labels[grid.find_place(best.setting)[best.along]]
        texts = (
            Cell(label, grade) if label else None,
            Cell(join_names([dimension.labels[place] for place in labels])),
            Cell(_WORDS[best.standing], grade),
        )
        rows.append(Row(f"{dimension.name}{f', at {line}' if line else ''}", (*texts, *cells)))
    columns = [
        Column(term.text, unit, is_number=True)
        for term, unit in zip(criteria.terms, units, strict=True)
    ]
    return Table(
        (*map(Column, ("best", "as good", "standing")), *columns),
        tuple(rows),
        "along",
        "The best setting along each axis",
        f"The wish: {write_operators(criteria.describe())}. As good is what differs by no more than"
        " its 95 % interval, paired by seed, or by 5 % (a MOS by 0.1).",
    )


def tabulate_knees(conclusion: Conclusion) -> Table | None:
    """List each measure's curve along each axis of numbers, with its knee; or None."""
    if not conclusion.knees:
        return None
    grid = conclusion.grid
    order = sorted(conclusion.knees, key=lambda knee: knee.along != conclusion.main)
    rows = []
    for knee in order:
        dimension = grid.dimensions[knee.along]
        line = grid.name_place(knee.line[0], [knee.along], whole=True)
        place = f"{dimension.name}{f', at {line}' if line else ''}"
        rows.append((knee.measure, place, _describe_knee(conclusion, knee)))
    return make_table(
        "measure",
        ("along", "what it does"),
        rows,
        title="Knees",
        note="A knee is the end of the plateau around the best point of a curve: beyond it the"
        " measure changes by more than its 95 % interval, paired by seed, and by more than 5 % (a"
        " MOS by more than 0.1).",
    )


def _describe_knee(conclusion: Conclusion, knee: Knee) -> str:
    labels = conclusion.grid.dimensions[knee.along].labels
    best, first, last = (
        labels[conclusion.grid.find_place(own)[knee.along]]
        for own in (knee.best, knee.first, knee.last)
    )
    return {
        Shape.FLAT: "does not change",
        Shape.LEVELS_OFF: f"improves up to {first}, and levels off",
        Shape.FALLS_OFF: f"is as good up to {last}, and gets worse beyond",
        Shape.PEAKS: f"is best at {best}"
        + (f", as good from {first} to {last}" if first != last else ""),
        Shape.IMPROVES: "improves up to the last setting: no knee within the range",
        Shape.WORSENS: "gets worse from the first setting on: no knee within the range",
    }[knee.shape]


def tabulate_shares(conclusion: Conclusion) -> Table | None:
    """List how much of each measure's variance each axis explains; None with only one axis."""
    dimensions = [own for own in conclusion.grid.dimensions if len(own.labels) > 1]
    if len(dimensions) < 2:
        return None
    rows = []
    for name in conclusion.measures:
        pairs = zip(conclusion.shares.get(name) or (), conclusion.grid.dimensions, strict=False)
        own = [share for share, dimension in pairs if len(dimension.labels) > 1]
        cells = [f"{share * 100:.0f} %" for share in [*own, max(0.0, 1 - sum(own))]]
        rows.append((name, *(cells if own else [None] * (len(dimensions) + 1))))
    return make_table(
        "measure",
        [
            Column(name, is_number=True)
            for name in (*(own.name for own in dimensions), "interaction")
        ],
        rows,
        title="Which axis matters for what",
        note="How much of a measure's variance between the settings goes with each axis on its own"
        " (η²; of the logarithm where values span a factor of ten). The column interaction is the"
        " rest: the effect of one axis depends on the value of another. A dash: the measure is as"
        " good in all settings.",
    )
