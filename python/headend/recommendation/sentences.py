"""What a recommendation says: the answer with its matrix, and three sentences for each tier."""

from __future__ import annotations

import re
from collections.abc import Sequence

from headend.analysis.criteria import Condition, Criteria
from headend.analysis.estimate import format_distance
from headend.analysis.grading import Grade
from headend.analysis.measures import MeasureValues
from headend.analysis.ranking import Choice, Feasibility
from headend.analysis.ties import TIE
from headend.modem_file.generation import find_generation
from headend.recommendation.air import QUEUE, Air, name_station
from headend.recommendation.candidate import DEFAULT_TARGET, WITH_AQM, Candidate, Feature
from headend.recommendation.deciding import Decision
from headend.recommendation.router import advise_router
from headend.recommendation.sender import Sender, join_senders
from headend.recommendation.tier import Tier
from headend.recommendation.worst import FEWEST_SEEDS
from headend.scenario.cells import ADVICE_BY_STATION, ADVICE_RTS
from headend.sweeps.naming import write_mean, write_operators
from headend.text.quantity import format_quantity
from headend.text.wording import capitalise, join_names, list_names, write_count
from headend.wording.answer import Answer, ask
from headend.wording.table import Cell, Row, Table, make_matrix

#: The name of the figure that shows why.
TRADE_OFF = "trade-off"

#: The most tiers that the question names.
MOST_ASKED = 4

#: What a single seed says of the interval.
_FEW = f"the means decide, since only {FEWEST_SEEDS} seeds or more give intervals"

#: The most names in a list of a sentence.
MOST_NAMED = 3


# Quantities and conditions.

#: Metrics whose names say too little: as a sentence names them, and as a cell does.
_METRICS = {
    "mos": ("MOS", "MOS"),
    "missed": ("packets late", "late"),
    "frames_late": ("frames late", "late"),
    "page_load_time": ("load time", ""),
    "goodput": ("rate", ""),
}

_TERM = re.compile(r"(.+?)\.([a-z_]+)(?:\.(mean|min|max|count|p[0-9]+))?")


def name_term(text: str) -> str:
    """Name a quantity in words.

    Examples
    --------
    >>> name_term("call.mos.p5"), name_term("page.page_load_time.p50"), name_term(
    ...     "cable.up.delay.p95"
    ... )
    ('call MOS (5th percentile)', 'page load time (median)', 'cable.up delay (95th percentile)')
    >>> name_term("game.missed.mean"), name_term("upload.goodput / backup.goodput")
    ('game packets late', 'upload rate / backup rate')
    """
    if "/" in text:
        return " / ".join(name_term(part.strip()) for part in text.split("/"))
    match = _TERM.fullmatch(text)
    if match is None:
        return text
    subject, metric, statistic = match.groups()
    words, _ = _METRICS.get(metric, (metric.replace("_", " "), ""))
    named = {"p50": "median", "p999": "99.9th percentile", "mean": "", None: ""}
    statistic = named.get(statistic, re.sub(r"^p(\d+)$", r"\1th percentile", statistic or ""))
    return f"{subject} {words}{f' ({statistic})' if statistic else ''}"


def split_term(text: str) -> tuple[str, str, str]:
    """Split a quantity into whose it is, its metric, and its statistic; what is missing is empty.

    Examples
    --------
    >>> split_term("call.mos.p5"), split_term("upload.goodput"), split_term("other")
    (('call', 'mos', 'p5'), ('upload', 'goodput', ''), ('other', '', ''))
    """
    match = None if "/" in text else _TERM.fullmatch(text)
    if match is None:
        return text, "", ""
    subject, metric, statistic = match.groups()
    return subject, metric, statistic or ""


def name_condition(condition: Condition) -> str:
    """Write a condition in words, with its bound as it was written.

    Examples
    --------
    >>> from headend.analysis.criteria import read_preferences
    >>> name_condition(read_preferences(["call.mos.p5 >= 4.0"], {}).constraints[0])
    'call MOS (5th percentile) ≥ 4.0'
    """
    return f"{name_term(condition.term.text)} {name_bound(condition)}"


def name_bound(condition: Condition) -> str:
    """Write the bound of a condition as it was written, such as ``≥ 4.0``."""
    bound = condition.text.rpartition(condition.operator)[2].strip()
    return write_operators(f"{condition.operator} {bound}")


def _join_conditions(wish: Criteria) -> str:
    return join_names([name_condition(one) for one in wish.constraints])


def name_objective(wish: Criteria) -> str:
    """Name what there should be most or least of, such as ``highest upload rate``; or nothing."""
    if wish.objective is None:
        return ""
    return f"{'highest' if wish.higher_is_better else 'lowest'} {name_term(wish.objective.text)}"


def _write_value(decision: Decision, term: str, setting: int) -> str:
    """Write a term's name and its mean with the interval."""
    return f"{name_term(term)} {write_mean(decision.terms[term], setting)}"


def name_source(decision: Decision, term: str, setting: int) -> str:
    """Say under which sender a term is worst, as the end of a value; nothing with one sender."""
    sender = decision.find_sender(term, setting)
    return f" under {sender.words}" if sender else ""


def _write_objective(decision: Decision, setting: int) -> str:
    objective = decision.criteria.objective
    return _write_value(decision, objective.text, setting) if objective else ""


def _write_plain(measured: MeasureValues, setting: int) -> str:
    """Write a mean without its interval; a dash where there is none."""
    if setting not in measured.estimates:
        return "–"
    mean = measured.estimates[setting].mean
    return format_quantity(float(f"{mean:.3g}"), measured.info.kind)


def write_worst(decision: Decision, setting: int) -> str:
    """Write the value of the condition that a setting misses most, without its statistic."""
    term = decision.find_decisive(setting).term.text
    match, name = _TERM.fullmatch(term), name_term(term)
    if match and "/" not in term:
        words = _METRICS.get(match[2], ("", match[2].replace("_", " ")))[1]
        name = f"{match[1]} {words}".strip()
    sender = decision.find_sender(term, setting)
    source = f", {sender}" if sender else ""
    return f"{name} {_write_plain(decision.terms[term], setting)}{source}"


# Tiers and settings.


def join_tiers(decisions: Sequence[Decision]) -> str:
    """List tiers in a sentence, a common unit once: ``5 and 10 Mbit/s``, ``bronze and gold``."""
    names = [decision.tier.name for decision in decisions]
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


#: What to do to the Wi-Fi, by what is different of it.
_ADVICE_ON_AIR = {
    Air.STATION_QUEUES: ADVICE_BY_STATION,
    Air.RTS: ADVICE_RTS,
    Air.STATION_QUEUES_AND_RTS: f"{ADVICE_RTS}. {ADVICE_BY_STATION}",
    Air.ACCESS_POINT: f"Give the access point a queue for each flow ({QUEUE})",
    Air.NODES: f"Give the access point and the stations a queue for each flow ({QUEUE})",
    Air.RATE_CONTROL: "Let rate control choose the rate of {station}",
    Air.NEARER: "Bring {station} nearer to the access point",
    Air.CABLE: "Put {station} on an Ethernet cable",
    Air.ETHERNET: "Put those who are not well on an Ethernet cable",
}


def advise(tier: Tier, candidate: Candidate) -> str:
    """Say what to set, as an imperative sentence without its full stop."""
    target, buffer = candidate.target or DEFAULT_TARGET, ""
    if candidate.size:
        time = format_quantity(candidate.size * 1024 * 8e9 / tier.upstream, "time")
        rate = format_quantity(tier.upstream, "rate")
        buffer = f"a target buffer of {candidate.size} KiB ({time} at {rate})"
    if candidate.air:
        router = f". {advise_router(tier, candidate.router)}" if candidate.router else ""
        advice = _ADVICE_ON_AIR[candidate.air].format(station=name_station(candidate.station))
        return f"{advice}{router}"
    if candidate.router:
        return advise_router(tier, candidate.router)
    if candidate.feature is Feature.TODAY:
        return "Leave the line as it is"
    if candidate.feature is Feature.BUFFER_CONTROL:
        return f"Set {buffer}{' and the AQM off' if tier.is_docsis31 else ''}"
    if candidate.feature is Feature.LOW_LATENCY:
        classic = f", with AQM {target} ms in the classic queue" if candidate.target else ""
        return (
            f"Turn low latency on{classic}; only packets that are marked DSCP 45, DSCP 46 or ECT(1)"
            " gain by it"
        )
    if not tier.is_cable:
        what = buffer.replace("target ", "") or candidate.label.removeprefix("AQM ")
        return f"Set the queue of the device that sends up the line to {what}"
    today = (tier.today or {}).get("upstream", {})
    is_on = not today.get("aqm_disabled") and "docsis_pie" in today.get("queue", "docsis_pie")
    verb = "Leave" if tier.is_docsis31 and is_on else "Turn"
    if tier.is_docsis31 and not (candidate.target or buffer):
        return f"{verb} the AQM on with its defaults (DOCSIS-PIE, a target of {target} ms)"
    limited = f" and {buffer}" if buffer else ""
    return f"{verb} the AQM on (DOCSIS-PIE) with a target of {target} ms{limited}"


# The answer.


def answer_recommendation(title: str, decisions: Sequence[Decision]) -> Answer:
    """Answer what the tiers shall have."""
    number = len(decisions)
    which = f"these {number} tiers"
    if number <= MOST_ASKED:
        which = f"the tier{'s' if number > 1 else ''} {join_tiers(decisions)}"
    what = "What buffer and AQM shall"
    if all(one.feature is Feature.ROUTER for one in _list_settable(decisions)):
        what = "Which queue and rate shall a router before the modem of"
    question = ask(title, f"{what} {which} have?")
    sentences = filter(None, [_describe_recommended(decisions), _describe_rest(decisions)])
    return Answer(question, tuple(sentences), draw_matrix(decisions), TRADE_OFF)


def _list_settable(decisions: Sequence[Decision]) -> list[Candidate]:
    return [one for decision in decisions for one in decision.candidates if one.is_settable]


def _describe_recommended(decisions: Sequence[Decision]) -> str:
    """Name what is recommended, equal tiers together, and where more seeds may change that."""
    found: dict[str, list[Decision]] = {}
    for decision in decisions:
        if decision.recommended:
            found.setdefault(_name(decision, decision.recommended), []).append(decision)
    if not found:
        return ""
    text = f"{'; '.join(f'{join_tiers(own)}: {label}' for label, own in found.items())}."
    rivalled = [decision for decision in decisions if decision.rival]
    if not rivalled:
        return text
    return f"{text} At {join_tiers(rivalled)} this is provisional: more seeds may change it."


def _describe_rest(decisions: Sequence[Decision]) -> str:
    """Say where nothing is recommended, and what comes nearest; else what all settings meet."""
    parts = []
    for standing in (Feasibility.FAILS, Feasibility.UNDECIDED, Feasibility.MISSING):
        own = [one for one in decisions if not one.recommended and one.chosen.standing is standing]
        if own:
            parts.append(_describe_group(own))
    if parts:
        return f"{capitalise('; '.join(parts))}."
    wish, senders = decisions[0].criteria, decisions[0].senders
    held, best = "", ""
    if wish.constraints:
        verb = "holds" if len(wish.constraints) == 1 else "hold"
        held = f"{capitalise(_join_conditions(wish))} {verb}"
        if senders:
            each = "each of " if len(senders) > 1 else ""
            held += f" under {each}{join_senders(senders)}"
    if wish.objective and all(own.is_top for own in decisions):
        best = f"{', with' if held else 'This has'} the {name_objective(wish)}"
    elif wish.objective:
        named = name_term(wish.objective.text)
        best = f"{'; ' + named if held else capitalise(named)} is {_write_distance(decisions)}"
    return f"{held}{best}." if held or best else ""


def _write_distance(decisions: Sequence[Decision]) -> str:
    """Say how near to the best objective the recommended settings are that do not have it."""
    found = (sorted(map(own.weigh, (own.recommended or 0, own.top or 0))) for own in decisions)
    is_within = all(last - first <= TIE * max(abs(first), abs(last)) for first, last in found)
    word = "highest" if decisions[0].criteria.higher_is_better else "lowest"
    return f"{'within 5 % of' if is_within else 'as good as'} the {word}"


def _describe_group(decisions: Sequence[Decision]) -> str:
    """Say of tiers that all fail, or are all undecided, what comes nearest at the first of them."""
    first, tiers = decisions[0], join_tiers(decisions)
    setting, standing = first.chosen.setting, first.chosen.standing
    if set(first.standings.values()) == {Feasibility.MISSING}:
        return f"at {tiers} no setting has a result{_describe_failed(first)}"
    if setting is None:
        return f"at {tiers}: {_describe_unmeasured(first).rstrip('.')}"
    label, at = _name(first, setting), f" at {first.tier.name}" if len(decisions) > 1 else ""
    missed = describe_misses(first, setting)
    if standing is Feasibility.UNDECIDED:
        return f"at {tiers} more seeds are needed: with {label}{at}, {missed}"
    no_setting = f"at {tiers} no setting meets all conditions"
    if not first.alone:
        return f"{no_setting}, and {label}{at} comes nearest: {missed}"
    held = first.list_senders(setting, Feasibility.HOLDS)
    nearest = f"{no_setting} with every sender of the uploads; {label}{at} comes nearest"
    if not held:
        return f"{nearest}: {missed}"
    others = "the others" if len(first.alone) - len(held) > 1 else "the other"
    return f"{nearest}: it holds under {join_senders(held)}, but not under {others}: {missed}"


def describe_misses(decision: Decision, setting: int, *, is_short: bool = False) -> str:
    """Say which conditions a setting misses, with its values and, unless short, by how much."""
    texts = []
    for condition in decision.list_missed(setting):
        term, miss = condition.term, decision.find_miss(condition, setting)
        if miss is None:
            source = name_source(decision, term.text, setting)
            texts.append(f"{name_term(term.text)} has no value{source}")
            continue
        by = ""
        if miss > 0 and not is_short:
            measured = decision.terms[term.text]
            size = format_distance(miss, measured.estimates[setting], measured.info.kind)
            by = f"; it misses that by {size}"
        value = _write_value(decision, term.text, setting)
        value += name_source(decision, term.text, setting)
        texts.append(f"{value}, not {name_bound(condition)}{by}")
    return join_names(texts)


# The matrix.


def draw_matrix(decisions: Sequence[Decision]) -> Table:
    """Draw the table of tiers and features: the best setting of each, and whether it holds."""
    features = [own for own in Feature if any(own in decision.bests for decision in decisions)]
    headings = {own: own.words for own in features}
    rows = [
        Row(
            decision.tier.name,
            tuple(
                _draw_cell(decision, decision.bests[own], own, headings[own])
                if own in decision.bests
                else None
                for own in features
            ),
        )
        for decision in decisions
    ]
    return make_matrix(headings.values(), rows, "tier", _explain_cells(decisions))


def _draw_cell(decision: Decision, best: Choice, feature: Feature, heading: str) -> Cell:
    """Draw the best setting of a feature.

    What a modem has as delivered can be a setting of another column: it is the recommended one only
    there.
    """
    setting = best.setting
    if setting is None:
        return Cell("", Grade.NONE, "no result")
    number = _shorten(decision.find(setting).label, heading)
    is_own = decision.find(setting).feature is feature
    is_chosen = is_own and setting == decision.chosen.setting
    if best.standing is Feasibility.HOLDS:
        word = "recommended" if is_own and setting == decision.recommended else "holds"
        gained = _write_plain(decision.objective, setting) if decision.objective else ""
        return Cell(number, Grade.GOOD, word, gained, is_chosen=word == "recommended")
    grade, word = (Grade.POOR, "nearest") if is_chosen else (Grade.BAD, "fails")
    if best.standing is Feasibility.UNDECIDED:
        grade, word = Grade.FAIR, "undecided"
    held, missed = _count_senders(decision, setting), write_worst(decision, setting)
    return Cell(number, grade, word, f"{held}; {missed}" if held else missed)


def _count_senders(decision: Decision, setting: int) -> str:
    """Count the senders with which a setting holds; nothing with one sender."""
    if not decision.alone:
        return ""
    held = len(decision.list_senders(setting, Feasibility.HOLDS))
    return f"{held} of {write_count(len(decision.senders), 'sender')}"


def _shorten(label: str, heading: str) -> str:
    """Leave out what the heading of the column says.

    Examples
    --------
    >>> _shorten("buffer 32 KiB", "Buffer Control"), _shorten("AQM 10 ms, buffer 64 KiB", "AQM")
    ('32 KiB', '10 ms, buffer 64 KiB')
    >>> _shorten("low latency", "low latency"), _shorten("low latency, AQM 15 ms", "low latency")
    ('on', 'on, AQM 15 ms')
    >>> _shorten("no AQM, 250 ms", "AQM off"), _shorten("AQM 10 ms", "as delivered")
    ('250 ms', 'AQM 10 ms')
    >>> _shorten("as delivered: no AQM, 256 KiB", "as delivered")
    'no AQM, 256 KiB'
    >>> _shorten("cake 95 %, modem's AQM on", "router and AQM")
    'cake 95 %'
    """
    if heading == Feature.LOW_LATENCY.words:
        return label.replace(heading, "on", 1)
    starts = {
        Feature.DELIVERED.words: f"{Feature.DELIVERED.words}: ",
        Feature.AQM_OFF.words: "no AQM, ",
        Feature.BUFFER_CONTROL.words: "buffer ",
        Feature.AQM.words: "AQM ",
    }
    if heading == Feature.ROUTER_AND_AQM.words:
        return label.removesuffix(WITH_AQM)
    return label.removeprefix(starts.get(heading, ""))


def _explain_cells(decisions: Sequence[Decision]) -> str:
    """Say what the words of the cells mean."""
    standings = {best.standing for decision in decisions for best in decision.bests.values()}
    wish, parts = decisions[0].criteria, []
    if wish.constraints:
        over = "over the whole 95 % interval"
        if not decisions[0].has_intervals:
            over = f"in the mean of {write_count(decisions[0].seeds, 'seed')}, without an interval"
        part = f"A setting holds if it meets every condition {over}"
        if Feasibility.UNDECIDED in standings:
            part += "; it is undecided if it does over a part of it"
        parts.append(part)
        if not all(decision.recommended for decision in decisions):
            parts.append(f"Conditions: {_join_conditions(wish)}")
    if wish.constraints and decisions[0].senders:
        parts.append(f"Uploads are sent by {_describe_senders(decisions[0])}")
    part = "Each cell has the best setting of its column"
    if wish.objective:
        part += f", with its {name_term(wish.objective.text)}"
    if standings & {Feasibility.FAILS, Feasibility.UNDECIDED}:
        count = "the number of senders under which it holds and " if decisions[0].alone else ""
        part += f", or with {count}the condition that it misses most"
    presets = dict.fromkeys(own.tier.preset for own in decisions if own.delivered)
    supposed = [find_generation(preset).brief for preset in presets]
    if supposed:
        part += f". {capitalise(Feature.DELIVERED.words)} is {'; '.join(supposed)}"
    return f"{'. '.join([*parts, part])}."


def _describe_senders(decision: Decision) -> str:
    """Name the senders, and say which of them a value is of."""
    named = join_senders(decision.senders)
    if len(decision.senders) == 1:
        return named
    return f"{named}; a value is with the sender for which it is worst"


# A tier.


def describe_tier(decision: Decision) -> tuple[str, str, str]:
    """Say what a tier shall have and why, what that costs, and how sure it is."""
    setting = decision.recommended
    if setting is None:
        return _describe_nothing(decision)
    return (
        _describe_choice(decision, setting),
        _describe_cost(decision, setting),
        _describe_certainty(decision, setting),
    )


def _describe_choice(decision: Decision, setting: int) -> str:
    """Say what to set and why."""
    advice, label = advise(decision.tier, decision.find(setting)), _name(decision, setting)
    wish, tried, number = decision.criteria, len(decision.chosen.among), len(decision.holding)
    if number == 1:
        does = "meets all conditions" if wish.constraints else "has a result"
        which = f"Of {tried} settings, it alone {does}"
        if tried == 1:
            which = f"It is the only setting that was tried, and {does}"
        value = f", with {_write_objective(decision, setting)}" if wish.objective else ""
        return f"{advice}. {which}{value}."
    if not wish.constraints:
        which = f"{tried} settings were tried"
    elif number == tried:
        which = f"All {tried} settings meet all conditions"
    else:
        which = f"{number} of {tried} settings meet all conditions"
    if wish.objective is None:
        is_buffer = decision.find(setting).feature is Feature.BUFFER_CONTROL
        reason = "is the smallest buffer" if is_buffer else "has the least to set"
        return f"{advice}. {which}; {label} {reason}."
    measured, top = decision.terms[wish.objective.text], decision.top
    value, ties = write_mean(measured, setting), decision.chosen.ties
    reason = f"{label} has the {name_objective(wish)}, {value}"
    if top and not decision.is_top:
        best = f"{write_mean(measured, top)} with {_name(decision, top)}"
        reason = (
            f"{label} has {_write_objective(decision, setting)},"
            f" {_write_distance([decision])} ({best})"
        )
    as_good = f" As good: {_list_settings(decision, ties)}." if ties else ""
    return f"{advice}. {which}; {reason}.{as_good}{_describe_passed_over(decision)}"


def _describe_passed_over(decision: Decision) -> str:
    """Say why a setting that is as good and has less to set is not chosen."""
    if decision.passed_over is None:
        return ""
    left, better = decision.passed_over
    gained, _ = decision.list_changes(better, left)
    values = join_names(
        [
            f"{name_term(own)} is {_write_plain(decision.terms[own], better)}, not"
            f" {_write_plain(decision.terms[own], left)}"
            for own in gained
        ]
    )
    why = "is the usual one" if decision.find(left).router else "has less to set"
    return (
        f" {capitalise(_name(decision, left))} {why}, and is not chosen because it is worse for"
        f" somebody and better for nobody: with {_name(decision, better)} {values}."
    )


def describe_baseline(tier: Tier, feature: Feature) -> str:
    """Say what gains are told against is, in a few words for brackets; or nothing."""
    if feature is Feature.AQM_OFF:
        return f"a buffer of {find_generation(tier.preset).buffer}"
    if feature is Feature.DELIVERED:
        return find_generation(tier.preset).brief
    return tier.supposed.replace(" (", " with ").replace(")", "")


def describe_changes(decision: Decision, setting: int, other: int) -> str:
    """Say what is better with a setting than with another, and what is worse."""
    changes = []
    for word, terms in zip(("better", "worse"), decision.list_changes(setting, other), strict=True):
        values = [
            f"{name_term(own)} {_write_plain(decision.terms[own], other)} →"
            f" {_write_plain(decision.terms[own], setting)}"
            for own in terms
        ]
        changes.append(f"{word}: {join_names(values)}" if values else f"nobody is {word} off")
    return "; ".join(changes)


def _describe_cost(decision: Decision, setting: int) -> str:
    """Say who gains and who pays against each baseline, and what another feature gives."""
    parts = []
    for feature, base in decision.baselines.items():
        told = describe_baseline(decision.tier, feature)
        about = f" ({told})" if told else ""
        name = feature.words
        if base == setting:
            of = "what the line has" if feature is Feature.TODAY else "what a modem has"
            parts.append(f"It is {of} {name}{about}")
        elif decision.standings.get(base, Feasibility.MISSING) is not Feasibility.MISSING:
            before = f"a modem {name}" if feature is Feature.DELIVERED else name
            changes = describe_changes(decision, setting, base)
            parts.append(f"Against {before}{about}, {changes}")
    if unasked := [_write_value(decision, own, setting) for own in decision.unasked]:
        parts.append(f"No condition asks for {join_names(unasked)}")
    if other := decision.alternative:
        parts.append(
            f"Without {decision.find(setting).feature.words}, {_name(decision, other)} meets all"
            f" conditions, with {_write_objective(decision, other)}"
        )
    return f"{'. '.join(parts)}." if parts else ""


def _describe_certainty(decision: Decision, setting: int) -> str:
    """Say how sure the recommendation is: the tightest condition, and what more seeds decide."""
    parts = [_count_seeds(decision)]
    if decision.criteria.constraints:
        condition = decision.find_decisive(setting)
        value = write_mean(decision.terms[condition.term.text], setting)
        value += name_source(decision, condition.term.text, setting)
        name = name_condition(condition)
        parts.append(f"{name} is the condition with the least to spare, at {value}")
    if not decision.has_intervals:
        parts.append(_FEW)
    parts += [_describe_edge(decision, own) for own in decision.edges]
    if larger := decision.too_large:
        label, worst = _name(decision, larger), write_worst(decision, larger)
        parts.append(f"the next size, {label}, fails: {worst}")
    if decision.is_lax:
        parts.append("every setting holds, so the conditions do not tell settings apart")
    text = f"How sure: {'; '.join(parts)}."
    if rival := decision.rival:
        return (
            f"{text} More seeds may change this: {_name(decision, rival)} meets all conditions in"
            f" the mean, with {_write_objective(decision, rival)}."
        )
    if undecided := decision.undecided:
        verb = f"hold{'s' if len(undecided) == 1 else ''}"
        settings = _list_settings(decision, undecided)
        return f"{text} More seeds would decide whether {settings} {verb} too."
    return text


def _count_seeds(decision: Decision) -> str:
    """Count the seeds, and the senders with which each was run."""
    seeds, senders = write_count(decision.seeds, "seed"), len(decision.senders)
    return f"{seeds} with each of {senders} senders" if senders > 1 else seeds


def _describe_edge(decision: Decision, setting: int) -> str:
    """Say what a router does that leaves less of the line's rate than is recommended."""
    label = _name(decision, setting)
    if decision.standings[setting] is Feasibility.HOLDS:
        return f"{label} still holds"
    return f"{label} {decision.standings[setting]}: {write_worst(decision, setting)}"


def _describe_nothing(decision: Decision) -> tuple[str, str, str]:
    """Say that nothing is recommended, what comes nearest, and what stands in the way."""
    setting, number = decision.chosen.setting, len(decision.chosen.among)
    if setting is None:
        return _describe_unmeasured(decision), "", ""
    label, missed = _name(decision, setting), describe_misses(decision, setting)
    more = "more seeds narrow the intervals" if decision.has_intervals else _FEW
    certainty = f"How sure: {_count_seeds(decision)}; {more}."
    if decision.chosen.standing is Feasibility.UNDECIDED:
        return (
            f"Nothing is recommended yet: with {label} all means meet the conditions, but not the"
            f" whole 95 % interval of {missed}.",
            f"More seeds decide it, such as --seeds {2 * decision.seeds}: what was run is kept.",
            certainty,
        )
    out_of_reach = [
        f"{name_condition(condition)} (best:"
        f" {write_mean(decision.terms[condition.term.text], best)} with {_name(decision, best)}"
        f"{name_source(decision, condition.term.text, best)})"
        for condition, best in decision.out_of_reach
    ]
    if decision.alone:
        first = (
            f"Nothing is recommended: none of {number} settings meets all conditions with every"
            f" sender of the uploads, and {label} comes nearest. {_describe_holding(decision)}"
        )
        return first, _describe_alone(decision), certainty
    obstacle = "Each condition holds with some setting, but no setting meets all of them."
    if out_of_reach:
        obstacle = f"No setting meets {join_names(out_of_reach)}."
    first = (
        f"Nothing is recommended: none of {number} settings meets all conditions, and {label}"
        f" comes nearest, with {missed}."
    )
    return first, obstacle, certainty


def _describe_holding(decision: Decision) -> str:
    """Say under which senders the nearest setting holds, and what it misses under the others."""
    setting = decision.chosen.setting or 0
    held = decision.list_senders(setting, Feasibility.HOLDS)
    parts = [f"It holds under {join_senders(held)}"] if held else []
    missed = [
        f"under {sender.words} {describe_misses(own, setting, is_short=True)}"
        for sender, own in decision.alone.items()
        if sender not in held
    ]
    return f"{capitalise('; '.join([*parts, *missed]))}."


def _describe_alone(decision: Decision) -> str:
    """Say what each sender alone would decide; those under which nothing holds come together."""
    parts: list[str] = []
    unsure: list[Sender] = []
    without: list[Sender] = []
    for sender, own in decision.alone.items():
        if own.recommended is None:
            is_open = own.chosen.standing is Feasibility.UNDECIDED
            (unsure if is_open else without).append(sender)
            continue
        gained = _write_objective(own, own.recommended)
        value = f" ({gained})" if gained else ""
        parts.append(f"{_name(own, own.recommended)} under {sender.words}{value}")
    found = f"For one sender alone: {'; '.join(parts)}" if parts else ""
    none = f"No setting meets all conditions under {join_senders(without)}" if without else ""
    more = f"More seeds would decide whether a setting meets them under {join_senders(unsure)}"
    return f"{'. '.join(filter(None, [found, none, more if unsure else '']))}."


def _describe_unmeasured(decision: Decision) -> str:
    """Say that nothing can be recommended, since nothing was measured of what must hold."""
    if decision.failed and set(decision.standings.values()) == {Feasibility.MISSING}:
        why = _describe_failed(decision)
        return f"Nothing can be recommended, since no setting has a result{why}."
    missing = [name_term(own) for own in decision.unmeasured]
    if not missing:
        return (
            f"Nothing can be recommended: none of {len(decision.chosen.among)} settings has a value"
            " of all that must hold."
        )
    verb = "has" if len(missing) == 1 else "have"
    return (
        f"Nothing can be recommended: {join_names(missing)} {verb} no value in any run; a longer"
        " duration may give one."
    )


def _describe_failed(decision: Decision) -> str:
    """Say how many points failed, and why the first one did; nothing where none did."""
    if not decision.failed:
        return ""
    return f": {write_count(decision.failed, 'point')} failed, the first {decision.failure}"
