"""Where those who suffer wait: made-up streets, and streets that are run."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import headend
from headend.analysis.bottleneck import find_bottleneck
from headend.analysis.causes import DelaySource, find_causes
from headend.analysis.contention import find_waits_for_grants
from headend.analysis.facts import Action
from headend.analysis.quality import judge_flows
from headend.comparison.comparison import gather_variants
from headend.comparison.contrast import answer_comparison
from headend.running.result import Result
from headend.wording.facts import advise
from headend.wording.run import answer_run
from headend.wording.verdict import judge
from street import make_street

HOMES = 20


def make_calls(
    late_up: int,
    late_down: int,
    *,
    full: str = "",
    collided: float = 0.0,
    used: float = 0.02,
    stands: bool = False,
) -> Result:
    """Make a street of calls: the first homes' are late upstream, the next ones' downstream.

    Parameters
    ----------
    full
        The directions of the full channels.
    collided
        Share of the requests in contention that collided.
    used
        Share of its rate that each queue uses.
    """
    made = make_street(HOMES, strain=0.1)
    number = pl.col("queue").str.extract(r"\.(\d+)\.").cast(pl.Int64)
    own = pl.col("flow").str.extract(r"\.(\d+)$").cast(pl.Int64)
    first, second = late_up, late_up + late_down

    def is_late(home: pl.Expr) -> pl.Expr:
        up = (pl.col("direction") == "up") & (home <= first)
        return up | ((pl.col("direction") == "down") & (home > first) & (home <= second))

    delays = ["delay_p50_ns", "delay_p95_ns", "delay_p99_ns"]
    tables = dict(made.tables)
    flows = made.flows.filter(pl.col("application") == "voice").with_columns(
        loss_ratio=pl.lit(0.0), discarded_overlimit=pl.lit(0)
    )
    tables["flows"] = flows.with_columns(
        pl.when(is_late(own)).then(pl.col(name) + 300e6).otherwise(20e6).alias(name)
        for name in delays
    ).with_columns(delay_min_ns=pl.lit(15e6))
    asked = pl.when(pl.col("direction") == "up").then(1000).otherwise(0)
    tables["queues"] = made.queues.with_columns(
        *(
            pl.when(is_late(number))
            .then(250e6 if stands or name != delays[0] else 5e6)
            .otherwise(2e6)
            .alias(name)
            for name in delays
        ),
        requests_contention=asked,
        collisions=(asked * collided).cast(pl.Int64),
        utilisation=pl.lit(used),
        discarded_congested=pl.lit(0),
        standing_ratio=pl.when(is_late(number)).then(0.9 if stands else 0.2).otherwise(0.0),
    )  # fmt: skip
    tables["channels"] = made.channels.with_columns(
        utilisation=pl.when(pl.col("direction").is_in(full.split())).then(1.0).otherwise(0.5),
        full_ratio=pl.when(pl.col("direction").is_in(full.split())).then(1.0).otherwise(0.0),
    )
    scores = made.measures.filter(pl.col("measure") == "mos")
    ways = []
    for way, measure, lowest, highest in (
        ("up", "mos", 0, first),
        ("down", "mos_down", first, second),
    ):
        suffers = (own > lowest) & (own <= highest)
        value = pl.when(suffers).then(1.0).otherwise(4.4)
        statistics = ("mean", "p5", "p25", "p50", "p75", "p90", "p95", "p99")
        ways.append(
            scores.with_columns(
                *(value.alias(name) for name in statistics), measure=pl.lit(measure)
            )
        )
        late = pl.when(suffers).then(0.3).otherwise(0.0)
        share = pl.lit("late" if way == "up" else "late_down")
        ways.append(scores.with_columns(*(late.alias(name) for name in statistics), measure=share))
    tables["measures"] = pl.concat(ways)
    tables["samples"] = made.samples.clear()
    plant = {
        "contention": {"data_start": 4, "data_end": 10},
        "upstream": {"sc_qam": {"opportunities": 5}},
    }
    manifest = {
        **made.manifest,
        "scenario": {
            "link": {"cable": {"docsis": {"modem": {"home": {"count": HOMES}}, "plant": plant}}},
            "host": {"family": {"via": ["cable.home"]}},
            "flow": {"call": {"host": "family", "application": "voice"}},
        },
    }
    return Result(tables, manifest, "street")


def test_a_full_channel_is_the_cause_of_those_who_wait_in_its_direction_only() -> None:
    result = make_calls(8, 3, full="down", collided=0.46)
    shares = [(group.source, group.direction, group.count) for group in find_causes(result).groups]
    assert shares == [(DelaySource.CONTENTION, "up", 8), (DelaySource.CHANNEL, "down", 3)]
    first, second = answer_run(result).sentences
    assert first.startswith("11 of 20 ")
    told = "8 wait upstream, where 46 % of the modems' requests collide"
    assert f": {told}; 3 wait for the full downstream channel." in first
    assert "opportunities=10" in second
    assert "more capacity" not in second


def test_the_advice_follows_what_most_suffer_from() -> None:
    result = make_calls(3, 8, full="down", collided=0.46)
    first, second = answer_run(result).sentences
    assert first.index("8 wait for the full downstream") < first.index("3 wait upstream")
    assert second.startswith("Only more capacity or less load")


def test_few_collisions_do_not_explain_a_wait() -> None:
    sources = {group.source for group in find_causes(make_calls(5, 0, collided=0.1)).groups}
    assert sources == {DelaySource.QUEUE}


def test_a_modem_that_has_its_rate_waits_for_its_own_queue() -> None:
    result = make_calls(5, 0, collided=0.46, used=0.99, stands=True, full="up")
    assert [group.source for group in find_causes(result).groups] == [DelaySource.QUEUE]
    assert "standing queue" in answer_run(result).sentences[0]


def test_the_queue_that_is_told_of_is_one_in_which_most_wait() -> None:
    result = make_calls(8, 3, full="down", collided=0.46, stands=False)
    assert str(find_bottleneck(result)).endswith(".up")
    notes = " ".join(judge(result).notes)
    assert "Of 20,000 requests that the modems of cable sent in contention, 9,200 collided" in notes


def test_one_who_alone_has_a_cause_is_named() -> None:
    first = answer_run(make_calls(8, 1, full="down", collided=0.46)).sentences[0]
    assert "call.9 waits for the full downstream channel" in first


def test_who_waits_in_no_queue_is_counted_apart() -> None:
    result = make_calls(8, 2, full="down", collided=0.46)
    short = pl.col("direction") == "down"
    delays = ["delay_p95_ns", "delay_p99_ns"]
    result.tables["queues"] = result.queues.with_columns(
        pl.when(short).then(1e6).otherwise(name).alias(name) for name in delays
    )
    assert find_causes(result).unexplained == 2
    assert "2 suffer for other reasons" in answer_run(result).sentences[0]


def test_a_comparison_of_streets_tells_how_full_the_shared_channels_are() -> None:
    runs = [make_calls(8, 3, full="down"), make_calls(8, 3, full="down")]
    runs[1].label = "other"
    answer = answer_comparison(gather_variants(runs))
    assert answer.matrix is not None
    rows = {row.label: row.cells for row in answer.matrix.rows}
    assert [cell and (cell.text, cell.note) for cell in rows["channel down"]] == [
        ("100 % used", "full")
    ] * 2
    assert [cell and cell.text for cell in rows["channel up"]] == ["50 % used"] * 2
    # What one home uses of its own rate is not how full the channel is.
    assert [cell and cell.note for cell in rows["queue"]] == ["", ""]
    assert "the downstream channel cable.down is full with each" in answer.sentences[0]


def make_busy_street(homes: int, preset: str = "docsis31") -> dict[str, Any]:
    """Make a street on which nine homes in ten hold a call, and nothing else is sent."""
    docsis = {"preset": preset, "modem": {"home": {"count": homes}}}
    return {
        "duration": "22 s",
        "warmup": "2 s",
        "link": {"cable": {"docsis": docsis}},
        "host": {"family": {"via": ["cable.home"]}},
        "flow": {"call": {"host": "family", "share": "90 %", "application": "voice"}},
    }


def test_calls_that_wait_for_requests_that_collide_are_told_so() -> None:
    result = headend.run(make_busy_street(60))
    main = find_causes(result).main
    assert main is not None
    assert (main.source, main.direction) == (DelaySource.CONTENTION, "up")
    assert main.count == sum(own.suffers for own in judge_flows(result))
    assert "requests collide" in answer_run(result).sentences[0]


@pytest.mark.parametrize(
    ("preset", "homes", "key"), [("docsis31", 60, "data_end"), ("docsis30", 120, "opportunities")]
)
def test_what_is_advised_against_collisions_helps(preset: str, homes: int, key: str) -> None:
    scenario = make_busy_street(homes, preset)
    before = headend.run(scenario)
    path, _, value = answer_run(before).sentences[1].split("--set ")[1].rstrip("`).").partition("=")
    assert path.endswith(key)
    after = headend.run(scenario, set={path: int(value)})
    assert any(own.suffers for own in judge_flows(before))
    assert not any(own.suffers for own in judge_flows(after))


def test_where_most_requests_collide_a_shorter_backoff_is_not_advised() -> None:
    result = headend.run(make_busy_street(90))
    waits = find_waits_for_grants(result, "cable")
    assert waits.collided > 0.5 * waits.requests
    assert [remedy.action for remedy in waits.remedies] == [Action.FEWER_MODEMS]
    assert advise(waits.remedies[0]).startswith("Fewer modems on the channel")


def test_a_single_modem_is_not_said_to_contend() -> None:
    scenario = {
        "duration": "20 s",
        "warmup": "5 s",
        "link": {"cable": {"docsis": {"preset": "docsis31", "upstream": {"rate": "5 Mbit/s"}}}},
        "flow": {"call": {"application": "voice"}, "upload": {"application": "bulk"}},
    }
    sources = {group.source for group in find_causes(headend.run(scenario)).groups}
    assert DelaySource.CONTENTION not in sources
