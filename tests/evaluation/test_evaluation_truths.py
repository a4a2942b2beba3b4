"""What is known of queues and senders comes out of the cases as they are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import headend
from headend.evaluation.case import Bottleneck, Scenario
from headend.evaluation.criterion import Read, divide, take
from headend.evaluation.findings import Condition, Findings
from headend.evaluation.line import make_line
from headend.running.job import prepare
from headend.running.measuring import Named
from headend.scenario.source import Overrides, read_scenario

RATE = 10e6


def run(family: str, names: Sequence[str], case: str, *, rtt: float, buffer: float) -> Findings:
    """Run one case at one bottleneck, with three seeds."""
    found = headend.evaluate(
        family, names, sections=[case], rates=[RATE], rtts=[rtt], buffers=[buffer], seeds=3
    )
    return found.findings


def mean(found: Findings, name: str, read: Read, variant: str = "") -> float:
    """Give the mean of a number over the seeds."""
    (case,) = found.cases
    (bottleneck,) = found.request.list_bottlenecks(case.extent)
    values = found.read(case, Condition(variant, bottleneck), name, read)
    assert len(values) == 3
    return sum(values.values()) / 3


LOSS = divide("lost", "sent")


@pytest.mark.slow
def test_flows_of_bbr_1_cause_lasting_loss_below_one_and_a_half_bdp() -> None:
    # RFC 9743 §5.1.3, after Hock, Bless and Zitterbart, "Experimental Evaluation of BBR Congestion
    # Control" (ICNP 2017): "less than roughly one and a half times the Bandwidth Delay Product".
    found = run("sender", ["bbr"], "loss", rtt=100e6, buffer=1.0)
    for buffer in ("0.25", "0.5", "1"):
        own = mean(found, "bbr", LOSS, f"{buffer} BDP")
        assert own > 0.03
        assert own > 5 * mean(found, "cubic", LOSS, f"{buffer} BDP")
    for buffer in ("2", "4"):
        assert mean(found, "bbr", LOSS, f"{buffer} BDP") < 0.01


def test_ledbat_yields_to_reno_behind_drop_tail_and_not_behind_an_aqm() -> None:
    # Gong, Rossi, Testa, Valenti and Täht, "Fighting the bufferbloat: on the coexistence of AQM and
    # low priority congestion control" (2014).
    found = run("queue", ["codel", "pie"], "background", rtt=100e6, buffer=4.0)
    share = divide("lbe", "lbe", "goodput")
    for variant in ("target 5 ms", "target 100 ms"):
        assert mean(found, "drop_tail", share, variant) < 0.05
        assert mean(found, "codel", share, variant) > 0.35
    # What counts is whether the AQM keeps the queue below LEDBAT's target: PIE keeps 15 ms.
    assert mean(found, "pie", share, "target 100 ms") > 0.35
    assert mean(found, "pie", share, "target 5 ms") < 0.05


@pytest.mark.slow
def test_cubic_leaves_reno_its_share_where_the_bdp_is_small() -> None:
    # RFC 9438 §4.3: the Reno-friendly region; §5.1: beyond it CUBIC takes more.
    share = divide("other", "other", "own")
    small = run("sender", ["cubic"], "beside", rtt=20e6, buffer=1.0)
    large = run("sender", ["cubic"], "beside", rtt=100e6, buffer=4.0)
    assert 0.4 < mean(small, "cubic", share, "reno") < 0.6
    assert mean(large, "cubic", share, "reno") < 0.25


@pytest.mark.slow
def test_a_ledbat_flow_that_joins_later_displaces_the_one_that_was_there() -> None:
    # RFC 6817 §4.4: it takes the standing queue of the first one for the path's own delay.
    found = run("sender", ["ledbat"], "late", rtt=100e6, buffer=4.0)
    late = divide("late", "first", "late")
    assert mean(found, "ledbat", late) > 0.8
    for name in ("cubic", "reno"):
        assert 0.35 < mean(found, name, late) < 0.65


def test_codel_and_pie_hold_delays_near_their_targets_and_drop_tail_does_not() -> None:
    # Targets of 5 ms (RFC 8289) and 15 ms (RFC 8033); CoDel's delay rises with the load.
    found = run("queue", ["codel", "pie"], "levels", rtt=100e6, buffer=1.0)
    delay = take("delay")
    for level in ("mild", "medium", "heavy"):
        assert mean(found, "drop_tail", delay, level) > 50e6
        assert 10e6 < mean(found, "pie", delay, level) < 20e6
    assert 2e6 < mean(found, "codel", delay, "mild") < 10e6
    rising = [mean(found, "codel", delay, level) for level in ("mild", "medium", "heavy")]
    assert rising == sorted(rising)


def test_drop_tail_locks_out_a_flow_whose_packets_come_in_the_wrong_phase() -> None:
    # Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways" (1992): a queue
    # that drops at random has no such effect, nor have paths with the jitter of the cases.
    flows = {
        "own": {"application": "bulk", "tcp": {"congestion": "cubic"}},
        "other": {"application": "bulk", "tcp": {"congestion": "reno"}, "start": "500 ms"},
    }
    bottleneck = Bottleneck(RATE, 20e6, 1.0)
    even = make_line(bottleneck, flows, duration=120, warmup=30)
    still = {name: {**flow, "path": {"jitter": "0 s"}} for name, flow in flows.items()}
    exact = make_line(bottleneck, still, duration=120, warmup=30)
    assert compare_losses(exact) > 3
    assert compare_losses(even) < 1.5
    assert compare_losses(exact, (("queue", "pie"),)) < 1.5


def compare_losses(scenario: Scenario, overrides: Overrides = ()) -> float:
    """Measure the loss of the flow ``other``, over that of the other flow."""
    kept = Named({"own": "own.loss", "other": "other.loss"})
    frame = prepare(read_scenario(scenario), overrides, 1, kept).run()
    assert frame is not None
    loss = dict(frame.select("measure", "value").iter_rows())
    return float(loss["other"] / loss["own"])


def test_the_media_of_a_call_keep_their_least_rate_beside_tcp() -> None:
    # RFC 8867 §5.6: "In the worst case, the media stream will fall to the minimum media bit rate".
    found = headend.evaluate("media", "video_call", sections=["5.6"], seeds=3).findings
    for verdict in found.verdicts:
        if verdict.criterion.id == "rate":
            assert {own.condition.variant for own in verdict.findings} == {"300 ms", "1 s"}
            for own in verdict.findings:
                assert own.own
                assert own.own.mean > 150e3 == own.limit
