"""The answer of one run: which flows suffer, how badly, why, and what to change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headend.analysis.diagnosis import diagnose, find_nothing, find_reservations, open_case
from headend.analysis.facts import Action, Diagnosis, Remedy, SpareLine, WeakSignal
from headend.analysis.flow_groups import FlowGroup
from headend.analysis.grading import Grade
from headend.analysis.street import Home, gather_homes, name_homes
from headend.analysis.trials import choose_trial, read_trials
from headend.engine.description import REAL, list_applications
from headend.engine.description import describe as describe_engine
from headend.text.wording import capitalise, join_names, list_names
from headend.wording.answer import Answer, ask
from headend.wording.cell import tell_rate
from headend.wording.facts import advise, describe_facts, summarize_facts
from headend.wording.flows import describe_experience
from headend.wording.hops import brief_hops, brief_uses
from headend.wording.quantities import rate, share, time
from headend.wording.table import Cell, Row, Table, make_matrix
from headend.wording.transfers import tell_beside
from headend.wording.trials import advise_as_tried

if TYPE_CHECKING:
    from headend.results.record import Record

#: A sentence of more characters than this names fewer flows.
LONGEST_SENTENCE = 160

#: Proposals that say more than what to set.
EXPLAINED = (
    *(Action.LOWER_RATE, Action.THIN_ACKS),
    *(Action.FASTER_STATION, Action.STATION_QUEUES, Action.ANNOUNCE_FRAMES),
)

#: From this ratio of two transfers' rates on, both rates tell it better than the ratio.
MOST_TIMES = 100

#: Flows that a question names at most.
MOST_ASKED = 3

#: The arrow before the delay of one direction.
WAYS = {"up": "↑ ", "down": "↓ "}

#: Explains the arrows of `WAYS` below a table.
WAYS_NOTE = "↑ up, ↓ down: the one-way delay of the slower direction."


def answer_run(record: Record) -> Answer:
    """Give the first screen of one run."""
    case, homes = open_case(record), gather_homes(record)
    groups = case.groups
    queue = case.queue
    line = tell_rate(record, queue.link, queue.rate_bps) if queue else ""
    question = ask(record.title, ask_of_people(groups, line))
    caveats = describe_facts(find_reservations(record))
    if nothing := describe_facts(find_nothing(record)):
        why = filter(None, [_tell_why_nothing(record)])
        return Answer(question, (*caveats, *nothing, *why), lay_out_people(groups))
    diagnosis = diagnose(record)
    sentences = _write_sentences(
        groups, case.suffering, diagnosis, homes, _advise(record, diagnosis)
    )
    figure = _choose_figure(record, groups, diagnosis, has_street=bool(homes))
    return Answer(question, (*caveats, *filter(None, sentences)), lay_out_people(groups), figure)


def _tell_why_nothing(record: Record) -> str:
    """Say why nothing was delivered, and what to change, where a weak signal is why; or nothing."""
    diagnosis = diagnose(record)
    if not isinstance(diagnosis.cause, WeakSignal):
        return ""
    reason = summarize_facts(diagnosis.causes)
    if diagnosis.hops:
        reason = f"{brief_hops(diagnosis.hops)}: {reason}"
    return f"{capitalise(reason)}. {advise(diagnosis.remedy)}"


def _advise(record: Record, diagnosis: Diagnosis) -> str:
    """Say what to change; of a station with a weak signal first what no setting does."""
    advice = _advise_settings(record, diagnosis)
    remedies = diagnosis.cause.remedies if diagnosis.cause else ()
    nearer = (advise(own) for own in remedies if own.action is Action.NEARER_STATION)
    first = next(nearer, "")
    has_mode = any(own.action is Action.FREE_RATE for own in remedies)
    if not first or first in advice or has_mode:
        return advice
    return " ".join(filter(None, [first, advice]))


def _advise_settings(record: Record, diagnosis: Diagnosis) -> str:
    """Say what to change: as it was tried, where it was."""
    trials, remedy = read_trials(record), diagnosis.remedy
    if not trials or remedy is None:
        return advise(remedy)
    best, tried = choose_trial(trials), advise_as_tried(trials)
    if best and diagnosis.cause:
        # What helps most need not be what was proposed first.
        helping = (own for own in diagnosis.cause.remedies if _is_tried(own, best.settings))
        remedy = next(helping, remedy)
    elif diagnosis.cause:
        # No trial helped: advice that is only its setting is not given.
        only_settings = (Action.STATION_QUEUES, Action.ANNOUNCE_FRAMES)
        rest = (own for own in diagnosis.cause.remedies if own.action not in only_settings)
        remedy = next(rest, remedy)
    # A proposal says why; what needs no setting may help where no setting does.
    says_more = remedy.action in EXPLAINED or remedy.aqm_tlv or remedy.buffer_tlv
    is_explained = best is None or (says_more and _is_tried(remedy, best.settings))
    return f"{advise(replace(remedy, path=''))} {tried}" if is_explained else tried


def _is_tried(remedy: Remedy, settings: Sequence[str]) -> bool:
    """Say whether a trial is of a remedy alone; it may have taken its whole table."""
    table = f"{remedy.path.rpartition('.')[0]}="
    is_table = remedy.action is Action.STATION_QUEUES and settings[0].startswith(table)
    return tuple(settings) == (remedy.setting,) or (len(settings) == 1 and is_table)


def describe_so_far(result: Record) -> str:
    """Give the words to add to what is said of a run that was stopped before its end."""
    return " so far" if result.is_partial else ""


def ask_of_people(groups: Sequence[FlowGroup], line: str) -> str:
    """Write a question that names the flows, and the line with its rate, which may be empty."""
    judged = sorted(group.label for group in groups if group.grades)
    unjudged = sorted(group.label for group in groups if not group.grades)
    line = f" {line}" if line else ""
    named = judged or unjudged
    if not named:
        return "What happens on this line?"
    verb = "does" if len(named) == 1 and "×" not in named[0] else "do"
    if not judged:
        return f"What {verb} {_list_few(unjudged)} get{line}?"
    beside = f" beside {_list_few(unjudged)}" if unjudged else ""
    return f"How {verb} {_list_few(judged)} fare{beside}{line}?"


def _list_few(names: Sequence[str]) -> str:
    return join_names(names) if len(names) <= MOST_ASKED + 1 else list_names(names, MOST_ASKED)


def _write_sentences(
    groups: Sequence[FlowGroup],
    suffering: Sequence[FlowGroup],
    diagnosis: Diagnosis,
    homes: list[Home],
    advice: str,
) -> tuple[str, str]:
    """Say how flows fare and why, then what to change or which flows fare well."""
    judged = [group for group in groups if group.grades]
    reason, lead = summarize_facts(diagnosis.causes), ""
    if hops := diagnosis.hops:
        lead = brief_hops(hops)
        if not hops.guilty and isinstance(diagnosis.cause, SpareLine):
            reason = brief_uses(hops)
    if suffering:
        first = _fit(lambda most: _describe_suffering(suffering, judged, homes, most), reason, lead)
        if diagnosis.beside:
            first = f"{first} {capitalise(tell_beside(diagnosis.beside))}."
        return first, advice or _describe_well(judged, suffering)
    if short := [group for group in groups if group.lacking_ns]:
        return _fit(lambda most: _describe_unjudged(short, judged, most), reason, lead), ""
    fair = [group for group in judged if group.worst.grade is Grade.FAIR]
    if fair:
        return _fit(
            lambda most: f"Nobody suffers, but {_describe_fates(fair, most)}", reason, lead
        ), advice
    first = _fit(lambda most: _describe_all(groups, judged, most))
    reason = f"{lead}: {reason}" if lead and reason else reason
    # Advice stands in one sentence with the cause.
    if reason and advice:
        both = f"{capitalise(reason)}; {advice[0].lower()}{advice[1:]}"
        return first, both if len(both) <= LONGEST_SENTENCE else f"{capitalise(reason)}. {advice}"
    return first, f"{capitalise(reason)}." if reason else ""


def _describe_unjudged(short: Sequence[FlowGroup], judged: Sequence[FlowGroup], most: int) -> str:
    """Say for whom the run is too short, and how those fare who were judged."""
    names = list_names([group.label for group in short], most)
    lacking = time(max(group.lacking_ns for group in short))
    text = f"the run is too short to judge {names}, it needs {lacking} more"
    fair = [group for group in judged if group.worst.grade is Grade.FAIR]
    if fair:
        return f"{text}; {_describe_fates(fair, most)}"
    return f"{text}; {_describe_fine(judged, most)}" if judged else text


def _fit(write: Callable[[int], str], reason: str = "", lead: str = "") -> str:
    """Write a sentence that names up to three flows, as many as keep it short.

    Parameters
    ----------
    reason
        What the sentence gives as its reason.
    lead
        What stands before the reason, in a sentence of both.
    """
    end = f": {reason}" if reason else ""
    if lead and reason:
        end = f". {capitalise(lead)}: {reason}"
    for most in (3, 2, 1):
        sentence = f"{capitalise(write(most))}{end}."
        if len(sentence) <= LONGEST_SENTENCE:
            break
    return sentence


def _describe_suffering(
    suffering: Sequence[FlowGroup], judged: Sequence[FlowGroup], homes: list[Home], most: int
) -> str:
    """Say which flows suffer, by name, or by their number where groups suffer."""
    groups = [group for group in suffering if group.is_group]
    if len(suffering) > 1 and groups:
        count = sum(group.suffering for group in suffering)
        total = sum(len(group.findings) for group in judged)
        noun, worst = "people", suffering[0].worst
        if homes:
            noun, total = name_homes(homes), len(homes)
            count = sum(home.worst.suffers for home in homes)
        return f"{count} of {total} {noun} suffer, {worst.flow} most ({worst.number})"
    return _describe_fates(suffering, most)


def _describe_fates(groups: Sequence[FlowGroup], most: int) -> str:
    """Say how each of some flows fares; those beyond the limit are counted."""
    fates = [_describe_fate(group) for group in groups[:most]]
    rest = len(groups) - len(fates)
    if rest:
        fates.append(f"{rest} more {'is' if rest == 1 else 'are'} no better")
    return join_names(fates)


def _describe_fate(group: FlowGroup) -> str:
    worst = group.worst
    if not group.is_group:
        return f"{worst.flow} is {worst.word} ({worst.number})"
    alike = group.suffering or sum(finding.grade is worst.grade for finding in group.findings)
    verb = "suffer" if worst.suffers else f"are {worst.word}"
    return f"{alike} of {len(group.findings)} {group.name} {verb} (worst: {worst.number})"


def _describe_well(judged: Sequence[FlowGroup], suffering: Sequence[FlowGroup]) -> str:
    """Name the flows that do not suffer, where there is no advice."""
    fine = [group for group in judged if group not in suffering]
    if not fine:
        return ""
    flows = [f"{group.label} ({group.worst.number})" for group in fine]
    return _fit(lambda most: f"well enough: {list_names(flows, most)}")


def _describe_fine(judged: Sequence[FlowGroup], most: int) -> str:
    """Say that all are well, with the number of each flow and the worst of each group."""
    if len(judged) == 1 and not judged[0].is_group:
        return _describe_fate(judged[0])
    flows = [
        f"{group.label} ({'worst: ' if group.is_group else ''}{group.worst.number})"
        for group in judged
    ]
    return f"everybody is well: {list_names(flows, most)}"


def _describe_all(groups: Sequence[FlowGroup], judged: Sequence[FlowGroup], most: int) -> str:
    """Say that all are well, and what transfers get where the sentence has room for it."""
    unjudged = [group for group in groups if not group.grades]
    if not judged:
        return _describe_rates(unjudged, most)
    text = _describe_fine(judged, most)
    return f"{text}; {_describe_rates(unjudged, most)}" if unjudged and most > 1 else text


def _describe_rates(groups: Sequence[FlowGroup], most: int) -> str:
    """Say what transfers get; for two, give the ratio of their rates. Probes are none."""
    probes = list_applications("probe")
    receiving = sorted(
        (group for group in groups if group.goodput_bps and group.worst.application not in probes),
        key=lambda group: -group.goodput_bps,
    )
    if not receiving:
        return f"{list_names([group.label for group in groups], most)} received nothing"
    if len(groups) == 1 and groups[0].worst.application == REAL and not groups[0].is_group:
        return f"{groups[0].label} gets {describe_experience(groups[0].worst)}"
    if len(receiving) == 1:
        only = receiving[0]
        return f"{only.label} {'get' if only.is_group else 'gets'} {_write_rate(only)}"
    first, last = receiving[0], receiving[-1]
    is_simple = len(receiving) == 2 and not first.is_group and not last.is_group
    if is_simple and not any(group.worst.is_both_ways for group in receiving):
        ratio = first.goodput_bps / last.goodput_bps
        if ratio >= MOST_TIMES:
            return f"{first.label} gets {first.worst.number}, and {last.label} {last.worst.number}"
        times = f"{ratio:.1f}" if ratio < MOST_TIMES / 10 else f"{ratio:.0f}"
        more = f"{times} times as much as" if ratio >= 1.1 else "as much as"
        rates = f"{first.worst.number} and {last.worst.number}"
        return f"{first.label} gets {more} {last.label} ({rates})"
    goodputs = [f"{group.label} {_write_rate(group)}" for group in receiving]
    return f"goodput: {list_names(goodputs, most)}"


def _write_rate(group: FlowGroup) -> str:
    if group.worst.application == REAL and not group.is_group:
        return group.worst.number
    text = rate(group.goodput_bps)
    return f"{text} together, {_write_range(group)}" if group.is_group else text


def _write_range(group: FlowGroup) -> str:
    """Give the lowest and the highest rate of a group's members."""
    rates = [finding.goodput_bps or 0.0 for finding in group.findings]
    return f"each {rate(min(rates))} to {rate(max(rates))}"


def lay_out_people(groups: Sequence[FlowGroup]) -> Table | None:
    """Lay out the flows: how each fares, then delay and loss; None where there is no flow."""
    if not groups:
        return None
    return make_matrix(
        ("what they get", "delay p95", "lost"),
        tuple(Row(group.label, _write_row(group)) for group in groups),
        note=explain_numbers(groups),
    )


def _write_row(group: FlowGroup) -> tuple[Cell | None, ...]:
    delays = [finding.delay_p95_ns for finding in group.findings]
    losses = [finding.loss_ratio for finding in group.findings]
    up_to = "up to " if group.is_group else ""
    arrow = WAYS.get(group.worst.delay_direction, "")
    return (
        _write_fate(group),
        _write_plain(delays, time, up_to or arrow),
        _write_plain(losses, share, up_to),
    )


def _write_plain(
    values: Iterable[float | None], write: Callable[[float], str], prefix: str
) -> Cell | None:
    largest = max((value for value in values if value is not None), default=None)
    if largest is None:
        return None
    return Cell(f"{prefix if largest else ''}{write(largest)}")


def _write_fate(group: FlowGroup) -> Cell:
    worst = group.worst
    if not group.is_group:
        # What real programs do is unknown: their round trips stand beside their rate.
        round_trips = worst.key_figures[1:] if worst.application == REAL else ()
        return Cell(
            worst.number,
            worst.grade,
            worst.word,
            ", ".join(figure.write() for figure in round_trips),
        )
    if not group.grades:
        together = f"{rate(group.goodput_bps)} together"
        return Cell(together, note=_write_range(group))
    counts = _count_by_word(group)
    middle = f"{worst.flow}; {group.middle.number} in the middle"
    return Cell(f"worst {worst.number}", worst.grade, counts, middle)


def _count_by_word(group: FlowGroup) -> str:
    """Count the members of a group by the word for how they fare: ``12 good, 4 poor, 4 bad``."""
    return ", ".join(f"{count} {word}" for word, (count, _) in reversed(group.words.items()))


def explain_numbers(groups: Sequence[FlowGroup]) -> str:
    """Explain the number of each row, and of which direction the delay of real programs is."""
    meanings = explain_meanings(
        (group.name if group.is_group else group.label, group.worst.about)
        for group in groups
        if group.grades
    )
    directions = WAYS_NOTE if any(group.worst.delay_direction for group in groups) else ""
    return " ".join(filter(None, (meanings, directions)))


def explain_meanings(pairs: Iterable[tuple[str, str]]) -> str:
    """Explain numbers in one sentence, from pairs of a flow's name and its number's meaning."""
    meanings: dict[str, list[str]] = {}
    for name, about in pairs:
        if about:
            meanings.setdefault(about, []).append(name)
    clauses = [f"{list_names(names, 3)}: {about}" for about, names in meanings.items()]
    return f"{capitalise('; '.join(clauses))}." if clauses else ""


def _choose_figure(
    record: Record, groups: Sequence[FlowGroup], diagnosis: Diagnosis, *, has_street: bool
) -> str:
    """Choose the figure that shows the cause, else that of the worst flow's measure."""
    if not any(group.grades for group in groups):
        if any(
            group.worst.application == REAL and _has_round_trips(record, group) for group in groups
        ):
            return str(describe_engine().measures["rtt"].figure)
        is_alone = len(groups) == 1 and not groups[0].is_group
        has_windows = not record.connection_series.is_empty()
        return "cwnd" if is_alone and has_windows else "rates"
    shown_by = diagnosis.cause.figures if diagnosis.cause else ()
    drawable = [name for name in shown_by if name != "street" or has_street]
    if drawable:
        return drawable[0]
    measured = record.measures.filter(flow=groups[0].worst.flow)["measure"].to_list()
    kinds = describe_engine().measures.values()
    figures = {name: kind.figure for kind in kinds for name in kind.names}
    return next((figure for name in measured if (figure := figures.get(name))), "delay")


def _has_round_trips(record: Record, group: FlowGroup) -> bool:
    return not record.measures.filter(flow=group.worst.flow, measure="rtt").is_empty()
