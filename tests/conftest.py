"""Fixtures: the stand-in engine, a home line's scenario, a folder to run in, and a browser."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fake_engine


def pytest_configure() -> None:
    """Hear Ctrl-C also where a shell has started the tests in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


HOME_LINE = """\
format = 1
title = "An upload and a call on a home line"
description = "What a long buffer does to a call."
seed = 1
duration = "60 s"
warmup = "5 s"
bottleneck = "cable.up"

[link.cable.docsis]
preset = "docsis31"
upstream.rate = "10 Mbit/s"
upstream.queue = "drop_tail"
downstream.rate = "100 Mbit/s"

[flow.upload]
application = "bulk"
direction = "up"

[flow.call]
application = "voice"

[flow.ping]
application = "ping"

[flow.browsing]
application = "web"
direction = "down"
"""

#: A study of two points, for a folder with a ``line.toml`` whose link is ``line`` and whose flow is
#: ``ping``.
SMALL_STUDY = """\
format = 1
title = "Small"
source = "nowhere"
scenario = "line.toml"
[grid.rate]
values = [1, 2]
set = { "link.line.point_to_point.up.rate" = "{} Mbit/s" }
[measures]
ping = "ping.rtt.mean"
[[claim]]
id = "A"
source = "here"
statement = "There is a ping."
expected = "two"
check = "count"
"""

#: Its program.
ANALYSIS = """\
from headend.study.claims import ClaimResult, ClaimVerdict

def count(points, limits):
    return ClaimResult(str(len(points)), ClaimVerdict.REPRODUCED)
"""


#: Names of Chromium and its relatives: Playwright drives what the system has, and downloads none.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start the Chromium that there is, once for a module: Playwright's loop disturbs others."""
    driver = pytest.importorskip("playwright.sync_api", reason="needs playwright (headend[dev])")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"needs one of {', '.join(BROWSERS)}")
    with driver.sync_playwright() as started:
        running = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Any:
    import headend

    monkeypatch.setitem(sys.modules, "headend._engine", fake_engine)
    monkeypatch.setitem(headend.__dict__, "_engine", fake_engine)
    monkeypatch.setattr("headend.version._ask_installation", lambda: "0.0.0")
    monkeypatch.setattr(fake_engine.Run, "slow", False)
    return fake_engine


@pytest.fixture
def home_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "home-line.toml"
    path.write_text(HOME_LINE, encoding="utf-8")
    return path
