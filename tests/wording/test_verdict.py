"""The verdict in words: who suffered, and what the queue had to do with it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import headend
from headend.analysis.bottleneck import QueueGroup, find_shared_bottleneck, gather_queues
from headend.analysis.diagnosis import Case, find_symptoms, open_case
from headend.analysis.facts import QueueUse, ThrottledSenders
from headend.analysis.flow_groups import gather_groups
from headend.analysis.grading import Grade
from headend.analysis.quality import FlowQuality
from headend.analysis.queue_remedies import shorten
from headend.analysis.queue_state import describe_shared_queue
from headend.analysis.queues import name_queue_key, weigh_queues
from headend.analysis.throttling import Throttled, find_throttled
from headend.comparison.comparison import Variant
from headend.comparison.contrast import answer_comparison
from headend.engine.columns import TABLES
from headend.engine.description import describe
from headend.figures.experience import draw_voice
from headend.figures.over_time import draw_internals
from headend.pages.page import write_report
from headend.running.experiment import compare
from headend.running.result import Result
from headend.text.quantity import format_quantity
from headend.wording.facts import describe_facts
from headend.wording.flow_tables import tabulate_flows, tabulate_queues
from headend.wording.flows import describe_experience
from headend.wording.queue import full_remedy, full_use
from headend.wording.verdict import judge, note_comparison
from street import make_street


def test_a_standing_queue_is_named_as_the_cause(fake: Any, home_line: Path) -> None:
    verdict = judge(headend.run(home_line))
    grades = {finding.flow: finding.grade for finding in verdict.findings}
    assert grades["call"] is Grade.BAD
    assert grades["upload"] is Grade.NONE
    assert verdict.queue is not None
    assert verdict.queue.queue == "cable.up"
    assert "standing queue" in verdict.paragraph


def test_those_who_suffer_most_come_first(fake: Any, home_line: Path) -> None:
    grades = [finding.grade for finding in judge(headend.run(home_line)).findings]
    assert grades == sorted(
        grades, key=[Grade.BAD, Grade.POOR, Grade.FAIR, Grade.GOOD, Grade.NONE].index
    )


def test_a_full_line_with_a_short_queue_is_praised(fake: Any, home_line: Path) -> None:
    verdict = judge(headend.run(home_line, set={"queue": "docsis_pie"}))
    assert not any(party.worst.suffers for party in verdict.groups)
    assert "the queue stayed short" in verdict.paragraph


def make_line(up: dict[str, Any], down: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """Make a scenario of one plain link; the rest are its other keys, such as its flows."""
    link = {"line": {"point_to_point": {"up": up, "down": down}}}
    return {"duration": "20 s", "warmup": "5 s", "link": link, **rest}


TEN = {"rate": "10 Mbit/s"}
GET = {"application": "bulk", "direction": "down"}


def test_a_short_burst_of_many_packets_is_no_standing_queue() -> None:
    burst = {"application": {"cbr": {"rate": "20 Mbit/s"}}, "start": "6 s", "stop": "7 s"}
    up = {**TEN, "queue": {"drop_tail": {"limit": "1 s"}}}
    flow = {"burst": burst, "call": {"application": "voice"}}
    result = headend.run(make_line(up, TEN, flow=flow))
    row = result.queues.row(0, named=True)
    # Half a second at the median of the packets; it stands for the two seconds in which the burst
    # leaves, of fifteen.
    assert row["delay_p50_ns"] > 100e6
    assert abs(row["standing_ratio"] - 2 / 15) < 0.01
    paragraph = judge(result).paragraph
    assert "standing queue" not in paragraph
    assert f"It stood {format_quantity(row['standing_ratio'], 'ratio')} of the time" in paragraph


def test_the_middle_of_an_even_number_is_the_worse_of_two() -> None:
    rows = tuple({"queue": f"q.{n}", "median": float(n)} for n in (6, 5, 4, 3, 2, 1))
    assert QueueGroup("q", rows).middle["queue"] == "q.4"
    assert QueueGroup("q", rows[1:]).middle["queue"] == "q.3"


def test_a_queue_that_lets_nothing_through_is_the_worst_of_its_group() -> None:
    street = make_street(5)
    blocked = pl.col("queue") == "cable.home.2.up"
    changed = street.queues.with_columns(
        packets_dequeued=pl.when(blocked).then(0).otherwise("packets_dequeued"),
        delay_p50_ns=pl.when(blocked).then(math.nan).otherwise("delay_p50_ns"),
    )
    street.tables["queues"] = changed
    up = next(party for party in gather_queues(street) if ".up" in party.label)
    assert [row["queue"] for row in up.rows][:2] == ["cable.home.2.up", "cable.home.5.up"]


def test_of_a_download_the_down_queue_is_blamed() -> None:
    verdict = judge(headend.run(make_line(TEN, TEN, flow={"get": GET})))
    assert verdict.queue is not None
    assert verdict.queue.queue == "line.down"
    assert "The queue line.down (drop_tail) held packets" in verdict.paragraph
    assert "That is a standing queue" in verdict.paragraph
    assert "(not tried: `--set link.line.point_to_point.down.queue=…`)" in verdict.paragraph
    assert "line.up" not in verdict.paragraph


def test_a_bottleneck_that_is_named_and_is_none_is_told() -> None:
    scenario = make_line(TEN, TEN, flow={"get": GET}, bottleneck="line.up")
    verdict = judge(headend.run(scenario))
    assert verdict.queue is not None
    assert verdict.queue.queue == "line.down"
    assert "The scenario calls line.up its bottleneck, which held packets" in verdict.paragraph


def test_a_comparison_is_by_the_queue_that_does_the_harm() -> None:
    path = "link.line.point_to_point.down.queue"
    runs = compare(make_line(TEN, TEN, flow={"get": GET}), {path: ["drop_tail", "codel"]}).results
    assert {queue.queue for queue in describe_shared_queue(runs) if queue} == {"line.down"}


def make_cable_that_drops(flows: dict[str, str], drop: int = 0) -> dict[str, Any]:
    """Make a cable line whose modem lets nothing up of one DSCP; all flows have 0."""
    classifier = {"all": {"dscp": drop}}
    docsis = {"preset": "docsis31", "modem": {"home": {"drop": classifier}}}
    return {
        "duration": "20 s",
        "warmup": "5 s",
        "link": {"cable": {"docsis": docsis}},
        "host": {"desk": {"via": ["cable.home"]}},
        "flow": {name: {"application": kind, "host": "desk"} for name, kind in flows.items()},
    }


def test_who_gets_nothing_through_is_badly_off() -> None:
    names = {"put": "bulk", "call": "voice", "ping": "ping", "page": "web"}
    verdict = judge(headend.run(make_cable_that_drops(names)))
    told = {finding.flow: describe_experience(finding) for finding in verdict.findings}
    assert {finding.grade for finding in verdict.findings} == {Grade.BAD}
    # What a classifier forbids is no harm that a queue does.
    assert {own.symptom for own in verdict.findings if own.flow != "call"} == {""}
    assert told == {
        "put": "nothing got through",
        "call": "MOS 1 in bad spells, 1 at the median: no packet arrived",
        "ping": "no answer",
        "page": "no page finished in 15 s",
    }
    assert verdict.queue is not None
    assert "let no packet through" in full_use(QueueUse(replace(verdict.queue, delay_p50_ns=None)))
    assert "room to spare" not in verdict.paragraph
    runs = [headend.run(make_cable_that_drops({"ping": "ping"}, dscp)) for dscp in (1, 0)]
    variants = [Variant(name, [run]) for name, run in zip("ab", runs, strict=True)]
    matrix = answer_comparison(variants).matrix
    assert matrix is not None
    row = matrix.rows[0]
    assert [cell.text for cell in row.cells if cell][1] == "no answer"


def test_lost_pings_count_and_are_told() -> None:
    flow = {
        "page": {"application": "web", "rtt": "600 ms"},
        "ping": {"application": "ping", "path": {"loss": "40 %"}, "start": "1 s"},
    }
    slow = {"rate": "100 kbit/s"}
    result = headend.run(make_line(slow, slow, flow=flow))
    findings = {finding.flow: finding for finding in judge(result).findings}
    answers = result.samples.filter(measure="rtt")["value"]
    ping = findings["ping"]
    assert ping.grade is Grade.BAD
    # Lost on the way there or back: more than either way alone loses.
    assert ping.loss_ratio is not None
    assert ping.loss_ratio == answers.is_nan().sum() / len(answers)
    assert ping.loss_ratio > 0.5
    assert f"{format_quantity(ping.loss_ratio, 'ratio')} lost" in describe_experience(ping)
    assert describe_experience(findings["page"]).startswith("no page finished in")


def test_a_page_is_not_late_before_it_had_time() -> None:
    flow = {"page": {"application": "web", "start": "19 s", "rtt": "600 ms"}}
    finding = judge(headend.run(make_line(TEN, TEN, flow=flow))).findings[0]
    assert finding.grade is Grade.GOOD
    assert describe_experience(finding).startswith("no page finished in")


def test_what_the_path_loses_is_no_queues_loss() -> None:
    flow = {
        "call": {"application": "voice", "path": {"loss": "8 %"}},
        "other": {"application": "voice"},
    }
    result = headend.run(make_line(TEN, TEN, flow=flow))
    verdict = judge(result)
    findings = {finding.flow: finding for finding in verdict.findings}
    assert findings["call"].path_loss_ratio == findings["call"].loss_ratio
    assert findings["call"].path_loss_ratio > 0.05
    assert findings["other"].path_loss_ratio == 0
    share = format_quantity(findings["call"].path_loss_ratio, "ratio")
    told = (
        "The path beyond the line (path.loss) lost packets, apart from what queues dropped:"
        f" {share} of call."
    )
    assert told in verdict.paragraph
    assert not any(row["lost"] for row in weigh_queues(result))
    assert "packets that it drops" not in verdict.paragraph
    assert "lost on path (%)" in tabulate_flows(verdict.groups).names


def test_a_queue_that_stands_whenever_it_is_used_is_not_praised() -> None:
    # A slow start that nothing ends, as HyStart would.
    put = {
        "application": "bulk",
        "start": "6 s",
        "stop": "6400 ms",
        "rtt": "10 ms",
        "tcp": {"system": "rfc"},
    }
    up = {**TEN, "queue": {"drop_tail": {"limit": "2 s"}}}
    verdict = judge(headend.run(make_line(up, TEN, flow={"put": put})))
    assert verdict.queue is not None
    assert verdict.queue.standing_ratio < 0.05 < 50e6 < (verdict.queue.delay_p50_ns or 0)
    assert "room to spare" not in verdict.paragraph
    assert "It stood " in verdict.paragraph


def test_a_scheduler_is_no_aqm_and_not_everybody_waits_in_it() -> None:
    paragraph = judge(headend.run("voice-adapter")).paragraph
    assert "The queue adapter.up (strict_priority)" in paragraph
    assert "but not everybody's: strict_priority serves its bands in order" in paragraph
    assert "AQM" not in paragraph


def test_where_all_are_in_one_band_everybody_waits() -> None:
    def judge_bands(
        priority: dict[str, Any], dscp: int, other: int = 0, host: str = "desk"
    ) -> tuple[str, list[str]]:
        up = {**TEN, "queue": {"strict_priority": priority}}
        own = {"host": "desk", "rtt": "40 ms"}
        line = make_line(up, TEN, bottleneck="line.up")
        line["link"]["other"] = {"point_to_point": {"up": TEN, "down": TEN}}
        line["host"] = {"desk": {"via": ["line"]}, "far": {"via": ["other"]}}
        line["flow"] = {
            "put": {"application": "bulk", "dscp": other, **own},
            "call": {"application": "voice", "dscp": dscp, **own, "host": host},
        }
        result = headend.run(line)
        return judge(result).paragraph, result.warnings

    own_bands = {"bands": [[46], [], [8]]}
    for bands in ({}, own_bands):
        alike, warnings = judge_bands(bands, dscp=0)
        assert any("bands" in text for text in warnings)
        assert "That is a standing queue" in alike
        assert "of the time. A smaller limit, or an AQM" in alike
        apart, _ = judge_bands(bands, dscp=46)
        assert "but not everybody's: strict_priority serves its bands in order" in apart
    # All in the first band; and one in another band that takes another line.
    assert "That is a standing queue" in judge_bands({}, dscp=46, other=46)[0]
    assert "That is a standing queue" in judge_bands(own_bands, dscp=46, host="far")[0]


def test_who_passes_a_queue_served_in_turn_is_not_said_to_wait() -> None:
    flow = {"put": {"application": "bulk", "rtt": "40 ms"}, "call": {"application": "voice"}}
    result = headend.run(make_line({**TEN, "queue": "fq_codel"}, TEN, flow=flow))
    queue = judge(result).queue
    assert queue is not None
    # By what they say of it: standing, at times, long at the median of a full line, long for 1
    # packet in 100.
    full = {"utilisation": 1.0, "lost_ratio": 0.0}
    kinds: list[dict[str, float]] = [
        {"standing_ratio": 0.6},
        {"standing_ratio": 0.2},
        {**full, "standing_ratio": 0.0, "delay_p50_ns": 40e6},
        {**full, "standing_ratio": 0.0, "delay_p50_ns": 5e6, "delay_p99_ns": 70e6},
        {"standing_ratio": 0.0, "utilisation": 0.5, "delay_p50_ns": 5e6, "delay_p99_ns": 70e6},
    ]
    calm = open_case(result)
    late = replace(calm, suffering=calm.groups[:1], symptoms=frozenset({"late"}))

    def tell(case: Case, **state: Any) -> str:
        return describe_facts(find_symptoms(case, replace(queue, **state), is_alone=True))[0]

    for discipline in ("fq_codel", "fq_pie", "sfq_codel"):
        for kind in kinds:
            told = tell(late, **kind, discipline=discipline)
            assert f"but not everybody's: {discipline} serves flows in turn" in told
            assert "feel" not in told
    told = tell(calm, standing_ratio=0.2)
    assert told.startswith("Packets stood in it 20 % of the time, but not everybody's")
    told = tell(calm, discipline="codel", standing_ratio=0.2)
    assert "who sends while it stands waits" in told


def test_every_loss_has_a_reason() -> None:
    reasons = {name.removeprefix("discarded_") for name in TABLES["queues"] if "discarded_" in name}
    known = describe().reasons
    assert reasons == known.keys()
    assert {name for name, reason in known.items() if not reason.look} == {
        "ack_thinned",
        "corrupted",
    }


def test_a_run_in_which_nothing_arrived_has_words_for_it() -> None:
    late = make_line(TEN, TEN, flow={"call": {"application": "voice", "start": "19990 ms"}})
    late["flow"]["call"]["rtt"] = "200 ms"
    verdict = judge(headend.run(late))
    assert verdict.paragraph.startswith("Nothing was delivered in the measured part: ")
    assert verdict.findings[0].grade is Grade.NONE
    early = make_line(TEN, TEN, flow={"put": {"application": "bulk", "stop": "1 s"}})
    assert judge(headend.run(early)).paragraph.startswith("Nothing was sent in the measured part")


def test_a_run_shorter_than_a_scoring_period_says_so() -> None:
    line = make_line(TEN, TEN, flow={"call": {"application": "voice"}})
    finding = judge(headend.run({**line, "duration": "9 s", "warmup": "2 s"})).findings[0]
    assert finding.grade is Grade.NONE
    assert finding.lacking_ns == 14e9
    assert describe_experience(finding) == "not judged: needs 14 s more"


def test_a_goodput_of_both_directions_says_so() -> None:
    flow = {"call": {"application": "voice"}, "put": {"application": "bulk"}}
    verdict = judge(headend.run(make_line(TEN, TEN, flow=flow)))
    cells = {finding.flow: finding.is_both_ways for finding in verdict.findings}
    assert cells == {"call": True, "put": False}
    table = tabulate_flows(verdict.groups)
    at = [column.name for column in table.columns].index("goodput")
    assert any(cell and "↕ " in cell.text for cell in (row.cells[at] for row in table.rows))
    assert "↕ up and down together." in table.note


def test_a_bad_call_is_told_why() -> None:
    call = {"call": {"application": "voice"}}
    late = judge(headend.run(make_line(TEN, TEN, flow={"get": GET, **call}))).findings[0]
    told = describe_experience(late)
    assert "of its packets arrived too late for a de-jitter buffer of 40 ms" in told
    call["call"]["path"] = {"loss": "20 %"}  # type: ignore[assignment]
    lost = judge(headend.run(make_line(TEN, TEN, flow=call))).findings[0]
    assert "of its packets were lost" in describe_experience(lost)
    call["call"] = {"application": "voice", "rtt": "1200 ms"}
    slow = judge(headend.run(make_line(TEN, TEN, flow=call))).findings[0]
    assert "each way takes 6" in describe_experience(slow)


def test_the_grade_of_a_call_names_its_de_jitter_buffer() -> None:
    def call(**scoring: Any) -> dict[str, Any]:
        return {"application": {"voice": {"scoring": scoring} if scoring else {}}}

    flow = {
        "get": GET,
        "call": call(),
        "deep": call(de_jitter={"fixed": "60 ms"}),
        "clever": {**call(de_jitter="adaptive"), "rtt": "800 ms", "count": 2},
    }
    result = headend.run(make_line(TEN, TEN, flow=flow))
    told = {finding.flow: describe_experience(finding) for finding in judge(result).findings}
    assert "too late for a de-jitter buffer of 40 ms" in told["call"]
    assert "too late for a de-jitter buffer of 60 ms" in told["deep"]
    assert "an adaptive de-jitter buffer" in told["clever.2"]
    figure = draw_voice([result])
    assert figure is not None
    for buffer in ("a de-jitter buffer of 40 ms", "of 60 ms", "an adaptive de-jitter buffer"):
        assert buffer in figure.explanation
    assert "de-jitter" not in told["get"]


def test_advice_is_for_the_queue_that_is_there() -> None:
    flood = {"flood": {"application": {"cbr": {"rate": "20 Mbit/s"}}}}
    aqm = {**TEN, "queue": {"codel": {"limit": "2 s"}}}
    paragraph = judge(headend.run(make_line(aqm, TEN, flow=flood))).paragraph
    assert "Its AQM (codel) dropped or marked" in paragraph
    assert "A smaller buffer" not in paragraph
    for lawless in ("drop_front", "random_drop"):
        full = {**TEN, "queue": {lawless: {"limit": "2 s"}}}
        paragraph = judge(headend.run(make_line(full, TEN, flow=flood))).paragraph
        assert (
            "A smaller buffer or an AQM may shorten it (not tried: `--set queue=…`)." in paragraph
        )
        assert "Its AQM" not in paragraph
    plain = {**TEN, "queue": "none"}
    paragraph = judge(headend.run(make_line(plain, TEN, flow=flood))).paragraph
    assert "A limit or an AQM may shorten it (not tried: `--set queue=…`)." in paragraph


def test_a_comparison_says_nothing_that_its_table_says(fake: Any, home_line: Path) -> None:
    results = compare(home_line, {"queue": ["drop_tail", "docsis_pie"]}).results
    assert note_comparison(results, [judge(result) for result in results]) == []
    alone = judge(results[0])
    assert note_comparison(results[:1], [alone]) == alone.notes


def test_notes_repeat_nothing_of_the_table_of_people(fake: Any, home_line: Path) -> None:
    verdict = judge(headend.run(home_line))
    assert verdict.notes
    told = [describe_experience(own) for own in verdict.findings if describe_experience(own)]
    assert not any(experience in note for note in verdict.notes for experience in told)


#: Homes whose tiers come to 60 Mbit/s on a channel of 20.
SHARED = {
    "duration": "6 s",
    "warmup": "2 s",
    "link": {
        "cable": {
            "docsis": {
                "preset": "docsis31",
                "upstream": {"rate": "5 Mbit/s", "capacity": "20 Mbit/s"},
                "downstream": {"rate": "50 Mbit/s"},
                "modem": {"home": {"count": 12}},
            }
        }
    },
    "host": {"family": {"via": ["cable.home"]}},
    "flow": {"put": {"application": "bulk", "direction": "up", "host": "family", "on": "1-12"}},
}


def test_a_full_channel_is_the_cause_and_not_a_homes_queue() -> None:
    verdict = judge(headend.run(SHARED))
    (state,) = verdict.channels
    used = format_quantity(state.used_bps, "rate")
    assert state.utilisation > 0.95
    told = f"The upstream channel cable.up (12 queues) is full: {used} of 20 Mbit/s"
    assert told in verdict.paragraph
    assert "It waits for the full channel" in verdict.paragraph
    assert "That is a standing queue" not in verdict.paragraph


def test_a_queue_that_has_its_own_rate_waits_for_no_channel() -> None:
    run = headend.run(SHARED)
    queues = run.queues.with_columns(utilisation=pl.lit(0.98))
    at_its_rate = Result({**run.tables, "queues": queues}, run.manifest, run.label)
    assert "It waits for the full channel" not in judge(at_its_rate).paragraph


def test_a_channel_with_room_is_no_cause() -> None:
    cable = "link.cable.docsis"
    runs = compare(SHARED, {f"{cable}.upstream.capacity": ["20 Mbit/s", "200 Mbit/s"]}).results
    roomy = judge(runs[1])
    assert roomy.channels == []
    assert "channel" not in roomy.paragraph
    lines = note_comparison(runs, list(map(judge, runs)))
    assert "The upstream channel cable.up is full under 20 Mbit/s." in lines


def test_shared_channels_have_rows_of_their_own(tmp_path: Path) -> None:
    result = headend.run(SHARED)
    table = tabulate_queues(result, None)
    assert [row.heading.text for row in table.rows][:2] == [
        "cable.up, the channel",
        "cable.down, the channel",
    ]
    page = result.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'cable.up, the channel <span class="mark">full</span>' in page
    assert "cable.down, the channel<" in page


def test_a_channel_of_ones_own_has_no_row(home_line: Path) -> None:
    table = tabulate_queues(headend.run(home_line, set={"duration": "6 s"}), None)
    assert not any("channel" in row.heading.text for row in table.rows)


def make_upload(congestion: str, queue: Any, rate: str = "20 Mbit/s", **rest: Any) -> Any:
    """Run an upload over a plain link and give the verdict's words."""
    flow = {"application": "bulk", "rtt": "40 ms", "tcp": {"congestion": congestion}, **rest}
    line = make_line({"rate": rate, "queue": queue}, {"rate": "100 Mbit/s"}, flow={"put": flow})
    return judge(headend.run(line))


def test_a_full_line_with_a_long_queue_is_not_praised() -> None:
    # 50 ms: a queue that stands at 33 ms and more does not count as a standing one.
    paragraph = make_upload("cubic", {"drop_tail": {"limit": "100 kB"}}).paragraph
    assert "stayed short" not in paragraph
    assert "of the 40 ms that it can hold" in paragraph
    assert "A smaller buffer or an AQM may shorten it" in paragraph


def test_a_buffer_too_small_is_told_and_not_taken_for_room_to_spare() -> None:
    verdict = make_upload("reno", {"drop_tail": {"limit": "8 KiB"}}, "10 Mbit/s")
    assert verdict.queue is not None
    assert (verdict.queue.utilisation or 1.0) < 0.85
    assert "although put had more to send: with room for 6.55 ms where" in verdict.paragraph
    assert "A larger limit may fill the line" in verdict.paragraph
    assert "room to spare" not in verdict.paragraph


def test_a_law_that_marks_too_early_is_told() -> None:
    # On a cable upstream a packet waits 3 ms for its grant, and the step is at 1 ms.
    cable = {
        "preset": "docsis31",
        "upstream": {"rate": "10 Mbit/s", "queue": "dualpi2"},
        "downstream": {"rate": "100 Mbit/s"},
    }
    put = {"application": "bulk", "rtt": "40 ms", "tcp": {"congestion": "prague"}}
    flow = {"put": put, "call": {"application": "voice"}}
    scenario = {"duration": "20 s", "warmup": "5 s", "link": {"cable": {"docsis": cable}}}
    verdict = judge(headend.run({**scenario, "flow": flow}))
    assert "although put had more to send: its law (dualpi2) marked" in verdict.paragraph
    assert "request and grant alone take milliseconds" in verdict.paragraph
    assert "room to spare" not in verdict.paragraph


def test_what_held_a_tcp_sender_back_is_told_of_each_flow(tmp_path: Path) -> None:
    get = {"application": "bulk", "direction": "down", "rtt": "80 ms"}
    slow = {**get, "tcp": {"receive_window": "20 kB"}}
    flow = {"get": slow, "call": {"application": "voice"}}
    result = headend.run(make_line(TEN, TEN, flow=flow))
    verdict = judge(result)
    limits = {finding.flow: finding.limit for finding in verdict.findings}
    assert limits == {"get": "receive window 100 %", "call": ""}
    table = tabulate_flows(verdict.groups)
    assert [cell and cell.text for cell in (row.cells[-1] for row in table.rows)] == [
        limits[finding.flow] or "–" for finding in verdict.findings
    ]
    assert write_report([result], tmp_path / "report.html").read_text().count("TCP limited by") == 2
    alone = judge(headend.run(make_line(TEN, TEN, flow={"call": flow["call"]})))
    assert tabulate_flows(alone.groups).names[-1] == "goodput (kbit/s)"


def test_what_overflowed_is_not_told_as_dropped_by_the_law() -> None:
    flood = {"flood": {"application": {"cbr": {"rate": "20 Mbit/s"}}}}
    aqm = {**TEN, "queue": {"codel": {"limit": "200 ms"}}}
    result = headend.run(make_line(aqm, TEN, flow=flood))
    row = result.queues.filter(queue="line.up").row(0, named=True)
    early, overflow = row["discarded_congested"], row["discarded_overlimit"]
    assert early > 0
    assert overflow > 0
    paragraph = judge(result).paragraph
    assert (
        f"dropped or marked {early:,} packets ({overflow:,} more packets found no room)"
        in paragraph
    )
    queue = judge(result).queue
    assert queue is not None
    idle = full_remedy(shorten(result, replace(queue, by_law=0, marked=0)))
    assert f"dropped nothing, and {overflow:,} packets found no room" in idle


def test_one_packet_is_not_told_as_several() -> None:
    flow = {"put": {"application": "bulk", "rtt": "40 ms"}}
    result = headend.run(make_line({**TEN, "queue": "codel"}, TEN, flow=flow))
    queue = judge(result).queue
    assert queue is not None
    one = replace(queue, discarded=1, by_law=1, overflowed=0, marked=0)
    assert "dropped or marked 1 packet and" in full_remedy(shorten(result, one))
    assert "dropped or marked 2 packets and" in full_remedy(shorten(result, replace(one, by_law=2)))
    senders = Throttled(
        ("put",), by_limit=False, rtt_ns=40e6, asks_for_grants=False, idle_ratio=0.2
    )
    slowed = ThrottledSenders(one, senders, is_too_small=False)
    assert "dropped 1 packet, too early" in describe_facts([slowed])[0]
    full = replace(slowed, senders=replace(senders, by_limit=True))
    assert "after its 1 loss the senders" in describe_facts([full])[0]
    small = replace(full, queue=replace(one, room_ns=1e6), is_too_small=True)
    assert "runs empty after its 1 loss." in describe_facts([small])[0]


def test_a_sender_that_the_path_slows_down_is_not_the_queues_doing() -> None:
    verdict = make_upload("reno", {"drop_tail": {"limit": "8 KiB"}}, path={"loss": "1 %"})
    assert "had more to send" not in verdict.paragraph


def test_a_transfer_of_which_nothing_comes_suffers() -> None:
    finding = make_upload("cubic", "drop_tail", rtt="20 s").findings[0]
    assert describe_experience(finding).startswith("nothing read in ")
    assert finding.grade is Grade.BAD


def test_a_transfer_that_had_next_to_no_time_has_no_grade() -> None:
    waits = {"19990 ms": "nothing read yet", "19940 ms": "nothing read in "}
    for start, told in waits.items():
        verdict = make_upload("cubic", "drop_tail", start=start)
        (finding,) = verdict.findings
        assert finding.grade is Grade.NONE
        assert describe_experience(finding).startswith(told)
        assert "0 ms" not in describe_experience(finding).split()
    grades = [
        make_upload("cubic", "drop_tail", rtt="20 s", start=start) for start in ("17 s", "6 s")
    ]
    assert [verdict.findings[0].grade for verdict in grades] == [Grade.FAIR, Grade.BAD]


def test_flows_of_a_run_that_ended_within_its_warm_up_have_no_grade() -> None:
    flow = {"page": {"application": "web"}, "call": {"application": "voice"}}
    result = headend.run(make_line(TEN, TEN, flow=flow))
    result.manifest["warmup_ns"] = result.manifest["simulated_ns"] + 4_920_000_000
    findings = judge(result).findings
    assert {finding.grade for finding in findings} == {Grade.NONE}
    assert {describe_experience(finding) for finding in findings} == {"nothing measured yet"}


def test_a_transfer_that_stops_in_its_pause_is_not_badly_off() -> None:
    files = {"bulk": {"size": "100 kB", "pause": "10 s"}}
    finding = make_upload("cubic", "drop_tail", application=files, stop="8 s").findings[0]
    assert finding.grade is Grade.NONE


def test_a_short_queue_beside_who_suffers_is_not_what_a_good_queue_does() -> None:
    line = make_line(
        {"rate": "2 Mbit/s", "queue": "pie"},
        {"rate": "20 Mbit/s"},
        flow={
            "put": {"application": "bulk", "tcp": {"congestion": "cubic"}, "rtt": "40 ms"},
            "call": {"application": "voice", "path": {"loss": "10 %"}},
        },
    )
    verdict = judge(headend.run(line))
    assert verdict.findings[0].suffers
    assert "what a good queue does" not in verdict.paragraph


def test_among_those_at_the_end_of_the_scale_who_loses_more_is_the_worst() -> None:
    def call(number: int, loss: float) -> FlowQuality:
        return FlowQuality(f"call.{number}", "voice", Grade.BAD, 1e6, 1e6, loss, 1.0, severity=-1.0)

    findings = [call(1, 0.9), call(2, 0.94), call(3, 1.0), call(4, 0.95), call(5, 0.92)]
    (party,) = gather_groups(findings)
    assert [finding.flow for finding in party.findings][:3] == ["call.3", "call.4", "call.2"]


def test_figures_of_one_way_are_not_taken_for_those_of_both() -> None:
    (finding,) = judge(headend.run(make_cable_that_drops({"call": "voice"}))).findings
    assert finding.loss_ratio == 1.0
    assert finding.delay_p95_ns is None
    assert finding.is_both_ways


def make_pie_asleep(limit: str) -> Result:
    """Run two BBR uploads through DOCSIS-PIE: some 25 ms of queue, unless packets are dropped."""
    put = {"application": "bulk", "rtt": "10 ms", "tcp": {"congestion": "bbr"}, "count": 2}
    up = {**TEN, "queue": {"docsis_pie": {"limit": limit}}}
    return headend.run(make_line(up, TEN, flow={"put": put}))


def test_a_law_that_never_woke_is_told_with_what_wakes_it() -> None:
    asleep = make_pie_asleep("250 ms")
    verdict = judge(asleep)
    assert verdict.queue is not None
    assert verdict.queue.discarded == 0
    assert "Its AQM (docsis_pie) never woke" in verdict.paragraph
    assert "of the 250 ms that this one holds" in verdict.paragraph
    assert "(not tried: `--set queue.docsis_pie.limit=…`)." in verdict.paragraph
    assert "a rate that the line does not give" not in verdict.paragraph
    awake = judge(make_pie_asleep("45 ms"))
    assert awake.queue is not None
    assert awake.queue.discarded > 0
    assert (awake.queue.delay_p50_ns or 0.0) < (verdict.queue.delay_p50_ns or 0.0)
    assert "never woke" not in awake.paragraph


def test_a_drop_probability_above_1_is_explained() -> None:
    asleep = make_pie_asleep("250 ms")
    assert asleep.queue_series["drop_probability"].fill_nan(0).max() > 1  # type: ignore[operator]
    figure = draw_internals([asleep])
    assert figure is not None
    assert "it is one per 1024 bytes" in figure.explanation
    plain = draw_internals(
        [
            headend.run(
                make_line({**TEN, "queue": "pie"}, TEN, flow={"put": {"application": "bulk"}})
            )
        ]
    )
    assert plain is not None
    assert "1024" not in plain.explanation


def make_files(size: str, pause: str, rtt: str) -> dict[str, Any]:
    """Make a download of files with pauses between them."""
    return {
        "application": {"bulk": {"size": size, "pause": pause}},
        "direction": "down",
        "rtt": rtt,
    }


TWENTY = {"rate": "20 Mbit/s"}
CALL = {"application": "voice"}


def make_run(down: Any, flow: dict[str, Any], **rest: Any) -> Result:
    """Run flows over 10 Mbit/s up and 20 down, with this queue down, for two minutes."""
    line = make_line(TEN, {**TWENTY, "queue": down}, flow=flow, **rest)
    return headend.run({**line, "duration": "120 s"})


def test_tcp_is_not_called_unresponsive_and_lateness_is_not_loss() -> None:
    # A slow start that overshoots, as HyStart would not.
    files = {**make_files("6 MB", "10 s", "200 ms"), "tcp": {"system": "rfc"}}
    flow = {"download": files, "call": CALL}
    verdict = judge(make_run("docsis_pie", flow, bottleneck="line.down"))
    call = next(finding for finding in verdict.findings if finding.flow == "call")
    assert (call.suffers, call.symptom, call.direction) == (True, "late", "down")
    assert verdict.queue is not None
    assert verdict.queue.lost_ratio > 0.05
    assert verdict.queue.is_tcps
    for words in ("do not slow down", "do not arrive", "had more to send"):
        assert words not in verdict.paragraph
    assert "that is what those feel who suffer" in verdict.paragraph
    assert "a smaller limit may shorten the worst" in verdict.paragraph
    # Behind a full channel packets wait for longer than the limit takes at the queue's own rate.
    behind = replace(verdict.queue, delay_p99_ns=1.5e9)
    assert "at most" not in full_remedy(
        shorten(headend.run(make_line(TEN, TEN, flow=flow)), behind)
    )


def test_a_queue_that_is_long_now_and_then_is_named_where_that_is_felt() -> None:
    flow = {"download": make_files("10 MB", "20 s", "30 ms"), "call": CALL}
    verdict = judge(make_run("docsis_pie", flow, bottleneck="line.up"))
    assert verdict.queue is not None
    assert verdict.findings[0].suffers
    assert verdict.queue.queue == "line.down"
    assert verdict.queue.standing_ratio < 0.05
    assert "1 packet in 100 waited more than" in verdict.paragraph
    assert "No queue stood" not in verdict.paragraph


def test_what_tcp_loses_in_a_queue_that_nobody_minds_is_no_harm() -> None:
    put = {"application": "bulk", "rtt": "10 ms", "tcp": {"congestion": "bbr"}, "count": 4}
    up = {**TEN, "queue": {"drop_tail": {"limit": "8 KiB"}}}
    paragraph = judge(headend.run(make_line(up, TEN, flow={"put": put}))).paragraph
    assert (
        "Most of the packets that it drops are TCP's, which sends them again: its window outgrew"
        in paragraph
    )
    flood = {"flood": {"application": {"cbr": {"rate": "20 Mbit/s"}}}}
    aqm = {**TEN, "queue": {"pie": {"limit": "40 ms"}}}
    paragraph = judge(headend.run(make_line(aqm, TEN, flow=flood))).paragraph
    assert "The packets that it drops do not arrive" in paragraph


def test_what_those_lose_who_send_little_beside_tcp_is_told() -> None:
    put = {"application": "bulk", "rtt": "10 ms", "tcp": {"congestion": "bbr"}, "count": 4}
    up = {**TEN, "queue": {"drop_tail": {"limit": "5 packets"}}}
    verdict = judge(headend.run(make_line(up, TEN, flow={"put": put, "call": CALL})))
    assert (verdict.findings[0].symptom, verdict.findings[0].suffers) == ("lost", True)
    assert "Other flows in this queue lose packets too" in verdict.paragraph


def test_a_transfer_with_pauses_is_not_one_that_had_more_to_send() -> None:
    small = {"drop_tail": {"limit": "8 KiB"}}
    get = {**GET, "rtt": "40 ms", "tcp": {"congestion": "reno"}}
    endless = make_run(small, {"get": get})
    assert find_throttled(endless, "line.down") is not None
    files = {"bulk": {"size": "50 MB", "pause": "2 s"}}
    paused = make_run(small, {"get": {**get, "application": files}})
    assert find_throttled(paused, "line.down") is None
    assert "had more to send" not in judge(paused).paragraph


def test_advice_names_a_key_of_an_access_point_and_of_a_station() -> None:
    cell = {"dot11b": {"station": {"laptop": {"rate": "11 Mbit/s"}, "old": {"count": 2}}}}
    scenario = {
        "duration": "3 s",
        "link": {"wifi": cell, "line": {"point_to_point": {"up": TEN, "down": TEN}}},
        "host": {"laptop": {"via": ["wifi.laptop", "line"]}},
        "flow": {"get": {**GET, "host": "laptop"}},
    }
    result = headend.run(scenario)
    keys = {
        queue: name_queue_key(result, queue)
        for queue in ("wifi.down", "wifi.laptop.up", "wifi.old.2.up")
    }
    assert list(keys.values()) == [
        "link.wifi.dot11b.access_point.queue",
        "link.wifi.dot11b.station.laptop.queue",
        "link.wifi.dot11b.station.old.queue",
    ]
    for key in keys.values():
        headend.run(scenario, set={str(key): "codel"})


def test_a_comparison_says_whom_no_choice_helps_and_what_does_the_harm() -> None:
    flow = {
        "put": {"application": "bulk", "rtt": "40 ms"},
        "get": {**GET, "rtt": "40 ms"},
        "call": CALL,
        "page": {"application": "web", "path": {"loss": "30 %"}},
    }
    scenario = make_line(TEN, TWENTY, flow=flow, bottleneck="line.up")
    queues = [{"drop_tail": {"limit": "1 s"}}, "docsis_pie"]
    results = compare(scenario, {"queue": queues}, labels=["long", "short"]).results
    lines = note_comparison(results, list(map(judge, results)))
    told = next(line for line in lines if line.startswith("Badly off in every run: "))
    assert "call" in told
    # Under the one it is the queue that is varied, under the other the one that is not.
    assert "line.up under long" in told
    assert "line.down under short" in told
    assert {queue.queue for queue in describe_shared_queue(results) if queue} == {"line.up"}


def test_a_comparison_is_by_queues_that_differ() -> None:
    up = {"application": "bulk", "direction": "up", "host": "pc", "rtt": "40 ms"}
    cable = {
        "preset": "docsis31",
        "service_class": {
            "basic": {"upstream": {"rate": "2 Mbit/s"}},
            "plus": {"upstream": {"rate": "5 Mbit/s", "queue": "drop_tail"}},
        },
        "modem": {"home": {"count": 12, "mix": {"basic": 1, "plus": 1}}},
    }
    scenario = {
        "duration": "20 s",
        "warmup": "5 s",
        "link": {"cable": {"docsis": cable}},
        "host": {"pc": {"via": ["cable.home"]}},
        "flow": {"put": up, "call": {**CALL, "host": "pc"}},
    }
    path = "link.cable.docsis.service_class.basic.upstream.queue"
    results = compare(scenario, {path: ["codel", "docsis_pie"]}).results
    queue = find_shared_bottleneck(results)
    rows = [result.queues.filter(queue=queue).row(0, named=True) for result in results]
    assert [row["discipline"] for row in rows] == ["codel", "docsis_pie"]
    lines = note_comparison(results, list(map(judge, results)))
    assert {(own.queue, own.alike) for own in describe_shared_queue(results) if own} == {(queue, 6)}
    # Those of the other class stand in both runs.
    told = next(line for line in lines if line.startswith("Badly off in every run: "))
    assert told.startswith("Badly off in every run: some of call ×12. The cause is queues like ")
    # Parameters of one discipline tell queues apart as well.
    line = make_line(TEN, TEN, flow={"put": up | {"host": "pc"}, "get": GET})
    line["host"] = {"pc": {"via": ["line"]}}
    targets = [{"codel": {"target": target}} for target in ("5 ms", "50 ms")]
    assert find_shared_bottleneck(compare(line, {"queue": targets}).results) == "line.up"


def test_flows_that_share_a_hashed_queue_are_named_with_what_that_costs() -> None:
    # Three uploads in two queues: two of them, or all three, must meet.
    def run(isolation: str) -> Result:
        queue = {"fq_codel": {"queues": 2, "hash": {"isolation": isolation, "seed": 1}}}
        upload = {"application": "bulk", "count": 3, "rtt": "20 ms"}
        call = {"application": "voice"}
        flows = {"call": call, "upload": upload}
        return headend.run(make_line({**TEN, "queue": queue}, TEN, flow=flows))

    met = run("hashed")
    names = set(met.collisions.filter(direction="up")["flow"].to_list())
    assert len(names & {"upload.1", "upload.2", "upload.3"}) >= 2
    assert "into one queue of fq_codel, for " in met.verdict.paragraph
    separate = "With a queue for each flow nobody meets (not tried: `--set"
    assert f"{separate} queue.fq_codel.hash.isolation=perfect`)." in met.verdict.paragraph
    apart = run("perfect")
    assert apart.collisions.is_empty()
    assert "hash" not in apart.verdict.paragraph


def test_what_a_forced_drop_means_is_said_in_its_own_words() -> None:
    flood = {"application": {"cbr": {"rate": "20 Mbit/s"}}, "direction": "up"}
    up = {**TEN, "queue": {"red": {"ecn": False}}}
    verdict = judge(headend.run(make_line(up, TEN, flow={"flood": flood})))
    assert verdict.queue is not None
    assert verdict.queue.reason == "forced"
    assert describe().reasons["forced"].look in verdict.paragraph
    assert describe().reasons["congested"].look not in verdict.paragraph


def test_the_table_of_bounds_in_the_documentation_is_what_grades_are_made_by() -> None:
    from headend.analysis.grading import list_marks
    from headend.engine.description import describe

    page = Path(__file__).parents[2] / "docs/howto/application-in-ci.md"
    told = set()
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[0].startswith("`"):
            names, metric, about, good, fair = cells
            told |= {(name.strip(" `"), metric, about, good, fair) for name in names.split(",")}
    assert told == {
        (
            name,
            f"`{mark.metric}`",
            mark.about,
            f"`{mark.write_bound(0)}`",
            f"`{mark.write_bound(1)}`",
        )
        for name in describe().applications
        for mark in list_marks(name)
    }


def test_bounds_are_expectations_of_their_applications() -> None:
    from headend.analysis.expect import parse_expectation
    from headend.analysis.grading import Grade, grade_measure, list_marks
    from headend.engine.description import describe
    from headend.scenario.subjects import Vocabulary

    for name in describe().applications:
        for mark in list_marks(name):
            text = f"it.{mark.metric} {mark.write_bound(0)}"
            found = parse_expectation("one", text, Vocabulary({"it": name}, []))
            assert found.bound == pytest.approx(mark.bounds[0])
            grades = [grade_measure(mark.metric.split(".")[0], bound) for bound in mark.bounds]
            if grades[0] is not Grade.NONE:
                assert grades == [Grade.GOOD, Grade.FAIR, Grade.POOR]


def test_a_page_tells_the_marks_of_its_own_applications_alone() -> None:
    from headend.wording.flows import describe_marks

    told = describe_marks(["video_call", "video_call", "bulk"])
    assert told.startswith("video_call by share of frames late or never whole (1 %, 5 %, 20 %)")
    assert "ping" not in told
    assert describe_marks(["bulk"]) == ""
