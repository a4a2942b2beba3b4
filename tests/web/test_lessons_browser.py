"""The lessons in a browser: they can be finished by the keyboard alone, and by no waiting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LAB = Path(__file__).parents[2] / "target/web/index.html"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not LAB.is_file(), reason="needs what `make web` builds"),
]

#: Of each lesson: the beginning of what is turned, and to what, by step. A switch has no value.
TURNS: dict[str, list[tuple[str, str]]] = {
    "bufferbloat": [
        ("photos are uploaded", ""),
        ("buffer", "30 ms"),
        ("buffer", "5 ms"),
        ("buffer", "20 ms"),
        ("queue", "CoDel"),
    ],
    "aimd": [
        ("buffer", "100 ms"),
        ("buffer", "8 ms"),
        ("buffer", "42 ms"),
        ("way to the server", "160 ms"),
        ("sender", "CUBIC"),
    ],
    "request-and-grant": [
        ("a MAP each", "10 ms"),
        ("distance", "160 km"),
        ("requests of neighbours", "4000 a second"),
        ("photos are uploaded", ""),
        ("grants", "in advance"),
    ],
}

#: What has the focus: its kind, the label or text of it, and its value as people read it.
FOCUS = """() => {
  const own = document.activeElement;
  const label = own.closest("label");
  const text = (label ?? own).innerText ?? "";
  const chosen = own.tagName === "SELECT" ? own.selectedOptions[0].text : "";
  const value = own.getAttribute("aria-valuetext") ?? chosen;
  return {kind: own.type ?? own.tagName, name: text.trim(), value, classes: own.className};
}"""


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """Give a page; any error of it fails the test."""
    own = browser.new_page(viewport={"width": 1280, "height": 720})
    faults: list[str] = []
    own.on("console", lambda message: faults.append(message.text))
    own.on("pageerror", lambda error: faults.append(str(error)))
    yield own
    own.close()
    assert faults == []


def reach(page: Any, name: str = "", classes: str = "") -> dict[str, str]:
    """Go by Tab to what has a name or a class, and give what has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        focus: dict[str, str] = page.evaluate(FOCUS)
        if (name and focus["name"].startswith(name)) or (classes and classes in focus["classes"]):
            return focus
    raise AssertionError(f"no Tab leads to {name or classes}")


def turn(page: Any, name: str, value: str) -> None:
    """Turn a control to a value: a slider or a list by arrows, a switch by the space bar."""
    if reach(page, name)["kind"] == "checkbox":
        page.keyboard.press("Space")
        return
    page.keyboard.press("Home")
    for _ in range(20):
        if page.evaluate(FOCUS)["value"].startswith(value):
            return
        page.keyboard.press("ArrowRight")
    raise AssertionError(f"{name} cannot be {value}")


@pytest.mark.parametrize("lesson", TURNS)
def test_a_lesson_can_be_finished_by_the_keyboard_alone(page: Any, lesson: str) -> None:
    page.goto(f"{LAB.as_uri()}#lesson/{lesson}")
    for name, value in TURNS[lesson]:
        page.wait_for_selector(".people .number:has-text(' ')")
        assert page.locator(".next").count() == 0
        if page.locator(".guess").count():
            reach(page, page.locator(".guess button").first.inner_text())
            page.keyboard.press("Enter")
        turn(page, name, value)
        page.wait_for_selector(".next", timeout=60_000)
        reach(page, classes="next")
        page.keyboard.press("Enter")
    # The last step leads to the next lesson.
    page.wait_for_function(f"!location.hash.startsWith('#lesson/{lesson}')")


def test_no_step_is_done_by_waiting(page: Any) -> None:
    page.goto(f"{LAB.as_uri()}#lesson/bufferbloat/2")
    page.wait_for_function("Number(document.querySelector('.line')?.dataset.now) > 16000")
    assert page.locator(".next").count() == 0


def test_a_sheet_says_the_engine_s_numbers(page: Any) -> None:
    page.goto(f"{LAB.as_uri()}#sheet/bufferbloat")
    assert "186 ms" in page.inner_text(".sheet")
    assert page.locator(".sheet section").count() == 5
