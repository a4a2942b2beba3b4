"""Sweeps: the grid of a file, equal tables however made, and what a failure costs."""

from __future__ import annotations

import html
import itertools
import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

import headend
from headend.analysis.sums import parse_sum
from headend.cli.main import app
from headend.design.design import Point, Setting
from headend.design.place import MOST_LINES, find_line
from headend.errors import InputError
from headend.results.folder import encode_json, write_file
from headend.results.record import read_manifest
from headend.results.scratch import write_whole
from headend.results.seal import read_seals, seal, seal_page
from headend.results.store import PointStore
from headend.running.cluster import Cluster
from headend.running.executor import Completed, Failure, Progress, Task, Threads
from headend.running.job import Job
from headend.running.notes import take_notes
from headend.scenario.subjects import Vocabulary
from headend.sweeps import Sweep, SweepResult, read_sweep
from headend.sweeps.definition import make_sweep
from headend.sweeps.experiment import prepare_all

LINE = """\
duration = "2 s"
bottleneck = "line.up"
link.line.point_to_point.up = { rate = "1 Mbit/s", queue = "drop_tail" }
[flow.ping]
application = "ping"
[flow.upload]
application = "bulk"
count = 2
"""

SWEEP = """\
title = "Small"
scenario = "line.toml"
seeds = 2
[grid]
queue = ["drop_tail", "codel"]
flow.ping.rtt = ["10 ms", "30 ms"]
[measures]
rtt = "ping.rtt.mean"
rate = "upload.goodput"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "line.toml").write_text(LINE, encoding="utf-8")
    (tmp_path / "small.toml").write_text(SWEEP, encoding="utf-8")
    return tmp_path


def make(**keys: Any) -> Sweep:
    return make_sweep({"scenario": "upload-and-call", **keys}, "made")


def list_jobs(file: str) -> list[Job]:
    return [item for _, item in prepare_all(read_sweep(file)) if isinstance(item, Job)]


def run_small(*options: str, file: str = "small.toml") -> Result:
    return CliRunner().invoke(app, ["sweep", file, "--out", "out", *options])


def test_dimensions_are_combined_and_the_first_changes_slowest() -> None:
    sweep = make(
        grid={"queue": ["drop_tail", {"codel": {"target": "5 ms"}}]},
        zip=[{"flow.call.rtt": ["10 ms", "20 ms"], "flow.upload.rtt": [1, 2]}],
        seeds=[7, 3],
    )
    points = sweep.design.list_points()
    assert sweep.design.names == ["queue", "flow.call.rtt", "flow.upload.rtt"]
    assert [point.factor_labels for point in points[::2]] == [
        ("drop_tail", "10 ms", 1),
        ("drop_tail", "20 ms", 2),
        ("codel target 5 ms", "10 ms", 1),
        ("codel target 5 ms", "20 ms", 2),
    ]
    assert [point.seed for point in points[:2]] == [7, 3]
    assert dict(points[-1].setting.overrides)["queue"] == '{codel = {target = "5 ms"}}'


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ({"from": 1, "to": 10, "step": 3}, (1, 4, 7, 10)),
        ({"from": "0.1 s", "to": "0.3 s", "step": 0.1}, ("0.1 s", "0.2 s", "0.3 s")),
        ({"from": "1 Mbit/s", "to": "16 Mbit/s", "count": 3, "scale": "log"},
         ("1 Mbit/s", "4 Mbit/s", "16 Mbit/s")),
        ({"from": 0, "to": 1, "count": 5}, (0, 0.25, 0.5, 0.75, 1)),
    ],
)  # fmt: skip
def test_a_range_has_the_unit_of_its_ends(written: dict[str, Any], values: tuple[Any, ...]) -> None:
    assert make(grid={"flow.call.rtt": written}).design.factors[0].values == values


def test_paths_may_be_written_as_tables() -> None:
    sweep = make(
        grid={"flow": {"call": {"rtt": {"from": 1, "to": 2, "step": 1}}}},
        set={"queue": {"codel": {"target": "5 ms"}}, "flow": {"page": {}}},
    )
    assert sweep.design.factors[0].path == "flow.call.rtt"
    assert sweep.design.overrides == (("queue.codel.target", '"5 ms"'), ("flow.page", "{}"))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, r"missing \[grid\]"),
        ({"grid": {"queue": []}}, "expected a list of values, or a range"),
        ({"grid": {"queue": "codel"}}, "expected a list of values, or a range"),
        ({"grid": {"queue": "codel"}}, 'grid.queue: .* found "codel"$'),
        ({"grid": {"queue": []}}, "grid.queue: .* found an empty list$"),
        ({"grid": {"queue": {"vals": ["codel"], "name": "queue"}}},
         '^grid.queue: unknown key "vals"; did you mean "values"\\?$'),
        ({"grid": {"queue": {"value": ["codel"], "labels": ["c"]}}},
         '^grid.queue: unknown key "value"; did you mean "values"\\?$'),
        ({"zip": [{"queue": {"vals": ["codel"], "name": "queue"}}]},
         '^zip 1: queue: unknown key "vals"; did you mean "values"\\?$'),
        ({"grid": {"flow.call.rtt": {"values": [], "name": "rate"}}},
         r"^grid.flow.call.rtt: values is empty$"),
        ({"grid": {"queue": {"values": "codel"}}}, 'found "codel"$'),
        ({"grid": {"flow": {"upload": {"count": 3}}}},
         "^grid.flow.upload.count: expected a list of values, or a range, found 3$"),
        ({"grid": {"queue": {"from": True, "to": 2, "step": 1}}}, "found true$"),
        ({"gird": {}}, 'unknown key "gird"; did you mean "grid"'),
        ({"grid": {"queue": ["codel", "codel"]}}, 'both be called "codel"'),
        ({"grid": {"seed": [1, 2]}}, "a seed is not a setting"),
        ({"grid": {"queue": ["a"]}, "seeds": 0}, "expected 1 to 100"),
        ({"grid": {"queue": ["a"]}, "seeds": "3"}, "seeds: expected how many"),
        ({"grid": {"queue": ["a"]}, "compare": "queu"}, 'did you mean "queue"'),
        ({"grid": {"queue": {"from": 1, "to": 2}}}, "either step or count"),
        ({"grid": {"queue": {"from": "1 ms", "to": "1e999 ms", "count": 3}}},
         "too large or too small"),
        ({"grid": {"queue": {"from": 1, "to": "1e999999999", "step": 1}}},
         "too large or too small"),
        ({"grid": {"queue": {"from": 1, "to": 2, "step": "1e-999999999"}}},
         "too large or too small"),
        ({"grid": {"queue": {"from": 2, "to": 1, "step": 1}}}, "expected from ≤ to"),
        ({"grid": {"queue": {"from": "1 s", "to": "2 ms", "step": 1}}}, 'in "s" and to in "ms"'),
        ({"grid": {"queue": {"from": 1, "to": 10**9, "step": 1}}},
         r"grid\.queue: 1,000,000,000 values; a sweep has at most 100,000 points"),
        ({"grid": {"queue": {"from": 0, "to": 1, "count": 3, "scale": "log"}}}, "above 0"),
        ({"grid": {"queue": ["a"], "queue.codel.target": ["5 ms"]}},
         "would replace what queue chose"),
        ({"grid": {"queue": ["a"]}, "zip": [{"queue": ["b"]}]}, "varied twice"),
        ({"zip": [{"a": [1, 2], "b": [1]}]}, "a has 2, b has 1"),
        ({"grid": {"value": [1]}}, 'cannot be called "value"'),
        ({"grid": {"queue": ["a"]}, "measures": {"queue": "call.mos.mean"}},
         r"measures\.queue: an axis has the same name"),
        ({"grid": {"queue": ["a"]}, "set": {"queue.codel.target": "5 ms"}},
         r"set\.queue\.codel\.target: has no effect, since the axis queue sets it"),
        ({"grid": {"queue": {"values": ["a"], "name": "q"}},
          "zip": [{"flow.call.rtt": {"values": [1], "name": "q"}}]}, 'two axes are called "q"'),
        ({"grid": {"queue": ["a"]}, "measures": {"x": 3}}, "measures.x: expected a quantity"),
        ({"grid": {"queue": ["a"]}, "scenario": 3}, "scenario: expected the name or path"),
    ],
)  # fmt: skip
def test_a_sweep_that_cannot_be_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(**keys)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[measures]", 'link.line.point_to_point.up.queue = ["pie", "red"]\n[measures]'),
         '"link.line.point_to_point.up.queue" is varied twice: "queue" is the same setting'),
        (("[grid]", '[set]\nlink.line.point_to_point.up.queue.codel.target = "5 ms"\n[grid]'),
         "(line 5)"),
        (("[measures]",
          "[[zip]]\nlink.line.point_to_point.up = [{ rate = '1 Mbit/s' }]\n[measures]"),
         "queue: would replace what link.line.point_to_point.up chose"),
    ],
)  # fmt: skip
def test_one_setting_is_not_named_by_its_path_and_as_the_bottleneck_s_queue(
    folder: Path, change: tuple[str, str], message: str
) -> None:
    (folder / "twice.toml").write_text(SWEEP.replace(*change), encoding="utf-8")
    answer = run_small(file="twice.toml")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("error: twice.toml: ")
    assert message in answer.stderr
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "path", ["queue", "queue.codel.target", "link.line.point_to_point.up.queue"]
)
def test_a_setting_that_the_grid_varies_is_not_set(folder: Path, path: str) -> None:
    answer = run_small("--set", f"{path}=pie")
    assert answer.exit_code == 2
    expected = f"error: --set {path}: has no effect, since the axis queue sets it at every point"
    assert answer.stderr.startswith(expected)


def test_the_example_of_the_documentation_can_be_run(folder: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "sweeps.md"
    example = page.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    (folder / "example.toml").write_text(example, encoding="utf-8")
    sweep = read_sweep(folder / "example.toml")
    design = replace(sweep.design, seeds=(1,))
    assert [axis.path for axis in design.dimensions[-1]] == [
        "flow.page.rtt",
        "flow.upload.rtt",
    ]
    assert len(design.list_points()) == 3 * 5 * 4 * 2 * 2
    # All values of each axis, without all their combinations.
    few = [tuple(replace(axis, values=axis.values[:2], labels=axis.labels[:2]) for axis in axes)
           for axes in design.dimensions]  # fmt: skip
    prepared = prepare_all(replace(sweep, design=replace(design, dimensions=tuple(few))))
    assert all(isinstance(item, Job) for _, item in prepared)


def test_seeds_of_the_command_are_told_from_those_of_the_file(folder: Path) -> None:
    assert run_small("--seeds", "0").stderr.startswith("error: --seeds 0: expected 1 to 100")
    (folder / "none.toml").write_text(SWEEP.replace("seeds = 2", "seeds = 0"), encoding="utf-8")
    answer = run_small(file="none.toml")
    assert answer.stderr == "error: none.toml: seeds: expected 1 to 100 of them, found 0 (line 3)\n"


def test_an_error_names_the_line(folder: Path) -> None:
    for text, message in [
        (SWEEP.replace('["drop_tail", "codel"]', "[]"), "grid.queue: expected a list"),
        (SWEEP.replace("[measures]", "[[zip]]\nflow.call.rtt = 3\n[measures]"), "zip 1: flow.call"),
        (SWEEP.replace("[measures]", "[measure]"), 'unknown key "measure"; did you mean'),
    ]:
        (folder / "typo.toml").write_text(text, encoding="utf-8")
        with pytest.raises(InputError) as caught:
            read_sweep(folder / "typo.toml")
        line = 1 + text.split("\n").index(
            next(
                at
                for at in text.split("\n")
                if at in ("queue = []", "flow.call.rtt = 3", "[measure]")
            )
        )
        assert str(caught.value).startswith(f"{folder / 'typo.toml'}: {message}")
        assert str(caught.value).endswith(f"(line {line})")


def test_a_line_is_found_after_values_of_several_lines() -> None:
    text = 'a = """\nb = 1\n"""\n\n# b = 2\nb = [\n  1,\n]\n[[c]]\nd = 1\n[[c]]\nd."e.f" = 1\n'
    found = [find_line(text, path) for path in ("a", "b", "c 1.d", "c 2.d.e.f", "c 3", "e")]
    assert found == [1, 6, 10, 12, None, None]
    assert find_line(text + "\n" * MOST_LINES, "a") is None


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('[grid]\nqueue = ["codel"]\n\nqueue = [\n"pie"]',
         "grid.queue is there twice (lines 3 and 5)"),
        ('seeds = 3\nseeds = 4', "seeds is there twice (lines 2 and 3)"),
        ('[set]\nflow.call.rtt = 3\nflow."call".rtt = 4\n',
         "set.flow.call.rtt is there twice (lines 3 and 4)"),
        ('[set]\na = { b = 1 }\na = 2\n', "set.a is there twice (lines 3 and 4)"),
        ('[grid]\na = [1]\n[set]\n[grid]\n', "grid is there twice (lines 2 and 5)"),
        ("[grid]\nq = { values = [1], values = [2] }",
         'grid.q has "values" twice, or a path below it, in its braces (line 3)'),
        ("[grid]\nq = { from = 1, from = 2 }",
         'grid.q has "from" twice, or a path below it, in its braces (line 3)'),
        ("[[zip]]\na = [1]\n[[zip]]\na = [1]\na = [2]\n", "zip 2.a is there twice (lines 5 and 6)"),
    ],
)  # fmt: skip
def test_a_key_that_is_there_twice_is_named_with_both_lines(
    folder: Path, written: str, told: str
) -> None:
    (folder / "twice.toml").write_text(f'scenario = "aimd"\n{written}', encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_sweep(folder / "twice.toml")
    assert str(caught.value) == f"{folder / 'twice.toml'}: not valid TOML: {told}"


def test_a_path_with_quotes_and_without_is_there_twice(folder: Path) -> None:
    text = SWEEP.replace("[measures]", 'flow.ping."x.y" = [1]\n"flow.ping.x.y" = [2]\n[measures]')
    (folder / "twice.toml").write_text(text, encoding="utf-8")
    with pytest.raises(
        InputError,
        match=r"toml: grid\.flow\.ping\.x\.y: written twice, once with quotes and once without"
        r" \(line 7\)",
    ):
        read_sweep(folder / "twice.toml")


def test_a_path_below_another_is_explained(folder: Path) -> None:
    text = SWEEP.replace("[measures]", 'queue.codel.target = ["5 ms"]\n[measures]')
    (folder / "below.toml").write_text(text, encoding="utf-8")
    with pytest.raises(
        InputError, match=r"\(at line 7.*in \[grid\], write tables among the values"
    ):
        read_sweep(folder / "below.toml")


def test_a_scenario_or_nothing_is_no_sweep(folder: Path) -> None:
    with pytest.raises(InputError, match=r"line\.toml: this is a scenario"):
        read_sweep(folder / "line.toml")
    (folder / "half.toml").write_text("[grid]\nqueue = [", encoding="utf-8")
    with pytest.raises(InputError, match=r"half\.toml: not valid TOML"):
        read_sweep(folder / "half.toml")
    (folder / "rubbish.toml").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"not a text file.*a sweep is TOML"):
        read_sweep(folder / "rubbish.toml")
    assert run_small(file="none.toml").exit_code == 2


def test_named_measures_give_a_row_for_each_point(folder: Path) -> None:
    result = headend.sweep("small.toml")
    assert result.complete
    table = result.table
    assert table.columns[:4] == ["setting", "queue", "flow.ping.rtt", "seed"]
    assert table.height == 2 * 2 * 2 * 2
    rtt = table.filter(measure="rtt")
    assert set(rtt["unit"]) == {"ns"}
    assert rtt.filter(pl.col("value") < 10e6).is_empty()
    rate = table.filter(measure="rate", setting=1)
    assert (rate["value"] <= 1e6).all()
    assert (rate["value"] > 0.5e6).all()


def test_a_summary_pairs_by_seed(folder: Path) -> None:
    result = headend.sweep("small.toml")
    summary = result.summary
    assert summary.height == 2 * 2 * 2
    first, last = (
        summary.filter(measure="rtt", setting=setting).row(0, named=True) for setting in (1, 3)
    )
    assert first["count"] == 2
    assert first["low"] < first["mean"] < first["high"]
    assert first["difference"] is None
    values = [
        result.table.filter(measure="rtt", setting=setting).sort("seed")["value"].to_list()
        for setting in (1, 3)
    ]
    changes = [after - before for before, after in zip(*values, strict=True)]
    assert last["difference"] == pytest.approx(sum(changes) / 2)
    assert last["difference_high"] - last["difference"] == pytest.approx(
        12.7062 * abs(changes[0] - changes[1]) / 2, rel=1e-4
    )


def test_without_measures_every_figure_is_kept(folder: Path) -> None:
    text = SWEEP[: SWEEP.index("[measures]")].replace("seeds = 2", "seeds = 1")
    (folder / "all.toml").write_text(text, encoding="utf-8")
    table = headend.sweep("all.toml").table
    one = table.filter(setting=1)
    assert one["measure"].is_unique().all()
    figures = dict(one.select("measure", "value").iter_rows())
    assert {"ping.rtt.p99", "upload.1.up.goodput", "line.up.delay.p99"} <= figures.keys()
    both = figures["upload.1.up.goodput"] + figures["upload.2.up.goodput"]
    assert figures["upload.up.goodput"] == pytest.approx(both)
    delays = [figures[f"upload.{number}.up.delay.p50"] for number in (1, 2)]
    # Of all that does not add up the worst member counts, as in [expect].
    assert figures["upload.up.delay.p50"] == pytest.approx(max(delays))
    named = f'{text}\n[measures]\ndelay = "upload.up.delay.p50"\n'
    (folder / "named.toml").write_text(named, encoding="utf-8")
    (value,) = headend.sweep("named.toml").table.filter(setting=1)["value"]
    assert value == pytest.approx(max(delays))


def test_what_is_there_is_not_run_again_and_what_changed_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_small("-q").exit_code == 0
    table = (folder / "out" / "results.parquet").read_bytes()
    summary = (folder / "out" / "summary.parquet").read_bytes()
    ran: list[int] = []
    carry_out = Job.run

    def note(job: Job, stop: threading.Event | None = None) -> pl.DataFrame | None:
        ran.append(job.seed)
        return carry_out(job, stop)

    monkeypatch.setattr(Job, "run", note)
    assert run_small("-q").exit_code == 0
    assert ran == []
    assert (folder / "out" / "results.parquet").read_bytes() == table
    (folder / "line.toml").write_text(f'title = "Renamed"\n{LINE}', encoding="utf-8")
    assert run_small("-q").exit_code == 0
    assert ran == []
    assert run_small("-q", "--seeds", "3").exit_code == 0
    assert sorted(ran) == [3, 3, 3, 3]
    next((folder / "out" / "points").glob("*.parquet")).write_bytes(b"torn")
    assert run_small("-q", "--seeds", "2").exit_code == 0
    assert len(ran) <= 5
    assert (folder / "out" / "results.parquet").read_bytes() == table
    assert (folder / "out" / "summary.parquet").read_bytes() == summary


def test_an_interrupted_sweep_keeps_what_is_done_and_ends_with_the_same_bytes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert CliRunner().invoke(app, ["sweep", "small.toml", "--out", "whole", "-q"]).exit_code == 0
    take = Threads.run
    taken: list[Any] = []

    def interrupt(self: Threads, jobs: Any, stop: threading.Event) -> Iterator[Any]:
        for pair in take(self, jobs, stop):
            taken.append(pair)
            yield pair
            if len(taken) == 2:
                os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Threads, "run", interrupt)
        answer = run_small("--json")
    assert answer.exit_code == 130
    kept = len(list((folder / "out" / "points").glob("*.parquet")))
    message = f"interrupted: {kept} of 8 points are kept in out; run again to go on"
    assert " ".join(answer.stderr.split()) == message
    assert json.loads(answer.stdout)["done"] == kept
    assert 2 <= kept < 8
    assert pl.read_parquet(folder / "out" / "results.parquet").height == 2 * kept
    assert run_small("-q").exit_code == 0
    for name in ("results.parquet", "summary.parquet", "manifest.json"):
        assert (folder / "out" / name).read_bytes() == (folder / "whole" / name).read_bytes()


def test_a_failing_point_is_a_row_with_its_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out = Job.run

    def fail(job: Job, stop: threading.Event | None = None) -> pl.DataFrame | None:
        queue = dict(job.overrides)["queue"]
        if job.seed == 2 and queue == '"codel"':
            raise RuntimeError("packets were lost count of")
        if queue == '"pie"':
            raise RuntimeError("packets came back")
        return carry_out(job, stop)

    monkeypatch.setattr(Job, "run", fail)
    text = SWEEP.replace('"codel"]', '"codel", "pie"]')
    (folder / "failing.toml").write_text(text, encoding="utf-8")
    answer = run_small("--full", file="failing.toml")
    assert answer.exit_code == 1
    assert "6 of 12 points, 6 failed" in answer.stdout
    assert "Δ" in answer.stdout
    lines = answer.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(
        "failed: 2 points, the first codel, 10 ms, seed 2: packets were lost"
    )
    assert lines[1].startswith("failed: 4 points, the first pie, 10 ms, seed 1: packets came back")
    brief = run_small("--quiet", file="failing.toml")
    assert (brief.exit_code, brief.stdout) == (1, "")
    (line,) = brief.stderr.splitlines()
    assert line.startswith("failed: 2 points")
    assert line.endswith("; 4 more points failed for other reasons")
    told = run_small("--json", file="failing.toml")
    counts = {key: json.loads(told.stdout)[key] for key in ("points", "done", "failed")}
    assert counts == {"points": 12, "done": 6, "failed": 6}
    table = pl.read_parquet("out/results.parquet")
    failed = table.drop_nulls("error")
    assert failed.height == 4 + 2
    assert failed.filter(queue="codel")["error"].unique().to_list() == [
        "packets were lost count of"
    ]
    assert table.filter(pl.col("error").is_null()).height == (8 - 2) * 2
    assert "Points that failed" in Path("out/report.html").read_text(encoding="utf-8")


def test_a_value_that_the_engine_refuses_is_refused_before_any_point_is_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Job, "run", lambda *_: pytest.fail("a point was run"))
    text = SWEEP.replace('"codel"]', '"codel", "codell"]')
    (folder / "typo.toml").write_text(text, encoding="utf-8")
    answer = run_small(file="typo.toml")
    assert (answer.exit_code, answer.stdout) == (2, "")
    told = " ".join(answer.stderr.split())
    assert told.startswith("error: setting codell, 10 ms: line.toml: ")
    assert 'did you mean "codel"? (from typo.toml, line 5: queue="codell")' in told
    assert told.endswith("; 1 more setting cannot be run")
    assert not (folder / "out").exists()


def test_without_its_reference_a_setting_has_no_difference_and_a_failed_one_is_in_the_table(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out = Job.run

    def fail(job: Job, stop: threading.Event | None = None) -> pl.DataFrame | None:
        if dict(job.overrides)["queue"] == '"drop_tail"':
            raise RuntimeError("packets were lost count of")
        return carry_out(job, stop)

    monkeypatch.setattr(Job, "run", fail)
    answer = run_small("--full")
    assert answer.exit_code == 1
    assert "4 of 8 points, 4 failed" in answer.stdout
    rows = [line.split()[:4] for line in answer.stdout.splitlines() if line.startswith("drop_")]
    assert rows == [["drop_tail", "10", "ms", "failed"], ["drop_tail", "30", "ms", "failed"]]
    assert "Δ" not in answer.stdout
    assert "Δ is" not in Path("out/report.html").read_text(encoding="utf-8")


def test_a_measure_without_any_value_is_said_to_have_none(folder: Path) -> None:
    text = SWEEP.replace('rate = "upload.goodput"', 'end = "upload.completion_time.mean"')
    (folder / "none.toml").write_text(text, encoding="utf-8")
    answer = run_small("--full", file="none.toml")
    assert answer.exit_code == 0
    assert "end: no value in any of 8 points" in answer.stdout
    rows = [line for line in answer.stdout.splitlines() if line.startswith(("drop_tail", "codel"))]
    assert [line.split()[-1] for line in rows] == ["–"] * 4
    summary = pl.read_parquet("out/summary.parquet").filter(measure="end")
    assert summary.select("count", "mean", "difference").unique().rows() == [(0, None, None)]
    report = Path("out/report.html").read_text(encoding="utf-8")
    assert "end: no value in any of 8 points" in report
    told = json.loads(run_small("--json", file="none.toml").stdout)
    assert told["without_value"] == ["end"]
    assert [row["mean"] for row in told["summary"] if row["measure"] == "end"] == [None] * 4
    alone = text.replace('rtt = "ping.rtt.mean"\n', "")
    (folder / "none.toml").write_text(alone, encoding="utf-8")
    answer = run_small("--full", file="none.toml")
    assert "Δ" not in answer.stdout


def test_a_report_is_written_again_only_when_it_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Path] = []
    monkeypatch.setattr("headend.pages.page.bundle_libraries", lambda: "")

    def write(page: str, path: Path, made_of: str) -> None:
        write_file(seal_page(page, made_of), path)
        drawn.append(path)

    monkeypatch.setattr("headend.pages.page.write_page", write)
    report = folder / "out" / "report.html"
    for number, (options, change) in enumerate(
        [((), ""), (("--seeds", "1"), ""), ((), 'description = "Other words."\n')], start=1
    ):
        (folder / "small.toml").write_text(change + SWEEP, encoding="utf-8")
        assert run_small("-q", *options).exit_code == 0
        assert run_small("-q", *options).exit_code == 0
        assert len(drawn) == number
    report.unlink()
    assert run_small("-q").exit_code == 0
    assert report.is_file()


def test_a_sweep_of_which_nothing_can_run_is_bad_input(folder: Path) -> None:
    text = SWEEP.replace("flow.ping.rtt", "flow.pong.rtt")
    (folder / "typo.toml").write_text(text, encoding="utf-8")
    answer = run_small(file="typo.toml")
    assert answer.exit_code == 2
    assert "pong" in answer.stderr
    (folder / "typo.toml").write_text(SWEEP.replace("ping.rtt.mean", "ping.rtt.avg"))
    answer = run_small(file="typo.toml")
    assert (answer.exit_code, "expected a statistic of rtt" in answer.stderr) == (2, True)
    assert not (folder / "out").exists()


def test_only_quantities_of_one_kind_are_added(folder: Path) -> None:
    text = SWEEP.replace('"upload.goodput"', '"upload.goodput + ping.rtt.mean"')
    (folder / "sum.toml").write_text(text, encoding="utf-8")
    answer = run_small(file="sum.toml")
    assert answer.exit_code == 2
    assert answer.stderr.startswith('error: sum.toml: measures.rate: "upload.goodput + ping.rtt')
    assert answer.stderr.rstrip().endswith(
        "is a rate and ping.rtt.mean a time; expected quantities of one kind (line 9)"
    )
    assert parse_sum("a.goodput + a.throughput", Vocabulary({"a": "bulk"}, []))[1].kind == "rate"


def test_what_the_file_sets_is_told_from_what_the_command_sets(folder: Path) -> None:
    text = SWEEP.replace("[grid]", '[set]\nflow.pong.rtt = "1 ms"\n[grid]')
    (folder / "typo.toml").write_text(text, encoding="utf-8")
    answer = run_small(file="typo.toml")
    assert answer.exit_code == 2
    assert '(from typo.toml, line 5: flow.pong.rtt="1 ms")' in answer.stderr
    answer = run_small("--set", "flow.pang.rtt=1 ms")
    assert "(from --set flow.pang.rtt=1 ms)" in answer.stderr


def test_a_sweep_is_no_scenario(folder: Path) -> None:
    text = SWEEP.replace("line.toml", "own.toml")
    (folder / "own.toml").write_text(text, encoding="utf-8")
    answer = run_small(file="own.toml")
    assert answer.exit_code == 2
    expected = "error: own.toml: scenario: own.toml is a sweep; expected a scenario (line 2)"
    assert answer.stderr.strip() == expected


def test_a_range_whose_count_breaks_whole_numbers_says_so(folder: Path) -> None:
    text = SWEEP.replace(
        "[measures]", "flow.upload.count = { from = 1, to = 2, count = 3 }\n[measures]"
    )
    (folder / "broken.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"found 1\.5 \(from broken\.toml, line 7"):
        prepare_all(read_sweep("broken.toml"))


def test_a_typo_is_told_with_the_place_in_the_sweeps_file(folder: Path) -> None:
    text = SWEEP.replace("flow.ping.rtt", "flow.pingg.rtt")
    (folder / "typo.toml").write_text(text, encoding="utf-8")
    answer = run_small(file="typo.toml")
    message = 'did you mean "ping"? (from typo.toml, line 6: flow.pingg.rtt="10 ms")'
    assert message in " ".join(answer.stderr.split())


def test_a_scenario_that_is_missing_is_looked_for_beside(folder: Path) -> None:
    text = SWEEP.replace("line.toml", "lin.toml")
    (folder / "lost.toml").write_text(text, encoding="utf-8")
    message = 'lost.toml: scenario: lin.toml: no such file; did you mean "line.toml"? (line 2)'
    assert message in " ".join(run_small(file="lost.toml").stderr.split())


def test_another_folder_is_not_written_into(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "thesis.tex").touch()
    answer = run_small()
    assert answer.exit_code == 2
    assert "out: holds something other than a sweep's results" in answer.stderr


@pytest.mark.parametrize(
    "quantity", ["upload.goodput / ping.throughput", "ping.rtt.p50 < 1 s", "upload.goodput * 2"]
)
def test_a_measure_is_a_sum_and_no_ratio(folder: Path, quantity: str) -> None:
    text = SWEEP.replace('"upload.goodput"', f'"{quantity}"')
    (folder / "ratio.toml").write_text(text, encoding="utf-8")
    answer = run_small(file="ratio.toml")
    assert answer.exit_code == 2
    assert answer.stderr == (
        f'error: ratio.toml: measures.rate: "{quantity}": expected a quantity, or several of one'
        f' kind joined by +, found "{quantity.split()[1]}"; for a ratio, keep both measures and'
        " divide them in the results (line 9)\n"
    )


@pytest.mark.parametrize("kind", ["run", "study"])
def test_a_folder_of_other_results_is_not_mixed_into(folder: Path, kind: str) -> None:
    (folder / "out" / "points").mkdir(parents=True)
    write_file(encode_json({"headend": "1", "kind": kind}), folder / "out" / "manifest.json")
    assert f"out: holds the results of a {kind}; choose another folder" in run_small().stderr


def test_the_points_of_a_sweep_are_never_replaced(folder: Path) -> None:
    assert run_small("-q").exit_code == 0
    command = ["run", "line.toml", "--out", "out", "--force"]
    answer = CliRunner().invoke(app, command)
    assert answer.exit_code == 2
    assert "out: holds the points of a sweep, so it is not replaced" in answer.stderr
    study = CliRunner().invoke(app, ["study", "run", "cbt/equal-loss", "--out", "out"])
    assert study.exit_code == 2
    assert "out: holds the results of a sweep; choose another folder" in study.stderr


def test_a_sweep_without_its_page_is_whole_and_leaves_none_of_an_earlier_time(
    folder: Path,
) -> None:
    assert run_small("-q").exit_code == 0
    page = Path("out/report.html").read_bytes()
    answer = run_small("--no-report")
    assert answer.exit_code == 0
    assert answer.stdout.splitlines()[-1] == "Kept in out; headend report out makes a report of it"
    assert not Path("out/report.html").exists()
    assert CliRunner().invoke(app, ["report", "out"]).exit_code == 0
    assert Path("out/report.html").read_bytes() == page


def test_the_tables_of_a_sweep_are_written_beside_it(folder: Path) -> None:
    assert run_small("-q", "--csv", "tables").exit_code == 0
    answer = CliRunner().invoke(app, ["export", "out", "--csv", "later"])
    assert answer.stdout == "2 tables in later\n"
    for name in ("results.csv", "summary.csv"):
        assert Path("tables", name).read_bytes() == Path("later", name).read_bytes()
    answer = run_small("-q", "--csv", "tables", "--seeds", "3")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("error: tables/results.csv: exists; ")
    assert run_small("-q", "--csv", "tables", "--seeds", "3", "--force").exit_code == 0
    assert Path("tables/results.csv").read_bytes() != Path("later/results.csv").read_bytes()


def test_tables_that_cannot_be_written_cost_a_sweep_only_themselves(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("headend.results.export.write_file", fail)
    answer = run_small("-q", "--csv", "tables")
    assert answer.exit_code == 2
    assert answer.stderr == (
        "error: tables: cannot be written: no space left on device; the results are kept, and"
        " headend export out --csv DIR writes their tables\n"
    )
    assert Path("out/report.html").is_file()


def test_an_interrupted_sweep_keeps_no_report_of_other_points(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_small("-q").exit_code == 0
    report, seen = folder / "out" / "report.html", []
    carry_out = Job.run

    def stop(job: Job, stop: threading.Event | None = None) -> pl.DataFrame | None:
        assert stop is not None
        stop.set()
        return carry_out(job, stop)

    with monkeypatch.context() as patch:
        patch.setattr(Job, "run", stop)
        answer = run_small("--set", "flow.upload.count=1")
    assert answer.exit_code == 130
    assert not report.exists()

    # Nor does one that is killed: the report goes as soon as the first point is done that was not
    # kept.
    add = PointStore.add

    def note(store: PointStore, key: str, frame: pl.DataFrame) -> None:
        add(store, key, frame)
        seen.append(report.exists())

    assert run_small("-q").exit_code == 0
    assert report.exists()
    monkeypatch.setattr(PointStore, "add", note)
    assert run_small("-q", "--seeds", "3").exit_code == 0
    assert len(seen) == 4
    assert not any(seen[2:])
    assert report.exists()


@pytest.mark.parametrize("wish", ["", '[wish]\nmost = "rate"\nhold = ["rtt < 1 ms"]\n'])
def test_an_interrupted_sweep_gives_no_verdict(
    folder: Path, monkeypatch: pytest.MonkeyPatch, wish: str
) -> None:
    (folder / "small.toml").write_text(SWEEP + wish, encoding="utf-8")
    carry_out = Job.run

    def interrupt(job: Job, stop: threading.Event | None = None) -> pl.DataFrame | None:
        assert stop is not None
        if stop.is_set():
            return None
        found = carry_out(job, threading.Event())
        stop.set()
        return found

    monkeypatch.setattr(Job, "run", interrupt)
    answer = run_small("--seeds", "1")
    assert answer.exit_code == 130
    told = " ".join(answer.stdout.split())
    assert re.search(r"\d of 4 settings ha(s|ve) results so far\.", told), told
    assert not re.search("[Bb]est|nearest|No queue|as good|summary.parquet", told), told
    document = json.loads(run_small("--seeds", "1", "--json", "--out", "again").stdout)
    assert not document["complete"]
    assert not document["conclusion"]["best"]


def test_a_sweep_that_is_stopped_before_its_first_point_says_nothing_of_measures(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(job: Job, stop: threading.Event | None = None) -> pl.DataFrame | None:
        assert stop is not None
        stop.set()
        return None

    monkeypatch.setattr(Job, "run", interrupt)
    answer = run_small("--seeds", "1")
    assert answer.exit_code == 130
    assert "0 of 4 settings have results so far." in answer.stdout
    assert "summary.parquet" not in answer.stdout


def test_a_full_disk_loses_no_finished_point(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []

    def fill(path: Path, content: bytes) -> None:
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        written.append(path)
        write_whole(path, content)

    with monkeypatch.context() as patch:
        patch.setattr("headend.running.execution.count_cores", lambda: 1)
        patch.setattr("headend.results.store.write_whole", fill)
        answer = run_small()
    assert answer.exit_code == 2
    assert "out/points: cannot be written: no space left on device" in answer.stderr
    assert len(list((folder / "out" / "points").glob("*.parquet"))) == 3
    assert run_small("-q").exit_code == 0


def test_another_sweeps_results_are_not_replaced_unasked(folder: Path) -> None:
    assert run_small("-q").exit_code == 0
    table = (folder / "out" / "results.parquet").read_bytes()
    (folder / "other.toml").write_text(SWEEP, encoding="utf-8")
    answer = run_small(file="other.toml")
    assert (answer.exit_code, answer.stderr) == (
        2,
        'error: out: holds the results of another sweep, "small" over line and not "other" over'
        " line; choose another"
        " folder with --out, or replace them with --force\n",
    )
    with pytest.raises(InputError, match="holds the results of another sweep"):
        headend.sweep("other.toml", out="out")
    # A file of the same name elsewhere is another one where its scenario is.
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "street.toml").write_text(LINE, encoding="utf-8")
    text = SWEEP.replace("line.toml", "street.toml")
    (folder / "elsewhere" / "small.toml").write_text(text, encoding="utf-8")
    answer = run_small(file="elsewhere/small.toml")
    assert '"small" over line and not "small" over street' in answer.stderr
    assert (folder / "out" / "results.parquet").read_bytes() == table
    assert run_small("-q", "--force", file="other.toml").exit_code == 0
    assert read_manifest(folder / "out")["name"] == "other"


def test_an_edited_sweep_goes_on(folder: Path) -> None:
    assert run_small("-q", "--seeds", "1").exit_code == 0
    (folder / "second.toml").write_text(LINE, encoding="utf-8")
    text = SWEEP.replace('"line.toml"', '["line.toml", "second.toml"]').replace("Small", "Large")
    (folder / "small.toml").write_text(text, encoding="utf-8")
    assert run_small("-q", "--seeds", "1").exit_code == 0
    assert read_manifest(folder / "out")["scenarios"] == ["line", "second"]
    # Results of before scenarios were noted are told by the name.
    manifest = read_manifest(folder / "out")
    del manifest["scenarios"]
    write_file(encode_json(manifest), folder / "out" / "manifest.json")
    seal(folder / "out", read_seals(folder / "out"))
    assert run_small("-q", "--seeds", "1").exit_code == 0


def test_points_that_come_to_the_same_are_run_once(folder: Path) -> None:
    seen: list[Progress] = []
    text = SWEEP.replace('["10 ms", "30 ms"]', '["10 ms", "0.01 s"]')
    (folder / "twice.toml").write_text(text, encoding="utf-8")
    result = headend.sweep("twice.toml", out="out", on_progress=seen.append)
    assert len(list((folder / "out" / "points").glob("*.parquet"))) == 4
    assert result.table.height == 16
    assert (seen[0].done, seen[-1].done, seen[-1].total) == (0, 8, 8)


def test_what_the_engine_warns_of_is_told_once_with_where_it_applies(folder: Path) -> None:
    text = SWEEP.replace('"codel"', '"strict_priority"')
    (folder / "small.toml").write_text(text, encoding="utf-8")
    of_run = headend.run("line.toml", set={"queue": "strict_priority"}).warnings
    assert of_run
    told = [f"{text} (at queue = strict_priority)" for text in of_run]

    shown = " ".join(run_small().stdout.split())
    assert [shown.count(f"Warning: {text}.") for text in told] == [1] * len(told)
    assert json.loads(run_small("--json").stdout)["warnings"] == told
    report = folder / "out" / "report.html"
    written = report.read_bytes()
    assert all(text in html.unescape(written.decode()) for text in told)
    report.unlink()
    assert CliRunner().invoke(app, ["report", "out"]).exit_code == 0
    assert report.read_bytes() == written

    (folder / "only.toml").write_text(text.replace('"drop_tail", ', ""), encoding="utf-8")
    everywhere = CliRunner().invoke(app, ["sweep", "only.toml", "--out", "all", "--json"])
    assert json.loads(everywhere.stdout)["warnings"] == of_run
    page = folder / "all" / "report.html"
    first, *_ = page.read_text(encoding="utf-8").split('<section id="warnings">')
    assert "to read before these results are trusted" in first


@pytest.mark.parametrize(
    ("warned", "where"),
    [
        ({1, 2}, " (at queue = a)"),
        ({1, 3, 5}, " (at rtt = 1)"),
        ({1, 2, 5, 6}, " (at queue = a, c)"),
        ({4}, " (at b, 2)"),
        ({1, 4}, " (in 2 of 6 settings, the first a, 1)"),
        ({1, 2, 3, 4, 5, 6}, ""),
    ],
)
def test_a_warning_names_the_settings_that_it_is_of(
    folder: Path, warned: set[int], where: str
) -> None:
    (job, *_) = list_jobs("small.toml")
    prepared = [
        (
            Point(Setting(setting, place, "line.toml"), seed),
            replace(job, warnings=("beware",) if setting in warned else ()),
        )
        for setting, place in enumerate(itertools.product("abc", (1, 2)), start=1)
        for seed in (1, 2)
    ]
    assert take_notes(["queue", "rtt"], prepared) == (f"beware{where}",)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="needs headend[cluster]")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as local:
        yield local


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_cluster_gives_the_same_bytes(folder: Path, cluster: Any) -> None:
    assert run_small("-q").exit_code == 0
    command = ["sweep", "small.toml", "--out", "far", "-q", "--scheduler"]
    answer = CliRunner().invoke(app, [*command, cluster.scheduler_address])
    assert answer.exit_code == 0, answer.output
    for name in ("results.parquet", "summary.parquet", "manifest.json", "report.html"):
        assert (folder / "far" / name).read_bytes() == (folder / "out" / name).read_bytes()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_worker_that_is_killed_costs_only_its_point(folder: Path, cluster: Any) -> None:
    text = SWEEP.replace("[grid]", '[set]\nduration = "200 s"\n[grid]')
    (folder / "long.toml").write_text(text, encoding="utf-8")
    killed: list[int] = []

    def kill(progress: Progress) -> None:
        if progress.done == 1 and not killed:
            worker = next(iter(cluster.workers.values()))
            killed.append(worker.pid)
            os.kill(worker.pid, signal.SIGKILL)

    far: SweepResult = headend.sweep(
        "long.toml", out="far", scheduler=cluster.scheduler_address, on_progress=kill
    )
    assert killed
    assert not far.failures
    here = headend.sweep("long.toml", out="here")
    assert far.table.equals(here.table)
    assert Path("far/results.parquet").read_bytes() == Path("here/results.parquet").read_bytes()


#: How long a test waits for what never comes before it fails instead of hanging, in seconds: far
#: more than the slowest machine needs, so that no test that passes hangs on it.
PATIENCE = 900


def wait_until(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := condition():
            return found
    pytest.fail(f"never: {what}")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_results_that_die_with_their_worker_are_measured_again(folder: Path, cluster: Any) -> None:
    text = SWEEP.replace("[grid]", '[set]\nduration = "200 s"\n[grid]')
    (folder / "long.toml").write_text(text, encoding="utf-8")
    store, jobs = PointStore(folder / "points"), list_jobs("long.toml")
    tasks = [Task(job, store, 0) for job in jobs]
    with (
        Cluster(cluster.scheduler_address) as executor,
        closing(executor.run(tasks, threading.Event())) as stream,
    ):
        outcomes = [next(stream)]
        states = executor.client.futures

        def all_are_done() -> bool:
            return all(state.status == "finished" for state in list(states.values()))

        wait_until(all_are_done, "all points are measured, and one is fetched")
        held = executor.client.has_what()
        nanny = next(nanny for nanny in cluster.workers.values() if held.get(nanny.worker_address))
        os.kill(nanny.pid, signal.SIGKILL)
        wait_until(
            lambda: any(state.status == "lost" for state in list(states.values())),
            "the client knows what was lost",
        )
        outcomes += stream
    assert {task.job.key for task, _ in outcomes} == {job.key for job in jobs}
    assert all(outcome == Completed() for _, outcome in outcomes)
    assert store.find(job.key for job in jobs) == {job.key for job in jobs}


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_point_that_kills_its_worker_takes_no_other_with_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed", reason="needs headend[cluster]")
    text = SWEEP.replace("[grid]", '[set]\nduration = "20000 s"\n[grid]')
    (folder / "long.toml").write_text(text, encoding="utf-8")
    pack = Job.pack

    def arm(job: Job) -> Any:
        deadly = job.seed == 2 and '"30 ms"' in dict(job.overrides)["flow.ping.rtt"]
        return Deadly() if deadly else pack(job)

    monkeypatch.setattr(Job, "pack", arm)
    # All points run at once in one process, and all of them are there when it dies.
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=8,
        processes=True,
        dashboard_address=None,
        scheduler_kwargs={"allowed_failures": 0},
    ) as local:
        # Were there no worker left, Dask would wait for one.
        stop = threading.Event()
        patience = threading.Timer(PATIENCE, stop.set)
        patience.start()
        found = headend.sweep("long.toml", out="far", scheduler=local.scheduler_address, stop=stop)
        patience.cancel()
    reason = (
        "each worker that ran it died, also when it ran alone; most often memory ran out, which the"
        " worker's log tells"
    )
    assert found.failures == {(queue, "30 ms", 2): reason for queue in ("drop_tail", "codel")}
    assert found.complete
    assert found.table.filter(pl.col("error").is_null()).height == 2 * 6


class Deadly:
    """What a point does that needs more memory than there is."""

    def run(self) -> None:
        # Dask gives a worker up that dies while it is being started.
        time.sleep(0.5)
        os._exit(9)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_scheduler_that_does_not_answer_is_said_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="needs headend[cluster]")
    monkeypatch.setattr("headend.running.connection.ANSWER_SECONDS", 0.5)
    answer = run_small("--scheduler", "tcp://127.0.0.1:1")
    assert answer.exit_code == 2
    assert (
        "--scheduler tcp://127.0.0.1:1: expected a running Dask scheduler such as"
        " tcp://HOST:8786, found no answer"
    ) in answer.stderr


@pytest.mark.parametrize(
    "address", ["nonsense", "tcp://host", "ftp://host:1", "tcp://host:port", "tcp://a/b:1", ":8786"]
)
def test_what_is_no_address_is_never_called(
    folder: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    distributed = pytest.importorskip("distributed", reason="needs headend[cluster]")
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: pytest.fail("was called"))
    answer = run_small("--scheduler", address)
    assert answer.exit_code == 2
    expected = (
        f"error: --scheduler {address}: expected the address of a Dask scheduler, such as"
        " tcp://HOST:8786\n"
    )
    assert answer.stderr == expected


def test_a_failure_tells_its_kind_where_it_is_ours() -> None:
    from headend.running.executor import describe_error

    assert describe_error(KeyError("x")) == "KeyError: 'x'"
    assert Failure(describe_error(InputError("no such\nthing"))).reason == "no such thing"


def test_a_wish_without_a_direction_asks_for_the_worse_one_as_an_expectation_does() -> None:
    line = {"point_to_point": {"up": {"rate": "10 Mbit/s"}, "down": {"rate": "1 Mbit/s"}}}
    scenario = {
        "duration": "20 s",
        "warmup": "4 s",
        "link": {"line": line},
        "flow": {
            "call": {"application": "voice"},
            "download": {"application": "bulk", "direction": "down"},
        },
    }
    content = {
        "scenario": scenario,
        "grid": {"flow.call.rtt": ["40 ms"]},
        "wish": {"hold": "call.mos.p5 >= 4.0"},
    }

    table = headend.sweep(content).table.filter(pl.col("measure") == "call.mos.p5")

    run = headend.run(scenario, set={"flow.call.rtt": "40 ms"}, report=False)
    worse, better = sorted(
        run.measures.filter(flow="call", measure=name)["p5"].item() for name in ("mos", "mos_down")
    )
    assert worse < better
    assert table["value"].to_list() == [worse]
