"""The lab in a browser: it opens from a disk, and what is turned moves the people on the line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LAB = Path(__file__).parents[2] / "target/web/index.html"

pytestmark = pytest.mark.skipif(not LAB.is_file(), reason="needs what `make web` builds")


@pytest.fixture
def lab(browser: Any) -> Iterator[Any]:
    """Open the lab, and give its page; any error or request of it fails the test."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: faults.append(request.url))
    page.goto(LAB.as_uri())
    # The first picture.
    page.wait_for_function("/ ms/.test(document.querySelector('[data-flow=call]')?.innerText)")
    yield page
    page.close()
    # Its own text, and its worker, which is a part of it.
    assert [own for own in faults if own != LAB.as_uri() and not own.startswith("blob:")] == []


def wait_for_call(page: Any, word: str) -> float:
    """Wait until the telephone call has a grade, and give its delay in ms."""
    own = "document.querySelector('[data-flow=call] strong').innerText"
    page.wait_for_function(f"{own} === '{word}'", timeout=20_000)
    delay = re.search(r"(\d+) ms", page.inner_text("[data-flow=call]"))
    assert delay
    return float(delay[1])


def turn(page: Any, name: str, key: str, times: int) -> None:
    """Turn a slider by the keyboard."""
    page.get_by_label(re.compile(name)).focus()
    for _ in range(times):
        page.keyboard.press(key)


def test_a_shorter_buffer_mends_the_call_and_a_longer_one_breaks_it(lab: Any) -> None:
    assert 150 < wait_for_call(lab, "fair") < 275
    turn(lab, "buffer", "ArrowLeft", 5)
    assert wait_for_call(lab, "good") < 100
    turn(lab, "buffer", "ArrowRight", 8)
    assert wait_for_call(lab, "bad") > 400


def test_it_pauses_and_is_no_wider_than_a_telephone(lab: Any) -> None:
    lab.set_viewport_size({"width": 390, "height": 844})
    lab.wait_for_timeout(500)
    assert lab.evaluate("document.documentElement.scrollWidth") <= 390
    lab.get_by_role("button", name="pause").click()
    lab.wait_for_timeout(300)
    before = lab.inner_text("main")
    lab.wait_for_timeout(500)
    assert lab.inner_text("main") == before
