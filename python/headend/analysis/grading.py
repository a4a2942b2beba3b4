"""How each flow fared: a grade, and the experience behind it in words.

Marks, and where they come from:

- a call: ITU-T G.107 Annex B's classes of satisfaction, as MOS 4.0, 3.6 and 3.1, applied to the 5th
  percentile of the scoring periods (a call is as good as its bad spells);
- one-way delay: ITU-T G.114's 150 ms (good) and 400 ms (unacceptable);
- ping: 130 ms round trip, what games ask for, then 250 and 400 ms;
- loss of pings and datagrams, and calls that could not be set up: 1, 2.5 and 5 %, ours;
- packets of a game that were lost or came after their deadline, in the mean over the scoring
  periods: 5, 20 and 50 %, ours;
- video: frames that were late or never whole, in the mean over the scoring periods: 1, 5 and 20 %,
  ours; time in which the picture stood still: 0.5, 2 and 5 %, ours;
- page load: 2, 4 and 10 s, ours; of a page that never came, the time waited for it;
- a transfer of which nothing came while some of it was under way: the same marks, for the time
  waited for it, and no grade before the first of them: it had next to no time;
- a video: the same until the first picture, and 0.1, 1 and 5 % of the time standing still, ours;
- responsiveness: 1000, 500 and 200 round trips per minute (60, 120 and 300 ms), ours;
- whatever sent and got nothing through is bad.

The word for a grade is the grade itself, but for the far end of bad, which is called unusable:
where nothing came through, a call below MOS 2.6 (G.107 Annex B recommends against it), and of games
and videos those of which three quarters were late, lost or frozen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from headend.analysis.key_figure import KeyFigure
from headend.analysis.limits import tell_limit
from headend.analysis.queues import LONG_WAIT
from headend.engine.description import REAL, find_application, list_discards
from headend.results.record import Record, cached_on_record
from headend.scenario.parameters import read_parameters
from headend.text.quantity import format_quantity
from headend.text.wording import join_names

if TYPE_CHECKING:
    import polars as pl

#: A call's mean opinion score.
MOS_MARKS = (4.0, 3.6, 3.1)

#: Time until a page is there, or the first picture of a video, ns.
WAIT_MARKS = (2e9, 4e9, 10e9)

#: Share of the time in which a video stood still.
STALL_MARKS = (0.001, 0.01, 0.05)

#: Round trips per minute.
RPM_MARKS = (1000, 500, 200)

#: Round-trip time of a ping, ns.
PING_MARKS = (130e6, 250e6, 400e6)

#: Loss of pings and of datagrams, as shares.
LOSS_MARKS = (0.01, 0.025, 0.05)

#: One-way delay of datagrams that have no measure of their own, and of a game's, ns.
DELAY_MARKS = (150e6, 275e6, 400e6)
GAME_DELAY_MARKS = (65e6, 125e6, 200e6)

#: Packets of a game, or of a cloud game's input, that were lost or came after their deadline, as
#: shares.
PLAY_MARKS = (0.05, 0.2, 0.5)

#: Frames that were late or never whole, and time in which the picture stood still, as shares.
FRAME_MARKS = (0.01, 0.05, 0.2)
FREEZE_MARKS = (0.005, 0.02, 0.05)

#: The far end of bad: a call's MOS below this one, and shares above this one of what a game or a
#: video shows.
UNUSABLE_SCORE = 2.6
UNUSABLE_SHARE = 0.75

#: The word for it.
UNUSABLE = "unusable"

#: Share of a call's packets, lost or late, from which they are named as what spoils it.
AUDIBLE_LOSS = 0.005


#: Measures of transfers that their own words tell of.
TRANSFER_MEASURES = ("completion_time", "speed")

#: What is said of a flow that sent and got nothing through.
NOTHING_ARRIVED = "no packet arrived"

#: Said of a transfer of which nothing came yet.
NOTHING_READ = "nothing read yet"

#: Stands after a rate that is the sum of both directions.
BOTH_WAYS = "both ways"


class Grade(StrEnum):
    """How a flow fared; ``NONE`` where there is nothing to judge, as for a bulk transfer."""

    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"
    BAD = "bad"
    NONE = "none"


#: From nothing to judge to the worst.
ORDER = [Grade.NONE, Grade.GOOD, Grade.FAIR, Grade.POOR, Grade.BAD]


@dataclass(frozen=True)
class FlowQuality:
    """How one flow fared. Delays in ns, rates in bit/s; None where nothing was measured."""

    flow: str
    application: str
    grade: Grade
    #: What its user notices, in full.
    experience: str
    delay_p50_ns: float | None
    delay_p95_ns: float | None
    loss_ratio: float | None
    goodput_bps: float | None
    #: What the grade is by, larger is worse: tells members of one group apart, and nothing else.
    severity: float = 0.0
    #: Of the packets of its data, those that the path beyond all links lost; of two directions the
    #: larger share.
    path_loss_ratio: float = 0.0
    #: Whether its goodput is that of both directions together, whatever came of each.
    is_both_ways: bool = False
    #: What one that suffers suffers most from, where that can be told: ``late`` or ``lost``
    #: packets; and which way they went, or neither if both did.
    symptom: str = ""
    direction: str = ""
    #: The one word for it, from ``good`` to ``unusable``; empty where there is nothing to judge.
    word: str = ""
    #: The one number that the word is by, with its unit; of what has no grade, its rate.
    number: str = ""
    #: What that number is.
    about: str = ""
    #: Share of a call's packets that came too late to be played, in the graded direction.
    late_ratio: float | None = None
    #: All numbers that the grade could be by, that first which it is by.
    key_figures: tuple[KeyFigure, ...] = ()
    #: The direction whose delay is given, ``up`` or ``down``; only of real programs.
    delay_direction: str = ""
    #: What held its TCP senders back for most of the time, with the share; empty if not known.
    limit: str = ""

    @property
    def suffers(self) -> bool:
        """Whether it is poorly or badly off."""
        return self.grade in (Grade.POOR, Grade.BAD)


@cached_on_record
def judge_flows(result: Record) -> list[FlowQuality]:
    """Judge every flow of a run, in the order of the tables."""
    return [_judge_flow(evidence) for evidence in _gather_evidence(result)]


@dataclass(frozen=True)
class _Evidence:
    """All that was measured of one flow."""

    rows: pl.DataFrame
    data: pl.DataFrame
    stats: dict[str, dict[str, Any]]
    samples: pl.DataFrame
    waited_ns: float
    #: Whether a connection had data under way when the run ended, or waited for an answer.
    is_under_way: bool
    #: The receiver's de-jitter buffer, in words; empty of what is no call.
    de_jitter: str = ""

    @property
    def application(self) -> str:
        return str(self.rows["application"][0])

    @property
    def goodput(self) -> float | None:
        return read_number(self.data["goodput_bps"].sum())

    @property
    def loss(self) -> float | None:
        """Lost pings are those without an answer, lost either way; else the worse way counts."""
        if "rtt" in self.stats and self.application != REAL:
            import polars as pl

            pings = self.samples.filter(pl.col("measure") == "rtt")["value"]
            return float(pings.is_nan().mean() or 0.0) if len(pings) else None  # type: ignore[arg-type]
        if self.application == REAL:
            # Both ways carry data and acknowledgements; of those, the ones that a modem leaves out
            # are no loss.
            thinned = self.data["discarded_ack_thinned"] / self.data["packets_sent"].clip(1)
            return _worst((self.data["loss_ratio"] - thinned).clip(0))
        return _worst(self.data["loss_ratio"])

    @property
    def path_loss(self) -> float:
        """Only the path beyond all links loses packets without a reason of its own."""
        return _worst(self.data["discarded_corrupted"] / self.data["packets_sent"].clip(1)) or 0.0

    @property
    def delay_p95(self) -> float | None:
        return _worst(self.data["delay_p95_ns"])

    @property
    def is_one_way_dead(self) -> bool:
        """Whether data was sent one way, and none of it arrived."""
        silent = (self.data["packets_sent"] > 0) & (self.data["packets_delivered"] == 0)
        return bool(silent.any())

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
        return row is not None and read_number(row["p50"]) is not None


def _gather_evidence(result: Record) -> Iterator[_Evidence]:
    """Gather what was measured of each flow, looking at every table once however many there are."""
    import polars as pl

    active = (pl.col("throughput_bps") > 0) | (pl.col("discarded") > 0)
    begun = dict(
        result.flow_series.filter(active).group_by("flow").agg(pl.col("time_ns").min()).iter_rows()
    )
    # A connection is there from its first try, before anything of it arrives where the way is long.
    connections = result.connection_series.group_by("flow", maintain_order=True)
    opened = dict(connections.agg(pl.col("time_ns").min()).iter_rows())
    # One that is over has no row at the end: what was in flight then has arrived.
    last = result.flow_series["time_ns"].max()
    under_way = dict(
        result.connection_series.filter(pl.col("time_ns") == pl.lit(last))
        .group_by("flow")
        .agg(((pl.col("in_flight_bytes") > 0) | pl.col("srtt_ns").is_nan()).any())
        .iter_rows()
    )
    end, warmup = result.manifest["simulated_ns"], result.manifest.get("warmup_ns", 0)
    measures, samples = _split(result.measures), _split(result.samples)
    no_samples = result.samples.clear()
    for flow, rows in _split(result.flows).items():
        data = rows.filter(pl.col("carries") == "data")
        taken = measures.get(flow)
        yield _Evidence(
            rows=rows,
            data=rows if data.is_empty() else data,
            stats={} if taken is None else {row["measure"]: row for row in taken.to_dicts()},
            samples=samples.get(flow, no_samples),
            waited_ns=float(end - max(min(_known(flow, begun, opened), default=warmup), warmup)),
            is_under_way=bool(under_way.get(flow)),
            de_jitter=describe_de_jitter(result, flow),
        )


def describe_de_jitter(result: Record, flow: str) -> str:
    """Say what de-jitter buffer a call's receiver has, for its grade; empty if it is no call."""
    scoring = read_parameters(result.manifest["scenario"], flow, "voice").get("scoring", {})
    buffer = scoring.get("de_jitter")
    if isinstance(buffer, Mapping):
        return f"a de-jitter buffer of {buffer['fixed']}"
    return "an adaptive de-jitter buffer" if buffer else ""


def _known(flow: str, *times: Mapping[str, int]) -> list[int]:
    return [own[flow] for own in times if flow in own]


def _split(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    parts = table.partition_by("flow", as_dict=True, maintain_order=True)
    return {str(flow): rows for (flow,), rows in parts.items()}


def _judge_flow(evidence: _Evidence) -> FlowQuality:
    judged = _grade(evidence)
    grade, severity = judged.grade, judged.severity
    symptom, way = _find_harm(evidence) if grade in (Grade.POOR, Grade.BAD) else ("", "")
    return FlowQuality(
        flow=str(evidence.rows["flow"][0]),
        application=evidence.application,
        grade=grade,
        experience=judged.experience,
        # Where nothing of one way arrived, the delay of the other is not the worse one.
        delay_p50_ns=None if evidence.is_one_way_dead else _worst(evidence.data["delay_p50_ns"]),
        delay_p95_ns=None if evidence.is_one_way_dead else evidence.delay_p95,
        loss_ratio=evidence.loss,
        limit=tell_limit(evidence.data),
        goodput_bps=evidence.goodput,
        severity=math.inf if severity is None else severity,
        path_loss_ratio=evidence.path_loss,
        is_both_ways=bool((evidence.data["packets_sent"] > 0).sum() > 1),
        symptom=symptom,
        direction=way,
        word="" if grade is Grade.NONE else judged.word or str(grade),
        number=judged.key_figures[0].write(),
        about=judged.key_figures[0].about,
        late_ratio=_read_statistic(evidence, "late_down" if way == "down" else "late", "mean"),
        key_figures=judged.key_figures,
        delay_direction=_find_slower_way(evidence) if evidence.application == REAL else "",
    )


def _find_slower_way(evidence: _Evidence) -> str:
    """Find the direction with the longer 95th percentile of the delay; neither if not measured."""
    delays = {
        str(row["direction"]): value
        for row in evidence.data.to_dicts()
        if (value := read_number(row["delay_p95_ns"])) is not None
    }
    return max(delays, key=delays.__getitem__, default="")


@dataclass(frozen=True)
class _Judgement:
    """A grade with the words and the number for it.

    Parameters
    ----------
    severity
        What the grade is by, larger is worse; None where it was not measured.
    key_figures
        The numbers that the grade could be by, that first which it is by.
    word
        Where it is another than the grade.
    """

    grade: Grade
    experience: str
    severity: float | None
    key_figures: tuple[KeyFigure, ...]
    word: str = ""


def _judge_silence(told: str = NOTHING_ARRIVED) -> _Judgement:
    """Judge what sent and got nothing through."""
    return _Judgement(Grade.BAD, told, math.inf, _say(told), UNUSABLE)


def _say(told: str) -> tuple[KeyFigure]:
    """Say something in place of a number."""
    return (KeyFigure("", told=told),)


def _name_word(share: float | None) -> str:
    """Give the word for the far end of bad, where a share is there."""
    return UNUSABLE if (share or 0.0) > UNUSABLE_SHARE else ""


def _find_harm(evidence: _Evidence) -> tuple[str, str]:
    """Say whether late or lost packets are what a flow suffers most from, and which way they went.

    A transfer over TCP feels both alike, as one that takes longer: of it nothing is said, unless
    nothing of it came through.
    """
    if evidence.is_cut_off():
        # What a classifier forbids, or a modem that is not there, is no harm that a queue does.
        columns = list_discards("room", "share", "law")
        by_queues = sum(int(evidence.rows[name].sum()) for name in columns)
        return ("lost", "") if by_queues else ("", "")
    if "rtt" in evidence.stats:
        slow = _grade_falling(_read_statistic(evidence, "rtt", "p95"), PING_MARKS)
        lossy = _grade_falling(evidence.loss, LOSS_MARKS)
        return ("lost" if ORDER.index(lossy) > ORDER.index(slow) else "late"), ""
    if evidence.rows["transport"][0] != "udp":
        return "", ""
    way = _find_worse_way(evidence)
    rows = evidence.data.filter(direction=way) if way else evidence.data
    loss = _worst(rows["loss_ratio"]) or 0.0
    late = _read_statistic(evidence, "late_down" if way == "down" else "late", "mean")
    if late is not None:
        return ("lost" if loss > late else "late"), way
    # Of what is judged by a deadline, whoever waits as long as that in queues misses it for that.
    waited = _worst(rows["delay_p95_ns"] - rows["delay_min_ns"]) or 0.0
    return ("lost" if loss > LOSS_MARKS[0] and waited <= LONG_WAIT else "late"), way


def _find_worse_way(evidence: _Evidence) -> str:
    """Find the direction by which a flow is graded; neither where it is not graded by one."""
    scored = _list_scored(evidence)
    if len(scored) > 1:
        return "down" if _find_worse_score(evidence, scored) == "mos_down" else "up"
    for measure in ("frames_late", "missed"):
        if evidence.has(measure) and evidence.has(f"{measure}_down"):
            return "down" if _find_worse(evidence, measure) else "up"
    ways = evidence.data.filter(evidence.data["packets_sent"] > 0)["direction"].to_list()
    return str(ways[0]) if len(ways) == 1 else ""


def _grade(evidence: _Evidence) -> _Judgement:
    if evidence.application == REAL:
        return _tell_real(evidence)
    reported = {*find_application(evidence.application).measure_names, *evidence.stats}
    if "mos" in reported or "mos_down" in reported:
        return _grade_call(evidence)
    if "page_load_time" in reported:
        return _grade_pages(evidence)
    if "stalled" in reported:
        return _grade_stream(evidence)
    if "rpm" in reported:
        return _grade_responsiveness(evidence)
    if "rtt" in evidence.stats:
        return _grade_ping(evidence)
    if evidence.has("frames_late") or evidence.has("frames_late_down"):
        return _grade_video(evidence)
    if evidence.has("missed") or evidence.has("missed_down"):
        return _grade_game(evidence)
    is_udp = evidence.rows["transport"][0] == "udp"
    judged = _grade_datagrams(evidence) if is_udp else _grade_transfer(evidence)
    told = "; ".join([judged.experience, *_tell_reports(evidence)])
    return replace(judged, experience=told)


def _tell_reports(evidence: _Evidence) -> Iterator[str]:
    """Write the figures by which runs are compared, where no grade speaks of the measure.

    Of two directions the worse counts.
    """
    for kind in dict.fromkeys(kind for kind, _ in find_application(evidence.application).measures):
        if kind.name in TRANSFER_MEASURES:
            continue
        for title, statistic in kind.compared_by:
            values = [_read_statistic(evidence, name, statistic) for name in kind.names]
            known = [value for value in values if value is not None]
            if known:
                worst = min(known) if kind.is_rising else max(known)
                yield f"{title} {write_quantity(worst, kind.quantity)}"


def _grade_call(evidence: _Evidence) -> _Judgement:
    judged = _grade_sound(evidence)
    failed = (
        read_number(evidence.stats["call_failed"]["mean"])
        if "call_failed" in evidence.stats
        else None
    )
    if evidence.has("set_up_time"):
        answered = write_quantity(evidence.stats["set_up_time"]["p50"])
        judged = replace(judged, experience=f"{judged.experience}; answered in {answered}")
    if not failed:
        return judged
    count = int(evidence.stats["call_failed"]["count"])
    lost = f"{round(failed * count)} of {count} calls could not be set up"
    share = KeyFigure("share of calls that failed", failed, "ratio", after="failed")
    key_figures = (share, *judged.key_figures)
    if failed == 1.0:
        return _Judgement(Grade.BAD, lost, math.inf, key_figures, UNUSABLE)
    told, by_failures = f"{lost}; {judged.experience}", _grade_falling(failed, LOSS_MARKS)
    if ORDER.index(by_failures) <= ORDER.index(judged.grade):
        return replace(judged, experience=told)
    return _Judgement(by_failures, told, judged.severity, key_figures)


def _list_scored(evidence: _Evidence) -> list[str]:
    """List the directions in which speech was scored, by what their score is called."""
    return [name for name in ("mos", "mos_down") if evidence.has(name)]


def _find_worse_score(evidence: _Evidence, scored: Sequence[str]) -> str:
    """Find the direction by which a call is graded: that with the worse bad spells."""
    return min(scored, key=lambda name: read_number(evidence.stats[name]["p5"]) or 0.0)


def _grade_sound(evidence: _Evidence) -> _Judgement:
    scored = _list_scored(evidence)
    if not scored:
        return _judge_silence() if evidence.is_cut_off() else _grade_datagrams(evidence)
    worst = _find_worse_score(evidence, scored)
    row = evidence.stats[worst]
    score = read_number(row["p5"])
    grade = _grade_rising(score, MOS_MARKS)
    middle, low = write_quantity(row["p50"], "number"), write_quantity(row["p5"], "number")
    text = f"MOS {low} in bad spells, {middle} at the median"
    why = "" if grade is Grade.GOOD else _explain_call(evidence, worst)
    return _Judgement(
        grade,
        f"{text}: {why}" if why else text,
        None if score is None else -score,
        (
            KeyFigure(
                "MOS of bad spells (5 % of them are worse)",
                score,
                "number",
                before="MOS",
                is_rising=True,
            ),
        ),
        UNUSABLE if score is not None and score < UNUSABLE_SCORE else "",
    )


def _explain_call(evidence: _Evidence, score: str) -> str:
    """Say what spoiled a call: packets too late for its de-jitter buffer, packet loss, or delay."""
    import polars as pl

    direction = "down" if score == "mos_down" else "up"
    rows = evidence.rows.filter(pl.col("direction") == direction)
    if rows.is_empty():
        return ""
    row = rows.row(0, named=True)
    if row["packets_sent"] and not row["packets_delivered"]:
        return NOTHING_ARRIVED
    lateness = _read_statistic(evidence, "late_down" if direction == "down" else "late", "mean")
    loss = read_number(row["loss_ratio"]) or 0.0
    reasons = []
    if (lateness or 0.0) >= AUDIBLE_LOSS:
        # Another buffer would give the call another grade.
        held = f" for {evidence.de_jitter}" if evidence.de_jitter else ""
        reasons.append(f"{write_quantity(lateness, 'ratio')} of its packets arrived too late{held}")
    if loss >= AUDIBLE_LOSS:
        of = "" if reasons else " of its packets"
        reasons.append(f"{write_quantity(loss, 'ratio')}{of} were lost")
    delay = read_number(row["delay_p50_ns"]) or 0.0
    if not reasons and delay > 150e6:
        held = f" ({evidence.de_jitter})" if evidence.de_jitter else ""
        reasons.append(f"each way takes {write_quantity(delay)}{held}")
    return " and ".join(reasons)


def _grade_pages(evidence: _Evidence) -> _Judgement:
    if evidence.has("page_load_time"):
        row = evidence.stats["page_load_time"]
        typical, slow = write_quantity(row["p50"]), write_quantity(row["p95"])
        text = f"pages load in {typical} at the median, {slow} at the 95th percentile"
        median = read_number(row["p50"])
        key_figure = KeyFigure("median page load time", median)
        return _Judgement(_grade_falling(median, WAIT_MARKS), text, median, (key_figure,))
    if not (evidence.rows["packets_sent"] > 0).any():
        return _Judgement(Grade.NONE, "no page requested", 0.0, _say("no page requested"))
    return _judge_wait(evidence.waited_ns, "no page finished")


def _judge_wait(waited_ns: float, told: str) -> _Judgement:
    """Judge what never came by the time waited for it."""
    text = f"{told} in {write_quantity(waited_ns)}"
    grade = _grade_falling(waited_ns, WAIT_MARKS)
    return _Judgement(grade, text, waited_ns, _say(text), UNUSABLE if grade is Grade.BAD else "")


def _grade_stream(evidence: _Evidence) -> _Judgement:
    delay = _read_statistic(evidence, "startup_delay", "p50")
    stood = _read_statistic(evidence, "stalled", "mean")
    if delay is None and stood is None:
        if not (evidence.rows["packets_sent"] > 0).any():
            return _Judgement(Grade.NONE, "no video requested", 0.0, _say("no video requested"))
        return _judge_wait(evidence.waited_ns, "no picture")
    by_start, by_stalls = _grade_falling(delay, WAIT_MARKS), _grade_falling(stood, STALL_MARKS)
    parts = [] if delay is None else [f"starts in {write_quantity(delay)}"]
    rate = _read_statistic(evidence, "segment_rate", "mean")
    if rate is not None:
        parts.append(write_quantity(rate, "rate"))
    if stood:
        parts.append(f"stands still {write_quantity(stood, 'ratio')} of the time")
    marks = (
        (by_start, KeyFigure("time to the first picture", delay)),
        (by_stalls, _write_stills(stood)),
    )
    return _choose_worse(", ".join(parts), stood or 0.0, *marks, share=stood)


def _write_stills(share: float | None) -> KeyFigure:
    about = "share of the time in which the picture stood still"
    return KeyFigure(about, share, "ratio", after="frozen")


def _grade_responsiveness(evidence: _Evidence) -> _Judgement:
    found = {
        direction: rpm
        for direction, name in (("up", "rpm"), ("down", "rpm_down"))
        if (rpm := _read_statistic(evidence, name, "p50")) is not None
    }
    if not found:
        if evidence.is_cut_off():
            return _judge_silence("no probe was answered")
        return _Judgement(
            Grade.NONE, "no test finished with answers", 0.0, _say("no test finished")
        )
    worst = min(found.values())
    each = ", ".join(
        f"{direction} {write_quantity(rpm, 'number')}" for direction, rpm in found.items()
    )
    text = f"round trips a minute: {each} (one takes {write_quantity(60e9 / worst)})"
    key_figure = KeyFigure("round trips a minute", worst, "number", after="RPM", is_rising=True)
    return _Judgement(_grade_rising(worst, RPM_MARKS), text, -worst, (key_figure,))


def _read_statistic(evidence: _Evidence, measure: str, statistic: str) -> float | None:
    row = evidence.stats.get(measure)
    return read_number(row[statistic]) if row else None


def _grade_ping(evidence: _Evidence) -> _Judgement:
    loss = evidence.loss
    if not evidence.has("rtt"):
        return _judge_silence("no answer")
    row = evidence.stats["rtt"]
    slow = read_number(row["p95"])
    by_time = _grade_falling(slow, PING_MARKS)
    # The round-trip times are those of the answers: who gets none is not well off.
    by_loss = _grade_falling(loss, LOSS_MARKS)
    lost = f", {write_quantity(loss, 'ratio')} lost" if loss else ""
    text = (
        f"{write_quantity(row['p50'])} at the median, {write_quantity(slow)} at the 95th"
        f" percentile{lost}"
    )
    key_figure = KeyFigure("95th percentile of the round trip", slow)
    return _choose_worse(text, slow, (by_time, key_figure), (by_loss, _write_loss(loss)))


def _write_loss(loss: float | None) -> KeyFigure:
    """Give the number for what is graded by its loss."""
    return KeyFigure("share of packets lost", loss, "ratio", after="lost")


def _choose_worse(
    text: str,
    severity: float | None,
    *marks: tuple[Grade, KeyFigure],
    share: float | None = None,
) -> _Judgement:
    """Judge by the worst of several grades, each with its number; of equals, by the first.

    Parameters
    ----------
    share
        What makes it unusable where it is large.
    """
    ordered = sorted(marks, key=lambda mark: -ORDER.index(mark[0]))
    key_figures = tuple(key_figure for _, key_figure in ordered)
    return _Judgement(ordered[0][0], text, severity, key_figures, _name_word(share))


def _grade_video(evidence: _Evidence) -> _Judgement:
    way = _find_worse(evidence, "frames_late")
    late = _read_statistic(evidence, f"frames_late{way}", "mean")
    frozen = _read_statistic(evidence, f"frozen{way}", "mean")
    marks = [
        (
            _grade_falling(late, FRAME_MARKS),
            KeyFigure("share of frames late or lost", late, "ratio", after="late"),
        ),
        (_grade_falling(frozen, FREEZE_MARKS), _write_stills(frozen)),
    ]
    rate = _read_statistic(evidence, f"video_rate{way}", "mean")
    parts = [f"{write_quantity(rate, 'rate')} of video"]
    delay = _read_statistic(evidence, f"frame_delay{way}", "mean")
    if delay is not None:
        parts.append(f"frames in {write_quantity(delay)}")
    parts.append(f"{write_quantity(late, 'ratio')} late or lost")
    if frozen:
        parts.append(f"picture still {write_quantity(frozen, 'ratio')} of the time")
    missed = None
    if evidence.has("missed"):
        missed = _read_statistic(evidence, "missed", "mean")
        share = write_quantity(missed, "ratio")
        about = "share of input packets late or lost"
        key_figure = KeyFigure(about, missed, "ratio", after="of input late")
        marks.append((_grade_falling(missed, PLAY_MARKS), key_figure))
        if missed:
            up = evidence.rows.filter(direction="up")
            slow = write_quantity(_worst(up["delay_p95_ns"]))
            parts.append(
                f"{share} of the input late or lost, its delay {slow} at the 95th percentile"
            )
    # Among those whose frames are as late, who sees a still picture suffers more.
    severity = (late or 0.0) + (frozen or 0.0)
    shares = (late or 0.0, frozen or 0.0, missed or 0.0)
    return _choose_worse(", ".join(parts), severity, *marks, share=max(shares))


def _grade_game(evidence: _Evidence) -> _Judgement:
    if evidence.is_cut_off():
        return _judge_silence()
    missed = _read_statistic(evidence, f"missed{_find_worse(evidence, 'missed')}", "mean")
    slow, share = write_quantity(evidence.delay_p95), write_quantity(missed, "ratio")
    text = f"{share} lost or too late, delay {slow} at the 95th percentile"
    by_deadline = (
        _grade_falling(missed, PLAY_MARKS),
        KeyFigure("share of packets late or lost", missed, "ratio", after="late"),
    )
    by_loss = (_grade_falling(evidence.loss, LOSS_MARKS), _write_loss(evidence.loss))
    return _choose_worse(text, evidence.delay_p95, by_deadline, by_loss, share=missed)


def _find_worse(evidence: _Evidence, measure: str) -> str:
    """Find the direction in which a share is larger: the suffix of its measures."""
    shares = {way: _read_statistic(evidence, f"{measure}{way}", "mean") for way in ("", "_down")}
    known = {way: share for way, share in shares.items() if share is not None}
    return max(known, key=known.__getitem__, default="")


def _grade_datagrams(evidence: _Evidence) -> _Judgement:
    if evidence.is_cut_off():
        return _judge_silence()
    if evidence.delay_p95 is None:
        return _Judgement(Grade.NONE, "nothing arrived", 0.0, _say("nothing arrived"))
    application = find_application(evidence.application)
    is_game = "game" in application.properties
    marks = GAME_DELAY_MARKS if is_game else DELAY_MARKS
    slow = write_quantity(evidence.delay_p95)
    text = f"delay {slow} at the 95th percentile, {write_quantity(evidence.loss, 'ratio')} lost"
    if application.is_scored:
        text += "; graded by that, as no scoring period was measured whole"
    by_delay = (
        _grade_falling(evidence.delay_p95, marks),
        KeyFigure("95th percentile of the one-way delay", evidence.delay_p95),
    )
    by_loss = (_grade_falling(evidence.loss, LOSS_MARKS), _write_loss(evidence.loss))
    return _choose_worse(text, evidence.delay_p95, by_delay, by_loss, share=evidence.loss)


def _grade_transfer(evidence: _Evidence) -> _Judgement:
    if evidence.is_cut_off():
        return _judge_silence("nothing got through")
    if not evidence.goodput and evidence.is_under_way:
        return _grade_wait(evidence.waited_ns)
    if evidence.goodput is None:
        # The measured part has no length.
        return _Judgement(Grade.NONE, NOTHING_READ, 0.0, _say(NOTHING_READ))
    rate, severity = write_quantity(evidence.goodput, "rate"), -evidence.goodput
    goodput = (KeyFigure("goodput", evidence.goodput, "rate", is_rising=True),)
    if evidence.has("completion_time"):
        file = write_quantity(evidence.stats["completion_time"]["p50"])
        return _Judgement(Grade.NONE, f"{rate}, a file in {file}", severity, goodput)
    if evidence.has("speed"):
        shown = read_number(evidence.stats["speed"]["p50"]) or 0.0
        speed = write_quantity(shown, "rate")
        key_figure = KeyFigure("what a speed test shows", shown, "rate", is_rising=True)
        return _Judgement(Grade.NONE, f"a test shows {speed}", -shown, (key_figure,))
    return _Judgement(Grade.NONE, rate, severity, goodput)


def _tell_real(evidence: _Evidence) -> _Judgement:
    """Say what real programs got; what they are for, and so how well they fare, is not known."""
    if not (evidence.rows["packets_sent"] > 0).any():
        return _Judgement(Grade.NONE, "nothing sent", 0.0, _say("nothing sent"))
    if not (evidence.rows["packets_delivered"] > 0).any():
        return _Judgement(Grade.NONE, NOTHING_ARRIVED, 0.0, _say(NOTHING_ARRIVED))
    rates = {str(row["direction"]): row["goodput_bps"] for row in evidence.rows.to_dicts()}
    told = join_names(
        [
            f"{write_quantity(rates[way], 'rate')} {way}"
            for way in ("down", "up")
            if read_number(rates.get(way))
        ]
        or ["nothing that programs read"]
    )
    after = BOTH_WAYS if sum(bool(read_number(rate)) for rate in rates.values()) > 1 else ""
    goodput = KeyFigure(
        "goodput", evidence.goodput, "rate", after=after, is_rising=True, told=NOTHING_READ
    )
    key_figures = [goodput]
    if evidence.has("rtt"):
        middle, slow = (_read_statistic(evidence, "rtt", name) for name in ("p50", "p95"))
        told += (
            f", TCP round trips of {write_quantity(middle)} at the median and"
            f" {write_quantity(slow)} at the 95th percentile"
        )
        about = "median round trip of its TCP"
        key_figures.append(KeyFigure(about, middle, before="RTT"))
    if evidence.loss:
        told += f", {write_quantity(evidence.loss, 'ratio')} lost"
    return _Judgement(Grade.NONE, told, -(evidence.goodput or 0.0), tuple(key_figures))


def _grade_wait(waited_ns: float) -> _Judgement:
    """Grade a transfer of which nothing came yet: it is not graded before it has waited long."""
    if not waited_ns:
        # It began after the last sample but one.
        return _Judgement(Grade.NONE, NOTHING_READ, 0.0, _say(NOTHING_READ))
    if waited_ns <= WAIT_MARKS[0]:
        text = f"nothing read in {write_quantity(waited_ns)}"
        return _Judgement(Grade.NONE, text, 0.0, _say(text))
    return _judge_wait(waited_ns, "nothing read")


#: The marks of measures that alone say how somebody fares.
_MARKS_OF_MEASURES = {
    "mos": MOS_MARKS,
    "page_load_time": WAIT_MARKS,
    "startup_delay": WAIT_MARKS,
    "rtt": PING_MARKS,
    "rpm": RPM_MARKS,
    "missed": PLAY_MARKS,
    "frames_late": FRAME_MARKS,
    "frozen": FREEZE_MARKS,
    "stalled": STALL_MARKS,
}


def grade_measure(measure: str, value: float) -> Grade:
    """Grade a value of a measure by the marks of people's grades; ``NONE`` where it has none.

    Parameters
    ----------
    measure
        Its name, such as ``mos``.
    value
        In its base unit: ns, a share, or plain.

    Examples
    --------
    >>> grade_measure("mos", 3.7), grade_measure("page_load_time", 1e9), grade_measure(
    ...     "goodput", 1e6
    ... )
    (<Grade.FAIR: 'fair'>, <Grade.GOOD: 'good'>, <Grade.NONE: 'none'>)
    """
    marks = _MARKS_OF_MEASURES.get(measure)
    if marks is None:
        return Grade.NONE
    return _grade_rising(value, marks) if marks[0] > marks[-1] else _grade_falling(value, marks)


def _grade_falling(value: float | None, marks: tuple[float, float, float]) -> Grade:
    if value is None:
        return Grade.NONE
    passed = sum(value > mark for mark in marks)
    return (Grade.GOOD, Grade.FAIR, Grade.POOR, Grade.BAD)[passed]


def _grade_rising(value: float | None, marks: tuple[float, float, float]) -> Grade:
    if value is None:
        return Grade.NONE
    return _grade_falling(-value, (-marks[0], -marks[1], -marks[2]))


def _worst(values: pl.Series) -> float | None:
    numbers = [read_number(value) for value in values]
    return max((number for number in numbers if number is not None), default=None)


def read_number(value: Any) -> float | None:
    """Give a number, or None for what does not exist."""
    if value is None or math.isnan(value):
        return None
    return float(value)


def write_quantity(value: Any, kind: Any = "time") -> str:
    """Write a quantity with its unit; by default a time in ns."""
    return format_quantity(None if value is None else float(value), kind)
