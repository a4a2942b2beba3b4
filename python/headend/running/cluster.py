"""The workers of a Dask scheduler as an executor: their tasks, and what their deaths cost."""

from __future__ import annotations

import concurrent.futures
import logging
import pickle
import re
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from headend.errors import InputError, refuse_argument
from headend.running.connection import LOOK_SECONDS, Connection, Stopped
from headend.running.executor import Completed, Executor, Failure, Task, Threads, describe_error
from headend.running.job import OtherBuildError

if TYPE_CHECKING:
    import polars as pl

    from headend.running.job import RemoteJob
    from headend.running.memory import Allowance

#: Where nobody has configured logging, a warning is a line on standard error.
_LOGGER = logging.getLogger(__name__)

#: How often it is said that a cluster has no workers, or does not answer.
PATIENCE_SECONDS = 5

#: How often a cluster is asked for its workers, and how long its answer may take before it is late.
COUNT_SECONDS = 1

_ADDRESS = re.compile(r"((tcp|tls|ws|wss)://)?(\[[^\s/\]]+\]|[^\s/:\[\]]+):[0-9]{1,5}")

#: Why a point failed that took several workers with it.
_DIED = Failure(
    "each worker that ran it died, also when it ran alone; most often memory ran out, which the"
    " worker's log tells"
)

#: What keeps a sweep waiting.
_DESERTED = "waiting: the scheduler {0} has no workers; dask worker {0} starts one"
_SILENT = "waiting: the scheduler {0} does not answer"


@contextmanager
def open_executor(
    scheduler: str | None,
    allowance: Allowance | None = None,
    stop: threading.Event | None = None,
) -> Iterator[Executor]:
    """Give the executor of the points: this machine's cores, or a cluster's workers."""
    if scheduler is None:
        yield Threads(allowance)
        return
    with Cluster(scheduler, stop) as cluster:
        yield cluster


class Cluster:
    """The workers of a Dask scheduler. What a dying one ran and held is run again by others.

    Parameters
    ----------
    address
        Of the scheduler, such as ``tcp://10.0.0.1:8786``.
    stop
        Setting it ends the wait for the scheduler's answer; the executor then runs nothing.

    Raises
    ------
    InputError
        When Dask is not installed, or no scheduler answers there.
    """

    def __init__(self, address: str, stop: threading.Event | None = None) -> None:
        # Dask finds a malformed address only when half of its client is there, and then waits long
        # for the end of that half.
        expected = "the address of a Dask scheduler, such as tcp://HOST:8786"
        if not isinstance(address, str):
            raise refuse_argument("scheduler", expected, address)
        if not _ADDRESS.fullmatch(address):
            raise InputError(f"--scheduler {address}: expected {expected}")
        self.address = address
        self._connection: Connection | None = None
        try:
            self._connection = Connection(address, stop or threading.Event())
        except Stopped:
            return
        try:
            self._describe_versions()
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        """Stay connected for a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster."""
        if self._connection:
            self._connection.close()

    @property
    def client(self) -> Any:
        """The library's client, on the connection's event loop: `ask` calls what waits."""
        return self._connected.client

    def ask(self, question: Callable[[], Awaitable[Any]], seconds: float) -> Any:
        """Wait for an answer of the client.

        Raises
        ------
        Stopped, TimeoutError
            When the person wants to stop, and when there is none in time.
        """
        return self._connected.ask(question, seconds)

    def count_places(self) -> int:
        """Count the threads of all workers; none where the scheduler does not say."""
        if self._connection is None:
            return 0
        try:
            return int(self.ask(self._count, COUNT_SECONDS))
        except (OSError, Stopped):
            return 0

    def run(
        self, tasks: Iterable[Task], stop: threading.Event
    ) -> Generator[tuple[Task, Completed | Failure], None, None]:
        """Run jobs on the workers.

        Jobs that were running whenever a worker died are run once more, one at a time: one of them
        may be the cause.
        """
        if self._connection is None:
            _pass_over(tasks)
            return
        self._connection.stop = stop
        name = f"headend-{uuid.uuid4().hex}"
        watch = _Watch(self.address, self._connection, self._count)
        futures: dict[Any, Task] = {}
        suspects: list[Task] = []
        tasks = iter(tasks)
        try:
            for task in tasks:
                futures[self._submit(task, name, watch)] = task
            for task, outcome in self._finish(futures, watch):
                if outcome == _DIED and len(futures) > 1:
                    suspects.append(task)
                else:
                    yield task, outcome
            for task in suspects:
                alone = self._submit(task, f"{name}-alone", watch)
                futures[alone] = task
                yield from self._finish({alone: task}, watch)
        except Stopped:
            _pass_over(tasks)
        finally:
            self._abandon(futures)

    def _submit(self, task: Task, name: str, watch: _Watch) -> Any:
        """Hand out a job in its own pickle: schedulers open others, and may lack headend."""
        key = f"{name}-{task.batch}-{task.job.key}"
        content = pickle.dumps(_Errand(task.job.pack()))

        async def submit() -> Any:
            return self.client.submit(pickle.loads, content, key=key)

        return watch.wait(self._connected.begin(submit))

    def _finish(
        self, futures: dict[Any, Task], watch: _Watch
    ) -> Iterator[tuple[Task, Completed | Failure]]:
        """Keep results as they come."""
        from distributed import as_completed

        finished = as_completed(futures, loop=self.client.loop)
        while not finished.is_empty():
            watch.look()
            if not finished.has_ready():
                self._connected.stop.wait(LOOK_SECONDS)
                continue
            future = next(finished)
            if future.status == "lost":
                # Its worker died with the result, and the scheduler has it run again elsewhere.
                finished.add(future)
                continue
            task, result = futures[future], self._collect(future, watch)
            future.release()
            yield task, result if isinstance(result, Failure) else task.keep(result)

    def _collect(self, future: Any, watch: _Watch) -> pl.DataFrame | Failure:
        from distributed import KilledWorker

        async def fetch() -> Any:
            return await future.result()

        try:
            result: pl.DataFrame | Failure | _Refusal = watch.wait(self._connected.begin(fetch))
        except (InputError, Stopped):
            raise
        except KilledWorker:
            return _DIED
        except (ImportError, AttributeError) as error:
            from headend.version import read_version

            raise InputError(
                f"--scheduler {self.address}: a worker has no headend, or another version of it"
                f" ({describe_error(error)}); install headend {read_version()} there, restart the"
                " worker, and run again to go on"
            ) from error
        except Exception as error:
            if future.cancelled():
                raise _lose(self.address) from error
            return Failure(describe_error(error))
        if isinstance(result, _Refusal):
            raise InputError(f"--scheduler {self.address}: {result.reason}")
        return result

    def _abandon(self, futures: Iterable[Any]) -> None:
        """Let the workers begin nothing more of this."""
        pending = list(futures)

        async def cancel() -> None:
            await self.client.cancel(pending, force=True)

        concurrent.futures.wait([self._connected.begin(cancel)], timeout=LOOK_SECONDS)

    def _describe_versions(self) -> None:
        """Warn where workers have other versions of what both sides must share."""

        async def find() -> Any:
            return await self.client.get_versions()

        try:
            versions = self.ask(find, COUNT_SECONDS)
        except Exception:
            return  # a matter of what may go wrong later, and told again where it does
        here = _list_versions(versions["client"])
        others = sorted(
            {_list_versions(worker) for worker in versions["workers"].values()} - {here}
        )
        if others:
            _LOGGER.warning(
                "the workers of the scheduler %s have other versions: %s; here %s",
                self.address,
                "; ".join(others),
                here,
            )

    @property
    def _connected(self) -> Connection:
        assert self._connection, "a stopped executor without a connection is asked nothing"
        return self._connection

    async def _count(self) -> int:
        return sum((await self.client.nthreads()).values())


class _Watch:
    """Waits for a cluster: gives up if in vain, and reports what makes it long."""

    def __init__(
        self, address: str, connection: Connection, count: Callable[[], Awaitable[int]]
    ) -> None:
        self._address = address
        self._connection = connection
        self._count = count
        self._answer: concurrent.futures.Future[int] | None = None
        self._ask_at = time.monotonic()
        self._trouble: str | None = None
        self._warn_at = 0.0
        self._is_told = False

    def wait(self, answer: concurrent.futures.Future[Any]) -> Any:
        """Wait for an answer, however long it takes."""
        try:
            while not answer.done():
                self.look()
                concurrent.futures.wait([answer], timeout=LOOK_SECONDS)
            return answer.result()
        finally:
            answer.cancel()

    def look(self) -> None:
        """Look whether there is still something to wait for.

        Raises
        ------
        Stopped, InputError
            When the person wants to stop, and when the connection is lost.
        """
        if self._connection.stop.is_set():
            raise Stopped
        if self._connection.client.status != "running":
            raise _lose(self._address)
        now = time.monotonic()
        if self._answer is None:
            if now < self._ask_at:
                return
            self._answer, self._ask_at = self._connection.begin(self._count), now + COUNT_SECONDS
        if self._answer.done():
            try:
                places = self._answer.result()
            except Exception as error:
                raise _lose(self._address) from error
            self._answer = None
            self._note(None if places else _DESERTED, now)
        elif now >= self._ask_at:
            self._note(_SILENT, now)

    def _note(self, trouble: str | None, now: float) -> None:
        """Note what is wrong, and say so while it lasts, and once when it is over."""
        if trouble != self._trouble:
            self._trouble, self._warn_at = trouble, now + PATIENCE_SECONDS
        if trouble is None:
            if self._is_told:
                _LOGGER.warning("going on: the scheduler %s has workers again", self._address)
            self._is_told = False
        elif now >= self._warn_at:
            _LOGGER.warning(trouble.format(self._address))
            self._warn_at, self._is_told = now + PATIENCE_SECONDS, True


@dataclass(frozen=True)
class _Errand:
    """What a worker is sent. To unpickle it is to run it: what it gives is the point's result."""

    remote: RemoteJob

    def __reduce__(self) -> tuple[Callable[..., object], tuple[RemoteJob]]:
        return _carry_out, (self.remote,)


@dataclass(frozen=True)
class _Refusal:
    """Why a worker is of no use for any point of the sweep."""

    reason: str


def _carry_out(remote: RemoteJob) -> pl.DataFrame | Failure | _Refusal | None:
    """Run a point on a worker; what is raised here is about what the worker lacks."""
    try:
        return remote.run()
    except OtherBuildError as error:
        from distributed import get_worker

        return _Refusal(f"the worker {get_worker().address} has {error}")
    except ImportError:
        raise
    except Exception as error:
        return Failure(describe_error(error))


def _pass_over(tasks: Iterable[Task]) -> None:
    """Take the tasks that are left, and leave them: only then is it known how many there are."""
    for _ in tasks:
        pass


def _lose(address: str) -> InputError:
    return InputError(f"--scheduler {address}: the connection was lost; run again to go on")


def _list_versions(side: Any) -> str:
    """Name what both sides must have alike; of Python, a release with the same features."""
    packages = side["packages"]
    python = ".".join(packages["python"].split(".")[:2])
    return f"Python {python}, Distributed {packages['distributed']}"
