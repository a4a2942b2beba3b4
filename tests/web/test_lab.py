"""The lab in a browser: it opens from a disk, and what is turned moves the people on the line."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import headend
from headend import Result

LAB = Path(__file__).parents[2] / "target/web/index.html"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not LAB.is_file(), reason="needs what `make web` builds"),
]


@pytest.fixture
def lab(browser: Any) -> Iterator[Any]:
    """Open the lab, and give its page; any error or request of it fails the test."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: faults.append(request.url))
    page.goto(LAB.as_uri())
    wait_for_call(page, "good")
    yield page
    page.close()
    # Its own text, and its workers, which are parts of it.
    assert [own for own in faults if own != LAB.as_uri() and not own.startswith("blob:")] == []


def wait_for_call(page: Any, word: str, lane: int = 0) -> None:
    """Wait until the telephone call of a line has a grade."""
    own = (
        f"document.querySelectorAll('[data-flow=call]')[{lane}]?.querySelector('strong').innerText"
    )
    page.wait_for_function(f"{own} === '{word}'", timeout=120_000)


def turn(page: Any, name: str, key: str, times: int) -> None:
    """Turn a slider of the first line by the keyboard."""
    page.get_by_role("slider", name=name).first.focus()
    for _ in range(times):
        page.keyboard.press(key)


def test_a_longer_buffer_breaks_the_call_and_a_shorter_one_mends_it(lab: Any) -> None:
    turn(lab, "buffer", "ArrowRight", 7)
    wait_for_call(lab, "bad")
    # The call is on from the first turn.
    assert lab.get_by_role("button", name="silence the call").count() == 1
    turn(lab, "buffer", "ArrowLeft", 8)
    wait_for_call(lab, "good")


def test_a_law_and_low_latency_mend_the_call_in_a_long_buffer(lab: Any) -> None:
    turn(lab, "buffer", "ArrowRight", 7)
    wait_for_call(lab, "bad")
    lab.get_by_role("combobox", name="queue").select_option("fq_codel")
    wait_for_call(lab, "good")
    lab.get_by_role("combobox", name="queue").select_option("drop_tail")
    wait_for_call(lab, "bad")
    lab.get_by_label("low latency").check()
    wait_for_call(lab, "good")
    assert "low-latency queue" in lab.inner_text("main")


def test_all_that_can_be_turned_is_taken(lab: Any) -> None:
    for name in ("distance", "load", "rate"):
        turn(lab, name, "ArrowRight", 2)
    for name in ("photos are uploaded", "low latency"):
        lab.get_by_label(name).click()
    for law in ("codel", "pie", "docsis_pie"):
        lab.get_by_role("combobox", name="queue").select_option(law)
    before = pause(lab)
    lab.get_by_role("button", name="go on").click()
    lab.wait_for_function(f"document.querySelector('.line').dataset.now > {before + 500}")
    assert lab.locator(".refusal").count() == 0


def test_two_lines_have_the_same_traffic_and_settings_of_their_own(lab: Any) -> None:
    lab.get_by_role("button", name="two lines side by side").click()
    lab.wait_for_function("document.querySelectorAll('[data-flow=call]').length === 2")
    wait_for_call(lab, "good", 1)
    turn(lab, "buffer", "ArrowRight", 7)
    wait_for_call(lab, "bad")
    wait_for_call(lab, "good", 1)


def pause(page: Any) -> float:
    """Pause the line, and give its time in ms."""
    page.get_by_role("button", name="pause").click()
    page.wait_for_timeout(600)
    return float(page.get_attribute(".line", "data-now"))


def run_natively(page: Any, until_ms: float, folder: Path) -> Result:
    """Run the command that the page shows, to a time."""
    words = shlex.split(page.inner_text("code"))
    assert words[:2] == ["headend", "run"]
    short = ["--set", f"duration={round(until_ms * 1e6)} ns", "--set", "warmup=0 s"]
    command = [sys.executable, "-m", "headend", *words[1:], *short]
    kept = ["--out", str(folder / "run"), "--no-report"]
    ended = subprocess.run([*command, *kept], check=False, capture_output=True, timeout=300)
    # One if an expectation of the whole scenario is missed in its first seconds.
    assert ended.returncode <= 1, ended.stderr
    result = headend.load(folder / "run")
    assert isinstance(result, Result)
    return result


def test_every_number_is_that_of_the_installed_engine(lab: Any, tmp_path: Path) -> None:
    now = pause(lab)
    result = run_natively(lab, now, tmp_path)
    samples = result.tables["samples"].select("flow", "measure", "value").iter_rows()
    latest = {(flow, measure): value for flow, measure, value in samples}
    people = {"call": "mos", "game": "missed", "page": "page_load_time", "film": "stalled"}
    for flow, measure in people.items():
        shown = float(lab.get_attribute(f"[data-flow={flow}]", "data-value"))
        assert shown == latest[flow, measure], flow
    backlogs = result.queue_series.filter(pl.col("queue") == "cable.up")["backlog_bytes"]
    assert float(lab.get_attribute("output[data-bytes]", "data-bytes")) == backlogs[-1]


def test_it_pauses_looks_back_and_is_no_wider_than_a_telephone(lab: Any) -> None:
    lab.set_viewport_size({"width": 390, "height": 844})
    lab.wait_for_timeout(500)
    assert lab.evaluate("document.documentElement.scrollWidth") <= 390
    pause(lab)
    before = lab.inner_text("main")
    lab.wait_for_timeout(500)
    assert lab.inner_text("main") == before
    turn(lab, "look back", "ArrowLeft", 20)
    lab.wait_for_timeout(500)
    back = re.search(r"the pictures of (\d+\.\d+) s ago", lab.inner_text("main"))
    assert back
    assert float(back[1]) > 0
