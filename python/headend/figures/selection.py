"""Which flows and queues a figure shows, in which order, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from headend.bottleneck import find_bottleneck

if TYPE_CHECKING:
    from headend.result import Result


def name_flow_keys(result: Result) -> dict[tuple[str, str], str]:
    """Name the directions that carry data: by flow, with an arrow where both directions do.

    Calls come first, then what else answers to a person, then transfers; among equals, what sent most.
    """
    rows = result.flows.filter((pl.col("carries") == "data") & (pl.col("packets_sent") > 0))
    both = rows["flow"].value_counts().filter(pl.col("count") > 1)["flow"].to_list()
    ranks = dict.fromkeys(result.flows.filter(pl.col("transport") == "udp")["flow"], 2)
    for flow, measure in result.measures.select("flow", "measure").iter_rows():
        rank = {"mos": 0, "mos_down": 0, "page_load_time": 1, "rtt": 1}.get(measure, 3)
        ranks[flow] = min(ranks.get(flow, 3), rank)
    ordered = rows.with_columns(
        rank=pl.col("flow").replace_strict(ranks, default=3, return_dtype=pl.Int64),
        back=pl.col("direction") == "down",
    ).sort(
        "rank", pl.col("bytes_sent").sum().over("flow"), "flow", "back",
        descending=[False, True, False, False],
    )  # fmt: skip
    arrows = {"up": " ↑", "down": " ↓"}
    return {
        (row["flow"], row["direction"]): row["flow"]
        + (arrows[row["direction"]] if row["flow"] in both else "")
        for row in ordered.iter_rows(named=True)
    }


def place_flows(results: Sequence[Result]) -> dict[str, int]:
    """Give each flow (and each direction of it) its place in the palette, the same in every figure."""
    places: dict[str, int] = {}
    for number, ((flow, _), key) in enumerate(name_flow_keys(results[0]).items()):
        places[key] = number
        places.setdefault(flow, number)
    return places


def choose_queues(result: Result) -> list[str]:
    """Choose the queue that did the harm, and after it the others whose packets waited, longest first."""
    rows = result.queues.filter(pl.col("packets_dequeued") > 0).sort(
        pl.col("delay_mean_ns").fill_nan(0), descending=True
    )
    names: list[str] = rows["queue"].to_list()
    worst = find_bottleneck(result)
    if worst in names:
        names.remove(worst)
        names.insert(0, worst)
    return names
