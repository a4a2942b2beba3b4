"""A hundred or a thousand of one kind: one row, one line with a band, and the worst by name."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from rich.console import Console

import headend
from headend.analysis.bottleneck import gather_queues
from headend.analysis.queues import name_queue_key
from headend.cli.main import app
from headend.cli.tables import draw, fit
from headend.comparison.comparison import Variant
from headend.comparison.contrast import answer_comparison
from headend.figures import draw_figures
from headend.figures.thinning import (
    merge_distributions,
    merge_members,
    thin_distributions,
)
from headend.pages.page import write_report
from headend.scenario.groups import MOST_LISTED, find_groups, label_member, order_naturally
from headend.wording.flow_tables import tabulate_flows, tabulate_members, tabulate_queues
from headend.wording.verdict import judge
from street import make_street
from vega_lite import check_panel

#: What a report over the largest plant may take, its libraries included.
MOST_BYTES = 10_000_000


def test_a_few_members_stay_what_they_are() -> None:
    assert find_groups([f"web.{number}" for number in range(1, 5)]) == {}
    groups = find_groups([f"web.{number}" for number in range(1, 6)])
    assert label_member("web.3", groups) == "web ×5"


def test_members_are_found_wherever_the_number_stands() -> None:
    modems = [f"cable.home.{number}.{way}" for number in range(1, 13) for way in ("up", "down")]
    groups = find_groups(["cable.up", *reversed(modems)])
    assert groups["cable.home.7.up"].label == "cable.home.*.up ×12"
    assert groups["cable.home.7.up"].members[1:3] == ("cable.home.2.up", "cable.home.3.up")
    assert "cable.up" not in groups


def test_a_group_whose_size_differs_between_runs_has_one_name() -> None:
    runs = ([f"web.{n}" for n in range(1, 11)], [f"web.{n}" for n in range(1, 101)])
    assert {group.label for group in find_groups(*runs).values()} == {"web"}


def test_names_are_ordered_by_their_numbers() -> None:
    assert sorted(["home.10", "home.2", "home.1"], key=order_naturally) == [
        "home.1",
        "home.2",
        "home.10",
    ]


def test_a_group_is_one_row_with_its_middle_and_its_worst() -> None:
    parties = {party.name: party for party in judge(make_street(100)).groups}
    assert list(parties) == ["call", "web", "ping", "upload"]
    web = parties["web"]
    assert (web.label, web.worst.flow, web.middle.flow) == ("web ×100", "web.100", "web.51")
    assert sum(web.grades.values()) == 100
    assert parties["upload"].worst.flow == "upload.10"
    assert not parties["ping"].is_group


def test_the_verdict_says_how_many_queues_stand() -> None:
    verdict = judge(make_street(100))
    assert verdict.queue is not None
    assert (verdict.queue.alike, verdict.queue.standing) == (100, 77)
    assert "the worst of 100 like it, 77 of them standing," in verdict.paragraph


def test_tiers_have_rows_of_their_own() -> None:
    street = make_street(100)
    fast = pl.col("queue").str.extract(r"(\d+)").cast(pl.Int64) % 10 == 0
    rates = street.queues.with_columns(rate_bps=pl.when(fast).then(20e6).otherwise("rate_bps"))
    street.tables["queues"] = rates
    labels = [party.label for party in gather_queues(street)]
    up = [label for label in labels if ".up" in label]
    assert up == ["cable.home.*.up ×90 at 5 Mbit/s", "cable.home.*.up ×10 at 20 Mbit/s"]
    # The worst of all is a fast one.
    assert "the worst of 10 like it" in judge(street).paragraph


def test_a_comparison_says_how_many_suffer_in_each_run() -> None:
    streets = [make_street(100, label="a"), make_street(100, label="b", strain=0.3)]
    answer = answer_comparison([Variant(street.label, [street]) for street in streets])
    assert answer.matrix is not None
    (web,) = (row for row in answer.matrix.rows if row.label == "web ×100")
    assert [cell.text for cell in web.cells if cell] == ["51 of 100 suffer", "0 of 100 suffer"]


def test_queues_of_many_modems_are_one_row() -> None:
    parties = {party.label: party for party in gather_queues(make_street(20))}
    assert list(parties) == ["cable.home.*.down ×20", "cable.home.*.up ×20"]
    assert parties["cable.home.*.up ×20"].worst["queue"] == "cable.home.20.up"


def test_a_group_has_two_rows_and_ten_on_request() -> None:
    street = make_street(1000)
    verdict = judge(street)
    assert len(tabulate_flows(verdict.groups).rows) == 7
    # Two channels, then two rows for each of two groups.
    assert len(tabulate_queues(street, "cable.home.7.up").rows) == 6
    assert len(tabulate_queues(street, None, MOST_LISTED).rows) == 24
    assert len(tabulate_members(verdict.groups[0]).rows) == 10


def test_detail_lists_the_worst_of_each_group(fake: Any, home_line: Path) -> None:
    pings = "".join(f'[flow."probe.{number}"]\napplication = "ping"\n' for number in range(1, 13))
    home_line.write_text(home_line.read_text() + pings)
    brief = CliRunner().invoke(app, ["run", "home-line.toml"]).stdout
    long = CliRunner().invoke(app, ["run", "home-line.toml", "--full", "--force"]).stdout
    assert "probe ×12" in brief
    assert "Those of probe ×12 who fare worst:" not in brief
    assert "Those of probe ×12 who fare worst:" in long


def test_the_report_of_a_thousand_homes_is_no_larger_than_a_picture_book(tmp_path: Path) -> None:
    path = write_report([make_street(1000)], tmp_path / "report.html")
    size = path.stat().st_size
    assert size < MOST_BYTES / 5, f"{size:,} bytes"
    page = path.read_text()
    assert "Those of web ×1000 who fare worst" in page
    assert "web.1000" in page


def test_a_comparison_of_a_thousand_homes_stays_below_the_limit(tmp_path: Path) -> None:
    runs = [make_street(1000, label=f"run {n}", strain=1 / n) for n in (1, 2)]
    size = write_report(runs, tmp_path / "report.html").stat().st_size
    assert size < MOST_BYTES / 5, f"{size:,} bytes"


@pytest.mark.parametrize("runs", [1, 2])
def test_figures_of_many_obey_the_schema_and_show_the_spread(runs: int) -> None:
    results = [make_street(60, label=f"run {n}", strain=1 / n) for n in range(1, runs + 1)]
    figures = {figure.name: figure for figure in draw_figures(results)}
    for figure in figures.values():
        for panel in figure.panels:
            check_panel(panel)
    for name in ("delay", "queue-delay", "rates", "cwnd" if runs == 1 else "delay"):
        assert "10th to the 90th percentile" in figures[name].explanation, name
    for name in ("mos", "pages"):
        assert "each point is a member" in figures[name].explanation, name


def test_each_member_has_a_point_in_order_from_the_best_to_the_worst() -> None:
    figures = {figure.name: figure for figure in draw_figures([make_street(30)])}
    (panel,) = figures["pages"].panels
    points = next(iter(panel.specify()["datasets"].values()))
    assert [point["member"] for point in points] == [f"web.{number}" for number in range(1, 31)]
    assert points[-1]["share"] == pytest.approx(29.5 / 30, abs=1e-4)


def test_who_has_no_value_leaves_a_gap_on_the_right() -> None:
    street = make_street(30)
    lost = pl.col("flow").is_in(["web.29", "web.30"])
    street.tables["measures"] = street.measures.with_columns(
        p50=pl.when(lost).then(float("nan")).otherwise(pl.col("p50"))
    )
    figures = {figure.name: figure for figure in draw_figures([street])}
    points = next(iter(figures["pages"].panels[0].specify()["datasets"].values()))
    assert points[-1]["member"] == "web.28"
    assert points[-1]["share"] == pytest.approx(27.5 / 30, abs=1e-4)


def test_members_that_were_not_measured_are_not_taken_for_all() -> None:
    street = make_street(30)
    measured = pl.col("flow").is_in(["web.1", "web.2", "web.3"])
    is_page = pl.col("measure") == "page_load_time"
    street.tables["measures"] = street.measures.filter(measured | ~is_page)
    figures = {figure.name: figure for figure in draw_figures([street])}
    specification = json.dumps(figures["pages"].panels[0].specify(), ensure_ascii=False)
    assert "web ×30, 3 of them measured" in specification


def test_the_band_of_a_group_holds_eight_tenths_of_its_members() -> None:
    members = pl.DataFrame(
        {"time_s": [1.0] * 11, "key": ["web"] * 11, "value": list(map(float, range(11)))}
    )
    alone = pl.DataFrame({"time_s": [1.0], "key": ["call"], "value": [7.0]})
    merged = merge_members(pl.concat([alone, members]), {"web"})
    assert merged.to_dicts() == [
        {"time_s": 1.0, "key": "call", "value": 7.0, "low": None, "high": None},
        {"time_s": 1.0, "key": "web", "value": 5.0, "low": 1.0, "high": 9.0},
    ]


def make_tail(member: str, *packets: int) -> pl.DataFrame:
    """Give the distribution of a member whose packets took so many ms each."""
    delays = [ms * 1_000_000 for ms in sorted(packets)]
    return pl.DataFrame({"lower_ns": delays, "upper_ns": delays}).with_columns(
        name=pl.lit(member), direction=pl.lit("up"), count=pl.lit(1)
    )


def merge(*tails: pl.DataFrame) -> dict[float, list[float]]:
    """Give median, low and high delay of many as one by the share of packets, in %."""
    merged = merge_distributions(
        thin_distributions(pl.concat(tails)).with_columns(key=pl.lit("all"))
    )
    return {
        round(100 * share, 2): delays
        for share, *delays in merged.select("share", "delay_ms", "low_ms", "high_ms").iter_rows()
    }


def test_a_tail_that_few_members_reach_is_not_drawn() -> None:
    one, two, few = (
        make_tail("a", *range(1, 101)),
        make_tail("b", *range(1, 101)),
        make_tail("c", 7),
    )
    assert min(merge(one, few, few.with_columns(name=pl.lit("d")))) == 100
    assert min(merge(one, two, few)) == 1
    assert min(merge(one, few)) == 1


def test_one_as_many_is_drawn_as_it_is() -> None:
    alone = merge(make_tail("a", *range(1, 101)))
    assert alone[100] == [1, 1, 1]
    assert alone[50] == [50, 50, 50]
    assert alone[1] == [99, 99, 99]


def test_a_member_without_packets_so_rare_counts_with_its_longest_delay() -> None:
    many, few = make_tail("a", *range(1, 101)), make_tail("b", 200)
    assert merge(many, few)[50] == pytest.approx([125, 65, 185])


def test_a_distribution_without_packets_has_no_tail() -> None:
    none = make_tail("a", 1, 2).with_columns(count=pl.lit(0))
    assert thin_distributions(none).is_empty()
    assert thin_distributions(none.clear()).is_empty()


def test_a_share_of_packets_above_a_delay_never_rises() -> None:
    """Many members send little, the slowest least; who has no packets does not move the curve."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        frames = []
        for number in range(30):
            size = int(rng.integers(1, 4)) if number % 2 else int(rng.integers(50, 5000))
            delays = np.sort(rng.lognormal(18 if number % 2 else 14, 1, size)).astype(np.int64)
            frames.append(
                pl.DataFrame({"lower_ns": delays, "upper_ns": delays + 1}).with_columns(
                    name=pl.lit(f"home.{number}"), direction=pl.lit("up"), count=pl.lit(1)
                )
            )
        tails = thin_distributions(pl.concat(frames)).with_columns(key=pl.lit("all"))
        merged = merge_distributions(tails)
        assert (np.diff(merged["share"]) < 0).all()
        for line in ("low_ms", "delay_ms", "high_ms"):
            assert (np.diff(merged[line]) >= 0).all(), line


def test_the_key_of_one_of_many_modems_is_that_of_all() -> None:
    street = make_street(10)
    key = "link.cable.docsis.modem.home.upstream.queue"
    assert name_queue_key(street, "cable.home.7.up") == key
    assert name_queue_key(street, "cable.office.up") is None


def test_the_real_engine_names_its_members_so() -> None:
    ten = {"rate": "10 Mbit/s"}
    scenario = {
        "duration": "3 s", "warmup": "1 s",
        "link": {"line": {"point_to_point": {"up": ten, "down": ten}}},
        "flow": {"ping": {"application": "ping", "count": 12}},
    }  # fmt: skip
    result = headend.run(scenario)
    assert [party.label for party in judge(result).groups] == ["ping ×12"]
    drawn = [panel.specify() for figure in draw_figures([result]) for panel in figure.panels]
    assert "ping ×12" in json.dumps(drawn, ensure_ascii=False)


def test_members_of_equal_rank_stand_beside_each_other() -> None:
    street = make_street(20)
    down = street.measures.filter(measure="mos").with_columns(measure=pl.lit("mos_down"))
    street.tables["measures"] = pl.concat([street.measures, down])
    figure = next(figure for figure in draw_figures([street]) if figure.name == "mos")
    places: dict[str, set[float]] = {}
    for rows in figure.panels[-1].specify()["datasets"].values():
        for row in rows:
            if "share" in row:
                places.setdefault(row["series"], set()).add(row["share"])
    one, other = places.values()
    assert len(one) == len(other) == 20
    assert not one & other


def test_a_table_of_long_names_is_not_cut() -> None:
    street = make_street(100)
    rates = pl.when(pl.col("queue").str.contains(r"\.[1-9]\.")).then(200e6).otherwise(50e6)
    street.tables["queues"] = street.queues.with_columns(rate_bps=rates)
    for width in (120, 100):
        console = Console(file=io.StringIO(), width=width)
        console.print(fit(console, draw(tabulate_queues(street, None))))
        text = console.file.getvalue()  # type: ignore[attr-defined]
        assert "…" not in text
        assert "200 Mbit/s" in text
