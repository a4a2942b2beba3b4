"""Running studies: all points are one stream, and each study is checked when its own are done."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from headend.extras import STUDIES
from headend.results.store import POINT_FOLDER, PointStore, list_points
from headend.running.execution import interrupt_at_once
from headend.running.executor import Batch, Executor, Finished, OnProgress, run_missing
from headend.running.job import Job
from headend.running.memory import Allowance
from headend.running.notes import note_warnings
from headend.study.claims import check_claims
from headend.study.definition import Study
from headend.study.outcome import StudyOutcome, draw_study_figures
from headend.study.points import gather_points, prepare_points, select_rows


@dataclass(frozen=True)
class Order:
    """A study that is to be run, and the folder of its results."""

    study: Study
    folder: Path


def run_studies(
    orders: Iterable[Order],
    stop: threading.Event,
    executor: Executor | None = None,
    on_progress: OnProgress | None = None,
    allowance: Allowance | None = None,
) -> Iterator[tuple[Order, StudyOutcome | Exception]]:
    """Run, check and write studies; during that, the points of the next ones are run.

    Parameters
    ----------
    orders
        The studies, with a folder for each.
    stop
        Setting it ends the run; finished points stay in the folders.
    executor
        Who runs the points; by default the threads of this process.
    on_progress
        Told of progress over the points of all studies.
    allowance
        What points may take of memory; half of the machine's by default.

    Yields
    ------
    tuple of Order and StudyOutcome or Exception
        What became of each study, in their order, also where that could not be written; or why it
        could not be run or checked. Neither stops the others. After a stop, no further ones.
    """
    begun: list[_Begun] = []

    def begin_each() -> Iterator[Batch]:
        for order in orders:
            if stop.is_set():
                return
            begun.append(_begin(order, allowance))
            yield begun[-1].batch

    with closing(run_missing(begin_each(), stop, executor, on_progress)) as stream:
        for number, finished in enumerate(stream):
            if stop.is_set() or not finished.complete:
                return
            outcome: StudyOutcome | Exception
            try:
                with interrupt_at_once():
                    outcome = begun[number].finish(finished)
            except Exception as error:
                # A mistake in one study's analysis is no reason to lose the others.
                outcome = error
            yield begun[number].order, outcome


@dataclass(frozen=True)
class _Begun:
    """A study on its way, or why it could not be begun, which is said when it is its turn."""

    order: Order
    analysis: ModuleType | None = None
    jobs: Sequence[Job] = ()
    error: Exception | None = None

    @property
    def batch(self) -> Batch:
        """What is to be run."""
        return Batch(self.jobs, PointStore(self.order.folder / POINT_FOLDER))

    def finish(self, finished: Finished) -> StudyOutcome:
        """Check its claims and write what it leaves behind."""
        if self.error or self.analysis is None:
            raise self.error or AssertionError
        study = self.order.study
        points = gather_points(study, self.jobs, self.batch.store, finished)
        pairs = zip(study.list_points(), self.jobs, strict=True)
        outcome = StudyOutcome(
            study,
            points,
            check_claims(
                study.claims, self.analysis, select_rows(study, points), quick=bool(study.quick)
            ),
            draw_study_figures(study, self.analysis, points),
            note_warnings(
                study.design.names, [(own.factor_labels, job.warnings) for own, job in pairs]
            ),
            tuple(list_points(finished.kept)),
        )
        try:
            outcome.write_into(self.order.folder)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # a panic in a library is none of the usual exceptions
            # What was found is told, though it cannot be written; its points are kept.
            return replace(outcome, unwritten=error)
        return outcome


def _begin(order: Order, allowance: Allowance | None) -> _Begun:
    """Check all of a study that can be checked before it is run."""
    try:
        # An analysis may use NumPy without importing it, such as by Series.to_numpy.
        STUDIES.require(f"{order.study.name}: a study")
        jobs = prepare_points(order.study, allowance)
        return _Begun(order, order.study.load_analysis(), jobs)
    except Exception as error:
        return _Begun(order, error=error)
