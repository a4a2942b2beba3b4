"""Studies in tests: made-up points, the claims judged on them, and quick forms."""

from __future__ import annotations

import functools
import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from headend.design.factor import Factor
from headend.scenario.library import find_study
from headend.scenario.shipped import SHIPPED
from headend.study import ClaimVerdict, PointStore, Study, read_study, run_points
from headend.study.claims import check_claims

LINE = """\
duration = "2 s"
link.line.point_to_point.up.rate = "1 Mbit/s"
flow.ping.application = "ping"
"""


@functools.cache
def load(name: str) -> Study:
    return read_study(name, find_study(name))


@functools.cache
def load_analysis(name: str) -> ModuleType:
    """Import the analysis of a study once: tests ask for it at each of some thousand points."""
    return load(name).load_analysis()


def import_shared(document: str, name: str) -> ModuleType:
    """Import a module that the studies of a document share."""
    path = SHIPPED / "studies" / document / f"{name}.py"
    specification = importlib.util.spec_from_file_location(f"shared_{name}", path)
    assert specification
    assert specification.loader
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def fill_points(name: str, measure: Callable[[dict[str, Any]], dict[str, Any]]) -> pl.DataFrame:
    """Give each point of a study what the test measures there."""
    rows = load(name).list_places()
    return pl.DataFrame([{**row, **measure(row)} for row in rows], infer_schema_length=None)


def keep_values(factor: Factor, values: Sequence[Any]) -> Factor:
    """Give a factor with some of its values."""
    chosen = [factor.values.index(value) for value in values]
    writes = tuple(factor.writes[index] for index in chosen)
    return replace(factor, values=tuple(values), labels=tuple(values), writes=writes)


def judge(name: str, points: pl.DataFrame) -> dict[str, tuple[ClaimVerdict, str]]:
    study = load(name)
    checked = check_claims(study.claims, study.load_analysis(), points)
    judge_twice(study, points)
    return {item.claim.id: (item.result.verdict, item.result.measured) for item in checked}


def judge_twice(study: Study, points: pl.DataFrame) -> None:
    """Judge the same points as of twice as many seeds: no analysis fails for it."""
    if "seed" not in points.columns:
        return
    more = points.with_columns(pl.col("seed") + 1000)
    check_claims(study.claims, study.load_analysis(), pl.concat([points, more]))


def run_quick(name: str, folder: Path) -> dict[str, ClaimVerdict]:
    study = load(name).make_quick()
    points = run_points(study, PointStore(folder / "points.parquet"), threading.Event())
    assert points is not None
    return {claim: verdict for claim, (verdict, _) in judge(study.name, points).items()}
