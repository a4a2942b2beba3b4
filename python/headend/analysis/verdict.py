"""All that was judged of a run: flows and the queue, in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from headend.analysis.bottleneck import find_bottleneck, find_shared_bottleneck
from headend.analysis.channels import ChannelState, gather_channels, tell_channel
from headend.analysis.collisions import tell_meetings
from headend.analysis.contention import advise_on_contention, count_contention
from headend.analysis.emulation import tell_caveats
from headend.analysis.grading import (
    ORDER,
    Finding,
    Grade,
    judge_flows,
    read_number,
    write_quantity,
)
from headend.analysis.low_latency import tell_low_latency
from headend.analysis.modem_tlvs import find_tlvs
from headend.analysis.origins import Place, find_origins
from headend.analysis.queues import (
    FULL,
    LONG_WAIT,
    LOSSY_SHARE,
    OWN_RATE,
    SHORT_WAIT,
    STANDING_TIME,
    STOOD_AT_TIMES,
    locate_key,
    name_queue_key,
    weigh_queues,
)
from headend.analysis.throttling import Throttled, find_throttled
from headend.engine.columns import MIXED
from headend.engine.description import REAL, Reason, describe, find_queue, list_discards
from headend.scenario.groups import find_groups, label_member, name_group, order_naturally
from headend.scenario.parameters import find_value
from headend.text.wording import join_names, list_names

if TYPE_CHECKING:
    from headend.results.record import Record

#: Flows that a sentence names at most.
MOST_NAMED = 4

#: Share of its buffer up to which DOCSIS-PIE sleeps (RFC 8034).
SLEEPS_TO = 1 / 3

#: Share of its limit from which that is what ends a queue's growth.
AT_ITS_LIMIT = 0.8


@dataclass(frozen=True)
class Party:
    """A flow, or all members of a group of flows as one.

    Parameters
    ----------
    name
        Of the flow, or what the members have in common.
    label
        What to call it: ``call``, or ``web ×100``.
    findings
        How each member fared, from the worst to the best.
    """

    name: str
    label: str
    findings: tuple[Finding, ...]

    @property
    def is_group(self) -> bool:
        """Whether it stands for several flows."""
        return len(self.findings) > 1

    @property
    def worst(self) -> Finding:
        """The member that suffers most."""
        return self.findings[0]

    @property
    def middle(self) -> Finding:
        """The member in the middle; of two, the one that fares worse."""
        return self.findings[(len(self.findings) - 1) // 2]

    @property
    def grades(self) -> dict[Grade, int]:
        """How many members have each grade that there is to have, the worst first."""
        counts = dict.fromkeys(reversed(ORDER), 0)
        for finding in self.findings:
            counts[finding.grade] += 1
        return {grade: count for grade, count in counts.items() if count and grade != Grade.NONE}

    @property
    def has_limits(self) -> bool:
        """Whether it is known of a member what held its TCP senders back."""
        return any(finding.limit for finding in self.findings)

    @property
    def goodput_bps(self) -> float:
        """What all members get together."""
        return sum(finding.goodput_bps or 0.0 for finding in self.findings)


@dataclass(frozen=True)
class QueueState:
    """Where a queue stood. Delays in ns.

    Parameters
    ----------
    alike
        How many queues there are of its group, itself included.
    by_law
        Of the discarded packets, those that its law dropped early.
    overflowed
        Of them, those for which it had no room.
    reason
        Why most of those packets were discarded that were.
    standing_ratio
        Share of the time in which it stood: in which a packet in it had waited for more than 50 ms.
    standing
        How many of them stood for most of the time.
    room_ns
        How long its limit in bytes takes at its rate; None where it has none.
    filled_ratio
        Share of that limit which its longest backlog took; None where it has none.
    is_tcps
        Whether most of what was discarded or marked for its reasons, in its direction, was TCP's.
    """

    queue: str
    link: str
    direction: str
    discipline: str
    rate_bps: float
    delay_p50_ns: float | None
    delay_p99_ns: float | None
    standing_ratio: float
    utilisation: float | None
    discarded: int
    lost_ratio: float
    marked: int
    by_law: int = 0
    overflowed: int = 0
    reason: str = ""
    alike: int = 1
    standing: int = 0
    room_ns: float | None = None
    filled_ratio: float | None = None
    is_tcps: bool = False


@dataclass(frozen=True)
class Verdict:
    """How everybody fared and where the queue stood.

    Parameters
    ----------
    findings
        Of each flow, those who suffer most first.
    queue
        The one that did the harm, or that the scenario is about.
    notes
        Sentences on the queue, full channels and lossy paths: what the answer and the table of
        people leave out.
    channels
        Those that were full.
    """

    findings: list[Finding]
    queue: QueueState | None
    notes: list[str]
    channels: list[ChannelState]

    @property
    def paragraph(self) -> str:
        """All notes, one after the other."""
        return " ".join(self.notes)

    @property
    def parties(self) -> list[Party]:
        """Flows, and groups of flows as one, those with the worst member first."""
        return gather_parties(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return asdict(self)


def judge(result: Record) -> Verdict:
    """Judge a run."""
    findings = sorted(judge_flows(result), key=lambda finding: -ORDER.index(finding.grade))
    name = find_bottleneck(result)
    queue = describe_queue(result, name) if name else None
    channels = [state for state in gather_channels(result) if state.is_full]
    return Verdict(findings, queue, _write_notes(result, findings, queue, channels), channels)


def gather_parties(findings: Sequence[Finding]) -> list[Party]:
    """Put members of a group together, each with the worst first."""
    groups = find_groups([finding.flow for finding in findings])
    gathered: dict[str, list[Finding]] = {}
    for finding in findings:
        gathered.setdefault(label_member(finding.flow, groups), []).append(finding)
    return [
        Party(
            name_group(members[0].flow) if len(members) > 1 else members[0].flow,
            label,
            tuple(
                sorted(
                    members,
                    key=lambda member: (
                        -ORDER.index(member.grade),
                        -member.strain,
                        # A scale has an end: among those at it, who loses more is worse off.
                        -(member.loss_ratio or 0.0),
                        order_naturally(member.flow),
                    ),
                )
            ),
        )
        for label, members in gathered.items()
    ]


def pair_parties(verdicts: Sequence[Verdict]) -> list[tuple[str, list[Party | None]]]:
    """Give each flow or group, by what to call it, with how it fared in each run, or None."""
    runs = [{party.name: party for party in verdict.parties} for verdict in verdicts]
    pairs = []
    for name in dict.fromkeys(name for parties in runs for name in parties):
        found = [parties.get(name) for parties in runs]
        labels = {party.label for party in found if party}
        pairs.append((labels.pop() if len(labels) == 1 else name, found))
    return pairs


def describe_queue(result: Record, name: str) -> QueueState | None:
    """Describe a queue, if it had packets."""
    import polars as pl

    queues = weigh_queues(result)
    rows = queues.filter(pl.col("queue") == name)
    if rows.is_empty():
        return None
    row = rows.row(0, named=True)
    group = find_groups(queues["queue"]).get(name)
    # Of its tier: others of its group have another rate.
    tier = pl.col("rate_bps") == row["rate_bps"]
    alike = queues.filter(pl.col("queue").is_in(group.members) & tier) if group else rows
    return QueueState(
        queue=row["queue"],
        link=row["link"],
        direction=row["direction"],
        discipline=row["discipline"],
        rate_bps=row["rate_bps"],
        delay_p50_ns=read_number(row["delay_p50_ns"]),
        delay_p99_ns=read_number(row["delay_p99_ns"]),
        standing_ratio=row["standing_ratio"],
        utilisation=read_number(row["utilisation"]),
        discarded=row["lost"],
        lost_ratio=row["lost_ratio"],
        marked=row["marked"],
        by_law=sum(row[name] for name in list_discards("share", "law")),
        overflowed=row["discarded_overlimit"],
        reason=_find_reason(row),
        alike=alike.height,
        standing=int((alike["standing_ratio"] > STANDING_TIME).sum()),
        room_ns=_measure_room(row),
        filled_ratio=_measure_fill(row),
        is_tcps=_is_tcps(result, row),
    )


def _measure_room(row: Mapping[str, Any]) -> float | None:
    limit, rate = read_number(row["limit_bytes"]), read_number(row["rate_bps"])
    if limit is None or not rate or math.isinf(limit):
        return None
    return limit * 8e9 / rate


def _measure_fill(row: Mapping[str, Any]) -> float | None:
    limit, longest = read_number(row["limit_bytes"]), read_number(row["backlog_max_bytes"])
    if not limit or longest is None or math.isinf(limit):
        return None
    return longest / limit


def _is_tcps(result: Record, row: Mapping[str, Any]) -> bool:
    """Say whether TCP loses the packets, or has them marked; which queue did it is not known."""
    import polars as pl

    reasons = [reason.column for reason in _list_reasons() if row[reason.column]]
    reasons += ["marked"] if row["marked"] else []
    if not reasons:
        return False
    counts = result.flows.filter(pl.col("direction") == row["direction"]).select(
        "flow", "transport", count=pl.sum_horizontal(reasons)
    )
    tcp = sum(
        count * _find_share_of_tcp(result, flow, transport, row["direction"])
        for flow, transport, count in counts.iter_rows()
        if count
    )
    return bool(2 * tcp > counts["count"].sum())


def _find_share_of_tcp(result: Record, flow: str, transport: str, way: str) -> float:
    """Give the share of TCP in what a flow lost, or had marked; a host's connections tell."""
    if transport != MIXED:
        return float(transport == "tcp")
    lost: dict[str, int] = dict.fromkeys(("tcp", "other"), 0)
    columns = ("protocol", f"discarded_{way}", f"marked_{way}")
    for protocol, *counts in result.real_flows.filter(flow=flow).select(columns).iter_rows():
        lost["tcp" if protocol == "tcp" else "other"] += sum(counts)
    return lost["tcp"] / max(sum(lost.values()), 1)


def _list_reasons() -> list[Reason]:
    """List the reasons for which queues lose packets."""
    return [reason for reason in describe().reasons.values() if reason.look]


def _find_reason(row: Mapping[str, Any]) -> str:
    """Find the reason for most of a queue's losses; none where it lost nothing."""
    counts = {reason.name: row[reason.column] for reason in _list_reasons()}
    reason = max(counts, key=counts.__getitem__)
    return reason if counts[reason] else ""


def describe_shared_queue(results: Sequence[Record]) -> list[QueueState | None]:
    """Describe the one queue that runs are compared by, in each of them."""
    name = find_shared_bottleneck(results)
    return [describe_queue(result, name) if name else None for result in results]


def note_comparison(results: Sequence[Record], verdicts: Sequence[Verdict]) -> list[str]:
    """Say what a table of people by runs leaves out: harmful queues and full channels.

    Of one run, which is all that is left of some comparisons, it is the verdict's notes.

    Parameters
    ----------
    results, verdicts
        The runs, and what was judged of each.
    """
    if len(results) == 1:
        return verdicts[0].notes
    labels = [result.label for result in results]
    helpless = [
        f"some of {name}" if any(party.is_group for party in parties if party) else name
        for name, parties in pair_parties(verdicts)
        if all(party and party.worst.suffers for party in parties)
    ]
    culprits = _tell_culprits(labels, verdicts) if helpless else ""
    told = [f"Badly off in every run: {list_names(helpless, MOST_NAMED)}. {culprits}"]
    return [*(told if culprits else []), *_tell_full_channels(labels, verdicts)]


def _tell_culprits(labels: Sequence[str], verdicts: Sequence[Verdict]) -> str:
    """Say which queue does the harm in each run, where one does."""
    names: dict[tuple[str, float], str] = {}
    blamed: dict[str, list[str]] = {}
    for label, verdict in zip(labels, verdicts, strict=True):
        queue = verdict.queue
        if queue and _does_harm(queue):
            # Of the many of a tier it is now one, now another that is the worst.
            kind = (name_group(queue.queue) or queue.queue, queue.rate_bps)
            name = f"queues like {queue.queue}" if queue.alike > 1 else f"the queue {queue.queue}"
            blamed.setdefault(names.setdefault(kind, name), []).append(label)
    if not blamed:
        return ""
    if list(map(len, blamed.values())) == [len(labels)]:
        return f"The cause is {next(iter(blamed))}."
    told = [f"{name} under {join_names(where)}" for name, where in blamed.items()]
    return f"The cause is {join_names(told)}."


def _does_harm(queue: QueueState) -> bool:
    """Say whether a queue is long or lossy enough to be felt."""
    is_long = queue.standing_ratio > STOOD_AT_TIMES or (queue.delay_p99_ns or 0.0) > LONG_WAIT
    return is_long or queue.lost_ratio > LOSSY_SHARE


def count_suffering(party: Party) -> int:
    """Count the members that are poorly or badly off."""
    return sum(finding.suffers for finding in party.findings)


def _tell_full_channels(labels: Sequence[str], verdicts: Sequence[Verdict]) -> list[str]:
    full: dict[str, list[str]] = {}
    for label, verdict in zip(labels, verdicts, strict=True):
        for state in verdict.channels:
            full.setdefault(state.title, []).append(label)
    return [f"The {name} is full under {join_names(where)}." for name, where in full.items()]


def _write_notes(
    result: Record,
    findings: list[Finding],
    queue: QueueState | None,
    channels: list[ChannelState],
) -> list[str]:
    sentences = [*tell_caveats(result)]
    if result.is_partial:
        stopped, asked = result.manifest["simulated_ns"], result.manifest["duration_ns"]
        sentences.append(
            f"Partial: stopped at {write_quantity(stopped)} of {write_quantity(asked)}."
        )
    sentences += tell_nothing(result)
    is_behind = queue is not None and waits_for_channel(queue, channels)
    throttled = find_throttled(result, queue.queue) if queue and not is_behind else None
    parties = gather_parties(findings)
    judged = [party for party in parties if party.grades]
    suffering = [party for party in judged if party.worst.suffers]
    sentences += _tell_path(parties)
    sentences += map(tell_channel, channels)
    if queue:
        sentences.append(_tell_queue(queue))
        sentences += tell_meetings(result, queue.queue, queue.discipline)
        main = find_origins(result).main if suffering else None
        if main and main.place is Place.CONTENTION and queue.queue in main.queues:
            sentences.append(count_contention(result, queue.link))
            sentences.append(advise_on_contention(result, queue.link))
        elif is_behind:
            sentences += _explain_shortage(result, queue)
        else:
            harm = gather_harm(suffering)
            sentences += _explain_queue(result, queue, throttled, harm, suffers=bool(suffering))
        sentences += _tell_other_bottleneck(result, queue)
        sentences += tell_low_latency(result, queue.queue)
    return sentences


def waits_for_channel(queue: QueueState, channels: Sequence[ChannelState]) -> bool:
    """Say whether a full channel is what a queue waits for, not its own rate."""
    is_behind = any(state.serves(queue.link, queue.direction) for state in channels)
    return is_behind and (queue.utilisation or 0.0) <= OWN_RATE


def tell_nothing(result: Record) -> list[str]:
    """Say so where nothing arrived, and whether that is for want of packets."""
    if result.summary["packets_delivered"][0]:
        return []
    sent = int(result.flows["packets_sent"].sum())
    if not sent:
        if real := _list_real_hosts(result):
            return [
                "Nothing was sent in the measured part, so there is nothing to judge:"
                f" {join_names(real)} sent nothing. Did the program use the names or addresses of"
                " this run?"
            ]
        return [
            "Nothing was sent in the measured part, so there is nothing to judge: look at when"
            " flows start and stop, at warmup and duration."
        ]
    import polars.selectors as cs

    lost = int(result.flows.select(cs.starts_with("discarded_")).sum().sum_horizontal().sum())
    few = _count(sent, "packet")
    return [
        f"Nothing was delivered in the measured part: {few} sent, {write_quantity(lost, 'number')}"
        " lost, the rest still on the way at its end."
    ]


def _list_real_hosts(result: Record) -> list[str]:
    """Name the customers' hosts that are real: those with a flow of real programs."""
    flows = result.manifest["scenario"].get("flow", {})
    own = [str(one.get("host", name)) for name, one in flows.items() if _is_real(one)]
    return own or list(dict.fromkeys(result.flows.filter(application=REAL)["flow"]))


def _is_real(flow: Mapping[str, Any]) -> bool:
    application = flow.get("application")
    return application == REAL or (isinstance(application, dict) and REAL in application)


def _tell_path(parties: Sequence[Party]) -> list[str]:
    """Say whose packets the path beyond the links lost; what queues dropped is not among them."""
    lossy = [
        (party, worst)
        for party in parties
        if (worst := max(finding.path_loss_ratio for finding in party.findings))
    ]
    if not lossy:
        return []
    shares = [
        f"{write_quantity(worst, 'ratio')} of {party.label}{' at most' if party.is_group else ''}"
        for party, worst in lossy
    ]
    return [
        "The path beyond the line (path.loss) lost packets, apart from what queues dropped:"
        f" {list_names(shares, MOST_NAMED)}."
    ]


def _tell_queue(queue: QueueState) -> str:
    lost = ""
    if queue.lost_ratio > LOSSY_SHARE:
        lost = f" and discarded {write_quantity(queue.lost_ratio, 'ratio')} of its packets"
    alike = ""
    if queue.alike > 1:
        stood = f", {queue.standing or 'none'} of them standing"
        alike = f", the worst of {queue.alike} like it{stood},"
    if queue.delay_p50_ns is None:
        return f"The queue {queue.queue} ({queue.discipline}){alike} let no packet through."
    return (
        f"The queue {queue.queue} ({queue.discipline}){alike} held packets"
        f" {write_quantity(queue.delay_p50_ns)} at the median and"
        f" {write_quantity(queue.delay_p99_ns)} at the 99th percentile{lost}, with"
        f" {write_quantity(queue.utilisation, 'ratio')} of its rate used."
    )


def _tell_other_bottleneck(result: Record, queue: QueueState) -> list[str]:
    """Say so where the scenario is about another queue."""
    if result.bottleneck in (None, queue.queue):
        return []
    named = describe_queue(result, str(result.bottleneck))
    held = (
        f"held packets {write_quantity(named.delay_p50_ns)} at the median"
        if named and named.delay_p50_ns is not None
        else "held none"
    )
    return [f"The scenario calls {result.bottleneck} its bottleneck, which {held}."]


def _count(number: int, one: str, many: str = "") -> str:
    """Write how many there are of something: ``1 packet``, ``2 packets``."""
    return f"{write_quantity(number, 'number')} {one if number == 1 else many or f'{one}s'}"


def _explain_shortage(result: Record, queue: QueueState) -> list[str]:
    """Say what a queue can and cannot do about the full channel that it waits for."""
    cause = (
        "It waits for the full channel: only more capacity, or less load, gives everyone their"
        " rate."
    )
    if queue.standing_ratio <= STANDING_TIME:
        return [cause]
    return [
        cause,
        f"How long packets wait there depends on the queue itself. {_advise(result, queue)}",
    ]


def gather_harm(suffering: Sequence[Party]) -> set[str]:
    """Give what those who suffer suffer from, as far as that can be told."""
    return {own.harm for party in suffering for own in party.findings if own.suffers and own.harm}


def _explain_queue(
    result: Record,
    queue: QueueState,
    throttled: Throttled | None,
    harm: set[str],
    *,
    suffers: bool,
) -> list[str]:
    """Say what the queue had to do with what those who suffer felt; advice fits its kind."""
    stood = f"{write_quantity(queue.standing_ratio, 'ratio')} of the time"
    is_short = (queue.delay_p50_ns or 0.0) <= SHORT_WAIT
    passing = _tell_passing(result, queue)
    if queue.standing_ratio > STANDING_TIME:
        if passing:
            told = f"Packets stand in it {stood}{passing}"
            return [told, _advise(result, queue)] if suffers else [told]
        advice = _advise(result, queue)
        return [f"That is a standing queue: packets waited more than 50 ms in it {stood}. {advice}"]
    slowed = [_tell_throttled(queue, throttled)] if throttled else []
    if queue.lost_ratio > LOSSY_SHARE and harm != {"late"}:
        return [_tell_losses(queue, is_felt="lost" in harm), *slowed]
    if queue.standing_ratio > STOOD_AT_TIMES or (queue.delay_p50_ns or 0.0) > LONG_WAIT:
        waits = suffers and harm != {"lost"}
        felt = "that is what those feel who suffer" if waits else "who sends while it stands waits"
        told = f"It stood {stood}{', and was short otherwise' if is_short else ''}: {felt}."
        if passing:
            told = f"Packets stood in it {stood}{passing}"
        return [told, _advise(result, queue)] if waits else [told]
    if (queue.utilisation or 0.0) > FULL:
        return _explain_full_line(result, queue, suffers=suffers)
    if "late" in harm and (queue.delay_p99_ns or 0.0) > LONG_WAIT:
        rare = f"1 packet in 100 waited more than {write_quantity(queue.delay_p99_ns)}"
        told = f"It stood {stood} only, but {rare}: that is what those feel who suffer."
        if passing:
            told = f"It stood {stood} only. {rare}{passing}"
        return [told, _advise(result, queue)]
    if slowed:
        return slowed
    if suffers:
        return ["No queue stood: look at loss, wide-area delay and the offered rates."]
    return ["The line had room to spare."]


def _tell_passing(result: Record, queue: QueueState) -> str:
    """Say that not everybody waits as long as a queue's delays say, and end the sentence."""
    passing = find_passing(result, queue)
    return f", but not everybody's: {queue.discipline} {passing}." if passing else ""


def find_passing(result: Record, queue: QueueState) -> str:
    """Say which packets pass others in a queue, as the end of a sentence; or nothing."""
    passing = find_queue(queue.discipline).lets_pass
    return "" if not passing or _is_one_band(result, queue) else passing


def _is_one_band(result: Record, queue: QueueState) -> bool:
    """Say whether all packets of a strict-priority queue are in one band: none passes another."""
    key = locate_key(result, queue.queue)
    if queue.discipline != "strict_priority" or key is None:
        return False
    scenario = result.manifest["scenario"]
    own = f"{key}.strict_priority.bands"
    bands = find_value(scenario, own)
    if not bands:
        return False
    dscps = {flow.get("dscp", 0) for flow in scenario.get("flow", {}).values()}
    # The empty band takes what no other names.
    rest = bands.index([])
    used = {
        next((place for place, band in enumerate(bands) if dscp in band), rest) for dscp in dscps
    }
    # What flows of other lines say of themselves is left out: the engine warns of bands to which
    # nothing comes here.
    warned = [
        place
        for place in used - {rest}
        if any(text.startswith((f"{own}: ", f"{own}[{place}]: ")) for text in result.warnings)
    ]
    return len(used.difference(warned)) <= 1


def _tell_losses(queue: QueueState, *, is_felt: bool) -> str:
    """Say what a queue's losses mean: TCP sends again what it lost, and slows down for it."""
    reason = describe().reasons[queue.reason]
    why = reason.look_of_tcp
    if not queue.is_tcps or not why:
        return f"The packets that it drops do not arrive: {reason.look}."
    told = f"Most of the packets that it drops are TCP's, which sends them again: {why}."
    if not is_felt:
        return told
    return (
        f"{told} Other flows in this queue lose packets too: a queue for each flow (fq_codel)"
        " protects those that send little."
    )


def _explain_full_line(result: Record, queue: QueueState, *, suffers: bool) -> list[str]:
    """Say what a full line costs in a queue that is none of those that stand."""
    passing = _tell_passing(result, queue)
    if (queue.delay_p50_ns or 0.0) > SHORT_WAIT:
        told = (
            "The line was full, and so was its queue: half of the packets waited more than"
            f" {write_quantity(queue.delay_p50_ns)}{_tell_room(queue)}"
        )
        if passing:
            return [f"{told}{passing}"]
        return [f"{told}.", _advise(result, queue)]
    if (queue.delay_p99_ns or 0.0) > LONG_WAIT:
        felt = "that is what those feel who suffer" if suffers else "calls and games feel that"
        short = "The line was full and the queue short at the median"
        rare = f"1 packet in 100 waited more than {write_quantity(queue.delay_p99_ns)}"
        told = f"{short}. {rare}{passing}" if passing else f"{short}, but {rare}: {felt}."
        return [told, _advise(result, queue)] if suffers else [told]
    if suffers:
        return [
            "The line was full and the queue stayed short: look at loss, wide-area delay and the"
            " offered rates."
        ]
    return ["The line was full and the queue stayed short, which is what a good queue does."]


def _tell_room(queue: QueueState) -> str:
    """Say how long a queue without a law can get: laws keep away from their limits."""
    if find_queue(queue.discipline).bound != "buffer" or not queue.room_ns:
        return ""
    return f" of the {write_quantity(queue.room_ns)} that it can hold"


def _tell_throttled(queue: QueueState, throttled: Throttled) -> str:
    """Say that the line was idle for what its queue told senders that had more to send, and why."""
    idle = write_quantity(throttled.idle_ratio, "ratio")
    flows = list_names(list(throttled.flows), MOST_NAMED)
    told = f"{idle} of the line was idle although {flows} had more to send"
    if throttled.by_limit:
        lost = _count(queue.discarded, "loss", "losses")
        each = "after its" if queue.discarded == 1 else "after each of its"
        if queue.room_ns and queue.room_ns < throttled.rtt_ns:
            return (
                f"{told}: with room for {write_quantity(queue.room_ns)} where a round trip takes"
                f" {write_quantity(throttled.rtt_ns)}, the queue runs empty {each} {lost}. A larger"
                " limit fills the line."
            )
        return f"{told}: after its {lost} the senders were slow to grow back to the line's rate."
    did = "marked" if queue.marked > queue.by_law else "dropped"
    waits = (
        (
            " On a cable upstream, request and grant alone take milliseconds, which a law takes for"
            " a queue."
        )
        if throttled.asks_for_grants
        else ""
    )
    return (
        f"{told}: its law ({queue.discipline}) {did}"
        f" {_count(max(queue.marked, queue.by_law), 'packet')}, too early for this line.{waits} A"
        " higher target or threshold fills it."
    )


def _advise(result: Record, queue: QueueState) -> str:
    key = name_queue_key(result, queue.queue)
    tries = f"; --set {key}=… tries one." if key else "."
    about = find_queue(queue.discipline)
    if about.governor == "chosen_law":
        own = about.law_key
        tries = f"; --set {key}.{queue.discipline}.{own}=codel tries one." if key and own else "."
        return f"A smaller limit, or an AQM for the queues in it, shortens that{tries}"
    tlvs = find_tlvs(result, queue.link, queue.direction)
    if about.governor == "nothing":
        return f"A limit{tlvs.buffer} or an AQM{tlvs.aqm} shortens it{tries}"
    if about.governor == "bound":
        return f"A smaller {about.bound}{tlvs.buffer} or an AQM{tlvs.aqm} shortens it{tries}"
    counted = queue.by_law + queue.marked
    if not counted and is_asleep(queue):
        return _tell_asleep(queue, key, tlvs.buffer)
    if not counted and queue.overflowed:
        return (
            f"Its AQM ({queue.discipline}) dropped nothing, and"
            f" {_count(queue.overflowed, 'packet')} found no room: it assumes a rate that the line"
            " does not give, or its parameters allow this delay."
        )
    if not counted:
        return (
            f"Its AQM ({queue.discipline}) dropped nothing: it assumes a rate that the line does"
            " not give, or its parameters allow this delay."
        )
    more = f" ({_count(queue.overflowed, 'more packet')} found no room)" if queue.overflowed else ""
    did = (
        f"Its AQM ({queue.discipline}) dropped or marked {_count(counted, 'packet')}{more} and"
        " could not shorten it"
    )
    if not queue.is_tcps:
        return (
            f"{did}: its senders do not slow down when packets are dropped, or its parameters allow"
            " this delay."
        )
    told = (
        f"{did}: its parameters allow this delay, or new transfers fill it before they notice a"
        " drop."
    )
    room = queue.room_ns or math.inf
    # One that does not get its rate holds packets for longer than its limit takes at that rate.
    if not AT_ITS_LIMIT <= (queue.delay_p99_ns or 0.0) / room <= 1 / AT_ITS_LIMIT:
        return told
    limit = f"; --set {key}.{queue.discipline}.limit=… tries one." if key else "."
    return (
        f"{told} It holds {write_quantity(room)} at most; a smaller limit{tlvs.buffer} shortens the"
        f" worst{limit}"
    )


def is_asleep(queue: QueueState) -> bool:
    """Say whether a queue's law did nothing because it begins only at some fill of the buffer."""
    is_low = queue.filled_ratio is not None and queue.filled_ratio < SLEEPS_TO
    return queue.discipline == "docsis_pie" and is_low


def _tell_asleep(queue: QueueState, key: str | None, tlv: str) -> str:
    longest = (queue.room_ns or 0.0) * (queue.filled_ratio or 0.0)
    tries = f"; --set {key}.docsis_pie.limit=… tries one." if key else "."
    return (
        "Its AQM (docsis_pie) never woke: it drops nothing while less than a third of its buffer is"
        f" filled (RFC 8034), and of the {write_quantity(queue.room_ns)} that this one holds"
        f" {write_quantity(longest)} were the most. A smaller buffer{tlv} wakes it sooner{tries}"
    )
