"""The lab's page is that of its sources, and so is the page that `headend lab` opens."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "target/web/index.html"
INSTALLED = ROOT / "python/headend/lab/index.html"

sys.path.insert(0, str(ROOT / "web"))
try:
    import sources
finally:
    sys.path.remove(str(ROOT / "web"))


def check(page: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "web/export.py"), "--check", str(page)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("page", [BUILT, INSTALLED], ids=["built", "installed"])
def test_a_page_that_is_built_is_that_of_its_sources(page: Path) -> None:
    if not page.is_file():
        pytest.skip("needs what `make web` builds")
    answer = check(page)
    assert answer.returncode == 0, answer.stderr


def test_a_page_of_other_sources_is_told(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    for head in ("", f'<meta name="headend-sources" content="{"0" * 64}" />'):
        page.write_text(head, encoding="utf-8")
        answer = check(page)
        assert answer.returncode == 1
        assert answer.stderr.startswith(f"index.html: made of {sources.read_hash(head)}, expected ")
        assert answer.stderr.endswith(": run make web\n")


def test_the_hash_is_of_names_and_content_and_of_what_is_shared(tmp_path: Path) -> None:
    for place in sources.PLACES:
        path = tmp_path / place
        (path if "." in path.name else path / "inner").parent.mkdir(parents=True, exist_ok=True)
        (path if "." in path.name else path / "inner").write_text(place, encoding="utf-8")
    before = sources.hash_sources({"a": 1}, tmp_path)
    assert before == sources.hash_sources({"a": 1}, tmp_path)
    assert before != sources.hash_sources({"a": 2}, tmp_path)
    for ignored in ("web/node_modules/x.js", "web/src/generated.json", "web/__pycache__/s.pyc"):
        (tmp_path / ignored).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / ignored).write_text("made", encoding="utf-8")
    assert sources.hash_sources({"a": 1}, tmp_path) == before
    (tmp_path / "web/inner").rename(tmp_path / "web/other")
    renamed = sources.hash_sources({"a": 1}, tmp_path)
    (tmp_path / "web/other").write_text("changed", encoding="utf-8")
    assert len({before, renamed, sources.hash_sources({"a": 1}, tmp_path)}) == 3


def test_the_sources_are_those_that_git_tracks() -> None:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("needs a git checkout, which says what is tracked")
    tracked = subprocess.run(
        ["git", "ls-files", "-z", *sources.PLACES],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    listed = sources.list_sources()
    assert {name for name in tracked.split("\0") if name and (ROOT / name).exists()} == set(listed)
    assert "crates/docsis-config/src/tlvs.toml" in listed
