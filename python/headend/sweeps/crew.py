"""Who runs the jobs of a sweep: threads of this process, or a Dask cluster."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from headend.errors import InputError
from headend.execution import count_cores, execute_all

if TYPE_CHECKING:
    import polars as pl

    from headend.sweeps.job import Job, Parcel
    from headend.sweeps.store import PointStore

#: How long to wait for the answer of a scheduler.
ANSWER_SECONDS = 10

#: How often a cluster is asked what is done, and whether the person wants to stop is looked at.
LOOK_SECONDS = 0.05

_ADDRESS = re.compile(r"((tcp|tls|ws|wss)://)?(\[[^\s/\]]+\]|[^\s/:\[\]]+):\d{1,5}")


@dataclass(frozen=True)
class Failure:
    """Why a point has no result."""

    reason: str


@dataclass(frozen=True)
class Progress:
    """How far a sweep is, in points.

    Parameters
    ----------
    done
        Those that are finished, with those that were kept from before.
    total
        All of them.
    kept
        Those that were there from before.
    running
        How many are being run now.
    """

    done: int
    total: int
    kept: int
    running: int


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class Finished:
    """What became of some jobs, by key: those whose result is kept, and why others failed. A stop leaves some in neither."""

    kept: frozenset[str]
    failures: dict[str, Failure]
    complete: bool


class Crew(Protocol):
    """Those who run jobs."""

    def count_places(self) -> int:
        """Count how many jobs they run at a time."""

    def run(
        self, jobs: Sequence[Job], stop: threading.Event
    ) -> Iterator[tuple[Job, pl.DataFrame | Failure]]:
        """Run jobs and give each as it is done. After ``stop`` is set, those not done are left."""


class Threads:
    """All cores of this machine: the engine lets go of Python's lock, so nothing is copied or pickled."""

    def count_places(self) -> int:
        """Count the cores."""
        return count_cores()

    def run(
        self, jobs: Sequence[Job], stop: threading.Event
    ) -> Iterator[tuple[Job, pl.DataFrame | Failure]]:
        """Run jobs on all cores."""

        def work(job: Job) -> pl.DataFrame | Failure | None:
            try:
                return job.carry_out(stop)
            except Exception as error:
                return Failure(tell(error))

        return execute_all(jobs, work, stop)


class Cluster:
    """The workers of a Dask scheduler. One that dies costs the time of what it was running: others run that again.

    Parameters
    ----------
    address
        Of the scheduler, such as ``tcp://10.0.0.1:8786``.

    Raises
    ------
    InputError
        When Dask is not installed, or nobody answers there.
    """

    def __init__(self, address: str) -> None:
        # Dask finds a malformed address only when half of its client is there, and then waits long for the end of that half.
        if not _ADDRESS.fullmatch(address):
            raise InputError(
                f"--scheduler {address}: expected the address of a Dask scheduler, such as tcp://HOST:8786"
            )
        try:
            from distributed import Client
        except ImportError as error:
            raise InputError(
                "--scheduler needs Dask, which is not installed: pip install 'headend[cluster]'"
            ) from error
        self.address = address
        try:
            self.client: Any = Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(
                f"--scheduler {address}: expected a running Dask scheduler such as tcp://HOST:8786, found no answer"
            ) from error

    def __enter__(self) -> Self:
        """Stay connected for a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster."""
        self.client.close()

    def count_places(self) -> int:
        """Count the threads of all workers."""
        return sum(self.client.nthreads().values())

    def run(
        self, jobs: Sequence[Job], stop: threading.Event
    ) -> Iterator[tuple[Job, pl.DataFrame | Failure]]:
        """Run jobs on the workers."""
        from distributed import as_completed

        batch = uuid.uuid4().hex
        futures = {
            self.client.submit(_carry_out, job.pack(), key=f"headend-{batch}-{job.key}"): job
            for job in jobs
        }
        finished = as_completed(futures, loop=self.client.loop)
        try:
            while not finished.is_empty():
                if stop.is_set():
                    return
                if not finished.has_ready():
                    stop.wait(LOOK_SECONDS)
                    continue
                future = next(finished)
                yield futures[future], self._collect(future)
                future.release()
        finally:
            self.client.cancel(list(futures), force=True)

    def _collect(self, future: Any) -> pl.DataFrame | Failure:
        if future.status in ("cancelled", "lost"):
            raise InputError(
                f"--scheduler {self.address}: the connection was lost; run again to go on"
            )
        try:
            frame: pl.DataFrame = future.result()
        except Exception as error:
            return Failure(tell(error))
        return frame


def run_missing(
    jobs: Sequence[Job],
    store: PointStore,
    stop: threading.Event,
    crew: Crew | None = None,
    on_progress: OnProgress | None = None,
) -> Finished:
    """Run the jobs that the store has not got, keeping each as soon as it is done. Jobs of one key are run once.

    Parameters
    ----------
    jobs
        Any number of them.
    store
        Where finished points are kept and found.
    stop
        Setting it ends the sweep.
    crew
        Who runs them; by default the threads of this process.
    on_progress
        Told whenever a point is done.

    """
    crew = crew or Threads()
    by_key = {job.key: job for job in jobs}
    kept = store.find(by_key)
    missing = [job for key, job in by_key.items() if key not in kept]
    places, shares = crew.count_places(), dict.fromkeys(by_key, 0)
    for job in jobs:
        shares[job.key] += 1
    already = sum(shares[key] for key in kept)
    failures: dict[str, Failure] = {}
    done = already

    def tell_progress(left: int) -> None:
        if on_progress:
            on_progress(Progress(done, len(jobs), already, min(places, left)))

    left = len(missing)
    tell_progress(left)
    for job, outcome in crew.run(missing, stop):
        if isinstance(outcome, Failure):
            failures[job.key] = outcome
        else:
            store.add(job.key, outcome)
            kept.add(job.key)
        left -= 1
        done += shares[job.key]
        tell_progress(left)
    return Finished(frozenset(kept), failures, complete=not left)


def tell(error: Exception) -> str:
    """Say in one line why a point failed."""
    text = " ".join(str(error).split())
    return (
        text if isinstance(error, ValueError | RuntimeError) else f"{type(error).__name__}: {text}"
    )


def _carry_out(parcel: Parcel) -> pl.DataFrame | None:
    return parcel.carry_out()
