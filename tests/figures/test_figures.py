"""What figures show where there is no room for all, and what they say of it."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import click.testing
import polars as pl
import pytest

import headend
from headend.cli.main import app
from headend.engine.description import describe
from headend.errors import InputError
from headend.figures import draw_figures
from headend.figures import vegalite as vl
from headend.figures.experience import WRITTEN_ON
from headend.figures.export import draw_picture, fix_size, write_figures
from headend.figures.figure import MOST_SERIES, Figure, Order, Panel, choose_keys, lay_out
from headend.figures.over_time import FEWEST_TIMES, _choose_end, draw_windows
from headend.figures.placing import mark_among
from headend.figures.selection import order_flows
from headend.figures.street import COLOURS as HOMES
from headend.figures.svg import fit_specification
from headend.figures.theme import (
    DARK_REASONS,
    FAINT,
    PALETTE,
    QUEUE_TONES,
    REASON_TONES,
    colour,
    log_axis,
    make_chart,
)
from headend.figures.thinning import thin_series
from headend.figures.trade_off import MOST_PANELS
from headend.pages import page
from headend.results.seal import seal
from headend.running.executor import Progress
from headend.running.result import Result
from headend.scenario.shipped import list_studies
from headend.study import read_study
from headend.study.outcome import StudyOutcome
from headend.sweeps import SweepResult
from headend.sweeps import sweep as run_sweep
from headend.sweeps.result import load_sweep
from vega_lite import check_panel

#: A line that an upload fills, with more series than are drawn: eight of data alone.
CROWDED: dict[str, Any] = {
    "duration": "80 s",
    "warmup": "2 s",
    "bottleneck": "cable.up",
    "link": {
        "cable": {
            "docsis": {
                "preset": "docsis30",
                "upstream": {"rate": "2 Mbit/s", "queue": "drop_tail"},
                "downstream": {"rate": "20 Mbit/s"},
            }
        }
    },
    "flow": {
        "upload": {"application": "bulk", "direction": "up", "start": "3 s"},
        "download": {
            "application": {"bulk": {"size": "4 MB", "pause": "3 s"}},
            "direction": "down",
        },
        "call": {"application": "voice"},
        "page": {"application": {"web": {"page": "1 MB", "pause": "5 s"}}},
        "ping": {"application": "ping"},
    },
}


@pytest.fixture(scope="module")
def crowded() -> Result:
    return headend.run(CROWDED)


def find_series(figure: Figure, panel: int = 0) -> dict[str, str]:
    """Give the colour of each series of a panel, in the order of its legend."""
    text = json.dumps(figure.panels[panel].specify())
    position = text.index('"color": {"field": "series"')
    scale = json.JSONDecoder().raw_decode(text, text.index("{", position))[0]["scale"]
    return dict(zip(scale["domain"], scale["range"], strict=True))


#: Draws what a folder holds where neither library can be imported.
DRAW_ALONE = """
import sys
import threading
sys.modules["altair"] = sys.modules["numpy"] = None
import headend
from headend.figures import draw_figures
from headend.figures import vegalite as vl
figures = draw_figures([headend.Result.load(sys.argv[1])])
print(sum(len(panel.specify()["datasets"]) for figure in figures for panel in figure.panels))
"""


def test_figures_are_drawn_without_altair_and_numpy(crowded: Result, tmp_path: Path) -> None:
    crowded.save(tmp_path / "kept", report=False)
    command = [sys.executable, "-c", DRAW_ALONE, str(tmp_path / "kept")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


def test_what_loads_the_line_is_drawn_and_a_probe_gives_way(crowded: Result) -> None:
    figures = {figure.name: figure for figure in draw_figures([crowded])}
    for name in ("delay", "rates"):
        series = find_series(figures[name])
        assert len(series) == MOST_SERIES
        assert {"upload", "download", "call ↑", "call ↓", "page ↓"} <= set(series), name
        assert "Not drawn, as there is room for 7: ping ↓." in figures[name].explanation


def replace_connections(result: Result, rows: pl.DataFrame) -> Result:
    return Result({**result.tables, "connection_series": rows}, result.manifest, result.label)


def test_windows_show_the_flow_that_fills_the_line(crowded: Result) -> None:
    figure = draw_windows([crowded])
    assert figure is not None
    assert "upload" in find_series(figure)
    rows = crowded.connection_series
    brief = rows.filter(pl.col("flow") == "page", pl.col("time_ns") < 600_000_000)
    assert brief["connection"].n_unique() == 8
    figure = draw_windows(
        [replace_connections(crowded, pl.concat([brief, rows.filter(pl.col("flow") == "upload")]))]
    )
    assert figure is not None
    assert list(find_series(figure)) == ["upload"]
    assert figure.note == " Short connections are not drawn: 8 of page."
    assert figure.explanation.endswith(figure.note)


def test_of_many_connections_one_of_each_flow_comes_first(crowded: Result) -> None:
    rows = crowded.connection_series.filter(pl.col("flow").is_in(["upload"]))
    many = [
        rows.with_columns(flow=pl.lit("download"), connection=pl.lit(number, pl.Int64))
        for number in range(8)
    ]
    figure = draw_windows([replace_connections(crowded, pl.concat([*many, rows]))])
    assert figure is not None
    assert "upload" in find_series(figure)
    assert "Not drawn, as there is room for 7: download #7, download #8." in figure.note


def test_brief_connections_alone_make_no_figure(crowded: Result) -> None:
    brief = crowded.connection_series.filter(pl.col("flow") == "upload").head(FEWEST_TIMES - 1)
    assert draw_windows([replace_connections(crowded, brief)]) is None


def test_of_two_ends_the_one_that_sends_is_drawn() -> None:
    rows = pl.DataFrame(
        {
            "time_ns": [1, 1, 2, 2],
            "flow": ["page"] * 4,
            "connection": [0] * 4,
            "cwnd_bytes": [14_480, 2_896, 14_480, 5_792],
            "in_flight_bytes": [300, 2_896, 0, 5_792],
        }
    )
    assert _choose_end(rows)["cwnd_bytes"].to_list() == [2_896, 5_792]


def test_a_flow_has_one_colour_in_all_figures_of_a_report(crowded: Result) -> None:
    colours: dict[str, set[str]] = {}
    for figure in draw_figures([crowded]):
        if figure.name in ("delay", "rates", "cwnd", "ping", "mos", "pages"):
            for name, colour in find_series(figure).items():
                colours.setdefault(name, set()).add(colour)
    assert len(colours["upload"]) == len(colours["call ↑"]) == len(colours["page ↓"]) == 1
    slots = order_flows([crowded]).slots
    assert slots["page"] == slots["page ↓"]


@pytest.mark.parametrize("is_first", [True, False])
def test_a_flow_with_both_directions_in_one_run_only_has_one_colour(
    crowded: Result, is_first: bool
) -> None:
    flows = crowded.flows
    one_way = flows.filter((pl.col("flow") != "call") | (pl.col("direction") != "down"))
    assert one_way.height == flows.height - 1
    other = Result({**crowded.tables, "flows": one_way}, crowded.manifest, "other")
    found = [other, crowded] if is_first else [crowded, other]
    slots = order_flows(found).slots
    assert slots["call"] == slots["call ↑"] != slots["call ↓"]
    figures = {figure.name for figure in draw_figures(found)}
    assert {"delay", "rates"} <= figures


def test_panels_side_by_side_keep_what_harms(crowded: Result) -> None:
    other = Result(crowded.tables, crowded.manifest, "other")
    figures = {figure.name: figure for figure in draw_figures([crowded, other])}
    assert "upload" in [panel.title for panel in figures["delay"].panels]


def test_exported_files_name_what_is_not_drawn(crowded: Result, tmp_path: Path) -> None:
    figures = [figure for figure in draw_figures([crowded]) if figure.name == "delay"]
    (path,) = write_figures(figures, tmp_path, ["svg"])
    assert "Not drawn, as there is room for 7: ping ↓." in path.read_text(encoding="utf-8")


def test_a_long_list_of_names_is_cut() -> None:
    _, note = choose_keys([f"q{number}" for number in range(40)], {})
    assert note.endswith("q18 and 21 more.")


def test_a_key_without_a_colour_gets_a_free_one() -> None:
    rows = pl.DataFrame({"key": ["a", "b", "c"], "value": [1.0, 2.0, 3.0]})
    seen: dict[str, int] = {}

    def draw(marked: pl.DataFrame) -> Any:
        seen.update(marked.select("series", "slot").iter_rows())
        return make_chart(marked).mark_point()

    order = Order(slots={"a": 1, "b": 1, "c": 40, "elsewhere": 0})
    lay_out({"run": rows}, draw, lambda: order)
    assert seen == {"a": 1, "b": 2, "c": 3}


#: Three RTTs along a logarithm, two disciplines by colour, two rates by panel.
SWEPT: dict[str, Any] = {
    "title": "Swept",
    "scenario": {
        "duration": "2 s",
        "bottleneck": "line.up",
        "link": {"line": {"point_to_point": {"up": {"rate": "1 Mbit/s"}}}},
        "flow": {"upload": {"application": "bulk", "direction": "up"}},
    },
    "grid": {
        "queue": ["drop_tail", "codel"],
        "flow.upload.rtt": {"values": ["10 ms", "50 ms", "150 ms"], "name": "rtt"},
        "link.line.point_to_point.up.rate": {"values": ["1 Mbit/s", "4 Mbit/s"], "name": "rate"},
    },
    "measures": {"upload.up.goodput": "upload.up.goodput", "wait": "line.up.delay.mean"},
}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    return run_sweep(SWEPT, out=tmp_path_factory.mktemp("swept") / "out")


def call(*arguments: str) -> click.testing.Result:
    return click.testing.CliRunner().invoke(app, list(arguments))


def find_encodings(specification: dict[str, Any], channel: str) -> list[dict[str, Any]]:
    return [
        layer["encoding"][channel]
        for layer in specification["layer"]
        if channel in layer["encoding"]
    ]


def draw_curves(result: SweepResult) -> list[Figure]:
    """Draw the figures of each measure, without that of the trade-off."""
    return [figure for figure in result.draw_figures() if figure.name != "trade-off"]


def test_panels_of_a_measure_have_one_scale(swept: SweepResult) -> None:
    for figure in draw_curves(swept):
        assert len(figure.panels) == 2
        scales = [
            encoding["scale"]
            for panel in figure.panels
            for encoding in find_encodings(panel.specify(), "y")
        ]
        assert all(scale == scales[0] for scale in scales)
        assert scales[0]["domain"][0] == 0
        for panel in figure.panels:
            check_panel(panel)


def test_a_wide_axis_of_a_sweep_is_logarithmic_with_a_tick_for_each_setting(
    swept: SweepResult,
) -> None:
    panel = draw_curves(swept)[0].panels[0]
    encoding = find_encodings(panel.specify(), "x")[0]
    assert encoding["scale"]["type"] == "log"
    assert encoding["axis"]["values"] == [10, 50, 150]
    assert encoding["title"] == "rtt (ms)"
    assert log_axis((9, 1100), ends=True)["values"] == [9, 100, 1100]


def test_a_long_sweep_names_the_panels_it_leaves_out() -> None:
    rates = [f"{number} Mbit/s" for number in range(1, MOST_PANELS + 3)]
    grid = SWEPT["grid"] | {
        "link.line.point_to_point.up.rate": {"values": rates, "name": "rate"},
        "flow.upload.rtt": [f"{number} ms" for number in range(1, MOST_PANELS + 4)],
    }
    measures = {"wait": "line.up.delay.mean"}
    scenario = SWEPT["scenario"] | {"duration": "100 ms"}
    found = run_sweep(SWEPT | {"grid": grid, "measures": measures, "scenario": scenario})
    (figure,) = found.draw_figures()
    assert len(figure.panels) == MOST_PANELS
    assert "rate 14 Mbit/s" in figure.note


def test_figures_of_a_sweep_are_those_of_its_report(swept: SweepResult) -> None:
    folder = swept.folder
    assert folder
    answer = call("figures", str(folder), "--format", "svg,pdf,png", "--json")
    assert answer.exit_code == 0, answer.stderr
    paths = [Path(path) for path in json.loads(answer.stdout)["figures"]]
    assert len(paths) == (2 * 2 + 1) * 3
    assert all(path.read_bytes() for path in paths)
    assert folder / "figures" / "wait-rate-1-Mbit-s.pdf" in paths
    report = folder / "report.html"
    before = report.read_bytes()
    report.unlink()
    assert call("report", str(folder)).exit_code == 0
    assert report.read_bytes() == before


def test_zipped_axes_are_read_back(tmp_path: Path) -> None:
    zipped = [{"queue": ["drop_tail", "codel"], "flow.upload.rtt": ["10 ms", "20 ms"]}]
    content = {key: value for key, value in SWEPT.items() if key != "grid"} | {"zip": zipped}
    run_sweep(content, out=tmp_path / "out")
    before = (tmp_path / "out" / "report.html").read_bytes()
    (tmp_path / "out" / "report.html").unlink()
    assert call("report", str(tmp_path / "out")).exit_code == 0
    assert (tmp_path / "out" / "report.html").read_bytes() == before


def test_a_sweep_that_was_stopped_is_shown_as_far_as_it_was_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, stop = tmp_path / "stopped", threading.Event()

    def stop_after_the_first(progress: Progress) -> None:
        if progress.done:
            stop.set()

    run_sweep(SWEPT, out=folder, stop=stop, on_progress=stop_after_the_first)
    partial = load_sweep(folder, is_partial_read=True)
    done = partial.count_done()
    assert 0 < done < partial.design.count_points() == 12
    assert not partial.complete
    told = f"The sweep was stopped: {done} of 12 points have a result. Run it again"
    assert partial.notes[0].startswith(told)
    answer = call("report", str(folder))
    assert answer.exit_code == 0, answer.stderr
    assert answer.stdout == f"Report: {folder}/report.html\n"
    assert told in answer.stderr
    page = (folder / "report.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert told in page
    answer = call("export", str(folder), "--csv", str(tmp_path / "tables"))
    assert answer.exit_code == 0, answer.stderr
    assert f"partial, stopped before its end ({done} of 12 points)" in caplog.text
    with pytest.raises(InputError, match="was not run to its end"):
        load_sweep(folder)
    # Going on makes the whole page, and nothing is left of the partial one.
    run_sweep(SWEPT, out=folder)
    assert "The sweep was stopped" not in (folder / "report.html").read_text()


def test_what_has_no_figures_to_draw_says_what_to_do(swept: SweepResult, tmp_path: Path) -> None:
    folder = tmp_path / "older"
    folder.mkdir()
    manifest = json.loads((swept.folder / "manifest.json").read_text())  # type: ignore[operator]
    (folder / "manifest.json").write_text(json.dumps(manifest | {"complete": False, "points": []}))
    seal(folder, ["manifest.json"])
    words = "the sweep was not run to its end; run it again to go on"
    for command in ("figures", "report"):
        answer = call(command, str(folder))
        assert (answer.exit_code, answer.stderr) == (2, f"error: {folder}: {words}\n")
    answer = call("figures", str(swept.folder), str(folder))
    assert answer.exit_code == 2
    assert "holds the results of a sweep, which has a page of its own" in answer.stderr


def test_figures_of_a_study_come_in_every_format(tmp_path: Path) -> None:
    studies = [read_study(name, folder) for name, folder in list_studies().items()]
    study = next(study for study in studies if not (study.distributions or study.series))
    chart = make_chart(pl.DataFrame({"x": [1.0], "y": [1.0]})).mark_point().encode(x="x:Q", y="y:Q")
    figures = [Figure("delay", "Delay", "Shown.", [Panel("a", chart), Panel("b", chart)])]
    out = tmp_path / "study"
    StudyOutcome(study, pl.DataFrame({"a": [1]}), [], figures).write_into(out)
    answer = call("figures", str(out), "--format", "pdf,png", "--out", str(tmp_path / "made"))
    assert answer.exit_code == 0, answer.stderr
    made = sorted(path.name for path in (tmp_path / "made").iterdir())
    assert made == ["a-delay.pdf", "a-delay.png", "b-delay.pdf", "b-delay.png"]
    answer = call("report", str(out))
    assert answer.exit_code == 2
    assert f"headend study run {study.name} --out {out} makes its report again" in answer.stderr
    (out / "claims.json").unlink()
    assert "not run to its end; run it again" in call("figures", str(out)).stderr


def test_without_a_note_a_picture_has_its_title_alone(crowded: Result) -> None:
    panel = draw_figures([crowded])[0].panels[0]
    assert fix_size(panel, "Delay")["title"] == "Delay"
    assert fix_size(panel, "Delay", " Left.")["title"] == {"text": "Delay", "subtitle": ["Left."]}


def fit(names: list[str], width: float, title: str = "delay (ms)") -> dict[str, Any]:
    rows = pl.DataFrame({"x": [1.0] * len(names), "series": names, "slot": range(len(names))})
    drawn = make_chart(rows.with_columns(place="slot")).mark_line()
    lines = drawn.encode(
        x="x:Q", y=vl.Y("x:Q", title=title), color=colour(rows.with_columns(place="slot"))
    )
    specification = vl.layer(lines).to_dict()
    fit_specification(specification, width, 200)
    encoding: dict[str, Any] = specification["layer"][0]["encoding"]
    return encoding


def test_a_legend_has_as_many_columns_as_its_longest_name_leaves_room_for() -> None:
    names = ["b", "a", "call", "ping"]
    assert fit(names, 1000)["color"]["legend"]["columns"] == 4
    assert fit(names, 300)["color"]["legend"]["columns"] == 4
    assert fit(names, 140)["color"]["legend"]["columns"] == 2
    assert (
        fit([*names, "queue=buffer_control target 32 KiB"], 300)["color"]["legend"]["columns"] == 1
    )
    assert fit(names, 300)["color"]["legend"]["values"] == names


def test_values_that_are_colours_have_no_legend_to_fit() -> None:
    shades = make_chart(pl.DataFrame({"x": [1.0], "tone": ["#888"]})).mark_rect()
    drawn = shades.encode(x="x:Q", color=vl.Color("tone:N", scale=None))
    specification = vl.layer(drawn).to_dict()
    fit_specification(specification, 300, 200)
    assert specification["layer"][0]["encoding"]["color"] == {
        "field": "tone",
        "type": "nominal",
        "scale": None,
    }


def test_a_name_too_long_for_a_legend_gets_lines() -> None:
    legend = fit(["queue=buffer_control target=32 KiB", "b"], 200)["color"]["legend"]
    lines = '{"queue=buffer_control target=32 KiB": ["queue=buffer_control", "target=32 KiB"]}'
    assert legend["labelExpr"] == f"({lines})[datum.label] || datum.label"
    assert "labelExpr" not in fit(["b"], 200)["color"]["legend"]


def test_a_title_longer_than_its_axis_gets_lines() -> None:
    assert fit(["a"], 300)["y"]["title"] == "delay (ms)"
    long = "what is left of the tokens of the sustained rate (KiB)"
    assert fit(["a"], 300, long)["y"]["title"] == [
        "what is left of the tokens of",
        "the sustained rate (KiB)",
    ]


def test_runs_stand_in_a_legend_in_the_order_given() -> None:
    rows = pl.DataFrame({"key": ["call"], "x": [1.0]})
    panels, _ = lay_out(
        {"pie": rows, "drop_tail": rows, "codel": rows},
        lambda marked: make_chart(marked).mark_point().encode(x="x:Q", color=colour(marked)),
    )
    legend = panels[0].specify()["encoding"]["color"]["legend"]
    assert legend["values"] == ["pie", "drop_tail", "codel"]


def test_no_colour_has_two_meanings(crowded: Result) -> None:
    css = (Path(page.__file__).parent / "templates" / "page.css").read_text(encoding="utf-8")
    grades = re.findall(r"--(?:good|fair|poor|bad): (#[0-9a-f]{6})", css)
    assert len(grades) == 8
    families = [PALETTE, QUEUE_TONES, tuple(REASON_TONES.values()), tuple(grades)]
    tones = [tone.upper() for family in families for tone in family]
    assert len(tones) == len(set(tones))
    figures = {figure.name: figure for figure in draw_figures([crowded])}
    assert set(find_series(figures["rates"]).values()) <= set(PALETTE)
    for name in ("queue", "queue-delay", "line-rate"):
        assert set(find_series(figures[name]).values()) <= set(QUEUE_TONES), name
    loss = figures["loss"].panels[0].specify()["layer"][0]["encoding"]["color"]["scale"]["range"]
    assert set(loss) <= set(REASON_TONES.values())


def test_the_warm_up_is_shaded_and_named(crowded: Result) -> None:
    figures = {figure.name: figure for figure in draw_figures([crowded], ["rates", "queue"])}
    for figure in figures.values():
        text = json.dumps(figure.panels[0].specify(), ensure_ascii=False)
        assert '"← warm-up"' in text
        assert '"rect"' in text


def test_only_the_figures_asked_for_are_drawn(crowded: Result) -> None:
    assert [figure.name for figure in draw_figures([crowded], ["cwnd", "ping"])] == ["ping", "cwnd"]


def test_a_line_over_time_has_a_point_for_each_interval_that_was_left_out() -> None:
    times = [1, 2, 3, 8, 9]
    delays = [5.0, 6.0, float("nan"), 7.0, 8.0]
    rows = pl.DataFrame(
        {
            "time_ns": [int(time * 1e9) for time in times],
            "queue": "up",
            "delay": delays,
            "rate": 1.0,
        },
        schema_overrides={"time_ns": pl.UInt64},
    )
    thin = thin_series(rows, ["queue"], ["delay", "rate"])
    assert thin["time_s"].to_list() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert thin["delay"].to_list() == [5, 6, None, None, None, None, None, 7, 8]
    assert thin["rate"].to_list() == [1] * 9


def _find_luminance(colour: str) -> float:
    """Give the relative luminance of a colour, as WCAG 2.2 has it."""
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _find_contrast(one: str, other: str) -> float:
    low, high = sorted(map(_find_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_every_colour_stands_out_from_a_white_and_from_a_dark_page() -> None:
    assert round(_find_contrast("#000000", "#ffffff"), 6) == 21
    css = (Path(page.__file__).parent / "templates" / "page.css").read_text(encoding="utf-8")
    light, dark = re.findall(r"--page: (#[0-9a-f]{6})", css)
    for tone in (*PALETTE, *QUEUE_TONES, *HOMES.values(), FAINT):
        for ground in (light, dark):
            assert _find_contrast(tone, ground) >= 3, (tone, ground)
    # Grades have colours of their own for each ground, and are texts too.
    tones = re.findall(r"--(?:good|fair|poor|bad): (#[0-9a-f]{6})", css)
    for ground, own in ((light, tones[:4]), (dark, tones[4:])):
        assert all(_find_contrast(tone, ground) >= 4.5 for tone in own)


def test_bars_of_pale_reasons_have_an_outline_that_stands_out(crowded: Result) -> None:
    figure = next(one for one in draw_figures([crowded]) if one.name == "loss")
    assert figure.panels[0].specify()["layer"][0]["mark"]["stroke"] == FAINT


def _find_lightness(colour: str) -> float:
    """Give L* of CIE 1976, by the relative luminance of a colour lighter than black."""
    return float(116 * _find_luminance(colour) ** (1 / 3) - 16)


def test_every_reason_of_a_loss_has_a_lightness_of_its_own() -> None:
    assert set(REASON_TONES) == set(describe().reasons)
    light = {name: _find_lightness(tone) for name, tone in REASON_TONES.items()}
    common = ("overlimit", "congested", "retry_limit", "policed", "corrupted")
    for names, least in ((tuple(light), 5), (common, 13)):
        steps = sorted(light[name] for name in names)
        assert min(high - low for low, high in itertools.pairwise(steps)) > least, names
    for name, tone in REASON_TONES.items():
        written = WRITTEN_ON[name in DARK_REASONS]
        assert _find_contrast(tone, written) >= 4.5, name


def test_the_reasons_of_losses_are_told_apart_by_numbers_in_or_behind_the_bars(
    crowded: Result,
) -> None:
    lost = {"congested": (500, 0), "retry_limit": (300, 60), "overlimit": (1, 0)}
    columns = {describe().reasons[name].column: counts for name, counts in lost.items()}
    flows = crowded.flows.filter(pl.col("carries") == "data", pl.col("packets_sent") > 0).head(2)
    none = {name: 0 for name in flows.columns if name.startswith("discarded_")}
    flows = flows.with_columns(
        packets_sent=pl.lit(1000),
        **{name: pl.Series(columns.get(name, (0, 0)), dtype=pl.Int64) for name in none},
    )
    result = Result({**crowded.tables, "flows": flows}, crowded.manifest, crowded.label)
    (figure,) = draw_figures([result], ["loss"])
    specification = figure.panels[0].specify()
    labels = [describe().reasons[name].label for name in ("overlimit", "congested", "retry_limit")]
    colour = specification["layer"][0]["encoding"]["color"]
    assert colour["legend"]["values"] == labels
    numbered = dict(zip(labels, "123", strict=True))
    assert json.dumps(numbered, ensure_ascii=False) in colour["legend"]["labelExpr"]
    written = {
        (row["number"], round(row["at"], 4))
        for layer in specification["layer"][1:]
        for row in specification["datasets"][layer["data"]["name"]]
    }
    # Parts stand in the order of the reasons: 1 is too narrow for a number, which stands behind.
    assert written == {("2", 0.251), ("3", 0.651), ("1", 0.801), ("3", 0.03)}
    assert "The numbers are those of the reasons." in figure.explanation


def test_a_loss_of_a_single_reason_has_no_number(crowded: Result) -> None:
    (figure,) = draw_figures([crowded], ["loss"])
    (bars,) = figure.panels[0].specify()["layer"]
    assert "labelExpr" not in bars["encoding"]["color"]["legend"]


def test_the_meaning_of_a_mark_stands_where_no_curve_runs() -> None:
    def place(values: list[float]) -> tuple[str, bool]:
        rows = pl.DataFrame({"x": [0.0, 1.0], "value": values, "series": "call"})
        drawn = mark_among(rows, [(4.0, "satisfied")], {"domain": [1, 4.5]}, x="x")[0]
        mark = drawn.to_dict()["layer"][1]["mark"]
        return mark["align"], mark["dy"] > 0

    assert place([1.5, 1.5]) == ("right", False)
    assert place([4.2, 4.2]) == ("right", True)
    assert place([1.0, 4.3]) == ("left", False)


def test_a_picture_is_the_same_whatever_was_drawn_before_it() -> None:
    points = pl.DataFrame({"x": [1, 2], "y": [3.0, 4.0]})
    line = vl.Chart(points).mark_line(clip=True).encode(x="x:Q", y="y:Q")
    panel = Panel("", line)
    first = draw_picture(panel, "a title")
    assert b"clip" in first
    assert draw_picture(panel, "a title") == first
