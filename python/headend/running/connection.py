"""A connection to a Dask scheduler: bounded in time, stoppable, and without its log lines."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import logging
import os
import threading
import time
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar

from headend.errors import InputError
from headend.extras import CLUSTER

#: How long a scheduler has to answer before it is taken for none.
ANSWER_SECONDS = 7

#: How long the end of a connection may take, whatever the scheduler does.
END_SECONDS = 0.5

#: How often a person who wants to stop is looked for.
LOOK_SECONDS = 0.05

#: The packages whose log lines and warnings are not for those who run a sweep.
_LIBRARIES = ("distributed", "dask", "tornado", "bokeh")

Answer = TypeVar("Answer")


class Stopped(Exception):  # noqa: N818 - no error: what was asked for
    """The person asked to stop."""


class Connection:
    """A Dask client on an event loop in a thread of its own: no call can block its user.

    Parameters
    ----------
    address
        Of the scheduler.
    stop
        Setting it ends whatever is waited for. Another one may take its place later.

    Raises
    ------
    InputError
        When Dask is not installed, or no scheduler answers in time.
    Stopped
        When ``stop`` is set before it answers.
    """

    def __init__(self, address: str, stop: threading.Event) -> None:
        self.address = address
        self.client: Any = None
        self.stop = stop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failure: BaseException | None = None
        self._ready = threading.Event()
        self._silence = ExitStack()
        self._is_left = False
        self._thread = threading.Thread(target=self._serve, name="headend-cluster", daemon=True)
        self._thread.start()
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def ask(self, question: Callable[[], Awaitable[Answer]], seconds: float) -> Answer:
        """Wait for the answer to a question that is asked on the event loop.

        Raises
        ------
        TimeoutError
            When there is none in time.
        Stopped
            When ``stop`` is set first.
        """
        answer = self.begin(question)
        deadline = time.monotonic() + seconds
        try:
            while not answer.done():
                remaining = deadline - time.monotonic()
                if self.stop.is_set():
                    raise Stopped
                if remaining <= 0:
                    raise TimeoutError
                concurrent.futures.wait([answer], timeout=min(LOOK_SECONDS, remaining))
            return answer.result()
        finally:
            answer.cancel()

    def begin(self, question: Callable[[], Awaitable[Answer]]) -> concurrent.futures.Future[Answer]:
        """Ask a question whose answer is looked at later."""
        assert self._loop is not None, "a connection that was opened has a loop"

        async def put() -> Answer:
            return await question()

        return asyncio.run_coroutine_threadsafe(put(), self._loop)

    def close(self) -> None:
        """Leave the scheduler, whose answer is awaited only briefly."""
        self._is_left = True
        if self._loop is not None:
            if self.client is not None:
                farewell = self.begin(self._leave)
                concurrent.futures.wait([farewell], timeout=END_SECONDS)
                farewell.cancel()
                # Otherwise the library tries once more when the client is collected.
                self.client.status = "closed"
            with suppress(RuntimeError):  # it is closed where there was no need to begin
                self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=2 * END_SECONDS)
        # What could not be ended may still have something to say, up to the end of the process.
        if not self._thread.is_alive():
            self.client = None
            gc.collect()  # an open stream says so when it is collected
            self._silence.close()

    def _open(self) -> None:
        """Import the library and connect."""
        while not self._ready.wait(LOOK_SECONDS):
            if self.stop.is_set():
                raise Stopped
        if isinstance(self._failure, ImportError):
            CLUSTER.require("--scheduler")
            why = " ".join(str(self._failure).split())
            raise InputError(f"--scheduler: Dask cannot be imported: {why}") from self._failure
        if self._failure:
            raise self._failure
        # Only now: the library configures its loggers when it is imported.
        self._silence.enter_context(_silence_libraries())
        try:
            self.ask(self._connect, ANSWER_SECONDS)
            return
        except Stopped:
            raise
        except Exception as error:
            found = _describe_found(error, self.address)
        # Not raised from the error, which holds on to what is to be closed.
        raise InputError(
            f"--scheduler {self.address}: expected a running Dask scheduler such as"
            f" tcp://HOST:8786, found {found}"
        )

    async def _connect(self) -> None:
        from distributed import Client

        self.client = Client(
            self.address, asynchronous=True, timeout=ANSWER_SECONDS, set_as_default=False
        )
        await self.client

    async def _leave(self) -> None:
        await self.client.close(timeout=END_SECONDS)

    def _serve(self) -> None:
        """Run the event loop until it is stopped, and end what still runs on it."""
        try:
            import distributed  # noqa: F401 - takes a second: in this thread, so that a stop is heard

            self._loop = asyncio.new_event_loop()
        except BaseException as error:
            self._failure = error
            return
        finally:
            self._ready.set()
        loop = self._loop
        # What goes wrong is told by what is asked; failed tasks of the library add nothing.
        loop.set_exception_handler(lambda _loop, _context: None)
        try:
            if not self._is_left:
                loop.run_forever()
            if tasks := asyncio.all_tasks(loop):
                for task in tasks:
                    task.cancel()
                loop.run_until_complete(asyncio.wait(tasks, timeout=END_SECONDS))
        finally:
            loop.close()


def _describe_found(error: Exception, address: str) -> str:
    """Say what is there in place of a scheduler."""
    from distributed.comm import CommClosedError

    if isinstance(error, CommClosedError):
        return "a listener that closes the connection"
    if isinstance(error, OSError):  # also TimeoutError
        return "no answer"
    if isinstance(error, TypeError) and address.startswith(("tls:", "wss:")):
        return (
            "no certificates to connect with, which Dask's configuration names"
            " (distributed.comm.tls)"
        )
    if isinstance(error, ImportError):
        return f"one that refuses this version of Dask: {' '.join(str(error).split())}"
    return "a listener that is not one"


class _Silence:
    """Silence from the first who wants it to the last, in whatever order they leave."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._undo = ExitStack()

    def begin(self) -> None:
        with self._lock:
            if self._count == 0:
                self._undo.enter_context(_mute())
            self._count += 1

    def end(self) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0:
                self._undo.close()


#: Loggers and filters of warnings belong to the process, so all connections share it.
_SILENCE = _Silence()


@contextmanager
def _silence_libraries() -> Iterator[None]:
    """Keep what Dask logs and warns of from standard error, unless logging is configured."""
    if "HEADEND_TRACEBACK" in os.environ or logging.getLogger().handlers:
        yield
        return
    _SILENCE.begin()
    try:
        yield
    finally:
        _SILENCE.end()


@contextmanager
def _mute() -> Iterator[None]:
    """Change the loggers and the filters of warnings."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=rf"({'|'.join(_LIBRARIES)})(\.|$)")
        known = [
            logger
            for name, logger in list(logging.Logger.manager.loggerDict.items())
            if name.partition(".")[0] in _LIBRARIES and isinstance(logger, logging.Logger)
        ]
        loggers = {*known, *map(logging.getLogger, _LIBRARIES)}
        before = [(logger, logger.handlers, logger.propagate) for logger in loggers]
        for logger in loggers:
            logger.handlers = [logging.NullHandler()]
            logger.propagate = False
        try:
            yield
        finally:
            for logger, handlers, propagate in before:
                logger.handlers, logger.propagate = handlers, propagate
