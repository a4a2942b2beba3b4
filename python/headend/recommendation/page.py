"""The page of a recommendation: answer, a chapter for each tier, the request, the method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.analysis.estimate import format_cell
from headend.analysis.grading import Grade
from headend.recommendation.candidate import order_candidates
from headend.recommendation.people import name_application
from headend.recommendation.request import DURATION, WARMUP
from headend.recommendation.sentences import (
    describe_tier,
    name_condition,
    name_objective,
    name_term,
)
from headend.recommendation.writing import list_tlvs
from headend.results.seal import is_page_of
from headend.sweeps.conclusion import Standing
from headend.sweeps.naming import write_operators
from headend.sweeps.page import list_failures
from headend.text.quantity import choose_unit, format_quantity, name_column
from headend.text.wording import join_names

if TYPE_CHECKING:
    from headend.recommendation.deciding import Decision
    from headend.recommendation.request import Request
    from headend.recommendation.result import Recommendation
    from headend.recommendation.tier import Tier
    from headend.recommendation.writing import Tlv
    from headend.sweeps.conclusion import Measured
    from headend.sweeps.wish import Condition, Wish
    from headend.text.quantity import Unit
    from headend.wording.answer import Answer

#: Up to so many tiers, the table of each is open.
MOST_OPEN = 1

_GRADES = {
    Standing.HOLDS: Grade.GOOD,
    Standing.UNDECIDED: Grade.FAIR,
    Standing.FAILS: Grade.BAD,
    Standing.MISSING: Grade.NONE,
}

#: The long words of the matrix, with the places where they can break.
_LONG = ("recom-mended", "unde-cided", "un-managed")

#: Marks of packets that have a name.
_DSCPS = {0: "0", 45: "45 (NQB)", 46: "46 (EF)"}


@dataclass(frozen=True)
class Setting:
    """A row of the table of a tier's settings.

    Parameters
    ----------
    label
        What is set.
    place
        The place of its feature among all.
    standing
        In words, with the conditions that are missed.
    grade
        The colour of the standing.
    mark
        What sets the row apart: ``recommended``, ``nearest``, ``as good``, or nothing.
    cells
        Mean and interval of each term, with the colour of its condition.
    """

    label: str
    place: int
    standing: str
    grade: Grade
    mark: str
    cells: tuple[tuple[str, Grade], ...]


@dataclass(frozen=True)
class Chapter:
    """What a page says of one tier.

    Parameters
    ----------
    anchor
        Its address within the page.
    name
        What the tier is called.
    about
        Its rates.
    sentences
        What it shall have and why, what that costs, and how sure it is.
    tlvs
        The TLVs of the setting.
    nothing
        A sentence in their place, where there are none.
    columns
        The heads of the terms' columns: the name with its unit, and the bound.
    settings
        All settings.
    """

    anchor: str
    name: str
    about: str
    sentences: tuple[str, ...]
    tlvs: tuple[Tlv, ...]
    nothing: str
    columns: tuple[tuple[str, str], ...]
    settings: tuple[Setting, ...]


def write_recommendation_page(recommendation: Recommendation, path: Path, fingerprint: str) -> None:
    """Write the self-contained page, unless the one that is there was made of the same."""
    if is_page_of(path, fingerprint):
        return
    from headend.pages.page import write_page

    write_page(render_recommendation(recommendation), path, fingerprint)


def render_recommendation(recommendation: Recommendation) -> str:
    """Give the page as HTML."""
    from headend.pages.page import render_page
    from headend.pages.section import Page, Section
    from headend.recommendation.figure import draw_recommendation

    request = recommendation.request
    figures = draw_recommendation(recommendation)
    answer = recommendation.answer.settle_why([figure.name for figure in figures])
    chapters = [
        _describe(request, own, number)
        for number, own in enumerate(recommendation.decisions, start=1)
    ]
    page = Page(
        request.title or request.name,
        _hyphenate(answer),
        figures,
        [Section("tiers", {"chapters": chapters, "most_open": MOST_OPEN})],
        [Section("asked", _describe_request(recommendation))],
        warnings=recommendation.notes,
        failures=[told for _, told in list_failures(recommendation.failures)],
        columns="choices",
    )
    return render_page(page)


def _hyphenate(answer: Answer) -> Answer:
    """Let the long words of the matrix break where its columns are narrow."""
    if answer.matrix is None:
        return answer
    rows = tuple(
        replace(
            row,
            cells=tuple(own and replace(own, word=_break_words(own.word)) for own in row.cells),
        )
        for row in answer.matrix.rows
    )
    columns = tuple(replace(own, name=_break_words(own.name)) for own in answer.matrix.columns)
    return replace(answer, matrix=replace(answer.matrix, columns=columns, rows=rows))


def _break_words(text: str) -> str:
    r"""Mark where long words can break.

    Examples
    --------
    >>> _break_words("recommended").split("\N{SOFT HYPHEN}")
    ['recom', 'mended']
    """
    for word in _LONG:
        text = text.replace(word.replace("-", ""), word.replace("-", "\N{SOFT HYPHEN}"))
    return text


# A tier.


def _describe(request: Request, decision: Decision, number: int) -> Chapter:
    tlvs = list_tlvs(request, decision)
    terms, names = decision.terms, decision.shown
    units = [_choose_unit(terms[name]) for name in names]
    order = order_candidates(decision.candidates)
    return Chapter(
        f"tier-{number}",
        decision.tier.name,
        _tell_rates(decision.tier),
        tuple(filter(None, describe_tier(decision))),
        tlvs,
        "" if tlvs else _tell_nothing(decision),
        tuple(
            (name_column(name_term(name), unit), _write_bounds(decision, name))
            for name, unit in zip(names, units, strict=True)
        ),
        tuple(_describe_setting(decision, own, names, units) for own in order),
    )


def _tell_nothing(decision: Decision) -> str:
    """Say why a tier has no TLVs."""
    if decision.recommended is None:
        return (
            "No setting meets all conditions, so none is recommended and there are no TLVs to"
            " write."
        )
    return "The modem's file needs no change for this setting."


def _tell_rates(tier: Tier) -> str:
    rates = [format_quantity(own, "rate") for own in (tier.upstream, tier.downstream)]
    return f"{rates[0]} upstream and {rates[1]} downstream"


def _choose_unit(measured: Measured) -> Unit:
    means = [own.mean for own in measured.estimates.values()]
    return choose_unit(means, measured.about.kind)


def _write_bounds(decision: Decision, name: str) -> str:
    """Write what must hold of a term, or that it is the objective."""
    kind = decision.terms[name].about.kind
    found = []
    for one in decision.wish.hold:
        if one.term.text == name:
            limit = format_quantity(one.read_bound(kind), kind) if kind == "rate" else one.limit
            found.append(write_operators(f"{one.operator} {limit}"))
    objective = decision.wish.objective
    if objective and objective.text == name:
        found.append("most" if decision.wish.is_rising else "least")
    return ", ".join(found)


def _describe_setting(
    decision: Decision, setting: int, names: Sequence[str], units: Sequence[Unit]
) -> Setting:
    candidate, standing = decision.find(setting), decision.standings[setting]
    missed = dict.fromkeys(
        _name_briefly(own, decision.wish) for own in decision.list_missed(setting)
    )
    words = {
        Standing.HOLDS: "holds" if candidate.is_settable else "holds; cannot be set",
        Standing.UNDECIDED: f"undecided: {join_names(list(missed))}",
        Standing.FAILS: f"fails: {join_names(list(missed))}",
        Standing.MISSING: "no result",
    }[standing]
    cells = []
    for name, unit in zip(names, units, strict=True):
        measured = decision.terms[name]
        estimate = measured.estimates.get(setting)
        text = format_cell(estimate, measured.about.kind, unit) if estimate else "–"
        judged = [
            decision.judge(own, setting) for own in decision.wish.hold if own.term.text == name
        ]
        worst = max(judged, key=list(Standing).index, default=None) if estimate else None
        cells.append((text, _GRADES[worst] if worst else Grade.NONE))
    return Setting(
        candidate.label,
        candidate.feature.place,
        words,
        _GRADES[standing],
        _mark(decision, setting),
        tuple(cells),
    )


def _name_briefly(condition: Condition, wish: Wish) -> str:
    """Name a condition by its person, where it is the only one on that person."""
    subjects = [own.term.text.partition(".")[0] for own in wish.hold]
    subject = condition.term.text.partition(".")[0]
    return subject if subjects.count(subject) == 1 else name_term(condition.term.text)


def _mark(decision: Decision, setting: int) -> str:
    chosen = decision.chosen
    if setting == chosen.setting:
        return "recommended" if decision.recommended else "nearest"
    return "as good" if decision.recommended and setting in chosen.ties else ""


# What was asked.


def _describe_request(recommendation: Recommendation) -> dict[str, Any]:
    """Gather what was asked: the tiers, the people, what must hold, and how it was run."""
    request = recommendation.request
    overrides = {path: str(value) for path, value in request.overrides}
    duration = overrides.pop("duration", DURATION)
    warmup = overrides.pop("warmup", WARMUP)
    wish = recommendation.tiers[0][2]
    return {
        "tiers": [
            (
                tier.name,
                format_quantity(tier.upstream, "rate"),
                format_quantity(tier.downstream, "rate"),
                str(tier.link.get("preset", "–")),
                tier.file.name if tier.file else "",
            )
            for tier in request.tiers
        ],
        "people": [_describe_person(name, flow) for name, flow in request.people.flows.items()],
        "conditions": [(name_condition(own), own.text) for own in wish.hold],
        "objective": name_objective(wish),
        "features": join_names([own.words for own in request.features]),
        "seeds": request.seeds,
        "duration": duration,
        "warmup": warmup,
        "overrides": list(overrides.items()),
        "points": recommendation.count_points(),
    }


def _describe_person(name: str, flow: Mapping[str, Any]) -> tuple[str, ...]:
    """Give name, application, direction, round-trip time and DSCP of a flow."""
    application, name_of = flow["application"], name_application(flow)
    settings = application[name_of] if isinstance(application, Mapping) else None
    told = name_of.replace("_", " ")
    if settings:
        told += f" ({_write_value(settings)})"
    dscp = flow.get("dscp", 0)
    return (
        name,
        told,
        str(flow.get("direction", "")),
        _write_value(flow.get("rtt", "–")),
        _DSCPS.get(dscp, str(dscp)),
    )


def _write_value(value: object) -> str:
    """Write a value of a scenario as text.

    Examples
    --------
    >>> _write_value({"page": "2 MB", "pause": "4 s"}), _write_value(["1 ms", 2])
    ('page 2 MB, pause 4 s', '1 ms, 2')
    """
    if isinstance(value, Mapping):
        return ", ".join(
            f"{key.replace('_', ' ')} {_write_value(own)}" for key, own in value.items()
        )
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_write_value, value))
    return str(value)
