"""Results: written and read back, equal runs give equal folders, nothing half-written."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import headend
from headend.cli.main import app
from headend.design.seeds import choose_seeds
from headend.engine.columns import TABLES
from headend.errors import InputError
from headend.results.folder import choose_folder, create_folder
from headend.results.seal import read_seals, seal
from headend.running.result import Result


def test_a_result_comes_back_as_it_was_saved(fake: Any, home_line: Path, tmp_path: Path) -> None:
    result = headend.run(home_line)
    result.save(tmp_path / "kept", report=False)
    loaded = Result.load(tmp_path / "kept")
    assert loaded.manifest == result.manifest
    assert set(loaded.tables) == set(TABLES)
    for name, table in result.tables.items():
        assert loaded.tables[name].equals(table), name


def test_equal_runs_give_equal_folders(fake: Any, home_line: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        headend.run(home_line, out=folder)
    for path in sorted(folders[0].iterdir()):
        assert path.read_bytes() == (folders[1] / path.name).read_bytes(), path.name


def test_overrides_and_seed_reach_the_engine(fake: Any, home_line: Path) -> None:
    result = headend.run(home_line, set={"queue": "docsis_pie", "flow.call.rtt": "80 ms"}, seed=7)
    assert result.manifest["seed"] == 7
    assert result.manifest["scenario"]["flow"]["call"]["rtt"] == "80 ms"
    assert result.queues["discipline"][0] == "docsis_pie"


def test_the_scenario_that_is_kept_has_the_seed_of_the_run(
    fake: Any, home_line: Path, tmp_path: Path
) -> None:
    before = headend.run(home_line)
    result = headend.run(home_line, seed=11, out=tmp_path / "out")
    assert result.manifest["seed"] == result.manifest["scenario"]["seed"] == 11
    # Nothing else of it is touched.
    assert {**result.manifest["scenario"], "seed": 1} == before.manifest["scenario"]
    assert list(result.manifest["scenario"]) == list(before.manifest["scenario"])
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "&#34;seed&#34;: 11" in report
    assert "&#34;seed&#34;: 1," not in report
    compared = headend.compare(home_line, {"queue": ["codel"]}, seeds=[4, 2])
    assert [one.manifest["scenario"]["seed"] for one in compared.results] == [4, 2]


def test_numbers_of_numpy_are_numbers(fake: Any, home_line: Path) -> None:
    result = headend.run(home_line, seed=np.int64(5), set={"flow.upload.count": np.int32(2)})  # type: ignore[arg-type]
    assert (result.manifest["seed"], type(result.manifest["seed"])) == (5, int)
    assert result.manifest["overrides"] == [["flow.upload.count", "2"]]
    compared = headend.compare(home_line, {"queue": ["codel"]}, seeds=np.arange(2, 4))  # type: ignore[arg-type]
    assert [one.manifest["seed"] for one in compared.results] == [2, 3]
    assert choose_seeds(np.int64(2)) == (1, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [1.5, "3", True, -1, np.array([3]), np.float64(2)])
def test_what_is_no_seed_is_refused(fake: Any, home_line: Path, seed: Any) -> None:
    with pytest.raises(InputError, match="seed: expected a whole number from 0 to"):
        headend.run(home_line, seed=seed)
    with pytest.raises(InputError, match="seeds: expected how many"):
        headend.compare(home_line, {"queue": ["codel"]}, seeds=seed if seed is True else 1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("overrides", "found"),
    [
        ("queue=codel", "'queue=codel'"),
        (["queue=codel"], "['queue=codel']"),
        ([("seed", 3)], "[('seed', 3)]"),
        ({1: 2}, "{1: 2}"),
        (None, "None"),
    ],
)
def test_what_sets_no_values_is_refused(
    fake: Any, home_line: Path, overrides: Any, found: str
) -> None:
    expected = 'set: expected a mapping of paths to values, such as {"queue": "codel"}, found '
    calls: list[Any] = [headend.run, functools.partial(headend.compare, vary={"queue": ["codel"]})]
    for call in calls:
        with pytest.raises(InputError) as error:
            call(home_line, set=overrides)
        assert str(error.value) == expected + found


def test_a_value_that_is_none_is_refused_with_its_path(fake: Any, home_line: Path) -> None:
    expected = "{}: expected text, a number, a list or a table, found {}"
    with pytest.raises(InputError) as error:
        headend.run(home_line, set={"queue": None})
    assert str(error.value) == expected.format("set.queue", "None")
    with pytest.raises(InputError) as error:
        headend.run(home_line, set={"queue": {"codel": {"target": b"5 ms"}}})
    assert str(error.value) == expected.format("set.queue", "bytes")
    with pytest.raises(InputError) as error:
        headend.compare(home_line, {"queue": ["codel", None]})
    assert str(error.value) == expected.format("vary.queue", "None")


@pytest.mark.parametrize("vary", [["queue=a,b"], "queue=codel,pie", {1: ["codel"]}, None])
def test_what_varies_nothing_is_refused(fake: Any, home_line: Path, vary: Any) -> None:
    with pytest.raises(InputError) as error:
        headend.compare(home_line, vary)
    expected = (
        'vary: expected a mapping of paths to lists of values, such as {"queue": ["drop_tail",'
        ' "codel"]}'
    )
    assert str(error.value) == f"{expected}, found {vary!r}"


@pytest.mark.parametrize(
    ("values", "found"),
    [([], "an empty list"), ("codel", "'codel'"), ({"codel": {}}, "{'codel': {}}"), (3, "3")],
)
def test_what_is_no_list_of_values_is_refused(
    fake: Any, home_line: Path, values: Any, found: str
) -> None:
    with pytest.raises(InputError) as error:
        headend.compare(home_line, {"queue": values})
    expected = 'vary.queue: expected a list of values, such as ["drop_tail", "codel"], found '
    assert str(error.value) == expected + found


def test_what_names_no_scenario_or_sweep_is_refused(fake: Any) -> None:
    with pytest.raises(InputError) as error:
        headend.run(None)  # type: ignore[arg-type]
    expected = "scenario: expected a path or the name of a scenario, or a dictionary, found None"
    assert str(error.value) == expected
    with pytest.raises(InputError) as error:
        headend.sweep(3)  # type: ignore[arg-type]
    expected = "sweep: expected the path of a sweep's file, or a dictionary, found 3"
    assert str(error.value) == expected


@pytest.mark.parametrize("found", [3, True, b"x"])
def test_arguments_of_another_type_are_refused(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch, found: Any
) -> None:
    vary = {"queue": ["codel", "pie"]}
    sweep = {"scenario": str(home_line), "grid": vary}
    result, comparison = headend.run(home_line), headend.compare(home_line, vary)
    monkeypatch.setattr(fake.Run, "advance", lambda *_: pytest.fail("was run"))
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: headend.run(home_line, explain=found),
         'explain: expected FLOW@TIME, such as "call@12 s"'),
        (lambda: headend.run(home_line, out=found), "out: expected a path"),
        (lambda: headend.compare(home_line, vary, out=found), "out: expected a path"),
        (lambda: headend.sweep(sweep, out=found), "out: expected a path"),
        (lambda: headend.sweep(sweep, stop=found), "stop: expected a threading.Event"),
        (lambda: headend.sweep(sweep, on_progress=found),
         "on_progress: expected a function of one argument"),
        (lambda: headend.sweep(sweep, out="mine", scheduler=found),
         "scheduler: expected the address of a Dask scheduler, such as tcp://HOST:8786"),
        (lambda: result.save(found), "folder: expected a path"),
        (lambda: result.report(found), "path: expected a path"),
        (lambda: Result.load(found), "folder: expected a path"),
        (lambda: comparison.save(found), "folder: expected a path"),
        (lambda: comparison.report(found), "path: expected a path"),
    ]  # fmt: skip
    for call, expected in calls:
        with pytest.raises(InputError) as error:
            call()
        assert str(error.value) == f"{expected}, found {found!r}"
    assert not Path("mine").exists()


def test_a_comparison_is_not_run_for_a_folder_that_it_cannot_have(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headend.run(home_line, out="there")
    monkeypatch.setattr(fake.Run, "advance", lambda *_: pytest.fail("was run"))
    with pytest.raises(InputError, match="there: exists; choose another folder"):
        headend.compare(home_line, {"queue": ["codel", "pie"]}, out="there")


def test_a_result_shows_itself_in_a_line(fake: Any, home_line: Path) -> None:
    result = headend.run(home_line, seed=3)
    assert repr(result) == "<Result 'home-line', seed 3, 60 s, 4 flows, 2 queues>"


def test_the_verdict_of_a_result_is_that_of_the_command(fake: Any, home_line: Path) -> None:
    result = headend.run(home_line)
    answer = CliRunner().invoke(app, ["run", str(home_line), "--no-advice", "--json"])
    assert json.loads(answer.stdout)["verdict"] == json.loads(json.dumps(result.verdict.to_dict()))


def test_a_scenario_may_be_a_dictionary(fake: Any) -> None:
    scenario = {
        "duration": "10 s",
        "link": {"cable": {"docsis": {}}},
        "flow": {"up": {"application": "bulk"}},
    }
    assert headend.run(scenario).flows["flow"].unique().to_list() == ["up"]


def test_a_dictionary_that_is_no_scenario_is_refused(fake: Any) -> None:
    expected = "scenario: expected a dictionary of texts, numbers, lists and tables: "
    odd: list[tuple[dict[Any, Any], str]] = [
        ({"link": {1, 2}}, "found set"),
        ({(1, 2): 3}, "keys must be str, int, float, bool or None, not tuple"),
    ]
    for scenario, found in odd:
        with pytest.raises(InputError) as error:
            headend.run(scenario)
        assert str(error.value) == expected + found


def test_a_folder_that_exists_is_not_touched(fake: Any, home_line: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for force in (False, True):
        with pytest.raises(InputError):
            headend.run(home_line, out=tmp_path / "mine", force=force)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_a_results_folder_is_replaced_when_forced(
    fake: Any, home_line: Path, tmp_path: Path
) -> None:
    headend.run(home_line, out=tmp_path / "out", seed=1)
    headend.run(home_line, out=tmp_path / "out", seed=2, force=True)
    assert Result.load(tmp_path / "out").manifest["seed"] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home-line.toml", "out"]


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("notes.txt", "notes.txt"),
        ("mine/thesis.txt", "mine/"),
        ("mine/deep/report.html", "mine/"),
        ("figures/notes.txt", "figures/notes.txt"),
        ("figures/mine/delay.svg", "figures/mine/"),
        ("flows.txt", "flows.txt"),
    ],
)
def test_what_results_did_not_write_is_never_replaced(
    fake: Any, home_line: Path, tmp_path: Path, path: str, named: str
) -> None:
    headend.run(home_line, out=tmp_path / "out", seed=1)
    (tmp_path / "out" / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "out" / path).write_text("years of work")
    for force in (False, True):
        with pytest.raises(InputError, match=f"did not write: {named}; move that"):
            headend.run(home_line, out=tmp_path / "out", seed=2, force=force)
    assert (tmp_path / "out" / path).read_text() == "years of work"
    assert Result.load(tmp_path / "out").manifest["seed"] == 1


def test_results_within_results_are_not_replaced(
    fake: Any, home_line: Path, tmp_path: Path
) -> None:
    headend.run(home_line, out=tmp_path / "out", seed=1)
    for name in ("a", "b", "c", "d"):
        headend.run(home_line, out=tmp_path / "out" / name, seed=1)
    with pytest.raises(InputError, match="did not write: a/, b/, c/ and 1 more; move that"):
        headend.run(home_line, out=tmp_path / "out", force=True)
    assert Result.load(tmp_path / "out" / "a").manifest["seed"] == 1


def test_what_was_made_of_results_is_replaced_with_them(
    fake: Any, home_line: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    headend.run(home_line, out=out, seed=1)
    headend.export_tables(out, out / "tables")
    headend.export_tables(out, out / "csv")
    (out / "figures").mkdir()
    (out / "figures" / "delay.svg").write_text("<svg/>")
    (out / "empty").mkdir()
    headend.run(home_line, out=out, seed=2, force=True)
    assert Result.load(out).manifest["seed"] == 2
    assert not (out / "figures").exists()


def test_runs_of_a_comparison_are_replaced_with_it(
    fake: Any, home_line: Path, tmp_path: Path
) -> None:
    vary = {"queue": ["drop_tail", "codel"]}
    for _ in range(2):
        headend.compare(home_line, vary, out=tmp_path / "out", force=True)
    inner = next(path.parent for path in (tmp_path / "out").glob("*/manifest.json"))
    (inner / "notes.txt").write_text("years of work")
    with pytest.raises(InputError, match=f"did not write: {inner.name}/notes.txt; move that"):
        headend.compare(home_line, vary, out=tmp_path / "out", force=True)


def test_results_whose_seals_are_gone_are_not_replaced(
    fake: Any, home_line: Path, tmp_path: Path
) -> None:
    headend.run(home_line, out=tmp_path / "out", seed=1)
    (tmp_path / "out" / "SHA256SUMS").unlink()
    with pytest.raises(InputError, match="not replaced, since nobody can tell"):
        headend.run(home_line, out=tmp_path / "out", force=True)


def test_what_comes_while_a_run_goes_on_is_kept(tmp_path: Path) -> None:
    def fill(name: str, meanwhile: str = "") -> None:
        with create_folder(tmp_path / "out", force=True) as fresh:
            (fresh / "manifest.json").write_text('{"headend": "1"}')
            (fresh / name).touch()
            if meanwhile:
                (tmp_path / "out" / meanwhile).write_text("years of work")

    fill("first")
    with pytest.raises(InputError, match=r"the results of this run are in .*out-2$"):
        fill("second", "notes.txt")
    assert (tmp_path / "out" / "notes.txt").read_text() == "years of work"
    assert (tmp_path / "out-2" / "second").is_file()


def test_an_empty_folder_is_filled(fake: Any, home_line: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    headend.run(home_line, out=tmp_path / "out", seed=2)
    assert Result.load(tmp_path / "out").manifest["seed"] == 2


def test_a_folder_whose_filling_fails_leaves_nothing(tmp_path: Path) -> None:
    def fill() -> None:
        with create_folder(tmp_path / "out") as fresh:
            (fresh / "half").write_text("x")
            raise RuntimeError("the disk of the world is full")

    with pytest.raises(RuntimeError):
        fill()
    assert list(tmp_path.iterdir()) == []


def test_default_folders_are_numbered(tmp_path: Path) -> None:
    assert choose_folder("home", tmp_path) == tmp_path / "home"
    (tmp_path / "home").mkdir()
    (tmp_path / "home-2").mkdir()
    assert choose_folder("home", tmp_path) == tmp_path / "home-3"


def test_a_full_disk_is_told_in_one_line_and_leaves_nothing(
    fake: Any, home_line: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("headend.results.record.write_bytes", fail)
    with pytest.raises(InputError, match=r"out: cannot be written: no space left on device$"):
        headend.run(home_line, out=tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["home-line.toml"]


def test_tables_with_other_columns_are_named(fake: Any, home_line: Path, tmp_path: Path) -> None:
    result = headend.run(home_line, out=tmp_path / "out")
    path = tmp_path / "out" / "queues.parquet"
    result.queues.drop("delay_p50_ns").write_parquet(path)
    seal(path.parent, read_seals(path.parent))
    with pytest.raises(
        InputError, match=r'queues\.parquet: damaged: it has no column "delay_p50_ns"$'
    ):
        Result.load(tmp_path / "out")
    result.queues.cast({"marked": str}).write_parquet(path)
    seal(path.parent, read_seals(path.parent))
    with pytest.raises(InputError, match='the column "marked" holds String, expected Int64'):
        Result.load(tmp_path / "out")


def test_damaged_results_are_named(fake: Any, home_line: Path, tmp_path: Path) -> None:
    headend.run(home_line, out=tmp_path / "out")
    (tmp_path / "out" / "flows.parquet").write_bytes(b"rubbish")
    with pytest.raises(InputError, match=r"flows\.parquet: damaged"):
        Result.load(tmp_path / "out")
    (tmp_path / "out" / "manifest.json").write_text("{")
    with pytest.raises(InputError, match=r"manifest\.json: damaged"):
        Result.load(tmp_path / "out")
