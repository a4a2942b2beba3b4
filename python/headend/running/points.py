"""Runs the points of an experiment, as far as missing, and puts what they gave into one table."""

from __future__ import annotations

import functools
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from headend.results.experiment import remove_page
from headend.results.scratch import open_scratch, sweep_up
from headend.results.store import POINT_FOLDER, PointStore
from headend.running.cluster import open_executor
from headend.running.executor import (
    Batch,
    Failure,
    Finished,
    OnProgress,
    call_before_the_first,
    run_missing,
)
from headend.running.job import Job
from headend.running.measuring import make_frame
from headend.running.memory import Allowance

if TYPE_CHECKING:
    import polars as pl

Gathered = TypeVar("Gathered")


def run_points(
    batches: Sequence[Sequence[Job | Failure]],
    gather: Callable[[PointStore, list[Finished]], Gathered],
    folder: Path | None,
    open_folder: Callable[[Path], None],
    *,
    stop: threading.Event,
    scheduler: str | None = None,
    allowance: Allowance | None = None,
    on_progress: OnProgress | None = None,
) -> Gathered:
    """Run what is missing of some points, and gather it.

    Parameters
    ----------
    batches
        The points; those that cannot be run are passed over.
    gather
        Reads what was kept, when all is done or stopped.
    folder
        Where points are kept and found; None keeps none.
    open_folder
        Makes the folder, or refuses it.
    stop, scheduler, allowance, on_progress
        As of ``headend.sweep``.
    """

    def run(place: Path, on_progress: OnProgress | None) -> Gathered:
        store = PointStore(place / POINT_FOLDER)
        jobs = [Batch([own for own in batch if isinstance(own, Job)], store) for batch in batches]
        return gather(store, list(run_missing(jobs, stop, executor, on_progress)))

    if folder is None:
        parent = Path(tempfile.gettempdir())
        sweep_up(parent)
        with open_executor(scheduler, allowance, stop) as executor, open_scratch(parent) as scratch:
            return run(scratch, on_progress)
    with open_executor(scheduler, allowance, stop) as executor:
        open_folder(folder)
        remove = functools.partial(remove_page, folder)
        return run(folder, call_before_the_first(remove, on_progress))


def gather_points(
    points: Iterable[tuple[Mapping[str, Any], Job | Failure]],
    store: PointStore,
    finished: Finished,
) -> list[pl.DataFrame]:
    """Give what was measured at points, and why others failed; those that a stop left are absent.

    Parameters
    ----------
    points
        Each with what stands before its measures, by column, and what was to be run.
    store
        Where they are kept.
    finished
        What became of them.
    """
    frames = []
    for place, item in points:
        failure = item if isinstance(item, Failure) else finished.failures.get(item.key)
        if failure:
            frames.append(_put(place, make_frame([{}]), failure.reason))
        elif isinstance(item, Job) and item.key in finished.kept:
            frames.append(_put(place, store.read(item.key), None))
    return frames


def join_frames(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Put the frames of points into one table; an empty one where there are none."""
    import polars as pl

    return pl.concat(frames, how="vertical_relaxed", rechunk=True) if frames else pl.DataFrame()


def _put(place: Mapping[str, Any], frame: pl.DataFrame, error: str | None) -> pl.DataFrame:
    """Put a point's place before what was measured there, and its error behind."""
    import polars as pl

    kinds = {"setting": pl.Int64, "seed": pl.UInt64}
    return frame.select(
        *(pl.lit(value, dtype=kinds.get(name)).alias(name) for name, value in place.items()),
        pl.all(),
        pl.lit(error, dtype=pl.String).alias("error"),
    )
