"""Driving the engine through one run: progress, stopping early, several runs at once."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from headend.custom.interruption import PATIENCE_SECONDS, CodeInterrupted, interrupt_code
from headend.text.quantity import format_quantity

if TYPE_CHECKING:
    from types import FrameType

    from headend._engine import Columns, Scenario
    from headend.results.capture import Capture

#: How long the engine runs before it is asked again whether to go on; Ctrl-C is answered within it.
SLICE_SECONDS = 0.1

Progress = Callable[[int], None]
#: What `describe_failure` begins with.
_AT = re.compile(r"^at \S+ \S+ of simulated time, ")

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class Execution:
    """What one run gave."""

    tables: dict[str, Columns]
    simulated_ns: int
    finished: bool
    wall_seconds: float
    engine_version: str
    capture: Capture | None = None
    #: What code of the user's own said when it failed and ended the run; None if none did.
    failure: str | None = None
    #: How the frames of a recording ended, as JSON; None where there was no recording.
    frames: str | None = None
    #: Ends of connections, or rows, that the observation of senders had no room for.
    left_out: int = 0


def execute(
    scenario: Scenario,
    *,
    seed: int | None = None,
    follow: tuple[str, int] | None = None,
    on_progress: Progress | None = None,
    stop: threading.Event | None = None,
    recording: bytes | None = None,
    observe: tuple[str, Sequence[str]] | None = None,
    on_qlog: Callable[[Mapping[str, bytes]], None] | None = None,
) -> Execution:
    """Run a scenario to its end, or until ``stop`` is set.

    Parameters
    ----------
    follow
        A flow, and a time in ns from which on its next packet is followed.
    on_progress
        Called with the simulated time so far, in ns.
    stop
        Setting it ends the run early; what was measured so far is given, with ``finished`` False.
    recording
        The arrivals of real hosts, as an emulation recorded them.
    observe
        ``qlog`` or ``tcp_info``, and the flows whose senders are observed: the traces are passed
        on, or become the table ``tcp_info``.
    on_qlog
        Called with a piece of each trace, by the trace's name, to be appended to earlier ones.
    """
    from headend._engine import Run

    started = time.monotonic()
    run = Run(scenario, seed, follow, recording, observe)
    simulated_ns, finished = 0, False
    capture = None
    if pieces := run.take_capture():
        from headend.results.capture import Capture

        capture = Capture()
        capture.append(pieces)
    interrupted = False
    while not finished and not (stop and stop.is_set()):
        try:
            simulated_ns, finished = run.advance(SLICE_SECONDS)
        except CodeInterrupted:
            simulated_ns, interrupted = run.now, True
            break
        if capture:
            capture.append(run.take_capture())
        if on_qlog:
            on_qlog(run.take_qlog())
        if on_progress:
            on_progress(simulated_ns)
    frames = None if recording is None else run.frames()
    failure = None if interrupted else run.failure()
    return Execution(
        tables=run.finish(),
        simulated_ns=simulated_ns,
        finished=finished and failure is None,
        failure=failure,
        wall_seconds=time.monotonic() - started,
        engine_version=run.engine_version,
        capture=capture,
        frames=frames,
        left_out=run.left_out() if observe else 0,
    )


def describe_failure(failure: str, simulated_ns: int) -> str:
    """Say what code of the user's own said when it failed, and when that was."""
    return f"at {format_quantity(simulated_ns, 'time')} of simulated time, {failure}"


def remove_time(reason: str) -> str:
    """Give what `describe_failure` said without the time; any other text as it is.

    Examples
    --------
    >>> remove_time(describe_failure("my.py:Law: no", 2_100_000_000))
    'my.py:Law: no'
    """
    return _AT.sub("", reason)


def execute_all(
    jobs: Iterable[Job], work: Callable[[Job], Outcome | None], stop: threading.Event
) -> Generator[tuple[Job, Outcome], None, None]:
    """Do the work for every job on all cores, giving each as it is done.

    The engine lets go of Python's lock while it runs, so threads are enough. The first jobs are
    begun while later ones are still being made, and the others go on while the one who asked looks
    at an outcome. After ``stop`` is set no further job is begun. Work that gives None was not
    finished and is left out.
    """

    def attempt(job: Job) -> Outcome | None:
        return None if stop.is_set() else work(job)

    with ThreadPoolExecutor(max_workers=count_cores()) as pool:
        try:
            futures = {pool.submit(attempt, job): job for job in jobs}
            for future in as_completed(futures):
                outcome = future.result()
                if outcome is not None:
                    yield futures[future], outcome
        except BaseException:
            stop.set()
            raise


def count_cores() -> int:
    """Count the processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


@contextmanager
def stop_on_interrupt() -> Iterator[threading.Event]:
    """Turn Ctrl-C and SIGTERM into a request to stop; the second one interrupts at once.

    Code of the user's own that has not returned `PATIENCE_SECONDS` later is interrupted in its
    call.

    Yields
    ------
    threading.Event
        Set when the person asked to stop.
    """
    stop, asked, over = threading.Event(), threading.Event(), threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        asked.set()

    def watch() -> None:
        asked.wait()
        while not over.wait(PATIENCE_SECONDS):
            interrupt_code()

    watcher = threading.Thread(target=watch, name="headend-interruption", daemon=True)
    watcher.start()
    try:
        with _handle_interrupts(ask):
            yield stop
    finally:
        over.set()
        asked.set()


@contextmanager
def interrupt_at_once() -> Iterator[None]:
    """Within `stop_on_interrupt`, let Ctrl-C and SIGTERM interrupt a block that never asks."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handle_interrupts(interrupt):
        yield


@contextmanager
def _handle_interrupts(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Give Ctrl-C and SIGTERM to a handler; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {
        number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, before in previous.items():
            signal.signal(number, before)
