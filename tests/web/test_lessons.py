"""The lessons of the lab: what they say in numbers is what the engine gives."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import headend
from headend.analysis.expect import parse_quantity_name
from headend.scenario.source import read_scenario
from headend.scenario.subjects import Vocabulary

LESSONS = Path(__file__).parents[2] / "web/src/lessons"

CONTENT: dict[str, Any] = json.loads((LESSONS / "claims.json").read_text(encoding="utf-8"))

CLAIMS = [(lesson, name) for lesson, own in CONTENT.items() for name in own["claims"]]

#: Units of numbers in texts, by what they are of the engine's own unit: ns, bit/s, shares.
UNITS = {"": 1, "ms": 1e6, "s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3, "%": 0.01}

_SHOWN = re.compile(
    r"(?:(?P<bound>at least|at most) )?(?P<number>\d+(?:\.(?P<digits>\d+))?) ?(?P<unit>\S*)"
)


@cache
def run(scenario: str, settings: tuple[tuple[str, str], ...]) -> Any:
    """Run a scenario of a lesson: a shipped one by its name, or a file of the lessons."""
    source = str(LESSONS / scenario) if scenario.endswith(".toml") else scenario
    return headend.run(source, set=settings)


def measure(lesson: str, claim: Any) -> float:
    """Give what the engine measures of a claim, in its own unit."""
    own = CONTENT[lesson]
    result = run(own["scenario"], tuple({**own["set"], **claim["set"]}.items()))
    scenario = read_scenario(result.manifest["scenario"]).load().scenario
    wanted = parse_quantity_name(claim["measure"], Vocabulary.from_scenario(scenario))
    value: float
    (value,) = wanted.read(result.tables)
    return value


def is_said_truly(shown: str, value: float) -> bool:
    """Say whether a text's number is a value rounded to its digits, or bounds it."""
    found = _SHOWN.fullmatch(shown)
    assert found, shown
    scaled = value / UNITS[found["unit"]]
    number = float(found["number"])
    if found["bound"] == "at least":
        return scaled >= number
    if found["bound"] == "at most":
        return scaled <= number
    half = 0.5 / float(10 ** len(found["digits"] or ""))
    return abs(scaled - number) <= half + 1e-9


@pytest.mark.parametrize(
    ("shown", "value", "is_true"),
    [
        ("8.7 Mbit/s", 8.74e6, True),
        ("8.7 Mbit/s", 8.76e6, False),
        ("186 ms", 185.6e6, True),
        ("186 ms", 184.4e6, False),
        ("at least 60 %", 0.61, True),
        ("at least 60 %", 0.59, False),
        ("at most 1 %", 0.0, True),
        ("4.36", 4.364, True),
    ],
)
def test_a_number_is_what_it_rounds_to_or_a_bound(shown: str, value: float, is_true: bool) -> None:
    assert is_said_truly(shown, value) is is_true


@pytest.mark.parametrize(("lesson", "name"), CLAIMS)
def test_the_engine_gives_each_number_of_a_lesson(lesson: str, name: str) -> None:
    claim = CONTENT[lesson]["claims"][name]
    value = measure(lesson, claim)
    assert is_said_truly(claim["shown"], value), (claim["shown"], value)


def read_lesson(lesson: str) -> str:
    return (LESSONS / f"{lesson}.ts").read_text(encoding="utf-8")


@pytest.mark.parametrize("lesson", CONTENT)
def test_a_lesson_tells_all_of_its_numbers_and_no_other_claims(lesson: str) -> None:
    told = set(re.findall(r'\bsay\("(\w+)"\)', read_lesson(lesson)))
    assert told == set(CONTENT[lesson]["claims"])


@pytest.mark.parametrize("lesson", CONTENT)
def test_each_of_five_steps_has_a_number_and_one_asks_for_a_guess(lesson: str) -> None:
    steps = {claim["step"] for claim in CONTENT[lesson]["claims"].values()}
    assert steps == {1, 2, 3, 4, 5}
    text = read_lesson(lesson)
    assert text.count("\n      title: ") == text.count("\n      isSeen: ") == 5
    assert text.count("\n      guess: ") >= 1


def read_texts(lesson: str, key: str) -> list[str]:
    """Give the texts of a key of each step, without what they take from elsewhere."""
    found = re.findall(rf"\n      {key}:(.*?)\n      \w+:", read_lesson(lesson), re.S)
    quoted = [re.findall(r'"(.*?)"|`(.*?)`', re.sub(r"\$\{.*?\}", "", text)) for text in found]
    return ["".join(one + other for one, other in parts) for parts in quoted]


@pytest.mark.parametrize("lesson", CONTENT)
def test_what_a_step_says_is_at_most_three_sentences(lesson: str) -> None:
    texts = read_texts(lesson, "says")
    assert len(texts) == 5
    for text in texts:
        assert text
        assert len(re.findall(r"[.?!](?: |$)", text)) <= 3, text


def find_unclaimed(text: str, given: set[str]) -> list[str]:
    """Give the numbers with a unit in a text that are not given values; claims stand in `say`."""
    return [
        f"{number} {unit}"
        for number, unit in re.findall(r"(\d+(?:\.\d+)?) (ms|s|Mbit/s|kbit/s|km|%)(?!\w)", text)
        if number not in given
    ]


def read_given(lesson: str) -> set[str]:
    """Give the numbers of a lesson's scenario and of what can be set on its line."""
    scenario = CONTENT[lesson]["scenario"]
    source = str(LESSONS / scenario) if scenario.endswith(".toml") else scenario
    text = read_scenario(source).content
    scene = read_lesson(lesson).split("\n  steps: [")[0]
    values = re.findall(r"(?:values|value|start): (.*)", scene) + re.findall(r"= (.*);", scene)
    return set(re.findall(r"\d+(?:\.\d+)?", text + " ".join(values)))


def test_a_number_with_a_unit_that_is_neither_given_nor_claimed_is_found() -> None:
    text = "It kept 15 ms of 20 Mbit/s, and 1500 packets."
    assert find_unclaimed(text, {"20"}) == ["15 ms"]


@pytest.mark.parametrize("lesson", CONTENT)
@pytest.mark.parametrize("key", ["says", "seen"])
def test_no_measured_number_is_typed_into_a_text(lesson: str, key: str) -> None:
    given = read_given(lesson)
    for text in read_texts(lesson, key):
        assert find_unclaimed(text, given) == [], text


@pytest.mark.parametrize("lesson", CONTENT)
def test_each_step_names_its_control(lesson: str) -> None:
    text = read_lesson(lesson)
    keys = re.findall(r'\n      turns: "(\w+)"', text)
    assert len(keys) == 5
    assert set(keys) <= set(re.findall(r'\bkey: "(\w+)"', text))
