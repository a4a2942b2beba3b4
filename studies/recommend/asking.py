"""What is asked of `headend recommend` here, and its recommendations from points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from headend.analysis.criteria import Criteria
from headend.recommendation.candidate import Candidate, Feature
from headend.recommendation.conditions import read_wish_of
from headend.recommendation.deciding import Decision, decide
from headend.recommendation.rates import DOWNSTREAM_FACTOR
from headend.recommendation.request import Request
from headend.recommendation.tier import Tier
from headend.scenario.file_access import FileAccess
from headend.scenario.source import read_scenario
from headend.scenario.subjects import Vocabulary

#: The unit of a quantity by words of its name; all others are plain numbers.
_UNITS = {"goodput": "bit/s", "delay": "ns", "page_load_time": "ns"}


def make_tier(rate: int, preset: str) -> Tier:
    """Make the tier of an upstream rate in Mbit/s, as ``headend recommend --upstream`` does."""
    link = {
        "preset": preset,
        "upstream": {"rate": f"{rate} Mbit/s"},
        "downstream": {"rate": f"{rate * DOWNSTREAM_FACTOR} Mbit/s"},
    }
    return Tier(f"{rate} Mbit/s", rate * 1e6, rate * DOWNSTREAM_FACTOR * 1e6, link)


def name_setting(tier: Tier, candidate: Candidate) -> str:
    """Name the setting of a tier as the grid of a study does.

    Examples
    --------
    >>> name_setting(make_tier(5, "docsis30"), Candidate("buffer 32 KiB", Feature.BUFFER_CONTROL))
    '5 Mbit/s, buffer 32 KiB'
    """
    return f"{tier.name}, {candidate.label}"


def list_overrides(tier: Tier, candidate: Candidate) -> dict[str, str]:
    """List what a setting writes to the scenario of a study: paths and texts.

    Examples
    --------
    >>> queue = {"queue": {"buffer_control": {"target": "32 KiB"}}}
    >>> candidate = Candidate("buffer 32 KiB", Feature.BUFFER_CONTROL, queue)
    >>> list(list_overrides(make_tier(5, "docsis30"), candidate).values())
    ['5 Mbit/s', '32 KiB', '50 Mbit/s']
    """
    link = candidate.write_link(tier)
    return {
        f"link.cable.docsis.{path}": text
        for way in ("upstream", "downstream")
        for path, text in _flatten(way, link[way])
    }


def list_settings(
    request: Request, features: Sequence[Feature] = tuple(Feature)
) -> dict[str, dict[str, str]]:
    """List the settings of a request that are of some features, with what they write."""
    return {
        name_setting(tier, candidate): list_overrides(tier, candidate)
        for tier in request.tiers
        for candidate in request.list_candidates(tier)
        if candidate.feature in features
    }


def recommend(points: pl.DataFrame, request: Request) -> dict[int, Decision]:
    """Decide what each tier shall have, as ``headend recommend`` decides it.

    Parameters
    ----------
    points
        Points of one case of a study: a row for each setting and seed, with a column for each
        quantity under its own name.
    request
        What is asked.

    Returns
    -------
    dict
        By the upstream rate in Mbit/s; without the tiers of which no point was run.
    """
    seeds = sorted(set(points["seed"]))
    decisions = {}
    for tier in request.tiers:
        candidates = request.list_candidates(tier)
        table = _tabulate(points, tier, candidates)
        if not table.is_empty():
            wish = _read_wish(request, tier, candidates[0])
            decisions[round(tier.upstream / 1e6)] = decide(
                tier, candidates, table, wish, seeds, request.demands
            )
    return decisions


def _read_wish(request: Request, tier: Tier, candidate: Candidate) -> Criteria:
    text = read_scenario(request.write_scenario(tier, candidate), FileAccess())
    vocabulary = Vocabulary.from_scenario(text.load(request.overrides).scenario)
    flows = request.people.flows
    return read_wish_of(request.conditions, request.objective, tier, flows, vocabulary)


def _tabulate(points: pl.DataFrame, tier: Tier, candidates: Sequence[Candidate]) -> pl.DataFrame:
    """Put the points of a tier into a table such as a recommendation has."""
    numbers = {name_setting(tier, own): number for number, own in enumerate(candidates, start=1)}
    own = points.filter(pl.col("setting").is_in(list(numbers)))
    measures = [name for name in own.columns if "." in name]
    long = own.select(
        pl.col("setting").replace_strict(numbers, return_dtype=pl.Int64),
        pl.col("seed").cast(pl.UInt64),
        *measures,
    ).unpivot(measures, index=["setting", "seed"], variable_name="measure")
    units = {name: _find_unit(name) for name in measures}
    return long.with_columns(
        subject=pl.col("measure").str.split(".").list.first(),
        metric=pl.col("measure").str.split(".").list.slice(1).list.join("."),
        unit=pl.col("measure").replace_strict(units, return_dtype=pl.String),
        error=pl.lit(None, dtype=pl.String),
    )


def _find_unit(measure: str) -> str:
    return next((unit for word, unit in _UNITS.items() if word in measure.split(".")), "1")


def _flatten(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Give the texts of nested tables with their paths; an empty table is a text too."""
    if isinstance(value, Mapping) and value:
        for key, own in value.items():
            yield from _flatten(f"{path}.{key}", own)
    else:
        yield path, value if isinstance(value, str) else "{}"
