"""What the lab shares with pages: definitions of figures, and the bounds of grades."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from headend.analysis.grading import DELAY, MOS, list_marks
from headend.engine.columns import TABLES
from headend.figures import Panel, draw_figures
from headend.figures.theme import PALETTE, QUEUE_TONES
from headend.figures.thinning import POINTS_OVER_TIME
from vega_lite import _read_schema

WEB = Path(__file__).parents[2] / "web"

sys.path.insert(0, str(WEB))

import definitions  # noqa: E402
import workbench  # noqa: E402

#: The same kinds of flows on another line, longer, with another queue and another warm-up.
OTHER = (
    definitions.SAMPLE.replace("drop_tail", "pie")
    .replace("10 Mbit/s", "3 Mbit/s")
    .replace('"30 s"', '"45 s"')
    .replace("count = 5", "count = 6")
    .replace("[flow.download]", "[flow.backup]")
)

PLACES = {
    "delay": {"series", "colours", "dashes", "domain", "ticks"},
    "queue": {"series", "colours", "dashes", "colour", "align", "dx"},
    "rates": {"series", "colours", "dashes", "most", "align", "dx"},
    "line-rate": {"series", "colours", "dashes", "room", "align", "dx"},
    "cwnd": {"series", "colours", "dashes", "align", "dx"},
}


@pytest.fixture(scope="module")
def sample() -> Any:
    return definitions.run_sample()


@pytest.fixture(scope="module")
def figures(sample: Any) -> list[dict[str, Any]]:
    return definitions.define_figures(sample)


def list_panels(figures: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for figure in figures:
        for panel in figure["panels"]:
            yield figure["name"], panel


def test_a_definition_has_nothing_of_the_run_that_it_was_drawn_from(
    figures: list[dict[str, Any]],
) -> None:
    assert definitions.define_figures(definitions.run_sample(OTHER)) == figures
    written = json.dumps(figures)
    assert not any(name in written for name in ("upload", "cable.up", "call ↑", *QUEUE_TONES))
    assert not any(tone in written for tone in PALETTE)


def test_each_figure_has_its_placeholders(figures: list[dict[str, Any]]) -> None:
    found: dict[str, set[str]] = {}
    for name, panel in list_panels(figures):
        found.setdefault(name, set()).update(definitions.list_placeholders(panel))
    assert found == PLACES


def fill(part: Any, values: Mapping[str, Any]) -> Any:
    """Put values in the place of placeholders, as the lab does."""
    if isinstance(part, list):
        return [fill(item, values) for item in part]
    if not isinstance(part, dict):
        return part
    if "$" in part:
        return values[part["$"]]
    return {name: fill(item, values) for name, item in part.items()}


def find_values(opened: Any, drawn: Any) -> dict[str, Any]:
    """Find what stands in a chart where its definition has placeholders; one value for each."""
    values: dict[str, Any] = {}

    def compare(part: Any, own: Any) -> None:
        if isinstance(part, dict) and "$" in part:
            assert values.setdefault(part["$"], own) == own
        elif isinstance(part, dict):
            assert list(part) == list(own)
            for name, item in part.items():
                compare(item, own[name])
        elif isinstance(part, list):
            for item, other in zip(part, own, strict=True):
                compare(item, other)
        else:
            assert part == own

    compare(opened, drawn)
    return values


def test_a_filled_definition_is_the_chart_that_a_report_has(
    figures: list[dict[str, Any]],
) -> None:
    record = definitions.run_sample(OTHER)
    drawn = draw_figures([record], only=definitions.SOURCES)
    panels: list[Panel] = [panel for figure in drawn for panel in figure.panels]
    for (_, definition), panel in zip(list_panels(figures), panels, strict=True):
        expected = panel.specify()
        datasets = expected.pop("datasets")
        values = find_values(definition["specification"], expected)
        filled = fill(definition["specification"], values)
        assert filled == expected
        assert set(datasets) == set(definition["roles"])
        error = jsonschema.exceptions.best_match(
            _read_schema().iter_errors({**filled, "datasets": {}})
        )
        assert error is None, error


def test_the_source_of_each_panel_is_in_the_tables(figures: list[dict[str, Any]]) -> None:
    for _, panel in list_panels(figures):
        source = panel["source"]
        columns = TABLES[source["table"]]
        wanted = {source[name] for name in ("value", "top") if name in source}
        assert wanted <= set(columns)
        assert wanted or source["table"] == "histograms"


def test_values_of_lines_are_those_of_the_named_columns(
    sample: Any, figures: list[dict[str, Any]]
) -> None:
    drawn = draw_figures([sample], only=["queue", "line-rate"])
    panels = [panel.specify()["datasets"] for figure in drawn for panel in figure.panels]
    named = [panel for name, panel in list_panels(figures) if name in ("queue", "line-rate")]
    for definition, datasets in zip(named, panels, strict=True):
        source = definition["source"]
        rows = next(datasets[name] for name, role in definition["roles"].items() if role == "lines")
        table = sample.tables[source["table"]].filter(queue="cable.up")
        step = math.ceil(table["time_ns"].n_unique() / POINTS_OVER_TIME)
        last = table.tail(step)
        assert rows[-1]["time_s"] == pytest.approx(last["time_ns"].max() / 1e9, rel=1e-5)
        value = last[source["value"]].mean() * source["factor"]
        assert rows[-1]["value"] == pytest.approx(value, rel=1e-3)


def test_marks_are_those_that_flows_are_graded_by() -> None:
    found = workbench.describe_grading()
    assert found["words"] == ["good", "fair", "poor", "bad"]
    assert [mark["metric"] for mark in found["marks"]["voice"]] == [
        mark.metric for mark in list_marks("voice")
    ]
    assert found["marks"]["voice"][0]["bounds"] == MOS.bounds
    assert found["marks"]["voice"][0]["higher_is_better"]
    assert found["marks"]["cbr"][0]["bounds"] == DELAY.bounds
    assert found["marks"]["bulk"] == []


def test_what_is_shared_is_json() -> None:
    content = json.loads(json.dumps(workbench.list_for_workbench()))
    assert [figure["name"] for figure in content["figures"]] == list(PLACES)
    assert set(content["themes"]) == {"light", "dark"}
