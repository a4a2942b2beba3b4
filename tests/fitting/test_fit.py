"""Tests of a fit from end to end: a line that headend simulated, measured, and found again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import headend
from headend.errors import InputError
from headend.fitting.estimates import (
    DirectionEstimates,
    Estimate,
    Flag,
    LineEstimates,
    QueueKind,
)
from headend.fitting.experiment import run_request
from headend.fitting.fitted_line import Medium, fit_line_to, is_even, write_link
from headend.fitting.line_scenario import FILE
from headend.fitting.observation import find_idle_quantiles, observe
from headend.fitting.page import render_fit
from headend.fitting.request import Request, choose_name, make_request
from headend.fitting.result import LineFit, load_fit
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Phase,
    Probe,
    RateSeries,
    Trip,
)
from headend.measurement.run import record_run
from headend.recommendation.own_line import read_own_line
from headend.scenario.fit_note import read_fit_note
from headend.scenario.source import read_scenario


def measure(queue: Any, *, rate: Any = "20 Mbit/s", **load: Any) -> Measurement:
    """Measure an upload over a plain line, with pings and marked probes."""
    flow = {"rtt": "30 ms", "start": "4 s", "direction": "up", "application": "bulk", "count": 4}
    probe = {"application": {"isochronous": {"interval": "50 ms"}}, "rtt": "30 ms"}
    result = headend.run(
        {
            "duration": "24 s",
            "link": {
                "line": {
                    "point_to_point": {
                        "up": {"rate": rate, "queue": queue},
                        "down": {"rate": "100 Mbit/s"},
                    }
                }
            },
            "flow": {"load": {**flow, **load}, "probe": probe, "marked": {**probe, "ecn": "ect1"}},
        }
    )
    return record_run(result)


def ask(measured: Measurement, **options: Any) -> Request:
    """Ask for the line, with few seeds."""
    return make_request(measured, seeds=2, **options)


@pytest.fixture(scope="module")
def buffered() -> Measurement:
    """A line with 150 ms of buffer."""
    return measure({"drop_tail": {"limit": "150 ms"}})


@pytest.fixture(scope="module")
def fitted(buffered: Measurement, tmp_path_factory: pytest.TempPathFactory) -> LineFit:
    """What is found of it, in a folder."""
    folder = tmp_path_factory.mktemp("fit") / "line"
    return run_request(ask(buffered), out=folder)


def test_a_line_with_a_plain_buffer_is_found_again(fitted: LineFit) -> None:
    up = fitted.estimates.directions[Direction.UP]
    assert up.rate is not None
    assert up.rate.value == pytest.approx(20e6, rel=0.03)
    assert fitted.estimates.base_delay is not None
    assert fitted.estimates.base_delay.value == pytest.approx(30.1, abs=1.0)
    guess = fitted.queues[Direction.UP]
    assert guess.kind is QueueKind.DROP_TAIL
    assert guess.is_sure
    assert any("PIE" in reason for reason in guess.reasons)
    assert fitted.grade in ("A", "B")


def test_the_scenario_can_be_run_and_says_what_it_was_fitted_to(fitted: LineFit) -> None:
    note = read_fit_note(fitted.scenario)
    assert note is not None
    assert note.grade == fitted.grade
    assert note.queues["up"]["drop-tail"] > 0.9
    low, value, high = note.values["up.rate"]
    assert low <= value <= high
    assert fitted.scenario.startswith("#:schema scenario.schema.json\n#:fit ")
    assert fitted.folder is not None
    path = fitted.folder / FILE
    assert path.read_text(encoding="utf-8") == fitted.scenario
    loaded = read_scenario(str(path)).load()
    limit = loaded.resolved["link"]["line"]["point_to_point"]["up"]["queue"]["drop_tail"]["limit"]
    assert float(limit.removesuffix(" ms")) == pytest.approx(150, rel=0.1)
    assert str(fitted.folder) not in fitted.scenario
    assert max(map(len, fitted.scenario.splitlines()[2:10])) <= 100


def test_a_result_is_read_back_as_it_was(fitted: LineFit) -> None:
    assert fitted.folder is not None
    again = headend.load(fitted.folder)
    assert isinstance(again, LineFit)
    assert again.found == load_fit(fitted.folder).found
    assert again.found.to_dict() == fitted.found.to_dict()
    assert again.answer == fitted.answer
    assert render_fit(again) == render_fit(fitted)
    assert headend.verify(fitted.folder).damage == []


def test_a_damaged_manifest_is_refused_in_one_line(fitted: LineFit, tmp_path: Path) -> None:
    assert fitted.folder is not None
    for name in ("results.parquet", "summary.parquet"):
        (tmp_path / name).write_bytes((fitted.folder / name).read_bytes())
    manifest = json.loads((fitted.folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["found"]["queues"]["up"]["likelihoods"] = {"a queue of nobody": 1}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(InputError, match="damaged"):
        load_fit(tmp_path)


def test_points_that_are_kept_are_not_run_again(fitted: LineFit, buffered: Measurement) -> None:
    assert fitted.folder is not None
    before = sorted(path.name for path in (fitted.folder / "points").iterdir())
    again = run_request(ask(buffered), out=fitted.folder)
    assert sorted(path.name for path in (fitted.folder / "points").iterdir()) == before
    assert again.found.to_dict() == fitted.found.to_dict()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("queue", "kind"),
    [
        ("pie", QueueKind.PIE),
        ("docsis_pie", QueueKind.PIE),
        ("codel", QueueKind.CODEL),
        ("fq_codel", QueueKind.FLOW_QUEUEING),
        ("dualpi2", QueueKind.LOW_LATENCY),
        ({"drop_tail": {"limit": "40 ms"}}, QueueKind.DROP_TAIL),
    ],
)
@pytest.mark.parametrize("congestion", ["cubic", "reno"])
def test_queues_are_told_apart(queue: Any, kind: QueueKind, congestion: str) -> None:
    measured = measure(queue, tcp={"congestion": congestion})
    unsaid = replace(measured, senders=replace(measured.senders, congestion=""))
    for own in (measured, unsaid):
        guess = run_request(ask(own)).queues[Direction.UP]
        assert guess.kind is kind


def test_a_queue_without_a_marked_probe_is_not_called_low_latency() -> None:
    measured = measure("dualpi2")
    plain = tuple(own for own in measured.delays if not own.marking)
    fitted = run_request(ask(replace(measured, delays=plain)))
    guess = fitted.queues[Direction.UP]
    assert guess.kind is QueueKind.PIE
    up = dict_of(fitted.scenario)["link"]["line"]["point_to_point"]["up"]
    assert up["queue"] == "pie"
    assert QueueKind.LOW_LATENCY not in {
        kind for kind, share in guess.likelihoods.items() if share > 0
    }


def test_what_a_web_test_shows_becomes_a_line() -> None:
    found = headend.fit_line(down=300, up=20, idle=12, loaded_up=180, seeds=2)
    guess = found.queues[Direction.UP]
    assert guess.kind is QueueKind.DROP_TAIL
    assert not guess.is_sure
    assert found.queues[Direction.DOWN].kind is QueueKind.UNKNOWN
    assert found.grade == ""
    line = read_scenario(dict_of(found.scenario)).load().resolved["link"]["line"]["point_to_point"]
    assert line["down"]["rate"].endswith("Mbit/s")
    assert "summary-only" in (read_fit_note(found.scenario) or note_of_nothing()).flags


def test_a_plain_buffer_is_as_deep_as_makes_the_delay_that_was_told() -> None:
    found = headend.fit_line(down=50, up=10, idle=12, loaded_up=180, seeds=2)
    up = dict_of(found.scenario)["link"]["line"]["point_to_point"]["up"]
    limit = up["queue"]["drop_tail"]["limit"]
    table = found.table.filter(metric="delay.p50", up="drop_tail", congestion="cubic")
    simulated = table["value"].mean()
    assert isinstance(simulated, float)
    # The simulated line waits as long as was told, which is less than its whole buffer.
    assert simulated / 1e6 == pytest.approx(168, rel=0.05)
    assert float(limit.removesuffix(" ms")) > 170
    assert any("with a plain buffer" in own for own in found.queues[Direction.UP].reasons)


def test_few_numbers_are_compared_with_few_simulations() -> None:
    found = headend.fit_line(down=50, up=10, idle=12, loaded_up=180)
    assert {row[1] for row in found.rows} == {"drop_tail", "pie", "codel", "fq_codel"}
    assert found.table.filter(metric="delay.p50").height == 24


def test_a_delay_that_several_queues_make_stays_unknown() -> None:
    found = headend.fit_line(down=50, up=10, idle=12, loaded_up=27, seeds=2)
    guess = found.queues[Direction.UP]
    assert guess.kind is QueueKind.UNKNOWN
    assert guess.likelihoods[QueueKind.UNKNOWN] >= 0.6


def dict_of(text: str) -> dict[str, Any]:
    """Give a scenario's tables."""
    import tomllib

    return tomllib.loads(text)


def note_of_nothing() -> Any:
    """Fail: there is no note."""
    pytest.fail("the scenario has no #:fit line")


def test_a_measurement_without_a_rate_is_refused() -> None:
    with pytest.raises(InputError, match="no rate of the loaded line"):
        headend.fit_line(idle=12)


def test_nothing_given_is_refused() -> None:
    with pytest.raises(InputError, match="expected files of measuring tools"):
        headend.fit_line()


def test_a_kind_of_line_that_is_unknown_is_refused(buffered: Measurement) -> None:
    with pytest.raises(InputError, match='found "coax"'):
        make_request(buffered, line="coax")


def test_a_line_too_fast_for_a_cell_is_not_written_as_one(buffered: Measurement) -> None:
    with pytest.raises(InputError, match=r"--line wifi: a cell of 802\.11b carries"):
        make_request(buffered, line="wifi")


def test_a_cable_line_counts_frames(buffered: Measurement) -> None:
    fitted = run_request(ask(buffered, line="cable"))
    assert fitted.found.medium == Medium.CABLE
    upstream = dict_of(fitted.scenario)["link"]["line"]["docsis"]["upstream"]
    estimate = fitted.estimates.directions[Direction.UP].rate
    assert estimate is not None
    rate = float(upstream["rate"].removesuffix(" Mbit/s"))
    assert rate == pytest.approx(estimate.value * 1518 / 1500 / 1e6, rel=1e-3)


def test_the_computer_s_connection_is_told() -> None:
    measured = replace(measure("pie"), medium="wifi")
    request = make_request(measured)
    assert request.line.medium is Medium.PLAIN
    assert "Wi-Fi" in request.line.why


@pytest.fixture(scope="module")
def varying() -> Measurement:
    """An upload over a line whose rate falls and rises again."""
    steps = [["0 s", "12 Mbit/s"], ["13 s", "4 Mbit/s"], ["19 s", "8 Mbit/s"]]
    return measure({"drop_tail": {"limit": "150 KiB"}}, rate={"steps": steps})


def test_a_rate_that_varies_becomes_steps_and_its_buffer_bytes(
    varying: Measurement, tmp_path: Path
) -> None:
    fitted = run_request(ask(varying), out=tmp_path / "fit")
    up = dict_of(fitted.scenario)["link"]["line"]["point_to_point"]["up"]
    rates = [float(rate.removesuffix(" Mbit/s")) for _, rate in up["rate"]["steps"]]
    # The load begins at 4 s, and a step lasts 3 s.
    assert rates[:2] == pytest.approx([12.0, 12.0], rel=0.03)
    assert rates[3] == pytest.approx(4.0, rel=0.05)
    assert rates[-1] == pytest.approx(8.0, rel=0.03)
    limit = float(up["queue"]["drop_tail"]["limit"].removesuffix(" B"))
    assert limit == pytest.approx(150 * 1024, rel=0.1)
    assert fitted.queues[Direction.UP].kind is QueueKind.DROP_TAIL
    assert fitted.grade in ("A", "B")
    path = tmp_path / "fit" / FILE
    assert headend.run(path, report=False)
    tier = read_own_line(path).tiers[0]
    estimate = fitted.estimates.directions[Direction.UP].rate
    assert estimate is not None
    assert tier.upstream == pytest.approx(estimate.value, rel=1e-3)


def test_a_cable_line_keeps_a_constant_rate_and_the_flag(varying: Measurement) -> None:
    request = make_request(varying, line="cable")
    assert Flag.RATE_VARIES in request.estimates.flags
    assert not any(own.steps for own in request.line.directions.values())


def test_a_rate_that_stays_has_no_steps(buffered: Measurement) -> None:
    assert not any(own.steps for own in ask(buffered).line.directions.values())


def test_what_the_idle_line_loses_is_written_where_its_direction_is_known() -> None:
    times = [own / 50 for own in range(1500)]
    lost = [own for place, own in enumerate(times) if place % 50 == 7 and own < 15]
    up = DelaySeries(Trip.UP, Probe.UDP, *split(times, lost), lost=lost, lost_count=len(lost))
    measured = Measurement(
        ("tool",),
        phases=(Phase(Load.IDLE, 0.0, 15.0), Phase(Load.UP, 15.0, 30.0)),
        rates=(RateSeries(Direction.UP, times, [at + 0.02 for at in times], [5e6] * 1500),),
        delays=(up, replace(up, trip=Trip.ROUND)),
    )
    request = make_request(measured, line="plain", seeds=2)
    queues = {way: own.list_candidates()[0] for way, own in request.line.directions.items()}
    tables = write_link(request.line, queues)["link"]["line"]["point_to_point"]
    assert float(tables["up"]["loss"].removesuffix(" %")) == pytest.approx(2, rel=0.05)
    # The round trip loses it too, and nobody knows that it is not downstream.
    assert "loss" not in tables["down"]


def test_one_lost_probe_is_no_loss_of_the_line() -> None:
    once, often = (
        DirectionEstimates(
            rate=Estimate(1e7, 9e6, 1.1e7, "", 9),
            random_loss=Estimate(0.01, low, 0.05, "", 100),
        )
        for low in (0.0005, 0.006)
    )
    found = [
        fit_line_to(LineEstimates(None, {Direction.UP: own}), Measurement(("tool",)))
        for own in (once, often)
    ]
    assert [own.directions[Direction.UP].loss for own in found] == [0.0, 0.01]


def split(times: list[float], lost: list[float]) -> tuple[list[float], list[float]]:
    """Give the times of answered probes, with their delays."""
    kept = [own for own in times if own not in lost]
    return kept, [20.0 + (own >= 15) * 80 for own in kept]


def test_results_are_named_after_the_first_file() -> None:
    assert choose_name([Path("a/rrul.flent.gz"), Path("ping.log")]) == "rrul"
    assert choose_name([]) == "by-hand"


def test_words_of_a_file_stay_in_comments() -> None:
    measured = measure("pie")
    hostile = replace(measured, tools=("flent\n[link]\nevil = 1",), notes=("a\nseed = 7",))
    fitted = run_request(ask(hostile))
    content = dict_of(fitted.scenario)
    assert "seed" not in content
    assert set(content["link"]) == {"line"}


def test_loads_are_observed_alone_before_both_at_once(buffered: Measurement) -> None:
    request = ask(buffered)
    assert [own.load for own in request.observations] == [Load.UP]


def test_a_short_load_is_never_sure() -> None:
    measured = measure({"drop_tail": {"limit": "150 ms"}}, stop="11 s")
    guess = run_request(ask(measured)).queues[Direction.UP]
    assert guess.kind is QueueKind.DROP_TAIL
    assert not guess.is_sure


def test_a_line_that_nothing_fills_is_not_called_flow_queueing() -> None:
    limited = measure("drop_tail", rate="200 Mbit/s", tcp={"receive_window": "32 KiB"})
    guess = run_request(ask(limited)).queues[Direction.UP]
    assert guess.kind is QueueKind.UNKNOWN


def test_round_trips_of_connections_are_of_their_own_direction() -> None:
    times = [own / 10 for own in range(300)]
    rates = tuple(
        RateSeries(way, times, [at + 0.1 for at in times], [1e6] * 300, flow=f"{way} flow")
        for way in Direction
    )
    delays = (
        DelaySeries(Trip.ROUND, Probe.UDP, times, [20.0] * 300),
        DelaySeries(Trip.ROUND, Probe.IN_FLOW, times, [20.0] * 50 + [90.0] * 250, flow="up flow"),
    )
    measured = Measurement(
        ("tool",),
        phases=(Phase(Load.IDLE, 0.0, 5.0), Phase(Load.BOTH, 5.0, 30.0)),
        rates=rates,
        delays=delays,
    )
    (seen,) = observe(measured, LineEstimates(None, {}))
    assert seen.find_features(Direction.UP)["in_flow.p50"] == 70.0
    assert "in_flow.p50" not in seen.find_features(Direction.DOWN)


def test_what_the_idle_line_adds_is_measured_outside_of_loads() -> None:
    times = [own / 10 for own in range(300)]
    series = DelaySeries(
        Trip.ROUND,
        Probe.UDP,
        times,
        [20.0 + place % 5 if place < 50 else 90.0 for place in range(300)],
    )
    measured = Measurement(
        ("tool",), phases=(Phase(Load.IDLE, 0.0, 5.0), Phase(Load.UP, 5.0, 30.0)), delays=(series,)
    )
    idle = find_idle_quantiles(series, measured, 20.0)
    assert (idle[0], idle[-1]) == (0.0, 4.0)
    assert is_even(idle)
