"""Memory: what may be taken, what is refused early, and how many runs go side by side."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import headend
from headend import _engine
from headend.cli.main import app
from headend.design.design import Design
from headend.design.factor import Factor
from headend.errors import InputError
from headend.running import memory
from headend.running.experiment import carry_out_all, plan_comparison, plan_run
from headend.running.job import Job
from headend.running.memory import Room, list_parts, measure_machine, read_allowance
from headend.scenario.shipped import list_scenarios
from headend.scenario.source import read_scenario
from headend.sweeps.definition import make_sweep, read_sweep
from headend.sweeps.experiment import prepare_all

PINGS: dict[str, Any] = {
    "duration": "1 s",
    "link": {"line": {"point_to_point": {"up": {"rate": "10 Mbit/s", "queue": "drop_tail"}}}},
    "flow": {"ping": {"application": "ping", "count": 20}},
}

#: 40 directions of flows × 80 000 intervals × 360 B, and the queues'.
LONG = {**PINGS, "duration": "8000 s", "results": {"interval": "100 ms"}}


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, [*arguments, "--quiet"])


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> int:
    """Have a machine of 1 GB, whatever this one is."""
    monkeypatch.setattr(memory, "measure_machine", lambda: 1_000_000_000)
    return 1_000_000_000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "long.toml").write_text(
        'duration = "8000 s"\nresults.interval = "100 ms"\n'
        '[link.line.point_to_point]\nup.rate = "10 Mbit/s"\n'
        '[flow.ping]\napplication = { ping = { interval = "10 s" } }\ncount = 20\n',
        encoding="utf-8",
    )
    return tmp_path


def test_a_run_that_can_need_more_than_half_is_refused_with_its_numbers(machine: int) -> None:
    with pytest.raises(InputError) as refused:
        plan_run(LONG)
    text = str(refused.value)
    assert re.match(
        r"scenario: a run can need 1\.\d+ GB of memory, and 500 MB are allowed \(half of the 1 GB"
        r" here;"
        r" more than this machine has, so make it smaller by these keys\): ",
        text,
    )
    assert (
        "results.interval with duration and flow: 40 flow directions × 80000 intervals × 360 B"
        " = 1.15 GB"
    ) in text
    assert "\n" not in text


def test_more_is_advised_only_where_there_is_more(
    machine: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headend.running.memory.measure_machine", lambda: 2_000_000_000)
    answer = call("run", "long.toml", "--out", "out")
    assert "(half of the 2 GB here; --memory changes that, such as --memory 2GB): " in answer.stderr


def test_what_is_refused_is_not_begun(machine: int, folder: Path) -> None:
    answer = call("run", "long.toml", "--out", "out")
    assert answer.exit_code == 2
    assert "long.toml: a run can need" in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not (folder / "out").exists()


def test_more_can_be_allowed_and_less(machine: int, folder: Path) -> None:
    assert plan_run(LONG, memory="2GB").memory > 1_000_000_000
    with pytest.raises(InputError, match=r"and 800 MB are allowed \(80 % of the 1 GB here"):
        plan_run(LONG, memory="80%")
    with pytest.raises(
        InputError, match=r"and 10 kB are allowed \(--memory changes that, such as --memory \d+MB\)"
    ):
        headend.run(PINGS, memory=10_000)
    assert headend.run(PINGS, memory="100 MB").flows.height == 40
    answer = call("run", "long.toml", "--set", "duration=5 s", "--memory", "100kB", "--out", "out")
    assert (answer.exit_code, "and 100 kB are allowed" in answer.stderr) == (2, True)
    answer = call("run", "long.toml", "--set", "duration=5 s", "--memory", "50%", "--out", "out")
    assert answer.exit_code == 0


@pytest.mark.parametrize("wanted", ["", "much", "0 GB", "-1GB", "8", "120%", "0%", "8 Gbit/s"])
def test_what_is_no_size_is_refused(wanted: str, folder: Path) -> None:
    answer = call("run", "long.toml", "--memory", wanted)
    assert answer.exit_code == 2
    assert "--memory: expected a size such as 8GB" in answer.stderr
    for size in (0, -1, True, 2.5):
        with pytest.raises(InputError, match="--memory: expected a size"):
            read_allowance(size)  # type: ignore[arg-type]


def test_points_that_can_need_too_much_are_refused_as_any_bad_point(machine: int) -> None:
    content = {"scenario": PINGS, "grid": {"duration": ["1 s", "50000 s"]}, "set": {}}
    content["set"] = {"results.interval": "1 s", "flow.ping.count": 100}
    (_, good), (_, bad) = prepare_all(make_sweep(content, "pings"))
    assert isinstance(good, Job)
    assert "a run can need" in bad.reason  # type: ignore[union-attr]
    (_, good), (_, other) = prepare_all(make_sweep(content, "pings"), read_allowance("100GB"))
    assert isinstance(other, Job)
    assert other.memory > 100 * good.memory  # type: ignore[union-attr]
    found = headend.sweep(content)
    assert [*found.failures] == [("50000 s", 1)]


def test_a_comparison_is_refused_for_what_its_runs_keep_together(machine: int) -> None:
    short = {**LONG, "duration": "1000 s"}
    queues = {"queue": ["drop_tail", "codel"]}
    assert len(plan_comparison(short, queues)) == 2
    with pytest.raises(InputError) as refused:
        plan_comparison(short, queues, seeds=4)
    assert str(refused.value).startswith("8 runs that are compared can need ")
    assert "--memory" in str(refused.value)
    assert len(plan_comparison(short, queues, seeds=4, memory="2GB")) == 8


def test_runs_go_side_by_side_as_far_as_there_is_memory(
    machine: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four runs on four cores: where two fit, two go at once."""
    monkeypatch.setattr("headend.running.execution.count_cores", lambda: 4)
    changed, running, most, expected = threading.Condition(), 0, 0, 0

    def carry_out(*_: Any) -> None:
        nonlocal running, most
        with changed:
            running += 1
            most = max(most, running)
            changed.notify_all()
            changed.wait_for(lambda: most >= expected, timeout=5)
        time.sleep(0.05)  # for others to come that should not
        with changed:
            running -= 1

    plans = plan_comparison(PINGS, {"queue": ["drop_tail", "codel"]}, seeds=2)
    monkeypatch.setattr("headend.running.experiment.Plan.carry_out", carry_out)
    for needed, side_by_side in ((100_000_000, 4), (200_000_000, 2), (400_000_000, 1)):
        most, expected = 0, side_by_side
        wide = [replace(plan, memory=needed) for plan in plans]
        carry_out_all(wide, {}, threading.Event())
        assert most == side_by_side


def test_one_alone_may_always_go() -> None:
    room = Room(10)
    with ThreadPoolExecutor(2) as pool:
        with room.take(100):
            other = pool.submit(lambda: room.take(1).__enter__())
            time.sleep(0.02)
            assert not other.done()
        assert other.result(timeout=5) is None


def write(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def measure(root: Path) -> int:
    return measure_machine.__wrapped__(root)


def test_a_cgroup_of_either_version_and_those_above_limit_what_there_is(tmp_path: Path) -> None:
    whole = measure(tmp_path / "nothing")
    assert whole > 100_000_000
    two = tmp_path / "two"
    write(two, "proc/self/cgroup", "0::/jobs/one\n")
    write(two, "sys/fs/cgroup/jobs/one/memory.max", "max\n")
    assert measure(two) == whole
    write(two, "sys/fs/cgroup/jobs/memory.max", "30000000\n")
    assert measure(two) == 30_000_000
    write(two, "sys/fs/cgroup/jobs/one/memory.max", "20000000\n")
    assert measure(two) == 20_000_000
    one = tmp_path / "one"
    write(one, "proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/a\n")
    write(one, "sys/fs/cgroup/memory/memory.limit_in_bytes", "40000000\n")
    assert measure(one) == 40_000_000  # in a container its own path is not there
    write(one, "sys/fs/cgroup/memory/memory.limit_in_bytes", f"{2**63 - 4096}\n")
    assert measure(one) == whole


def test_a_grid_of_a_billion_points_is_refused_with_its_numbers(tmp_path: Path) -> None:
    grid = {f"flow.ping.{key}": list(range(1, 1001)) for key in ("count", "dscp", "port")}
    with pytest.raises(
        InputError, match=r"1000 × 1000 × 1000 settings × 1 seeds are 1,000,000,000"
    ):
        make_sweep({"scenario": PINGS, "grid": grid}, "huge")
    factors = [Factor(path, path, tuple(values), tuple(values)) for path, values in grid.items()]
    design = Design(tuple((factor,) for factor in factors), scenario=PINGS)
    with pytest.raises(InputError, match="at most 100,000"):
        design.list_points()
    few = replace(design, dimensions=design.dimensions[:1])
    with pytest.raises(InputError, match="1000 settings × 101 seeds are 101,000 points"):
        replace(few, seeds=tuple(range(101))).list_points()
    file = tmp_path / "range.toml"
    file.write_text(
        'scenario = "upload-and-call"\n[grid]\n'
        '"flow.call.port" = { from = "0", to = "1e999999", step = "1" }\n'
    )
    with pytest.raises(InputError, match="too large or too small a number"):
        read_sweep(file)


def test_the_files_of_a_scenario_have_a_limit_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headend.scenario.source.LARGEST_FILE_BYTES", 2**20 + 10)
    (tmp_path / "a.txt").write_text("1\n2\n3\n")
    (tmp_path / "b.txt").write_text("1\n" * 2**19)
    file = tmp_path / "traces.toml"
    file.write_text(
        '[link.line.point_to_point]\nup.rate.trace = "a.txt"\ndown.rate.trace = "b.txt"\n'
        '[flow.ping]\napplication = "ping"\n'
    )
    assert read_scenario(file).load()
    (tmp_path / "a.txt").write_text("1\n2\n3\n4\n5\n6\n")
    with pytest.raises(InputError, match=r"b\.txt: 1 MiB is too large for a file besides a\.txt"):
        read_scenario(file).load()


def test_what_is_captured_is_taken_before_it_is_much() -> None:
    """Packets of 1500 B every microsecond: in a tenth of a second they could hold gigabytes."""
    packets = {"cbr": {"size": "1500 B", "gap": "1 us"}}
    scenario = {
        **PINGS,
        "link": {"line": {"point_to_point": {"up": {"rate": "100 Gbit/s"}}}},
        "flow": {"flood": {"application": packets, "direction": "up"}},
        "results": {"capture": {"points": ["line.up.enqueue"], "snaplen": "1500 B"}},
    }
    run = _engine.Run(read_scenario(scenario).load().scenario)
    _, finished = run.advance(600.0)
    taken = sum(map(len, run.take_capture().values()))
    assert not finished
    assert 2**25 <= taken < 2**27


def test_every_shipped_scenario_is_far_below_what_a_small_machine_allows() -> None:
    needed = {
        name: sum(part.size for part in list_parts(read_scenario(str(path)).load().scenario))
        for name, path in list_scenarios().items()
    }
    assert len(needed) > 20
    assert max(needed.values()) < 1_000_000_000, needed
