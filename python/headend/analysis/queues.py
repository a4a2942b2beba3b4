"""What the queues of a run did: when one is standing, full or lossy, its delay, loss and key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headend.results.record import Record, cached_on_record
from headend.scenario.groups import name_group

if TYPE_CHECKING:
    import polars as pl

#: Share of the time, in which a packet in a queue had waited for more than 50 ms, from which it is
#: called a standing queue.
STANDING_TIME = 0.5

#: The same share, from which it is the trouble of those who suffer.
STOOD_AT_TIMES = 0.05

#: Median delay from which a queue stood while it was used, however seldom that was, ns: what it
#: takes to be called standing.
LONG_WAIT = 50e6

#: Median delay up to which the queue of a full line is short, ns: 15 ms is the longest that a
#: standard's law aims at (PIE, DualPI2), and the median of one that keeps to it swings about that
#: by a third.
SHORT_WAIT = 20e6

#: Share of its rate from which a line is full. A single sender that halves its window uses 75 %
#: with no buffer at all and 100 % with one of a round trip; by that sawtooth 85 % takes 1/7.
FULL = 0.85

#: Share of a queue's packets from which its losses are the trouble, not a sender's search.
LOSSY_SHARE = 0.05

#: Share of its own rate from which a queue waits for nothing else.
OWN_RATE = 0.95


#: The end of the name of a low-latency queue, after that of the classic queue beside it.
LOW_LATENCY = "_low_latency"


def is_low_latency(queue: str) -> bool:
    """Say whether a queue is the low-latency queue of an aggregate.

    Examples
    --------
    >>> is_low_latency("cable.up_low_latency"), is_low_latency("cable.up")
    (True, False)
    """
    return queue.endswith((f".up{LOW_LATENCY}", f".down{LOW_LATENCY}"))


def name_classic(queue: str) -> str:
    """Name the classic queue of a queue's aggregate; the queue itself if it is not low-latency.

    Examples
    --------
    >>> name_classic("cable.home.down_low_latency"), name_classic("cable.up")
    ('cable.home.down', 'cable.up')
    """
    return queue.removesuffix(LOW_LATENCY) if is_low_latency(queue) else queue


def name_pair(queue: str) -> tuple[str, str]:
    """Name the classic and the low-latency queue of the aggregate that a queue is, or would be, in.

    Examples
    --------
    >>> name_pair("cable.up_low_latency")
    ('cable.up', 'cable.up_low_latency')
    """
    classic = name_classic(queue)
    return classic, f"{classic}{LOW_LATENCY}"


@cached_on_record
def weigh_queues(result: Record) -> pl.DataFrame:
    """Give the queues that had packets, with ``median``, ``waited``, ``lost`` and ``lost_ratio``.

    The two queues of an aggregate share one rate: the ``utilisation`` of each is that of both
    together. Of what was offered, every packet left or was lost, on arrival or later; a thinned
    acknowledgement is no loss, and what the path lost is none of a queue's.
    """
    import polars as pl
    import polars.selectors as cs

    # Results of older engines count what the path lost as the sending queue's.
    others = cs.by_name("discarded_ack_thinned", "discarded_corrupted")
    lost = pl.sum_horizontal(cs.starts_with("discarded_") - others)
    offered = pl.col("packets_dequeued") + lost
    return (
        _share_rates(result.queues)
        .with_columns(lost=lost)
        .filter(pl.col("packets_enqueued") + pl.col("lost") > 0)
        .with_columns(
            median=pl.col("delay_p50_ns").fill_nan(0),
            waited=pl.col("delay_mean_ns").fill_nan(0) * pl.col("packets_dequeued"),
            lost_ratio=(pl.col("lost") / offered.clip(1)).clip(0, 1),
        )
    )


def _share_rates(queues: pl.DataFrame) -> pl.DataFrame:
    """Give both queues of each aggregate the utilisation of what they could carry together."""
    import polars as pl

    low = [name for name in queues["queue"] if is_low_latency(name)]
    if not low:
        return queues
    name = pl.col("queue")
    classic = pl.when(name.is_in(low)).then(name.str.strip_suffix(LOW_LATENCY)).otherwise(name)
    could = pl.col("capacity_bps").fill_nan(pl.col("rate_bps"))
    used = (pl.col("utilisation").fill_nan(0) * could).sum() / could.min()
    shared = used.over(classic).clip(0, 1)
    is_shared = classic.is_in([name_classic(queue) for queue in low])
    known = pl.col("utilisation").is_not_nan().any().over(classic)
    return queues.with_columns(
        utilisation=pl.when(is_shared & known).then(shared).otherwise(pl.col("utilisation"))
    )


def name_queue_key(result: Record, queue: str) -> str | None:
    """Give what stands for a queue in ``--set``: ``queue`` for the bottleneck's, or its key's path.

    A low-latency queue has none: its law is part of its aggregate.
    """
    if is_low_latency(queue):
        return None
    link, _, direction = queue.rpartition(".")
    links = result.manifest["scenario"].get("link", {})
    if queue == result.bottleneck or (
        result.bottleneck is None and list(links) == [link] and direction == "up"
    ):
        return "queue"
    return locate_key(result, queue)


def locate_key(result: Record, queue: str) -> str | None:
    """Give the path of a queue's key in the scenario, where its name tells it."""
    return find_key(result.manifest["scenario"].get("link", {}), queue)


def find_key(links: Mapping[str, Any], queue: str) -> str | None:
    """Give the path of a queue's key, where its name tells it; or of its aggregate's table."""
    if is_low_latency(queue):
        key = find_key(links, name_classic(queue))
        return key.removesuffix("queue") + "low_latency" if key else None
    link, _, direction = queue.rpartition(".")
    if link not in links:
        return _name_end_key(links, link, direction)
    kind = next(iter(links[link]))
    if kind == "dot11b":
        return f"link.{link}.dot11b.access_point.queue"
    if direction not in ("up", "down"):
        return f"link.{link}.{kind}.service_flow.{direction}.queue"
    return f"link.{link}.{kind}.{direction}{'stream' if kind == 'docsis' else ''}.queue"


def _name_end_key(links: Mapping[str, Any], place: str, direction: str) -> str | None:
    """Give the key of a modem's or station's own queue; others' names do not tell their keys."""
    link, _, end = place.partition(".")
    stem = name_group(end) or end
    line = links.get(link, {})
    if stem in line.get("docsis", {}).get("modem", {}) and direction in ("up", "down"):
        return f"link.{link}.docsis.modem.{stem}.{direction}stream.queue"
    if stem in line.get("dot11b", {}).get("station", {}):
        return f"link.{link}.dot11b.station.{stem}.queue"
    return None
