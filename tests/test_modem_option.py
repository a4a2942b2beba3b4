"""A modem's file beside a scenario: what ``--modem`` and ``modem=`` stand for, and from where such a file is read."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from headend.errors import InputError
from headend.scenario.modems import (
    Configured,
    echo_option,
    find_named,
    list_configured,
    parse_modem,
    tell_configured,
    write_modems,
)
from headend.scenario.reach import Reach


@pytest.mark.parametrize(
    ("typed", "path", "file"),
    [
        ("old.cm", "modem", "old.cm"),
        ("../files/old.cm", "modem", "../files/old.cm"),
        ("home=old.cm", "modem.home", "old.cm"),
        ("home = /srv/a=b.cm", "modem.home", "/srv/a=b.cm"),
        ("./a=b.cm", "modem", "./a=b.cm"),
        ('a "quoted" \\ name.cm', "modem", 'a "quoted" \\ name.cm'),
    ],
)
def test_the_option_is_an_override(typed: str, path: str, file: str) -> None:
    written, value = parse_modem(typed)
    assert (written, json.loads(value)) == (path, file)


@pytest.mark.parametrize("typed", ["", " ", "home=", "-", "home=-", "home= "])
def test_an_option_without_a_file_is_refused(typed: str) -> None:
    with pytest.raises(InputError, match=r"^--modem .*expected"):
        parse_modem(typed)


def test_python_takes_a_path_or_one_for_each_modem(tmp_path: Path) -> None:
    assert write_modems(None) == []
    assert write_modems("old.cm") == write_modems(Path("old.cm")) == [("modem", '"old.cm"')]
    assert write_modems({"home": "a.cm", "office": Path("b.cm")}) == [
        ("modem.home", '"a.cm"'),
        ("modem.office", '"b.cm"'),
    ]
    with pytest.raises(InputError, match="modem: expected a path, or a mapping of modems to paths"):
        write_modems(3)  # type: ignore[arg-type]


def test_a_file_beyond_ascii_is_text_that_toml_takes() -> None:
    _, value = parse_modem("Zürich 😀\x7f.cm")
    assert tomllib.loads(f"value = {value}")["value"] == "Zürich 😀\x7f.cm"


def test_exactly_the_file_that_a_person_names_is_within_reach() -> None:
    named = parse_modem("/elsewhere/old.cm")
    reach = Reach(named=find_named([named, ("queue", "codel")]))
    assert reach.locate("/elsewhere/old.cm", "=".join(named)) == Path("/elsewhere/old.cm")
    for set_by in (None, "link.cable.docsis.config=/elsewhere/old.cm", "modem=/elsewhere/old.cm"):
        with pytest.raises(InputError, match="--allow-files"):
            reach.locate("/elsewhere/old.cm", set_by)


def test_an_error_names_the_option_that_was_typed() -> None:
    told = 'the file "old.cm" cannot be read (from --set modem.home="old.cm"): no such file'
    assert echo_option(told) == (
        'the file "old.cm" cannot be read (from --modem home=old.cm): no such file'
    )
    told = "unknown queue (from --set queue=modem)"
    assert echo_option(told) == told


def test_the_files_of_a_resolved_scenario_are_listed() -> None:
    modem = {"home": {"config": "own.cm"}, "office": {"upstream": {}}}
    docsis = {"config": "all.cm", "modem": modem}
    scenario = {"link": {"cable": {"docsis": docsis}, "line": {"point_to_point": {}}}}
    assert list_configured(scenario) == [
        Configured("cable", "all.cm"),
        Configured("cable.home", "own.cm"),
    ]
    assert tell_configured(scenario) == "modems' files: all.cm, own.cm (cable.home)"
