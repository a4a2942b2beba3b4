"""Gathers the content of the page of one run for its template ``report.html.j2``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headend.analysis.bottleneck import gather_queues
from headend.analysis.emulation import (
    is_open_loop,
    list_ends,
    list_programs,
    list_timing,
    tell_kind,
    tell_source,
)
from headend.analysis.low_latency import (
    COLUMNS,
    MOST_AGGREGATES,
    choose_aggregates,
    explain_columns,
    write_flow,
)
from headend.analysis.marks import tell_marks
from headend.analysis.mib import gather_modem
from headend.analysis.real_flows import list_real_flows
from headend.analysis.verdict import Verdict, judge
from headend.scenario.modems import tell_configured
from headend.wording.flow_tables import (
    tabulate_expectations,
    tabulate_flows,
    tabulate_member_queues,
    tabulate_members,
    tabulate_queues,
)
from headend.wording.run_answer import answer_run

if TYPE_CHECKING:
    from headend.figures import Figure
    from headend.results.record import Record


def describe_run(result: Record, figures: Sequence[Figure]) -> dict[str, Any]:
    """Gather what the template of one run needs, besides the title and the figures."""
    verdict = judge(result)
    aggregates = choose_aggregates(result, verdict.queue.queue if verdict.queue else None)
    return {
        "result": result,
        "grades": tell_marks(result.flows["application"].to_list()),
        "answer": answer_run(result, verdict).settle_why([figure.name for figure in figures]),
        "verdict": verdict,
        "real": _gather_real(result),
        "configured": tell_configured(result.manifest["scenario"]),
        "modem_files": result.manifest.get("modem_files", []),
        "missed": [outcome for outcome in result.expectations if not outcome.met],
        "warnings": list(dict.fromkeys(result.warnings)),
        "expectations": tabulate_expectations(result.expectations),
        **tabulate_run(result, verdict),
        "aggregates": [
            {
                "name": one.low,
                "columns": COLUMNS,
                "rows": [write_flow(flow, is_protected=one.is_protected) for flow in one.flows],
                "note": explain_columns(one),
            }
            for one in aggregates[:MOST_AGGREGATES]
            if one.flows
        ],
        "managed": gather_modem(result, verdict.queue.queue) if verdict.queue else None,
    }


def tabulate_run(result: Record, verdict: Verdict) -> dict[str, Any]:
    """Gather the tables of flows and of queues, and those of the members of groups."""
    bottleneck = verdict.queue.queue if verdict.queue else None
    return {
        "flows": tabulate_flows(verdict.parties),
        "flows_of_groups": [
            (f"Those of {party.label} who fare worst", tabulate_members(party))
            for party in verdict.parties
            if party.is_group
        ],
        "queues": tabulate_queues(result, bottleneck),
        "queues_of_groups": [
            (
                f"Those of {party.label} where packets wait longest",
                tabulate_member_queues(party, bottleneck),
            )
            for party in gather_queues(result)
            if party.is_group
        ],
    }


def _gather_real(result: Record) -> dict[str, Any] | None:
    """Gather what there is to show of real programs; None where there were none."""
    source = tell_source(result)
    if not source:
        return None
    return {
        "kind": tell_kind(result),
        "is_open_loop": is_open_loop(result),
        "source": source,
        "programs": list_programs(result),
        "flows": list_real_flows(result),
        "ends": list_ends(result),
        "timing": list_timing(result),
    }
