"""The answer of one run: which flows suffer, how badly, why, and what to change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from headend.analysis.cause import Cause, find_cause
from headend.analysis.emulation import tell_caveats
from headend.analysis.grading import Finding, Grade, write_quantity
from headend.analysis.street import Home, gather_homes, name_homes
from headend.analysis.verdict import Party, Verdict, count_suffering, judge, tell_nothing
from headend.engine.description import REAL, describe
from headend.text.wording import capitalise, join_names, list_names
from headend.wording.answer import Answer, ask
from headend.wording.table import Cell, Row, Table, make_matrix

if TYPE_CHECKING:
    from headend.results.record import Record

#: A sentence of more characters than this names fewer flows.
LONGEST_SENTENCE = 160

#: Flows that a question names at most.
MOST_ASKED = 3

#: Stands before the delay of one direction.
WAYS = {"up": "↑ ", "down": "↓ "}

#: What explains these.
WAYS_NOTE = "↑ up, ↓ down: the one-way delay of the slower direction."


def answer_run(result: Record, verdict: Verdict | None = None) -> Answer:
    """Give the first screen of one run.

    Parameters
    ----------
    result
        The run.
    verdict
        The verdict on the run; computed where it is not given.
    """
    verdict = verdict or judge(result)
    parties = verdict.parties
    question = ask(result.title, ask_of_people(parties, verdict))
    caveats = tell_caveats(result)
    nothing = tell_nothing(result)
    if nothing:
        return Answer(question, (*caveats, *nothing), lay_out_people(parties))
    judged = [party for party in parties if party.grades]
    suffering = [party for party in judged if party.worst.suffers]
    cause = find_cause(result, verdict, suffering)
    return Answer(
        question,
        (*caveats, *_write_sentences(parties, judged, suffering, cause, gather_homes(result))),
        lay_out_people(parties),
        _choose_why(result, parties, cause),
    )


def ask_of_people(parties: Sequence[Party], verdict: Verdict) -> str:
    """Write a question that names the flows on the line."""
    judged = sorted(party.label for party in parties if party.grades)
    others = sorted(party.label for party in parties if not party.grades)
    rate = f" on {write_quantity(verdict.queue.rate_bps, 'rate')}" if verdict.queue else ""
    if judged:
        beside = f" beside {_list_few(others)}" if others else ""
        verb = "does" if len(judged) == 1 and "×" not in judged[0] else "do"
        return f"How {verb} {_list_few(judged)} fare{beside}{rate}?"
    if not others:
        return "What happens on this line?"
    verb = "does" if len(others) == 1 and "×" not in others[0] else "do"
    return f"What {verb} {_list_few(others)} get{rate}?"


def _list_few(names: Sequence[str]) -> str:
    if len(names) <= MOST_ASKED + 1:
        return join_names(names)
    return list_names(names, MOST_ASKED)


def _write_sentences(
    parties: Sequence[Party],
    judged: Sequence[Party],
    suffering: Sequence[Party],
    cause: Cause,
    homes: list[Home],
) -> tuple[str, ...]:
    """Say how flows fare and why, then what to change or which flows fare well."""
    if suffering:
        first = _fit(lambda most: _tell_suffering(suffering, judged, homes, most), cause.told)
        return tuple(filter(None, (first, cause.advice or _tell_well(judged, suffering))))
    fair = [party for party in judged if party.worst.grade is Grade.FAIR]
    if fair:
        first = _fit(lambda most: f"Nobody suffers, but {_tell_fates(fair, most)}", cause.told)
        return tuple(filter(None, (first, cause.advice)))
    first = _fit(lambda most: _tell_all(parties, judged, most))
    told = f"{capitalise(cause.told)}." if cause.told else ""
    # Advice stands in one sentence with the cause.
    if told and cause.advice:
        told = f"{capitalise(cause.told)}; {_go_on(cause.advice)}"
    return tuple(filter(None, (first, told)))


def _fit(write: Callable[[int], str], reason: str = "") -> str:
    """Write a sentence that names up to three flows, as many as keep it short."""
    for most in (3, 2, 1):
        sentence = f"{capitalise(write(most))}{f': {reason}' if reason else ''}."
        if len(sentence) <= LONGEST_SENTENCE:
            break
    return sentence


def _go_on(text: str) -> str:
    """Begin a sentence with a small letter, to follow a semicolon."""
    return text[:1].lower() + text[1:]


def _tell_suffering(
    suffering: Sequence[Party], judged: Sequence[Party], homes: list[Home], most: int
) -> str:
    """Say which flows suffer, by name, or by their number where groups suffer."""
    groups = [party for party in suffering if party.is_group]
    if len(suffering) > 1 and groups:
        count = sum(map(count_suffering, suffering))
        of = sum(len(party.findings) for party in judged)
        what, worst = "people", suffering[0].worst
        if homes:
            what, of = name_homes(homes), len(homes)
            count = sum(home.worst.suffers for home in homes)
        return f"{count} of {of} {what} suffer, {worst.flow} most ({worst.number})"
    return _tell_fates(suffering, most)


def _tell_fates(parties: Sequence[Party], most: int) -> str:
    """Say how each of some flows fares; those beyond the limit are counted."""
    told = [_tell_fate(party) for party in parties[:most]]
    more = len(parties) - len(told)
    if more:
        told.append(f"{more} more {'is' if more == 1 else 'are'} no better")
    return join_names(told)


def _tell_fate(party: Party) -> str:
    worst = party.worst
    if not party.is_group:
        return f"{worst.flow} is {worst.word} ({worst.number})"
    alike = count_suffering(party) or sum(own.grade is worst.grade for own in party.findings)
    word = "suffer" if worst.suffers else f"are {worst.word}"
    return f"{alike} of {len(party.findings)} {party.name} {word} (worst: {worst.number})"


def _tell_well(judged: Sequence[Party], suffering: Sequence[Party]) -> str:
    """Name the flows that do not suffer, where there is no advice."""
    fine = [party for party in judged if party not in suffering]
    if not fine:
        return ""
    told = [f"{party.label} ({party.worst.number})" for party in fine]
    return _fit(lambda most: f"well enough: {list_names(told, most)}")


def _tell_fine(judged: Sequence[Party], most: int) -> str:
    """Say that all are well, with the number of each flow and the worst of each group."""
    if len(judged) == 1 and not judged[0].is_group:
        return _tell_fate(judged[0])
    told = [
        f"{party.label} ({'worst: ' if party.is_group else ''}{party.worst.number})"
        for party in judged
    ]
    return f"everybody is well: {list_names(told, most)}"


def _tell_all(parties: Sequence[Party], judged: Sequence[Party], most: int) -> str:
    """Say that all are well, and what transfers get where the sentence has room for it."""
    others = [party for party in parties if not party.grades]
    if not judged:
        return _tell_rates(others, most)
    told = _tell_fine(judged, most)
    both = f"{told}; {_tell_rates(others, most)}" if others and most > 1 else told
    return both


def _tell_rates(parties: Sequence[Party], most: int) -> str:
    """Say what transfers get; for two, give the ratio of their rates."""
    got = sorted(
        (party for party in parties if party.goodput_bps), key=lambda own: -own.goodput_bps
    )
    if not got:
        return f"{list_names([party.label for party in parties], most)} received nothing"
    if len(parties) == 1 and parties[0].worst.application == REAL and not parties[0].is_group:
        return f"{parties[0].label} gets {parties[0].worst.experience}"
    if len(got) == 1:
        return f"{got[0].label} {'get' if got[0].is_group else 'gets'} {_write_rate(got[0])}"
    first, last = got[0], got[-1]
    is_simple = len(got) == 2 and not first.is_group and not last.is_group
    if is_simple and not any(own.worst.is_both_ways for own in got):
        ratio = first.goodput_bps / last.goodput_bps
        more = f"{ratio:.1f} times as much as" if ratio >= 1.1 else "as much as"
        rates = f"{first.worst.number} and {last.worst.number}"
        return f"{first.label} gets {more} {last.label} ({rates})"
    told = [f"{party.label} {_write_rate(party)}" for party in got]
    return f"goodput: {list_names(told, most)}"


def _write_rate(party: Party) -> str:
    if party.worst.application == REAL and not party.is_group:
        return party.worst.number
    rate = write_quantity(party.goodput_bps, "rate")
    return f"{rate} together, {_write_range(party)}" if party.is_group else rate


def _write_range(party: Party) -> str:
    """Give the lowest and the highest rate of a group's members."""
    least, most = (
        write_quantity(end, "rate")
        for end in (
            min(own.goodput_bps or 0.0 for own in party.findings),
            max(own.goodput_bps or 0.0 for own in party.findings),
        )
    )
    return f"each {least} to {most}"


def lay_out_people(parties: Sequence[Party]) -> Table | None:
    """Lay out the flows: how each fares, then delay and loss; None where there is no flow."""
    if not parties:
        return None
    return make_matrix(
        ("what they get", "delay p95", "lost"),
        tuple(Row(party.label, _write_row(party)) for party in parties),
        note=explain_numbers(parties),
    )


def _write_row(party: Party) -> tuple[Cell | None, ...]:
    delays = [own.delay_p95_ns for own in party.findings]
    losses = [own.loss_ratio for own in party.findings]
    up_to = "up to " if party.is_group else ""
    way = WAYS.get(party.worst.delay_way, "")
    return (
        _write_fate(party),
        _write_plain(delays, "time", up_to or way),
        _write_plain(losses, "ratio", up_to),
    )


def _write_plain(values: Iterable[float | None], kind: str, before: str) -> Cell | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    most = max(known)
    return Cell(f"{before if most else ''}{write_quantity(most, kind)}")


def _write_fate(party: Party) -> Cell:
    worst = party.worst
    if not party.is_group:
        # What real programs do is unknown: their round trips stand beside their rate.
        felt = worst.headlines[1:] if worst.application == REAL else ()
        return Cell(worst.number, worst.grade, worst.word, ", ".join(own.write() for own in felt))
    if not party.grades:
        together = f"{write_quantity(party.goodput_bps, 'rate')} together"
        return Cell(together, note=_write_range(party))
    words = _count_words(party.findings)
    middle = f"{worst.flow}; {party.middle.number} in the middle"
    return Cell(f"worst {worst.number}", worst.grade, words, middle)


def _count_words(findings: Sequence[Finding]) -> str:
    """Count the members of a group by grade: ``12 good, 4 poor, 4 bad``."""
    order = (Grade.GOOD, Grade.FAIR, Grade.POOR, Grade.BAD)
    counts = [(sum(own.grade is grade for own in findings), grade) for grade in order]
    return ", ".join(f"{count} {grade}" for count, grade in counts if count)


def explain_numbers(parties: Sequence[Party]) -> str:
    """Explain the number of each row, and of which direction the delay of real programs is."""
    told = explain_meanings(
        (party.name if party.is_group else party.label, party.worst.about)
        for party in parties
        if party.grades
    )
    ways = WAYS_NOTE if any(party.worst.delay_way for party in parties) else ""
    return " ".join(filter(None, (told, ways)))


def explain_meanings(pairs: Iterable[tuple[str, str]]) -> str:
    """Explain numbers in one sentence, from pairs of a flow's name and its number's meaning."""
    meanings: dict[str, list[str]] = {}
    for name, about in pairs:
        if about:
            meanings.setdefault(about, []).append(name)
    told = [f"{list_names(names, 3)}: {about}" for about, names in meanings.items()]
    return f"{capitalise('; '.join(told))}." if told else ""


def _choose_why(result: Record, parties: Sequence[Party], cause: Cause) -> str:
    """Choose the figure that shows the cause, else that of the worst flow's measure."""
    if not any(party.grades for party in parties):
        if any(
            party.worst.application == REAL and _has_round_trips(result, party) for party in parties
        ):
            return str(describe().measures["rtt"].figure)
        is_alone = len(parties) == 1 and not parties[0].is_group
        has_windows = not result.connection_series.is_empty()
        return "cwnd" if is_alone and has_windows else "rates"
    drawable = [name for name in cause.why if name != "street" or gather_homes(result)]
    if drawable:
        return drawable[0]
    flow = parties[0].worst.flow
    measured = result.measures.filter(flow=flow)["measure"].to_list()
    figures = {name: kind.figure for kind in describe().measures.values() for name in kind.names}
    return next((figure for name in measured if (figure := figures.get(name))), "delay")


def _has_round_trips(result: Record, party: Party) -> bool:
    return not result.measures.filter(flow=party.worst.flow, measure="rtt").is_empty()
