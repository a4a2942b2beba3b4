"""Reads results of any kind back as the objects that Python functions return for them."""

from __future__ import annotations

from pathlib import Path

from headend.capacity.result import Capacity, load_capacity
from headend.errors import InputError, refuse_unfit, take_path
from headend.evaluation.result import Evaluation, load_evaluation
from headend.fitting.result import LineFit, load_fit
from headend.recommendation.result import Recommendation, load_recommendation
from headend.results.record import read_manifest
from headend.running.comparison import Comparison, load_comparison
from headend.running.result import Result
from headend.sweeps.result import SweepResult, load_sweep

#: What a folder's results are read back as.
Loaded = Result | Comparison | SweepResult | Recommendation | Capacity | Evaluation | LineFit


def load(folder: str | Path) -> Loaded:
    """Read a results folder back, whichever command or function wrote it.

    Parameters
    ----------
    folder
        Of a run, a comparison, a sweep, a recommendation, a capacity, an evaluation or a fitted
        line.

    Returns
    -------
    Result, Comparison, SweepResult, Recommendation, Capacity, Evaluation or LineFit
        What ``headend.run``, ``headend.compare``, ``headend.sweep``, ``headend.recommend``,
        ``headend.find_capacity``, ``headend.evaluate`` or ``headend.fit_line`` gave.

    Raises
    ------
    InputError
        When the folder is not one of results, is damaged, or holds a study.

    Examples
    --------
    >>> import headend, tempfile
    >>> line = {"line": {"point_to_point": {"up": {"rate": "1 Mbit/s"}}}}
    >>> scenario = {"duration": "1 s", "link": line, "flow": {"ping": {"application": "ping"}}}
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = headend.run(scenario, out=f"{place}/ping", report=False)
    ...     headend.load(f"{place}/ping")
    <Result 'scenario', seed 1, 1 s, 1 flow, 2 queues>
    """
    folder = take_path(folder, "folder")
    try:
        return _load(folder)
    except (InputError, OSError, MemoryError):
        raise
    except Exception as error:
        raise refuse_unfit([folder], error) from error


def _load(folder: Path) -> Loaded:
    manifest = read_manifest(folder)
    kind = manifest.get("kind", "run")
    if kind == "run":
        return Result.load(folder)
    if kind == "sweep":
        return load_sweep(folder)
    if kind == "recommendation":
        return load_recommendation(folder)
    if kind == "capacity":
        return load_capacity(folder)
    if kind == "evaluation":
        return load_evaluation(folder)
    if kind == "line":
        return load_fit(folder)
    if kind != "comparison":
        raise InputError(
            f"{folder}: expected the results of a run, a comparison, a sweep, a recommendation, a"
            f" capacity, an evaluation or a fitted line, found a {kind}; headend.export_tables"
            " writes its tables"
        )
    return load_comparison([folder])
