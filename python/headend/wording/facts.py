"""The words for each kind of fact, in two lengths; a new fact is registered in `WORDS`.

- `describe_facts` gives the sentences of ``--full``, pages and notes;
- `summarize_facts` gives a clause for the first lines of an answer;
- `advise` says there what to change.

The sentences of a subject stand in one file: ``queue.py``, ``line.py``, ``cell.py``, ``hops.py``,
``low_latency.py``, ``emulation.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from headend.analysis import facts
from headend.analysis.facts import SHORTENING, Action, Fact, Remedy
from headend.wording import cell, emulation, hops, line, low_latency, proposals, queue, transfers


class Words(NamedTuple):
    """How a fact is written; None where it is not told at that length.

    Parameters
    ----------
    full
        Gives one sentence, or several.
    brief
        Gives a clause with a subject of its own, such as ``packets wait 211 ms in the standing
        queue cable.up``.
    """

    full: Callable[[Any], str | list[str]] | None = None
    brief: Callable[[Any], str] | None = None


WORDS: dict[type, Words] = {
    facts.Untrustworthy: Words(emulation.full_untrustworthy),
    facts.OpenLoop: Words(emulation.full_open_loop),
    facts.UnequalReplay: Words(emulation.full_unequal),
    facts.Partial: Words(line.full_partial),
    facts.NothingSent: Words(line.full_nothing_sent),
    facts.NothingDelivered: Words(line.full_nothing_delivered),
    facts.PathLoss: Words(line.full_path_loss),
    facts.LossyPath: Words(None, line.brief_lossy_path),
    facts.Barred: Words(None, line.brief_barred),
    facts.HiddenStations: Words(cell.full_hidden, cell.brief_hidden),
    facts.WeakSignal: Words(cell.full_signal, cell.brief_signal),
    facts.LongPath: Words(line.full_long_path, line.brief_long_path),
    facts.FullChannel: Words(line.full_channel),
    facts.QueueUse: Words(queue.full_use),
    facts.OtherBottleneck: Words(queue.full_other_bottleneck),
    facts.Collisions: Words(line.full_collisions, line.brief_collisions),
    facts.WaitsForGrants: Words(line.full_waits_for_grants, line.brief_waits_for_grants),
    facts.WaitsForChannel: Words(line.full_waits_for_channel, line.brief_waits_for_channel),
    facts.StandingQueue: Words(queue.full_standing, queue.brief_standing),
    facts.TurnWait: Words(line.full_turn, line.brief_turn),
    facts.LossyQueue: Words(queue.full_losses, queue.brief_losses),
    facts.QueueAtTimes: Words(queue.full_at_times, queue.brief_at_times),
    facts.FullLine: Words(queue.full_full_line, queue.brief_full_line),
    facts.RareWaits: Words(queue.full_rare, queue.brief_rare),
    facts.ThrottledSenders: Words(queue.full_throttled, queue.brief_throttled),
    facts.Policed: Words(queue.full_policed, queue.brief_policed),
    facts.SpareLine: Words(lambda _: "The line had room to spare.", queue.brief_spare),
    facts.AcksFill: Words(transfers.full_acks, transfers.brief_acks),
    facts.LimitedTransfers: Words(transfers.full_limits, transfers.brief_limits),
    facts.UnequalControls: Words(transfers.full_controls, transfers.brief_controls),
    facts.LowPicture: Words(None, transfers.brief_low_picture),
    facts.SharedTunnel: Words(None, transfers.brief_tunnel),
    facts.OtherQueue: Words(transfers.full_other_queue, transfers.brief_other_queue),
    facts.Spells: Words(transfers.full_spells, transfers.brief_spells),
    facts.Unexplained: Words(line.full_unexplained),
    facts.Hops: Words(hops.full_hops, hops.brief_hops),
    facts.SeveralCauses: Words(None, line.brief_several_causes),
    facts.LowLatencyUnused: Words(low_latency.full_unused),
    facts.LowLatencyUse: Words(low_latency.full_use),
    facts.Sanctions: Words(low_latency.full_sanctions),
    facts.MoreSanctions: Words(low_latency.full_more),
    facts.SanctionedFlow: Words(None, low_latency.brief_sanctioned),
    facts.KeptOut: Words(None, low_latency.brief_kept_out),
}


def describe_facts(found: Iterable[Fact], *, are_tried: bool = False) -> list[str]:
    """Write facts in full: the sentences of each, in their order.

    Parameters
    ----------
    are_tried
        Whether settings were tried, so that an answer says what they do: none is proposed here.
    """
    sentences = []
    for fact in found:
        write = WORDS[type(fact)].full
        text = write(_leave_settings(fact) if are_tried else fact) if write else []
        sentences += [text] if isinstance(text, str) else text
    return sentences


def _leave_settings(fact: Fact) -> Fact:
    """Give a fact whose remedies have no setting."""
    return replace(fact, remedies=tuple(replace(remedy, path="") for remedy in fact.remedies))


def summarize_facts(found: Iterable[Fact]) -> str:
    """Write facts as clauses of one sentence; empty where there is nothing to say."""
    writers = ((WORDS[type(fact)].brief, fact) for fact in found)
    return "; ".join(write(fact) for write, fact in writers if write)


def advise(remedy: Remedy | None) -> str:
    """Say in one short sentence what to change; empty where nothing is proposed."""
    return ADVICE[remedy.action](remedy) if remedy else ""


#: How a remedy is written in an answer, by what it does.
ADVICE: dict[Action, Callable[[Any], str]] = {
    **dict.fromkeys(SHORTENING, queue.brief_remedy),
    Action.LOOK_ELSEWHERE: lambda _: (
        "No queue explains it: look at loss, the delay of the path and the offered rates."
    ),
    Action.MORE_CAPACITY: line.advise_on_channel,
    Action.MORE_AIR: cell.advise_on_air,
    Action.LARGER_PACKETS: cell.advise_on_air,
    Action.STATION_QUEUES: cell.advise_on_turns,
    Action.FASTER_STATION: cell.advise_on_station,
    Action.CABLE_STATION: cell.advise_on_cable,
    Action.ANNOUNCE_FRAMES: cell.advise_on_hidden,
    Action.NEARER_STATION: cell.advise_on_signal,
    Action.FREE_RATE: cell.advise_on_mode,
    Action.FLOW_QUEUES: lambda remedy: (
        "A queue for each flow (fq_codel) may protect those who send little"
        f"{proposals.end_untried(remedy)}."
    ),
    Action.LESS_LOAD: lambda _: (
        "More is sent than the line carries: look at the queue's limit and the offered rates."
    ),
    # The clause of the fact says it.
    **dict.fromkeys((Action.RAISE_LIMIT, Action.RAISE_TARGET), lambda _: ""),
    Action.MORE_OPPORTUNITIES: line.advise_on_contention,
    Action.SHORTER_BACKOFF: line.advise_on_contention,
    Action.FEWER_MODEMS: line.advise_on_contention,
    Action.THIN_ACKS: transfers.advise_on_acks,
    Action.RAISE_BURST: queue.advise_on_policer,
    Action.SEPARATE_FLOWS: line.advise_on_hash,
    Action.NEW_FLOWS_FIRST: line.advise_on_turn,
    Action.LEAVE_TUNNEL: transfers.advise_on_tunnel,
    Action.LOWER_RATE: transfers.advise_on_router,
    Action.MARK_PACKETS: low_latency.advise,
    Action.RAISE_THRESHOLD: low_latency.advise,
    Action.USE_CLASSIC: low_latency.advise,
}
