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

#: Somebody on the line has a number.
HAS_NUMBERS = """[...document.querySelectorAll('.people li')].some(
    (own) => !Number.isNaN(Number(own.dataset.value)))"""

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
    for number, (name, value) in enumerate(TURNS[lesson], start=1):
        page.wait_for_selector(f".places [aria-current=step]:has-text('{number}')")
        page.wait_for_function(HAS_NUMBERS)
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


def complete_first(page: Any) -> None:
    """Complete the first step of the first lesson by the mouse."""
    page.wait_for_function(HAS_NUMBERS)
    page.locator(".guess button").first.click()
    page.get_by_role("button", name="show “photos are uploaded”").click()
    page.keyboard.press("Space")
    page.wait_for_selector(".next", timeout=60_000)


def test_the_outcome_of_a_step_does_not_depend_on_when_something_is_turned(page: Any) -> None:
    page.goto(f"{LAB.as_uri()}#lesson/bufferbloat/1")
    page.get_by_label("time").select_option("10 times faster")
    page.wait_for_function("Number(document.querySelector('.line')?.dataset.now) > 28000")
    page.get_by_label("time").select_option("real time")
    complete_first(page)
    # It has begun anew at the moment with which the step began.
    assert float(page.get_attribute(".line", "data-now")) < 20_000
    assert "The line shows: “it breaks”." in page.inner_text(".seen")


def test_a_complete_step_keeps_its_tick_and_the_way_back_leads_to_it(page: Any) -> None:
    page.goto(f"{LAB.as_uri()}#lesson/bufferbloat")
    complete_first(page)
    page.locator(".next").click()
    page.wait_for_function("location.hash === '#lesson/bufferbloat/2'")
    assert page.get_by_role("link", name="complete").count() == 1
    page.go_back()
    page.wait_for_selector(".guess")
    assert page.get_by_role("link", name="complete").count() == 1


def test_a_card_says_with_what_it_was_seen_and_what_is_amiss_is_named(page: Any) -> None:
    page.goto(f"{LAB.as_uri()}#lesson/bufferbloat/5")
    page.wait_for_function(HAS_NUMBERS)
    queue = page.get_by_role("combobox", name="queue")
    page.get_by_role("slider", name="buffer").focus()
    page.keyboard.press("ArrowRight")
    queue.select_option("codel")
    page.wait_for_selector(".seen :text('“buffer” is 500 ms, and this step needs 250 ms.')")
    page.get_by_role("slider", name="buffer").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(".seen :text('measuring')")
    page.wait_for_selector(".next", timeout=60_000)
    queue.select_option("drop_tail")
    page.wait_for_selector(".seen :text('Seen with “queue” at “CoDel”:')")
    page.get_by_role("button", name="close").click()
    assert page.get_by_text("Seen with").count() == 0


def test_a_sheet_says_the_engine_s_numbers(page: Any) -> None:
    page.goto(f"{LAB.as_uri()}#sheet/bufferbloat")
    assert "186 ms" in page.inner_text(".sheet")
    assert page.locator(".sheet section").count() == 5
