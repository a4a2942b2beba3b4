"""Which flows and queues a figure shows, in which order, and what they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from headend.bottleneck import find_bottleneck
from headend.groups import Group, find_groups, label_member, order_naturally

if TYPE_CHECKING:
    from headend.result import Result


#: What answers to a person stands first: calls, then what somebody watches or waits for.
RANKS = {
    "mos": 0,
    "mos_down": 0,
    "frame_delay": 0,
    "frame_delay_down": 0,
    "page_load_time": 1,
    "rtt": 1,
}


def find_flow_groups(results: Sequence[Result]) -> dict[str, Group]:
    """Find the flows that are drawn together because there are many of their kind."""
    return find_groups(*(result.flows["flow"].unique() for result in results))


def find_queue_groups(results: Sequence[Result]) -> dict[str, Group]:
    """Find the queues that are drawn together because there are many of their kind."""
    return find_groups(*(result.queues["queue"].unique() for result in results))


def name_flow_keys(result: Result, groups: Mapping[str, Group]) -> dict[tuple[str, str], str]:
    """Name the directions that carry data: by flow or group, with an arrow where both directions do.

    Calls come first, then what else answers to a person, then transfers; among equals, what sent most.
    """
    rows = result.flows.filter((pl.col("carries") == "data") & (pl.col("packets_sent") > 0))
    both = set(rows["flow"].value_counts().filter(pl.col("count") > 1)["flow"])
    ranks = dict.fromkeys(result.flows.filter(pl.col("transport") == "udp")["flow"], 2)
    for flow, measure in result.measures.select("flow", "measure").iter_rows():
        rank = RANKS.get(measure, 3)
        ranks[flow] = min(ranks.get(flow, 3), rank)
    sent: dict[str, int] = {}
    for flow, size in rows.select("flow", "bytes_sent").iter_rows():
        label = label_member(flow, groups)
        sent[label] = sent.get(label, 0) + size

    def order(row: tuple[str, str]) -> tuple[object, ...]:
        flow, direction = row
        label = label_member(flow, groups)
        return ranks.get(flow, 3), -sent[label], order_naturally(label), direction == "down"

    arrows = {"up": " ↑", "down": " ↓"}
    return {
        (flow, direction): label_member(flow, groups) + (arrows[direction] if flow in both else "")
        for flow, direction in sorted(rows.select("flow", "direction").iter_rows(), key=order)
    }


def place_flows(results: Sequence[Result]) -> dict[str, int]:
    """Give each flow (and each direction of it) its place in the palette, the same in every figure."""
    groups = find_flow_groups(results)
    keys: dict[str, list[str]] = {}
    for (flow, _), key in name_flow_keys(results[0], groups).items():
        keys.setdefault(key, []).append(flow)
    places: dict[str, int] = {}
    for number, (key, flows) in enumerate(keys.items()):
        places[key] = number
        places.setdefault(label_member(flows[0], groups), number)
    return places


def join_keys(
    rows: pl.DataFrame, keys: Mapping[tuple[str, str], str], groups: Mapping[str, Group]
) -> tuple[pl.DataFrame, set[str]]:
    """Give rows of flows and directions their ``key``, in the order of the keys; and those keys that are groups'."""
    places = {key: place for place, key in enumerate(dict.fromkeys(keys.values()))}
    named = pl.DataFrame(
        [(flow, way, key, places[key]) for (flow, way), key in keys.items()],
        schema={
            "flow": pl.String,
            "direction": pl.String,
            "key": pl.String,
            "place": pl.Int64,
        },
        orient="row",
    )
    joined = rows.join(named, on=["flow", "direction"]).sort("place", maintain_order=True)
    return joined, {key for (flow, _), key in keys.items() if flow in groups}


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
