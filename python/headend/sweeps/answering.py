"""The answer of a sweep: the question, and two sentences about the best settings or the trade-off.

The matrix comes from `headend.sweeps.matrix`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headend.analysis.criteria import Condition
from headend.analysis.ranking import Feasibility
from headend.sweeps.conclusion import Best, Conclusion, Knee, RobustChoice, Shape
from headend.sweeps.matrix import draw_matrix
from headend.sweeps.naming import (
    MOST_TOLD,
    describe_lines,
    join_conditions,
    join_labels,
    join_settings,
    list_ordered_lines,
    list_others,
    name_circumstances,
    name_options,
    name_setting,
    order_best,
    write_mean,
    write_operators,
)
from headend.text.quantity import format_quantity
from headend.text.wording import capitalise, join_names, list_names, write_count
from headend.wording.answer import Answer, ask

#: A sentence lists parts of up to this many characters.
MOST_CHARACTERS = 160

#: The name of the figure of a trade-off.
TRADE_OFF = "trade-off"


def answer_sweep(conclusion: Conclusion) -> Answer:
    """Answer a sweep's question: its title if that is a question, else one made of its axes."""
    sweep = conclusion.sweep
    name = conclusion.main_axis.name
    measures = join_names(list(conclusion.measures))
    wished = write_operators(sweep.criteria.describe())
    otherwise = (
        _ask_given(conclusion)
        if sweep.criteria and conclusion.is_given
        else f"Which {name} gives {wished}?"
        if sweep.criteria
        else f"What does {name} change for {measures}?"
        if measures
        else f"What does {name} change?"
    )
    if conclusion.is_open:
        sentences = [_describe_open(conclusion)]
    elif sweep.criteria and conclusion.is_given:
        sentences = _describe_given(conclusion)
    else:
        sentences = _describe_bests(conclusion) if sweep.criteria else _describe_shapes(conclusion)
    return Answer(
        ask(sweep.title, otherwise),
        tuple(sentences),
        draw_matrix(conclusion),
        choose_why(conclusion),
    )


def choose_why(conclusion: Conclusion) -> str:
    """Name the figure that shows why: the trade-off, else the first measure's curve."""
    if conclusion.trade_off:
        return TRADE_OFF
    return "measure-1" if conclusion.measures else ""


def _describe_open(conclusion: Conclusion) -> str:
    """Say of a sweep that was stopped how many settings have results."""
    standings = conclusion.standings.values()
    number = sum(standing is not Feasibility.MISSING for standing in standings)
    has = "has" if number == 1 else "have"
    return f"{number} of {write_count(len(standings), 'setting')} {has} results so far."


# Sentences under a wish, where the main axis is given: nobody chooses a rate or a distance.


def _ask_given(conclusion: Conclusion) -> str:
    """Ask where the conditions hold, or else what the main axis changes for the objective."""
    name, criteria = conclusion.main_axis.name, conclusion.criteria
    if criteria.constraints:
        verb = "does" if len(criteria.constraints) == 1 else "do"
        return f"At which {name} {verb} {join_conditions(conclusion)} hold?"
    return f"What does {name} change for {criteria.objective.text if criteria.objective else ''}?"


def _describe_given(conclusion: Conclusion) -> list[str]:
    """Say where the conditions hold, from where to where the objective is, and that it is given."""
    if set(conclusion.standings.values()) == {Feasibility.MISSING}:
        return ["No point of the sweep has a result."]
    criteria, name = conclusion.criteria, conclusion.main_axis.name
    told = []
    if criteria.constraints:
        told.append(_describe_where(conclusion))
    if criteria.objective and (span := _describe_ends(conclusion)):
        told.append(span)
    told.append(f"{capitalise(name)} is given, not chosen: none is called the best.")
    return [" ".join(told[:-1]), told[-1]]


def _describe_where(conclusion: Conclusion) -> str:
    """Say at which values of the main axis the conditions hold, and at which they do not."""
    conditions, total = _describe_conditions(conclusion), len(conclusion.standings)
    parts = {
        standing: _list_places(conclusion, standing)
        for standing in (Feasibility.HOLDS, Feasibility.UNDECIDED)
    }
    held = sum(one is Feasibility.HOLDS for one in conclusion.standings.values())
    if held == total:
        return f"{conditions} everywhere."
    told = f"{conditions} nowhere"
    if held:
        told = f"{conditions} at {held} of {total} places, which the table names"
        if _is_short(parts[Feasibility.HOLDS]):
            told = f"{conditions} at {'; '.join(parts[Feasibility.HOLDS])}"
    undecided = parts[Feasibility.UNDECIDED]
    if undecided and _is_short(undecided):
        return f"{told}; more seeds would decide it at {'; '.join(undecided)}."
    return f"{told}."


def _list_places(conclusion: Conclusion, standing: Feasibility) -> list[str]:
    """List where settings have a standing: values of the main axis, with those of the others."""
    grid, found = conclusion.grid, dict[str, list[str]]()
    for line in grid.list_lines(conclusion.main):
        own = [setting for setting in line if conclusion.standings[setting] is standing]
        if own:
            others = grid.name_place(line[0], [conclusion.main])
            found.setdefault(join_settings(conclusion, own), []).append(others)
    if not list_others(conclusion):
        return list(found)
    return [f"{label} with {join_labels(others)}" for label, others in found.items()]


def _describe_ends(conclusion: Conclusion) -> str:
    """Name the least and the most of the objective, and where that is; empty without values."""
    objective, criteria = conclusion.objective, conclusion.criteria
    if objective is None or criteria.objective is None or not objective.estimates:
        return ""
    means = {own: estimate.mean for own, estimate in objective.estimates.items()}
    low, high = (pick(means, key=means.__getitem__) for pick in (min, max))
    ends = [
        f"{write_mean(objective, own)} at {conclusion.grid.name_place(own)}" for own in (low, high)
    ]
    if low == high or objective.is_tie(low, high):
        return f"No difference in {criteria.objective.text} is beyond its interval and 5 %."
    return f"{capitalise(criteria.objective.text)} is from {ends[0]} to {ends[1]}."


# Sentences under a wish.


def _describe_bests(conclusion: Conclusion) -> list[str]:
    """Say which setting is best or where none holds, and what prevents a better objective."""
    lines = conclusion.list_bests(conclusion.main)
    if set(conclusion.standings.values()) == {Feasibility.MISSING}:
        return ["No point of the sweep has a result."]
    bests = [best for best in lines if best.setting is not None]
    if not bests:
        return [_describe_unmeasured(conclusion)]
    holding = [best for best in bests if best.standing is Feasibility.HOLDS]
    others = [best for best in bests if best.standing is not Feasibility.HOLDS]
    overall = conclusion.overall
    if len(bests) == 1 and holding:
        told = [_describe_one(conclusion, holding[0]), _describe_obstacle(conclusion, holding[0])]
    elif overall and overall.is_best:
        told = [_describe_overall(conclusion, overall), _describe_worst(conclusion, overall)]
    elif overall:
        told = [_describe_several(conclusion, holding), _describe_compromise(conclusion, overall)]
    else:
        told = [
            _describe_several(conclusion, holding) if holding else "",
            _describe_not_holding(conclusion, others),
        ]
    return [sentence for sentence in told if sentence]


def _describe_overall(conclusion: Conclusion, overall: RobustChoice) -> str:
    """Name the option that is best in every circumstance, and those that tie with it."""
    everywhere = _name_everywhere(conclusion, overall)
    what = _name_choice(conclusion, overall)
    criteria = conclusion.criteria
    label, *ties = name_options(conclusion, [overall.option, *overall.ties])
    if criteria.objective is None:
        every = sorted([overall.option, *overall.ties])
        labels = _join_options(conclusion, overall, every)
        return f"{capitalise(everywhere)}{_describe_conditions(conclusion)} with {what} {labels}."
    as_good = (
        f"; {_join_options(conclusion, overall, overall.ties)} {'is' if len(ties) == 1 else 'are'}"
        " as good"
    )
    return f"{capitalise(f'{everywhere}the best {what} is {label}')}{as_good if ties else ''}."


def _describe_worst(conclusion: Conclusion, overall: RobustChoice) -> str:
    """Give the worst value of each term over all circumstances."""
    criteria = conclusion.criteria
    rising = {one.term.text: one.higher_is_better for one in criteria.constraints}
    if criteria.objective:
        rising = {criteria.objective.text: criteria.higher_is_better, **rising}
    parts = []
    for name, higher_is_better in rising.items():
        measured = conclusion.terms[name]
        known = [own for own in overall.option if own in measured.estimates]
        worst = min(
            known, key=lambda own: measured.as_gain(measured.estimates[own].mean, higher_is_better)
        )
        parts.append(f"{name} {write_mean(measured, worst)}")
    if not parts or len(set(overall.option)) < 2:
        return ""
    (label,) = name_options(conclusion, [overall.option])
    values = "value" if len(parts) == 1 else "values"
    return (
        f"The worst {values} of {label} {'is' if len(parts) == 1 else 'are'} {join_names(parts)}."
    )


def _describe_compromise(conclusion: Conclusion, overall: RobustChoice) -> str:
    """Name an option that holds in every circumstance, and its largest loss against the best."""
    objective = conclusion.objective
    if objective is None:
        return ""
    (label,) = name_options(conclusion, [overall.option])
    number = max(range(len(overall.losses)), key=overall.losses.__getitem__)
    share, measure = format_quantity(overall.losses[number], "ratio"), objective.info.name
    what, criteria = _name_choice(conclusion, overall), conclusion.criteria
    holds = f"{_describe_conditions(conclusion)} everywhere, but " if criteria.constraints else ""
    # A loss is a share of the larger value: the best's under ``most``, else the option's.
    costs = (
        f"it has up to {share} less {measure} than the best of a row"
        if criteria.higher_is_better
        else f"the best of a row has up to {share} less {measure}"
    )
    return f"One {what} for all rows is {label}: {holds}{costs}."


def _name_choice(conclusion: Conclusion, overall: RobustChoice) -> str:
    """Give the word for what is chosen: the axis' name, or ``setting`` for several axes."""
    own = [
        dimension.name
        for number, dimension in enumerate(conclusion.grid.dimensions)
        if number not in overall.given and len(dimension.labels) > 1
    ]
    return own[0] if len(own) == 1 else "setting"


def _name_everywhere(conclusion: Conclusion, overall: RobustChoice) -> str:
    """Write ``at every`` with the names of the given axes; empty where no axis is given."""
    if not overall.given:
        return ""
    return f"at every {name_circumstances(conclusion, overall.given)} "


def _join_options(
    conclusion: Conclusion, overall: RobustChoice, options: Sequence[Sequence[int]]
) -> str:
    """List options in a sentence: by their labels along a single axis, else only a few of them."""
    labels = name_options(conclusion, options)
    if _name_choice(conclusion, overall) == "setting":
        return list_names(labels, MOST_TOLD - 1, "; ")
    return join_settings(conclusion, [option[0] for option in options])


def _describe_unmeasured(conclusion: Conclusion) -> str:
    """Say that the wish cannot be judged, since no setting has a value of every term."""
    names = [
        term.text for term in conclusion.criteria.terms if not conclusion.terms[term.text].estimates
    ]
    of = f"{join_names(names)} {'has' if len(names) == 1 else 'have'} no value in any setting"
    told = of if names else "no setting has a value of all that the wish names"
    return f"The wish cannot be judged: {told}."


def _describe_one(conclusion: Conclusion, best: Best) -> str:
    """Name the best setting of a sweep along one axis."""
    grid, main = conclusion.grid, conclusion.main_axis
    if conclusion.objective is None:
        labels = join_settings(conclusion, order_best(best))
        return f"{_describe_conditions(conclusion)} with {main.name} {labels}."
    values = _describe_values(conclusion, best.setting or 0)
    label = grid.name_place(best.setting or 0)
    ties = join_settings(conclusion, best.ties)
    as_good = f" ({ties} {'is' if len(best.ties) == 1 else 'are'} as good)" if ties else ""
    return f"The best {main.name} is {label}{as_good}: {values}."


def _describe_several(conclusion: Conclusion, holding: Sequence[Best]) -> str:
    """Name the best setting of each line; lines with the same one share a clause."""
    main = conclusion.main_axis.name
    criteria = conclusion.criteria
    found: dict[str, list[Best]] = {}
    for best in holding:
        own = [best.setting or 0] if criteria.objective else order_best(best)
        found.setdefault(join_settings(conclusion, own), []).append(best)
    parts = [f"{label} at {describe_lines(conclusion, own)}" for label, own in found.items()]
    is_all = len(holding) == len(conclusion.list_bests(conclusion.main))
    if len(found) == 1 and is_all:
        told = f"{next(iter(found))} everywhere"
    elif len(found) > MOST_TOLD and list_ordered_lines(conclusion):
        told = f"from {parts[0]} to {parts[-1]}"
    elif _is_short(parts):
        told = "; ".join(parts)
    else:
        return _refer_to_table(conclusion, len(found))
    if criteria.objective is None:
        return f"{_describe_conditions(conclusion)} with these values of {main}: {told}."
    held = f", while {_describe_conditions(conclusion)}" if criteria.constraints else ""
    way = "most" if criteria.higher_is_better else "least"
    return f"The {main} with the {way} {criteria.objective.text}{held}: {told}."


def _is_short(parts: Sequence[str]) -> bool:
    """Say whether parts are few and short enough for one sentence."""
    return len(parts) <= MOST_TOLD and sum(map(len, parts)) <= MOST_CHARACTERS


def _refer_to_table(conclusion: Conclusion, number: int) -> str:
    """Say that the best setting differs between lines, and refer to the table."""
    main = conclusion.main_axis.name
    others = join_names([own.name for own in list_others(conclusion)])
    if conclusion.objective is None:
        return f"Which {main} holds depends on {others}: each row of the table names those that do."
    return (
        f"The best {main} depends on {others}: it is one of {number}, and each row of the table"
        " names its own."
    )


def _describe_not_holding(conclusion: Conclusion, others: Sequence[Best]) -> str:
    """Say where no setting holds and which comes nearest, or where more seeds are needed."""
    main = conclusion.main_axis.name
    failing = [best for best in others if best.standing is Feasibility.FAILS]
    undecided = [best for best in others if best.standing is Feasibility.UNDECIDED]
    lines, nearest = conclusion.list_bests(conclusion.main), conclusion.nearest
    if failing and nearest:
        label = name_setting(conclusion, nearest.setting or 0)
        where, at = "No", ""
        if len(failing) < len(lines):
            where = f"At {describe_lines(conclusion, failing)} no"
        if len(failing) > 1:
            at = f" at {describe_lines(conclusion, [nearest])}"
        values = _describe_held(conclusion, nearest.setting or 0)
        return (
            f"{where} {main} gives {join_conditions(conclusion)}; {label}{at} comes nearest, with"
            f" {values}."
        )
    if undecided:
        first = undecided[0]
        label = name_setting(conclusion, first.setting or 0)
        is_some = len(undecided) < len(lines)
        where = f"At {describe_lines(conclusion, undecided)} more" if is_some else "More"
        at = f" at {describe_lines(conclusion, [first])}" if len(undecided) > 1 else ""
        values = _describe_held(conclusion, first.setting or 0)
        return f"{where} seeds are needed to tell whether {label} holds{at}: {values}."
    return ""


def _describe_obstacle(conclusion: Conclusion, best: Best) -> str:
    """Name the condition that the setting with the best objective fails; or empty."""
    objective, criteria = conclusion.objective, conclusion.criteria
    known = [own for own in best.among if objective and own in objective.estimates]
    if objective is None or not known or best.setting is None:
        return ""
    most = max(
        known,
        key=lambda own: objective.as_gain(objective.estimates[own].mean, criteria.higher_is_better),
    )
    failed = [
        one for one in criteria.constraints if conclusion.judge(one, most) is Feasibility.FAILS
    ]
    if most == best.setting or not failed:
        return ""
    label = name_setting(conclusion, most)
    line = describe_lines(conclusion, [best])
    where = f"at {line}, " if line else ""
    way = "most" if criteria.higher_is_better else "least"
    of = "as much" if objective.is_tie(best.setting, most) else f"the {way}"
    value = write_mean(objective, most)
    held = _describe_condition(conclusion, failed[0], most)
    told = f"{where}{label} has {of} {objective.info.name}, {value}, but {held}."
    return capitalise(told)


def _describe_values(conclusion: Conclusion, setting: int) -> str:
    """Give the objective and the conditions' terms in a setting, with intervals."""
    objective, criteria = conclusion.objective, conclusion.criteria
    parts = []
    if objective and criteria.objective:
        parts.append(f"{criteria.objective.text} {write_mean(objective, setting)}")
    parts += [_describe_condition(conclusion, one, setting) for one in criteria.constraints]
    return join_names(list(dict.fromkeys(parts)))


def _describe_held(conclusion: Conclusion, setting: int) -> str:
    """Give the values of the conditions that a setting does not meet."""
    criteria = conclusion.criteria
    missed = [
        one
        for one in criteria.constraints
        if conclusion.judge(one, setting) is not Feasibility.HOLDS
    ]
    return join_names([_describe_condition(conclusion, one, setting) for one in missed])


def _describe_condition(conclusion: Conclusion, condition: Condition, setting: int) -> str:
    measured = conclusion.terms[condition.term.text]
    return f"{condition.term.text} {write_mean(measured, setting)}"


def _describe_conditions(conclusion: Conclusion) -> str:
    """Write the clause that the conditions hold."""
    texts = [write_operators(one.text) for one in conclusion.criteria.constraints]
    return f"{join_names(texts)} {'holds' if len(texts) == 1 else 'hold'}"


# Sentences without a wish.


def _describe_shapes(conclusion: Conclusion) -> list[str]:
    """Describe each measure's curve along the main axis, and name its most important axis."""
    main = conclusion.main_axis
    told: list[str] = []
    if main.numbers:
        parts = [
            part
            for name in conclusion.measures
            if (part := _describe_shape(conclusion, conclusion.list_knees(conclusion.main, name)))
        ]
        if parts:
            told.append(f"With more {main.name}, {join_names(parts)}.")
    else:
        told.append(_describe_categories(conclusion))
    told.append(_describe_shares(conclusion))
    return [sentence for sentence in told if sentence] or [_describe_alike(conclusion)]


def _describe_shape(conclusion: Conclusion, knees: Sequence[Knee]) -> str:
    """Describe a measure's curve along the main axis over all lines; empty where lines disagree."""
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
    """Name the range of some settings along the main axis: one label, or the first and the last."""
    main = conclusion.main_axis
    places = [conclusion.grid.find_place(own)[conclusion.main] for own in settings]
    numbers = main.numbers or tuple(range(len(main.labels)))
    places.sort(key=lambda place: numbers[place])
    first, last = main.labels[places[0]], main.labels[places[-1]]
    if first == last:
        return first
    number, _, unit = first.partition(" ")
    return f"{number if last.endswith(f' {unit}') else first} to {last}"


def _describe_categories(conclusion: Conclusion) -> str:
    """Name the category that is the best on most lines, for each measure."""
    main = conclusion.main_axis
    winners: dict[str, list[str]] = {}
    for name, measured in conclusion.measures.items():
        if measured.info.higher_is_better is None or not conclusion.shares.get(name):
            continue
        counts: dict[int, int] = {}
        for line in conclusion.grid.list_lines(conclusion.main):
            known = [own for own in line if own in measured.estimates]
            if len(known) < 2:
                continue
            best = max(known, key=lambda own: measured.as_gain(measured.estimates[own].mean))
            tied = [own for own in known if own == best or measured.is_tie(own, best)]
            if len(tied) == len(known):
                continue
            for own in tied:
                place = conclusion.grid.find_place(own)[conclusion.main]
                counts[place] = counts.get(place, 0) + 1
        if counts:
            most = max(counts.values())
            labels = [main.labels[place] for place, own in sorted(counts.items()) if own == most]
            winners.setdefault(join_labels(labels), []).append(name)
    if not winners:
        return ""
    parts = [f"{label} for {join_names(names)}" for label, names in winners.items()]
    return f"Best {main.name}: {'; '.join(parts)}."


def _describe_shares(conclusion: Conclusion) -> str:
    """Name the axis that matters most for each measure; empty with only one axis."""
    dimensions = conclusion.grid.dimensions
    if sum(len(own.labels) > 1 for own in dimensions) < 2:
        return ""
    depending: dict[int, list[str]] = {}
    for name, shares in conclusion.shares.items():
        most = max(range(len(shares)), key=lambda number: shares[number])
        depending.setdefault(most, []).append(name)
    parts = [
        f"{dimensions[number].name} matters most for {join_names(names)}"
        for number, names in depending.items()
    ]
    return f"{capitalise('; '.join(parts))}." if parts else ""


def _describe_alike(conclusion: Conclusion) -> str:
    """Write the sentence for a sweep without differences; for a single setting, give its values."""
    if not conclusion.measures:
        return "Nothing was measured."
    if len(conclusion.standings) == 1:
        own = [f"{name} {write_mean(one, 1)}" for name, one in conclusion.measures.items()]
        return f"The sweep has one setting: {join_names(own)}."
    return (
        "No measure differs between the settings by more than its 95 % interval and by more than 5"
        " %."
    )
