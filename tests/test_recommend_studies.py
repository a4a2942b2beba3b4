"""The studies of recommendations: their points are what a recommendation runs, and their claims."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headend.recommending.feature import Feature
from headend.recommending.request import Request
from headend.scenario.reach import Reach
from headend.scenario.source import Overrides, read_scenario
from test_studies import import_shared, load

STUDIES = ("recommend/calls", "recommend/games", "recommend/features")


def resolve(scenario: Any, reach: Reach, overrides: Overrides) -> dict[str, Any]:
    """Give all that the engine is told of a scenario, but for its title."""
    told = json.loads(read_scenario(scenario, reach).load(overrides).scenario.resolved_json())
    return {key: value for key, value in told.items() if key != "title"}


@pytest.mark.parametrize("name", STUDIES)
def test_the_settings_are_those_that_a_recommendation_tries(name: str) -> None:
    study = load(name)
    request: Request = study.load_analysis().REQUEST
    settings = next(axis for axis in study.axes if axis.name == "setting")
    tried = request.features if len(request.features) == 1 else tuple(Feature)
    listed = import_shared("recommend", "asking").list_settings(request, tried)
    assert list(settings.values) == list(listed)
    assert settings.each == listed


@pytest.mark.parametrize("name", STUDIES)
def test_a_point_is_the_scenario_that_a_recommendation_runs(name: str) -> None:
    study = load(name)
    request: Request = study.load_analysis().REQUEST
    cases = next(axis for axis in study.axes if axis.name == "case")
    settings = next(axis for axis in study.axes if axis.name == "setting").values
    asking = import_shared("recommend", "asking")
    wanted = {
        (asking.name_setting(tier, candidate), case): resolve(
            request.write_scenario(tier, candidate),
            Reach(),
            (*cases.each.get(str(case), {}).items(), ("seed", "1")),
        )
        for tier in request.tiers
        for candidate in request.list_candidates(tier)
        for case in cases.values
        if asking.name_setting(tier, candidate) in settings
    }
    found = {
        (point.values["setting"], point.values["case"]): resolve(
            point.scenario, study.reach, (*point.overrides, ("seed", "1"))
        )
        for point in study.list_points()
        if point.seed == study.seeds[0]
    }
    assert found == wanted


@pytest.mark.parametrize("name", STUDIES)
def test_as_many_seeds_and_all_that_is_wished_are_measured(name: str) -> None:
    study = load(name)
    request: Request = study.load_analysis().REQUEST
    assert study.seeds == request.seeds
    asked = {text.split()[0] for text in request.conditions} | {request.objective.split()[1]}
    assert asked <= study.measures.keys()
    assert all(name == text for name, text in study.measures.items())
