"""The libraries inside a page: put together once, kept, and put together again where what is kept is damaged."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
import vl_convert

from headend import vega

SCRIPT = "draw('\u00e4')\n"


@pytest.fixture
def give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[str, int]]:
    """Give the script, and how often it was put together so far."""
    times = 0

    def bundle() -> str:
        nonlocal times
        times += 1
        return SCRIPT

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    return lambda: (vega.give_bundle(), times)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "caches" / "headend" / f"vega-{version('vl-convert-python')}.js"


def test_libraries_are_put_together_once(give: Callable[[], tuple[str, int]], kept: Path) -> None:
    assert [give(), give()] == [(SCRIPT, 1)] * 2
    assert list(kept.parent.iterdir()) == [kept]


def test_another_release_has_libraries_of_its_own(
    give: Callable[[], tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    give()
    monkeypatch.setattr(vega, "version", lambda _: "99")
    assert give() == (SCRIPT, 2)


@pytest.mark.parametrize("damage", [b"", b"draw()", b"\xff\n\xff"])
def test_what_is_damaged_is_put_together_again(
    give: Callable[[], tuple[str, int]], kept: Path, damage: bytes
) -> None:
    give()
    whole = kept.read_bytes()
    kept.write_bytes(damage)
    assert give() == (SCRIPT, 2)
    assert kept.read_bytes() == whole


def test_where_nothing_can_be_kept_a_page_is_written_all_the_same(
    give: Callable[[], tuple[str, int]], kept: Path
) -> None:
    kept.parent.parent.write_text("a file where the cache should be")
    assert [give(), give()] == [(SCRIPT, 1), (SCRIPT, 2)]
