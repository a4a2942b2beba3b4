"""The workers of a Dask scheduler as a crew: what they are given, and what their deaths cost."""

from __future__ import annotations

import logging
import re
import threading
import time
import uuid
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from headend.errors import InputError, refuse_argument
from headend.sweeps.crew import Crew, Failure, Kept, Task, Threads, tell

if TYPE_CHECKING:
    import polars as pl

    from headend.sweeps.job import Parcel

#: Where nobody has configured logging, a warning is a line on standard error.
_LOGGER = logging.getLogger(__name__)

#: How long to wait for the answer of a scheduler.
ANSWER_SECONDS = 10

#: How long a cluster may be without workers before that is said.
PATIENCE_SECONDS = 5

#: How often a cluster is asked what is done, and whether the person wants to stop is looked at.
LOOK_SECONDS = 0.05

_ADDRESS = re.compile(r"((tcp|tls|ws|wss)://)?(\[[^\s/\]]+\]|[^\s/:\[\]]+):\d{1,5}")

#: Why a point failed that took several workers with it.
_DIED = Failure(
    "each worker that ran it died, also when it ran alone; most often memory ran out, which the worker's log tells"
)


@contextmanager
def open_crew(scheduler: str | None) -> Iterator[Crew]:
    """Give those who run the points: this machine's cores, or a cluster's workers."""
    if scheduler is None:
        yield Threads()
        return
    with Cluster(scheduler) as cluster:
        yield cluster


class Cluster:
    """The workers of a Dask scheduler. One that dies costs the time of what it ran and still held: others run that again.

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
        expected = "the address of a Dask scheduler, such as tcp://HOST:8786"
        if not isinstance(address, str):
            raise refuse_argument("scheduler", expected, address)
        if not _ADDRESS.fullmatch(address):
            raise InputError(f"--scheduler {address}: expected {expected}")
        try:
            from distributed import Client
        except ImportError as error:
            raise InputError(
                "--scheduler needs Dask, which is not installed: pip install 'headend[cluster]'"
            ) from error
        self.address = address
        self._is_deserted = False
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
        self, tasks: Iterable[Task], stop: threading.Event
    ) -> Generator[tuple[Task, Kept | Failure], None, None]:
        """Run jobs on the workers, and those again alone that were there whenever a worker died: one of them may be the cause."""
        name = f"headend-{uuid.uuid4().hex}"
        futures: dict[Any, Task] = {}
        suspects: list[Task] = []
        try:
            for task in tasks:
                futures[self._submit(task, name)] = task
            for task, outcome in self._finish(futures, stop):
                if outcome == _DIED and len(futures) > 1:
                    suspects.append(task)
                else:
                    yield task, outcome
            for task in suspects:
                alone = self._submit(task, f"{name}-alone")
                futures[alone] = task
                yield from self._finish({alone: task}, stop)
        finally:
            self.client.cancel(list(futures), force=True)

    def _submit(self, task: Task, name: str) -> Any:
        key = f"{name}-{task.batch}-{task.job.key}"
        return self.client.submit(_carry_out, task.job.pack(), key=key)

    def _finish(
        self, futures: dict[Any, Task], stop: threading.Event
    ) -> Iterator[tuple[Task, Kept | Failure]]:
        """Keep results as they come."""
        from distributed import as_completed

        finished = as_completed(futures, loop=self.client.loop)
        look_at = time.monotonic() + PATIENCE_SECONDS
        while not finished.is_empty():
            if stop.is_set():
                return
            if not finished.has_ready():
                stop.wait(LOOK_SECONDS)
                if time.monotonic() >= look_at:
                    self._tell_if_deserted()
                    look_at = time.monotonic() + PATIENCE_SECONDS
                continue
            future = next(finished)
            if future.status == "lost":
                # Its worker died with the result, and the scheduler has it run again elsewhere.
                finished.add(future)
                continue
            task, result = futures[future], self._collect(future)
            future.release()
            yield task, result if isinstance(result, Failure) else task.keep(result)

    def _tell_if_deserted(self) -> None:
        """Say once, whenever it is so, that there is nobody to run anything."""
        try:
            deserted = not self.count_places()
        except OSError:
            return  # that the connection is lost is told by what is awaited
        if deserted and not self._is_deserted:
            _LOGGER.warning(
                "waiting: the scheduler %s has no workers; dask worker %s starts one",
                self.address,
                self.address,
            )
        self._is_deserted = deserted

    def _collect(self, future: Any) -> pl.DataFrame | Failure:
        from distributed import KilledWorker

        try:
            frame: pl.DataFrame = future.result()
        except KilledWorker:
            return _DIED
        except Exception as error:
            if future.cancelled():
                raise InputError(
                    f"--scheduler {self.address}: the connection was lost; run again to go on"
                ) from error
            return Failure(tell(error))
        return frame


def _carry_out(parcel: Parcel) -> pl.DataFrame | None:
    return parcel.carry_out()
