"""Executors run the jobs of sweeps and studies; the default one runs them in threads."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from headend.custom.interruption import CodeInterrupted
from headend.errors import refuse_argument
from headend.running.execution import count_cores, execute_all
from headend.running.memory import Allowance, Room, read_allowance

if TYPE_CHECKING:
    import polars as pl

    from headend.results.store import PointStore
    from headend.running.job import Job


@dataclass(frozen=True)
class Failure:
    """Why a point has no result."""

    reason: str


@dataclass(frozen=True)
class Completed:
    """A point's result is in its store."""


@dataclass(frozen=True)
class Batch:
    """Jobs that belong together, and where their results are kept and found."""

    jobs: Sequence[Job]
    store: PointStore


@dataclass(frozen=True)
class Task:
    """A job to run, the store of its result, and the index of its batch."""

    job: Job
    store: PointStore
    batch: int

    def keep(self, result: pl.DataFrame) -> Completed:
        """Keep what was measured, at once: nothing of a point is held in memory after that."""
        self.store.add(self.job.key, result)
        return Completed()


@dataclass(frozen=True)
class Progress:
    """How far all batches together are, in numbers of points.

    Parameters
    ----------
    done
        The finished points, with those that earlier calls kept.
    total
        All points.
    kept
        The points that earlier calls kept.
    running
        The points that are being run now.
    """

    done: int
    total: int
    kept: int
    running: int


OnProgress = Callable[[Progress], None]


def call_before_the_first(act: Callable[[], None], on_progress: OnProgress | None) -> OnProgress:
    """Give a callback that calls ``act`` once, before the first point that has no result is run."""
    done = False

    def count(progress: Progress) -> None:
        nonlocal done
        if not done and progress.total > progress.kept:
            act()
            done = True
        if on_progress:
            on_progress(progress)

    return count


@dataclass(frozen=True)
class Finished:
    """What became of some jobs, by key: kept results, failures. A stop leaves some in neither."""

    kept: frozenset[str]
    failures: dict[str, Failure]
    complete: bool


def read_stop(stop: object, on_progress: object) -> threading.Event:
    """Give the event that ends a sweep, a new one for None.

    Raises
    ------
    InputError
        For a ``stop`` that is no event, and an ``on_progress`` that cannot be called.
    """
    if not (stop is None or isinstance(stop, threading.Event)):
        raise refuse_argument("stop", "a threading.Event", stop)
    if not (on_progress is None or callable(on_progress)):
        raise refuse_argument("on_progress", "a function of one argument", on_progress)
    return stop or threading.Event()


class Executor(Protocol):
    """Runs jobs, several at a time."""

    def count_places(self) -> int:
        """Give the number of jobs that run at a time."""

    def run(
        self, tasks: Iterable[Task], stop: threading.Event
    ) -> Generator[tuple[Task, Completed | Failure], None, None]:
        """Run and keep jobs, and give each when done. A stop or closing leaves the rest undone."""


class Threads:
    """All cores of this machine, or fewer if memory is short: the engine frees Python's lock.

    Parameters
    ----------
    allowance
        What jobs may take of memory together; half of the machine's by default.
    """

    def __init__(self, allowance: Allowance | None = None) -> None:
        self.room = Room(read_allowance(allowance).size)

    def count_places(self) -> int:
        """Count the cores."""
        return count_cores()

    def run(
        self, tasks: Iterable[Task], stop: threading.Event
    ) -> Generator[tuple[Task, Completed | Failure], None, None]:
        """Run jobs on all cores."""

        def work(task: Task) -> Completed | Failure | None:
            try:
                with self.room.take(task.job.memory):
                    result = None if stop.is_set() else task.job.run(stop)
            except CodeInterrupted:
                return None
            except Exception as error:
                return Failure(describe_error(error))
            return None if result is None else task.keep(result)

        return execute_all(tasks, work, stop)


def run_missing(
    batches: Iterable[Batch],
    stop: threading.Event,
    executor: Executor | None = None,
    on_progress: OnProgress | None = None,
) -> Generator[Finished, None, None]:
    """Run the jobs that the stores lack, keeping each when done; equal keys of a batch once.

    All batches are one stream: no core waits for the last job of a batch, and jobs go on while the
    caller reads the results of a batch.

    Parameters
    ----------
    batches
        Any number of them; the first are begun while later ones are still being made.
    stop
        Setting it ends the run.
    executor
        Who runs them; by default the threads of this process.
    on_progress
        Called with the progress whenever a point is done.

    Yields
    ------
    Finished
        What became of each batch, in their order, as soon as it and those before it are done. After
        a stop, those that are not are given too.
    """
    executor = executor or Threads()
    places, ledgers = executor.count_places(), []

    def list_missing() -> Iterator[Task]:
        for number, batch in enumerate(batches):
            ledger = _Ledger(batch)
            ledgers.append(ledger)
            jobs = {job.key: job for job in batch.jobs}
            for key in list(ledger.missing):
                yield Task(jobs[key], batch.store, number)
        describe_progress()

    def describe_progress() -> None:
        if on_progress:
            remaining = sum(len(ledger.missing) for ledger in ledgers)
            done, total, kept = (
                sum(getattr(ledger, name) for ledger in ledgers)
                for name in ("done", "total", "already")
            )
            on_progress(Progress(done, total, kept, min(places, remaining)))

    yielded = 0
    with closing(executor.run(list_missing(), stop)) as stream:
        for task, outcome in stream:
            ledgers[task.batch].enter(task.job.key, outcome)
            describe_progress()
            while yielded < len(ledgers) and not ledgers[yielded].missing:
                yield ledgers[yielded].close()
                yielded += 1
    for ledger in ledgers[yielded:]:
        yield ledger.close()


class _Ledger:
    """What of a batch is done."""

    def __init__(self, batch: Batch) -> None:
        self.shares = Counter(job.key for job in batch.jobs)
        self.kept = batch.store.find(self.shares)
        self.missing = dict.fromkeys(key for key in self.shares if key not in self.kept)
        self.failures: dict[str, Failure] = {}
        self.total = len(batch.jobs)
        self.already = self.done = sum(self.shares[key] for key in self.kept)

    def enter(self, key: str, outcome: Completed | Failure) -> None:
        """Note what became of a job."""
        if isinstance(outcome, Failure):
            self.failures[key] = outcome
        else:
            self.kept.add(key)
        del self.missing[key]
        self.done += self.shares[key]

    def close(self) -> Finished:
        """Say what became of all."""
        return Finished(frozenset(self.kept), self.failures, complete=not self.missing)


def describe_error(error: Exception) -> str:
    """Say in one line why a point failed."""
    text = " ".join(str(error).split())
    return (
        text if isinstance(error, ValueError | RuntimeError) else f"{type(error).__name__}: {text}"
    )
