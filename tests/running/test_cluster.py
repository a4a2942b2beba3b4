"""A Dask scheduler that is none, is stopped, or loses workers: every command ends."""

from __future__ import annotations

import logging
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import headend
from headend.errors import InputError
from headend.running import connection
from headend.running.connection import ANSWER_SECONDS, Connection, Stopped
from headend.running.job import Job, OtherBuildError, fingerprint_engine
from headend.sweeps import SweepResult
from headend.sweeps.experiment import prepare_all, read_any

distributed = pytest.importorskip("distributed", reason="needs headend[cluster]")

#: Dask warns where the port of its page is taken.
pytestmark = pytest.mark.filterwarnings("default")

LINE = """\
duration = "2 s"
bottleneck = "line.up"
link.line.point_to_point.up = { rate = "1 Mbit/s", queue = "drop_tail" }
[flow.ping]
application = "ping"
"""

SWEEP = """\
scenario = "line.toml"
seeds = 2
[grid]
flow.ping.rtt = ["10 ms", "30 ms"]
[measures]
rtt = "ping.rtt.mean"
"""

#: How long a test waits for what never comes before it fails, in seconds: far more than is needed.
PATIENCE = 300

#: Runs a module of Dask's command line where headend is not installed.
WITHOUT_HEADEND = """\
import runpy, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "headend":
            raise ModuleNotFoundError("No module named 'headend'", name=name)
sys.meta_path.insert(0, Missing())
sys.argv[:2] = sys.argv[1:2]
runpy.run_module(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "line.toml").write_text(LINE, encoding="utf-8")
    (tmp_path / "small.toml").write_text(SWEEP, encoding="utf-8")
    long = SWEEP.replace("[grid]", '[set]\nduration = "800000 s"\n[grid]')
    (tmp_path / "long.toml").write_text(long, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def deserted() -> Iterator[str]:
    """A scheduler that no worker has come to."""
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as local:
        yield local.scheduler_address


def wait_until(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.05)
    pytest.fail(f"never: {what}")


@contextmanager
def start(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a Python program for a block, and end it whatever becomes of the block."""
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    patience = threading.Timer(PATIENCE, process.kill)
    patience.start()
    try:
        yield process
    finally:
        patience.cancel()
        process.kill()
        process.communicate()


@contextmanager
def start_sweep(file: str, address: str) -> Iterator[subprocess.Popen[str]]:
    command = ["sweep", file, "--out", "out", "--force", "--quiet", "--scheduler", address]
    with start("-m", "headend", *command) as process:
        yield process


def start_dask(part: str, *arguments: str, without_headend: bool = False) -> Any:
    module = f"distributed.cli.dask_{part}"
    program = ["-c", WITHOUT_HEADEND, module] if without_headend else ["-m", module]
    return start(*program, "--no-dashboard", *arguments)


def start_worker(address: str, *, without_headend: bool = False) -> Any:
    return start_dask(
        "worker", address, "--no-nanny", "--nthreads", "1", without_headend=without_headend
    )


@contextmanager
def start_scheduler(
    *, without_headend: bool = False
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    place = ("--host", "127.0.0.1", "--port", "0")
    with start_dask("scheduler", *place, without_headend=without_headend) as process:
        assert process.stderr
        told = (re.search(r"Scheduler at: +(tcp://\S+)", line) for line in process.stderr)
        yield process, next(match[1] for match in told if match)


def hold(peer: socket.socket) -> None:
    """Say nothing until the other side has had enough."""
    while peer.recv(4096):
        pass


def talk(content: bytes) -> Callable[[socket.socket], None]:
    def answer(peer: socket.socket) -> None:
        peer.sendall(content)
        hold(peer)

    return answer


@contextmanager
def listen(answer: Callable[[socket.socket], None]) -> Iterator[tuple[str, threading.Event]]:
    """A listener that is no scheduler, its address, and what is set once somebody has come."""
    visited = threading.Event()

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            visited.set()
            threading.Thread(target=attend, args=(peer,), daemon=True).start()

    def attend(peer: socket.socket) -> None:
        with peer, suppress(OSError):
            answer(peer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}", visited
        listener.shutdown(socket.SHUT_RDWR)


def list_jobs(file: str) -> list[Job]:
    return [item for _, item in prepare_all(read_any(file)) if isinstance(item, Job)]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        pytest.param(hold, "no answer", marks=pytest.mark.slow),
        (socket.socket.close, "a listener that closes the connection"),
        (talk(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "a listener that is not one"),
        (talk(b"SSH-2.0-OpenSSH_9.2p1\r\n"), "a listener that is not one"),
        (talk(bytes(64)), "a listener that is not one"),
        (talk(bytes(range(200, 256)) * 9), "a listener that is not one"),
    ],
    ids=["silent", "closes", "http", "ssh", "zeros", "noise"],
)
def test_a_listener_that_is_no_scheduler_is_answered_by_one_line(
    folder: Path, answer: Callable[[socket.socket], None], found: str
) -> None:
    with listen(answer) as (address, _), start_sweep("small.toml", address) as process:
        output, errors = process.communicate(timeout=PATIENCE)
    assert errors == (
        f"error: --scheduler {address}: expected a running Dask scheduler such as"
        f" tcp://HOST:8786, found {found}\n"
    )
    assert (process.returncode, output) == (2, "")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    "answer", [hold, talk((1 << 33).to_bytes(8, "little"))], ids=["silent", "promises"]
)
def test_an_answer_is_awaited_only_so_long(
    folder: Path, monkeypatch: pytest.MonkeyPatch, answer: Callable[[socket.socket], None]
) -> None:
    assert ANSWER_SECONDS < 10
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 0.5)
    with listen(answer) as (address, visited):
        with pytest.raises(InputError, match="found no answer"):
            headend.sweep("small.toml", scheduler=address)
        assert visited.is_set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_wait_for_a_scheduler(folder: Path, number: signal.Signals) -> None:
    with listen(hold) as (address, visited), start_sweep("small.toml", address) as process:
        assert visited.wait(PATIENCE)
        process.send_signal(number)
        output, errors = process.communicate(timeout=PATIENCE)
    assert errors == "interrupted: 0 of 4 points are kept in out; run again to go on\n"
    assert (process.returncode, output) == (130, "")


@pytest.mark.slow
def test_a_signal_ends_the_wait_for_workers(folder: Path, deserted: str) -> None:
    with start_sweep("small.toml", deserted) as process:
        assert process.stderr
        line = process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE)
    assert line == (
        f"waiting: the scheduler {deserted} has no workers; dask worker {deserted} starts one\n"
    )
    assert errors == "interrupted: 0 of 4 points are kept in out; run again to go on\n"
    assert process.returncode == 130


def test_a_stop_while_it_connects_leaves_all_points(folder: Path) -> None:
    stop = threading.Event()
    found: list[SweepResult] = []

    def run(address: str) -> None:
        found.append(headend.sweep("small.toml", scheduler=address, stop=stop))

    with listen(hold) as (address, visited):
        thread = threading.Thread(target=run, args=(address,))
        thread.start()
        assert visited.wait(PATIENCE)
        stop.set()
        thread.join(PATIENCE)
    assert not found[0].complete
    assert found[0].table.is_empty()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")
def test_a_scheduler_that_stops_answering_or_dies_is_said_so(folder: Path) -> None:
    with (
        start_scheduler() as (scheduler, address),
        start_worker(address),
        start_sweep("long.toml", address) as process,
    ):
        with distributed.Client(address, set_as_default=False) as client:
            wait_until(lambda: any(client.processing().values()), "a point is being run")
        scheduler.send_signal(signal.SIGSTOP)
        assert process.stderr
        line = process.stderr.readline()
        scheduler.kill()
        output, errors = process.communicate(timeout=PATIENCE)
    assert line == f"waiting: the scheduler {address} does not answer\n"
    assert errors == f"error: --scheduler {address}: the connection was lost; run again to go on\n"
    assert (process.returncode, output) == (2, "")


@pytest.mark.slow
def test_a_scheduler_needs_no_headend_and_a_worker_without_it_is_refused(folder: Path) -> None:
    with start_scheduler(without_headend=True) as (_, address):
        with start_worker(address, without_headend=True):
            with start_sweep("small.toml", address) as process:
                output, errors = process.communicate(timeout=PATIENCE)
            assert errors == (
                f"error: --scheduler {address}: a worker has no headend, or another version of it"
                " (ModuleNotFoundError: No module named 'headend');"
                f" install headend {headend.__version__} there, restart the worker, and run again"
                " to go on\n"
            )
            assert (process.returncode, output) == (2, "")
        with start_worker(address), start_sweep("small.toml", address) as process:
            output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, output, errors) == (0, "", "")


@pytest.mark.slow
def test_workers_that_come_late_are_waited_for_and_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("headend.running.cluster.PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr("headend.running.cluster.COUNT_SECONDS", 0.1)

    def list_told() -> list[str]:
        return [text for name, _, text in caplog.record_tuples if name.startswith("headend")]

    with distributed.LocalCluster(
        n_workers=0, dashboard_address=None, processes=False, protocol="tcp://"
    ) as local:
        address = local.scheduler_address

        def add_worker() -> None:
            deadline = time.monotonic() + PATIENCE
            while len(list_told()) < 3 and time.monotonic() < deadline:
                time.sleep(0.05)
            local.scale(1)

        thread = threading.Thread(target=add_worker)
        thread.start()
        found = headend.sweep("small.toml", scheduler=address)
        thread.join()
    *waiting, last = list_told()
    assert len(waiting) >= 3
    assert set(waiting) == {
        f"waiting: the scheduler {address} has no workers; dask worker {address} starts one"
    }
    assert last == f"going on: the scheduler {address} has workers again"
    assert found.complete
    assert not found.failures


@pytest.mark.slow
def test_another_build_of_the_engine_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = fingerprint_engine()
    (job, *_) = list_jobs("small.toml")
    remote = job.pack()
    assert remote.run() is not None
    monkeypatch.setattr("headend.running.job.fingerprint_engine", lambda: "c0ffee" * 8)
    version = headend.__version__
    with pytest.raises(OtherBuildError) as refused:
        remote.run()
    assert str(refused.value) == (
        f"another build of headend's engine: found {version} (c0ffeec0ffee), expected {version}"
        f" ({here[:12]}); install the same build as here, restart the worker, and run again to go"
        " on"
    )
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
    ) as local:
        (worker,) = local.scheduler.workers
        address = local.scheduler_address
        with pytest.raises(InputError) as failed:
            headend.sweep("small.toml", scheduler=address)
    assert str(failed.value) == (
        f"--scheduler {address}: the worker {worker} has another build of headend's engine:"
        f" found {version} ({here[:12]}), expected {version} (c0ffeec0ffee);"
        " install the same build as here, restart the worker, and run again to go on"
    )


@pytest.mark.slow
def test_other_versions_on_the_workers_are_told_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def find(_client: Any) -> Any:
        sides = [
            {"packages": {"python": f"{python}.final.0", "distributed": release}}
            for python, release in (
                ("3.11.7", "2026.8.0"),
                ("3.11.9", "2026.8.0"),
                ("3.12.1", "2025.1.0"),
            )
        ]
        return {"client": sides[0], "workers": {"tcp://a:1": sides[1], "tcp://b:2": sides[2]}}

    monkeypatch.setattr(distributed.Client, "get_versions", find)
    with distributed.LocalCluster(
        n_workers=1, dashboard_address=None, processes=False, protocol="tcp://"
    ) as local:
        address = local.scheduler_address
        assert headend.sweep("small.toml", scheduler=address).complete
    own = [text for name, _, text in caplog.record_tuples if name.startswith("headend")]
    assert own == [
        f"the workers of the scheduler {address} have other versions:"
        " Python 3.12, Distributed 2025.1.0; here Python 3.11, Distributed 2026.8.0"
    ]


@pytest.mark.slow
def test_the_library_is_silent_only_for_as_long_as_it_is_used() -> None:
    program = """\
import logging, sys, threading, warnings
import distributed
from headend.running.connection import Connection
library, own = logging.getLogger("distributed.client"), logging.getLogger("headend.running.cluster")
connection = Connection(sys.argv[1], threading.Event())
library.error("not this")
warnings.warn_explicit("nor this", UserWarning, "client.py", 1, module="distributed.client")
own.warning("ours")
connection.close()
library.error("and this")
"""
    with (
        distributed.LocalCluster(
            n_workers=0, dashboard_address=None, processes=False, protocol="tcp://"
        ) as local,
        start("-c", program, local.scheduler_address) as process,
    ):
        _, errors = process.communicate(timeout=PATIENCE)
    first, second = errors.splitlines()
    assert first == "ours"
    assert second.endswith("distributed.client - ERROR - and this")


def test_the_library_is_silent_until_the_last_of_two_connections_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The handlers of pytest are logging that somebody has configured.
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    library = logging.getLogger("distributed")

    def look() -> tuple[list[logging.Handler], bool, list[Any]]:
        return library.handlers, library.propagate, list(warnings.filters)

    def connect(address: str, stop: threading.Event) -> None:
        with pytest.raises(Stopped):
            Connection(address, stop)

    before = look()
    with listen(hold) as (address, first_visited), listen(hold) as (other, second_visited):
        threads = []
        for peer, visited in ((address, first_visited), (other, second_visited)):
            stop = threading.Event()
            thread = threading.Thread(target=connect, args=(peer, stop))
            thread.start()
            threads.append((thread, stop))
            assert visited.wait(PATIENCE)
        during = look()
        assert during != before
        for (thread, stop), expected in zip(threads, (during, before), strict=True):
            stop.set()
            thread.join(PATIENCE)
            assert look() == expected
