"""What a recommendation says: the answer with its matrix, and three sentences for each tier."""

from __future__ import annotations

from collections.abc import Sequence

from headend.analysis.answer import Answer, Cell, Matrix, Row, ask
from headend.analysis.grading import Grade
from headend.recommendation.candidate import UNMANAGED
from headend.recommendation.deciding import (
    Decision,
    compare,
    find_best,
    find_decisive,
    find_rival,
)
from headend.recommendation.feature import Feature
from headend.recommendation.naming import (
    advise,
    name_condition,
    name_term,
    write_plain,
    write_short,
    write_value,
)
from headend.sweeps.conclusion import Best, Standing, find_miss
from headend.sweeps.naming import write_mean
from headend.sweeps.wish import Condition
from headend.text.quantity import format_quantity
from headend.text.wording import capitalise, join_names, list_names, write_count

#: The name of the figure that shows why.
TRADE_OFF = "trade-off"

#: The heading of the column of today's settings where no file says what they are.
UNKNOWN = "unmanaged"

#: The most tiers that the question names.
MOST_ASKED = 4

#: What a single seed says of the interval.
_SINGLE = "one seed has no interval, and more seeds give one"

#: The most names in a list of a sentence.
MOST_NAMED = 3


def answer_recommendation(title: str, decisions: Sequence[Decision]) -> Answer:
    """Answer what the tiers shall have."""
    names = [decision.tier.name for decision in decisions]
    tiers = f"tier{'s' if len(names) > 1 else ''} {join_tiers(names)}"
    which = f"these {len(names)} tiers" if len(names) > MOST_ASKED else f"the {tiers}"
    question = ask(title, f"What buffer and AQM shall {which} have?")
    sentences = [_tell_recommended(decisions), _tell_open(decisions)]
    told = tuple(sentence for sentence in sentences if sentence)
    return Answer(question, told, draw_matrix(decisions), TRADE_OFF)


def join_tiers(names: Sequence[str]) -> str:
    """List tiers in a sentence, a common unit once.

    Examples
    --------
    >>> join_tiers(["5 Mbit/s", "10 Mbit/s"]), join_tiers(["bronze", "gold"])
    ('5 and 10 Mbit/s', 'bronze and gold')
    """
    units = {name.partition(" ")[2] for name in names}
    if len(units) == 1 and units != {""} and all(name[0].isdigit() for name in names):
        names = [*(name.partition(" ")[0] for name in names[:-1]), names[-1]]
    return join_names(names)


def _name(decision: Decision, setting: int) -> str:
    """Name a setting in a list, whose commas are not its own."""
    return decision.find(setting).label.replace(", ", " + ")


def _list_settings(decision: Decision, settings: Sequence[int]) -> str:
    """List settings in a sentence; of many, the first ones."""
    names = [_name(decision, own) for own in settings]
    return join_names(names) if len(names) <= MOST_NAMED else list_names(names, MOST_NAMED)


def _tell_recommended(decisions: Sequence[Decision]) -> str:
    """Name what is recommended, equal tiers together, and where more seeds may change that."""
    found: dict[str, list[str]] = {}
    for decision in decisions:
        if decision.recommended:
            label = _name(decision, decision.recommended)
            found.setdefault(label, []).append(decision.tier.name)
    if not found:
        return ""
    parts = [f"{join_tiers(tiers)}: {label}" for label, tiers in found.items()]
    told = f"{'; '.join(parts)}."
    open_ = [decision.tier.name for decision in decisions if find_rival(decision)]
    if not open_:
        return told
    return f"{told} At {join_tiers(open_)} this is provisional: more seeds may change it."


def _tell_open(decisions: Sequence[Decision]) -> str:
    """Say where nothing is recommended, and what comes nearest; else what all settings keep."""
    parts = []
    for standing in (Standing.FAILS, Standing.UNDECIDED):
        own = [one for one in decisions if not one.recommended and one.chosen.standing is standing]
        if own:
            parts.append(_tell_group(own))
    unmeasured = [one for one in decisions if one.chosen.standing is Standing.MISSING]
    if unmeasured:
        tiers = join_tiers([decision.tier.name for decision in unmeasured])
        parts.append(f"at {tiers} no setting has a result")
    return f"{capitalise('; '.join(parts))}." if parts else _tell_kept(decisions[0])


def _tell_group(decisions: Sequence[Decision]) -> str:
    """Say of tiers that all fail, or are all undecided, what comes nearest at the first of them."""
    first, tiers = decisions[0], join_tiers([decision.tier.name for decision in decisions])
    setting = first.chosen.setting
    if setting is None:
        return f"at {tiers}: {_tell_unmeasured(first).rstrip('.')}"
    label, at = _name(first, setting), f" at {first.tier.name}" if len(decisions) > 1 else ""
    missed = _tell_missed(first, setting)
    if first.chosen.standing is Standing.UNDECIDED:
        return f"at {tiers} more seeds are needed: with {label}{at}, {missed}"
    return f"at {tiers} no setting keeps what must hold, and {label}{at} comes nearest: {missed}"


def _tell_kept(decision: Decision) -> str:
    """Say what must hold, and what there is most of then."""
    wish = decision.wish
    held = join_names([name_condition(one) for one in wish.hold])
    verb = "holds" if len(wish.hold) == 1 else "hold"
    if wish.objective is None:
        return f"{capitalise(held)} {verb}." if held else ""
    most = (
        f"the {'most' if wish.is_rising else 'least'} {name_term(wish.objective.text)} to within 5"
        " %"
    )
    return f"{capitalise(held)} {verb}, with {most}." if held else f"This has {most}."


def draw_matrix(decisions: Sequence[Decision]) -> Matrix:
    """Draw the table of tiers and features: the best setting of each, and whether it holds."""
    features = [own for own in Feature if any(own in decision.bests for decision in decisions)]
    is_known = any(decision.tier.today is not None for decision in decisions)
    headings = {own: own.words for own in features}
    if not is_known:  # what no file says of today is an unmanaged buffer
        headings[Feature.TODAY] = UNKNOWN
    rows = tuple(
        Row(
            decision.tier.name,
            tuple(
                _draw_cell(decision, best, headings[own])
                if (best := decision.bests.get(own))
                else None
                for own in features
            ),
        )
        for decision in decisions
    )
    return Matrix(
        tuple(headings[own] for own in features),
        rows,
        "tier",
        _explain_cells(decisions),
    )


def _draw_cell(decision: Decision, best: Best, heading: str) -> Cell:
    """Draw the best setting of a feature."""
    setting, conclusion = best.setting, decision.conclusion
    if setting is None:
        return Cell(Grade.NONE, "no result", "")
    candidate = decision.find(setting)
    number = _shorten(candidate.label, heading)
    objective = conclusion.objective
    gained = write_plain(objective, setting) if objective else ""
    if best.standing is Standing.FAILS:
        word = "nearest" if setting == decision.chosen.setting else "fails"
        grade = Grade.POOR if word == "nearest" else Grade.BAD
        return Cell(grade, word, number, _tell_worst(decision, setting))
    if best.standing is Standing.UNDECIDED:
        return Cell(Grade.FAIR, "undecided", number, _tell_worst(decision, setting))
    word = "recommended" if setting == decision.recommended else "holds"
    return Cell(Grade.GOOD, word, number, gained, is_chosen=word == "recommended")


def _shorten(label: str, heading: str) -> str:
    """Leave out what the heading of the column says.

    Examples
    --------
    >>> _shorten("buffer 32 KiB", "Buffer Control"), _shorten("AQM 10 ms, buffer 64 KiB", "AQM")
    ('32 KiB', '10 ms, buffer 64 KiB')
    >>> _shorten("low latency", "low latency"), _shorten("low latency, AQM 15 ms", "low latency")
    ('on', 'on, AQM 15 ms')
    >>> _shorten("no AQM, 250 ms", "unmanaged"), _shorten("no AQM, 250 ms", "today")
    ('250 ms', 'no AQM, 250 ms')
    """
    if heading == Feature.LOW_LATENCY.words:
        return label.replace(heading, "on", 1)
    starts = {
        UNKNOWN: "no AQM, ",
        Feature.BUFFER_CONTROL.words: "buffer ",
        Feature.AQM.words: "AQM ",
    }
    return label.removeprefix(starts.get(heading, ""))


def _explain_cells(decisions: Sequence[Decision]) -> str:
    """Say what the words of the cells mean."""
    words = {best.standing for decision in decisions for best in decision.bests.values()}
    wish, seeds = decisions[0].wish, len(decisions[0].conclusion.sweep.design.seeds)
    parts = []
    if wish.hold:
        over = "over the whole 95 % interval" if seeds > 1 else "by one seed, without an interval"
        parts.append(f"A setting holds if it meets every condition {over}")
        if Standing.UNDECIDED in words:
            parts[-1] += "; it is undecided if it does over a part of it"
        if not all(decision.recommended for decision in decisions):
            held = join_names([name_condition(one) for one in wish.hold])
            parts.append(f"Conditions: {held}")
    parts.append("Each cell has the best setting of its column")
    if wish.objective:
        parts[-1] += f", with its {name_term(wish.objective.text)}"
    if Standing.FAILS in words:
        parts[-1] += ", or with the condition that it misses most"
    return f"{'. '.join(parts)}."


def _tell_worst(decision: Decision, setting: int) -> str:
    """Give the value of the condition that a setting misses most."""
    term = decision.wish.hold[find_decisive(decision, setting)].term.text
    return write_short(decision.conclusion.terms[term], term, setting)


def _list_missed(decision: Decision, setting: int) -> list[Condition]:
    """List the conditions that do not hold in a setting."""
    judge = decision.conclusion.judge
    return [one for one in decision.wish.hold if judge(one, setting) is not Standing.HOLDS]


def _tell_missed(decision: Decision, setting: int) -> str:
    """Say which conditions a setting misses, with its values and by how much."""
    return join_names(
        [_tell_miss(decision, one, setting) for one in _list_missed(decision, setting)]
    )


def _tell_miss(decision: Decision, condition: Condition, setting: int) -> str:
    measured = decision.conclusion.terms[condition.term.text]
    short = find_miss(decision.conclusion, condition, setting)
    if short is None:
        return f"{name_term(condition.term.text)} has no value"
    kind = "number" if len(condition.term.measures) > 1 else measured.about.kind
    by = f"; it misses that by {_write_miss(short, kind)}" if short > 0 else ""
    _, _, wanted = name_condition(condition).partition(name_term(condition.term.text))
    return f"{write_value(decision.conclusion, condition.term.text, setting)}, not{wanted}{by}"


def _write_miss(short: float, kind: str) -> str:
    """Write by how much a bound is missed: shares in percentage points."""
    if kind == "ratio":
        return f"{short * 100:.3g} percentage points"
    return format_quantity(float(f"{short:.3g}"), kind)  # type: ignore[arg-type]


def tell_tier(decision: Decision) -> tuple[str, str, str]:
    """Say what a tier shall have and why, what that costs, and how sure it is."""
    if decision.recommended is None:
        return _tell_nothing(decision)
    return (
        _tell_choice(decision, decision.recommended),
        _tell_cost(decision, decision.recommended),
        _tell_certainty(decision, decision.recommended),
    )


def _tell_choice(decision: Decision, setting: int) -> str:
    """Say what to set and why."""
    advice = advise(decision.tier, decision.find(setting))
    wish, conclusion = decision.wish, decision.conclusion
    settable, ties = decision.chosen.line, decision.chosen.ties
    holding = [own for own in settable if conclusion.is_able(own)]
    tried = write_count(len(settable), "setting")
    which = f"of the {len(holding)} of {tried} that keep what must hold"
    if not wish.hold:
        which = f"of {tried}"
    elif len(settable) == 1:
        which = "it is the only setting that was tried, and keeps what must hold"
    elif len(holding) == 1:
        which = f"of {tried}, it alone keeps what must hold"
    elif len(holding) == len(settable):
        which = f"of {tried}, which all keep what must hold"
    if wish.objective is None:
        is_buffer = decision.find(setting).feature is Feature.BUFFER_CONTROL
        reason = "it is the smallest buffer" if is_buffer else "it has the least to set"
        return f"{advice}: {which}{f', {reason}' if len(holding) > 1 else ''}."
    name = name_term(wish.objective.text)
    value = write_mean(conclusion.terms[wish.objective.text], setting)
    if len(holding) == 1:
        return f"{advice}: {which}, with {name} {value}."
    most = "most" if wish.is_rising else "least"
    if not ties:
        return f"{advice}: {which}, it has the {most} {name}, {value}."
    others = _list_settings(decision, ties)
    return f"{advice}: {which}, it has the {most} {name} to within 5 %, {value}; as good: {others}."


def _tell_cost(decision: Decision, setting: int) -> str:
    """Say who gains and who pays against today's setting, and what another feature gives."""
    today = decision.bests[Feature.TODAY].setting if Feature.TODAY in decision.bests else None
    told = []
    if today == setting:
        told.append("It is what the line has today")
    elif today is not None:
        better, worse = _compare(decision, setting, today)
        before = (
            "today"
            if decision.tier.today is not None
            else f"a modem with a buffer of {UNMANAGED} and no AQM"
        )
        parts = [f"better: {join_names(better)}"] if better else ["nobody is better off"]
        parts.append(f"worse: {join_names(worse)}" if worse else "nobody is worse off")
        told.append(f"Against {before}, {'; '.join(parts)}")
    told += [*_tell_unasked(decision, setting), *_tell_instead(decision, setting)]
    return f"{'. '.join(told)}." if told else ""


def _tell_instead(decision: Decision, setting: int) -> list[str]:
    """Say which setting of the other features is the best, where it holds and is not as good."""
    wish, feature = decision.wish, decision.find(setting).feature
    settings = [own for own in decision.chosen.line if decision.find(own).feature is not feature]
    if not settings or wish.objective is None:
        return []
    best = find_best(decision.conclusion, settings, decision.watched)
    if (
        best.standing is not Standing.HOLDS
        or best.setting is None
        or best.setting in decision.chosen.ties
    ):
        return []
    value = write_value(decision.conclusion, wish.objective.text, best.setting)
    return [
        f"Without {feature.words}, {_name(decision, best.setting)} keeps what must hold, with"
        f" {value}"
    ]


def _compare(decision: Decision, setting: int, other: int) -> tuple[list[str], list[str]]:
    """List the terms that are better in a setting than in another, and those that are worse."""
    conclusion = decision.conclusion
    better: list[str] = []
    worse: list[str] = []
    for term, is_rising in decision.watched.items():
        sign = compare(conclusion, term, setting, other, is_rising=is_rising)
        before, after = (write_plain(conclusion.terms[term], own) for own in (other, setting))
        if sign:
            (better if sign > 0 else worse).append(f"{name_term(term)} {before} → {after}")
    return better, worse


def _tell_unasked(decision: Decision, setting: int) -> list[str]:
    """Say who is badly off though no condition asks for them."""
    asked = {one.term.text for one in decision.wish.hold}
    terms = decision.conclusion.terms
    failing = [
        one
        for one in decision.demands.hold
        if one.term.text not in asked
        and one.term.text in terms
        and decision.conclusion.judge(one, setting) is Standing.FAILS
    ]
    told = [write_value(decision.conclusion, one.term.text, setting) for one in failing]
    return [f"No condition asks for {join_names(told)}"] if told else []


def _tell_certainty(decision: Decision, setting: int) -> str:
    """Say how sure the recommendation is: the tightest condition, and what more seeds decide."""
    wish, conclusion = decision.wish, decision.conclusion
    seeds = len(conclusion.sweep.design.seeds)
    told = [write_count(seeds, "seed")]
    if wish.hold:
        condition = wish.hold[find_decisive(decision, setting)]
        value = write_mean(conclusion.terms[condition.term.text], setting)
        told.append(
            f"{name_condition(condition)} is the condition with the least to spare, at {value}"
        )
    if seeds < 2:
        told.append(_SINGLE)
    told += [*_tell_next(decision, setting), *_tell_lax(decision)]
    undecided = [
        own for own in decision.chosen.line if conclusion.standings[own] is Standing.UNDECIDED
    ]
    if rival := find_rival(decision):
        value = write_value(conclusion, wish.objective.text, rival) if wish.objective else ""
        return (
            f"How sure: {'; '.join(told)}. More seeds may change this: {_name(decision, rival)}"
            f" keeps what must hold in the mean, with {value}."
        )
    more = (
        (
            f" More seeds would decide whether {_list_settings(decision, undecided)}"
            f" hold{'s' if len(undecided) == 1 else ''} too."
        )
        if undecided
        else ""
    )
    return f"How sure: {'; '.join(told)}.{more}"


def _tell_next(decision: Decision, setting: int) -> list[str]:
    """Say that the next larger buffer fails, where a buffer is recommended and it does."""
    if decision.find(setting).feature is not Feature.BUFFER_CONTROL:
        return []
    buffers = decision.bests[Feature.BUFFER_CONTROL].line
    larger = [own for own in buffers if own > setting]
    if not larger or decision.conclusion.standings[larger[0]] is not Standing.FAILS:
        return []
    return [
        f"the next size, {_name(decision, larger[0])}, fails: {_tell_worst(decision, larger[0])}"
    ]


def _tell_lax(decision: Decision) -> list[str]:
    """Say that the conditions do not tell settings apart, where every setting holds."""
    standings = decision.conclusion.standings.values()
    if not decision.wish.hold or any(own is not Standing.HOLDS for own in standings):
        return []
    return ["every setting holds, so the conditions do not tell settings apart"]


def _tell_nothing(decision: Decision) -> tuple[str, str, str]:
    """Say that nothing is recommended, what comes nearest, and what stands in the way."""
    conclusion, setting = decision.conclusion, decision.chosen.setting
    number, seeds = len(decision.chosen.line), len(conclusion.sweep.design.seeds)
    if setting is None:
        return (_tell_unmeasured(decision), "", "")
    label = _name(decision, setting)
    missed = _tell_missed(decision, setting)
    if decision.chosen.standing is Standing.UNDECIDED:
        first = (
            f"Nothing is recommended yet: with {label} all means keep what must hold, but not the"
            f" whole 95 % interval of {missed}."
        )
    else:
        first = (
            f"Nothing is recommended: none of {number} settings keeps what must hold, and {label}"
            f" comes nearest, with {missed}."
        )
    return (
        first,
        _tell_obstacles(decision),
        f"How sure: {write_count(seeds, 'seed')};"
        f" {_SINGLE if seeds < 2 else 'more seeds narrow the intervals'}.",
    )


def _tell_unmeasured(decision: Decision) -> str:
    """Say that nothing can be recommended, since nothing was measured of what must hold."""
    terms = decision.conclusion.terms
    missing = [name_term(one.text) for one in decision.wish.terms if not terms[one.text].estimates]
    if not missing:
        return (
            f"Nothing can be recommended: none of {len(decision.chosen.line)} settings has a value"
            " of all that must hold."
        )
    verb = "has" if len(missing) == 1 else "have"
    return (
        f"Nothing can be recommended: {join_names(missing)} {verb} no value in any run; a longer"
        " duration may give one."
    )


def _tell_obstacles(decision: Decision) -> str:
    """Name the conditions that no setting meets, with best values; else those in conflict."""
    conclusion, line = decision.conclusion, decision.chosen.line
    if decision.chosen.standing is Standing.UNDECIDED:
        more = 2 * len(conclusion.sweep.design.seeds)
        return f"More seeds decide it, such as --seeds {more}: what was run is kept."
    out_of_reach = []
    for condition in decision.wish.hold:
        measured = conclusion.terms[condition.term.text]
        if any(conclusion.judge(condition, own) is Standing.HOLDS for own in line):
            continue
        known = [own for own in line if own in measured.estimates]
        if known:
            best = max(
                known,
                key=lambda own: measured.orient(measured.estimates[own].mean, condition.is_rising),
            )
            out_of_reach.append(
                f"{name_condition(condition)} (best: {write_mean(measured, best)} with"
                f" {_name(decision, best)})"
            )
    if out_of_reach:
        return f"No setting keeps {join_names(out_of_reach)}."
    return "Each condition holds with some setting, but no setting keeps all of them."
