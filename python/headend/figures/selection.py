"""Which flows and queues a figure shows, in which order, and what they are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from headend.analysis.bottleneck import find_bottleneck
from headend.engine.description import describe, list_applications
from headend.figures.figure import Order
from headend.figures.theme import PALETTE, QUEUES
from headend.results.record import Record
from headend.scenario.groups import Group, find_groups, label_member, name_group, order_naturally

#: What answers to a person stands first: calls, then what somebody watches or waits for.
RANKS = {"at_once": 0, "as_waiting": 1}

#: A way that carries less than this share of what the flow's other way does is that of requests.
REQUESTS = 0.1


def find_flow_groups(results: Sequence[Record]) -> dict[str, Group]:
    """Find the flows that are drawn together because there are many of their kind."""
    return find_groups(*(result.flows["flow"].unique(maintain_order=True) for result in results))


def find_queue_groups(results: Sequence[Record]) -> dict[str, Group]:
    """Find the queues that are drawn together because there are many of their kind."""
    return find_groups(*(result.queues["queue"].unique(maintain_order=True) for result in results))


def name_flow_keys(result: Record, groups: Mapping[str, Group]) -> dict[tuple[str, str], str]:
    """Name the directions that carry data: by flow or group, with an arrow where both do.

    Calls come first, then what else answers to a person, then transfers; among equals, what sent
    most.
    """
    has_data = (pl.col("carries") == "data") & (pl.col("packets_sent") > 0)
    rows = result.flows.filter(has_data).select("flow", "direction", "bytes_sent").rows()
    directions = Counter(flow for flow, _, _ in rows)
    ranks = dict.fromkeys(result.flows.filter(transport="udp")["flow"], 2)
    felt = {
        name: RANKS.get(kind.felt, 3)
        for kind in describe().measures.values()
        for name in kind.names
    }
    for flow, measure in zip(result.measures["flow"], result.measures["measure"], strict=True):
        ranks[flow] = min(ranks.get(flow, 3), felt.get(measure, 3))
    sent: dict[str, int] = {}
    for flow, _, size in rows:
        label = label_member(flow, groups)
        sent[label] = sent.get(label, 0) + size

    def order(row: tuple[str, str]) -> tuple[object, ...]:
        flow, direction = row
        label = label_member(flow, groups)
        return ranks.get(flow, 3), -sent[label], order_naturally(label), direction == "down"

    arrows = {"up": " ↑", "down": " ↓"}
    return {
        (flow, direction): label_member(flow, groups)
        + (arrows[direction] if directions[flow] > 1 else "")
        for flow, direction in sorted(((row[0], row[1]) for row in rows), key=order)
    }


def order_flows(results: Sequence[Record]) -> Order:
    """Give flows and their directions the same colours in all figures; say which are drawn.

    Where the colours do not suffice, those have one of their own that are drawn where not all are.
    """
    groups = find_flow_groups(results)
    keys = _list_keys(results, groups)
    ranks = _rank_flows(results, keys, groups)
    names = list(dict.fromkeys(key for _, key in keys))
    best = sorted(names, key=lambda name: ranks[name])[: len(PALETTE)]
    names.sort(key=lambda name: name not in best)
    slots = {name: number for number, name in enumerate(names)}
    return Order(_spread(slots, ranks, keys, groups), ranks)


def number_queues() -> Order:
    """Give queues colours that no flow has."""
    return Order(first=QUEUES, what="queue")


def _list_keys(
    results: Sequence[Record], groups: Mapping[str, Group]
) -> list[tuple[tuple[str, str], str]]:
    """List the directions with the names that results give them, the first result's first.

    A flow may carry data in both directions in one result and in one direction in another. Its name
    without an arrow is then left out: it takes the colour of the flow's first direction.
    """
    keys = list(
        dict.fromkeys(item for result in results for item in name_flow_keys(result, groups).items())
    )
    labels = [label_member(flow, groups) for (flow, _), _ in keys]
    arrowed = {label for (_, key), label in zip(keys, labels, strict=True) if key != label}
    # Of a group, some members may have both directions and others one: one figure then has all
    # these names.
    return [(way, key) for way, key in keys if way[0] in groups or key not in arrowed]


def _rank_flows(
    results: Sequence[Record],
    keys: Sequence[tuple[tuple[str, str], str]],
    groups: Mapping[str, Group],
) -> dict[str, int]:
    """Say which flows (and directions) are drawn where not all can be: the least first.

    Those that load the line most and those that answer to a person take turns; after them come the
    ways of requests, and probes last.
    """
    sent: dict[str, int] = {}
    # What those see that watch the others is drawn in figures of their own.
    watching = list_applications("probe")
    probes: dict[str, bool] = {}
    for result in results:
        names_of = name_flow_keys(result, groups)
        columns = ["flow", "direction", "bytes_sent", "application"]
        for flow, direction, size, application in result.flows.select(columns).iter_rows():
            if key := names_of.get((flow, direction)):
                sent[key] = sent.get(key, 0) + size
                probes[key] = application in watching
    labels = {key: label_member(flow, groups) for (flow, _), key in keys}
    most: dict[str, int] = {}
    for key, label in labels.items():
        most[label] = max(most.get(label, 0), sent[key])
    asking = {key for key, label in labels.items() if sent[key] < REQUESTS * most[label]}
    names = list(dict.fromkeys(key for _, key in keys))
    first = [key for key in names if not probes[key] and key not in asking]
    heaviest = sorted(first, key=lambda key: -sent[key])
    in_turns = [key for pair in zip(heaviest, first, strict=True) for key in pair]
    others = sorted(set(names) - set(first), key=lambda key: (probes[key], names.index(key)))
    ranks = {key: rank for rank, key in enumerate(dict.fromkeys([*in_turns, *others]))}
    return _spread(ranks, ranks, keys, groups)


def _spread(
    numbers: Mapping[str, int],
    ranks: Mapping[str, int],
    keys: Sequence[tuple[tuple[str, str], str]],
    groups: Mapping[str, Group],
) -> dict[str, int]:
    """Give the number of a flow's first direction by rank to the flow too."""
    spread = dict(numbers)
    for (flow, _), key in sorted(keys, key=lambda item: ranks[item[1]]):
        spread.setdefault(label_member(flow, groups), numbers[key])
        spread.setdefault(name_group(flow) or flow, numbers[key])
    return spread


def join_keys(
    rows: pl.DataFrame, keys: Mapping[tuple[str, str], str], groups: Mapping[str, Group]
) -> tuple[pl.DataFrame, set[str]]:
    """Give rows of flows and directions their ``key``, in the keys' order; and groups' keys."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys.values()))}
    columns = {"flow": pl.String, "direction": pl.String, "key": pl.String, "place": pl.Int64}
    named = pl.DataFrame(
        [(*direction, key, numbers[key]) for direction, key in keys.items()],
        schema=columns,
        orient="row",
    )
    joined = rows.join(named, on=["flow", "direction"], maintain_order="left")
    return joined.sort("place", maintain_order=True), {
        key for (flow, _), key in keys.items() if flow in groups
    }


def choose_queues(result: Record) -> list[str]:
    """Choose the queue that did the harm, then the others that had waits, longest first."""
    rows = result.queues.filter(pl.col("packets_dequeued") > 0).sort(
        pl.col("delay_mean_ns").fill_nan(0), descending=True
    )
    names: list[str] = rows["queue"].to_list()
    worst = find_bottleneck(result)
    if worst in names:
        names.remove(worst)
        names.insert(0, worst)
    return names
