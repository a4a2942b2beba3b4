"""What the lab is given: in its page, where nothing ends the script, and in a link."""

from __future__ import annotations

import base64
import json
import re
import tomllib
import zlib
from pathlib import Path
from typing import Any

import pytest

from headend.errors import InputError
from headend.lab import page as lab_page
from headend.lab.given import LARGEST_SEED, Given, give, refuse_files
from headend.scenario.source import read_scenario

HEAD = f'<!doctype html><meta name="headend-sources" content="{"0" * 64}">'
EMPTY = '<script type="application/json" id="given">null</script>'
PAGE = f"{HEAD}<body>{EMPTY}<script>let a = '</b>'</script></body>"

#: What would end a script, begin a comment in it, or end a line.
HOSTILE = 'title = "</script><!-- \u2028\u2029 & é 😀"'


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a page in the place of the built one."""
    path = tmp_path / "index.html"
    path.write_text(PAGE, encoding="utf-8")
    monkeypatch.setattr(lab_page, "PAGE", path)
    return path


def find_given(written: bytes) -> Any:
    (found,) = re.findall(
        r'<script type="application/json" id="given">(.*?)</script>', written.decode(), re.DOTALL
    )
    return json.loads(found)


@pytest.mark.usefixtures("page")
def test_a_page_holds_what_it_is_given_and_nothing_in_it_ends_the_script() -> None:
    given = Given(HOSTILE, (("flow.</script>.rtt", "'1 ms'"),), 7)
    written = lab_page.write_page(given)
    assert find_given(written) == {
        "text": HOSTILE,
        "overrides": [["flow.</script>.rtt", "'1 ms'"]],
        "seed": 7,
    }
    before, _, after = PAGE.partition(EMPTY)
    assert written.decode().startswith(before)
    assert written.decode().endswith(after)
    held = written.decode().removeprefix(before).removesuffix(after)
    inner = held.removeprefix(EMPTY.partition("null")[0]).removesuffix("</script>")
    assert not re.search("[<>&\u2028\u2029]", inner)


@pytest.mark.usefixtures("page")
def test_a_page_that_is_given_nothing_is_the_built_one() -> None:
    assert lab_page.write_page() == PAGE.encode()


@pytest.mark.parametrize("content", [HEAD, PAGE + EMPTY])
def test_a_page_without_its_one_place_for_a_scenario_is_refused(page: Path, content: str) -> None:
    page.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="of another version than this headend"):
        lab_page.write_page()


def test_a_page_that_was_not_built_says_what_builds_it(page: Path) -> None:
    page.unlink()
    with pytest.raises(InputError, match=r"`make web` .* needs rustup and Node 20\.19"):
        lab_page.find_page()


def test_a_page_of_the_lab_is_known_by_its_head(page: Path, tmp_path: Path) -> None:
    assert lab_page.is_page(page)
    other = tmp_path / "other.html"
    other.write_text("<!doctype html>" + " " * 5000 + HEAD, encoding="utf-8")
    assert not lab_page.is_page(other)
    assert not lab_page.is_page(tmp_path / "none.html")


def test_a_link_holds_the_scenario_deflated_in_base64url() -> None:
    given = Given(HOSTILE * 40, (("queue", "codel"),), LARGEST_SEED)
    route, _, packed = given.write_fragment().partition("/")
    assert route == "workbench"
    assert re.fullmatch(r"[A-Za-z0-9_-]+", packed)
    assert len(packed) < len(given.text)
    found = zlib.decompress(
        base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), wbits=-zlib.MAX_WBITS
    )
    assert json.loads(found) == {
        "text": given.text,
        "overrides": [["queue", "codel"]],
        "seed": LARGEST_SEED,
    }


def test_a_scenario_in_json_is_given_as_toml(home_line: Path, tmp_path: Path) -> None:
    content = tomllib.loads(home_line.read_text(encoding="utf-8"))
    path = tmp_path / "line.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    given = give(read_scenario(path), (), 1)
    assert tomllib.loads(given.text) == content


def test_a_seed_that_a_browser_cannot_count_to_is_refused(home_line: Path) -> None:
    text = read_scenario(home_line)
    assert give(text, (), LARGEST_SEED).seed == LARGEST_SEED
    with pytest.raises(InputError, match=f"seed: expected at most {LARGEST_SEED}"):
        give(text, (), LARGEST_SEED + 1)


@pytest.mark.parametrize(
    ("override", "told"),
    [
        (("link.cable.docsis.config", '"old.cm"'), "names the modem's file old.cm (from --set"),
        (("queue", '"law.py:Law"'), "names the code law.py (from --set queue="),
        (
            ("flow.ping.application", '{replay = {capture = "tape.pcapng", host = "10.0.0.0/8"}}'),
            "names the file tape.pcapng (from --set flow.ping.application=",
        ),
    ],
)
def test_a_scenario_that_needs_a_file_is_refused_with_its_name(
    home_line: Path, override: tuple[str, str], told: str
) -> None:
    text = read_scenario(home_line)
    refuse_files(text, ())
    with pytest.raises(InputError) as caught:
        refuse_files(text, [override])
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"{home_line}: ")


def test_what_else_is_wrong_is_for_the_check_of_the_scenario(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("flwo = 1\n", encoding="utf-8")
    refuse_files(read_scenario(path), ())
