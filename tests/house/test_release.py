"""Release scripts: wheels are checked, the repository is named, workflows call what exists."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
REPOSITORY = "https://example.org/someone/headend"


def load(name: str) -> Any:
    """Import a script of release/, which is no package."""
    spec = importlib.util.spec_from_file_location(f"release_{name}", ROOT / f"release/{name}.py")
    assert spec
    assert spec.loader
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


check_wheel = load("check_wheel")
name_repository = load("name_repository")

WHEEL = [
    "headend/__init__.py",
    "headend/_engine.abi3.so",
    "headend/_engine.pyi",
    "headend/lab/index.html",
    "headend/py.typed",
    "headend/pages/templates/report.html",
    "headend/shipped/scenarios/upload-and-call.toml",
    "headend/shipped/scenarios/aqm/load-1.toml",
    "headend/shipped/studies/cbt/blast/study.toml",
    "headend/shipped/studies/cbt/blast/analysis.py",
    "headend/shipped/sweeps/buffer-sizes.toml",
    "headend-1.0.dist-info/licenses/LICENSE",
    "headend-1.0.dist-info/entry_points.txt",
    "headend-1.0.dist-info/METADATA",
]


def judge_wheel(names: list[str]) -> list[str]:
    faults: list[str] = check_wheel.judge_names(
        "w.whl", names, check_wheel.WHEEL_HOLDS, check_wheel.WHEEL_LACKS
    )
    return faults


def test_a_whole_wheel_has_no_fault() -> None:
    assert judge_wheel(WHEEL) == []


@pytest.mark.parametrize("name", [name for name in WHEEL if not name.endswith("METADATA")])
def test_a_file_that_a_wheel_lacks_is_a_fault(name: str) -> None:
    (fault,) = judge_wheel([other for other in WHEEL if other != name])
    pattern = fault.rpartition(" ")[2]
    assert re.fullmatch(pattern, name)


@pytest.mark.parametrize(
    "name",
    [
        "headend/__pycache__/folder.cpython-311.pyc",
        "headend/other.cpython-311-x86_64-linux-gnu.so",
        "headend/tests/test_folder.py",
        "tests/test_folder.py",
        "crates/headend/src/lib.rs",
    ],
)
def test_a_file_that_is_no_part_of_the_package_is_a_fault(name: str) -> None:
    faults = judge_wheel([*WHEEL, name])
    assert faults
    assert all(f"found {name}, expected nothing" in fault for fault in faults)


def test_the_files_of_archives_are_listed_without_folders(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "w.whl", "w") as wheel:
        wheel.writestr("headend/", "")
        wheel.writestr("headend/py.typed", "")
    with tarfile.open(tmp_path / "s.tar.gz", "w:gz") as sources:
        member = tarfile.TarInfo("headend-1.0/CHANGELOG.md")
        sources.addfile(member, io.BytesIO())
    assert check_wheel.list_wheel(tmp_path / "w.whl") == ["headend/py.typed"]
    assert check_wheel.list_sources(tmp_path / "s.tar.gz") == ["CHANGELOG.md"]


def test_too_slow_and_too_large_are_faults_and_the_limits_are_not() -> None:
    steps = {
        "pip install": 50.0,
        "headend --version": 1.0,
        "headend run": 9.0,
        "headend compare": 99.0,
    }
    within = check_wheel.Check(seconds=steps, size_mb=299, wheel_mb=7.99)
    assert check_wheel.judge_costs(within) == []
    slow, large, heavy = check_wheel.judge_costs(
        check_wheel.Check(seconds={**steps, "headend run": 10.0}, size_mb=300, wheel_mb=8.0)
    )
    assert "61 s" in slow
    assert "300 MB" in large
    assert "8.00 MB" in heavy


def test_the_size_is_that_of_the_disk_and_counts_a_hard_link_once(tmp_path: Path) -> None:
    with (tmp_path / "module.so").open("wb") as module:
        module.write(os.urandom(2**21))
        os.fsync(module)
    once = check_wheel.measure_mb(tmp_path)
    (tmp_path / "same.so").hardlink_to(tmp_path / "module.so")
    assert check_wheel.measure_mb(tmp_path) == once
    assert 2 <= once <= 3


def test_fetching_ends_where_pip_begins_to_install() -> None:
    log = (
        "2026-01-02T03:04:05,250 Processing ./headend.whl\n"
        "2026-01-02T03:04:06,000   Downloading polars.whl\n"
        "2026-01-02T03:04:15,750 Installing collected packages: polars, headend\n"
        "2026-01-02T03:04:25,000 Successfully installed headend\n"
    )
    assert check_wheel.read_fetching(log) == 10.5
    assert check_wheel.read_fetching("ERROR: nothing found\n") is None


def test_what_a_page_loads_from_elsewhere_is_found_and_links_for_readers_are_not() -> None:
    page = (
        '<link rel="stylesheet" href="https://a.example/s.css"><script'
        ' src="//b.example/v.js"></script>'
        "<style>@font-face { src: url(https://c.example/f.woff) }</style>"
        '<img src="data:image/png;base64,AA=="><a href="https://d.example/">read</a>'
        '<svg xmlns="http://www.w3.org/2000/svg"></svg>'
    )
    assert check_wheel.find_addresses(page) == [
        "//b.example/v.js",
        "https://a.example/s.css",
        "https://c.example/f.woff",
    ]


def test_relative_links_become_whole_and_nothing_else_changes() -> None:
    text = (
        "![A call](docs/call.svg) [models](docs/models/README.md#what) [folder](docs)"
        " [`code`](LICENSE)\n"
        "[![drawn](a.svg)](docs/trust.md) [out](https://example.org) [here](#install) `a[0]`\n"
        "```console\n[not](a-link)\n```\n[after](CHANGELOG.md)\n"
    )
    assert name_repository.name_links(text, REPOSITORY, "v1") == (
        f"![A call]({REPOSITORY}/raw/v1/docs/call.svg) "
        f"[models]({REPOSITORY}/blob/v1/docs/models/README.md#what) "
        f"[folder]({REPOSITORY}/tree/v1/docs) [`code`]({REPOSITORY}/blob/v1/LICENSE)\n"
        f"[![drawn]({REPOSITORY}/raw/v1/a.svg)]({REPOSITORY}/blob/v1/docs/trust.md) "
        "[out](https://example.org) [here](#install) `a[0]`\n"
        f"```console\n[not](a-link)\n```\n[after]({REPOSITORY}/blob/v1/CHANGELOG.md)\n"
    )


def test_the_readme_has_no_relative_link_left() -> None:
    named = name_repository.name_links((ROOT / "README.md").read_text("utf-8"), REPOSITORY, "v1")
    outside = re.sub(r"^```.*?^```", "", named, flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)]*)\)", outside)
    assert len(targets) >= 5
    assert all(target.startswith(("https://", "#")) for target in targets), targets


def test_the_project_has_urls_once_its_repository_is_named() -> None:
    before = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    after = name_repository.name_urls(before, REPOSITORY, "v1")
    project = tomllib.loads(after)["project"]
    assert project.pop("urls") == {
        "Homepage": REPOSITORY,
        "Documentation": f"{REPOSITORY}/tree/v1/docs",
        "Changelog": f"{REPOSITORY}/blob/v1/CHANGELOG.md",
        "Source": REPOSITORY,
        "Issues": f"{REPOSITORY}/issues",
    }
    assert project == tomllib.loads(before)["project"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_calls_targets_and_scripts_that_exist_and_names_the_versions_of_its_actions(
    workflow: Path,
) -> None:
    text = workflow.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    called = re.findall(r"^\s*-? *run: .*?\bmake ([a-z-]+)", text, re.MULTILINE)
    assert called
    assert set(called) <= targets
    assert all((ROOT / script).is_file() for script in re.findall(r"python (\S+\.py)", text))
    actions = re.findall(r"uses: (\S+)", text)
    assert actions
    assert all(re.fullmatch(r"[\w./-]+@(v\d+|release/v\d+)", action) for action in actions), actions
    assert "secrets." not in text


def test_there_are_workflows_for_tests_and_wheels() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "wheels.yml"]
