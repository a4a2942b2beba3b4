"""The page of a recommendation: answer, a chapter for each tier, the request, the method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.analysis.estimate import format_cell
from headend.analysis.grading import Grade
from headend.analysis.ranking import Feasibility
from headend.pages.experiment import write_experiment, write_experiment_page
from headend.pages.section import Page, Section, fold, text
from headend.recommendation.candidate import order_candidates
from headend.recommendation.owner_words import (
    CERTAINTY,
    MYSELF,
    PROVIDER,
    tabulate_choices,
    transpose,
    wrap_letter,
    write_owner_text,
)
from headend.recommendation.people import name_application
from headend.recommendation.router import list_sqm_settings, write_autorate, write_commands
from headend.recommendation.sentences import (
    describe_tier,
    name_condition,
    name_objective,
    name_term,
)
from headend.recommendation.writing import list_tlvs
from headend.sweeps.naming import write_operators
from headend.sweeps.page import list_failures
from headend.text.quantity import choose_unit, format_quantity
from headend.text.wording import join_names
from headend.wording.table import Cell, Column, Row, Table, make_table

if TYPE_CHECKING:
    from headend.analysis.criteria import Condition
    from headend.recommendation.deciding import Decision
    from headend.recommendation.owner import OwnChoices
    from headend.recommendation.request import Request
    from headend.recommendation.result import Recommendation
    from headend.recommendation.router import Router
    from headend.recommendation.tier import Tier

#: Up to so many tiers, the table of each is open.
MOST_OPEN = 1

#: Stands in place of the TLVs of a tier for which nothing is recommended.
NO_TLVS = "No setting meets all conditions, so none is recommended and there are no TLVs to write."

#: Marks of packets that have a name.
_DSCPS = {0: "0", 45: "45 (NQB)", 46: "46 (EF)"}


def write_recommendation(recommendation: Recommendation, *, report: bool = True) -> None:
    """Write a recommendation to its folder, with its page, or without one that says otherwise."""
    write_experiment(recommendation, lambda: render_recommendation(recommendation), report=report)


def write_recommendation_page(recommendation: Recommendation, path: Path | None = None) -> Path:
    """Write the page of a recommendation that has a folder, by default there."""
    return write_experiment_page(
        recommendation, lambda: render_recommendation(recommendation), path
    )


def render_recommendation(recommendation: Recommendation) -> str:
    """Give the page as HTML."""
    from headend.pages.page import render_page

    request = recommendation.request
    answer, figures = recommendation.present()
    decisions = recommendation.decisions
    choices = recommendation.own_choices
    links = [(own.tier.name, f"#tier-{at}") for at, own in enumerate(decisions, start=1)]
    chapters = [
        _section_tier(request, own, anchor.removeprefix("#"), is_open=len(links) <= MOST_OPEN)
        for own, (_, anchor) in zip(decisions, links, strict=True)
    ]
    page = Page(
        request.title or request.name,
        answer,
        figures,
        [
            *([Section("links", links, "Tiers")] if len(links) > 1 else []),
            *(_section_owner(choices) if choices else []),
            *chapters,
        ],
        [Section("asked", _describe_request(recommendation))],
        warnings=recommendation.notes,
        failures=[text for _, text in list_failures(recommendation.failures)],
        columns="choices",
    )
    return render_page(page)


# A line of one's own.


def _section_owner(choices: OwnChoices) -> list[Section]:
    """Make the chapters that tell an owner what to do, to ask and to leave, and how sure it is."""
    words, found = write_owner_text(choices), []
    for heading, sentences in words.chapters:
        parts = [
            text(own) if isinstance(own, str) else Section("list", list(own)) for own in sentences
        ]
        if heading == MYSELF and (router := _find_advised_router(choices)):
            # The fields of SQM stand in the text above.
            parts += _section_router(choices.decision.tier, router, is_open=False)[:-1]
        if heading == PROVIDER and words.letter:
            parts.append(
                fold("A text to send", Section("pre", wrap_letter(words.letter)), is_open=True)
            )
        if heading == CERTAINTY:
            table = transpose(tabulate_choices(choices, choices.list_compared()))
            title = "What everybody gets, with the difference from today"
            parts = [fold(title, table, is_open=True), *parts]
        found.append(Section("sections", parts, heading, style="chapter"))
    return found


def _find_advised_router(choices: OwnChoices) -> Router | None:
    """Give the router that an owner is advised to set; None where none helps or is needed."""
    setting = choices.mine.setting
    is_advised = setting is not None and choices.has(setting) and not choices.has(choices.today)
    return choices.decision.find(setting).router if setting and is_advised else None


# A tier.


def _section_tier(request: Request, decision: Decision, anchor: str, *, is_open: bool) -> Section:
    """Make the section of a tier: what it shall have, its TLVs, and every setting."""
    tlvs, tier = list_tlvs(request, decision), decision.tier
    up, down = (format_quantity(own, "rate") for own in (tier.upstream, tier.downstream))
    about = text(f"{up} upstream and {down} downstream", style="soft")
    parts = [about, *([] if tier.is_own else [text(*filter(None, describe_tier(decision)))])]
    if tier.is_own:
        pass
    elif tlvs:
        rows = [(f"`{own.path}`", own.name, own.value) for own in tlvs]
        table = make_table("TLV", ["name", "value"], rows, look="tlvs")
        plural = "s" if len(tlvs) > 1 else ""
        title = f"{len(tlvs)} TLV{plural} of the modem's file that the setting adds or changes"
        parts.append(fold(title, table, is_open=is_open, is_minor=True))
    elif router := decision.router:
        parts += _section_router(tier, router, is_open=is_open)
    elif decision.recommended is None:
        parts.append(text(NO_TLVS))
    else:
        parts.append(text("The modem's file needs no change for this setting."))
    settings = tabulate_settings(decision)
    is_tied = any(row.heading.tag == "as good" for row in settings.rows)
    intervals, yellow = ", too few for intervals", ""
    if decision.has_intervals:
        intervals = " with their 95 % intervals, as ± half the width or (from–to)"
        yellow = "yellow meets its bound over a part of the interval, one in "
    note = (
        f"Means over the seeds{intervals}. "
        + ("“As good” ties with the recommended setting in the objective. " if is_tied else "")
        + ("Each is with the sender for which it is worst. " if decision.sources else "")
        + f"A value in {yellow}red does not meet its bound."
    )
    compared = len(settings.rows) - len(decision.chosen.among)
    beside = f", and {compared} to compare with" if compared else ""
    title = f"All {len(decision.chosen.among)} settings of {tier.name}{beside}"
    parts.append(fold(title, replace(settings, note=note), is_open=is_open, is_minor=True))
    return Section("sections", parts, tier.name, anchor=anchor, style="chapter")


def _section_router(tier: Tier, router: Router, *, is_open: bool) -> list[Section]:
    """Make the parts that say what to type for a router."""
    commands = "\n".join(write_commands(tier, router))
    lines = "\n".join(write_autorate(tier, router))
    fields = make_table("field", ["value"], list_sqm_settings(tier, router), look="tlvs")
    return [
        fold(
            "What to type on a Linux router whose port to the modem is eth0",
            Section("pre", commands),
            is_open=is_open,
            is_minor=True,
        ),
        *(
            [fold("The configuration file of cake-autorate", Section("pre", lines), is_minor=True)]
            if lines
            else []
        ),
        fold("The same in OpenWrt's SQM (luci-app-sqm)", fields, is_open=is_open, is_minor=True),
    ]


def tabulate_settings(decision: Decision) -> Table:
    """Make the table of all settings of a tier, a part for each feature.

    Each quantity that was asked for, or that the people's own demands are about, has a column, with
    the interval of its mean.
    """
    terms = {name: decision.terms[name] for name in decision.shown}
    units = {
        name: choose_unit((own.mean for own in term.estimates.values()), term.info.kind)
        for name, term in terms.items()
    }
    columns = [Column("conditions", is_detail=True)]
    columns += [
        Column(name_term(name), unit, is_number=True, note=_write_bounds(decision, name))
        for name, unit in units.items()
    ]
    rows: list[Row] = []
    before = ""
    for setting in order_candidates(decision.candidates):
        candidate, mark = decision.find(setting), _mark(decision, setting)
        grade = decision.standings[setting].grade
        cells = [Cell(_describe_standing(decision, setting), grade)]
        for name, term in terms.items():
            estimate = term.estimates.get(setting)
            judged = [
                decision.judge(own, setting)
                for own in decision.criteria.constraints
                if own.term.text == name
            ]
            worst = max(judged, key=list(Feasibility).index, default=Feasibility.HOLDS)
            text = format_cell(estimate, term.info.kind, units[name]) if estimate else "–"
            misses = estimate and worst is not Feasibility.HOLDS
            cells.append(Cell(text, worst.grade if misses else Grade.NONE))
        is_chosen = setting == decision.chosen.setting
        label = Cell(candidate.label, grade, is_chosen=is_chosen, tag=mark)
        rows.append(Row(label, tuple(cells), "first" if candidate.feature != before else ""))
        before = candidate.feature
    return Table(tuple(columns), tuple(rows), "setting", look="settings")


def _write_bounds(decision: Decision, name: str) -> str:
    """Write what must hold of a term, or that it is the objective."""
    kind, wish = decision.terms[name].info.kind, decision.criteria
    found = []
    for one in wish.constraints:
        if one.term.text == name:
            limit = format_quantity(one.read_bound(kind), kind) if kind == "rate" else one.limit
            found.append(write_operators(f"{one.operator} {limit}"))
    if wish.objective and wish.objective.text == name:
        found.append("most" if wish.higher_is_better else "least")
    return ", ".join(found)


def _describe_standing(decision: Decision, setting: int) -> str:
    """Say whether a setting holds, and which conditions it misses."""
    standing = decision.standings[setting]
    if standing is Feasibility.MISSING:
        return "no result"
    if standing is Feasibility.HOLDS:
        return "holds" if decision.find(setting).is_settable else "holds; cannot be set"
    subjects = [_find_subject(own) for own in decision.criteria.constraints]
    missed = []
    for own in decision.list_missed(setting):
        # A condition that is the only one on a person is named by the person.
        subject = _find_subject(own)
        named = subject if subjects.count(subject) == 1 else name_term(own.term.text)
        sender = decision.find_sender(own.term.text, setting)
        missed.append(f"{named} ({sender})" if sender else named)
    return f"{standing}: {join_names(list(dict.fromkeys(missed)))}"


def _find_subject(condition: Condition) -> str:
    return condition.term.text.partition(".")[0]


def _mark(decision: Decision, setting: int) -> str:
    if setting == decision.chosen.setting:
        return "recommended" if decision.recommended else "nearest"
    return "as good" if decision.recommended and setting in decision.chosen.ties else ""


# What was asked.


def _describe_request(recommendation: Recommendation) -> dict[str, Any]:
    """Gather what was asked: the tiers, the people, what must hold, and how it was run."""
    request = recommendation.request
    times = request.all_times
    overrides = {path: str(value) for path, value in request.overrides if path not in times}
    wish = recommendation.tiers[0][2]
    has_files = any(tier.file for tier in request.tiers)
    tiers = [
        (
            tier.name,
            format_quantity(tier.upstream, "rate"),
            format_quantity(tier.downstream, "rate"),
            str(tier.link.get("preset", "–" if tier.is_cable else "plain link")),
            *([tier.file.name if tier.file else ""] if has_files else []),
        )
        for tier in request.tiers
        if tier.variation is None
    ]
    rates = [Column(own, is_number=True) for own in ("upstream", "downstream")]
    people = [_describe_person(name, flow) for name, flow in request.people.flows.items()]
    heads = ["application", "direction", "round-trip time", "DSCP"]
    return {
        "tiers": make_table(
            "tier", [*rates, "preset", *(["modem's file"] if has_files else [])], tiers
        ),
        "people": make_table("person", heads, people),
        "conditions": [(name_condition(own), own.text) for own in wish.constraints],
        "objective": name_objective(wish),
        "senders": [(own.words, str(own)) for own in request.senders],
        "features": join_names([own.words for own in request.features]),
        "seeds": request.seeds,
        **times,
        "overrides": list(overrides.items()),
        "is_own": any(tier.is_own for tier in request.tiers),
        "points": recommendation.design.count_points(),
    }


def _describe_person(name: str, flow: Mapping[str, Any]) -> tuple[str, ...]:
    """Give name, application, direction, round-trip time and DSCP of a flow."""
    application, name_of = flow["application"], name_application(flow)
    settings = application[name_of] if isinstance(application, Mapping) else None
    words = name_of.replace("_", " ")
    return (
        name,
        f"{words} ({_write_value(settings)})" if settings else words,
        str(flow.get("direction") or "both"),
        _write_value(flow.get("rtt", "–")),
        _DSCPS.get(dscp := flow.get("dscp", 0), str(dscp)),
    )


def _write_value(value: object) -> str:
    """Write a value of a scenario as text.

    Examples
    --------
    >>> _write_value({"page": "2 MB", "pause": "4 s"}), _write_value(["1 ms", 2])
    ('page 2 MB, pause 4 s', '1 ms, 2')
    """
    if isinstance(value, Mapping):
        texts = [f"{key.replace('_', ' ')} {_write_value(own)}" for key, own in value.items()]
        return ", ".join(texts)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_write_value, value))
    return str(value)
