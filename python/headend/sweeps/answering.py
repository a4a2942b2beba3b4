"""What a sweep's page and command say first: the question, the best settings or the trade-off in words, and one matrix.

A row of the matrix is what the sweep varies besides its main axis, a column a value of the main axis. Under a wish a cell says
whether the setting holds it, and what it has of the objective; without one it has the grade of the measure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headend.judging.answer import Answer, Cell, Matrix, Row, ask
from headend.judging.estimate import format_estimate
from headend.judging.grading import Grade, grade_measure
from headend.sweeps.conclusion import Best, Conclusion, Dimension, Knee, Measured, Shape, Standing
from headend.sweeps.wish import Condition
from headend.text.quantity import Unit, choose_unit, format_number
from headend.text.wording import capitalise, join_names, list_names

#: Rows and columns of the matrix; the table of every setting has the others.
MOST_ROWS, MOST_COLUMNS = 8, 8

#: Of more columns than this, cells leave out units.
MOST_WITH_UNITS = 4

#: So many lines are told one by one in a sentence.
MOST_TOLD = 4

#: The name of the figure of a trade-off.
TRADE_OFF = "trade-off"


def answer_sweep(conclusion: Conclusion) -> Answer:
    """Say what a sweep answers, to its title if that is a question."""
    sweep = conclusion.sweep
    name = conclusion.grid.dimensions[conclusion.main].name
    measures = join_names(list(conclusion.measures))
    otherwise = (
        f"Which {name} gives {write_operators(sweep.wish.tell())}?"
        if sweep.wish
        else f"What does {name} change for {measures}?"
        if measures
        else f"What does {name} change?"
    )
    sentences = _tell_bests(conclusion) if sweep.wish else _tell_shapes(conclusion)
    return Answer(
        ask(sweep.title, otherwise),
        tuple(sentences),
        _draw_matrix(conclusion),
        choose_why(conclusion),
    )


def choose_why(conclusion: Conclusion) -> str:
    """Name the figure that shows why: the trade-off, or else the first measure's curve."""
    if conclusion.trade_off:
        return TRADE_OFF
    return "measure-1" if conclusion.measures else ""


# Sentences under a wish.


def _tell_bests(conclusion: Conclusion) -> list[str]:
    """Say which setting is best, where none holds, and what stands in the way of more."""
    bests = [best for best in conclusion.list_bests(conclusion.main) if best.setting is not None]
    if not bests:
        return ["No point of the sweep has a result."]
    holding = [best for best in bests if best.standing is Standing.HOLDS]
    others = [best for best in bests if best.standing is not Standing.HOLDS]
    told = []
    if len(bests) == 1 and holding:
        told += [_tell_one(conclusion, holding[0]), _tell_obstacle(conclusion, holding[0])]
    elif holding:
        told.append(_tell_several(conclusion, holding))
    told.append(_tell_not_holding(conclusion, others))
    if len(holding) > 1 and not others:
        told.append(_tell_obstacle(conclusion, holding[-1]) or _tell_ties(conclusion, holding))
    return [sentence for sentence in told if sentence]


def _tell_one(conclusion: Conclusion, best: Best) -> str:
    """Say the best setting of a sweep along one axis."""
    grid, main = conclusion.grid, conclusion.grid.dimensions[conclusion.main]
    if conclusion.objective is None:
        labels = _join_settings(conclusion, _order(best))
        return f"{_tell_conditions(conclusion)} with {main.name} {labels}."
    values = _tell_values(conclusion, best.setting or 0)
    label = grid.name_place(best.setting or 0)
    ties = _join_settings(conclusion, best.ties)
    as_good = f" ({ties} {'is' if len(best.ties) == 1 else 'are'} as good)" if ties else ""
    return f"The best {main.name} is {label}{as_good}: {values}."


def _tell_several(conclusion: Conclusion, holding: Sequence[Best]) -> str:
    """Say the best setting of each line, lines with the same one together."""
    main = conclusion.grid.dimensions[conclusion.main].name
    wish = conclusion.sweep.wish
    found: dict[str, list[Best]] = {}
    for best in holding:
        own = [best.setting or 0] if wish.objective else _order(best)
        found.setdefault(_join_settings(conclusion, own), []).append(best)
    if len(found) == 1:
        (label,) = found
        where = (
            "everywhere"
            if len(holding) == len(conclusion.list_bests(conclusion.main))
            else (f"at {_tell_lines(conclusion, holding)}")
        )
        told = f"{label} {where}"
    elif len(found) <= MOST_TOLD or not _list_ordered_lines(conclusion):
        parts = [f"{label} at {_tell_lines(conclusion, own)}" for label, own in found.items()]
        told = join_names(parts) if len(parts) <= MOST_TOLD else list_names(parts, MOST_TOLD - 1)
    else:
        (first, firsts), *_, (last, lasts) = found.items()
        told = f"from {first} at {_tell_lines(conclusion, firsts)} to {last} at {_tell_lines(conclusion, lasts)}"
    if wish.objective is None:
        return f"{_tell_conditions(conclusion)} with {main} {told}."
    held = f", while {_tell_conditions(conclusion)}" if wish.hold else ""
    way = "most" if wish.is_rising else "least"
    return f"The {main} with the {way} {wish.objective.text}{held}: {told}."


def _tell_not_holding(conclusion: Conclusion, others: Sequence[Best]) -> str:
    """Say where nothing holds, and what comes nearest; where seeds do not suffice to tell, that."""
    main = conclusion.grid.dimensions[conclusion.main].name
    failing = [best for best in others if best.standing is Standing.FAILS]
    undecided = [best for best in others if best.standing is Standing.UNDECIDED]
    nearest = conclusion.nearest
    if failing and nearest:
        lines = conclusion.list_bests(conclusion.main)
        label = _label(conclusion, [nearest.setting or 0])[0]
        where, at = "No", ""
        if len(failing) < len(lines):
            where = f"At {_tell_lines(conclusion, failing)} no"
        if len(failing) > 1:
            at = f" at {_tell_lines(conclusion, [nearest])}"
        values = _tell_held(conclusion, nearest.setting or 0)
        return f"{where} {main} gives {_join_conditions(conclusion)}; {label}{at} comes nearest, with {values}."
    if undecided:
        several = len(conclusion.list_bests(conclusion.main)) > 1
        first = undecided[0]
        label = _label(conclusion, [first.setting or 0])[0]
        where = f"At {_tell_lines(conclusion, undecided)} more" if several else "More"
        values = _tell_held(conclusion, first.setting or 0)
        return f"{where} seeds are needed to tell whether {label} holds: {values}."
    return ""


def _tell_obstacle(conclusion: Conclusion, best: Best) -> str:
    """Say what the setting with most of the objective does to what must hold, where that is another than the best."""
    objective, wish = conclusion.objective, conclusion.sweep.wish
    known = [own for own in best.line if objective and own in objective.estimates]
    if objective is None or not known or best.setting is None:
        return ""
    most = max(
        known, key=lambda own: objective.orient(objective.estimates[own].mean, wish.is_rising)
    )
    failed = [one for one in wish.hold if conclusion.judge(one, most) is Standing.FAILS]
    if most == best.setting or not failed:
        return ""
    label = _label(conclusion, [most])[0]
    line = _tell_lines(conclusion, [best])
    where = f"at {line}, " if line else ""
    way = "most" if wish.is_rising else "least"
    of = "as much" if objective.is_tie(best.setting, most) else f"the {way}"
    value = _write(objective, most)
    held = _tell_condition(conclusion, failed[0], most)
    told = f"{where}{label} has {of} {objective.about.measure}, {value}, but {held}."
    return capitalise(told)


def _tell_ties(conclusion: Conclusion, holding: Sequence[Best]) -> str:
    """Say which settings are as good as the best, lines with the same ones together; nothing where there are none or too many."""
    if conclusion.objective is None:
        return ""
    found: dict[str, list[Best]] = {}
    for best in holding:
        if best.ties:
            found.setdefault(_join_settings(conclusion, best.ties), []).append(best)
    if not 0 < len(found) <= MOST_TOLD:
        return ""
    told = [f"{label} at {_tell_lines(conclusion, own)}" for label, own in found.items()]
    return f"As good: {join_names(told)}."


def _tell_values(conclusion: Conclusion, setting: int) -> str:
    """Give the objective and what must hold in a setting, with intervals."""
    objective, wish = conclusion.objective, conclusion.sweep.wish
    parts = []
    if objective and wish.objective:
        parts.append(f"{wish.objective.text} {_write(objective, setting)}")
    parts += [_tell_condition(conclusion, one, setting) for one in wish.hold]
    return join_names(list(dict.fromkeys(parts)))


def _tell_held(conclusion: Conclusion, setting: int) -> str:
    """Give what must hold in a setting: of the conditions, those that do not."""
    wish = conclusion.sweep.wish
    missed = [one for one in wish.hold if conclusion.judge(one, setting) is not Standing.HOLDS]
    return join_names([_tell_condition(conclusion, one, setting) for one in missed])


def _tell_condition(conclusion: Conclusion, condition: Condition, setting: int) -> str:
    measured = conclusion.terms[condition.term.text]
    return f"{condition.term.text} {_write(measured, setting)}"


def _tell_conditions(conclusion: Conclusion) -> str:
    """Say as part of a sentence that the conditions hold."""
    texts = [write_operators(one.text) for one in conclusion.sweep.wish.hold]
    return f"{join_names(texts)} {'holds' if len(texts) == 1 else 'hold'}"


def _join_conditions(conclusion: Conclusion) -> str:
    return join_names([write_operators(one.text) for one in conclusion.sweep.wish.hold])


def write_operators(text: str) -> str:
    """Write conditions as people do.

    Examples
    --------
    >>> write_operators("call >= 4.0")
    'call ≥ 4.0'
    """
    return text.replace(">=", "≥").replace("<=", "≤")


# Sentences without a wish.


def _tell_shapes(conclusion: Conclusion) -> list[str]:
    """Say what each measure does along the main axis, with its knee, and which axis matters most for what."""
    main = conclusion.grid.dimensions[conclusion.main]
    told: list[str] = []
    if main.numbers:
        parts = [
            part
            for name in conclusion.measures
            if (part := _tell_shape(conclusion, conclusion.list_knees(conclusion.main, name)))
        ]
        if parts:
            told.append(f"With more {main.name}, {join_names(parts)}.")
    else:
        told.append(_tell_categories(conclusion))
    told.append(_tell_shares(conclusion))
    return [sentence for sentence in told if sentence] or [_tell_alike(conclusion)]


def _tell_shape(conclusion: Conclusion, knees: Sequence[Knee]) -> str:
    """Say what a measure does along the main axis, over all lines; nothing where they do not agree."""
    if not knees:
        return ""
    name = knees[0].measure
    better = [knee for knee in knees if knee.shape in (Shape.LEVELS_OFF, Shape.IMPROVES)]
    worse = [knee for knee in knees if knee.shape in (Shape.FALLS_OFF, Shape.WORSENS)]
    if len(better) + len(worse) == 0:
        if all(knee.shape is Shape.FLAT for knee in knees):
            return f"{name} stays the same"
        peaks = [knee.best for knee in knees if knee.shape is Shape.PEAKS]
        return f"{name} is best at {_span(conclusion, peaks)}"
    if better and worse:
        return ""
    if better:
        ends = [knee.first for knee in better]
        if all(knee.shape is Shape.IMPROVES for knee in better):
            return f"{name} improves to the end"
        return f"{name} improves up to {_span(conclusion, ends)}"
    if all(knee.shape is Shape.WORSENS for knee in worse):
        return f"{name} gets worse from the start"
    return f"{name} gets worse beyond {_span(conclusion, [knee.last for knee in worse])}"


def _span(conclusion: Conclusion, settings: Iterable[int]) -> str:
    """Name where settings lie along the main axis: one label, or the least and the largest."""
    main = conclusion.grid.dimensions[conclusion.main]
    places = [conclusion.grid.find_place(own)[conclusion.main] for own in settings]
    numbers = main.numbers or tuple(range(len(main.labels)))
    places.sort(key=lambda place: numbers[place])
    first, last = main.labels[places[0]], main.labels[places[-1]]
    if first == last:
        return first
    number, _, unit = first.partition(" ")
    return f"{number if last.endswith(f' {unit}') else first} to {last}"


def _tell_categories(conclusion: Conclusion) -> str:
    """Say which of the categories is best for each measure most often."""
    main = conclusion.grid.dimensions[conclusion.main]
    winners: dict[str, list[str]] = {}
    for name, measured in conclusion.measures.items():
        if measured.about.is_rising is None or not conclusion.shares.get(name):
            continue
        counts: dict[int, int] = {}
        for line in conclusion.grid.list_lines(conclusion.main):
            known = [own for own in line if own in measured.estimates]
            if len(known) < 2:
                continue
            best = max(known, key=lambda own: measured.orient(measured.estimates[own].mean))
            tied = [own for own in known if own == best or measured.is_tie(own, best)]
            if len(tied) == len(known):
                continue
            for own in tied:
                place = conclusion.grid.find_place(own)[conclusion.main]
                counts[place] = counts.get(place, 0) + 1
        if counts:
            most = max(counts.values())
            labels = [main.labels[place] for place, own in sorted(counts.items()) if own == most]
            winners.setdefault(_join(labels), []).append(name)
    if not winners:
        return ""
    parts = [f"{join_names(names)} with {label}" for label, names in winners.items()]
    return f"Best {main.name}: {'; '.join(parts)}."


def _tell_shares(conclusion: Conclusion) -> str:
    """Say on which axis each measure depends most, where there are several."""
    dimensions = conclusion.grid.dimensions
    if sum(len(own.labels) > 1 for own in dimensions) < 2:
        return ""
    depending: dict[int, list[str]] = {}
    for name, shares in conclusion.shares.items():
        most = max(range(len(shares)), key=lambda number: shares[number])
        depending.setdefault(most, []).append(name)
    parts = [
        f"{join_names(names)} {'depends' if len(names) == 1 else 'depend'} most on {dimensions[number].name}"
        for number, names in depending.items()
    ]
    return f"{capitalise('; '.join(parts))}." if parts else ""


def _tell_alike(conclusion: Conclusion) -> str:
    if not conclusion.measures:
        return "Nothing was measured."
    return "No measure differs between the settings beyond its interval and 5 %."


# The matrix.


def _draw_matrix(conclusion: Conclusion) -> Matrix | None:
    """Draw the values of the main axis across, and what else is varied, or what is measured, down."""
    grid, main = conclusion.grid, conclusion.grid.dimensions[conclusion.main]
    if not conclusion.measures:
        return None
    lines = grid.list_lines(conclusion.main)
    columns = _choose_columns(conclusion)
    groups = [grid.name_place(line[0], [conclusion.main]) for line in lines]
    others = [own.name for own in _list_others(conclusion)]
    notes = []
    rows: list[Row]
    wished = [term.text for term in conclusion.sweep.wish.terms]
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
            names = [_choose_first(conclusion)]
            notes.append(f"Shown is {names[0]}; the table below has all measures.")
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
    if len(kept) < len(lines) or len(columns) < len(main.labels):
        notes.append(
            f"{len(kept)} of {len(lines)} rows and {len(columns)} of {len(main.labels)} columns are shown."
        )
    across = f"{main.name}\u00a0→"
    corner = f"{', '.join(others)}\u00a0↓ {across}" if others else across
    choices = tuple(main.labels[number] for number in columns)
    return Matrix(choices, tuple(rows), corner, " ".join(filter(None, notes)))


def spread(items: Sequence[int], most: int, needed: Iterable[int] = ()) -> list[int]:
    """Choose so many of some numbers at the most: those that are needed, both ends, and others evenly between.

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
    """Choose the values of the main axis to show: the best ones, both ends, and others evenly between."""
    best = {
        conclusion.grid.find_place(own.setting)[conclusion.main]
        for own in conclusion.list_bests(conclusion.main)
        if own.setting is not None
    }
    number = len(conclusion.grid.dimensions[conclusion.main].labels)
    return spread(range(number), MOST_COLUMNS, best)


def _draw_wished(
    conclusion: Conclusion,
    label: str,
    line: Sequence[int],
    columns: Sequence[int],
    numbers: _Numbers,
) -> Row:
    """Draw a line under the wish."""
    best = next(own for own in conclusion.list_bests(conclusion.main) if own.line == tuple(line))
    cells = tuple(_draw_standing(conclusion, best, line[number], numbers) for number in columns)
    return Row(label or write_operators(conclusion.sweep.wish.tell()), cells)


def _draw_standing(
    conclusion: Conclusion, best: Best, setting: int, numbers: _Numbers
) -> Cell | None:
    """Draw how a setting stands: the best one is named so, or where none holds the nearest."""
    standing = conclusion.standings[setting]
    if standing is Standing.MISSING:
        return None
    wish, objective = conclusion.sweep.wish, conclusion.objective
    held = [one for one in wish.hold if conclusion.judge(one, setting) is standing]
    told = [
        f"{one.term.text} {numbers.write(one.term.text, setting)}"
        for one in (held or wish.hold)
        if standing is Standing.FAILS or one.term != wish.objective
    ]
    if standing is Standing.FAILS:
        is_nearest = setting == best.setting
        return Cell(
            Grade.POOR if is_nearest else Grade.BAD, "nearest" if is_nearest else "fails", told[0]
        )
    own = numbers.write(wish.objective.text, setting) if wish.objective else ""
    number, note = (own, ", ".join(told)) if objective else (", ".join(told[:1]), "")
    if standing is Standing.UNDECIDED:
        return Cell(Grade.FAIR, "undecided", number, note)
    word = "holds" if wish.hold else ""
    if objective and setting == best.setting:
        word = "best"
    elif objective and setting in best.ties:
        word = "as good"
    grade = Grade.NONE if not wish.hold and word == "" else Grade.GOOD
    return Cell(grade, word, number, note)


def _explain_wished(conclusion: Conclusion) -> str:
    """Say what the words of the cells mean."""
    sweep = conclusion.sweep
    parts = []
    if sweep.wish.hold:
        parts.append(f"Holds: {_join_conditions(conclusion)}, over the whole 95 % interval")
        if len(sweep.seeds) < 2:
            parts[-1] = f"Holds: {_join_conditions(conclusion)}, by one seed"
        if Standing.UNDECIDED in conclusion.standings.values():
            parts.append("undecided: over a part of it")
    if sweep.wish.objective:
        way = "most" if sweep.wish.is_rising else "least"
        parts.append(f"best: the {way} {sweep.wish.objective.text} of its row")
        if any(best.ties for best in conclusion.list_bests(conclusion.main)):
            parts.append("as good: within the interval or 5 % of the best")
    return f"{'; '.join(parts)}."


def _choose_first(conclusion: Conclusion) -> str:
    """Choose the measure to show where there is no room for all: the first that has grades, or else the first."""
    for name, measured in conclusion.measures.items():
        if grade_measure(measured.about.metric, 0.0) is not Grade.NONE:
            return name
    return next(iter(conclusion.measures))


def _draw_measure(
    conclusion: Conclusion,
    label: str,
    measured: Measured,
    line: Sequence[int],
    columns: Sequence[int],
    numbers: _Numbers,
) -> Row:
    """Draw a measure along a line, with its grades, and a word at its knee."""
    knees = conclusion.list_knees(conclusion.main, measured.about.measure)
    knee = next((own.setting for own in knees if set(own.line) <= set(line)), None)
    cells: list[Cell | None] = []
    for number in columns:
        setting = line[number]
        if setting not in measured.estimates:
            cells.append(None)
            continue
        mean = measured.estimates[setting].mean
        grade = grade_measure(measured.about.metric, mean)
        word = "" if grade is Grade.NONE else grade.value
        note = "knee" if setting == knee else ""
        number_text = numbers.write(measured.about.measure, setting)
        cells.append(Cell(grade, word, number_text, note))
    return Row(label, tuple(cells))


# Numbers and names.


@dataclass(frozen=True)
class _Numbers:
    """How the cells of a matrix write what is measured: of many columns each without its unit, which the note has."""

    terms: Mapping[str, Measured]
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
            unit = choose_unit(means, own.about.kind)
            most = max((abs(mean) / unit.size for mean in means), default=0.0)
            units[name] = unit, 2 if most < 10 else 1 if most < 100 else 0
        return cls(conclusion.terms, units, len(columns) > MOST_WITH_UNITS)

    def write(self, name: str, setting: int) -> str:
        """Write the mean of a term in a setting."""
        estimate, (unit, decimals) = self.terms[name].estimates.get(setting), self.units[name]
        number = format_number(estimate.mean if estimate else None, unit, decimals)
        return number if self.is_bare else f"{number} {unit.name}".rstrip()

    def tell(self, names: Iterable[str]) -> str:
        """Say what the units are where the cells do not."""
        found: dict[str, list[str]] = {}
        for name in names:
            found.setdefault(self.units[name][0].name, []).append(name)
        told = [f"{join_names(own)} in {unit}" for unit, own in found.items() if unit]
        return f"{capitalise(join_names(told))}." if told and self.is_bare else ""


def _write(measured: Measured, setting: int) -> str:
    """Write a mean with its interval."""
    estimate = measured.estimates.get(setting)
    return format_estimate(estimate, measured.about.kind) if estimate else "–"


def _order(best: Best) -> list[int]:
    """Give the best setting and those that are as good in the order of their line."""
    return [own for own in best.line if own == best.setting or own in best.ties]


def _label(conclusion: Conclusion, settings: Iterable[int]) -> list[str]:
    """Name settings by their place along the main axis."""
    main = conclusion.grid.dimensions[conclusion.main]
    return [main.labels[conclusion.grid.find_place(own)[conclusion.main]] for own in settings]


def _join_settings(conclusion: Conclusion, settings: Sequence[int]) -> str:
    """Name settings along the main axis as a sentence lists them."""
    main = conclusion.grid.dimensions[conclusion.main]
    return _join(_label(conclusion, settings), _list_ordered(main))


def _list_ordered(dimension: Dimension) -> Sequence[str]:
    """List the labels of an axis of numbers that ascend; nothing of any other, which has no ranges."""
    numbers = dimension.numbers or ()
    return dimension.labels if list(numbers) == sorted(numbers) and numbers else ()


def _join(labels: Sequence[str], ordered: Sequence[str] = ()) -> str:
    """Write labels as a sentence lists them: a long row of an axis by its ends, of others only some.

    Examples
    --------
    >>> _join(["a", "b"]), _join(["2 ms", "5 ms", "9 ms"]), _join(list("abcde"), list("abcdef"))
    ('a and b', '2, 5 and 9 ms', 'a to e')
    >>> _join(list("abcdf"), list("abcdef")), _join(["key 1", "key 2"])
    ('a, b, c and 2 more', 'key 1 and 2')
    """
    words = _find_common_words(labels) if len(labels) > 1 else ""
    if words:
        bare = [label.removeprefix(f"{words} ") for label in labels]
        return f"{words} {_join(bare, [label.removeprefix(f'{words} ') for label in ordered])}"
    is_long = len(labels) > MOST_TOLD
    first = ordered.index(labels[0]) if is_long and labels[0] in ordered else 0
    is_row = is_long and list(ordered[first : first + len(labels)]) == list(labels)
    units = {label.partition(" ")[2] for label in labels}
    if len(units) == 1 and units != {""} and all(label[0].isdigit() for label in labels):
        # One unit is told once, behind the last number.
        labels = [*(label.partition(" ")[0] for label in labels[:-1]), labels[-1]]
    if is_row:
        return f"{labels[0]} to {labels[-1]}"
    return list_names(labels, MOST_TOLD - 1) if is_long else join_names(labels)


def _find_common_words(labels: Sequence[str]) -> str:
    """Give the words that all labels begin with, such as the name of an axis; none of what follows a comma.

    Examples
    --------
    >>> _find_common_words(["own key 1", "own key 2"]), _find_common_words(["a 1, b 2", "a 1, b 3"])
    ('own key', '')
    """
    if any("," in label for label in labels):
        return ""
    beginnings = {label.rpartition(" ")[0] for label in labels}
    (words,) = beginnings if len(beginnings) == 1 else ("",)
    return words if words and not words[0].isdigit() else ""


def _tell_lines(conclusion: Conclusion, bests: Sequence[Best]) -> str:
    """Name lines by what tells them from the others."""
    return _join([_name_line(conclusion, best) for best in bests], _list_ordered_lines(conclusion))


def _list_ordered_lines(conclusion: Conclusion) -> Sequence[str]:
    """List the names of all lines along the main axis, where one axis of ascending numbers tells them apart."""
    others = _list_others(conclusion)
    if len(others) != 1 or not _list_ordered(others[0]):
        return ()
    return [_name_line(conclusion, best) for best in conclusion.list_bests(conclusion.main)]


def _list_others(conclusion: Conclusion) -> list[Dimension]:
    """List what varies besides the main axis."""
    return [
        own
        for number, own in enumerate(conclusion.grid.dimensions)
        if number != conclusion.main and len(own.labels) > 1
    ]


def _name_line(conclusion: Conclusion, best: Best) -> str:
    """Name a line; a number without a unit does not say what it is of, so that its axis is named too."""
    is_bare = any(
        label.replace(".", "").isdigit() for own in _list_others(conclusion) for label in own.labels
    )
    return conclusion.grid.name_place(best.line[0], [conclusion.main], whole=is_bare)
