"""The round trip of measured lines: its design, what it writes, and claims on made-up points."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from headend.fitting.estimates import QueueKind
from headend.measurement.reading import read_measurement
from headend.measurement.record import Direction, Load
from headend.study import ClaimVerdict
from judged import judge, load_analysis

STUDY = "measured-lines/round-trip"


def import_module(name: str) -> Any:
    """Import a module beside the analysis."""
    package = load_analysis(STUDY).__name__.rpartition(".")[0]
    return sys.modules[f"{package}.{name}"]


def make_points(change: Callable[[dict[str, Any]], dict[str, Any]]) -> pl.DataFrame:
    """Give the round trips of all lines as a test fills them: found as they are, at first."""
    lines, trips, formats = map(import_module, ("lines", "trips", "formats"))
    rows = []
    for line in lines.draw_lines():
        for form in formats.FORMATS:
            for number, way in enumerate(Direction):
                # One interval in ten misses the truth.
                misses = (line.number + number) % 10 == 0
                row: dict[str, Any] = {
                    "line": line.number,
                    "medium": line.medium,
                    "congestion": line.congestion,
                    "connections": line.connections,
                    "format": form.name,
                    "direction": way.value,
                    "queue": line[way].queue,
                    "kind_truth": line[way].kind.value,
                    "kind": line[way].kind.value,
                    "likelihood": 0.95,
                    "flags": [],
                }
                truths = {"base": line.base_delay, "rate": line.rate(way)}
                for quantity, truth in (truths | {"buffer": line.buffer(way)}).items():
                    low = truth and truth * (1.01 if misses else 0.99)
                    row |= {
                        f"{quantity}_truth": truth,
                        quantity: truth,
                        f"{quantity}_low": low,
                        f"{quantity}_high": truth and truth * 1.02,
                        f"{quantity}_bound": None,
                    }
                rows.append(change(row))
    return pl.DataFrame(rows, schema=trips.SCHEMA)


def find_verdicts(change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, ClaimVerdict]:
    """Judge made-up points; give the verdict on each claim of flent's files."""
    return {
        name.removeprefix("TRIP-").removesuffix(".flent"): verdict
        for name, (verdict, _) in judge(STUDY, make_points(change)).items()
        if name.endswith(".flent")
    }


def test_the_design_has_each_queue_under_each_control_and_reaches_all_ranges() -> None:
    lines = import_module("lines")
    drawn = lines.draw_lines()
    assert len(drawn) >= 60
    for way in Direction:
        cells = [(line[way].queue, line.congestion) for line in drawn]
        assert {cells.count(cell) for cell in cells} == {lines.ROUNDS}
        rates = [line[way].rate for line in drawn]
        assert lines.RATES[0] <= min(rates) < 2.5e6
        assert max(rates) <= lines.RATES[1]
    assert max(line.down.rate for line in drawn) > 450e6
    assert min(line.base_delay for line in drawn) < 6
    assert max(line.base_delay for line in drawn) > 140
    assert drawn == lines.draw_lines()


def test_a_low_latency_line_is_like_pie_to_probes_that_it_does_not_classify() -> None:
    lines, trips, formats = map(import_module, ("lines", "trips", "formats"))
    drawn = lines.draw_lines()
    found = {
        (form.name, line.medium): trips.find_kind(line, form, Direction.UP)
        for form in formats.FORMATS
        for line in drawn
        if line.up.queue == "low_latency"
    }
    told = {pair for pair, kind in found.items() if kind is QueueKind.LOW_LATENCY}
    irtt = {("irtt + iperf3", medium) for medium in ("plain", "cable")}
    assert told == {("flent", "cable"), *irtt}
    assert {kind for pair, kind in found.items() if pair not in told} == {QueueKind.PIE}


def test_queues_are_identified_on_sixty_lines_with_cable_lines_among_them() -> None:
    lines, trips = map(import_module, ("lines", "trips"))
    drawn = lines.draw_lines()
    chosen = trips.choose_identified(drawn)
    assert len(chosen["flent"]) == 60
    for name in ("flent", "irtt + iperf3"):
        own = [line for line in drawn if line.number in chosen[name]]
        cells = {(line.up.queue, line.congestion) for line in own}
        assert len(cells) == len(lines.QUEUES) * len(lines.CONTROLS)
        assert {line.medium for line in own} == {"plain", "cable"}


def test_lines_that_are_found_as_they_are_reproduce_each_claim() -> None:
    verdicts = find_verdicts(dict)
    assert verdicts.pop("bound") is ClaimVerdict.UNTESTABLE
    assert set(verdicts.values()) == {ClaimVerdict.REPRODUCED}


def test_each_claim_differs_where_what_it_is_about_is_off() -> None:
    def be_off(row: dict[str, Any]) -> dict[str, Any]:
        row |= {"rate": row["rate"] * 1.05, "base": row["base"] + 2}
        row |= {"kind": QueueKind.PIE.value, "likelihood": 0.99}
        if row["buffer"]:
            row["buffer"] *= 1.2
        return row | {f"{name}_high": row[f"{name}_low"] for name in ("rate", "base", "buffer")}

    verdicts = find_verdicts(be_off)
    assert verdicts.pop("bound") is ClaimVerdict.UNTESTABLE
    assert set(verdicts.values()) == {ClaimVerdict.DIFFERS}


def test_bounds_are_no_values_and_may_not_lie_above_the_buffer() -> None:
    def bound(factor: float) -> Callable[[dict[str, Any]], dict[str, Any]]:
        def change(row: dict[str, Any]) -> dict[str, Any]:
            value = row["buffer_truth"] and factor * row["buffer_truth"]
            return row | {"buffer": value, "buffer_bound": "at least"}

        return change

    below, above = find_verdicts(bound(0.3)), find_verdicts(bound(1.5))
    assert below["buffer"] is ClaimVerdict.UNTESTABLE
    assert (below["bound"], above["bound"]) == (ClaimVerdict.REPRODUCED, ClaimVerdict.DIFFERS)


def test_a_wrong_kind_counts_as_sure_only_where_it_is_said_to_be() -> None:
    def guess(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"kind": QueueKind.UNKNOWN.value, "likelihood": 0.99}

    verdicts = find_verdicts(guess)
    assert verdicts["kind"] is ClaimVerdict.DIFFERS
    assert verdicts["sure"] is ClaimVerdict.REPRODUCED


def test_figures_show_each_format() -> None:
    analysis, points = load_analysis(STUDY), make_points(dict)
    assert len(analysis.draw_errors(points)) == 2
    names = [panel.title for panel in analysis.draw_kinds(points)]
    assert names == [form.name for form in import_module("formats").FORMATS]


@pytest.mark.parametrize(
    "name",
    [
        "flent",
        "crusader",
        "irtt + iperf3",
        "ping + iperf3",
        "CSV",
        "networkQuality",
        "Ookla",
        "ndt7",
    ],
)
def test_what_is_written_is_read_by_its_reader_and_has_both_loads(
    name: str, tmp_path: Path
) -> None:
    lines, formats = map(import_module, ("lines", "formats"))
    # Of the trials' draw: nobody looks at results of the study's own lines beforehand.
    line = min(lines.draw_lines(1), key=lambda one: one.up.rate + one.down.rate)
    form = next(one for one in formats.FORMATS if one.name == name)
    paths = []
    for file, content in form.write(lines.run_test(line, form.probing)).items():
        paths.append(tmp_path / file)
        paths[-1].write_bytes(content)
    measurement = read_measurement(paths)
    series = {one.direction for one in measurement.rates}
    assert set(Direction) <= series | {one.direction for one in measurement.summaries}
    if form.has_samples or name == "ndt7":
        loads = [phase.load for phase in measurement.phases if phase.load is not Load.IDLE]
        assert list(dict.fromkeys(loads)) == [Load.DOWN, Load.UP]
    if form.has_samples:
        # A table's rows tell a load apart from one of less than half its rate.
        down = max(
            (phase for phase in measurement.phases if phase.load is Load.DOWN),
            key=lambda phase: phase.end - phase.start,
        )
        # iperf3 tells its begin to the second, and flows need a round trip to begin.
        assert down.start == pytest.approx(lines.IDLE, abs=1.0)
        assert down.end - down.start == pytest.approx(lines.LOADED, abs=lines.EMPTYING)
