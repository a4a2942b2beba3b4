"""Frames reckoned and players beside a download: claims of studies on made-up points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from headend.study import ClaimVerdict
from headend.study.airtime import (
    CELL,
    DOCUMENT,
    HALF_LIFE_MAPS,
    describe_half_life,
    describe_quake3,
)
from headend.study.claims import check_claims
from judged import fill_points, import_shared, judge, load, load_analysis

hotspot = import_shared("service-quality", "hotspot")

TABLES = "service-quality/tables"
QUAKE3 = "service-quality/quake3"
HALF_LIFE = "service-quality/half-life"

#: Mb/s of a download alone, above what players can take by the reckoning.
ALONE = 5.2


def test_an_exchange_is_the_sum_of_its_frames() -> None:
    # DIFS and SIFS, frame of 1536 B and answer at 2 Mbit/s in whole microseconds, mean backoff.
    assert CELL.exchange_us(1500) == 60 + (192 + 1118) + (192 + 56) + 310
    assert DOCUMENT.announcement_us == 656
    assert DOCUMENT.exchange_us(0) == pytest.approx(80 + 656 + 2 * 192 + (42 + 14) / 1.375)
    short = replace(CELL, plcp_us=96.0)
    assert CELL.exchange_us(40) - short.exchange_us(40) == 2 * 96


def test_games_take_what_the_digest_of_the_document_has_computed() -> None:
    assert hotspot.find_busy(describe_quake3(8), 8) == pytest.approx(1.103, abs=0.002)
    assert hotspot.find_busy(describe_half_life("childm"), 20) == pytest.approx(1.026, abs=0.001)
    assert (
        hotspot.reckon_lost(2.0, capped=True)
        == hotspot.reckon_lost(1.0)
        == pytest.approx(3.394e6, abs=1e3)
    )
    nominal = [20 * describe_half_life(name).nominal_bps / 1e3 for name in HALF_LIFE_MAPS]
    assert [round(rate) for rate in nominal] == [809, 684, 621, 570]


def test_the_tables_have_one_misprint_and_what_it_is_carried_into() -> None:
    verdicts = judge(TABLES, pl.DataFrame())
    differing = {
        claim for claim, (verdict, _) in verdicts.items() if verdict is ClaimVerdict.DIFFERS
    }
    assert differing == {"WLN-T3", "WLN-B.maximum"}
    analysis = load_analysis(TABLES)
    faults = {row.name: row.fault for row in analysis.compare_cells(3, analysis.read_printed()[3])}
    assert faults["client exchange"] == "misprint"
    assert faults["total per N"] == "carries a misprint"


def test_the_corrections_of_the_documents_assumptions_come_to_the_cell() -> None:
    steps = load_analysis(TABLES).list_corrections()
    assert steps[0][1] == DOCUMENT
    assert steps[-2][1] == steps[-1][1] == replace(CELL, rts_mbps=DOCUMENT.rts_mbps)
    assert [step[2].acknowledgements for step in steps[-2:]] == [1.0, 0.5]


def test_a_wrong_digit_in_a_right_table_is_found() -> None:
    analysis = load_analysis(TABLES)
    printed = analysis.read_printed()[1]
    assert {row.fault for row in analysis.compare_cells(1, printed)} == {
        "agrees",
        "carries rounding",
    }
    swapped = {**printed, "data frame": "1331.4"}
    faults = {row.name: row.fault for row in analysis.compare_cells(1, swapped)}
    assert faults["data frame"] == faults["data exchange"] == "misprint"


def measure_quake3(row: dict[str, Any], *, factor: float = 1.02) -> dict[str, Any]:
    players = row["players"]
    share = hotspot.find_busy(describe_quake3(players), players) if players else 0.0
    lost = factor * min(hotspot.reckon_lost(share), 4.3e6)
    return {
        "goodput": ALONE * 1e6 - lost,
        "nominal": players * describe_quake3(players).nominal_bps,
        "late": 0.0,
    }


def test_quake3_players_who_take_a_little_more_than_reckoned_agree_and_cheaper_differ() -> None:
    agreeing = judge(QUAKE3, fill_points(QUAKE3, measure_quake3))
    assert {verdict for verdict, _ in agreeing.values()} == {ClaimVerdict.REPRODUCED}
    cheap = judge(QUAKE3, fill_points(QUAKE3, lambda row: measure_quake3(row, factor=0.5)))
    assert cheap["WLN-F11.simulated"][0] is cheap["WLN-F11.bound"][0] is ClaimVerdict.DIFFERS


def measure_half_life(row: dict[str, Any], *, factor: float = 1.02) -> dict[str, Any]:
    game_map = row["game"] if row["game"] in HALF_LIFE_MAPS else "childm"
    share = hotspot.find_busy(describe_half_life(game_map), row["players"])
    return {
        "goodput": ALONE * 1e6 - factor * hotspot.reckon_lost(share),
        "nominal": row["players"] * describe_half_life(game_map).nominal_bps,
        "late": 0.0,
    }


def test_half_life_players_who_take_a_little_more_than_reckoned_agree_and_cheaper_differ() -> None:
    agreeing = judge(HALF_LIFE, fill_points(HALF_LIFE, measure_half_life))
    differing = {
        claim for claim, (verdict, _) in agreeing.items() if verdict is ClaimVerdict.DIFFERS
    }
    # The text contradicts its table.
    assert differing == {"WLN-F12.text"}
    cheap = judge(HALF_LIFE, fill_points(HALF_LIFE, lambda row: measure_half_life(row, factor=0.6)))
    assert cheap["WLN-F12.simulated"][0] is cheap["WLN-F12.bound"][0] is ClaimVerdict.DIFFERS


def test_maps_without_a_difference_have_no_order() -> None:
    def measure(row: dict[str, Any]) -> dict[str, Any]:
        shorter = list(HALF_LIFE_MAPS).index(row["game"]) if row["game"] in HALF_LIFE_MAPS else 0
        return {"goodput": 2e6 - 1e5 * shorter * bool(row["players"]), "nominal": 8e5, "late": 0.0}

    assert (
        judge(HALF_LIFE, fill_points(HALF_LIFE, measure))["WLN-F12.maps"][0] is ClaimVerdict.DIFFERS
    )


def test_a_loss_is_the_difference_to_the_same_seeds_run_without_players() -> None:
    points = pl.DataFrame(
        {
            "players": [0, 0, 2, 2],
            "seed": [1, 2, 1, 2],
            "goodput": [5e6, 6e6, 4e6, 4e6],
            "nominal": [0.0, 0.0, 1e5, 1e5],
        }
    )
    (row,) = hotspot.tabulate_lost(points).to_dicts()
    assert (row["low"], row["lost"], row["high"]) == (1e6, 1.5e6, 2e6)
    assert hotspot.list_lost(points, 2) == [1.0, 2.0]
    assert hotspot.describe_bound(hotspot.compare_bound(points, lambda _: 0.5)).startswith(
        "a bound for 0 of 1"
    )


@pytest.mark.parametrize("name", [TABLES, QUAKE3, HALF_LIFE])
def test_every_figure_is_drawn_also_of_the_quick_form(name: str) -> None:
    study = load(name)
    analysis = study.load_analysis()
    measure = {QUAKE3: measure_quake3, HALF_LIFE: measure_half_life}.get(name)
    rows = [{**place, **measure(place)} for place in study.make_quick().list_places() if measure]
    points = pl.DataFrame(rows)
    assert check_claims(study.claims, analysis, points)
    for figure in study.figures:
        assert all(panel.specify() for panel in getattr(analysis, figure.draw)(points))
