"""Which link is to blame where packets cross several: the Wi-Fi, the modem, or another one.

The links to blame are those that the causes of a run are about, so that the answer names the link
of which it gives the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from headend.analysis import facts
from headend.analysis.air import find_cell_of
from headend.analysis.channels import gather_cells
from headend.analysis.facts import Fact, Hop, HopKind, Hops
from headend.analysis.queue_state import QueueState, describe_queue, does_harm
from headend.analysis.queues import FULL
from headend.analysis.routes import list_links, list_queues
from headend.analysis.transfer_limits import Limit
from headend.results.record import Record
from headend.scenario.cells import count_cells, find_cell

#: A link, and the direction in which it is to blame; empty for both.
Blame = tuple[str, str]

#: Causes that lie beyond all links.
BEYOND = (facts.LossyPath, facts.LongPath)

#: Causes that say nothing of any link.
_UNKNOWN = (facts.Unexplained, facts.Spells)


def find_hops(
    record: Record,
    flows: Sequence[str],
    causes: Sequence[Fact],
    queue: QueueState | None,
    *,
    suffers: bool,
) -> Hops | None:
    """Find which link is to blame; None where no flow crosses a cell and another link.

    Parameters
    ----------
    flows
        The flows, that with the worst grade first.
    causes
        Why flows suffer; where none does, the state of the line.
    queue
        The queue that the run is judged by.
    suffers
        Whether a flow suffers.
    """
    crossing = [own for own in flows if _crosses_several(record, own)]
    if not crossing or not causes or any(isinstance(cause, _UNKNOWN) for cause in causes):
        return None
    blamed: dict[str, set[str]] = {}
    for link, direction in list_blamed(record, causes, queue):
        blamed.setdefault(link, set()).update([direction] if direction else ["up", "down"])
    hit = (own for own in crossing if not blamed.keys().isdisjoint(list_links(record, own)))
    flow = next(hit, crossing[0])
    # Nobody is told that neither link is to blame where a link of somebody else's is.
    ways = {link: own for own in reversed(flows) for link in list_links(record, own)}
    rest = [link for link in blamed if link in ways and link not in list_links(record, flow)]
    hops = [
        *(_describe_hop(record, flow, link, blamed) for link in list_links(record, flow)),
        *(_describe_hop(record, ways[link], link, blamed) for link in rest),
    ]
    links = record.manifest["scenario"]["link"]
    return Hops(flow, tuple(hops), suffers, count_cells(links))


def _crosses_several(record: Record, flow: str) -> bool:
    """Say whether a flow crosses a cell and another link."""
    links = list_links(record, flow)
    return len(links) > 1 and any(find_cell_of(record, link) for link in links)


def _describe_hop(
    record: Record, flow: str, link: str, blamed: Mapping[str, Collection[str]]
) -> Hop:
    table = record.manifest["scenario"]["link"][link]
    cells = {state.link: state for state in gather_cells(record)}
    rows = [row for way in ("up", "down") for row in list_queues(record, flow, way)]
    met = dict.fromkeys(row["queue"] for row in rows if row["link"] == link)
    states = (describe_queue(record, name) for name in met)
    kind = HopKind.CABLE if "docsis" in table else HopKind.LINE
    return Hop(
        link,
        HopKind.WIFI if find_cell(table) else kind,
        flow,
        tuple(state for state in states if state),
        cells.get(link),
        frozenset(blamed.get(link, ())),
    )


def list_blamed(
    record: Record, causes: Sequence[Fact], queue: QueueState | None
) -> Iterator[Blame]:
    """List the links that causes are about, with the direction in which each is to blame.

    Nothing of a cause that lies beyond all links, and of one that blames none.

    Parameters
    ----------
    queue
        The queue that the run is judged by: some causes are about it.
    """
    for cause in causes:
        if isinstance(cause, facts.SeveralCauses):
            yield from ((group.link, group.direction) for group in cause.groups)
        elif isinstance(cause, facts.WaitsForGrants):
            yield cause.link, "up"
        elif isinstance(cause, facts.LimitedTransfers):
            for limit in cause.limits:
                if limit.line and limit.kind is Limit.LINE:
                    yield limit.line.link, limit.direction
        elif isinstance(cause, facts.HiddenStations):
            yield cause.hidden.link, ""
        elif isinstance(cause, facts.WeakSignal):
            yield cause.signal.link, ""
        elif isinstance(cause, facts.Barred):
            if cause.link:
                yield cause.link, ""
        elif isinstance(cause, facts.Policed):
            yield _find_place(record, cause.queue)
        elif isinstance(cause, facts.QueueUse | facts.OtherQueue):
            if not isinstance(cause, facts.SpareLine):
                yield cause.queue.link, cause.queue.direction
            if isinstance(cause, facts.TurnWait):
                yield from (_find_place(record, other) for other in cause.others)
        elif not isinstance(cause, BEYOND) and queue and _is_busy(queue):
            yield queue.link, queue.direction


def _find_place(record: Record, queue: str) -> Blame:
    """Give the link and the direction of a queue; a station may be named like a direction."""
    rows = (row for row in record.rows("queues") if row["queue"] == queue)
    direction = next((row["direction"] for row in rows), "")
    return queue.partition(".")[0], direction


def _is_busy(queue: QueueState) -> bool:
    return does_harm(queue) or (queue.utilisation or 0.0) > FULL
