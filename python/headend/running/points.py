"""Runs the points of an experiment that have no result yet, and gathers all in one table."""

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
    """Run the points that have no result yet, and return what ``gather`` makes of all of them.

    Parameters
    ----------
    batches
        The jobs of the points; a `Failure` in place of a job is passed over.
    gather
        Reads the finished points, when all are done or a stop came.
    folder
        The folder of finished points; None keeps them for this call only.
    open_folder
        Makes the folder, or refuses it with an error.
    stop, scheduler, allowance, on_progress
        As of ``headend.sweep``.
    """

    def run(kept_in: Path, on_progress: OnProgress | None) -> Gathered:
        store = PointStore(kept_in / POINT_FOLDER)
        jobs = [Batch([job for job in batch if isinstance(job, Job)], store) for batch in batches]
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
    """Give a frame for each point: its measures, or why it failed; none for points not yet run.

    Parameters
    ----------
    points
        The values of each point's leading columns, by name, and its job or why there is none.
    store
        The store that holds the finished points.
    finished
        Which jobs were kept, and which failed.
    """
    frames = []
    for columns, item in points:
        failure = item if isinstance(item, Failure) else finished.failures.get(item.key)
        if failure:
            frames.append(_put(columns, make_frame([{}]), failure.reason))
        elif isinstance(item, Job) and item.key in finished.kept:
            frames.append(_put(columns, store.read(item.key), None))
    return frames


def join_frames(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Put the frames of points into one table; an empty one where there are none."""
    import polars as pl

    return pl.concat(frames, how="vertical_relaxed", rechunk=True) if frames else pl.DataFrame()


def _put(columns: Mapping[str, Any], frame: pl.DataFrame, error: str | None) -> pl.DataFrame:
    """Put a point's leading columns before its measures, and its error after them."""
    import polars as pl

    kinds = {"setting": pl.Int64, "seed": pl.UInt64}
    return frame.select(
        *(pl.lit(value, dtype=kinds.get(name)).alias(name) for name, value in columns.items()),
        pl.all(),
        pl.lit(error, dtype=pl.String).alias("error"),
    )
