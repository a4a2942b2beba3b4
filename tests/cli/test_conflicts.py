"""Settings given twice, without effect or of unknown names are refused everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import headend
from headend.cli.main import app

LINE = """\
duration = "1 s"
link.line.point_to_point.up.rate = "2 Mbit/s"
flow.up = { application = "bulk", direction = "up", rtt = "40 ms" }
flow.ping = { application = "ping", rtt = "20 ms" }
"""

UP = "link.line.point_to_point.up.queue"


@pytest.fixture(autouse=True)
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "line.toml"
    path.write_text(LINE, encoding="utf-8")
    return path


def refuse(*arguments: str) -> str:
    answer = CliRunner().invoke(app, list(arguments))
    assert answer.exit_code == 2, answer.output
    assert answer.stdout == ""
    return answer.stderr.removeprefix("error: ").rstrip()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["queue=codel", "queue=pie"], "--set queue: set twice; leave out one of them"),
        (
            [f"{UP}=codel", "queue=pie"],
            f"--set queue: set twice by --set {UP}; leave out one of them",
        ),
        (
            ["queue=fq_codel", "queue.codel.target=5 ms"],
            "--set queue: has no effect, since --set queue.codel.target replaces it by another"
            " choice; leave out one of them",
        ),
        (
            ["queue.codel.target=5 ms", "queue.pie.target=5 ms"],
            "--set queue.codel.target: has no effect, since --set queue.pie.target replaces it by"
            " another choice; leave out one of them",
        ),
        (
            ["queue.codel.target=5 ms", "queue=codel"],
            "--set queue.codel.target: has no effect, since --set queue comes after it and replaces"
            " it; leave out one of them, or put the longer path last",
        ),
    ],
)
def test_a_setting_that_a_later_one_replaces_is_refused(settings: list[str], message: str) -> None:
    options = [part for setting in settings for part in ("--set", setting)]
    assert refuse("run", "line.toml", *options) == message


@pytest.mark.parametrize(
    "settings",
    [
        ["queue=codel", "queue.codel.target=5 ms"],
        ['queue={codel={target="5 ms"}}', "queue.codel.interval=50 ms"],
        ["queue.codel.target=5 ms", "queue.codel.interval=50 ms"],
        ["flow.up.rtt=10 ms", "flow.ping.rtt=10 ms"],
    ],
)
def test_settings_that_complete_each_other_are_taken(settings: list[str]) -> None:
    options = [part for setting in settings for part in ("--set", setting)]
    answer = CliRunner().invoke(app, ["run", "line.toml", "-q", *options])
    assert answer.exit_code == 0, answer.output


def test_a_seed_has_one_source() -> None:
    assert refuse("run", "line.toml", "--seed", "3", "--set", "seed=4") == (
        "--set seed: has no effect, since --seed sets the seed; leave out one of them"
    )


def test_one_packet_is_followed() -> None:
    message = refuse("run", "line.toml", "--explain", "up@0 s", "--explain", "ping@0 s")
    assert message == "--explain: given twice; a run follows one packet, so run it once for each"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--vary", "queue=codel,pie", "--set", "queue=red"],
            "--set queue: has no effect, since --vary queue sets it in every run; leave out one of"
            " them",
        ),
        (
            ["--vary", "queue=codel,pie", "--set", f"{UP}.red.limit=9 KiB"],
            f"--set {UP}.red.limit: has no effect, since --vary queue sets it in every run; leave"
            " out one of them",
        ),
        (
            ["--vary", "queue.codel.target=5 ms,9 ms", "--set", "queue=pie"],
            "--set queue: has no effect, since --vary queue.codel.target replaces it by another"
            " choice; leave out one of them",
        ),
        (
            ["--vary", "queue=codel,pie", "--vary", f"{UP}=red,pie"],
            f"--vary {UP}: --vary queue is the same setting; vary one of them",
        ),
    ],
)
def test_a_comparison_sets_nothing_twice(options: list[str], message: str) -> None:
    assert refuse("compare", "line.toml", *options) == message


@pytest.mark.parametrize("option", [("--set", "queue=red"), ("--seeds", "3"), ("--seed", "3")])
def test_finished_runs_take_no_settings(tmp_path: Path, option: tuple[str, str]) -> None:
    (tmp_path / "a").mkdir()
    assert refuse("compare", "a", "a", *option) == (
        f"{option[0]}: has no effect on a, a finished run; it needs a scenario and --vary or"
        " --seeds"
    )


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "queue=pie",
            "--set queue: has no effect, since the axis queue.codel.target replaces it by another"
            " choice; leave out one of them",
        ),
        (
            "seed=3",
            "--set seed: has no effect, since seeds say with which each point is run; leave it out,"
            " or write seeds = [3]",
        ),
    ],
)
def test_a_sweep_sets_nothing_twice(tmp_path: Path, setting: str, message: str) -> None:
    (tmp_path / "sweep.toml").write_text(
        'scenario = "line.toml"\n[grid]\nqueue.codel.target = ["5 ms", "9 ms"]\n', encoding="utf-8"
    )
    assert refuse("sweep", "sweep.toml", "--set", setting) == message


def test_what_a_sweep_sets_may_be_changed_from_outside(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(
        'scenario = "line.toml"\nset.queue = "codel"\ngrid."flow.ping.rtt" = ["5 ms", "9 ms"]\n',
        encoding="utf-8",
    )
    answer = CliRunner().invoke(app, ["sweep", "sweep.toml", "-q", "--set", "queue=pie"])
    assert answer.exit_code == 0, answer.output


def test_a_point_that_is_not_there_is_told_as_it_was_typed() -> None:
    assert refuse("run", "line.toml", "--capture", "up", "--capture", "foo") == (
        'line.toml: --capture foo: no flow, host or queue is called "foo"; expected one of'
        ' "ping", "up", "line.up", "line.down"'
    )


def write_own_queue(line: Path) -> None:
    """Give the line a queue with a limit of its own, which is not the default."""
    line.write_text(f'{LINE}{UP}.drop_tail.limit = "350 ms"\n', encoding="utf-8")


NOTE = (
    f"queue=drop_tail replaces what the scenario writes at {UP}.drop_tail by the defaults of"
    f" drop_tail: limit is"
    ' "250 ms" and not "350 ms"; queue={drop_tail = {limit = "350 ms"}} keeps it'
)


def test_the_lines_own_queue_replaced_by_its_bare_name_is_told(line: Path) -> None:
    write_own_queue(line)
    assert headend.run("line.toml", set={"queue": "drop_tail"}).warnings == [
        NOTE.replace("queue=drop_tail", 'queue="drop_tail"')
    ]
    runs = headend.compare("line.toml", {"queue": ["drop_tail", "codel"]}).results
    assert [len(run.warnings) for run in runs] == [1, 0]
    options = ["--vary", "queue=drop_tail,codel", "--out", "both"]
    answer = CliRunner().invoke(app, ["compare", "line.toml", *options])
    assert f"Warning: {NOTE}." in " ".join(answer.stdout.split())
    assert "replaces what the scenario writes" in Path("both/report.html").read_text("utf-8")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"queue": "codel"},
        {"queue": {"drop_tail": {"limit": "100 ms"}}},
        {"queue": "drop_tail", "queue.drop_tail.limit": "350 ms"},
    ],
)
def test_a_queue_that_is_kept_or_chosen_in_full_needs_no_note(
    line: Path, settings: dict[str, object]
) -> None:
    write_own_queue(line)
    assert headend.run("line.toml", set=settings).warnings == []
    line.write_text(f'{LINE}{UP}.drop_tail.limit = "250 ms"\n', encoding="utf-8")
    assert headend.run("line.toml", set={"queue": "drop_tail"}).warnings == []


def test_a_sweep_tells_of_a_queue_replaced_by_its_bare_name_as_a_run_does(
    line: Path, tmp_path: Path
) -> None:
    write_own_queue(line)
    (tmp_path / "far.toml").write_text(
        'scenario = "line.toml"\ngrid."flow.ping.rtt" = ["5 ms", "9 ms"]\n', encoding="utf-8"
    )
    sweep = ["sweep", "far.toml", "--out", "out", "--set", "queue=drop_tail"]
    answer = CliRunner().invoke(app, sweep)
    assert " ".join(answer.stdout.split()).count(f"Warning: {NOTE}.") == 1
    # Also where all points are kept.
    answer = CliRunner().invoke(app, [*sweep, "--json"])
    assert json.loads(answer.stdout)["warnings"] == [NOTE]
    assert headend.sweep({"scenario": "line.toml", "grid": {"queue": ["codel"]}}).notes == ()
    both = headend.sweep({"scenario": "line.toml", "grid": {"queue": ["codel", "drop_tail"]}})
    assert both.notes == (NOTE.replace("queue=drop_tail", 'queue="drop_tail"'),)


def test_what_is_set_after_the_bare_name_is_no_loss_to_tell(line: Path) -> None:
    write_own_queue(line)
    settings = [("queue", "drop_tail"), ("queue.drop_tail.limit", "100 ms")]
    assert headend.run("line.toml", set=settings).warnings == []
