"""A flow's wait for its turn behind a scheduler that serves many flows in turn.

Behind a scheduler each flow has a queue of its own, and how long packets wait in others' queues
says nothing of it. What can be known of its own wait is a bound. A flow that begins to send goes to
the end of the round (Shreedhar and Varghese 1995, figure 3), and waits until each of the ``n``
queues that hold packets has sent its quantum: ``n`` × quantum / rate. Schedulers of RFC 8290 serve
new flows first (§4.2); there a flow waits for its turn if its packets come more often than that, as
its queue is behind the old ones by then.

`find_turn` gives that time, beside the path and other queues that take a part of the same number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean
from typing import Any

from headend.analysis import facts
from headend.analysis.facts import Action, Remedy
from headend.analysis.quality import FlowQuality
from headend.analysis.queue_state import describe_queue
from headend.analysis.queues import SHORT_WAIT, locate_key, name_queue_key
from headend.analysis.routes import list_queues, read_path
from headend.engine.description import find_queue
from headend.results.record import Record
from headend.scenario.parameters import find_value
from headend.text.quantity import parse_quantity

#: Schedulers that serve new flows first (RFC 8290 §4.2), the first of which is proposed.
NEW_FIRST = ("fq_codel", "fq_pie", "sfq_codel")

#: Share of the number that a flow suffers by from which a part of it counts. From the last good
#: value to the first poor one a delay about doubles (`grading.py`: 130 and 250 ms, 65 and 125 ms),
#: so that half of a poor number is too much of it; of two parts that are, each has a quarter.
A_PART = 0.25

#: What a turn of one packet takes, B: a full packet.
_PACKET = 1500.0


def find_turn(record: Record, flow: FlowQuality) -> facts.TurnWait | None:
    """Find that a flow which suffers from delay waits for its turn; the longest of such waits."""
    total = _measure_delay(flow)
    if not total or flow.symptom != "late":
        return None
    is_both = not flow.direction or flow.application == "ping"
    ways = ("up", "down") if is_both else (flow.direction,)
    # A round trip takes the path both ways.
    there = ways if flow.application == "ping" else ways[:1]
    least = max(SHORT_WAIT, A_PART * total)
    path = sum(read_path(record, flow.flow, way) for way in there)
    own = [row for way in ways for row in list_queues(record, flow.flow, way)]
    turns = [found for row in own if (found := _measure_turn(record, flow.flow, row))]
    turn, flows, name = max(turns, default=(0.0, 0, ""))
    queue = describe_queue(record, name) if name else None
    if queue is None:
        return None
    # How long its packets wait in a scheduler's other queues is not known of them either.
    others = {
        row["queue"]: row["median"]
        for row in own
        if row["median"] >= least and not find_queue(row["discipline"]).lets_pass
    }
    wait = min(turn, total - path - sum(others.values()))
    if wait < least:
        return None
    remedies: tuple[Remedy, ...] = ()
    if queue.discipline not in NEW_FIRST:
        key = name_queue_key(record, queue.queue) or ""
        remedies = (Remedy(Action.NEW_FLOWS_FIRST, queue.queue, key, NEW_FIRST[0], queue),)
    told_path = path if path >= least else 0.0
    return facts.TurnWait(
        queue, flow.flow, flows, wait, total, told_path, others, remedies=remedies
    )


def _measure_delay(flow: FlowQuality) -> float | None:
    """Give the delay that a flow is graded by, or the one in its worse direction, ns."""
    figure = flow.key_figures[0]
    is_delay = figure.kind == "time" and figure.value is not None
    return figure.value if is_delay else flow.delay_p95_ns


def _measure_turn(
    record: Record, flow: str, row: Mapping[str, Any]
) -> tuple[float, int, str] | None:
    """Give how long a turn in a queue takes, ns, among how many flows; None where it says nothing.

    Who sends more than a quantum in a turn waits for its own packets too.
    """
    path = f"{locate_key(record, row['queue'])}.{row['discipline']}.quantum"
    written = find_value(record.manifest["scenario"], path)
    if not isinstance(written, str):
        return None
    quantum = parse_quantity(written, "size").value or _PACKET
    active = _count_active(record, row["queue"])
    turn = active * quantum * 8e9 / row["rate_bps"]
    packets, size = _count_sent(record, flow, row["direction"])
    time = record.manifest["simulated_ns"] - record.manifest.get("warmup_ns", 0)
    is_new = row["discipline"] in NEW_FIRST and packets * turn <= time
    if is_new or size * turn > quantum * time:
        return None
    return turn, round(active), row["queue"]


def _count_active(record: Record, queue: str) -> float:
    """Give how many of a scheduler's queues hold packets, in the mean over the measured part."""
    series, warmup = record.lists("queue_series"), record.manifest.get("warmup_ns", 0)
    columns = (series[name] for name in ("queue", "time_ns", "queues_active"))
    counts = [
        active
        for own, time, active in zip(*columns, strict=True)
        if own == queue and time > warmup and active is not None and not math.isnan(active)
    ]
    return fmean(counts) if counts else 0.0


def _count_sent(record: Record, flow: str, direction: str) -> tuple[int, int]:
    """Give how many packets and bytes a flow sent in one direction of the measured part."""
    rows = [row for row in record.rows("flows") if row["flow"] == flow]
    own = [row for row in rows if row["direction"] == direction]
    return sum(row["packets_sent"] for row in own), sum(row["bytes_sent"] for row in own)
