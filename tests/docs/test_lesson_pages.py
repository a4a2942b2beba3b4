"""The lessons of the documentation: one per shipped scenario, true to its commands."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path

import pytest

from headend.analysis.expect import parse_quantity_name
from headend.scenario.subjects import Vocabulary
from proposals import list_proposals
from simulated import list_simulated

ROOT = Path(__file__).parents[2]

_spec = importlib.util.spec_from_file_location("make_lessons", ROOT / "docs/lessons/make.py")
assert _spec
assert _spec.loader
lessons = importlib.util.module_from_spec(_spec)
sys.modules["make_lessons"] = lessons
_spec.loader.exec_module(lessons)

PAGES = lessons.list_pages()

#: Of each scenario that ships and can be simulated: the commands of the pages that run it.
COMMANDS = {
    name: [
        words
        for page in PAGES
        for command in lessons.list_commands(page.read_text(encoding="utf-8"))
        if (words := shlex.split(command)[1:])[1] == name
    ]
    for name in list_simulated()
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_shipped_scenario_has_a_lesson_with_the_commands_that_its_text_proposes(
    name: str,
) -> None:
    assert COMMANDS[name], f"no page of docs/lessons runs {name}"
    shown = [_sort(words) for words in COMMANDS[name]]
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for proposed, words in list_proposals(name):
        assert _sort(words) in shown or proposed in text, proposed


def _sort(words: list[str]) -> list[str]:
    return sorted(word.replace('"', "") for word in words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_lesson_has_its_parts(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    (title, *rest) = text.splitlines()
    assert title.startswith("# ")
    assert title.endswith("?")
    assert "## For teachers" in rest
    assert "<summary>Answer</summary>" in rest
    assert "<!-- drawn: " in text
    assert f"({page.name})" in (page.parent / "README.md").read_text(encoding="utf-8")
    assert list(lessons.find_loose_numbers(page, text)) == []


def test_the_pictures_are_small_and_all_are_shown() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    pictures = list((ROOT / "docs/lessons/figures").iterdir())
    assert len(pictures) >= len(PAGES)
    for picture in pictures:
        assert f"](figures/{picture.name})" in text
        assert picture.stat().st_size <= lessons.MOST_BYTES


def test_a_stale_table_and_a_number_that_is_in_none_are_found_and_the_table_is_mended(
    tmp_path: Path,
) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\nheadend run aimd # a comment\n```\n\n"
        "<!-- measured\nlowest reno.goodput: its rate\n-->\n\n| old |\n\n<!-- end -->\n\n"
        "It carries **17 Mbit/s**.\n",
        encoding="utf-8",
    )
    stale, loose, *others = lessons.find_stale(page, write=False)
    assert "the table of “headend run aimd” is stale" in stale
    assert "**17 Mbit/s** stands in no table" in loose
    assert others == []
    assert [loose] == list(lessons.find_stale(page, write=True))
    assert "|  | measured |" in page.read_text(encoding="utf-8")
    assert "| its rate `lowest reno.goodput` | 9." in page.read_text(encoding="utf-8")


def test_what_a_lesson_cannot_measure_or_draw_is_told() -> None:
    command = "headend run aimd"
    with pytest.raises(ValueError, match="expected one of lowest, highest"):
        lessons.write_table(command, "least reno.goodput: its rate")
    with pytest.raises(ValueError, match='no figure "window" of headend run aimd: there are '):
        lessons.draw(command, "window")
    with pytest.raises(RuntimeError, match="headend run amid: "):
        lessons.write_table("headend run amid", "reno.goodput: its rate")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_lesson_shows_what_its_commands_give(page: Path) -> None:
    faults = list(lessons.find_stale(page, write=False))
    assert faults == [], "run make lessons, and read what its text says of the numbers that changed"


@pytest.mark.parametrize(
    ("quantity", "values", "expected"),
    [
        ("web.page_load_time.p50", [1.0, 2.0, 3.0], 2.0),
        ("web.page_load_time.p50", [1.0, 2.0], 2.0),  # one of three has none
        ("web.page_load_time.p50", [1.0], None),
        ("call.mos.p5", [4.0, 1.0, 3.0, 2.0], 2.0),
        ("call.mos.p5", [4.0, 3.0], None),  # two of four have none
        ("call.mos.p5", [4.0, 3.0, 2.0], 2.0),
    ],
)
def test_the_median_member_counts_those_without_a_value(
    quantity: str, values: list[float], expected: float | None
) -> None:
    members = {"web": ["web.0", "web.1", "web.2"], "call": [f"call.{n}" for n in range(4)]}
    vocabulary = Vocabulary({"web": "web", "call": "voice"}, [], members=members)
    assert lessons.take_median(parse_quantity_name(quantity, vocabulary), values) == expected


def test_the_median_member_is_of_a_measure() -> None:
    vocabulary = Vocabulary({"up": "bulk"}, [])
    with pytest.raises(ValueError, match=r'"up.goodput": median is of a measure'):
        lessons.take_median(parse_quantity_name("up.goodput", vocabulary), [1.0])
