"""The answer first: who suffered, how much, and where the queue stood, in numbers and in words.

Marks, and where they come from:

- a call: ITU-T G.107 Annex B's classes of satisfaction, as MOS 4.0, 3.6 and 3.1, applied to the 5th percentile of the
  scoring periods (a call is as good as its bad spells);
- one-way delay: ITU-T G.114's 150 ms (good) and 400 ms (unacceptable);
- ping: 130 ms round trip, what games ask for, then 250 and 400 ms;
- loss of pings and datagrams: 1, 2.5 and 5 %, ours;
- page load: 2, 4 and 10 s, ours; of a page that never came, the time waited for it;
- whatever sent and got nothing through is bad.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from headend.bottleneck import (
    LOSSY_SHARE,
    STANDING_QUEUE_NS,
    find_bottleneck,
    find_shared_bottleneck,
    name_queue_key,
    weigh_queues,
)
from headend.quantity import format_quantity

if TYPE_CHECKING:
    import polars as pl

    from headend.result import Result

#: Loss of pings and of datagrams, as shares.
LOSS_MARKS = (0.01, 0.025, 0.05)

#: Share of a call's packets, lost or late, from which they are named as what spoils it.
AUDIBLE_LOSS = 0.005

#: Up to so many runs, a comparison tells how each flow fared in each.
FEW_RUNS = 3

#: Flows told of in a comparison; with the queue, that makes four sentences.
MOST_TOLD = 3


class Grade(StrEnum):
    """How a flow fared; ``NONE`` where there is nothing to judge, as for a bulk transfer."""

    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"
    BAD = "bad"
    NONE = "none"


_ORDER = [Grade.NONE, Grade.GOOD, Grade.FAIR, Grade.POOR, Grade.BAD]


@dataclass(frozen=True)
class Finding:
    """How one flow fared. Delays in ns, rates in bit/s; None where nothing was measured."""

    flow: str
    application: str
    grade: Grade
    experience: str
    delay_p50_ns: float | None
    delay_p95_ns: float | None
    loss_ratio: float | None
    goodput_bps: float | None


@dataclass(frozen=True)
class QueueState:
    """Where a queue stood. Delays in ns."""

    queue: str
    discipline: str
    rate_bps: float
    delay_p50_ns: float | None
    delay_p99_ns: float | None
    utilisation: float | None
    discarded: int
    lost_ratio: float
    marked: int


@dataclass(frozen=True)
class Verdict:
    """All findings of a run and a paragraph that says them."""

    findings: list[Finding]
    queue: QueueState | None
    paragraph: str

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return asdict(self)


def judge(result: Result) -> Verdict:
    """Judge a run."""
    names = result.flows["flow"].unique(maintain_order=True)
    findings = [_judge_flow(_Evidence.gather(result, name)) for name in names]
    findings.sort(key=lambda finding: -_ORDER.index(finding.grade))
    name = find_bottleneck(result)
    queue = describe_queue(result, name) if name else None
    return Verdict(findings, queue, _write_paragraph(result, findings, queue))


def describe_queue(result: Result, name: str) -> QueueState | None:
    """Describe a queue, if it had packets."""
    import polars as pl

    rows = weigh_queues(result).filter(pl.col("queue") == name)
    if rows.is_empty():
        return None
    row = rows.row(0, named=True)
    return QueueState(
        queue=row["queue"],
        discipline=row["discipline"],
        rate_bps=row["rate_bps"],
        delay_p50_ns=_number(row["delay_p50_ns"]),
        delay_p99_ns=_number(row["delay_p99_ns"]),
        utilisation=_number(row["utilisation"]),
        discarded=row["lost"],
        lost_ratio=row["lost_ratio"],
        marked=row["marked"],
    )


def describe_shared_queue(results: Sequence[Result]) -> list[QueueState | None]:
    """Describe the one queue that runs are compared by, in each of them."""
    name = find_shared_bottleneck(results)
    return [describe_queue(result, name) if name else None for result in results]


def summarise_comparison(results: Sequence[Result]) -> list[str]:
    """Say in at most four sentences what the choice between several runs does to each flow and to the queue."""
    verdicts = [judge(result) for result in results]
    labels = [result.label for result in results]
    changes = []
    for flow in dict.fromkeys(f.flow for verdict in verdicts for f in verdict.findings):
        fates = [
            (label, finding)
            for label, verdict in zip(labels, verdicts, strict=True)
            for finding in verdict.findings
            if finding.flow == flow
        ]
        if len({finding.grade for _, finding in fates}) > 1:
            changes.append((flow, _tell_fates(fates)))
    told = len(changes) if len(changes) <= MOST_TOLD else MOST_TOLD - 1
    lines = [f"{flow}: {fates}." for flow, fates in changes[:told]]
    if len(changes) > told:
        lines.append(
            f"The grades of {_list_names([flow for flow, _ in changes[told:]])} change too."
        )
    if not lines:
        lines.append(_tell_unchanged(verdicts))
    lines += _tell_shared_queue(results)
    partial = [result.label for result in results if result.is_partial]
    return [*lines, f"Partial, stopped before its end: {_join(partial)}."] if partial else lines


def _tell_fates(fates: list[tuple[str, Finding]]) -> str:
    """Say how a flow fared in each run, or for many runs, in which it fared alike."""
    if len(fates) <= FEW_RUNS:
        return ", ".join(
            f"{_name_grade(finding)} under {label} ({finding.experience})"
            for label, finding in fates
        )
    alike: dict[str, list[str]] = {}
    for label, finding in sorted(fates, key=lambda fate: -_ORDER.index(fate[1].grade)):
        alike.setdefault(_name_grade(finding), []).append(label)
    return ", ".join(f"{grade} under {_join(labels)}" for grade, labels in alike.items())


def _name_grade(finding: Finding) -> str:
    return "well" if finding.grade is Grade.NONE else str(finding.grade)


def _tell_unchanged(verdicts: Sequence[Verdict]) -> str:
    suffering = {
        finding.flow
        for verdict in verdicts
        for finding in verdict.findings
        if finding.grade in (Grade.POOR, Grade.BAD)
    }
    if not suffering:
        return "The choice changes nobody's grade."
    are = "is" if len(suffering) == 1 else "are"
    return f"The choice changes nobody's grade: {_list_names(sorted(suffering))} {are} badly off in every run."


def _tell_shared_queue(results: Sequence[Result]) -> list[str]:
    states = [
        (result.label, queue)
        for result, queue in zip(results, describe_shared_queue(results), strict=True)
        if queue and queue.delay_p50_ns is not None
    ]
    if not states:
        return []
    name = states[0][1].queue
    if len(states) <= FEW_RUNS:
        told = ", ".join(
            f"{_text(queue.delay_p50_ns)} under {label} (99th percentile {_text(queue.delay_p99_ns)},"
            f" line {_text(queue.utilisation, 'ratio')} used)"
            for label, queue in states
        )
        return [f"Median delay in the queue {name}: {told}."]
    ordered = sorted(states, key=lambda state: state[1].delay_p50_ns or 0.0)
    ends = (ordered[0], ordered[-1])
    least, most = (f"{_text(queue.delay_p50_ns)} under {label}" for label, queue in ends)
    return [f"Median delay in the queue {name}: from {least} to {most}."]


@dataclass(frozen=True)
class _Evidence:
    """All that was measured of one flow."""

    rows: pl.DataFrame
    data: pl.DataFrame
    stats: dict[str, dict[str, Any]]
    samples: pl.DataFrame
    waited_ns: float

    @classmethod
    def gather(cls, result: Result, flow: str) -> _Evidence:
        import polars as pl

        own = pl.col("flow") == flow
        rows = result.flows.filter(own)
        data = rows.filter(pl.col("carries") == "data")
        measures = result.measures.filter(own)
        begun = result.flow_series.filter(
            own & ((pl.col("throughput_bps") > 0) | (pl.col("discarded") > 0))
        )["time_ns"].min()
        end, warmup = result.manifest["simulated_ns"], result.manifest.get("warmup_ns", 0)
        start = max(int(begun), warmup) if isinstance(begun, int) else warmup
        return cls(
            rows=rows,
            data=rows if data.is_empty() else data,
            stats={row["measure"]: row for row in measures.iter_rows(named=True)},
            samples=result.samples.filter(own),
            waited_ns=float(end - start),
        )

    @property
    def application(self) -> str:
        return str(self.rows["application"][0])

    @property
    def goodput(self) -> float | None:
        return _number(self.data["goodput_bps"].sum())

    @property
    def loss(self) -> float | None:
        """Lost pings are those without an answer, whichever way it was lost; of other packets the worse way counts."""
        if "rtt" in self.stats:
            import polars as pl

            pings = self.samples.filter(pl.col("measure") == "rtt")["value"]
            return float(pings.is_nan().mean() or 0.0) if len(pings) else None  # type: ignore[arg-type]
        return _worst(self.data["loss_ratio"])

    @property
    def delay_p95(self) -> float | None:
        return _worst(self.data["delay_p95_ns"])

    def is_cut_off(self) -> bool:
        """Whether something was sent, all of one way was lost, and no data came through."""
        return (
            bool((self.rows["packets_sent"] > 0).any())
            and not bool((self.data["goodput_bps"] > 0).any())
            and (_worst(self.rows["loss_ratio"]) or 0.0) > 0
        )

    def has(self, measure: str) -> bool:
        """Whether a measure was taken at least once with success."""
        row = self.stats.get(measure)
        return row is not None and _number(row["p50"]) is not None


def _judge_flow(evidence: _Evidence) -> Finding:
    grade, experience = _grade(evidence)
    return Finding(
        flow=str(evidence.rows["flow"][0]),
        application=evidence.application,
        grade=grade,
        experience=experience,
        delay_p50_ns=_worst(evidence.data["delay_p50_ns"]),
        delay_p95_ns=evidence.delay_p95,
        loss_ratio=evidence.loss,
        goodput_bps=evidence.goodput,
    )


def _grade(evidence: _Evidence) -> tuple[Grade, str]:
    if evidence.application == "voice" or evidence.has("mos") or evidence.has("mos_down"):
        return _grade_call(evidence)
    if evidence.application == "web" or evidence.has("page_load_time"):
        return _grade_pages(evidence)
    if "rtt" in evidence.stats:
        return _grade_ping(evidence)
    if evidence.rows["transport"][0] == "udp":
        return _grade_datagrams(evidence)
    return _grade_transfer(evidence)


def _grade_call(evidence: _Evidence) -> tuple[Grade, str]:
    scored = [name for name in ("mos", "mos_down") if evidence.has(name)]
    if not scored:
        return (
            (Grade.BAD, "no packet arrived")
            if evidence.is_cut_off()
            else _grade_datagrams(evidence)
        )
    worst = min(scored, key=lambda name: _number(evidence.stats[name]["p5"]) or 0.0)
    row = evidence.stats[worst]
    grade = _grade_rising(_number(row["p5"]), (4.0, 3.6, 3.1))
    text = f"MOS {_text(row['p50'], 'number')}, {_text(row['p5'], 'number')} in bad spells"
    why = _explain_call(evidence, "down" if worst == "mos_down" else "up")
    return grade, text if grade is Grade.GOOD or not why else f"{text}: {why}"


def _explain_call(evidence: _Evidence, direction: str) -> str:
    """Say what spoiled a call: packets too late for its de-jitter buffer, packets lost, or delay."""
    import polars as pl

    rows = evidence.rows.filter(pl.col("direction") == direction)
    if rows.is_empty():
        return ""
    row = rows.row(0, named=True)
    if row["packets_sent"] and not row["packets_delivered"]:
        return "no packet arrived"
    late = evidence.stats.get("late_down" if direction == "down" else "late")
    lateness = (_number(late["mean"]) if late else None) or 0.0
    loss = _number(row["loss_ratio"]) or 0.0
    reasons = []
    if lateness >= AUDIBLE_LOSS:
        reasons.append(f"{_text(lateness, 'ratio')} of its packets came too late to be played")
    if loss >= AUDIBLE_LOSS:
        reasons.append(f"{_text(loss, 'ratio')} {'' if reasons else 'of its packets '}were lost")
    delay = _number(row["delay_p50_ns"]) or 0.0
    if not reasons and delay > 150e6:
        reasons.append(f"each way takes {_text(delay)}")
    return " and ".join(reasons)


def _grade_pages(evidence: _Evidence) -> tuple[Grade, str]:
    marks = (2e9, 4e9, 10e9)
    if evidence.has("page_load_time"):
        row = evidence.stats["page_load_time"]
        text = f"pages in {_text(row['p50'])}, 1 in 20 over {_text(row['p95'])}"
        return _grade_falling(_number(row["p50"]), marks), text
    if not (evidence.rows["packets_sent"] > 0).any():
        return Grade.NONE, "no page asked for"
    return _grade_falling(
        evidence.waited_ns, marks
    ), f"no page finished in {_text(evidence.waited_ns)}"


def _grade_ping(evidence: _Evidence) -> tuple[Grade, str]:
    loss = evidence.loss
    if not evidence.has("rtt"):
        return Grade.BAD, "no answer"
    row = evidence.stats["rtt"]
    by_time = _grade_falling(_number(row["p95"]), (130e6, 250e6, 400e6))
    # The round-trip times are those of the answers: who gets none is not well off.
    by_loss = _grade_falling(loss, LOSS_MARKS)
    lost = f", {_text(loss, 'ratio')} lost" if loss else ""
    text = f"{_text(row['p50'])}, 1 in 20 over {_text(row['p95'])}{lost}"
    return max(by_time, by_loss, key=_ORDER.index), text


def _grade_datagrams(evidence: _Evidence) -> tuple[Grade, str]:
    if evidence.is_cut_off():
        return Grade.BAD, "no packet arrived"
    marks = (65e6, 125e6, 200e6) if evidence.application == "game" else (150e6, 275e6, 400e6)
    by_delay = _grade_falling(evidence.delay_p95, marks)
    by_loss = _grade_falling(evidence.loss, LOSS_MARKS)
    text = f"1 packet in 20 over {_text(evidence.delay_p95)}, {_text(evidence.loss, 'ratio')} lost"
    return max(by_delay, by_loss, key=_ORDER.index), text


def _grade_transfer(evidence: _Evidence) -> tuple[Grade, str]:
    if evidence.is_cut_off():
        return Grade.BAD, "nothing got through"
    rate = _text(evidence.goodput, "rate")
    if evidence.has("completion_time"):
        return Grade.NONE, f"{rate}, a file in {_text(evidence.stats['completion_time']['p50'])}"
    return Grade.NONE, rate


def _grade_falling(value: float | None, marks: tuple[float, float, float]) -> Grade:
    if value is None:
        return Grade.NONE
    passed = sum(value > mark for mark in marks)
    return (Grade.GOOD, Grade.FAIR, Grade.POOR, Grade.BAD)[passed]


def _grade_rising(value: float | None, marks: tuple[float, float, float]) -> Grade:
    if value is None:
        return Grade.NONE
    return _grade_falling(-value, (-marks[0], -marks[1], -marks[2]))


def _write_paragraph(result: Result, findings: list[Finding], queue: QueueState | None) -> str:
    sentences = []
    if result.is_partial:
        stopped, asked = result.manifest["simulated_ns"], result.manifest["duration_ns"]
        sentences.append(f"Partial: stopped at {_text(stopped)} of {_text(asked)}.")
    judged = [finding for finding in findings if finding.grade is not Grade.NONE]
    suffering = [f for f in judged if f.grade in (Grade.POOR, Grade.BAD)]
    if suffering:
        told = _tell(suffering)
        sentences.append(
            f"{'Badly off' if suffering[0].grade is Grade.BAD else 'Poorly off'}: {told}."
        )
        fine = [f.flow for f in judged if f not in suffering]
        if fine:
            sentences.append(f"Well enough: {_list_names(fine)}.")
    elif judged:
        fair = [f for f in judged if f.grade is Grade.FAIR]
        told = _tell(fair or judged)
        sentences.append(
            f"{'Nobody suffered, but not all is good' if fair else 'Nobody suffered'}: {told}."
        )
    transfers = [f for f in findings if f.grade is Grade.NONE and f.goodput_bps]
    if transfers:
        listed = _list_names([f"{f.flow} {_text(f.goodput_bps, 'rate')}" for f in transfers])
        sentences.append(f"Goodput: {listed}.")
    if queue:
        sentences.append(_tell_queue(queue))
        sentences += _explain_queue(result, queue, suffers=bool(suffering))
        sentences += _tell_other_bottleneck(result, queue)
    return " ".join(sentences)


def _tell_queue(queue: QueueState) -> str:
    lost = ""
    if queue.lost_ratio > LOSSY_SHARE:
        lost = f" and discarded {_text(queue.lost_ratio, 'ratio')} of its packets"
    if queue.delay_p50_ns is None:
        return f"The queue {queue.queue} ({queue.discipline}) let no packet through."
    return (
        f"The queue {queue.queue} ({queue.discipline}) held packets {_text(queue.delay_p50_ns)} at the median"
        f" and {_text(queue.delay_p99_ns)} at the 99th percentile{lost}, with the line"
        f" {_text(queue.utilisation, 'ratio')} used."
    )


def _tell_other_bottleneck(result: Result, queue: QueueState) -> list[str]:
    """Say so where the scenario is about another queue."""
    if result.bottleneck in (None, queue.queue):
        return []
    named = describe_queue(result, str(result.bottleneck))
    held = (
        f"held packets {_text(named.delay_p50_ns)} at the median"
        if named and named.delay_p50_ns is not None
        else "held none"
    )
    return [f"The scenario calls {result.bottleneck} its bottleneck, which {held}."]


def _tell(findings: list[Finding]) -> str:
    return _list_names([f"{finding.flow} ({finding.experience})" for finding in findings], "; ")


def _join(labels: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(labels[:-1]), labels[-1])))


def _list_names(names: list[str], separator: str = ", ") -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return separator.join(names[:4]) + more


def _explain_queue(result: Result, queue: QueueState, *, suffers: bool) -> list[str]:
    """Say what the queue had to do with it; advice is for the kind of queue that is there."""
    if (queue.delay_p50_ns or 0.0) > STANDING_QUEUE_NS:
        advice = _advise(result, queue)
        return [f"That is a standing queue: everything behind it waits that long. {advice}"]
    if queue.lost_ratio > LOSSY_SHARE:
        return [
            "What it throws away is what is missing: look at its limit and at the rates asked for."
        ]
    if (queue.utilisation or 0.0) > 0.85:
        return ["The line was full and the queue stayed short, which is what a good queue does."]
    if suffers:
        return ["No queue stood: look at loss, wide-area delay and the rates asked for."]
    return ["The line had room to spare."]


def _advise(result: Result, queue: QueueState) -> str:
    key = name_queue_key(result, queue.queue)
    tries = f"; --set {key}=… tries one." if key else "."
    if queue.discipline == "none":
        return f"A limit or an AQM shortens it{tries}"
    if queue.discipline == "buffer_control":
        return f"A smaller target or an AQM shortens it{tries}"
    if queue.discipline == "drop_tail":
        return f"A smaller buffer or an AQM shortens it{tries}"
    if not queue.discarded and not queue.marked:
        return (
            f"Its AQM ({queue.discipline}) dropped nothing: it reckons with a rate that the line does not give,"
            " or its parameters allow this delay."
        )
    return (
        f"Its AQM ({queue.discipline}) dropped or marked {_text(queue.discarded + queue.marked, 'number')} packets and"
        " could not shorten it: what comes does not slow down for that, or its parameters allow this delay."
    )


def _worst(values: pl.Series) -> float | None:
    numbers = [_number(value) for value in values]
    return max((number for number in numbers if number is not None), default=None)


def _number(value: Any) -> float | None:
    if value is None or math.isnan(value):
        return None
    return float(value)


def _text(value: Any, kind: Any = "time") -> str:
    return format_quantity(None if value is None else float(value), kind)
