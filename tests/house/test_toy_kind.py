"""A kind of experiment takes a reader of its design and the sections of its page: here is a toy.

``ladder`` asks which of some values of one key is the least that keeps a condition.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from headend.analysis.criteria import Criteria, read_preferences
from headend.analysis.estimate import format_estimate
from headend.analysis.measures import MeasureValues, measure_terms
from headend.analysis.ranking import Choice, Policy, evaluate, rank
from headend.analysis.summary import FIGURE, summarise_means
from headend.design.design import Design
from headend.design.reading import read_factor, refuse_unknown
from headend.design.seeds import choose_seeds
from headend.figures import Figure
from headend.pages.experiment import write_experiment
from headend.pages.notebook import Drawn
from headend.pages.page import render_page
from headend.pages.section import Page, Section
from headend.results.experiment import Experiment, check_fit, open_experiment, read_experiment
from headend.results.store import PointStore, list_points
from headend.running.executor import Finished
from headend.running.job import Job, prepare
from headend.running.measuring import Named
from headend.running.points import gather_points, join_frames, run_points
from headend.scenario.source import read_scenario
from headend.wording.answer import Answer
from headend.wording.table import Cell, Column, Row, Table

KEYS = {"scenario", "vary", "values", "measure", "keep", "seeds"}


@dataclass(frozen=True)
class Ladder(Experiment, Drawn):
    """The results of the toy."""

    kind = "ladder"
    steps: Design
    measure: str
    keep: str
    name = title = "ladder"

    @property
    def design(self) -> Design:
        return self.steps

    @functools.cached_property
    def summary(self) -> pl.DataFrame:
        return summarise_means(self.table, ["setting", *self.design.names, *FIGURE])

    def describe(self) -> dict[str, Any]:
        return {"measure": self.measure, "keep": self.keep}

    @property
    def criteria(self) -> Criteria:
        return read_preferences([self.keep], {self.measure: self.measure})

    @functools.cached_property
    def values(self) -> MeasureValues:
        return measure_terms(self.table, self.criteria.terms)[self.measure]

    @property
    def choice(self) -> Choice:
        settings = [setting.number for setting in self.design.list_settings()]
        terms = {self.measure: self.values}
        evaluation = evaluate(self.criteria, terms, settings, set(self.values.values))
        return rank(evaluation, settings, Policy(MeasureValues.is_tie, min, min))

    @property
    def answer(self) -> Answer:
        labels = self.design.factors[0].labels
        sentence = (
            f"It is {labels[self.choice.setting - 1]}." if self.choice.setting else "None does."
        )
        return Answer(f"Which is the least that keeps {self.keep}?", (sentence,), None, "")

    def draw_figures(self) -> list[Figure]:
        return []


def describe_ladder(result: Ladder) -> Page:
    """Make its page: one table besides the answer."""
    labels, kind = result.design.factors[0].labels, result.values.info.kind
    rows = [
        Row(str(labels[setting - 1]), (Cell(format_estimate(estimate, kind)),))
        for setting, estimate in result.values.estimates.items()
    ]
    table = Table((Column(result.measure),), tuple(rows), result.design.names[0])
    return Page("ladder", result.answer, [], [Section("table", table)])


def run_ladder(content: Mapping[str, Any], folder: Path) -> Ladder:
    """Read the design, run the points without a result, and write the folder with its page."""
    refuse_unknown(content, KEYS)
    factor = read_factor("values", content["vary"], content["values"])
    seeds, scenario = choose_seeds(content["seeds"]), content["scenario"]
    ladder = Ladder(
        Design(((factor,),), seeds, scenario), content["measure"], content["keep"],
        table=pl.DataFrame(), complete=False, folder=folder,
    )  # fmt: skip
    points, text = ladder.design.list_points(), read_scenario(scenario)
    selection = Named({ladder.measure: ladder.measure})
    jobs = [prepare(text, point.setting.overrides, point.seed, selection) for point in points]
    places = [point.to_columns(ladder.design.names) for point in points]

    def gather(store: PointStore, finished: Sequence[Finished]) -> Ladder:
        frames = gather_points(zip(places, jobs, strict=True), store, finished[0])
        listed = tuple(list_points(finished[0].kept))
        return replace(
            ladder, table=join_frames(frames), complete=finished[0].complete, points=listed
        )

    def open_folder(path: Path) -> None:
        open_experiment(path, Ladder.kind, lambda manifest: None)

    result = run_points([jobs], gather, folder, open_folder, stop=threading.Event())
    write_experiment(result, lambda: render_page(describe_ladder(result)))
    return result


def test_a_new_kind_is_run_kept_loaded_and_shown(tmp_path: Path, monkeypatch: Any) -> None:
    line = {"line": {"point_to_point": {"up": {"rate": "1 Mbit/s"}}}}
    scenario = {"duration": "1 s", "link": line, "flow": {"ping": {"application": "ping"}}}
    content = {
        "scenario": scenario, "vary": "flow.ping.rtt", "values": ["5 ms", "20 ms", "40 ms"],
        "measure": "ping.rtt.p50", "keep": "ping.rtt.p50 >= 15 ms", "seeds": 2,
    }  # fmt: skip
    result = run_ladder(content, tmp_path / "ladder")
    assert result.answer.sentences == ("It is 20 ms.",)
    page = (tmp_path / "ladder" / "report.html").read_text(encoding="utf-8")
    assert "Which is the least that keeps ping.rtt.p50" in page
    assert result.to_csv(tmp_path / "csv") == [
        tmp_path / "csv" / "results.csv", tmp_path / "csv" / "summary.csv"
    ]  # fmt: skip
    manifest, table = read_experiment(tmp_path / "ladder", Ladder.kind)
    design = Design.from_dict(manifest["design"])
    check_fit(design, table, tmp_path / "ladder")
    assert (design.names, table.height) == (["flow.ping.rtt"], 6)
    # The points are kept: nothing is run again.
    monkeypatch.setattr(Job, "run", None)
    assert run_ladder(content, tmp_path / "ladder").table.equals(result.table)
