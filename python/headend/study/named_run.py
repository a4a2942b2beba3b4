"""The run of a study that a reader can repeat in a browser: a point, named beside a figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headend.errors import InputError, suggest
from headend.lab.given import Given, give, refuse_files
from headend.scenario.source import Overrides, read_scenario
from headend.study.definition import Study
from headend.text.wording import write_count

#: The key of the run of a study without a scenario: the file in its folder that its analysis runs.
SCENARIO = "scenario"


@dataclass(frozen=True)
class NamedRun:
    """A run, and what a link to it says."""

    words: str
    given: Given


def find_run(study: Study, shown: str) -> NamedRun | None:
    """Find the run that a study names beside what a figure of it shows, such as "Figure 3".

    Raises
    ------
    InputError
        When the study has no such point, or a browser cannot run it.
    """
    for figure in study.figures:
        if figure.runs and shown in figure.shows:
            number = figure.shows.index(shown) if len(figure.runs) > 1 else 0
            try:
                return _name(study, figure.runs[number])
            except InputError as error:
                raise InputError(f"{study.name}: figure {figure.name}: run: {error}") from error
    return None


def _name(study: Study, run: Mapping[str, Any]) -> NamedRun:
    """Name a run by values of axes; an axis that is left out has its first value."""
    overrides: Overrides = ()
    if study.design.scenario is None:
        if list(run) != [SCENARIO]:
            raise InputError(f"expected {SCENARIO} alone, since the study has no grid")
        text = read_scenario(study.folder / run[SCENARIO], study.access)
        words, seed = "Run it in a browser", text.load().scenario.seed
    else:
        wanted = {factor.name: factor.labels[0] for factor in study.design.factors}
        for name in run:
            if name not in wanted:
                raise InputError(f'there is no axis "{name}"{suggest(name, wanted)}')
        wanted |= run
        settings = study.design.list_settings()
        setting = next(
            (own for own in settings if list(own.factor_labels) == list(wanted.values())), None
        )
        if setting is None:
            found = ", ".join(f"{name} = {value!r}" for name, value in wanted.items())
            raise InputError(f"no point has {found}")
        text = read_scenario(setting.scenario, study.access)
        seed = study.seeds[0]
        named = ", ".join(f"{name} {value}" for name, value in [*wanted.items(), ("seed", seed)])
        points = len(settings) * len(study.seeds)
        words = f"Run one of its {write_count(points, 'point')} in a browser ({named})"
        overrides = setting.overrides
    refuse_files(text, overrides)
    return NamedRun(words, give(text, overrides, seed))
