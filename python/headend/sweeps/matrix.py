"""The matrix of a sweep: a column for each main value, a row for each other combination.

With a wish, a cell says whether its setting meets the conditions, and gives the objective. Without
a wish, there is a row for each measure, and a cell has the measure's grade.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headend.analysis.grading import ORDER, Grade, grade_measure
from headend.analysis.measures import MeasureValues, find_worst_grade
from headend.analysis.ranking import Feasibility
from headend.sweeps.conclusion import Best, Conclusion
from headend.sweeps.naming import join_conditions, list_others, write_operators
from headend.text.quantity import Unit, choose_unit, format_number
from headend.text.wording import capitalise, join_names
from headend.wording.table import Cell, Row, Table, make_matrix

#: Rows and columns of the matrix; the table of every setting has the others.
MOST_ROWS, MOST_COLUMNS = 8, 8

#: With more columns than this, the note has the units in place of the cells.
MOST_WITH_UNITS = 4


def draw_matrix(conclusion: Conclusion) -> Table | None:
    """Draw the matrix; None where nothing was measured."""
    grid, main = conclusion.grid, conclusion.main_axis
    if not conclusion.measures:
        return None
    lines = grid.list_lines(conclusion.main)
    columns = _choose_columns(conclusion)
    groups = [grid.name_place(line[0], [conclusion.main]) for line in lines]
    others = [own.name for own in list_others(conclusion)]
    notes = []
    rows: list[Row]
    wished = [term.text for term in conclusion.criteria.terms]
    if wished:
        kept = spread(range(len(lines)), MOST_ROWS)
        numbers = _Numbers.of(
            conclusion, [lines[number][column] for number in kept for column in columns], columns
        )
        rows = [
            _draw_wished(conclusion, groups[number], lines[number], columns, numbers)
            for number in kept
        ]
        notes += [_explain_wished(conclusion), numbers.tell(wished)]
    else:
        names = list(conclusion.measures)
        if len(lines) * len(names) > MOST_ROWS:
            names = [_choose_worst(conclusion)]
            notes.append(f"Shown is {names[0]}, one of {len(conclusion.measures)} measures.")
        kept = spread(range(len(lines)), max(1, MOST_ROWS // len(names)))
        several = len(names) > 1
        numbers = _Numbers.of(
            conclusion, [lines[number][column] for number in kept for column in columns], columns
        )
        notes.append(numbers.tell(names))
        rows = [
            _draw_measure(
                conclusion,
                ", ".join(filter(None, [groups[number], name if several or not others else ""])),
                conclusion.measures[name],
                lines[number],
                columns,
                numbers,
            )
            for number in kept
            for name in names
        ]
        # A scenario does not have the flows of another one, so a row can be empty.
        rows = [row for row in rows if any(row.cells)] or rows
    if len(kept) < len(lines) or len(columns) < len(main.labels):
        notes.append(
            f"{len(kept)} of {len(lines)} rows and {len(columns)} of {len(main.labels)} columns are"
            " shown."
        )
    across = f"{main.name}\u00a0→"
    corner = f"{', '.join(others)}\u00a0↓ {across}" if others else across
    choices = tuple(main.labels[number] for number in columns)
    return make_matrix(choices, tuple(rows), corner, " ".join(filter(None, notes)))


def spread(items: Sequence[int], most: int, needed: Iterable[int] = ()) -> list[int]:
    """Choose at most ``most`` numbers: the needed ones, both ends, and others evenly between.

    Examples
    --------
    >>> spread(range(10), 4), spread(range(10), 4, [8]), spread(range(3), 4)
    ([0, 3, 6, 9], [0, 3, 8, 9], [0, 1, 2])
    """
    if len(items) <= most:
        return list(items)
    chosen = set(needed)
    if len(chosen) > most:
        chosen = set(spread(sorted(chosen), most))
    evenly = [items[round(number * (len(items) - 1) / max(1, most - 1))] for number in range(most)]
    for number in (evenly[0], evenly[-1], *evenly[1:-1]):
        if len(chosen) < most:
            chosen.add(number)
    return sorted(chosen)


def _choose_columns(conclusion: Conclusion) -> list[int]:
    """Choose the main values to show: the best ones, both ends, others evenly between."""
    best = {
        conclusion.grid.find_place(own.setting)[conclusion.main]
        for own in conclusion.list_bests(conclusion.main)
        if own.setting is not None
    }
    number = len(conclusion.main_axis.labels)
    return spread(range(number), MOST_COLUMNS, best)


def _draw_wished(
    conclusion: Conclusion,
    label: str,
    line: Sequence[int],
    columns: Sequence[int],
    numbers: _Numbers,
) -> Row:
    """Draw a line under the wish."""
    bests = conclusion.list_bests(conclusion.main)
    best = next((own for own in bests if own.among == tuple(line)), None)
    cells = tuple(_draw_standing(conclusion, best, line[number], numbers) for number in columns)
    return Row(label or write_operators(conclusion.criteria.describe()), cells)


def _draw_standing(
    conclusion: Conclusion, best: Best | None, setting: int, numbers: _Numbers
) -> Cell | None:
    """Draw the standing of a setting; the best one is marked, or the nearest where none holds.

    Without a best one, as of a sweep that was stopped, nothing is marked.
    """
    standing = conclusion.standings[setting]
    if standing is Feasibility.MISSING:
        return None
    criteria, objective = conclusion.criteria, conclusion.objective
    held = [one for one in criteria.constraints if conclusion.judge(one, setting) is standing]
    told = [
        f"{one.term.text} {numbers.write(one.term.text, setting)}"
        for one in (held or criteria.constraints)
        if standing is Feasibility.FAILS or one.term != criteria.objective
    ]
    if standing is Feasibility.FAILS and not any(
        numbers.has(one.term.text, setting) for one in held or criteria.constraints
    ):
        return Cell(told[0], Grade.NONE, "not measured")
    if best and setting == best.setting and best.standing is Feasibility.FAILS:
        return Cell(told[0], Grade.POOR, "nearest")
    if standing is Feasibility.FAILS:
        return Cell(told[0], Grade.BAD, "fails")
    own = numbers.write(criteria.objective.text, setting) if criteria.objective else ""
    number, note = (own, ", ".join(told)) if objective else (", ".join(told[:1]), "")
    if standing is Feasibility.UNDECIDED:
        return Cell(number, Grade.FAIR, "undecided", note)
    word = "holds" if criteria.constraints else ""
    if objective and best and setting == best.setting:
        word = "best"
    elif objective and best and setting in best.ties:
        word = "as good"
    grade = Grade.NONE if not criteria.constraints and word == "" else Grade.GOOD
    return Cell(number, grade, word, note)


def _explain_wished(conclusion: Conclusion) -> str:
    """Say what the words of the cells mean."""
    sweep = conclusion.sweep
    parts = []
    if sweep.criteria.constraints:
        parts.append(f"Holds: {join_conditions(conclusion)}, over the whole 95 % interval")
        if len(sweep.design.seeds) < 2:
            parts[-1] = f"Holds: {join_conditions(conclusion)}, by one seed"
        if Feasibility.UNDECIDED in conclusion.standings.values():
            parts.append("undecided: over a part of it")
    if sweep.criteria.objective and not (conclusion.is_open or conclusion.is_given):
        way = "most" if sweep.criteria.higher_is_better else "least"
        most = f"the {way} {sweep.criteria.objective.text} of its row"
        if any(best.ties for best in conclusion.list_bests(conclusion.main)):
            parts.append(f"best and as good: {most}, or within the interval or 5 % of it")
            parts.append(f"best of these: {_explain_preference(conclusion)}")
        else:
            parts.append(f"best: {most}")
    return f"{'; '.join(parts)}." if parts else ""


def _explain_preference(conclusion: Conclusion) -> str:
    """Say which of several tied settings is called the best."""
    main = conclusion.main_axis
    criteria = conclusion.criteria
    if conclusion.overall and conclusion.overall.is_best:
        return "the one that the answer names"
    if main.numbers:
        return f"the smallest {main.name}"
    if criteria.constraints:
        return "the one with the most to spare of what must hold"
    return f"the {'most' if criteria.higher_is_better else 'least'}"


def _choose_worst(conclusion: Conclusion) -> str:
    """Choose the measure to show where not all fit: the first by which somebody fares worst."""
    grades = {name: find_worst_grade(own) for name, own in conclusion.measures.items()}
    return max(grades, key=lambda name: ORDER.index(grades[name]))


def _draw_measure(
    conclusion: Conclusion,
    label: str,
    measured: MeasureValues,
    line: Sequence[int],
    columns: Sequence[int],
    numbers: _Numbers,
) -> Row:
    """Draw a measure along a line, with its grades, and a word at its knee."""
    knees = conclusion.list_knees(conclusion.main, measured.info.name)
    knee = next((own.setting for own in knees if set(own.line) <= set(line)), None)
    cells: list[Cell | None] = []
    for number in columns:
        setting = line[number]
        if setting not in measured.estimates:
            cells.append(None)
            continue
        mean = measured.estimates[setting].mean
        grade = grade_measure(measured.info.metric, mean)
        word = "" if grade is Grade.NONE else grade.value
        note = "knee" if setting == knee else ""
        number_text = numbers.write(measured.info.name, setting)
        cells.append(Cell(number_text, grade, word, note))
    return Row(label, tuple(cells))


@dataclass(frozen=True)
class _Numbers:
    """Writes a matrix's numbers in one unit for each term; with many columns, units in the note."""

    terms: Mapping[str, MeasureValues]
    units: Mapping[str, tuple[Unit, int]]
    is_bare: bool

    @classmethod
    def of(
        cls, conclusion: Conclusion, settings: Sequence[int], columns: Sequence[int]
    ) -> _Numbers:
        """Choose a unit and a number of decimals for each term by its values in some settings."""
        units = {}
        for name, own in conclusion.terms.items():
            means = [own.estimates[one].mean for one in settings if one in own.estimates]
            unit = choose_unit(means, own.info.kind)
            most = max((abs(mean) / unit.size for mean in means), default=0.0)
            units[name] = unit, 2 if most < 10 else 1 if most < 100 else 0
        return cls(conclusion.terms, units, len(columns) > MOST_WITH_UNITS)

    def has(self, name: str, setting: int) -> bool:
        """Say whether a term was measured in a setting."""
        return setting in self.terms[name].estimates

    def write(self, name: str, setting: int) -> str:
        """Write the mean of a term in a setting."""
        estimate, (unit, decimals) = self.terms[name].estimates.get(setting), self.units[name]
        number = format_number(estimate.mean if estimate else None, unit, decimals)
        return number if self.is_bare else f"{number} {unit.name}".rstrip()

    def tell(self, names: Iterable[str]) -> str:
        """Name the units for the note; empty where the cells have them."""
        found: dict[str, list[str]] = {}
        for name in names:
            found.setdefault(self.units[name][0].name, []).append(name)
        told = [f"{join_names(own)} in {unit}" for unit, own in found.items() if unit]
        return f"{capitalise(join_names(told))}." if told and self.is_bare else ""
