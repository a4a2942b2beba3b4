"""What the owner of a line is told: what to do, to ask and to leave, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headend.analysis.estimate import (
    choose_difference_unit,
    format_cell,
    format_difference_cell,
)
from headend.analysis.grading import Grade
from headend.analysis.ranking import Feasibility
from headend.recommendation.candidate import Candidate, Feature
from headend.recommendation.owner import OwnChoices, Varied, Verdict
from headend.recommendation.owner_values import (
    describe_grades,
    describe_lacks,
    grade_term,
    is_hopeless,
    list_changes,
    write_term,
)
from headend.recommendation.router import list_sqm_settings
from headend.recommendation.sentences import (
    TRADE_OFF,
    advise,
    name_condition,
    name_term,
    split_term,
)
from headend.recommendation.tier import Tier
from headend.scenario.fit_note import SURE, Flag, QueueKind
from headend.text.quantity import choose_unit, format_quantity, parse_quantity
from headend.text.wording import capitalise, join_names, wrap_sentence, write_count
from headend.wording.answer import Answer
from headend.wording.table import Cell, Column, Row, Table

#: The headings of what an owner is told, in their order.
MYSELF = "What can I do myself?"
PROVIDER = "What must I ask my provider?"
USELESS = "What would not be enough?"
CERTAINTY = "How sure is this?"

#: What each flag of a fit means for its line.
FLAGS: Mapping[str, str] = {
    Flag.SENDER_LIMITED: "the senders did not fill the line, so that its rate may be higher",
    Flag.NO_IDLE_PHASE: "the line was never idle, so that its base delay may be shorter",
    Flag.NO_CEILING: "the delay reached no ceiling, so that the buffer may be longer",
    Flag.NO_UPSTREAM: "the direction upstream was not measured",
    Flag.NO_DOWNSTREAM: "the direction downstream was not measured",
    Flag.MIXED_DIRECTIONS: "both directions were loaded together, so that their queues cannot be"
    " told apart",
    Flag.WIFI_SUSPECTED: "the delay varies as over Wi-Fi, whose queue cannot be told from the"
    " line's",
    Flag.PRIORITISED_PROBE: "the probe had priority, so that other packets may wait longer",
    Flag.PROBE_IN_FLOW: "the delays are those of the transfers themselves, and not of others beside"
    " them",
    Flag.RATE_VARIES: "the rate varied during the measurement",
    Flag.FEW_SAMPLES: "there are few samples",
    Flag.SUMMARY_ONLY: "only summaries are known, and no samples",
    Flag.CLOCK_DRIFT: "the clocks of both ends drifted apart",
}

#: Names of TLVs of a modem's file, by what they set.
_TLVS = {
    Feature.AQM: "TLV 24.40",
    Feature.BUFFER_CONTROL: "TLV 24.35",
    Feature.LOW_LATENCY: "TLVs 70 and 71",
}

#: The columns of a text to send.
_LETTER = 76

#: What settings are called above a column, by their features.
_COLUMNS = {
    Feature.TODAY: "today",
    Feature.ROUTER: "my router",
    Feature.FASTER: "faster tier",
    Feature.NO_UPLOAD: "no upload",
    Feature.WIFI: "my Wi-Fi",
    Feature.STATION: "my Wi-Fi",
    Feature.ETHERNET: "over Ethernet",
}


#: A sentence, or a list of them below the sentence before.
Told = str | tuple[str, ...]


@dataclass(frozen=True)
class OwnerText:
    """What an owner is told.

    Parameters
    ----------
    myself, provider, useless, certainty
        What is told below each of the headings: sentences, and lists of sentences.
    letter
        A text for the provider, line by line; empty where nothing need be asked.
    """

    myself: tuple[Told, ...]
    provider: tuple[Told, ...]
    useless: tuple[Told, ...]
    certainty: tuple[Told, ...]
    letter: tuple[str, ...] = ()

    @property
    def chapters(self) -> tuple[tuple[str, tuple[Told, ...]], ...]:
        """The headings with their sentences, in order."""
        return (
            (MYSELF, self.myself),
            (PROVIDER, self.provider),
            (USELESS, self.useless),
            (CERTAINTY, self.certainty),
        )


def flatten(told: Iterable[Told]) -> list[str]:
    """Give sentences and those of lists one after the other."""
    return [line for own in told for line in ((own,) if isinstance(own, str) else own)]


def write_owner_text(choices: OwnChoices) -> OwnerText:
    """Write what an owner is told."""
    return OwnerText(
        tuple(_describe_myself(choices)),
        tuple(_describe_provider(choices)),
        tuple(_describe_useless(choices)),
        tuple(_describe_certainty(choices)),
        tuple(write_letter(choices)),
    )


# The answer.


def answer_owner(choices: OwnChoices) -> Answer:
    """Answer what would help the line."""
    tier = choices.decision.tier
    verdict = _describe_verdict(choices)
    if _is_supposed(tier):
        verdict += " This rests on a supposed buffer: no delay was measured during an upload."
    sentences = [verdict, _describe_difference(choices), _describe_dropped(choices)]
    table = tabulate_choices(choices, choices.list_brief())
    question = f"What would help the line {tier.name}?"
    return Answer(question, tuple(filter(None, sentences)), table, TRADE_OFF)


def _describe_verdict(choices: OwnChoices) -> str:
    """Say in a sentence what helps."""
    decision, tier = choices.decision, choices.decision.tier
    verdict, advised = choices.verdict, choices.advised
    if choices.is_unknown:
        return _describe_unknown(choices)
    if advised is None:
        return "Nothing can be said: no setting has a result."
    advice = advise(tier, decision.find(advised))
    if verdict is Verdict.NOTHING_NEEDED:
        return f"{advice}: everybody is served well today ({_join_values(choices, advised)})."
    if verdict is Verdict.ETHERNET:
        return (
            "The Wi-Fi is what limits: nothing that was tried is enough over it, and over Ethernet"
            " everybody is served well as the line is."
        )
    if verdict is Verdict.MYSELF:
        also = ""
        if choices.is_air_limiting:
            also = ": the Wi-Fi is what limits, and nothing that is set on the line helps"
        if choices.offers:
            offers = _join_or([_label(choices, own) for own in choices.offers])
            also = f"; the provider can help as well, with {offers}"
        return f"{advice}{also}."
    if verdict is Verdict.PROVIDER:
        return f"Ask the provider for {_label(choices, advised)}; no router of your own is enough."
    if verdict is Verdict.FASTER:
        why = ""
        if choices.is_slow:
            why = "; the rate is too low for what you do, also while nobody uploads"
        return f"Only a faster tier is enough, {_name_faster(choices, advised)}{why}."
    if choices.is_slow:
        # A rate that varies is not tried twice as fast.
        twice = "twice the rate or " if choices.faster else ""
        return (
            f"Nothing that was tried serves everybody well, not even {twice}a line without uploads."
        )
    if verdict is Verdict.NOTHING_HELPS:
        lacks = describe_lacks(decision, choices.today)
        return f"Nothing that was tried helps anybody for sure: as the line is, {lacks}."
    return _tell_nearest(
        choices, advised, "Nothing that was tried", "serves everybody well for sure"
    )


def _describe_unknown(choices: OwnChoices) -> str:
    """Say why nothing is known of any setting: a failure, or too short a run for what is asked."""
    decision = choices.decision
    if decision.failure:
        return f"Nothing can be said: no setting has a result, since {decision.failure}."
    missing = [f"the {name_term(own.term.text)}" for own in decision.criteria.constraints]
    verb = "has" if len(missing) == 1 else "have"
    return (
        f"Nothing can be said: {join_names(missing)} {verb} no value in any run. A longer one may"
        " have it (--set duration=…)."
    )


def _describe_difference(choices: OwnChoices) -> str:
    """Say what becomes better than today with what is advised, and what an upload loses."""
    advised = choices.advised
    if choices.verdict is Verdict.NOTHING_NEEDED:
        return _count_other(choices)
    if advised is None:
        return ""
    changes = describe_grades(choices.decision, advised, choices.today)
    is_ethernet = choices.decision.find(advised).feature is Feature.ETHERNET
    how = "Over Ethernet" if is_ethernet else f"With {_label(choices, advised)}"
    return f"{how}, {changes}." if changes else ""


def _describe_dropped(choices: OwnChoices) -> str:
    """Say of what nothing is asked, since it has no value on the line as it is."""
    names = [f"the {name_term(own)}" for own in choices.decision.dropped]
    if not names:
        return ""
    verb = "has" if len(names) == 1 else "have"
    return (
        f"{capitalise(join_names(names))} {verb} no value as the line is: nothing is asked of that."
    )


def _count_other(choices: OwnChoices) -> str:
    """Count the variations with which a line that needs nothing would need help."""
    other = sum(not own.is_same for own in choices.varied)
    if not other:
        return ""
    verb = "is" if other == 1 else "are"
    return (
        f"With {other} of {write_count(len(choices.varied), 'variation')} of the line or of the"
        f" uploads that {verb} possible too, it needs help."
    )


def _label(choices: OwnChoices, setting: int) -> str:
    return choices.decision.find(setting).label.replace(", ", " + ")


def _join_or(names: Sequence[str]) -> str:
    """Write alternatives as a sentence lists them.

    Examples
    --------
    >>> _join_or(["a", "b", "c"])
    'a, b or c'
    """
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _join_values(choices: OwnChoices, setting: int) -> str:
    """List what everybody gets in a setting, without intervals."""
    decision = choices.decision
    found = []
    for name in decision.watched:
        if setting in decision.terms[name].estimates:
            is_graded = bool(grade_term(decision, name, setting))
            whose = split_term(name)[0] if is_graded else name_term(name)
            found.append(f"{whose} {write_term(decision, name, setting)}")
    return join_names(found)


def _is_supposed(tier: Tier) -> bool:
    """Say whether nothing was measured of the queue upstream."""
    return tier.fit is not None and not {"up.buffer", "up.loaded_delay"} & set(tier.fit.values)


# What the owner can do.


def _describe_myself(choices: OwnChoices) -> Iterable[Told]:
    decision, tier = choices.decision, choices.decision.tier
    if tier.fit and Flag.WIFI_SUSPECTED in tier.fit.flags:
        yield (
            "Measure again over an Ethernet cable before anything else: in what was measured"
            f" {FLAGS[Flag.WIFI_SUSPECTED]}, and no setting of the line was tried against Wi-Fi."
        )
    if _is_supposed(tier):
        yield (
            "Measure the delay during an upload before anything else: it was not measured, so the"
            " buffer upstream is supposed, and so is all that follows."
        )
    yield from _describe_air(choices)
    setting, needs_nothing = choices.mine.setting, choices.verdict is Verdict.NOTHING_NEEDED
    if needs_nothing:
        yield "Nothing is needed: every condition holds as the line is."
    if setting and needs_nothing:
        better, _ = decision.list_changes(setting, choices.today)
        if better:
            yield f"A router with {_label(choices, setting)} would still change this:"
            yield _list_gain(choices, setting)
    elif setting and choices.is_useless(setting):
        yield "Nothing that you can do yourself helps anybody for sure."
    elif setting and not choices.relieves(setting):
        yield _tell_nearest(choices, setting, "Nothing that you can do yourself", "helps for sure")
    elif setting and choices.has(setting):
        router = decision.find(setting).router
        yield f"{advise(tier, decision.find(setting))}. Against today:"
        yield _list_gain(choices, setting)
        if choices.boldest:
            yield _describe_boldest(choices, choices.boldest)
        if router:
            yield "In OpenWrt's SQM (luci-app-sqm):"
            yield tuple(f"{name}: {value}" for name, value in list_sqm_settings(tier, router))
    elif setting:
        missed = describe_lacks(decision, setting)
        is_router = decision.find(setting).air is None
        what = "A router of your own" if is_router else "What you can change in the Wi-Fi"
        label = _label(choices, setting)
        yield f"{what} helps, but is not enough: with {label}, {missed}. Against today:"
        yield _list_gain(choices, setting)
    quiet = choices.quiet
    if quiet is None or needs_nothing:
        return
    if choices.has(quiet):
        yield (
            "Upload at another time: while nobody uploads, everybody is well"
            f" ({_join_values(choices, quiet)})."
        )
    elif choices.has(quiet, Feasibility.FAILS):
        missed = describe_lacks(decision, quiet)
        yield f"To upload at another time is not enough: while nobody uploads, {missed}."


def _tell_nearest(choices: OwnChoices, setting: int, nothing: str, does: str) -> str:
    """Say that nothing of a kind does something, and what comes nearest, with who suffers then.

    What leaves somebody badly served does not come near.
    """
    label, missed = _label(choices, setting), describe_lacks(choices.decision, setting)
    if is_hopeless(choices.decision, setting):
        return f"{nothing} comes near: with {label}, the best of it, {missed}."
    return f"{nothing} {does}; {label} comes nearest: {missed or 'nobody is clearly better off'}."


def _describe_air(choices: OwnChoices) -> Iterable[Told]:
    """Say whether the Wi-Fi before the line limits, or the line, and what a cable would do."""
    ethernet = choices.ethernet
    if ethernet is None or choices.verdict is Verdict.NOTHING_NEEDED:
        return
    missed = "" if choices.has(ethernet) else describe_lacks(choices.decision, ethernet)
    if choices.is_air_limiting:
        yield (
            "The Wi-Fi is what limits: no router, no setting of the provider's and no faster tier"
            " that was tried helps anybody over it."
        )
        if choices.has(ethernet, Feasibility.MISSING):
            return
        if missed:
            yield (
                f"An Ethernet cable alone is not enough: {missed}. What filled the Wi-Fi fills the"
                " line then."
            )
        else:
            yield f"Over Ethernet everybody is well ({_join_values(choices, ethernet)})."
    elif choices.helps_air and choices.helps_line:
        yield "The Wi-Fi and the line both limit: what is set on either helps."
    elif choices.helps_line:
        is_known = missed and not choices.has(ethernet, Feasibility.MISSING)
        over = f": over Ethernet too, {missed}" if is_known else ""
        yield f"The Wi-Fi is not what limits{over}."


def _describe_boldest(choices: OwnChoices, setting: int) -> str:
    """Say why a router that is better for the line as it was fitted is not advised."""
    decision, label = choices.decision, choices.decision.find(setting).label
    objective = decision.criteria.objective
    gained = f" ({_write_plain(choices, objective.text, setting)})" if objective else ""
    for own in choices.varied:
        found = {one.label: number for number, one in enumerate(own.decision.candidates, start=1)}
        there = found.get(label)
        if there and own.decision.standings[there] is not Feasibility.HOLDS:
            missed = describe_lacks(own.decision, there)
            return f"{label}{gained} is not advised: {_name_variation(own)}, {missed}."
    return ""


def _list_gain(choices: OwnChoices, setting: int) -> tuple[str, ...]:
    return list_changes(choices.decision, setting, choices.today)


# What the provider can do.


def _describe_provider(choices: OwnChoices) -> Iterable[Told]:
    decision, tier = choices.decision, choices.decision.tier
    if choices.verdict is Verdict.NOTHING_NEEDED:
        yield "Nothing has to be asked."
        return
    for offer in choices.offers:
        yield f"{advise(tier, decision.find(offer))}. Against today:"
        yield _list_gain(choices, offer)
    setting = choices.asked.setting
    if not choices.offers and choices.is_useless(setting):
        yield "Nothing of the provider's helps anybody for sure."
    elif not choices.offers and setting and not choices.relieves(setting):
        yield _tell_nearest(choices, setting, "Nothing of the provider's", "helps for sure")
    elif not choices.offers and setting:
        does = "serves everybody well"
        yield _tell_nearest(choices, setting, "No setting of the provider's", does)
    helping = [own for own in choices.faster if choices.has(own)]
    for own in helping:
        yield f"A faster tier, which costs money: {_name_faster(choices, own)}. Against today:"
        yield _list_gain(choices, own)


def _name_faster(choices: OwnChoices, setting: int) -> str:
    """Name a faster tier with its rates, and what its queue is supposed to be."""
    candidate, tier = choices.decision.find(setting), choices.decision.tier
    rates = join_names(
        [
            f"{_round_rate(own['rate'])} {word}"
            for own, word in ((candidate.upstream, "up"), (candidate.downstream, "down"))
        ]
    )
    if candidate.router:
        return f"{rates}, with {candidate.router.label} in a router of your own"
    same = "the same buffer in bytes" if "bytes" in candidate.label else "its queue as it is today"
    return f"{rates}, with {same}" if tier.today else rates


def _round_rate(text: str) -> str:
    return format_quantity(float(f"{parse_quantity(text, 'rate').value:.3g}"), "rate")


def write_letter(choices: OwnChoices) -> list[str]:
    """Write a text for the provider, with what was measured and what is asked.

    It is empty where nothing has to be asked, or nothing of the provider's helps.
    """
    decision, tier = choices.decision, choices.decision.tier
    if choices.verdict is Verdict.NOTHING_NEEDED or not choices.offers:
        return []
    up, down = (format_quantity(own, "rate") for own in (tier.upstream, tier.downstream))
    lines = [f"My line carries {up} upstream and {down} downstream{_write_source(tier)}."]
    if measured := _write_measured(tier):
        lines.append(measured)
    terms = [name for name in decision.watched if choices.today in decision.terms[name].estimates]
    missed = [one.term.text for one in decision.list_missed(choices.today)]
    felt = [name for name in terms if name in missed]
    if felt:
        values = join_names([_write_plain(choices, name, choices.today) for name in felt])
        lines.append(f"In a simulation of this line, an upload then causes: {values}.")
    first, *others = choices.offers
    lines.append(f"Please: {_ask(choices, first)}")
    lines += [f"Or, if that cannot be done: {_ask(choices, own)}" for own in others]
    return lines


def wrap_letter(lines: Sequence[str]) -> str:
    """Wrap a text to send: its paragraphs with an empty line between them."""
    return "\n\n".join("\n".join(wrap_sentence(own, _LETTER)) for own in lines)


def _ask(choices: OwnChoices, setting: int) -> str:
    """Write what is asked, and what it would give."""
    decision, tier = choices.decision, choices.decision.tier
    candidate = decision.find(setting)
    better, _ = decision.list_changes(setting, choices.today)
    values = join_names([_write_plain(choices, name, setting) for name in better])
    then = f" In the same simulation: {values}." if values else ""
    advice = advise(tier, candidate)
    return f"{advice[0].lower()}{advice[1:]}{_name_tlv(tier, candidate)}.{then}"


def _name_tlv(tier: Tier, candidate: Candidate) -> str:
    """Say where a modem's file has a setting, as the end of a sentence; nothing on a plain link."""
    if not tier.is_cable:
        return ""
    tlv = _TLVS[candidate.feature]
    return f" ({tlv})" if not advise(tier, candidate).endswith(")") else f": {tlv}"


def _write_plain(choices: OwnChoices, term: str, setting: int) -> str:
    measured = choices.decision.terms[term]
    mean = float(f"{measured.estimates[setting].mean:.3g}")
    return f"{name_term(term)} {format_quantity(mean, measured.info.kind)}"


def _write_source(tier: Tier) -> str:
    """Say what the rates rest on: the measurement, and the interval upstream."""
    if tier.fit is None:
        return ""
    ends = tier.fit.values.get("up.rate")
    between = ""
    if ends and ends[0] < ends[2]:
        low, high = (format_quantity(float(f"{own:.3g}"), "rate") for own in (ends[0], ends[2]))
        between = f"; upstream {low} to {high}"
    return f" (measured with {name_source_of(tier.fit.source)}{between})"


def name_source_of(source: str) -> str:
    """Name what a line was measured with: numbers that were typed are those of a web test."""
    return "a web test" if source == "by hand" else source


def _write_measured(tier: Tier) -> str:
    """Say how long packets wait under load, as it was measured; empty where nobody knows."""
    if tier.fit is None:
        return ""
    values, parts = tier.fit.values, []
    if waits := values.get("up.loaded_delay") or values.get("up.buffer"):
        word = "about" if "up.loaded_delay" in values else "up to"
        parts.append(f"while an upload runs, packets wait {word} {_write_range(waits, 'ms')}")
    if base := values.get("base_delay"):
        parts.append(f"on the idle line the round trip is {_write_range(base, 'ms')}")
    return f"{capitalise('; '.join(parts))}." if parts else ""


def _write_range(values: Sequence[float], unit: str) -> str:
    low, value, high = values
    between = f" ({low:.3g} to {high:.3g} {unit})" if low < high else ""
    return f"{value:.3g} {unit}{between}"


# What would not be enough.


def _describe_useless(choices: OwnChoices) -> Iterable[str]:
    decision = choices.decision
    if choices.is_unknown:
        return
    if choices.verdict is Verdict.NOTHING_NEEDED:
        yield "Nothing that was tried is needed."
        return
    settings = choices.list_useless()
    for setting in settings:
        candidate = decision.find(setting)
        name = _label(choices, setting)
        if candidate.feature is Feature.FASTER:
            name = f"a faster tier ({_name_faster(choices, setting)})"
        elif candidate.router and not candidate.air:
            name = f"a router of your own with {name}"
        missed = describe_lacks(decision, setting)
        helps = choices.has_gain(setting) or choices.relieves(setting)
        does = "helps, but is not enough" if helps else "does not help"
        yield f"{capitalise(name)} {does}: {missed}.{_describe_more(choices, setting)}"
    if not settings and choices.is_all_enough:
        yield "Each kind of setting that was tried can serve everybody well."
    elif not settings:
        yield "Of nothing else that was tried it is sure that it is not enough."


def _describe_more(choices: OwnChoices, setting: int) -> str:
    """Say what there is more of although a setting is not enough: an upload's rate."""
    objective, decision = choices.decision.criteria.objective, choices.decision
    if objective is None or objective.text not in decision.list_changes(setting, choices.today)[0]:
        return ""
    before, after = (_write_plain(choices, objective.text, own) for own in (choices.today, setting))
    return f" The {before} today becomes {after.removeprefix(name_term(objective.text)).strip()}."


# How sure it is.


def _describe_certainty(choices: OwnChoices) -> Iterable[Told]:
    decision, tier = choices.decision, choices.decision.tier
    seeds = write_count(decision.seeds, "seed")
    advised = choices.advised
    if advised and decision.criteria.constraints:
        condition = decision.find_decisive(advised)
        if not decision.has_intervals:
            seeds = f"{seeds}, too few for an interval: the means decide, and --seeds 5 gives one"
        else:
            seeds = f"{seeds} with its 95 % interval"
        yield (
            f"Each value is a mean over {seeds};"
            f" {name_condition(condition)} is the condition with the least to spare."
        )
    yield _describe_fit(tier)
    if tier.fit:
        for flag in tier.fit.flags:
            yield f"Of the measurement: {FLAGS.get(flag, flag)}."
    yield from _describe_variations(choices)


def _describe_fit(tier: Tier) -> str:
    """Say what the line was fitted to, how well, and how likely its queue is."""
    if tier.fit is None:
        return (
            "The scenario does not say what it was fitted to: the answer is for a line with exactly"
            " these rates and this queue."
        )
    grade = f", grade {tier.fit.grade} (A to D)" if tier.fit.grade else ", without a grade"
    text = f"The line is fitted to what {name_source_of(tier.fit.source)} measured{grade}."
    likelihoods = sorted(tier.fit.queues.get("up", {}).items(), key=lambda own: -own[1])
    likely = [f"{kind} {share:.0%}".replace("%", " %") for kind, share in likelihoods if share > 0]
    if not likely:
        return text
    told = f"{text} Its queue upstream is {_join_or(likely)}."
    kind, share = likelihoods[0]
    if kind != QueueKind.UNKNOWN and share >= SURE:
        return told
    return f"{told} Its kind is not sure: what is true of each likely kind is said below."


def _describe_variations(choices: OwnChoices) -> Iterable[Told]:
    """Say with which variations the answer is the same, and what it is with each other one."""
    same = [own for own in choices.varied if own.is_same]
    if same:
        advised = [choices.mine.setting, choices.asked.setting]
        tried = join_names([_label(choices, own) for own in advised if own and choices.has(own)])
        verb = "hold" if " and " in tried else "holds"
        what = f" ({tried} {verb})" if tried and not choices.has(choices.today) else ""
        yield f"The answer is the same{what}:"
        yield tuple(map(_name_variation, same))
    for own in choices.varied:
        if not own.is_same:
            yield f"{capitalise(_name_variation(own))}, {_describe_other(choices, own)}."
    if not choices.varied and choices.decision.tier.fit:
        yield "No variation of the line was run, as its fit has no intervals that matter."


def _name_variation(varied: Varied) -> str:
    variation = varied.decision.tier.variation
    if variation is None:
        return ""
    likely = ""
    if variation.likelihood is not None:
        likely = f" ({variation.likelihood:.0%})".replace("%", " %")
    return f"{variation.words}{likely}"


def _describe_other(choices: OwnChoices, varied: Varied) -> str:
    """Say what else is true of a variation."""
    if choices.has(choices.today):
        if varied.today is not Feasibility.HOLDS:
            today = varied.decision.today or 1
            missed = describe_lacks(varied.decision, today)
            return f"the line needs help: {missed}"
    elif varied.today is Feasibility.HOLDS:
        return "nothing is needed: everybody is served well as the line is"
    failing = [
        own
        for own, standing in varied.standings.items()
        if choices.has(own) and standing is not Feasibility.HOLDS
    ]
    if not failing:
        return f"the line as it is {varied.today}"
    labels = {one.label: number for number, one in enumerate(varied.decision.candidates, start=1)}
    parts = []
    for own in failing:
        label = choices.decision.find(own).label
        setting = labels.get(label)
        missed = describe_lacks(varied.decision, setting) if setting else ""
        parts.append(f"{label} is not enough{f': {missed}' if missed else ''}")
    return join_names(parts)


# The table.


def tabulate_choices(choices: OwnChoices, settings: Sequence[int]) -> Table:
    """Make the table of what everybody gets: a row for each quantity, a column for each choice.

    A cell has the mean with its 95 % interval, and below it the difference from today with its own.
    """
    decision = choices.decision
    columns = tuple(
        Column(_name_column(choices, own), note=_note_column(choices, own)) for own in settings
    )
    rows = []
    for name in decision.watched:
        term = decision.terms[name]
        unit = choose_unit((own.mean for own in term.estimates.values()), term.info.kind)
        # The unit of rates is too long to stand in each cell of a narrow page.
        is_rate = term.info.kind == "rate"
        written = "" if is_rate else unit.name
        conditions = [own for own in decision.criteria.constraints if own.term.text == name]
        cells: list[Cell | None] = []
        for setting in settings:
            estimate = term.estimates.get(setting)
            if estimate is None:
                cells.append(None)
                continue
            grades = [decision.judge(own, setting) for own in conditions]
            worst = max(grades, key=list(Feasibility).index, default=None)
            cells.append(
                Cell(
                    f"{format_cell(estimate, term.info.kind, unit)} {written}".rstrip(),
                    worst.grade if worst else Grade.NONE,
                    note=_write_difference(choices, name, setting),
                    is_chosen=setting == choices.advised,
                )
            )
        heading = f"{name_term(name)} ({unit.name})" if is_rate else name_term(name)
        rows.append(Row(heading, tuple(cells)))
    if decision.has_intervals:
        note = "Means over the seeds with their 95 % intervals; Δ is the difference from today"
        note += " with its own, over the same seeds."
    else:
        note = (
            f"Means over {write_count(decision.seeds, 'seed')}, too few for an interval; Δ is the"
        )
        note += " difference from today."
    return Table(columns, tuple(rows), "", note=note, look="matrix")


def transpose(table: Table) -> Table:
    """Give the same table with a row for each choice, and a column for each quantity."""
    columns = tuple(Column(row.heading.text) for row in table.rows)
    rows = tuple(
        Row(Cell(column.name, tag=column.note), tuple(row.cells[at] for row in table.rows))
        for at, column in enumerate(table.columns)
    )
    return Table(columns, rows, "choice", note=table.note, look=table.look)


def _name_column(choices: OwnChoices, setting: int) -> str:
    feature = choices.decision.find(setting).feature
    label = _label(choices, setting)
    if feature in (Feature.TODAY, Feature.NO_UPLOAD, Feature.ETHERNET):
        return _COLUMNS[feature]
    if feature is Feature.FASTER:
        return label
    who = _COLUMNS.get(feature, "provider")
    return f"{who}: {label}"


def _note_column(choices: OwnChoices, setting: int) -> str:
    return "advised" if setting == choices.advised and setting != choices.today else ""


def _write_difference(choices: OwnChoices, term: str, setting: int) -> str:
    """Write the difference of a term from today; empty where there is none."""
    difference = choices.compare(term, setting)
    if difference is None or math.isnan(difference.mean):
        return ""
    measured = choices.decision.terms[term]
    base = measured.estimates[choices.today].mean
    unit = choose_difference_unit(difference, measured.info.kind)
    text = format_difference_cell(difference, measured.info.kind, unit, base)
    return f"Δ {text} {unit.name}".rstrip()
