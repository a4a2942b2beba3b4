"""What the engine says of its names, and what is taken from it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import headend
from headend import _engine
from headend.analysis import expect
from headend.analysis.grading import list_marks
from headend.analysis.quality import judge_flows
from headend.comparison.scores import score_runs
from headend.engine import metrics
from headend.engine.columns import TABLES
from headend.engine.description import describe, find_application, find_queue, list_applications
from headend.engine.vocabulary import list_choices
from headend.errors import InputError
from headend.figures import draw_figures
from headend.recommendation.people import list_demands
from headend.running.result import Result
from headend.scenario import lookup
from headend.scenario.subjects import Vocabulary
from headend.wording.flows import describe_experience


def test_it_describes_all_queues_and_applications_that_scenarios_may_name() -> None:
    for kind, known in (("queue", describe().queues), ("application", describe().applications)):
        # Code of one's own is no discipline of the engine's.
        assert set(known) == {choice.name for choice in list_choices(kind)} - {"custom"}


def test_every_governor_is_one_that_a_verdict_has_advice_for() -> None:
    for queue in describe().queues.values():
        assert queue.governor in ("bound", "chosen_law", "law", "nothing"), queue
        assert (queue.bound is not None) == (queue.governor == "bound"), queue
    assert find_queue("drop_tail").bound == "buffer"
    assert find_queue("sfq").law_key == "law"
    assert find_queue("cbq").law_key is None
    assert find_queue("dualpi2").governor == "law"
    assert find_queue("codel").lets_pass is None


def test_no_two_figures_of_comparisons_have_one_title() -> None:
    titles = [title for kind in describe().measures.values() for title, _ in kind.compared_by]
    assert len(set(titles)) == len(titles) > 20


@pytest.mark.parametrize(
    ("trait", "names"),
    [
        ("adaptive", {"video_call"}),
        ("bulk", {"bulk"}),
        ("distant", {"bulk", "web"}),
        ("game", {"game", "half_life", "lld_game", "quake3"}),
        ("greedy", {"bulk", "speed_test"}),
        ("probe", {"autorate", "ping"}),
        ("transfer", {"bulk", "real", "torrent"}),
    ],
)
def test_applications_have_the_properties_that_they_declare(trait: str, names: set[str]) -> None:
    assert set(list_applications(trait)) == names


def test_every_demand_is_of_a_number_that_is_graded() -> None:
    demands = {name: list_demands("it", name) for name in describe().applications}
    kinds = [kind for kind in describe().measures.values() if kind.demand]
    marks = {f"{mark.metric}" for name in demands for mark in list_marks(name)}
    assert {f"{kind.name}.{(kind.demand or [''])[0]}" for kind in kinds} <= marks
    assert demands["cloud_gaming"] == ["it.missed.mean <= 5 %", "it.frames_late.mean <= 5 %"]
    assert demands["voice"] == ["it.mos.p5 >= 4.0"]
    assert demands["bulk"] == demands["real"] == []


def test_an_application_sends_where_the_engine_lets_it_by_default() -> None:
    ways = {name: app.direction for name, app in describe().applications.items()}
    assert (ways["bulk"], ways["web"], ways["voice"]) == ("up", "down", "both")


def test_an_application_reports_nothing_but_what_it_declares() -> None:
    written: dict[str, Any] = {name: name for name in describe().applications}
    written["replay"] = {"replay": {"up": "0 200"}}
    del written["real"]  # of real hosts only, which nothing runs in virtual time
    del written["autorate"]  # of a router, which makes it
    result = headend.run(
        {
            "duration": "40 s",
            "router": {"autorate": True},
            "link": {"line": {"point_to_point": {"up": {"rate": "100 Mbit/s"}}}},
            "flow": {name: {"application": written[name]} for name in written},
        }
    )
    reported = result.measures.select("flow", "measure").rows()
    assert len({flow for flow, _ in reported}) > 10
    for flow, measure in reported:
        assert measure in find_application(flow).measure_names, (flow, measure)


def test_names_of_another_engine_are_taken_for_what_says_least() -> None:
    assert find_application("holograms").measure_names == ()
    assert not find_application("holograms").is_scored
    assert find_queue("tomorrows").governor == "law"


def test_help_does_not_read_the_description() -> None:
    code = (
        "import sys; from headend.cli.main import app; app(['--help'], standalone_mode=False);"
        " assert 'headend.engine.description' not in sys.modules;"
        " assert 'headend._engine' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


#: A measure that no line of this package names.
PULSE: dict[str, Any] = {
    "name": "pulse",
    "what": "How long a beat of the heart takes.",
    "unit": "ns",
    "quantity": "time",
    "scale": "",
    "has_directions": False,
    "higher_is_better": False,
    "range": None,
    "is_periodic": False,
    "is_beside_delay": False,
    "felt": "later",
    "place": 255,
    "compared_by": [["beat p95", "p95"]],
    "figure": None,
    "demand": ["p95", "good"],
    "chart": {
        "name": "beats",
        "title": "Beats",
        "axis": "beat (ms)",
        "factor": 1e-6,
        "explanation": "Each point is a beat.",
        "is_points": True,
        "is_after_queues": False,
        "place": 50,
    },
}


@pytest.fixture
def beating(monkeypatch: pytest.MonkeyPatch) -> Iterator[Result]:
    """A run of an engine whose ``cbr`` reports a measure that no line of this package names."""
    line = {"rate": "2 Mbit/s"}
    flow = {"monitor": {"application": "cbr", "direction": "up"}}
    result = headend.run(
        {"duration": "4 s", "link": {"line": {"point_to_point": {"up": line}}}, "flow": flow}
    )
    content = json.loads(_engine.describe())
    content["measures"].append(PULSE)
    for application in content["applications"]:
        if application["name"] == "cbr":
            application["measures"] = [["pulse", None]]
    monkeypatch.setattr(_engine, "describe", lambda: json.dumps(content))
    kept = (describe, metrics.list_measures, lookup._list_kind)
    for function in kept:
        function.cache_clear()
    beats = [2e6, 3e6, 4e6]
    statistics: dict[str, float] = dict.fromkeys(
        ("mean", "min", "p5", "p25", "p50", "p75", "p90", "p95", "p99", "max"), 3e6
    )
    row = {"flow": "monitor", "measure": "pulse", "unit": "ns", "count": 3, **statistics}
    taken = [
        {"flow": "monitor", "measure": "pulse", "time_ns": number * 10**9, "value": beat}
        for number, beat in enumerate(beats, start=1)
    ]
    tables = {
        "measures": pl.DataFrame([row], schema=TABLES["measures"]),
        "samples": pl.DataFrame(taken, schema=TABLES["samples"]),
    }
    yield replace(result, tables={**result.tables, **tables})
    for function in kept:
        function.cache_clear()


def test_a_measure_of_a_new_application_is_judged_compared_drawn_found_and_expected(
    beating: Result,
) -> None:
    (finding,) = judge_flows(beating)
    assert describe_experience(finding).endswith("; beat p95 3 ms")
    (scores,) = score_runs([beating])
    compared = {(figure.subject, figure.name): value for figure, value in scores.items()}
    assert compared["monitor", "beat p95"] == 3e6
    names = [figure.name for figure in draw_figures([beating])]
    assert names.index("beats") < names.index("delay")
    assert lookup.find("pulse")[0].how == "FLOW.pulse.p95 in [expect]"
    vocabulary = Vocabulary({"monitor": "cbr"}, [])
    outcome = expect.parse_expectation("it", "monitor.pulse.max <= 2 ms", vocabulary)
    assert outcome.check(beating.tables).measured == 3e6
    with pytest.raises(InputError, match='monitor has no metric "mos"'):
        expect.parse_quantity_name("monitor.mos.p5", vocabulary)
