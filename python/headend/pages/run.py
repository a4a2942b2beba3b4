"""The page of one run, and the sections that it shares with the page of several."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headend.analysis.bottleneck import gather_queues
from headend.analysis.lateness import is_open_loop
from headend.analysis.mib import gather_modem
from headend.analysis.trials import read_trials
from headend.pages.section import Line, Page, Section, capitalise_first, fold, text
from headend.scenario.codes import describe_codes
from headend.scenario.modems import describe_configured
from headend.text.quantity import format_quantity
from headend.text.wording import capitalise
from headend.wording.cell import tell_air
from headend.wording.emulation import (
    describe_kind,
    describe_source,
    list_ends,
    list_programs,
    list_timing,
)
from headend.wording.flow_tables import (
    tabulate_aggregates,
    tabulate_expectations,
    tabulate_flows,
    tabulate_member_queues,
    tabulate_members,
    tabulate_queues,
    tabulate_timing,
)
from headend.wording.flows import describe_marks
from headend.wording.hops import TITLE as TITLE_OF_HOPS
from headend.wording.hops import brief_hops, tabulate_hops
from headend.wording.real_flows import tabulate_real_flows
from headend.wording.run import answer_run, describe_so_far
from headend.wording.scores import TITLE, explain_scores, tabulate_scores
from headend.wording.table import Column, Table, make_table
from headend.wording.trials import tabulate_trials
from headend.wording.verdict import RunVerdict, judge

if TYPE_CHECKING:
    from headend.figures import Figure
    from headend.results.record import Record

#: What a table of a modem's MIB shows.
_MANAGED = (
    "Settings and counters of {}, named as in DOCS-QOS3-MIB. Upstream they are the modem's,"
    " downstream the CMTS's. Settings are those at the end of the run. Of the request policy only"
    " the bits count that are simulated: 0, 4, 5, 6 and 10. Counters begin after the warm-up, and"
    " histograms have every packet. The file `mib.parquet` has the same of every modem."
)

_TIMING = (
    "How late a frame was: from the time at which the line had it ready until it was written. A"
    " stall is a time in which the emulator had work to do and was not allowed to run."
)

#: What a modem's file did, besides what it set.
_OF_FILES = {
    "replaced": "It replaces keys of the scenario",
    "kept": "Keys of the scenario that go before it",
    "notes": "What else is to be known",
}


def describe_run(result: Record, figures: Sequence[Figure]) -> Page:
    """Make the page of one run."""
    verdict, outcomes = judge(result), result.expectations
    tables = [Section("table", tabulate_expectations(outcomes, [result] * len(outcomes)))]
    open_loop = ", in open loop" if is_open_loop(result) else ""
    description = result.manifest["description"]
    real = _section_real(result)
    aggregates = [
        part
        for table in tabulate_aggregates(result, verdict.queue.queue if verdict.queue else None)
        for part in (
            Section("heading", table.title),
            Section("table", table),
        )
    ]
    return Page(
        result.title,
        answer_run(result).settle_why([figure.name for figure in figures]),
        figures,
        [
            *([text(description, title="The scenario")] if description else []),
            *(
                [Section("sections", tables, f"Expectations{open_loop}")]
                if result.expectations
                else []
            ),
            *real,
            *_section_trials(result),
            *_section_hops(verdict),
            *section_tables(result, verdict, "Flows" if real else "People", is_folded=True),
            *_section_scores(result),
            *([fold("Low latency", *aggregates, is_open=True)] if aggregates else []),
            fold("Notes on queues and channels", Section("list", verdict.notes)),
            *section_modem_files(result.manifest.get("modem_files", [])),
            *_section_managed(result, verdict),
        ],
        section_method([(result, [result.manifest["seed"]], "")]),
        [
            *describe_partial([result]),
            *(
                (
                    (f"Missed{describe_so_far(result)}:", "strong"),
                    f" {outcome.expected}, measured {outcome.measured_text}",
                )
                for outcome in outcomes
                if not outcome.met
            ),
        ],
        [
            *capitalise_first([describe_configured(result.manifest["scenario"])]),
            *capitalise_first([describe_codes(result.manifest["scenario"])]),
            *_describe_timing(result),
        ],
        list(dict.fromkeys(result.warnings)),
        columns="people",
        is_titled=True,
    )


def _section_trials(result: Record) -> list[Section]:
    """Make the section of what was tried; none where nothing was."""
    trials = read_trials(result)
    if not trials or not trials[0].changes:
        return []
    note = text(
        "Each row is a run with the same seed and that setting. Transfers: what all of them get"
        " together, of what they get as it is."
    )
    table = Section("table", tabulate_trials(trials))
    return [Section("sections", [table, note], "What was tried")]


def _section_hops(verdict: RunVerdict) -> list[Section]:
    """Make the section on which link is to blame; none where packets cross none over Wi-Fi."""
    hops = verdict.diagnosis.hops
    if hops is None:
        return []
    parts = [text(f"{capitalise(brief_hops(hops))}."), Section("table", tabulate_hops(hops))]
    states = [hop.channel for hop in hops.hops if hop.channel]
    parts += [text(tell_air(state, is_named=len(states) > 1)) for state in states]
    return [Section("sections", parts, TITLE_OF_HOPS)]


def _section_scores(result: Record) -> list[Section]:
    """Make the section of the scores of other tests; none where no flow has any."""
    table = tabulate_scores(result)
    if not table.rows:
        return []
    return [fold(TITLE, Section("table", table), Section("list", explain_scores(result)))]


def describe_partial(results: Sequence[Record], *, is_named: bool = False) -> list[Line]:
    """Say of each run that was stopped how much of it there is."""
    lines: list[Line] = []
    for result in results:
        if result.is_partial:
            simulated, duration = (
                format_quantity(result.manifest[name], "time")
                for name in ("simulated_ns", "duration_ns")
            )
            title = f"Partial: {result.label}." if is_named else "Partial."
            sentence = f" Stopped at {simulated} of {duration}; everything here is of that part."
            lines.append(((title, "strong"), sentence))
    return lines


def section_tables(
    result: Record, verdict: RunVerdict, people: str, *, is_folded: bool = False
) -> list[Section]:
    """Make the sections of flows and of queues, each with those of its groups that are worst."""
    bottleneck = verdict.queue.queue if verdict.queue else None
    flows = [
        fold(f"Those of {group.label} who fare worst", tabulate_members(group), is_minor=True)
        for group in verdict.groups
        if group.is_group
    ]
    queues = [
        fold(
            f"Those of {group.label} where packets wait longest",
            tabulate_member_queues(group, bottleneck),
            is_minor=True,
        )
        for group in gather_queues(result)
        if group.is_group
    ]
    both = (
        (f"{people} on the line", [Section("table", tabulate_flows(verdict.groups)), *flows]),
        ("Queues", [Section("table", tabulate_queues(result, bottleneck)), *queues]),
    )
    return [
        fold(title, *parts, is_open=title != "Queues")
        if is_folded
        else Section("sections", parts, title)
        for title, parts in both
    ]


def section_modem_files(files: Iterable[Mapping[str, Any]]) -> list[Section]:
    """Make a section for each modem's file: what it set, replaced and left to the scenario."""
    sections = []
    for file in files:
        rows = [
            (f"`{entry['key']}`", str(entry["value"]), str(entry["tlv"])) for entry in file["set"]
        ]
        key = file["key"].replace(".config", "")
        table = make_table(f"key of {key}", ["value", "TLV"], rows)
        parts = [text(f"{file['more']} more.")] if file["more"] else []
        for name, heading in _OF_FILES.items():
            parts += [text(f"{heading}:"), Section("list", file[name])] if file[name] else []
        sections.append(fold(f"What the modem's file {file['file']} set", table, *parts))
    return sections


def section_method(runs: Sequence[tuple[Record, Sequence[int], str]]) -> list[Section]:
    """Make the sections on how runs were measured, and on their scenarios with every default.

    Parameters
    ----------
    runs
        Each with its seeds, and what to call it where there are others.
    """
    applications = [name for result, *_ in runs for name in result.flows["application"].to_list()]
    measured = Section(
        "measured",
        {
            "warmup": format_quantity(runs[0][0].manifest["warmup_ns"], "time"),
            "grades": describe_marks(applications),
        },
    )
    sections = [fold("How it was measured", measured)]
    for result, seeds, label in runs:
        seed = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
        title = (
            f"The scenario{f' of {label}' if label else ''}, every default filled in ({seed},"
            f" headend {result.manifest['headend']})"
        )
        scenario = json.dumps(result.manifest["scenario"], indent=2, ensure_ascii=False)
        sections.append(fold(title, Section("pre", scenario), is_minor=True))
    return sections


def _section_managed(result: Record, verdict: RunVerdict) -> list[Section]:
    """Make the section of what SNMP shows of the modem, on a cable line."""
    modem = gather_modem(result, verdict.queue.queue) if verdict.queue else None
    if modem is None:
        return []
    columns = [
        Column("unit"),
        *(Column(service_flow, is_number=True) for service_flow in modem.service_flows),
    ]
    rows = [
        (f"`{row.name}`", row.unit, *(value or None for value in row.values)) for row in modem.rows
    ]
    table = make_table("object", columns, rows)
    note = text(_MANAGED.format(modem.label), style="soft")
    return [fold("As the modem's MIB counts it", note, table)]


def _describe_timing(result: Record) -> list[Line]:
    """Say in what kind of run the numbers came about, if it had real programs."""
    if not describe_source(result):
        return []
    (kind,) = capitalise_first([describe_kind(result)])
    timing = list_timing(result)
    if not timing:
        return [kind]
    bad = (", ", (timing[0].value, "grade missed")) if timing[0].is_bad else ()
    return [(kind, *bad, ": ", ("how late frames were", "#timing"))]


def _section_real(result: Record) -> list[Section]:
    """Make the sections of real programs: what ran where, their flows, frames and lateness."""
    source = describe_source(result)
    if not source:
        return []
    parts: list[Section | Table] = [text(source)]
    if programs := list_programs(result):
        rows = [(host, f"`{command}`", ended) for host, command, ended in programs]
        parts.append(make_table("host", ["command", "ended with"], rows, look="stacked"))
    if flows := tabulate_real_flows(result):
        parts += [flows, text("The file `real_flows.parquet` has every flow.", style="soft")]
    if ends := list_ends(result):
        counts = ", ".join(f"{line.value} {line.name}" for line in ends)
        parts.append(text(f"Real frames: {counts}."))
    sections = [fold("Real programs", *parts, is_open=True)]
    if timing := tabulate_timing(result):
        note = text(_TIMING, style="soft")
        sections.append(fold("Timing", note, timing, anchor="timing", is_open=True))
    return sections
