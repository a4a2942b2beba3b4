"""Gathers the content of the page of one run for its template ``report.html.j2``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headend.analysis.bottleneck import gather_queues
from headend.analysis.channels import gather_channels
from headend.analysis.lateness import is_open_loop
from headend.analysis.low_latency import MOST_AGGREGATES, choose_aggregates
from headend.analysis.mib import gather_modem
from headend.analysis.real_flows import list_real_flows
from headend.scenario.groups import MOST_LISTED
from headend.scenario.modems import tell_configured
from headend.wording.emulation import (
    list_ends,
    list_programs,
    list_timing,
    tell_kind,
    tell_source,
)
from headend.wording.flows import describe_marks
from headend.wording.low_latency import COLUMNS, explain_columns, write_flow
from headend.wording.run import answer_run
from headend.wording.verdict import judge

if TYPE_CHECKING:
    from headend.figures import Figure
    from headend.results.record import Record


def describe_run(result: Record, figures: Sequence[Figure]) -> dict[str, Any]:
    """Gather what the template of one run needs, besides the title and the figures."""
    verdict = judge(result)
    aggregates = choose_aggregates(result, verdict.queue.queue if verdict.queue else None)
    return {
        "result": result,
        "grades": describe_marks(result.flows["application"].to_list()),
        "answer": answer_run(result).settle_why([figure.name for figure in figures]),
        "verdict": verdict,
        "real": _gather_real(result),
        "configured": tell_configured(result.manifest["scenario"]),
        "modem_files": result.manifest.get("modem_files", []),
        "missed": [outcome for outcome in result.expectations if not outcome.met],
        "warnings": list(dict.fromkeys(result.warnings)),
        "channels": gather_channels(result),
        "parties_of_queues": gather_queues(result),
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
        "most_listed": MOST_LISTED,
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
