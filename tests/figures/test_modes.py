"""The figure of the modes that rate control chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pytest

import headend
from headend import Result
from headend.comparison.pooling import pool_runs
from headend.figures import Figure, draw_figures
from headend.figures.modes import LEAST_SHARE, MOST_SENDERS, NAME
from headend.results.record import Record

CALL = {"application": "voice", "host": "phone", "rtt": "30 ms"}


def run_cell(kind: str, phone: Mapping[str, Any], **options: Any) -> Result:
    """Run a call over a cell in which a laptop keeps its mode."""
    scenario = {
        "duration": "4 s",
        "warmup": "1 s",
        "link": {"wifi": {kind: {"station": {"phone": dict(phone), "laptop": {}}}}},
        "host": {"phone": {"via": ["wifi.phone"]}, "laptop": {"via": ["wifi.laptop"]}},
        "flow": {"call": CALL},
    }
    return headend.run(scenario, **options)


def draw(*results: Record) -> Figure | None:
    """Draw the figure of some runs."""
    drawn = draw_figures(results, only=[NAME])
    return drawn[0] if drawn else None


def list_bars(figure: Figure, number: int = 0) -> list[dict[str, Any]]:
    """List the parts of the bars of a chart."""
    (rows,) = figure.panels[number].specify()["datasets"].values()
    return list(rows)


def list_modes(figure: Figure, number: int = 0) -> list[str]:
    """List the modes of a chart from its top."""
    return list(figure.panels[number].specify()["encoding"]["y"]["scale"]["domain"])


def build(modes: Sequence[tuple[str, int, int, float]]) -> Result:
    """Give a run with a table of senders (down), MCS, MPDUs and shares not acknowledged."""
    table = pl.DataFrame(
        [
            {
                "link": "wifi", "station": station, "direction": "down", "mcs": mcs, "streams": 2,
                "rate_bps": (mcs + 1) * 10_000_000, "mpdus": mpdus, "unacknowledged_ratio": ratio,
            }
            for station, mcs, mpdus, ratio in modes
        ]
    )  # fmt: skip
    run = run_cell("dot11ax", {"snr": "25 dB"})
    return Result({**run.tables, "rate_control": table}, run.manifest, run.label)


def test_a_run_shows_for_each_sender_which_modes_rate_control_chose() -> None:
    run = run_cell("dot11ax", {"snr": "25 dB"})
    figure = draw(run)
    assert figure is not None
    assert [panel.title for panel in figure.panels] == ["phone ↑", "phone ↓"]
    for number, direction in enumerate(("up", "down")):
        table = run.rate_control.filter(direction=direction)
        bars = list_bars(figure, number)
        assert sum(bar["percent"] for bar in bars) == pytest.approx(100, abs=0.1)
        most = table.sort("mpdus")["rate_bps"][-1]
        longest = max(bars, key=lambda bar: bar["percent"])
        assert longest["mode"].endswith(f", {most / 1e6:.4g} Mbit/s")
    assert NAME in run.figures


def test_stations_without_rate_control_have_no_figure_of_modes() -> None:
    assert draw(run_cell("dot11ax", {"mcs": 5})) is None


def test_the_fastest_mode_is_on_top_and_those_that_are_seldom_are_one() -> None:
    modes = [("pc", 0, 1, 0.0), ("pc", 3, 600, 0.0), ("pc", 9, 390, 0.5), ("pc", 1, 1, 1.0)]
    figure = draw(build(modes))
    assert figure is not None
    assert list_modes(figure) == ["MCS 9 ×2, 100 Mbit/s", "MCS 3 ×2, 40 Mbit/s", "2 others"]
    parts = {(bar["mode"], bar["what"]): bar["percent"] for bar in list_bars(figure)}
    total = 992
    assert parts["MCS 9 ×2, 100 Mbit/s", "acknowledged"] == pytest.approx(19500 / total, rel=1e-3)
    lost = parts["MCS 9 ×2, 100 Mbit/s", "not acknowledged"]
    assert lost == pytest.approx(19500 / total, rel=1e-3)
    assert parts["2 others", "acknowledged"] == pytest.approx(100 / total, rel=1e-3)
    assert f"less than {100 * LEAST_SHARE:.0f} %" in figure.explanation


def test_rates_of_802_11g_are_named_without_an_mcs() -> None:
    figure = draw(run_cell("dot11g", {"snr": "40 dB"}))
    assert figure is not None
    assert "54 Mbit/s" in list_modes(figure)
    assert not any("MCS" in mode for mode in list_modes(figure))


def test_senders_for_which_there_is_no_room_are_named() -> None:
    figure = draw(build([(f"pc{n}", 3, 100 + n, 0.0) for n in range(MOST_SENDERS + 1)]))
    assert figure is not None
    assert len(figure.panels) == MOST_SENDERS
    assert "Not drawn, as they sent less: pc0 ↓." in figure.explanation


def test_runs_that_are_compared_have_charts_of_their_own() -> None:
    near, far = (run_cell("dot11ax", {"snr": snr}) for snr in ("30 dB", "8 dB"))
    near.label, far.label = "near", "far"
    figure = draw(near, far)
    assert figure is not None
    titles = [panel.title for panel in figure.panels]
    assert titles == ["near, phone ↑", "near, phone ↓", "far, phone ↑", "far, phone ↓"]


def test_modes_of_several_seeds_are_summed_and_not_averaged_together() -> None:
    runs = [run_cell("dot11ax", {"snr": "20 dB"}, seed=seed) for seed in (1, 2)]
    pooled = pool_runs(runs)
    assert pooled.rate_control["mpdus"].sum() == sum(
        run.rate_control["mpdus"].sum() for run in runs
    )
    modes = {mode for run in runs for mode in run.rate_control.select("mcs", "streams").rows()}
    assert set(pooled.rate_control.select("mcs", "streams").rows()) == modes
    figure = draw(pooled)
    assert figure is not None
    assert [panel.title for panel in figure.panels] == ["phone ↑", "phone ↓"]
    assert sum(bar["percent"] for bar in list_bars(figure)) == pytest.approx(100, abs=0.1)
