"""Results of runs with real programs: what is said first, of which flows, and lateness."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from emulated import LATE, ON_TIME, make_emulated
from headend.analysis.diagnosis import find_reservations
from headend.analysis.expect import parse_expectation
from headend.analysis.facts import Untrustworthy
from headend.analysis.grading import Grade, list_marks
from headend.analysis.lateness import is_trustworthy
from headend.analysis.quality import judge_flows
from headend.analysis.queue_state import describe_queue
from headend.analysis.round_trips import leave_out_round_trips
from headend.cli.run import describe_result, print_result
from headend.comparison.comparison import gather_variants
from headend.comparison.contrast import answer_comparison
from headend.comparison.notes import describe_caveats_of, warn_of_variants
from headend.comparison.pooling import pool_runs
from headend.comparison.scores import score_runs
from headend.engine.columns import OPTIONAL_TABLES
from headend.figures.catalogue import draw_figures, list_drawings
from headend.pages.page import write_report
from headend.running.comparison import load_results
from headend.running.result import Result
from headend.scenario.subjects import Vocabulary
from headend.wording.emulation import (
    describe_real,
    describe_source,
    full_untrustworthy,
    list_ends,
    list_programs,
    list_timing,
    name_kind,
)
from headend.wording.facts import describe_facts
from headend.wording.flows import describe_experience
from headend.wording.real_flows import tabulate_real_flows
from headend.wording.run import answer_run
from headend.wording.verdict import judge

OPEN = "Open loop: the recorded senders do not react to this queue."
STALLED = (
    "Not trustworthy: 1 frame in 100 was written more than 3.2 ms late, and the bound is 1 ms; it"
    " stood still for 100 ms, and the bound is 10 ms."
)


def make_open_loop(label: str = "fq_codel") -> Result:
    return make_emulated(kind="open_loop", lateness=None, changed=["queue"], label=label)


def leave_alone(result: Result) -> Result:
    """Leave only what belongs to the real host."""
    for name in ("flows", "flow_series", "measures", "samples"):
        result.tables[name] = result.tables[name].filter(flow="laptop")
    return result


def test_a_run_on_time_is_answered_as_any_other() -> None:
    result = make_emulated()
    assert list(find_reservations(result)) == []
    assert answer_run(result).sentences[0].startswith("Call is unusable (MOS")
    assert name_kind(result) == "emulated in real time"


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        ({"lateness": LATE}, STALLED),
        ({"kind": "open_loop", "lateness": None, "changed": ["queue"]}, OPEN),
        (
            {"kind": "replayed", "lateness": None, "equal": False},
            "Not equal: the frames of this replay did not end as those of the recorded run did.",
        ),
    ],
    ids=["late", "open loop", "unequal"],
)
def test_what_no_number_is_to_be_believed_without_is_said_first_everywhere(
    settings: dict[str, Any], first: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = make_emulated(**settings)
    assert answer_run(result).sentences[0] == first
    assert judge(result).notes[0] == first
    document = json.loads(json.dumps(describe_result(result), default=str))
    assert document["answer"]["sentences"][0] == first
    assert document["verdict"]["notes"][0] == first
    assert document["emulation"] == result.manifest["emulation"]
    page = write_report([result], tmp_path / "report.html").read_text(encoding="utf-8")
    spaced = page.replace("\u00a0", " ")
    assert spaced.count(first) == 2
    assert first in result._repr_html_().replace("\u00a0", " ")
    print_result(result)
    printed = " ".join(capsys.readouterr().out.split())
    assert first in printed


def test_the_emulators_own_reason_goes_before_ours() -> None:
    why = "a stall of 100 ms is beyond the bound of 10 ms."
    assert full_untrustworthy(Untrustworthy(LATE | {"why": why})) == f"Not trustworthy: {why}"
    unknown = Untrustworthy({"trustworthy": False})
    assert full_untrustworthy(unknown) == "Not trustworthy: it fell behind real time."


def test_a_recording_under_other_settings_than_a_queue_names_them() -> None:
    changed = ["link.line.point_to_point.down.rate", "queue"]
    result = make_emulated(kind="open_loop", lateness=None, changed=changed)
    assert describe_facts(find_reservations(result)) == [
        "Open loop: the recorded senders do not react to what was changed"
        " (link.line.point_to_point.down.rate, queue)."
    ]


def test_real_programs_get_no_grade() -> None:
    result = make_emulated()
    found = next(own for own in judge_flows(result) if own.flow == "laptop")
    assert found.grade is Grade.NONE
    assert describe_experience(found) == (
        "9.54 Mbit/s down, TCP round trips of 109 ms at the median and 124 ms at the 95th"
        " percentile, 0.0902 % lost"
    )
    assert list_marks("real") == ()


def test_a_real_program_alone_is_answered_by_its_rates_and_round_trips() -> None:
    result = leave_alone(make_emulated())
    answer = result.answer
    assert answer.question == "What does laptop get on 10 Mbit/s?"
    assert answer.sentences[0].startswith("Laptop gets 9.54 Mbit/s down, TCP round trips of 109 ms")
    assert answer.why == "ping"
    assert answer.matrix
    cell = answer.matrix.rows[0].cells[0]
    assert cell
    assert (cell.text, cell.note) == ("9.54 Mbit/s", "RTT 109 ms")


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"packets_sent": 0}, "nothing sent"), ({"packets_delivered": 0}, "no packet arrived")],
)
def test_a_real_program_of_which_nothing_arrived_gets_no_grade_either(
    changed: dict[str, int], told: str
) -> None:
    result = leave_alone(make_emulated())
    result.tables["flows"] = result.flows.with_columns(
        **{name: pl.lit(value, pl.Int64) for name, value in changed.items()}
    )
    (found,) = judge_flows(result)
    assert (found.grade, describe_experience(found), found.number) == (Grade.NONE, told, told)


def test_the_largest_flows_have_rows_and_the_rest_is_summed() -> None:
    result = make_emulated(flows=30)
    listing = tabulate_real_flows(result)
    assert listing
    assert listing.names[:2] == ("IP down (MiB)", "IP up (KiB)")
    assert len(listing.rows) == 21
    labels = [row.heading for row in listing.rows]
    assert (labels[0].text, labels[0].note) == (
        "TCP www.example.org",
        "198.18.1.1:443 from port 50000",
    )
    assert labels[1].note.startswith("[fd00:6865:6164::101]:443")
    assert labels[2].text == "UDP"
    assert listing.names[4].startswith("RTT")
    trips = [cell and cell.text for cell in (row.cells[4] for row in listing.rows)]
    assert (trips[0], trips[2]) == ("20.4 / 71.2 / 129", "–")
    assert (labels[20].text, labels[20].note) == ("10 others", "")
    rest = result.real_flows.sort("bytes_down", descending=True)[20:]
    again = listing.rows[20].cells[5]
    assert again
    assert again.text == str(rest["retransmitted_down"].sum())
    # Nothing was marked, so that there is no such column.
    assert listing.names[-1] == "dropped"


def test_one_flow_too_many_gets_a_row_of_its_own() -> None:
    listing = tabulate_real_flows(make_emulated(flows=21))
    assert listing
    assert len(listing.rows) == 21
    assert listing.rows[20].heading.note


def test_a_run_without_real_flows_has_no_list() -> None:
    assert tabulate_real_flows(make_emulated(flows=0)) is None


def test_marks_other_protocols_and_several_hosts_are_listed() -> None:
    result = make_emulated(flows=2)
    result.tables["real_flows"] = result.real_flows.with_columns(
        flow=pl.Series(["laptop", "phone"]),
        protocol=pl.Series(["icmp", "47"]),
        name=pl.lit(""),
        marked_up=pl.lit(3, pl.Int64),
        rtt_min_ns=pl.lit(float("nan")),
        rtt_mean_ns=pl.lit(float("nan")),
        rtt_max_ns=pl.lit(float("nan")),
    )
    listing = tabulate_real_flows(result)
    assert listing
    assert [(row.heading.text, row.heading.note) for row in listing.rows] == [
        ("laptop: ICMP", "198.18.1.1"),
        ("phone: protocol 47", "fd00:6865:6164::101"),
    ]
    assert listing.names[-1] == "marked"
    assert not any(name.startswith("RTT") for name in listing.names)
    marked = listing.rows[0].cells[-1]
    assert marked
    assert marked.text == "3"


def test_what_ran_where_is_told_with_its_end() -> None:
    result = make_emulated()
    assert list_programs(result) == [
        ("laptop", "curl -o /dev/null http://server/", "exit code 7"),
        ("server", "python3 -m http.server 80", "stopped at the end"),
    ]
    laptop, server = describe_real(result)
    assert laptop.startswith("laptop: curl -o /dev/null http://server/ (exit code 7); 9.54 Mbit/s")
    assert laptop.endswith("9 packets dropped")
    assert server == "server: python3 -m http.server 80 (stopped at the end)"
    first, *_ = list_ends(result)
    assert (first.name, first.value) == (
        "entered the line",
        "12,400",
    )


def test_a_program_that_sent_nothing_is_asked_for_the_names_it_used() -> None:
    result = leave_alone(make_emulated(flows=0))
    none = dict.fromkeys(("packets_sent", "packets_delivered"), pl.lit(0, pl.Int64))
    result.tables["flows"] = result.flows.with_columns(**none)
    result.tables["summary"] = result.summary.with_columns(packets_delivered=none["packets_sent"])
    assert answer_run(result).sentences == (
        "Nothing was sent in the measured part, so there is nothing to judge: laptop sent nothing."
        " Did the program use the names or addresses of this run?",
    )
    assert describe_real(result)[0].endswith(
        "nothing sent: did it use the names or addresses of this run?"
    )


def test_long_commands_are_cut_in_sentences_and_whole_in_tables() -> None:
    script = (
        "for i in 1 2 3; do\n  curl http://server/\ndone; sleep 10; echo this is a long command"
    )
    hosts = {"laptop": {"command": ["sh", "-c", script], "exit": 0}}
    result = make_emulated(hosts=hosts)
    assert list_programs(result)[0][1].endswith("a long command'")
    line = describe_real(result)[0]
    assert line.startswith("laptop: sh -c 'for i in 1 2 3; do curl http://server/ done; sleep 1… (")


def test_a_flow_that_went_on_after_a_pause_is_told_apart() -> None:
    result = make_emulated(flows=2)
    ends = result.real_flows.row(0, named=True)
    result.tables["real_flows"] = result.real_flows.with_columns(
        pl.lit(ends[name], pl.Int64 if name.endswith("port") else pl.String).alias(name)
        for name in ("host_address", "host_port", "peer_address", "peer_port")
    )
    listing = tabulate_real_flows(result)
    assert listing
    assert [row.heading.text for row in listing.rows] == [
        "TCP www.example.org",
        "TCP www.example.org (same ports again)",
    ]
    assert "Same ports again: it went on after a pause" in listing.note


def test_a_rest_of_fragments_has_no_port() -> None:
    result = make_emulated(flows=1)
    result.tables["real_flows"] = result.real_flows.with_columns(
        host_port=pl.lit(0, pl.Int64), peer_port=pl.lit(0, pl.Int64), protocol=pl.lit("udp")
    )
    listing = tabulate_real_flows(result)
    assert listing
    assert listing.rows[0].heading.note == "198.18.1.1 (fragments)"


def test_round_trips_are_left_out_in_open_loop_and_that_is_said(tmp_path: Path) -> None:
    result = make_open_loop()
    result.tables = leave_out_round_trips(result.tables)
    assert result.measures.filter(flow="laptop", measure="rtt").is_empty()
    assert result.samples.filter(flow="laptop", measure="rtt").is_empty()
    assert result.real_flows["rtt_max_ns"].is_nan().all()
    assert "round trips are not measured in open loop" in describe_real(result)[0]
    listing = tabulate_real_flows(result)
    assert listing
    assert not any(name.startswith("RTT") for name in listing.names)
    page = write_report([result], tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Round trips are not measured in open loop." in page
    vocabulary = Vocabulary({"laptop": "real"}, ["line.down"])
    expectation = parse_expectation("quick", "laptop.rtt.p95 < 60 ms", vocabulary)
    outcome = expectation.check(result.tables, is_open_loop=True)
    assert (outcome.met, outcome.measured) == (False, None)
    assert outcome.measured_text == (
        "nothing measured: round trips are not measured in open loop; laptop.up.delay.p95 and"
        " laptop.down.delay.p95 are of every packet"
    )


@pytest.mark.parametrize(
    ("protocol", "why"),
    [
        ("udp", "rtt is of TCP only, and laptop had none"),
        ("tcp", "no data of its TCP was acknowledged"),
    ],
)
def test_an_expectation_on_round_trips_that_there_are_not_says_why(protocol: str, why: str) -> None:
    result = make_emulated()
    tables = leave_out_round_trips(result.tables)
    tables["real_flows"] = tables["real_flows"].with_columns(protocol=pl.lit(protocol))
    vocabulary = Vocabulary({"laptop": "real", "call": "voice"}, ["line.down"])
    expectation = parse_expectation("quick", "laptop.rtt.p95 < 60 ms", vocabulary)
    told = expectation.check(tables).measured_text
    assert told.startswith(f"nothing measured: {why}; laptop.up.delay.p95")
    assert expectation.check(result.tables).measured


def test_the_delay_of_a_real_program_is_told_with_its_direction() -> None:
    matrix = leave_alone(make_emulated()).answer.matrix
    assert matrix
    cell = matrix.rows[0].cells[1]
    assert cell
    assert cell.text.startswith("↓ ")
    assert matrix.note == "↑ up, ↓ down: the one-way delay of the slower direction."


@pytest.mark.parametrize(("protocol", "is_tcps"), [("tcp", True), ("udp", False)])
def test_what_a_real_host_with_several_transports_loses_is_of_those_that_lost_it(
    protocol: str, is_tcps: bool
) -> None:
    result = leave_alone(make_emulated())
    flows = result.flows.with_columns(
        transport=pl.lit("mixed"),
        discarded_overlimit=pl.when(direction="up").then(100).otherwise(0),
    )
    result.tables["flows"] = flows.with_columns(pl.col("discarded_overlimit").cast(pl.Int64))
    lost = pl.when(protocol=protocol).then(7).otherwise(0)
    result.tables["real_flows"] = result.real_flows.with_columns(discarded_up=lost, marked_up=0)
    queues = result.queues.with_columns(discarded_overlimit=pl.lit(100), discarded_congested=0)
    result.tables["queues"] = queues.with_columns(pl.selectors.integer().cast(pl.Int64))
    state = describe_queue(result, result.queues.filter(direction="up")["queue"][0])
    assert state is not None
    assert state.is_tcps is is_tcps


def test_rates_of_both_directions_say_so() -> None:
    result = leave_alone(make_emulated())
    result.tables["flows"] = result.flows.with_columns(goodput_bps=pl.lit(386.5))
    (found,) = judge_flows(result)
    assert (found.number, describe_experience(found)[:38]) == (
        "↓ 386 bit/s ↑ 386 bit/s",
        "386 bit/s down and 386 bit/s up, TCP r",
    )


def test_the_sentence_about_several_rates_says_which_are_of_both_ways() -> None:
    result = make_emulated()
    result.tables["flows"] = result.flows.with_columns(
        flow=pl.when(flow="call").then(pl.lit("upload")).otherwise("flow"),
        application=pl.when(flow="call").then(pl.lit("bulk")).otherwise("application"),
        transport=pl.lit("tcp"),
        goodput_bps=pl.lit(386.5),
    )
    for name in ("measures", "samples"):
        result.tables[name] = result.tables[name].filter(pl.col("flow") != "call")
    assert "laptop ↓ 386 bit/s ↑ 386 bit/s" in answer_run(result).sentences[0]


@pytest.mark.parametrize("application", ["real", "bulk"])
def test_a_rate_that_was_not_measured_is_no_empty_cell(application: str) -> None:
    result = leave_alone(make_emulated())
    result.tables["flows"] = result.flows.with_columns(
        application=pl.lit(application), transport=pl.lit("tcp"), goodput_bps=pl.lit(float("nan"))
    )
    for name in ("measures", "samples"):
        result.tables[name] = result.tables[name].clear()
    (found,) = judge_flows(result)
    assert found.number == "nothing read yet"


def slow_down(result: Result, factor: float) -> Result:
    """Lengthen the round trips of the real program."""
    result.tables["measures"] = result.measures.with_columns(
        pl.when(pl.col("measure") == "rtt").then(pl.col(name) * factor).otherwise(name).alias(name)
        for name in ("p50", "p95")
    )
    return result


def test_a_comparison_has_the_round_trips_of_real_programs_and_weighs_them() -> None:
    slow = slow_down(leave_alone(make_emulated(label="drop_tail")), 2.0)
    quick = leave_alone(make_emulated(label="docsis_pie"))
    answer = answer_comparison(gather_variants([slow, quick]))
    assert answer.question.startswith("Which of these settings suits laptop on ")
    assert answer.sentences == (
        "Real programs get no grade.",
        "What differs most is laptop RTT: 109 ms under docsis_pie, 218 ms under drop_tail.",
    )
    assert answer.matrix
    row = next(one for one in answer.matrix.rows if one.label == "laptop RTT")
    assert [cell.text for cell in row.cells if cell] == ["218 ms", "109 ms"]
    assert answer.matrix.note.startswith("One run has no interval; run each again with --seed 2")
    names = {(own.subject, own.name) for own in score_runs([slow])[0]}
    assert ("laptop", "goodput") in names
    assert any(subject == "laptop" and "round trip" in name for subject, name in names)


def test_runs_with_real_programs_are_called_by_their_folders(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("recorded", "again")]
    for folder, label in zip(folders, ("line", "bad-day"), strict=True):
        make_emulated(label=label).save(folder, report=False)
    assert [result.label for result in load_results(folders)] == ["recorded", "again"]


def test_timing_says_which_bound_was_missed() -> None:
    assert not any(line.is_bad for line in list_timing(make_emulated()))
    bad = [line.value for line in list_timing(make_emulated(lateness=LATE)) if line.is_bad]
    assert bad == ["not trustworthy", "3.2 ms (bound: 1 ms)", "1 (longest: 100 ms)"]
    lost = make_emulated(lateness=ON_TIME | {"overruns": 3})
    assert [line.value for line in list_timing(lost) if line.is_bad] == ["3"]
    assert list_timing(make_open_loop()) == []


def test_a_replay_says_where_its_packets_come_from() -> None:
    replay = make_emulated(kind="replayed", lateness=None, equal=True)
    assert "recorded in evening.pcapng" in describe_source(replay)
    assert describe_source(replay).endswith("Every frame ended as in the recorded run.")
    assert "crossed this line again in virtual time" in describe_source(replay)
    assert "crossed this line in virtual time" in describe_source(make_open_loop())
    outside = make_emulated(outside=True, recording="evening.pcapng")
    assert describe_source(outside).endswith(
        "The network's side was the internet. What they sent was recorded in evening.pcapng."
    )
    simulated = make_emulated()
    del simulated.manifest["emulation"]
    assert describe_source(simulated) == ""
    assert name_kind(simulated) == "simulated"


def test_the_page_has_real_programs_timing_and_how_late_frames_were(tmp_path: Path) -> None:
    page = write_report([make_emulated()], tmp_path / "report.html").read_text(encoding="utf-8")
    for part in (
        "<h2>Real programs</h2>",
        "<h2>Timing</h2>",
        "from port 50000",
        'data-chart="lateness-0"',
        "Round trips over time",
    ):
        assert part in page
    replay = write_report([make_open_loop()], tmp_path / "replay.html").read_text(encoding="utf-8")
    assert "<h2>Real programs</h2>" in replay
    assert "<h2>Timing</h2>" not in replay


def test_the_terminal_prints_real_programs_and_timing_in_full(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    print_result(make_emulated(flows=30), full=True)
    lines = capsys.readouterr().out.splitlines()
    assert "emulated in real time" in lines[1]
    assert any(line.startswith("laptop: curl") for line in lines)
    row = next(line for line in lines if line.startswith("TCP www.example.org"))
    assert "20.4 / 71.2 / 129" in row
    assert any(line.startswith("late at the 99th percentile") for line in lines)


def test_how_late_frames_were_is_drawn_against_its_bound() -> None:
    (figure,) = draw_figures([make_emulated(lateness=LATE)], ["lateness"])
    text = json.dumps(figure.panels[0].specify())
    for part in ('"p50"', '"p99"', '"latest"', "bound of p99: 1 ms"):
        assert part in text
    assert "lateness" not in list_drawings([make_open_loop()])


@pytest.mark.parametrize(
    ("make_other", "titles"),
    [(make_open_loop, ["live"]), (make_emulated, ["p50", "p99", "latest"])],
    ids=["in virtual time", "in real time"],
)
def test_of_several_runs_those_in_virtual_time_are_not_drawn(
    make_other: Callable[..., Result], titles: list[str]
) -> None:
    (figure,) = draw_figures([make_emulated(label="live"), make_other(label="other")], ["lateness"])
    assert [panel.title for panel in figure.panels] == titles


def test_pictures_in_files_of_their_own_say_it_too() -> None:
    figures = draw_figures([make_open_loop()])
    assert figures
    assert all(figure.note.startswith(OPEN) for figure in figures)
    assert not any(OPEN in figure.explanation for figure in figures)
    assert not any(figure.note.startswith("Open") for figure in draw_figures([make_emulated()]))


def test_a_result_in_python_says_what_kind_it_is() -> None:
    assert repr(make_emulated(lateness=LATE)).endswith("emulated in real time, not trustworthy>")
    assert repr(make_open_loop()).endswith("replayed open loop>")


def test_an_interval_without_frames_is_not_drawn() -> None:
    result = make_emulated()
    result.tables["lateness"] = result.lateness.with_columns(frames=pl.lit(0, pl.Int64))
    assert draw_figures([result], ["lateness"]) == []


def test_a_comparison_says_that_its_runs_are_not_of_one_kind() -> None:
    simulated = make_emulated(label="simulated run")
    del simulated.manifest["emulation"]
    variants = gather_variants([simulated, make_emulated(label="live"), make_open_loop()])
    (warning,) = warn_of_variants(variants)
    assert warning.startswith(
        "the runs compared did not come about in the same way (simulated run: simulated; live:"
        " emulated in real time; fq_codel: replayed open loop)"
    )
    assert warn_of_variants(gather_variants([make_open_loop("a"), make_open_loop("b")])) == []


def test_a_comparison_begins_with_the_runs_that_are_not_to_be_believed_as_they_are(
    tmp_path: Path,
) -> None:
    results = [make_emulated(label="live", lateness=LATE), make_open_loop()]
    variants = gather_variants(results)
    told = (
        STALLED.replace(":", " (live):", 1),
        "Open loop (fq_codel): the recorded senders do not react to this queue.",
    )
    assert describe_caveats_of(variants) == told
    assert answer_comparison(variants).sentences[:2] == told
    page = write_report(results, tmp_path / "report.html").read_text(encoding="utf-8")
    assert told[1] in page.replace("\u00a0", " ")


def test_seeds_of_which_one_is_late_are_not_trustworthy_as_one() -> None:
    runs = [make_emulated(), make_emulated(lateness=LATE)]
    runs[1].manifest["seed"] = 2
    pooled = pool_runs(runs)
    assert not is_trustworthy(pooled)
    assert len(pooled.tables["real_flows"]) == 6
    assert answer_run(pooled).sentences[0] == STALLED


def test_the_tables_are_read_back_from_the_folder(tmp_path: Path) -> None:
    result = make_emulated()
    again = Result.load(result.save(tmp_path / "run", report=False))
    assert again.real_flows.equals(result.real_flows)
    assert again.lateness.schema.to_python() == OPTIONAL_TABLES["lateness"]
    assert again.manifest["emulation"]["lateness"] == ON_TIME
