"""The output of ``headend recommend``: what terminal and JSON say, and the exit code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.analysis.grading import Grade
from headend.analysis.ranking import Feasibility
from headend.analysis.sums import BASE_UNITS
from headend.cli.first_lines import print_answer
from headend.cli.outputs import (
    print_failures,
    print_first_warnings,
    print_interrupted,
    print_report,
)
from headend.cli.tables import draw, fit, fits
from headend.cli.terminal import (
    make_messages,
    make_output,
    print_note,
    print_point,
    print_sentence,
    write_line,
)
from headend.recommendation.owner_words import PROVIDER, flatten, wrap_letter, write_owner_text
from headend.recommendation.page import tabulate_settings
from headend.recommendation.router import (
    join_settings,
    list_sqm_settings,
    write_autorate,
    write_commands,
)
from headend.recommendation.sender import (
    QUICK,
    USUAL,
    USUAL_NAME,
    join_senders,
    read_senders,
)
from headend.recommendation.sentences import describe_baseline, describe_tier
from headend.recommendation.writing import describe_default, list_tlvs
from headend.text.wording import join_names, write_count

if TYPE_CHECKING:
    from headend.analysis.criteria import Condition
    from headend.recommendation.deciding import Decision
    from headend.recommendation.owner import OwnChoices
    from headend.recommendation.request import Request
    from headend.recommendation.result import Recommendation
    from headend.recommendation.writing import Written

#: What the signs before settings that were tried say.
SIGNS_NOTE = "✓ every condition holds, ~ only in the mean, ✗ one fails; no sign: no result."

#: TLVs that a terminal shows without --full.
MOST_TLVS = 8


def print_recommendation(
    result: Recommendation, folder: Path, written: Sequence[Written], *, full: bool
) -> None:
    """Print the answer, each tier with its sentences and TLVs, warnings and files; if complete.

    Parameters
    ----------
    folder
        Where the results are kept.
    written
        The modems' files that were written.
    full
        Whether to print every setting of each tier too.
    """
    if not result.complete:
        return
    console = make_output()
    print_answer(result.answer, result.request.title, is_grid=True)
    if result.own_choices:
        _print_owner(result.own_choices)
    for decision in result.decisions if full or not result.own_choices else ():
        console.print()
        console.print(write_line((decision.tier.name, "bold")))
        if not decision.tier.is_own:
            for sentence in describe_tier(decision):
                print_sentence(console, sentence)
            _print_tlvs(result.request, decision, full=full)
            _print_router(decision)
        if full:
            _print_candidates(decision)
    console.print()
    failed = len(result.failures)
    failures = f", {failed} failed" if failed else ""
    hint = "" if full else "; --full prints every setting"
    total = result.design.count_points()
    console.print(write_line(f"{total - failed} of {total} points{failures}{hint}"))
    if number := len(result.request.senders):
        settings = len({own.factor_labels[:2] for own in result.design.settings})
        senders = write_count(number, "sender")
        seeds = write_count(len(result.request.seeds), "seed")
        console.print(write_line(f"{write_count(settings, 'setting')} × {senders} × {seeds}"))
        print_sentence(console, _describe_other_senders(result.request), "dim")
    if result.notes:
        console.print()
        print_first_warnings(result.notes, "the manifest")
    for one in written:
        console.print(write_line(f"Modem's file: {one.path}"), soft_wrap=True)
    print_report(folder)


def _print_owner(choices: OwnChoices) -> None:
    """Print what the owner of a line can do, must ask and can leave, and how sure that is."""
    console, words = make_output(), write_owner_text(choices)
    for heading, sentences in words.chapters:
        console.print()
        console.print(write_line((heading, "bold")))
        for told in sentences:
            if isinstance(told, str):
                print_sentence(console, told)
                continue
            for line in told:
                print_point(console, line)
        if heading == PROVIDER and words.letter:
            print_sentence(console, "A text to send:")
            console.print()
            for line in wrap_letter(words.letter).splitlines():
                console.print(write_line(line), soft_wrap=True)


def _describe_other_senders(request: Request) -> str:
    """Say what fewer senders, or the usual ones, would give."""
    usual, tried = read_senders(USUAL), set(request.senders)
    if any(tier.is_own for tier in request.tiers) and not tried.issuperset(usual):
        return (
            f"The conditions are held against {join_senders(request.senders)} alone; --senders"
            f" {USUAL_NAME} holds them against {join_senders(usual)}."
        )
    if tried.issuperset(usual):
        return f"--senders {QUICK} is the quick answer: for {join_senders(usual[:1])} alone."
    return (
        f"The conditions are held against {join_senders(request.senders)} alone; without --senders,"
        f" against {join_senders(usual)}."
    )


def _print_tlvs(request: Request, decision: Decision, *, full: bool) -> None:
    """Print the TLVs that set what is recommended, a line each, or only the numbers of many."""
    from rich.table import Table

    console = make_output()
    tlvs = list_tlvs(request, decision)
    if len(tlvs) > MOST_TLVS and not full:
        numbers = dict.fromkeys(tlv.path.partition(".")[0].partition("[")[0] for tlv in tlvs)
        names = join_names(sorted(numbers, key=int))
        print_sentence(
            console, f"TLVs: {len(tlvs)} to set or remove, in {names}; --full lists them."
        )
    elif tlvs:
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        for tlv in tlvs:
            path = write_line("  TLV ", (tlv.path, "cyan"))
            table.add_row(path, write_line(f"{tlv.name}: {tlv.value}"))
        console.print(table)
    if default := describe_default(request, decision):
        print_sentence(console, default, "dim")


def _print_router(decision: Decision) -> None:
    """Print what to type for a router that is recommended, or comes nearest."""
    router = decision.router
    if router is None:
        return
    console = make_output()
    print_sentence(console, "On a Linux router whose port to the modem is eth0:")
    for command in write_commands(decision.tier, router):
        console.print(write_line(f"  {command}"), soft_wrap=True)
    if lines := write_autorate(decision.tier, router):
        print_sentence(console, "In the configuration file of cake-autorate, which is a script:")
        for line in lines:
            console.print(write_line(f"  {line}"), soft_wrap=True)
    settings = join_settings(list_sqm_settings(decision.tier, router))
    print_sentence(console, f"Or, in place of tc, in OpenWrt's SQM (luci-app-sqm): {settings}.")


def _print_candidates(decision: Decision) -> None:
    """Print every setting tried, with a sign of whether it holds."""
    console, table = make_output(), tabulate_settings(decision)
    rows = []
    for row in table.rows:
        # The sign before its name says whether a setting holds.
        cells = tuple(cell and replace(cell, grade=Grade.NONE) for cell in row.cells)
        label = replace(row.heading, note=row.heading.tag)
        rows.append(replace(row, label=label, cells=cells))
    drawn = draw(replace(table, rows=tuple(rows)))
    console.print()
    console.print(drawn if fits(console, drawn) else fit(console, drawn))
    console.print(write_line((SIGNS_NOTE, "dim")))


def print_troubles(
    result: Recommendation, folder: Path, written: Sequence[Written], *, brief: bool
) -> None:
    """Report written files, failed points and what an interruption left on standard error.

    Parameters
    ----------
    brief
        Whether nothing else is printed: then the names of written files are told here.
    """
    messages = make_messages()
    for one in written:
        if brief:
            messages.print(write_line(f"{one.path} written"), soft_wrap=True)
        for note in one.notes:
            print_note(f"{one.path}: {note}")
    print_failures(result.failures, brief=brief)
    if not result.complete:
        print_interrupted(result.count_done(), result.design.count_points(), folder)


def describe_recommendation(
    result: Recommendation, folder: Path, written: Sequence[Written]
) -> dict[str, Any]:
    """Give a recommendation as one JSON document in base units, without tiers if interrupted."""
    return {
        "request": result.request.to_dict(),
        "folder": str(folder),
        "complete": result.complete,
        "points": result.design.count_points(),
        "done": result.count_done(),
        "answer": result.answer.to_dict() if result.complete else None,
        "tiers": [_describe_tier(result.request, own) for own in result.decisions]
        if result.complete
        else [],
        "owner": _describe_owner(result.own_choices)
        if result.complete and result.own_choices
        else None,
        "written": [
            {"tier": one.tier, "file": str(one.path), "notes": list(one.notes)} for one in written
        ],
        "warnings": list(result.notes),
        "failures": [
            {**dict(zip((*result.design.names, "seed"), place, strict=True)), "error": reason}
            for place, reason in result.failures.items()
        ],
    }


def _describe_tier(request: Request, decision: Decision) -> dict[str, Any]:
    """Describe what a tier shall have, or what comes nearest, and every candidate."""
    chosen, wish = decision.chosen, decision.criteria
    found = _describe_candidate(decision, chosen.setting) if chosen.setting else None
    recommended = nearest = None
    if found and decision.recommended:
        tlvs = list_tlvs(request, decision)
        recommended = {
            **found,
            "as_good": [decision.find(tie).label for tie in chosen.ties],
            "is_default": describe_default(request, decision) is not None,
            "tlvs": [{"path": tlv.path, "name": tlv.name, "value": tlv.value} for tlv in tlvs],
        }
    elif found:
        nearest = {
            **found,
            "conditions": [
                _describe_condition(decision, one, chosen.setting or 0) for one in wish.constraints
            ],
        }
    return {
        "name": decision.tier.name,
        "upstream_bps": decision.tier.upstream,
        "downstream_bps": decision.tier.downstream,
        "wish": wish.to_dict(),
        "senders": [str(own) for own in decision.senders],
        "alone": {
            str(sender): own.find(own.recommended).label if own.recommended else None
            for sender, own in decision.alone.items()
        },
        "baselines": _list_baselines(decision),
        "recommended": recommended,
        "nearest": nearest,
        "router": _describe_router(decision),
        "sentences": list(describe_tier(decision)),
        "candidates": [
            _describe_candidate(decision, number)
            for number in range(1, len(decision.candidates) + 1)
        ],
    }


def _describe_owner(choices: OwnChoices) -> dict[str, Any]:
    """Describe what the owner of a line is told, with the differences from today."""
    decision, words = choices.decision, write_owner_text(choices)
    fit = decision.tier.fit

    def describe(setting: int) -> dict[str, Any]:
        differences = {}
        for term in decision.watched:
            if (own := choices.compare(term, setting)) is not None:
                unit = BASE_UNITS[decision.terms[term].info.kind]
                ends = {"low": _finite(own.low), "high": _finite(own.high)}
                differences[term] = {"mean": own.mean, **ends, "unit": unit}
        return {**_describe_candidate(decision, setting), "from_today": differences}

    return {
        "verdict": str(choices.verdict),
        "advised": choices.advised and decision.find(choices.advised).label,
        "today": describe(choices.today),
        "myself": choices.mine.setting and describe(choices.mine.setting),
        "provider": [describe(own) for own in choices.offers],
        "faster": [describe(own) for own in choices.faster],
        "no_upload": choices.quiet and describe(choices.quiet),
        **(
            {
                "ethernet": describe(choices.ethernet),
                "helps_wifi": choices.helps_air,
                "helps_line": choices.helps_line,
            }
            if choices.ethernet
            else {}
        ),
        "would_not_help": [decision.find(own).label for own in choices.list_useless()],
        "fit": fit and asdict(fit),
        "variations": [
            {
                "words": own.decision.tier.variation.words,
                "likelihood": own.decision.tier.variation.likelihood,
                "today": str(own.today),
                "standings": {
                    decision.find(setting).label: str(standing)
                    for setting, standing in own.standings.items()
                },
                "is_same": own.is_same,
            }
            for own in choices.varied
            if own.decision.tier.variation
        ],
        "text": {heading: flatten(sentences) for heading, sentences in words.chapters},
        "letter": list(words.letter),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _describe_router(decision: Decision) -> dict[str, Any] | None:
    """Describe the router that is recommended, or comes nearest: what to type for it."""
    router = decision.router
    if router is None:
        return None
    up, down = router.find_rates(decision.tier)
    return {
        "queue": router.queue,
        "share": router.share / 100,
        "up_bps": up,
        "down_bps": down,
        "commands": write_commands(decision.tier, router),
        "autorate": write_autorate(decision.tier, router),
        "sqm": dict(list_sqm_settings(decision.tier, router)),
    }


def _list_baselines(decision: Decision) -> list[dict[str, Any]]:
    """List the settings to compare with; gains are told against the first."""
    return [
        {
            "name": feature.words,
            "about": describe_baseline(decision.tier, feature),
            **_describe_candidate(decision, setting),
        }
        for feature, setting in decision.baselines.items()
    ]


def _describe_candidate(decision: Decision, setting: int) -> dict[str, Any]:
    """Describe a candidate: whether it holds, and the mean and interval of each quantity."""
    candidate = decision.find(setting)
    return {
        "label": candidate.label,
        "feature": str(candidate.feature),
        "can_be_set": candidate.is_settable,
        "standing": str(decision.standings.get(setting, Feasibility.MISSING)),
        "standing_by_sender": {
            str(sender): str(standings[setting]) for sender, standings in decision.by_sender.items()
        },
        "values": {
            term.text: value
            for term in decision.criteria.terms
            if (value := _describe_value(decision, term.text, setting))
        },
    }


def _describe_value(decision: Decision, term: str, setting: int) -> dict[str, Any]:
    """Describe the mean of a quantity; empty where a setting has no value of it."""
    measured = decision.terms[term]
    own = measured.estimates.get(setting)
    if own is None:
        return {}
    unit = BASE_UNITS[measured.info.kind]
    found: dict[str, Any] = {"mean": own.mean, "low": own.low, "high": own.high, "unit": unit}
    sender = decision.find_sender(term, setting)
    return {**found, "sender": str(sender)} if sender else found


def _describe_condition(decision: Decision, condition: Condition, setting: int) -> dict[str, Any]:
    """Describe a condition on the nearest setting, with what its mean misses the bound by."""
    kind = decision.terms[condition.term.text].info.kind
    return {
        "condition": condition.text,
        "bound": condition.read_bound(kind),
        "standing": str(decision.judge(condition, setting)),
        "missed_by": decision.find_miss(condition, setting),
        **_describe_value(decision, condition.term.text, setting),
    }
