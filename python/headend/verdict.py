"""The answer first: who suffered, how much, and where the queue stood, in numbers and in words.

Marks, and where they come from:

- a call: ITU-T G.107 Annex B's classes of satisfaction, as MOS 4.0, 3.6 and 3.1, applied to the 5th percentile of the
  scoring periods (a call is as good as its bad spells);
- one-way delay: ITU-T G.114's 150 ms (good) and 400 ms (unacceptable);
- ping: 130 ms round trip, what games ask for, then 250 and 400 ms;
- loss of pings and datagrams: 1, 2.5 and 5 %, ours;
- page load: 2, 4 and 10 s, ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from headend.quantity import format_quantity

if TYPE_CHECKING:
    import polars as pl

    from headend.result import Result

#: Loss of pings and of datagrams, as shares.
LOSS_MARKS = (0.01, 0.025, 0.05)

#: Queue delay, in ns, from which a queue that stays is called standing.
STANDING_QUEUE_NS = 50e6


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
    import polars as pl

    names = result.flows["flow"].unique(maintain_order=True)
    findings = [
        _judge_flow(
            result.flows.filter(pl.col("flow") == name),
            result.measures.filter(pl.col("flow") == name),
        )
        for name in names
    ]
    findings.sort(key=lambda finding: -_ORDER.index(finding.grade))
    queue = _find_bottleneck(result)
    return Verdict(findings, queue, _write_paragraph(result, findings, queue))


def summarise_comparison(results: Sequence[Result]) -> list[str]:
    """Say in a few lines what the choice between several runs does to each flow and to the queue."""
    verdicts = [judge(result) for result in results]
    labelled = list(zip([result.label for result in results], verdicts, strict=True))
    lines = []
    for flow in dict.fromkeys(f.flow for verdict in verdicts for f in verdict.findings):
        fates = [
            (label, finding)
            for label, verdict in labelled
            for finding in verdict.findings
            if finding.flow == flow
        ]
        grades = {finding.grade for _, finding in fates}
        if len(grades) < 2 or Grade.NONE in grades:
            continue
        told = ", ".join(f"{f.grade} under {label} ({f.experience})" for label, f in fates)
        lines.append(f"{flow}: {told}.")
    if not lines:
        lines.append("The choice changes nobody's grade.")
    queues = [
        f"{_text(verdict.queue.delay_p50_ns)} under {label}"
        f" (99th percentile {_text(verdict.queue.delay_p99_ns)}, line {_text(verdict.queue.utilisation, 'ratio')} used)"
        for label, verdict in labelled
        if verdict.queue
    ]
    if queues:
        lines.append(f"Median delay in the bottleneck's queue: {', '.join(queues)}.")
    return lines


def _judge_flow(rows: pl.DataFrame, measures: pl.DataFrame) -> Finding:
    import polars as pl

    data = rows.filter(pl.col("carries") == "data")
    data = rows if data.is_empty() else data
    stats = {row["measure"]: row for row in measures.iter_rows(named=True)}
    delays = [_number(value) for value in data["delay_p95_ns"]]
    delay_p95 = max((value for value in delays if value is not None), default=None)
    medians = [_number(value) for value in data["delay_p50_ns"]]
    loss = max((v for v in map(_number, data["loss_ratio"]) if v is not None), default=None)
    goodput = _number(data["goodput_bps"].sum())
    application = str(rows["application"][0])
    grade, experience = _grade(application, stats, delay_p95, loss, goodput, rows["transport"][0])
    return Finding(
        flow=str(rows["flow"][0]),
        application=application,
        grade=grade,
        experience=experience,
        delay_p50_ns=max((value for value in medians if value is not None), default=None),
        delay_p95_ns=delay_p95,
        loss_ratio=loss,
        goodput_bps=goodput,
    )


def _grade(
    application: str,
    stats: dict[str, dict[str, Any]],
    delay_p95: float | None,
    loss: float | None,
    goodput: float | None,
    transport: str,
) -> tuple[Grade, str]:
    if "mos" in stats or "mos_down" in stats:
        worst = min(
            (stats[name] for name in ("mos", "mos_down") if name in stats),
            key=lambda row: _number(row["p5"]) or 0.0,
        )
        low, middle = _number(worst["p5"]), _number(worst["p50"])
        text = f"MOS {_text(middle, 'number')}, {_text(low, 'number')} in bad spells"
        return _grade_rising(low, (4.0, 3.6, 3.1)), text
    if "page_load_time" in stats:
        row = stats["page_load_time"]
        text = f"pages in {_text(row['p50'])}, 1 in 20 over {_text(row['p95'])}"
        return _grade_falling(_number(row["p50"]), (2e9, 4e9, 10e9)), text
    if application == "web":
        return Grade.NONE, f"no page loaded to its end, {_text(goodput, 'rate')}"
    if "rtt" in stats:
        row = stats["rtt"]
        by_time = _grade_falling(_number(row["p95"]), (130e6, 250e6, 400e6))
        # The round-trip times are those of the answers: who gets none is not well off.
        by_loss = _grade_falling(loss, LOSS_MARKS)
        lost = f", {_text(loss, 'ratio')} lost" if loss else ""
        text = f"{_text(row['p50'])}, 1 in 20 over {_text(row['p95'])}{lost}"
        return max(by_time, by_loss, key=_ORDER.index), text
    if transport == "udp":
        marks = (65e6, 125e6, 200e6) if application == "game" else (150e6, 275e6, 400e6)
        by_delay = _grade_falling(delay_p95, marks)
        by_loss = _grade_falling(loss, LOSS_MARKS)
        text = f"1 packet in 20 over {_text(delay_p95)}, {_text(loss, 'ratio')} lost"
        return max(by_delay, by_loss, key=_ORDER.index), text
    done = stats.get("completion_time")
    if done and done["count"] and _number(done["p50"]) is not None:
        return Grade.NONE, f"{_text(goodput, 'rate')}, a file in {_text(done['p50'])}"
    return Grade.NONE, _text(goodput, "rate")


def _grade_falling(value: float | None, marks: tuple[float, float, float]) -> Grade:
    if value is None:
        return Grade.NONE
    passed = sum(value > mark for mark in marks)
    return (Grade.GOOD, Grade.FAIR, Grade.POOR, Grade.BAD)[passed]


def _grade_rising(value: float | None, marks: tuple[float, float, float]) -> Grade:
    if value is None:
        return Grade.NONE
    return _grade_falling(-value, (-marks[0], -marks[1], -marks[2]))


def _find_bottleneck(result: Result) -> QueueState | None:
    """Take the queue the scenario is about, or the one whose packets waited longest in all."""
    import polars as pl

    queues = result.queues.filter(pl.col("packets_dequeued") > 0)
    if result.bottleneck is not None:
        named = result.queues.filter(pl.col("queue") == result.bottleneck)
        queues = queues if named.is_empty() else named
    if queues.is_empty():
        return None
    waited = pl.col("delay_mean_ns").fill_nan(0) * pl.col("packets_dequeued")
    return _describe_queue(queues.sort(waited).row(-1, named=True))


def _find_standing(result: Result) -> QueueState | None:
    """Take the queue that stood highest, if any stood."""
    import polars as pl

    median = pl.col("delay_p50_ns").fill_nan(0)
    queues = result.queues.filter(median > STANDING_QUEUE_NS).sort(median)
    return None if queues.is_empty() else _describe_queue(queues.row(-1, named=True))


def _describe_queue(row: dict[str, Any]) -> QueueState:
    return QueueState(
        queue=row["queue"],
        discipline=row["discipline"],
        rate_bps=row["rate_bps"],
        delay_p50_ns=_number(row["delay_p50_ns"]),
        delay_p99_ns=_number(row["delay_p99_ns"]),
        utilisation=_number(row["utilisation"]),
        discarded=sum(value for name, value in row.items() if name.startswith("discarded_")),
        marked=row["marked"],
    )


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
        if (queue.delay_p50_ns or 0.0) <= STANDING_QUEUE_NS:
            # The scenario is about one queue, and another may be the trouble.
            standing = _find_standing(result)
            sentences += [_tell_queue(standing)] if standing else []
            queue = standing or queue
        sentences += _explain_queue(queue, suffers=bool(suffering))
    return " ".join(sentences)


def _tell_queue(queue: QueueState) -> str:
    return (
        f"The queue {queue.queue} ({queue.discipline}) held packets {_text(queue.delay_p50_ns)} at the median"
        f" and {_text(queue.delay_p99_ns)} at the 99th percentile, with the line"
        f" {_text(queue.utilisation, 'ratio')} used."
    )


def _tell(findings: list[Finding]) -> str:
    return _list_names([f"{finding.flow} ({finding.experience})" for finding in findings], "; ")


def _list_names(names: list[str], separator: str = ", ") -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return separator.join(names[:4]) + more


def _explain_queue(queue: QueueState, *, suffers: bool) -> list[str]:
    median, used = queue.delay_p50_ns or 0.0, queue.utilisation or 0.0
    if median > STANDING_QUEUE_NS:
        return [
            "That is a standing queue: everything behind it waits that long."
            " A smaller buffer or an AQM shortens it; --set queue=… tries one."
        ]
    if used > 0.85:
        return ["The line was full and the queue stayed short, which is what a good queue does."]
    if suffers:
        return [
            "The queue was not the cause: look at loss, wide-area delay and the rates asked for."
        ]
    return ["The line had room to spare."]


def _number(value: Any) -> float | None:
    if value is None or math.isnan(value):
        return None
    return float(value)


def _text(value: Any, kind: Any = "time") -> str:
    return format_quantity(None if value is None else float(value), kind)
