"""How each flow fared: a grade by the marks of ``analysis/grading.py``, and what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from headend.analysis import grading
from headend.analysis.grading import ORDER, UNUSABLE, UNUSABLE_SCORE, UNUSABLE_SHARE, Grade
from headend.analysis.key_figure import KeyFigure, read_number
from headend.analysis.limits import describe_limit
from headend.analysis.queues import LONG_WAIT
from headend.engine.description import REAL, find_application, list_discards
from headend.results.record import Record, cached_on_record
from headend.scenario.parameters import read_parameters
from headend.text.quantity import format_quantity, parse_quantity

#: Rows of a table, as a record gives them.
Rows = Sequence[Mapping[str, Any]]

#: Share of a call's packets, lost or late, from which they are named as what spoils it.
AUDIBLE_LOSS = 0.005

#: One-way delay from which a call's is named, ns.
LONG_WAY = 150e6

#: Measures of transfers that their own words tell of.
TRANSFER_MEASURES = ("completion_time", "speed")

#: What is said of a flow that sent and got nothing through, and of one of which nothing came yet.
NOTHING_ARRIVED = "no packet arrived"
NOTHING_READ = "nothing read yet"

#: What is said of a flow of a run that ended within its warm-up.
NOTHING_MEASURED = "nothing measured yet"

#: Something that a flow's user notices: its kind, and what was measured of it.
#: ``wording/flows.py`` has the words of each kind.
Detail = tuple[Any, ...]


@dataclass(frozen=True)
class FlowQuality:
    """How one flow fared. Delays in ns, rates in bit/s; None where nothing was measured."""

    flow: str
    application: str
    grade: Grade
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
    #: Whether it is at the far end of bad.
    is_unusable: bool = False
    #: Share of a call's packets that came too late to be played, in the graded direction.
    late_ratio: float | None = None
    #: All numbers that the grade could be by, that first which it is by; of what has no grade, its
    #: rate.
    key_figures: tuple[KeyFigure, ...] = (KeyFigure(""),)
    #: The direction whose delay is given, ``up`` or ``down``; only of real programs.
    delay_direction: str = ""
    #: What held its TCP senders back for most of the time, with the share; empty if not known.
    limit: str = ""
    #: What its user notices besides.
    details: tuple[Detail, ...] = ()
    #: How much longer the run must be for it to be judged, ns; 0 where it is, or has no grade.
    lacking_ns: float = 0.0
    #: The mean rate of the picture of a video call or film, of two directions the lower, bit/s.
    picture_bps: float | None = None

    @property
    def suffers(self) -> bool:
        """Whether it is poorly or badly off."""
        return self.grade in (Grade.POOR, Grade.BAD)

    @property
    def word(self) -> str:
        """The one word for it, from ``good`` to ``unusable``; empty without a grade."""
        return "" if self.grade is Grade.NONE else UNUSABLE if self.is_unusable else str(self.grade)

    @property
    def number(self) -> str:
        """The one number that the word is by, with its unit."""
        return self.key_figures[0].write()

    @property
    def about(self) -> str:
        """What that number is."""
        return self.key_figures[0].about


@cached_on_record
def judge_flows(result: Record) -> list[FlowQuality]:
    """Judge every flow of a run, in the order of the tables."""
    return [_judge_flow(evidence) for evidence in _gather_evidence(result)]


@dataclass(frozen=True)
class _Evidence:
    """All that was measured of one flow."""

    rows: Rows
    #: The rows that carry data; all of them where none does.
    data: Rows
    stats: dict[str, Mapping[str, Any]]
    #: Round trips of its pings, NaN of those without an answer.
    pings: Sequence[float]
    #: From when it began, or the warm-up ended, to the end of the run; negative in a run that ended
    #: within its warm-up.
    waited_ns: float
    #: Whether a connection had data under way when the run ended, or waited for an answer.
    is_under_way: bool
    #: The receiver's de-jitter buffer: a length, ``adaptive``, or empty of what is no call.
    de_jitter: str = ""
    #: The rate of a film's best picture, bit/s; None of what is no film.
    best_picture_bps: float | None = None
    #: How much longer the run must be for a whole scoring period of a call, in whole seconds, ns.
    lacking_ns: float = 0.0

    @property
    def application(self) -> str:
        return str(self.rows[0]["application"])

    @property
    def goodput(self) -> float | None:
        return read_number(sum(row["goodput_bps"] for row in self.data))

    @property
    def loss(self) -> float | None:
        """Lost pings are those without an answer, lost either way; else the worse way counts."""
        if "rtt" in self.stats and self.application != REAL:
            return fmean(map(math.isnan, self.pings)) if self.pings else None
        if self.application == REAL:
            # Both ways carry data and acknowledgements; of those, the ones that a modem leaves out
            # are no loss.
            return _worst(
                max(row["loss_ratio"] - _share(row, "discarded_ack_thinned"), 0.0)
                for row in self.data
                if not math.isnan(row["loss_ratio"])
            )
        return _worst_of(self.data, "loss_ratio")

    @property
    def path_loss(self) -> float:
        """Only the path beyond all links loses packets without a reason of its own."""
        return max((_share(row, "discarded_corrupted") for row in self.data), default=0.0)

    @property
    def delay_p95(self) -> float | None:
        return _worst_of(self.data, "delay_p95_ns")

    @property
    def is_one_way_dead(self) -> bool:
        """Whether data was sent one way, and none of it arrived."""
        return any(row["packets_sent"] and not row["packets_delivered"] for row in self.data)

    def is_cut_off(self) -> bool:
        """Whether something was sent, all of one way was lost, and no data came through."""
        return (
            self.sent()
            # Where it is not known, something may have come through.
            and all(row["goodput_bps"] == 0 for row in self.data)
            and (_worst_of(self.rows, "loss_ratio") or 0.0) > 0
        )

    def read(self, measure: str, statistic: str) -> float | None:
        """Give a statistic of a measure; None where it was not taken."""
        row = self.stats.get(measure)
        return read_number(row[statistic]) if row else None

    @property
    def picture(self) -> float | None:
        """The mean rate of its picture, of two directions the lower; None of what has none."""
        measures = ("video_rate", "video_rate_down", "segment_rate")
        rates = [self.read(measure, "mean") for measure in measures]
        return min((rate for rate in rates if rate is not None), default=None)

    def has(self, measure: str) -> bool:
        """Whether a measure was taken at least once with success."""
        return self.read(measure, "p50") is not None

    def sent(self) -> bool:
        """Whether a packet was sent."""
        return any(row["packets_sent"] for row in self.rows)


def _gather_evidence(result: Record) -> Iterator[_Evidence]:
    """Gather what was measured of each flow, looking at every table once however many there are."""
    begun, under_way = _find_begun(result), _find_under_way(result)
    end, warmup = result.manifest["simulated_ns"], result.manifest.get("warmup_ns", 0)
    measures, pings = _split(result.rows("measures")), _gather_pings(result)
    for flow, rows in _split(result.rows("flows")).items():
        yield _Evidence(
            rows=rows,
            data=[row for row in rows if row["carries"] == "data"] or rows,
            stats={row["measure"]: row for row in measures.get(flow, ())},
            pings=pings.get(flow, ()),
            waited_ns=float(end - max(begun.get(flow, warmup), warmup)),
            is_under_way=flow in under_way,
            de_jitter=read_de_jitter(result, flow),
            best_picture_bps=read_best_picture(result, flow),
            lacking_ns=_measure_lack(result, flow, rows[0]["application"], begun.get(flow, warmup)),
        )


def read_best_picture(result: Record, flow: str) -> float | None:
    """Give the rate of a film's best picture, bit/s; None of what is no film."""
    ladder = read_parameters(result.manifest["scenario"], flow, "streaming").get("ladder", ())
    rates: list[float] = [parse_quantity(str(rate), "rate").value for rate in ladder]
    return max(rates, default=None)


def _measure_lack(result: Record, flow: str, application: str, begun: int) -> float:
    """Give how much longer a run must be for a whole scoring period, in whole seconds, ns.

    Periods follow each other from the beginning of a call; the first that begins after the warm-up
    counts, and is scored after its grace.
    """
    own = read_parameters(result.manifest["scenario"], flow, application)
    scoring = {**own, **own.get("scoring", {})}
    if "period" not in scoring:
        return 0.0
    period, grace = (
        parse_quantity(str(scoring.get(key, "0 s")), "time").value for key in ("period", "grace")
    )
    warmup = float(result.manifest.get("warmup_ns", 0))
    before = math.ceil(max(warmup - begun, 0.0) / period)
    end = begun + (before + 1) * period + grace
    lacking = (end - float(result.manifest["simulated_ns"])) / 1e9
    return max(math.ceil(lacking), 1) * 1e9


def _find_begun(result: Record) -> dict[str, int]:
    """Find when each flow began, ns: its series and its connections are in order of time.

    A connection is there from its first try, before anything of it arrives where the way is long.
    """
    flows, connections = result.lists("flow_series"), result.lists("connection_series")
    begun: dict[str, int] = {}
    columns = ("flow", "time_ns", "throughput_bps", "discarded")
    for flow, time, rate, discarded in zip(*(flows[name] for name in columns), strict=True):
        if flow not in begun and (rate > 0 or discarded > 0):
            begun[flow] = time
    for flow, time in zip(connections["flow"], connections["time_ns"], strict=True):
        begun[flow] = min(begun.get(flow, time), time)
    return begun


def _find_under_way(result: Record) -> set[str]:
    """Find the flows with data under way at the end: what was in flight before has arrived."""
    last = max(result.lists("flow_series")["time_ns"], default=None)
    rows = result.lists("connection_series")
    columns = ("flow", "time_ns", "in_flight_bytes", "srtt_ns")
    return {
        flow
        for flow, time, in_flight, srtt in zip(*(rows[name] for name in columns), strict=True)
        if time == last and (in_flight > 0 or math.isnan(srtt))
    }


def _gather_pings(result: Record) -> dict[str, list[float]]:
    rows = result.lists("samples")
    pings: dict[str, list[float]] = {}
    for flow, measure, value in zip(rows["flow"], rows["measure"], rows["value"], strict=True):
        if measure == "rtt":
            pings.setdefault(flow, []).append(value)
    return pings


def read_de_jitter(result: Record, flow: str) -> str:
    """Give the de-jitter buffer of a call's receiver: a length, ``adaptive``, or empty."""
    scoring = read_parameters(result.manifest["scenario"], flow, "voice").get("scoring", {})
    buffer = scoring.get("de_jitter")
    return str(buffer["fixed"]) if isinstance(buffer, Mapping) else "adaptive" if buffer else ""


def _split(rows: Rows) -> dict[str, list[Mapping[str, Any]]]:
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        parts.setdefault(row["flow"], []).append(row)
    return parts


def _judge_flow(evidence: _Evidence) -> FlowQuality:
    judged = _grade(evidence)
    suffers = judged.grade in (Grade.POOR, Grade.BAD)
    symptom, direction = _find_symptom(evidence) if suffers else ("", "")
    dead = evidence.is_one_way_dead
    return FlowQuality(
        flow=str(evidence.rows[0]["flow"]),
        application=evidence.application,
        grade=judged.grade,
        # Where nothing of one way arrived, the delay of the other is not the worse one.
        delay_p50_ns=None if dead else _worst_of(evidence.data, "delay_p50_ns"),
        delay_p95_ns=None if dead else evidence.delay_p95,
        loss_ratio=evidence.loss,
        goodput_bps=evidence.goodput,
        severity=math.inf if judged.severity is None else judged.severity,
        path_loss_ratio=evidence.path_loss,
        is_both_ways=sum(row["packets_sent"] > 0 for row in evidence.data) > 1,
        symptom=symptom,
        direction=direction,
        is_unusable=judged.is_unusable,
        picture_bps=evidence.picture,
        late_ratio=evidence.read("late_down" if direction == "down" else "late", "mean"),
        key_figures=judged.key_figures,
        delay_direction=_find_slower_way(evidence) if evidence.application == REAL else "",
        limit=describe_limit(evidence.data),
        details=judged.details,
        lacking_ns=judged.lacking_ns,
    )


def _find_slower_way(evidence: _Evidence) -> str:
    """Find the direction with the longer 95th percentile of the delay; neither if not measured."""
    delays = {
        str(row["direction"]): value
        for row in evidence.data
        if (value := read_number(row["delay_p95_ns"])) is not None
    }
    return max(delays, key=delays.__getitem__, default="")


@dataclass(frozen=True)
class _Judgement:
    """A grade with the numbers for it, and what it is by: larger is worse, None if not measured."""

    grade: Grade
    severity: float | None
    key_figures: tuple[KeyFigure, ...]
    details: tuple[Detail, ...] = ()
    is_unusable: bool = False
    lacking_ns: float = 0.0


def _judge_silence(told: str = NOTHING_ARRIVED) -> _Judgement:
    """Judge what sent and got nothing through."""
    return _Judgement(Grade.BAD, math.inf, (KeyFigure("", told=told),), is_unusable=True)


def _leave_ungraded(told: str, *details: Detail) -> _Judgement:
    """Give no grade, and say something in place of a number."""
    return _Judgement(Grade.NONE, 0.0, (KeyFigure("", told=told),), details)


def _leave_unjudged(evidence: _Evidence) -> _Judgement:
    """Give no grade to what was not scored for a whole period in each direction."""
    needs = f"not judged: needs {format_quantity(evidence.lacking_ns, 'time')} more"
    return _Judgement(
        Grade.NONE,
        0.0,
        (KeyFigure("", told=needs),),
        (("told", needs),),
        False,
        evidence.lacking_ns,
    )


def _find_symptom(evidence: _Evidence) -> tuple[str, str]:
    """Say whether late or lost packets are what a flow suffers most from, and which way they went.

    A transfer over TCP feels both alike, as one that takes longer: of it nothing is said, unless
    nothing of it came through.
    """
    if evidence.is_cut_off():
        # What a classifier forbids, or a modem that is not there, is no harm that a queue does.
        columns = list_discards("room", "share", "law", "policer")
        by_queues = sum(row[name] for row in evidence.rows for name in columns)
        return ("lost", "") if by_queues else ("", "")
    if "rtt" in evidence.stats:
        slow = grading.PING.grade(evidence.read("rtt", "p95"))
        lossy = grading.LOSS.grade(evidence.loss)
        return ("lost" if ORDER.index(lossy) > ORDER.index(slow) else "late"), ""
    if evidence.rows[0]["transport"] != "udp":
        return "", ""
    way = _find_worse_way(evidence)
    rows = [row for row in evidence.data if way in ("", row["direction"])]
    loss = _worst_of(rows, "loss_ratio") or 0.0
    late = evidence.read("late_down" if way == "down" else "late", "mean")
    if late is not None:
        return ("lost" if loss > late else "late"), way
    # Of what is judged by a deadline, whoever waits as long as that in queues misses it for that.
    waited = _worst(row["delay_p95_ns"] - row["delay_min_ns"] for row in rows) or 0.0
    return ("lost" if loss > grading.LOSS.bounds[0] and waited <= LONG_WAIT else "late"), way


def _find_worse_way(evidence: _Evidence) -> str:
    """Find the direction by which a flow is graded; neither where it is not graded by one."""
    scored = _list_scored(evidence)
    if len(scored) > 1:
        return "down" if _find_worse_score(evidence, scored) == "mos_down" else "up"
    for measure in ("frames_late", "missed"):
        if evidence.has(measure) and evidence.has(f"{measure}_down"):
            return "down" if _find_worse(evidence, measure) else "up"
    ways = [row["direction"] for row in evidence.data if row["packets_sent"]]
    return str(ways[0]) if len(ways) == 1 else ""


def _grade(evidence: _Evidence) -> _Judgement:
    if evidence.waited_ns < 0:
        return _leave_ungraded(NOTHING_MEASURED)
    if evidence.application == REAL:
        return _describe_real(evidence)
    if evidence.application == "voice" or evidence.has("mos") or evidence.has("mos_down"):
        return _grade_call(evidence)
    if evidence.application == "web" or evidence.has("page_load_time"):
        return _grade_pages(evidence)
    if evidence.application == "streaming":
        return _grade_stream(evidence)
    if evidence.application == "responsiveness":
        return _grade_responsiveness(evidence)
    if "rtt" in evidence.stats:
        return _grade_ping(evidence)
    if "probe" in find_application(evidence.application).properties:
        return _describe_router(evidence)
    if evidence.has("frames_late") or evidence.has("frames_late_down"):
        return _grade_video(evidence)
    if evidence.has("missed") or evidence.has("missed_down"):
        return _grade_game(evidence)
    is_udp = evidence.rows[0]["transport"] == "udp"
    judged = _grade_datagrams(evidence) if is_udp else _grade_transfer(evidence)
    details = judged.details or (("told", judged.key_figures[0].told),)
    return replace(judged, details=(*details, *_gather_reports(evidence)))


def _gather_reports(evidence: _Evidence) -> Iterator[Detail]:
    """Give the figures by which runs are compared, where no grade speaks of the measure.

    Of two directions the worse counts.
    """
    for kind in dict.fromkeys(kind for kind, _ in find_application(evidence.application).measures):
        if kind.name in TRANSFER_MEASURES:
            continue
        for title, statistic in kind.compared_by:
            values = [evidence.read(name, statistic) for name in kind.names]
            measured = [value for value in values if value is not None]
            if measured:
                worst = min(measured) if kind.higher_is_better else max(measured)
                yield "report", title, worst, kind.quantity


def _grade_call(evidence: _Evidence) -> _Judgement:
    judged = _grade_sound(evidence)
    if (answered := evidence.read("set_up_time", "p50")) is not None:
        judged = replace(judged, details=(*_list_details(judged), ("answered", answered)))
    failed = evidence.read("call_failed", "mean")
    if not failed:
        return judged
    count = int(evidence.stats["call_failed"]["count"])
    lost = ("failed", round(failed * count), count)
    key_figures = (grading.FAILED.show(failed), *judged.key_figures)
    if failed == 1.0:
        return _Judgement(Grade.BAD, math.inf, key_figures, (lost,), is_unusable=True)
    details = (lost, *_list_details(judged))
    by_failures = grading.FAILED.grade(failed)
    if ORDER.index(by_failures) <= ORDER.index(judged.grade):
        return replace(judged, details=details)
    return _Judgement(by_failures, judged.severity, key_figures, details)


def _list_details(judged: _Judgement) -> tuple[Detail, ...]:
    return judged.details or (("told", judged.key_figures[0].told),)


def _list_scored(evidence: _Evidence) -> list[str]:
    """List the directions in which speech was scored, by what their score is called."""
    return [name for name in ("mos", "mos_down") if evidence.has(name)]


def _find_worse_score(evidence: _Evidence, scored: list[str]) -> str:
    """Find the direction by which a call is graded: that with the worse bad spells."""
    return min(scored, key=lambda name: evidence.read(name, "p5") or 0.0)


def _grade_sound(evidence: _Evidence) -> _Judgement:
    scored = _list_scored(evidence)
    if not scored and evidence.is_cut_off():
        return _judge_silence()
    ways = sum(row["packets_sent"] > 0 for row in evidence.data)
    if evidence.lacking_ns and len(scored) < ways:
        # What was scored of one direction alone says nothing of the other.
        return _leave_unjudged(evidence)
    if not scored:
        return _grade_datagrams(evidence)
    worst = _find_worse_score(evidence, scored)
    score = evidence.read(worst, "p5")
    grade = grading.MOS.grade(score)
    return _Judgement(
        grade,
        None if score is None else -score,
        (grading.MOS.show(score),),
        (
            ("score", evidence.stats[worst]["p5"], evidence.stats[worst]["p50"]),
            *(() if grade is Grade.GOOD else _explain_call(evidence, worst)),
        ),
        score is not None and score < UNUSABLE_SCORE,
    )


def _explain_call(evidence: _Evidence, score: str) -> Iterator[Detail]:
    """Find what spoiled a call: packets too late for its de-jitter buffer, loss, or delay."""
    direction = "down" if score == "mos_down" else "up"
    row = next((row for row in evidence.rows if row["direction"] == direction), None)
    if row is None:
        return
    if row["packets_sent"] and not row["packets_delivered"]:
        yield ("none_arrived",)
        return
    late = evidence.read("late_down" if direction == "down" else "late", "mean") or 0.0
    loss, delay = (read_number(row[name]) or 0.0 for name in ("loss_ratio", "delay_p50_ns"))
    if late >= AUDIBLE_LOSS:
        # Another buffer would give the call another grade.
        yield "late", late, evidence.de_jitter
    if loss >= AUDIBLE_LOSS:
        yield "also_lost" if late >= AUDIBLE_LOSS else "lost", loss
    if max(late, loss) < AUDIBLE_LOSS and delay > LONG_WAY:
        yield "long_way", delay, evidence.de_jitter


def _grade_pages(evidence: _Evidence) -> _Judgement:
    if evidence.has("page_load_time"):
        row, median = evidence.stats["page_load_time"], evidence.read("page_load_time", "p50")
        details = (("pages", row["p50"], row["p95"]),)
        grade = grading.PAGES.grade(median)
        return _Judgement(grade, median, (grading.PAGES.show(median),), details)
    if not evidence.sent():
        return _leave_ungraded("no page requested")
    return _judge_wait(evidence.waited_ns, "no page finished")


def _judge_wait(waited_ns: float, told: str) -> _Judgement:
    """Judge what never came by the time waited for it."""
    text = f"{told} in {format_quantity(waited_ns, 'time')}"
    grade = grading.PAGES.grade(waited_ns)
    figures = (KeyFigure("", told=text),)
    return _Judgement(grade, waited_ns, figures, is_unusable=grade is Grade.BAD)


def _grade_stream(evidence: _Evidence) -> _Judgement:
    delay, stood = evidence.read("startup_delay", "p50"), evidence.read("stalled", "mean")
    if delay is None and stood is None:
        if not evidence.sent():
            return _leave_ungraded("no video requested")
        return _judge_wait(evidence.waited_ns, "no picture")
    rate = evidence.read("segment_rate", "mean")
    details: list[Detail] = [] if delay is None else [("starts", delay)]
    details += [] if rate is None else [("film", rate)]
    details += [("stands", stood)] if stood else []
    picture = evidence.read("segment_rate", "p50")
    best = evidence.best_picture_bps
    numbers = {
        grading.START: delay,
        grading.STALLED: stood,
        grading.PICTURE: picture / best if picture and best else None,
    }
    return _choose_worse(numbers, stood or 0.0, tuple(details), stood)


def _grade_responsiveness(evidence: _Evidence) -> _Judgement:
    medians = {"up": evidence.read("rpm", "p50"), "down": evidence.read("rpm_down", "p50")}
    by_direction = {direction: rpm for direction, rpm in medians.items() if rpm is not None}
    if not by_direction:
        if evidence.is_cut_off():
            return _judge_silence("no probe was answered")
        return _leave_ungraded("no test finished", ("told", "no test finished with answers"))
    worst = min(by_direction.values())
    return _choose_worse({grading.RPM: worst}, -worst, (("rpm", by_direction),))


def _grade_ping(evidence: _Evidence) -> _Judgement:
    if not evidence.has("rtt"):
        return _judge_silence("no answer")
    loss, slow = evidence.loss, evidence.read("rtt", "p95")
    details: tuple[Detail, ...] = (("trips", evidence.stats["rtt"]["p50"], slow),)
    details += (("also", loss),) if loss else ()
    # The round-trip times are those of the answers: who gets none is not well off.
    return _choose_worse({grading.PING: slow, grading.LOSS: loss}, slow, details)


def _choose_worse(
    numbers: Mapping[grading.Mark, float | None],
    severity: float | None,
    details: tuple[Detail, ...],
    share: float | None = None,
) -> _Judgement:
    """Judge by the worst of several numbers; of equal grades, by the first.

    Parameters
    ----------
    share
        What makes it unusable where it is large.
    """
    graded = [(mark.grade(value), mark.show(value)) for mark, value in numbers.items()]
    ordered = sorted(graded, key=lambda item: -ORDER.index(item[0]))
    is_unusable = (share or 0.0) > UNUSABLE_SHARE
    figures = tuple(figure for _, figure in ordered)
    return _Judgement(ordered[0][0], severity, figures, details, is_unusable)


def _grade_video(evidence: _Evidence) -> _Judgement:
    way = _find_worse(evidence, "frames_late")
    late, frozen, rate, delay = (
        evidence.read(f"{name}{way}", "mean")
        for name in ("frames_late", "frozen", "video_rate", "frame_delay")
    )
    numbers = {grading.FRAMES: late, grading.FROZEN: frozen}
    details: list[Detail] = [("video", rate)]
    details += [] if delay is None else [("frames", delay)]
    details += [("frames_late", late), *([("frozen", frozen)] if frozen else [])]
    missed = None
    if evidence.has("missed"):
        missed = evidence.read("missed", "mean")
        numbers[grading.INPUT] = missed
        up = [row for row in evidence.rows if row["direction"] == "up"]
        slow = _worst_of(up, "delay_p95_ns")
        details += [("input", missed, slow)] if missed else []
    shares = (late or 0.0, frozen or 0.0, missed or 0.0)
    # Among those whose frames are as late, who sees a still picture suffers more.
    return _choose_worse(numbers, shares[0] + shares[1], tuple(details), max(shares))


def _grade_game(evidence: _Evidence) -> _Judgement:
    if evidence.is_cut_off():
        return _judge_silence()
    missed = evidence.read(f"missed{_find_worse(evidence, 'missed')}", "mean")
    numbers = {grading.MISSED: missed, grading.LOSS: evidence.loss}
    details = (("game", missed, evidence.delay_p95),)
    return _choose_worse(numbers, evidence.delay_p95, details, missed)


def _find_worse(evidence: _Evidence, measure: str) -> str:
    """Find the direction in which a share is larger: the suffix of its measures."""
    shares = {way: evidence.read(f"{measure}{way}", "mean") for way in ("", "_down")}
    known = {way: share for way, share in shares.items() if share is not None}
    return max(known, key=known.__getitem__, default="")


def _grade_datagrams(evidence: _Evidence) -> _Judgement:
    if evidence.is_cut_off():
        return _judge_silence()
    slow, loss = evidence.delay_p95, evidence.loss
    if slow is None:
        return _leave_ungraded("nothing arrived")
    application = find_application(evidence.application)
    mark = grading.GAME_DELAY if "game" in application.properties else grading.DELAY
    if application.is_scored and evidence.lacking_ns:
        return _leave_unjudged(evidence)
    details: tuple[Detail, ...] = (("datagrams", slow, loss),)
    return _choose_worse({mark: slow, grading.LOSS: loss}, slow, details, loss)


def _describe_router(evidence: _Evidence) -> _Judgement:
    """Say which rates a router had that follow the delay: nobody feels its probes."""
    ways = (("↑", "router_rate"), ("↓", "router_rate_down"))
    rates = [
        f"{arrow} {format_quantity(float(f'{rate:.3g}'), 'rate')}"
        for arrow, name in ways
        if (rate := evidence.read(name, "p50")) is not None
    ]
    return _leave_ungraded(f"{' '.join(rates)} (median)" if rates else "its rates stayed")


def _grade_transfer(evidence: _Evidence) -> _Judgement:
    if evidence.is_cut_off():
        return _judge_silence("nothing got through")
    goodput, waited = evidence.goodput, evidence.waited_ns
    if not goodput and evidence.is_under_way and waited:
        if waited > grading.PAGES.bounds[0]:
            return _judge_wait(waited, "nothing read")
        return _leave_ungraded(f"nothing read in {format_quantity(waited, 'time')}")
    if goodput is None or (not goodput and evidence.is_under_way):
        # The measured part has no length, or it began after the last sample but one.
        return _leave_ungraded(NOTHING_READ)
    figure = KeyFigure("goodput", goodput, "rate", higher_is_better=True)
    if (file := evidence.read("completion_time", "p50")) is not None:
        return _Judgement(Grade.NONE, -goodput, (figure,), (("file", goodput, file),))
    if (speed_bps := evidence.read("speed", "p50")) is not None:
        figure = KeyFigure("what a speed test shows", speed_bps, "rate", higher_is_better=True)
        return _Judgement(Grade.NONE, -speed_bps, (figure,), (("speed", speed_bps),))
    return _Judgement(Grade.NONE, -goodput, (figure,), (("rate", goodput),))


def _describe_real(evidence: _Evidence) -> _Judgement:
    """Say what real programs got; what they are for, and so how well they fare, is not known."""
    if not evidence.sent():
        return _leave_ungraded("nothing sent")
    if not any(row["packets_delivered"] for row in evidence.rows):
        return _leave_ungraded(NOTHING_ARRIVED)
    rates = {row["direction"]: row["goodput_bps"] for row in evidence.rows}
    by_direction = {
        direction: rates[direction]
        for direction in ("down", "up")
        if read_number(rates.get(direction))
    }
    arrows = {"down": "↓", "up": "↑"}
    parts = " ".join(
        f"{arrows[way]} {format_quantity(bps, 'rate')}" for way, bps in by_direction.items()
    )
    figures = [
        KeyFigure(
            "goodput",
            evidence.goodput,
            "rate",
            higher_is_better=True,
            told=NOTHING_READ,
            parts=parts if len(by_direction) > 1 else "",
        )
    ]
    details: list[Detail] = [("got", by_direction)]
    if evidence.has("rtt"):
        middle, slow = evidence.read("rtt", "p50"), evidence.read("rtt", "p95")
        details.append(("tcp_trips", middle, slow))
        figures.append(KeyFigure("median round trip of its TCP", middle, before="RTT"))
    details += [("also", evidence.loss)] if evidence.loss else []
    return _Judgement(Grade.NONE, -(evidence.goodput or 0.0), tuple(figures), tuple(details))


def _share(row: Mapping[str, Any], column: str) -> float:
    """Give a column's share of the packets sent."""
    return float(row[column] / max(row["packets_sent"], 1))


def _worst_of(rows: Rows, column: str) -> float | None:
    return _worst(row[column] for row in rows)


def _worst(values: Iterable[float | None]) -> float | None:
    numbers = [read_number(value) for value in values]
    return max((number for number in numbers if number is not None), default=None)
