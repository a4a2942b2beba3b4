"""Nothing damaged is believed: seals, faults and crashes at every call on the disk."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import headend
from headend.cli.main import app
from headend.cli.reading import report_unfit
from headend.errors import InputError, UnfitError
from headend.results.capture import Capture
from headend.results.folder import create_folder
from headend.results.scratch import PREFIX, Scratch, open_scratch, sweep_up
from headend.results.seal import SEALS, find_damage, read_seals, seal, seal_page
from headend.results.store import PointStore
from headend.running.result import Result
from headend.sweeps.result import load_sweep

LINE = """
duration = "1 s"
[link.line.point_to_point]
up = { rate = "1 Mbit/s" }
[flow.ping]
application = "ping"
"""

SWEEP = """
scenario = "line.toml"
seeds = [1, 2]
[grid]
"flow.ping.rtt" = ["10 ms", "30 ms"]
[measures]
rtt = "ping.rtt.p50"
"""

KEYS = [hashlib.sha256(name.encode()).hexdigest() for name in "abcd"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a scenario and a sweep."""
    (tmp_path / "line.toml").write_text(LINE)
    (tmp_path / "small.toml").write_text(SWEEP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


def list_points(folder: Path) -> list[Path]:
    return sorted((folder / "points").glob("*.parquet"))


@pytest.fixture
def store(tmp_path: Path) -> PointStore:
    """Four points."""
    store = PointStore(tmp_path / "points")
    for number, key in enumerate(KEYS):
        store.add(key, make_point(number))
    return store


def make_point(number: int) -> pl.DataFrame:
    return pl.DataFrame({"value": [float(number)]})


# Points


def test_a_point_that_is_copied_over_another_is_run_again_and_no_other(folder: Path) -> None:
    assert invoke("sweep", "small.toml", "--out", "out", "-q").exit_code == 0
    table = (folder / "out" / "results.parquet").read_bytes()
    assert invoke("verify", "out").exit_code == 0
    first, second = list_points(folder / "out")[:2]
    shutil.copyfile(first, second)
    answer = invoke("verify", "out")
    assert answer.exit_code == 1
    assert answer.stdout.splitlines()[0].startswith(
        f"out/points/{second.name}: not what was written"
    )
    before = {path: path.stat().st_mtime_ns for path in list_points(folder / "out")}
    assert invoke("sweep", "small.toml", "--out", "out", "-q").exit_code == 0
    after = {path: path.stat().st_mtime_ns for path in list_points(folder / "out")}
    assert [path for path in before if before[path] != after[path]] == [second]
    assert (folder / "out" / "results.parquet").read_bytes() == table
    assert invoke("verify", "out").exit_code == 0


@pytest.mark.parametrize("where", [0, 1, 100, -1, -5, -60])
def test_no_flipped_bit_is_believed(store: PointStore, where: int, caplog: Any) -> None:
    path = store.folder / next(
        path for path in store.folder.iterdir() if path.name.startswith(KEYS[0])
    )
    content = bytearray(path.read_bytes())
    content[where] ^= 1
    path.write_bytes(content)
    assert len(list(PointStore(store.folder).find_damage())) == 1
    assert PointStore(store.folder).find(KEYS) == set(KEYS[1:])
    assert "a damaged point: run again" in caplog.text


@pytest.mark.parametrize("content", [b"", b"PAR1", b"rubbish"])
def test_what_is_cut_off_is_not_believed(store: PointStore, content: bytes) -> None:
    path = next(store.folder.glob(f"{KEYS[0]}*"))
    path.write_bytes(content)
    assert PointStore(store.folder).find(KEYS) == set(KEYS[1:])
    store.add(KEYS[0], make_point(0))
    assert PointStore(store.folder).find(KEYS) == set(KEYS)


def test_no_point_is_taken_for_another(store: PointStore, tmp_path: Path) -> None:
    paths = {key: next(store.folder.glob(f"{key}*")) for key in KEYS}
    for one, other in permutations(KEYS, 2):
        copy = tmp_path / "copy"
        shutil.copytree(store.folder, copy)
        shutil.copyfile(paths[one], copy / paths[other].name)
        assert PointStore(copy).find(KEYS) == set(KEYS) - {other}
        # Nor under a name that is made up of both.
        seal = paths[one].name.split(".")[1]
        (copy / f"{other}.{seal}.parquet").write_bytes(paths[one].read_bytes())
        (copy / paths[other].name).unlink(missing_ok=True)
        assert PointStore(copy).find([other]) == set()
        shutil.rmtree(copy)


def test_what_is_damaged_after_it_was_found_is_not_decoded(store: PointStore) -> None:
    assert store.find(KEYS) == set(KEYS)
    next(store.folder.glob(f"{KEYS[0]}*")).write_bytes(b"rubbish")
    with pytest.raises(InputError, match="damaged: it is not what was written"):
        store.read(KEYS[0])


def test_points_without_a_seal_are_told_and_not_used(store: PointStore) -> None:
    path = next(store.folder.glob(f"{KEYS[0]}*"))
    path.rename(store.folder / f"{KEYS[0]}.parquet")
    assert "points without a seal, as an older headend wrote them: 1" in next(
        PointStore(store.folder).find_damage()
    )
    assert PointStore(store.folder).find(KEYS) == set(KEYS[1:])


# Results and pages


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of every kind, in folders of their names."""
    root = tmp_path_factory.mktemp("kinds")
    (root / "line.toml").write_text(LINE)
    (root / "small.toml").write_text(SWEEP)
    headend.run(root / "line.toml", out=root / "run")
    shutil.copytree(root / "run", root / "with-page")
    Result.load(root / "with-page").report(root / "with-page" / "report.html")
    headend.compare(root / "line.toml", vary={"flow.ping.rtt": ["10 ms", "20 ms"]}).save(
        root / "comparison"
    )
    headend.sweep(root / "small.toml", out=root / "sweep")
    answer = invoke("study", "run", "cbt/equal-loss", "--quick", "-q", "--out", str(root / "study"))
    assert answer.exit_code in (0, 1), answer.output
    return root


def list_kinds(root: Path) -> Iterator[Path]:
    return (path for path in sorted(root.iterdir()) if path.is_dir())


def test_results_of_every_kind_are_verified(kinds: Path) -> None:
    answer = invoke("verify", str(kinds))
    assert answer.exit_code == 0, answer.stdout
    assert "7 results folders: all as they were written." in answer.stdout
    document = json.loads(invoke("verify", str(kinds / "sweep"), "--json").stdout)
    # Four points, two tables, the manifest and the page.
    assert document == {"folders": 1, "files": 8, "damage": [], "other_formats": []}


def test_results_of_another_format_are_not_called_damaged(kinds: Path, tmp_path: Path) -> None:
    shutil.copytree(kinds / "run", tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 4}))
    told = (
        f"{tmp_path / 'run'}: results of format 4; this headend reads 5; run it again with this"
        " headend, or read it with the headend that wrote it"
    )
    answer = invoke("verify", str(tmp_path))
    assert answer.exit_code == 1
    first, last = answer.stdout.splitlines()
    assert first == told
    assert last.endswith("files in 1 results folder: 1 of another format.")
    document = json.loads(invoke("verify", str(tmp_path), "--json").stdout)
    assert (document["damage"], document["other_formats"]) == ([], [told])
    assert invoke("report", str(tmp_path / "run")).stderr == f"error: {told}\n"


def test_every_byte_counts(kinds: Path, tmp_path: Path) -> None:
    for path in sorted(kinds.rglob("*")):
        if not path.is_file() or path.suffix == ".toml":
            continue
        copy = tmp_path / "copy"
        shutil.copytree(kinds, copy)
        target = copy / path.relative_to(kinds)
        content = bytearray(target.read_bytes())
        content[len(content) // 2] ^= 1
        target.write_bytes(content)
        answer = invoke("verify", str(copy))
        assert answer.exit_code == 1, path
        # Of damaged seals, the file is told that a line is about now.
        assert path.name == SEALS or str(target) in answer.stdout, path
        if path.name not in (SEALS, "report.html") and path.parent.name != "points":
            target.unlink()
            answer = invoke("verify", str(copy))
            assert answer.exit_code == 1, path
        shutil.rmtree(copy)


@pytest.mark.parametrize("name", ["run", "comparison", "sweep", "study"])
def test_lost_seals_are_damage_whichever_they_are(kinds: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(kinds / name, tmp_path / name)
    path = tmp_path / name / SEALS
    lines = path.read_text().splitlines(keepends=True)
    for number in (*range(1, len(lines)), None):
        path.write_text("" if number is None else "".join(lines[:number] + lines[number + 1 :]))
        answer = invoke("verify", str(tmp_path / name))
        assert (answer.exit_code, f"{path}: damaged: it lists" in answer.stdout) == (1, True)
        if name != "study":
            answer = invoke("report", str(tmp_path / name))
            assert (answer.exit_code, len(answer.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize("name", ["run", "comparison", "sweep", "study"])
def test_seals_without_a_count_are_damaged(kinds: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(kinds / name, tmp_path / name)
    path = tmp_path / name / SEALS
    lines = path.read_text().splitlines(keepends=True)
    for first in ("", "# 0 files\n", f"#{len(lines) - 1} files\n"):
        path.write_text("".join([first, *lines[1:]]))
        answer = invoke("verify", str(tmp_path / name))
        told = f"{path}: damaged: line 1 does not say how many files it lists"
        assert (answer.exit_code, told in answer.stdout) == (1, True)


@pytest.mark.parametrize("name", ["run", "comparison", "sweep", "study"])
def test_files_that_results_must_have_are_missed_even_if_the_count_leaves_them_out(
    kinds: Path, tmp_path: Path, name: str
) -> None:
    shutil.copytree(kinds / name, tmp_path / name)
    path = tmp_path / name / SEALS
    lines = path.read_text().splitlines(keepends=True)[1:]
    for line in lines:
        lost = line.split()[1]
        if lost.endswith(".svg"):
            continue
        left = [one for one in lines if one != line]
        path.write_text("".join([write_seal_count(len(left)), *left]))
        answer = invoke("verify", str(tmp_path / name))
        told = f"{tmp_path / name / lost}: not listed in {SEALS}"
        assert (answer.exit_code, told in answer.stdout) == (1, True), lost


@pytest.mark.parametrize("line", ["a\0b", "", "../a", "/etc/passwd", "a" * 5000])
def test_a_name_that_no_seal_can_be_of_is_told_in_one_line(
    kinds: Path, tmp_path: Path, line: str
) -> None:
    shutil.copytree(kinds / "run", tmp_path / "run")
    path = tmp_path / "run" / SEALS
    lines = path.read_text().splitlines(keepends=True)[1:]
    path.write_text("".join([write_seal_count(len(lines) + 1), *lines, f"{'0' * 64}  {line}\n"]))
    answer = invoke("verify", str(tmp_path / "run"))
    assert (answer.exit_code, len(answer.stdout.splitlines())) == (1, 2), answer.output
    assert invoke("report", str(tmp_path / "run")).exit_code in (0, 2)


@pytest.mark.parametrize("name", ["sweep", "study"])
def test_points_that_are_gone_are_told(kinds: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(kinds / name, tmp_path / name)
    points = list_points(tmp_path / name)
    points[0].unlink()
    answer = invoke("verify", str(tmp_path / name))
    told = "points: of the results' points 1 is gone; run it again"
    assert (answer.exit_code, told in answer.stdout) == (1, True)
    shutil.rmtree(tmp_path / name / "points")
    answer = invoke("verify", str(tmp_path / name))
    assert (answer.exit_code, f"points {len(points)} are gone" in answer.stdout) == (1, True)


def test_the_seals_are_what_sha256sum_reads(kinds: Path) -> None:
    if shutil.which("sha256sum") is None:
        pytest.skip("there is no sha256sum here")
    for path in kinds.rglob(SEALS):
        subprocess.run(["sha256sum", "--check", "--strict", SEALS], cwd=path.parent, check=True)


@pytest.mark.parametrize("name", ["run", "comparison", "sweep"])
@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "gone", "unsealed"])
def test_no_report_is_made_of_what_is_damaged(
    kinds: Path, tmp_path: Path, name: str, damage: str
) -> None:
    shutil.copytree(kinds / name, tmp_path / name)
    tables = [path for path in (tmp_path / name).rglob("*.parquet") if path.parent.name != "points"]
    path = next(path for path in tables if path.stem in ("flows", "results"))
    content = path.read_bytes()
    if damage == "flip":
        path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    elif damage in ("cut", "empty"):
        path.write_bytes(content[: len(content) // 2 if damage == "cut" else 0])
    elif damage == "gone":
        path.unlink()
    else:
        (path.parent / SEALS).unlink()
    answer = invoke("report", str(tmp_path / name))
    assert answer.exit_code == 2
    assert answer.stderr.startswith("error: ")
    assert len(answer.stderr.splitlines()) == 1


def test_a_study_with_a_damaged_figure_draws_it_again(kinds: Path, tmp_path: Path) -> None:
    shutil.copytree(kinds / "study", tmp_path / "study")
    figure = next((tmp_path / "study" / "figures").glob("*.svg"))
    whole = figure.read_bytes()
    figure.write_bytes(whole[:-1])
    assert invoke("verify", str(tmp_path / "study")).exit_code == 1
    words = ("study", "run", "cbt/equal-loss", "--quick", "-q", "--out", str(tmp_path / "study"))
    assert invoke(*words).exit_code in (0, 1)
    assert figure.read_bytes() == whole
    assert invoke("verify", str(tmp_path / "study")).exit_code == 0


def test_one_file_is_counted_as_one(kinds: Path, tmp_path: Path) -> None:
    shutil.copyfile(kinds / "with-page" / "report.html", tmp_path / "report.html")
    answer = invoke("verify", str(tmp_path))
    assert answer.stdout == "1 file in 1 results folder: all as they were written.\n"


def test_what_holds_no_results_is_said_so(tmp_path: Path) -> None:
    answer = invoke("verify", str(tmp_path))
    assert (answer.exit_code, "no results are here" in answer.stderr) == (2, True)
    answer = invoke("verify", str(tmp_path / "none"))
    assert (answer.exit_code, "expected a results folder, found nothing" in answer.stderr) == (
        2,
        True,
    )


def test_a_page_is_made_again_unless_it_is_whole(folder: Path) -> None:
    assert invoke("sweep", "small.toml", "--out", "out", "-q").exit_code == 0
    page = folder / "out" / "report.html"
    whole = page.read_bytes()
    page.write_bytes(whole.replace(b"10 ms", b"11 ms"))
    assert invoke("sweep", "small.toml", "--out", "out", "-q").exit_code == 0
    assert page.read_bytes() == whole
    assert seal_page("<p>", "").endswith(b"-->\n")


# Faults and crashes

#: The calls on the disk that writing, moving and removing go through.
CALLS = ("mkdir", "open", "rename", "replace", "rmdir", "unlink", "write")


class Crash(BaseException):
    """The process is gone."""


class Disk:
    """The calls on the disk, of which one fails; after a crash none does anything."""

    def __init__(self, patch: pytest.MonkeyPatch, fail_at: int, kind: type[BaseException]) -> None:
        self.calls = 0
        self.is_dead = False

        def watch(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **options: Any) -> Any:
                if name == "open" and not args[1] & (os.O_WRONLY | os.O_RDWR):
                    return real(*args, **options)  # reading
                self.calls += 1
                if self.is_dead:
                    raise Crash
                if self.calls == fail_at:
                    self.is_dead = kind is Crash
                    raise kind(28, "No space left on device")
                return real(*args, **options)

            return call

        for name in CALLS:
            patch.setattr(os, name, watch(name, getattr(os, name)))


def count_calls(work: Callable[[], object]) -> int:
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(patch, 0, OSError)
        work()
    assert disk.calls > 3
    return disk.calls


def do_badly(work: Callable[[], object], number: int, kind: type[BaseException]) -> None:
    """Do it with a call on the disk that fails, or at which the process is gone."""
    with pytest.MonkeyPatch.context() as patch:
        Disk(patch, number, kind)
        try:
            work()
        except InputError as error:
            assert "no space left on device" in str(error)  # noqa: PT017 - it need not fail
        except Crash:
            assert kind is Crash


@pytest.mark.parametrize("kind", [OSError, Crash])
def test_a_point_is_whole_or_not_there_whatever_fails(
    tmp_path: Path, kind: type[BaseException]
) -> None:
    def add(number: int, name: str) -> None:
        PointStore(tmp_path / name).add(KEYS[number], make_point(number))

    for number in range(1, count_calls(lambda: add(1, "whole")) + 1):
        name = str(number)
        add(0, name)
        do_badly(functools.partial(add, 1, name), number, kind)
        store = PointStore(tmp_path / name)
        assert store.find(KEYS) >= {KEYS[0]}
        assert list(store.find_damage()) == []
        assert all(path.suffix == ".parquet" for path in store.folder.iterdir())


def test_a_short_write_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, content: write(file, content[:7]))
    store = PointStore(tmp_path)
    store.add(KEYS[0], make_point(3))
    assert store.read(KEYS[0]).equals(make_point(3))


def fill(target: Path, number: int) -> None:
    with create_folder(target, force=True) as fresh:
        (fresh / "manifest.json").write_text(json.dumps({"headend": "1", "number": number}))
        (fresh / "table").write_text(str(number) * 1000)


@pytest.mark.parametrize("kind", [OSError, Crash])
def test_a_folder_is_the_old_or_the_new_whatever_fails(
    tmp_path: Path, kind: type[BaseException]
) -> None:
    fill(tmp_path / "whole", 1)
    found = set()
    for number in range(1, count_calls(lambda: fill(tmp_path / "whole", 2)) + 1):
        place = tmp_path / str(number)
        place.mkdir()
        fill(place / "out", 1)
        do_badly(functools.partial(fill, place / "out", 2), number, kind)
        # The next one puts back what was moved aside, and sweeps up.
        fill(place / "next", 3)
        assert sorted(path.name for path in place.iterdir()) == ["next", "out"]
        found.add(json.loads((place / "out" / "manifest.json").read_text())["number"])
        assert list(find_damage(place / "out")) == []
    assert found == {1, 2}


def test_of_two_runs_into_one_folder_both_are_kept(tmp_path: Path) -> None:
    def begin_both() -> None:
        with create_folder(tmp_path / "out") as fresh:
            (fresh / "manifest.json").write_text(json.dumps({"headend": "1", "number": 1}))
            fill(tmp_path / "out", 2)

    told = (
        r"out: something else was written there in the meantime; the results of this run are in"
        r" .*out-2$"
    )
    with pytest.raises(InputError, match=told):
        begin_both()
    found = [
        json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("out", "out-2")
    ]
    assert [manifest["number"] for manifest in found] == [2, 1]
    assert list(find_damage(tmp_path / "out-2")) == []


@pytest.mark.parametrize("kind", [OSError, Crash])
def test_a_sweep_goes_on_whatever_fails(folder: Path, kind: type[BaseException]) -> None:
    (folder / "small.toml").write_text(SWEEP.replace("[1, 2]", "[1]"))

    def run(name: str) -> None:
        headend.sweep("small.toml", out=name)

    run("whole")
    tables = {name: (folder / "whole" / name).read_bytes() for name in ("results.parquet", SEALS)}
    for number in range(1, count_calls(lambda: run("counted")) + 1):
        name = f"out-{number}"
        do_badly(functools.partial(run, name), number, kind)
        run(name)
        assert headend.verify(name).damage == []
        assert {kept: (folder / name / kept).read_bytes() for kept in tables} == tables
        assert not list((folder / name).rglob(f"{PREFIX}*"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [OSError, Crash])
def test_a_study_goes_on_whatever_fails(
    kinds: Path, tmp_path: Path, kind: type[BaseException]
) -> None:
    whole = kinds / "study"

    def run(folder: Path) -> int:
        words = ("study", "run", "cbt/equal-loss", "--quick", "-q", "--out", str(folder))
        return int(invoke(*words).exit_code)

    def keep_points(name: str) -> Path:
        shutil.copytree(whole / "points", tmp_path / name / "points")
        return tmp_path / name

    expected = run(keep_points("whole"))
    counted = keep_points("counted")
    for number in range(1, count_calls(lambda: run(counted)) + 1):
        folder = keep_points(str(number))
        do_badly(functools.partial(run, folder), number, kind)
        assert run(folder) == expected
        assert headend.verify(folder).damage == []
        for path in whole.rglob("*"):
            if path.is_file():
                assert (folder / path.relative_to(whole)).read_bytes() == path.read_bytes()
        assert not list(folder.rglob(f"{PREFIX}*"))
        shutil.rmtree(folder)


# Leftovers


def test_what_a_killed_run_left_is_swept_up_and_what_lives_is_not(tmp_path: Path) -> None:
    leave_scratch(tmp_path)
    with open_scratch(tmp_path) as alive:
        sweep_up(tmp_path)
        assert list(tmp_path.iterdir()) == [alive]
    assert list(tmp_path.iterdir()) == []


def leave_scratch(parent: Path) -> None:
    """Leave what an owner leaves that is killed."""
    scratch = Scratch(parent)
    (scratch.path / "half").write_text("x")
    os.close(scratch._lock)


def test_nothing_of_others_is_swept_up(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    (victim / "aside").mkdir(parents=True)
    (victim / "aside" / "precious").write_text("x")
    (victim / "scratch-of-headend").write_text("")
    place = tmp_path / "place"
    for name in (f"{PREFIX}backup", f"{PREFIX}abcdefgh", "headend-sweep-mine"):
        (place / name).mkdir(parents=True)
        (place / name / "mine").write_text("x")
    (place / f"{PREFIX}linklink").symlink_to(victim)
    before = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*"))
    sweep_up(place)
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*")) == before


def test_captures_hold_no_descriptor_longer_than_they_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    leave_scratch(tmp_path)
    capture = Capture()
    assert list(tmp_path.iterdir()) == [capture.folder.parent]
    lock = os.open(capture.folder.parent, os.O_RDONLY)
    with pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    del capture
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(lock)
    assert list(tmp_path.iterdir()) == []


# Results of strangers


def test_results_of_strangers_name_no_files_outside(kinds: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("<svg>a secret</svg>")
    study = tmp_path / "study"
    shutil.copytree(kinds / "study", study)
    claims = json.loads((study / "claims.json").read_text())
    claims["figures"][0]["files"] = ["../../secret"]
    (study / "claims.json").write_text(json.dumps(claims))
    names = read_seals(study)
    seal(study, names)
    answer = invoke("figures", str(study), "--out", str(tmp_path / "pictures"))
    assert (answer.exit_code, "which is none of its figures" in answer.stderr) == (2, True)
    # Nor if it is sealed, since that leads out of the folder.
    seal(study, [*names, "figures/../../secret"])
    answer = invoke("figures", str(study), "--out", str(tmp_path / "pictures"))
    assert (answer.exit_code, "leads out of the results folder" in answer.stderr) == (2, True)
    assert not (tmp_path / "pictures").exists()


@pytest.mark.parametrize("inner", ["points", "figures"])
def test_nothing_is_written_or_read_through_a_folder_that_is_a_link(
    folder: Path, inner: str
) -> None:
    assert invoke("sweep", "small.toml", "--out", "out", "-q").exit_code == 0
    other = folder / "other"
    other.mkdir()
    if inner == "points":
        shutil.move(folder / "out" / "points", other / "points")
    (folder / "out" / inner).symlink_to(other / "points" if inner == "points" else other)
    before = sorted(other.rglob("*"))
    command = ("sweep", "small.toml", "--out") if inner == "points" else ("figures",)
    answer = invoke(*command, "out")
    assert (
        answer.exit_code,
        "expected a folder of the results, found a link" in answer.stderr,
    ) == (2, True)
    assert sorted(other.rglob("*")) == before
    if inner == "points":
        assert invoke("verify", "out").exit_code == 1


def test_what_cannot_be_looked_at_is_not_called_whole(folder: Path) -> None:
    assert invoke("sweep", "small.toml", "--out", "out", "-q").exit_code == 0
    shutil.rmtree(folder / "out" / "points")
    (folder / "out" / "points").write_text("hi")
    (folder / "out" / "report.html").unlink()
    (folder / "out" / "report.html").symlink_to("/dev/zero")
    answer = invoke("verify", "out")
    assert answer.exit_code == 1
    assert "2 damaged" in answer.stdout


def test_a_comparison_takes_no_other_run_for_its_own(kinds: Path, tmp_path: Path) -> None:
    both = tmp_path / "both"
    shutil.copytree(kinds / "comparison", both)
    shutil.copytree(kinds / "run", tmp_path / "run")
    manifest = json.loads((both / "manifest.json").read_text())
    first, second = manifest["runs"]
    shutil.rmtree(both / first)
    shutil.copytree(both / second, both / first)
    answer = invoke("report", str(both))
    assert (answer.exit_code, f"{first}/SHA256SUMS: damaged" in answer.stderr) == (2, True)
    for runs in (["../run"], None, "x"):
        (both / "manifest.json").write_text(json.dumps({**manifest, "runs": runs}))
        seal(both, ["manifest.json"])
        answer = invoke("report", str(both))
        assert (answer.exit_code, len(answer.stderr.splitlines())) == (2, 1)


def write_seal_count(files: int) -> str:
    return f"# {files} {'file' if files == 1 else 'files'}\n"


@pytest.mark.parametrize("kind", [[], {}, 3, None])
def test_a_kind_that_is_no_text_is_damage(kinds: Path, tmp_path: Path, kind: Any) -> None:
    shutil.copytree(kinds / "run", tmp_path / "run")
    forge(tmp_path / "run", lambda own: own.update(kind=kind))
    told = [f"{tmp_path / 'run' / 'manifest.json'}: damaged: kind is no text"]
    assert headend.verify(tmp_path / "run").damage == told


def forge(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a manifest and seal it again, as whoever may write to the folder can."""
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    seal(folder, read_seals(folder))


def forge_table(folder: Path, name: str, **columns: Any) -> None:
    """Put one value into all rows of columns, and seal the table again."""
    table = pl.read_parquet(folder / name)
    values = [pl.lit(value, dtype=table.schema[key]).alias(key) for key, value in columns.items()]
    table.with_columns(values).write_parquet(folder / name)
    seal(folder, read_seals(folder))


SHOWN = (("report",), ("figures", "--list"), ("export", "--csv", "csv", "--force"))


def test_a_sweep_whose_manifest_holds_its_axes_one_by_one_is_read(
    kinds: Path, tmp_path: Path
) -> None:
    shutil.copytree(kinds / "sweep", tmp_path / "sweep")
    design = load_sweep(kinds / "sweep").design

    def flatten(manifest: dict[str, Any]) -> None:
        del manifest["design"]
        manifest["axes"] = {factor.name: factor.path for factor in design.factors}
        manifest["dimensions"] = [
            {factor.name: list(factor.labels) for factor in dimension}
            for dimension in design.dimensions
        ]
        manifest["seeds"] = list(design.seeds)

    forge(tmp_path / "sweep", flatten)
    assert load_sweep(tmp_path / "sweep").design == design


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda own: own["design"]["dimensions"][0][0].update(labels=["9 ms", "30 ms"]),
         "'10 ms', which is none of the values"),
        (lambda own: own.update(compare="other"), 'no axis is called "other"'),
        (lambda own: own["design"]["dimensions"][0][0].update(name="x"),
         'it has no column "x"'),
        (lambda own: own.update(measures=["x"]), "cannot be used ("),
    ],
)  # fmt: skip
def test_a_sweep_that_was_changed_and_sealed_again_is_refused_in_one_line(
    kinds: Path, tmp_path: Path, change: Any, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(kinds / "sweep", "sweep")
    forge(Path("sweep"), change)
    answers = [invoke(*words, "sweep") for words in SHOWN]
    assert {answer.exit_code for answer in answers} <= {0, 2}, answers
    assert any(told in answer.stderr for answer in answers)
    for answer in answers:
        assert len(answer.stderr.splitlines()) == (1 if answer.exit_code else 0)


@pytest.mark.parametrize(
    ("table", "columns", "told"),
    [
        ("flows", {"direction": "sideways"},
         "the column \"direction\" holds 'sideways', expected up or down"),
        ("queues", {"direction": None}, "holds None, expected up or down"),
        ("measures", {"flow": "nobody"}, ""),
        ("flows", {"flow": "nobody"}, ""),
        ("flow_series", {"time_ns": -(2**62)}, ""),
        ("histograms", {"count": 2**62}, ""),
    ],
)  # fmt: skip
def test_a_run_that_was_changed_and_sealed_again_is_refused_or_shown(
    kinds: Path,
    tmp_path: Path,
    table: str,
    columns: Any,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(kinds / "run", "run")
    forge_table(Path("run"), f"{table}.parquet", **columns)
    for words in SHOWN:
        answer = invoke(*words, "run")
        assert answer.exit_code in ((2,) if told else (0, 2)), answer.output
        assert told in answer.stderr


def test_an_unexpected_error_names_the_results_that_were_read_and_without_results_is_a_fault(
    kinds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*_: Any, **__: Any) -> None:
        raise KeyError("up")

    monkeypatch.setattr("headend.pages.page.write_report", stumble)
    answer = invoke("report", str(kinds / "run"))
    told = (
        f"error: {kinds / 'run'}: cannot be used (KeyError: 'up'): its files were changed after"
        " they were written, or headend has a fault (HEADEND_TRACEBACK=1 tells where)\n"
    )
    assert (answer.exit_code, answer.stderr) == (2, told)
    for name in ("first", "second"):
        shutil.copytree(kinds / "run", tmp_path / name)
    folders = [tmp_path / "first", tmp_path / "second"]
    with pytest.raises(UnfitError) as refused, report_unfit([*folders, tmp_path]):
        stumble()
    assert str(refused.value).startswith(f"{folders[0]} and {folders[1]}: cannot be used (")
    assert ": their files were changed" in str(refused.value)
    monkeypatch.setattr("headend.running.result.Result.write_into", stumble)
    (tmp_path / "line.toml").write_text(LINE)
    words = ("run", str(tmp_path / "line.toml"), "--out", str(tmp_path / "out"))
    assert invoke(*words).exit_code == 70


@pytest.mark.parametrize("name", ["flows.parquet", "manifest.json", SEALS])
def test_a_pipe_in_place_of_a_file_is_waited_for_by_nobody(
    kinds: Path, tmp_path: Path, name: str
) -> None:
    shutil.copytree(kinds / "run", tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    os.mkfifo(tmp_path / "run" / name)
    assert invoke("report", str(tmp_path / "run")).exit_code == 2
    assert invoke("verify", str(tmp_path / "run")).exit_code in (1, 2)


def test_pages_and_folders_of_others_are_not_verified(kinds: Path, tmp_path: Path) -> None:
    shutil.copytree(kinds / "run", tmp_path / "run")
    (tmp_path / "other" / "points").mkdir(parents=True)
    (tmp_path / "other" / "points" / "x.parquet").write_text("x")
    (tmp_path / "other" / "report.html").write_text("<p>")
    with open_scratch(tmp_path) as scratch:
        shutil.copytree(kinds / "run", scratch / "half")
        (scratch / "half" / "flows.parquet").unlink()
        assert invoke("verify", str(tmp_path)).exit_code == 0


def test_a_point_that_cannot_be_read_now_is_not_given_up(
    store: PointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_path: Path) -> bytes:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", fail)
        with pytest.raises(InputError, match="cannot be read: too many open files"):
            PointStore(store.folder).find(KEYS)
    assert PointStore(store.folder).find(KEYS) == set(KEYS)


def test_what_a_link_leads_to_is_replaced(folder: Path) -> None:
    fill(folder / "real", 1)
    (folder / "link").symlink_to("real")
    fill(folder / "link", 2)
    assert (folder / "link").is_symlink()
    assert json.loads((folder / "real" / "manifest.json").read_text())["number"] == 2
