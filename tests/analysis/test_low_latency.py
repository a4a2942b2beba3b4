"""Low latency in results: who used the queue, who was sanctioned, and what is said of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import headend
from headend.analysis.bottleneck import find_bottleneck, find_shared_bottleneck
from headend.analysis.expect import parse_expectation
from headend.analysis.facts import Action, KeptOut
from headend.analysis.grading import Grade
from headend.analysis.low_latency import (
    choose_aggregates,
    find_queue_of,
    gather_aggregates,
)
from headend.analysis.mib import find_histograms
from headend.analysis.quality import FlowQuality
from headend.analysis.queues import find_key, is_low_latency, name_queue_key, weigh_queues
from headend.analysis.sanctions import (
    find_kept_out,
    find_low_latency,
    find_marking,
    find_sanctioned,
)
from headend.cli.run import describe_result, print_result
from headend.engine.columns import OPTIONAL_TABLES
from headend.figures import draw_figures
from headend.pages.page import write_report
from headend.running.result import Result
from headend.scenario.subjects import Vocabulary
from headend.wording.facts import advise, describe_facts, summarize_facts
from headend.wording.low_latency import write_flow
from headend.wording.run import answer_run
from headend.wording.verdict import judge
from street import SECOND, _complete, _flow, _measures, _series, make_street

LOW, CLASSIC = "cable.up_low_latency", "cable.up"


def make_home(*, sanctioned: int = 900, protected: bool = True, dscp: int = 45) -> Result:
    """Make a home where a flood of ECT(1) packets shares the low-latency queue with a game."""
    result = make_street(1)
    flows = [("game", "ping"), ("flood", "ping"), ("upload", "bulk")]
    rows = [_flow(name, kind, way, 5e6) for name, kind in flows for way in ("up", "down")]
    for row in rows:
        # What comes back counts for nothing here.
        row["carries"] = "data" if row["direction"] == "up" else "control"
    queue = {
        "link": "cable", "direction": "up", "rate_bps": 50e6, "packets_enqueued": 100,
        "packets_dequeued": 100,
    }  # fmt: skip
    queues = [
        {
            **queue, "queue": CLASSIC, "discipline": "docsis_pie", "utilisation": 0.3,
            "delay_mean_ns": 12e6,
            "delay_p50_ns": 12e6, "delay_p99_ns": 30e6,
        },
        {
            **queue, "queue": LOW, "discipline": "immediate_aqm", "utilisation": 0.6,
            "delay_mean_ns": 1e6,
            "delay_p50_ns": 0.5e6, "delay_p99_ns": 1.25e6,
        },
    ]  # fmt: skip
    result.tables["flows"] = _complete("flows", rows)
    result.tables["queues"] = _complete("queues", queues)
    waits = {CLASSIC: 12e6, LOW: 1e6}
    times = np.arange(1, 61) * SECOND
    result.tables["queue_series"] = _series(
        "queue_series", [(CLASSIC, "up"), (LOW, "up")], times, waits
    )
    result.tables["measures"] = _complete("measures", _measures("game", "ping", 5e6))
    result.tables["low_latency"] = pl.DataFrame(
        [
            (CLASSIC, "flood", "up", 800, 800_000, 700),
            (CLASSIC, "upload", "up", 5000, 5_000_000, 0),
            (LOW, "game", "up", 300, 30_000, 3),
            (LOW, "flood", "up", 100, 100_000, 97),
        ],
        schema=OPTIONAL_TABLES["low_latency"],
        orient="row",
    )
    if protected:
        columns = OPTIONAL_TABLES["queue_protection"]
        first = 1.5e9 if sanctioned else float("nan")
        values: list[dict[str, Any]] = [
            {
                "queue": LOW, "flow": "game", "direction": "up", "packets": 300,
                "score_max_ns": 400_000,
                "sanctioned": 0, "sanctioned_bytes": 0, "reordered": 0, "congestion_bytes": 50.0,
                "first_sanction_ns": float("nan"), "last_sanction_ns": float("nan"),
                "sanction_delay_max_ns": float("nan"),
            },
            {
                "queue": LOW, "flow": "flood", "direction": "up", "packets": 1000,
                "score_max_ns": 12_000_000,
                "sanctioned": sanctioned, "sanctioned_bytes": 1000 * sanctioned,
                "reordered": 7 if sanctioned else 0,
                "congestion_bytes": 9e5, "first_sanction_ns": first, "last_sanction_ns": first,
                "sanction_delay_max_ns": first,
            },
        ]  # fmt: skip
        result.tables["queue_protection"] = pl.DataFrame(values).select(
            pl.col(name).cast(kind) for name, kind in columns.items()
        )
        objects = {"QpEnable": 3, "QpQueuingScoreThreshold": 4000, "QpDrainRateExponent": 19}
        result.tables["mib"] = pl.DataFrame(
            [
                ("cable", "", "up", "up", "docsQosAggregateServiceFlowTable",
                 f"docsQosAggregateServiceFlow{name}", value)
                for name, value in objects.items()
            ],
            schema=OPTIONAL_TABLES["mib"],
            orient="row",
        )  # fmt: skip
    result.manifest["scenario"] = {
        "link": {"cable": {"docsis": {"upstream": {"low_latency": {}}}}},
        "flow": {
            "game": {"application": "ping", "dscp": dscp},
            "flood": {"application": "cbr"},
            "upload": {"application": "bulk"},
        },
    }
    result.manifest["bottleneck"] = CLASSIC
    return result


def _suffer(flow: str) -> FlowQuality:
    finding = next(own for own in judge(make_home()).findings if own.flow == flow)
    return finding.__class__(**{**finding.__dict__, "grade": Grade.BAD})


def test_the_queues_of_an_aggregate_share_the_use_of_their_rate() -> None:
    queues = weigh_queues(make_home())
    assert {row["queue"]: row["utilisation"] for row in queues} == pytest.approx(
        {CLASSIC: 0.9, LOW: 0.9}
    )
    assert make_home().queues["utilisation"].to_list() == [0.3, 0.6]
    street = make_street(2)
    own = [row["utilisation"] for row in weigh_queues(street)]
    assert own == street.queues["utilisation"].to_list()


def test_a_low_latency_queue_is_known_by_its_name_and_has_no_key_of_its_own() -> None:
    assert is_low_latency(LOW)
    assert not is_low_latency("cable.voice_low_latency")
    links: dict[str, Any] = {"cable": {"docsis": {"modem": {"home": {}}}}}
    assert find_key(links, LOW) == "link.cable.docsis.upstream.low_latency"
    own = "link.cable.docsis.modem.home.downstream.low_latency"
    assert find_key(links, "cable.home.down_low_latency") == own
    assert name_queue_key(make_home(), LOW) is None
    assert find_bottleneck(make_home()) == CLASSIC


def test_flows_are_gathered_by_the_queues_that_they_used() -> None:
    (one,) = gather_aggregates(make_home())
    assert (one.classic, one.low, one.is_protected) == (CLASSIC, LOW, True)
    assert [flow.label for flow in one.flows] == ["game", "flood", "upload"]
    assert [flow.label for flow in one.users] == ["game", "flood"]
    assert one.score_threshold_ns == 4e6
    assert one.drain_bps == pytest.approx(3.906e6, rel=1e-3)
    assert one.marked_ratio == 100 / 400
    assert find_queue_of(make_home(), "upload", "up") == CLASSIC
    assert find_queue_of(make_home(), "flood", "up") == CLASSIC
    assert find_queue_of(make_home(), "game", "up") == LOW
    assert find_queue_of(make_home(), "game", "down") is None
    assert gather_aggregates(make_street(2)) == []


def test_the_verdict_names_who_was_sanctioned_and_why() -> None:
    told = " ".join(describe_facts(find_low_latency(make_home(), CLASSIC)))
    assert (
        "game and flood use the low-latency queue cable.up_low_latency, which held packets 500 µs"
        " at the median and 1.25 ms at the 99th percentile (cable.up, the classic queue beside it,"
        " 12 ms and 30 ms); 25 % of its packets left it with a CE mark."
    ) in told
    assert (
        "Queue protection sent 900 of flood's 1,000 packets (90 %) to the classic queue cable.up,"
        " the first at 1.5 s: its queuing score reached 12 ms, where 4 ms are allowed."
    ) in told
    assert "drains at 3.91 Mbit/s" in told
    assert "without ECT(1) and without DSCP 45" in told
    assert "7 packets of flood left after packets that had come later" in told
    assert told in judge(make_home()).paragraph


def test_a_sanctioned_flow_that_has_most_of_the_classic_queue_is_told() -> None:
    home = make_home()
    assert "In that queue" not in " ".join(describe_facts(find_low_latency(home, CLASSIC)))
    few = pl.when(pl.col("flow") == "upload").then(200).otherwise("packets")
    home.tables["low_latency"] = home.low_latency.with_columns(packets=few)
    home.cache.clear()
    told = "In that queue, 80 % of the packets sent are flood's: upload got the rest."
    assert told in describe_facts(find_low_latency(home, CLASSIC))


def test_of_protection_that_redirected_nothing_a_clause_is_told() -> None:
    told = describe_facts(find_low_latency(make_home(sanctioned=0), CLASSIC))
    assert len(told) == 1
    assert told[0].endswith("queue protection redirected none.")
    assert (
        "protection" not in describe_facts(find_low_latency(make_home(protected=False), CLASSIC))[0]
    )
    assert find_kept_out(make_home(sanctioned=0), CLASSIC) is None


def test_sanctions_since_the_warm_up_have_no_first_one() -> None:
    home = make_home()
    home.manifest["warmup_ns"] = 1_499_000_000
    told = " ".join(describe_facts(find_low_latency(home, CLASSIC)))
    assert "to the classic queue cable.up from the end of the warm-up on:" in told


def test_another_aggregate_is_told_of_where_packets_wait() -> None:
    home = make_home(sanctioned=0)
    assert [one.low for one in choose_aggregates(home, "cable.down")] == [LOW]
    delays = [pl.lit(0.5e6).alias(name) for name in ("delay_p50_ns", "delay_p99_ns")]
    home.tables["queues"] = home.queues.with_columns(*delays)
    home.cache.clear()
    assert choose_aggregates(home, "cable.down") == []
    assert [one.low for one in choose_aggregates(home, LOW)] == [LOW]


def test_few_sanctions_are_called_bursts() -> None:
    told = " ".join(describe_facts(find_low_latency(make_home(sanctioned=30), CLASSIC)))
    assert "Only bursts of it were redirected." in told
    assert find_kept_out(make_home(sanctioned=30), CLASSIC) is None


def test_a_tcp_sender_that_was_sanctioned_gets_other_advice() -> None:
    home = make_home()
    tcp = pl.when(pl.col("flow") == "flood").then(pl.lit("tcp")).otherwise("transport")
    home.tables["flows"] = home.flows.with_columns(transport=tcp)
    told = " ".join(describe_facts(find_low_latency(home, CLASSIC)))
    assert (
        "`--set link.cable.docsis.upstream.low_latency.queue_protection.score_threshold=…`" in told
    )
    assert "does not slow down" not in told


def test_an_empty_low_latency_queue_is_explained() -> None:
    home = make_home(protected=False)
    home.tables["low_latency"] = home.low_latency.filter(pl.col("queue") == CLASSIC)
    assert describe_facts(find_low_latency(home, CLASSIC))[0].startswith(
        "No packet was sent to the low-latency queue cable.up_low_latency"
    )


def test_who_suffers_from_sanctions_hears_of_them() -> None:
    found = find_sanctioned(make_home(), _suffer("flood"))
    assert found is not None
    assert summarize_facts([found]) == (
        "queue protection sends 90 % of flood's packets to the classic queue cable.up, where"
        " packets wait 12 ms"
    )
    assert found.remedies[0].action is Action.USE_CLASSIC
    assert advise(found.remedies[0]) == (
        "Traffic that does not slow down for marks belongs in the classic queue, without ECT(1)"
        " and without DSCP 45."
    )
    assert find_sanctioned(make_home(), _suffer("game")) is None
    assert find_sanctioned(make_home(sanctioned=30), _suffer("flood")) is None
    assert find_kept_out(make_home(), CLASSIC) == KeptOut("flood", 0.9, 0)


def test_an_unmarked_flow_that_suffers_in_the_classic_queue_is_advised_to_mark_its_packets() -> (
    None
):
    home = make_home(dscp=0)
    moved = pl.when(pl.col("flow") == "game").then(pl.lit(CLASSIC)).otherwise("queue")
    home.tables["low_latency"] = home.low_latency.with_columns(queue=moved)
    home.tables["queue_protection"] = home.queue_protection.filter(pl.col("flow") != "game")
    remedy = find_marking(home, CLASSIC, _suffer("game"))
    assert remedy is not None
    assert remedy.setting == "flow.game.dscp=45"
    assert "`--set flow.game.dscp=45`" in advise(remedy)
    assert find_marking(make_home(dscp=0), CLASSIC, _suffer("game")) is None
    assert find_marking(home, CLASSIC, _suffer("upload")) is None
    home.tables["flows"] = home.flows.with_columns(throughput_bps=2e6)
    assert find_marking(home, CLASSIC, _suffer("game")) is None


def test_runs_with_and_without_low_latency_are_compared_by_the_classic_queue() -> None:
    on, off = make_home(), make_home(protected=False)
    off.manifest["scenario"]["link"] = {"cable": {"docsis": {"upstream": {"low_latency": "off"}}}}
    off.tables["queues"] = off.queues.filter(pl.col("queue") == CLASSIC)
    assert find_shared_bottleneck([off, on]) == CLASSIC


def test_expectations_reach_sanctions_of_flows_and_queues() -> None:
    vocabulary = Vocabulary({"game": "ping", "flood": "cbr"}, [CLASSIC, LOW])
    for text, value in [
        ("flood.sanctioned > 0", 900),
        ("game.sanctioned < 1", 0),
        ("flood.up.reordered < 10", 7),
        ("cable.up_low_latency.sanctioned > 800", 900),
        ("cable.up.sanctioned < 1", 0),
    ]:
        outcome = parse_expectation("it", text, vocabulary).check(make_home().tables)
        assert (outcome.measured, outcome.met) == (value, True), text
    none = parse_expectation("it", "flood.sanctioned < 1", vocabulary)
    assert none.check(make_home(protected=False).tables).met
    ratio = parse_expectation("it", "flood.sanctioned / flood.up.sent > 0.1", vocabulary)
    assert ratio.check(make_home().tables).measured == pytest.approx(900 / 3000)


def test_of_a_street_only_aggregates_with_sanctions_are_told() -> None:
    home = make_home()
    names = [f"cable.home.{n}.up" for n in range(1, 6)]
    frames = [
        home.queues.with_columns(queue=pl.col("queue").str.replace("cable.up", name, literal=True))
        for name in names
    ]
    sent = [
        home.low_latency.with_columns(
            queue=pl.col("queue").str.replace("cable.up", name, literal=True)
        )
        for name in names
    ]
    home.tables["queues"] = pl.concat(frames)
    home.tables["low_latency"] = pl.concat(sent)
    home.tables["queue_protection"] = home.queue_protection.with_columns(
        queue=pl.lit("cable.home.3.up_low_latency")
    )
    chosen = [one.classic for one in choose_aggregates(home, "cable.home.1.up")]
    assert chosen == ["cable.home.1.up", "cable.home.3.up"]


def test_a_row_of_the_table_has_dashes_where_protection_is_off() -> None:
    (one,) = gather_aggregates(make_home())
    flood = next(flow for flow in one.flows if flow.label == "flood")
    on = ("flood", "100", "900 (90 %)", "97 %", "800", "1.5 s", "12 ms", "7")
    assert write_flow(flood, is_protected=True) == on
    off = ("flood", "100", "–", "97 %", "800", "–", "–", "–")
    assert write_flow(flood, is_protected=False) == off


def test_all_that_is_printed_has_the_table_and_json_has_the_rows(capsys: Any) -> None:
    home = make_home()
    print_result(home, full=True)
    printed = " ".join(capsys.readouterr().out.split())
    assert "900 (90 %)" in printed
    assert "Classic: the flow's packets that the classic queue cable.up sent." in printed
    described: dict[str, Any] = describe_result(make_home())
    assert [row["sanctioned"] for row in described["queue_protection"]] == [0, 900]
    assert len(described["low_latency"]) == 4
    print_result(make_street(2), full=True)
    assert "Classic:" not in capsys.readouterr().out
    assert "low_latency" not in describe_result(make_street(2))


def test_figures_over_time_draw_both_queues_of_an_aggregate() -> None:
    figures = {
        figure.name: figure for figure in draw_figures([make_home()], only=["queue", "line-rate"])
    }
    for figure in figures.values():
        for panel in figure.panels:
            drawn = json.dumps(panel.chart.to_dict())
            assert f'"{CLASSIC}"' in drawn
            assert f'"{LOW}"' in drawn
        assert "in the classic queue and in the low-latency queue" in figures["queue"].explanation
    assert "the classic queue and the low-latency queue" in figures["line-rate"].explanation
    (other,) = draw_figures([make_street(1)], only=["line-rate"])
    assert "What left the bottleneck's queue" in other.explanation


def test_the_page_has_a_section_on_low_latency(tmp_path: Any) -> None:
    page = write_report([make_home()], tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h2>Low latency</h2>" in page
    assert "<h3>cable.up_low_latency</h3>" in page
    assert "900 (90 %)" in page.replace("\u00a0", " ")
    other = write_report([make_street(2)], tmp_path / "other.html").read_text(encoding="utf-8")
    assert "<h2>Low latency</h2>" not in other


#: A game that builds no queue, beside a flood of ECT(1) packets beyond the rate and an upload.
FLOOD = """
duration = "6 s"
warmup = "1 s"
[link.cable.docsis]
preset = "docsis31"
downstream = { rate = "100 Mbit/s" }
[link.cable.docsis.upstream]
rate = "20 Mbit/s"
latency_histogram = ["5 ms", "10 ms", "20 ms"]
low_latency = { latency_histogram = ["2 ms", "5 ms", "10 ms"] }
[flow.game]
application = "game"
dscp = 45
[flow.flood]
application.cbr = { rate = "30 Mbit/s", size = "1400 B" }
direction = "up"
ecn = "ect1"
[flow.upload]
application = "bulk"
direction = "up"
[expect]
game = "game.sanctioned < 1"
flood = "flood.sanctioned > 0"
"""


@pytest.fixture(scope="module")
def flood(tmp_path_factory: pytest.TempPathFactory) -> headend.Result:
    path = tmp_path_factory.mktemp("flood") / "flood.toml"
    path.write_text(FLOOD, encoding="utf-8")
    return headend.run(path)


def test_of_a_flood_and_a_game_only_the_flood_is_sanctioned(flood: headend.Result) -> None:
    for name in ("low_latency", "queue_protection"):
        assert flood.tables[name].schema.to_python() == OPTIONAL_TABLES[name]
    rows = {row["flow"]: row for row in flood.queue_protection.iter_rows(named=True)}
    assert rows["game"]["sanctioned"] == 0
    # A third of the flood exceeds the rate.
    assert rows["flood"]["sanctioned"] > rows["flood"]["packets"] / 3
    assert rows["flood"]["score_max_ns"] > 4e6 > rows["game"]["score_max_ns"]
    assert rows["flood"]["reordered"] > 0
    assert all(outcome.met for outcome in flood.expectations)


def test_each_flow_of_a_run_is_in_the_queues_that_it_used(flood: headend.Result) -> None:
    used = {(row["flow"], row["queue"]) for row in flood.low_latency.iter_rows(named=True)}
    assert used == {("game", LOW), ("flood", LOW), ("flood", CLASSIC), ("upload", CLASSIC)}
    sent = flood.low_latency.group_by("queue").agg(pl.col("packets").sum())
    left = dict(flood.queues.select("queue", "packets_dequeued").iter_rows())
    for queue, packets in sent.iter_rows():
        assert packets == left[queue]


def test_the_histograms_of_both_flows_are_drawn(flood: headend.Result) -> None:
    found = {own.queue: sum(own.packets) for own in find_histograms(flood)}
    left = dict(flood.queues.select("queue", "packets_dequeued").iter_rows())
    assert found == {CLASSIC: left[CLASSIC], LOW: left[LOW]}
    (figure,) = draw_figures([flood], only=["latency-histogram"])
    drawn = json.dumps(figure.panels[0].specify())
    assert f'"{CLASSIC}"' in drawn
    assert f'"{LOW}"' in drawn


def test_the_answer_to_a_flood_names_the_sanctions(flood: headend.Result) -> None:
    answer = " ".join(answer_run(flood).sentences)
    assert "queue protection sends" in answer
    assert "of flood's packets to the classic queue" in answer
    assert "Queue protection sent" in judge(flood).paragraph


def test_without_low_latency_nothing_is_said_of_it(tmp_path: Any) -> None:
    text = "\n".join(line for line in FLOOD.splitlines() if "low_latency =" not in line)
    path = tmp_path / "off.toml"
    path.write_text(text.partition("[expect]")[0], encoding="utf-8")
    off = headend.run(path)
    assert not {"low_latency", "queue_protection"} & set(off.tables)
    assert gather_aggregates(off) == []
    assert "low-latency" not in judge(off).paragraph
