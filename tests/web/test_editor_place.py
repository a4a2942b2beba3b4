"""Where completion finds the cursor: also in texts that are written to hold the page up."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

WEB = Path(__file__).parents[2] / "web"
COMPILER = WEB / "node_modules/.bin/tsc"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("node") is None or not COMPILER.is_file(),
        reason="needs node, and the packages that `make web` installs",
    ),
]

#: A text of this length takes minutes where the time grows with the square of the length.
LETTERS = 250_000
PATIENCE_S = 20

ASK = """\
import { readFileSync } from "node:fs";
import { findPlace } from "./editor_place.mjs";
const texts = JSON.parse(readFileSync(0, "utf-8"));
console.log(JSON.stringify(texts.map((text) => findPlace(text, text.length))));
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with the module as JavaScript, and the script that asks it."""
    made = tmp_path_factory.mktemp("place")
    options = ["--ignoreConfig", "--module", "esnext", "--target", "es2022", "--types", ""]
    source = WEB / "src/workbench/editor_place.ts"
    subprocess.run([COMPILER, *options, "--outDir", made, source], check=True)
    (made / "editor_place.js").rename(made / "editor_place.mjs")
    (made / "ask.mjs").write_text(ASK, encoding="utf-8")
    return made


def find_places(folder: Path, texts: list[str]) -> Any:
    """Find the place at the end of each text."""
    done = subprocess.run(
        ["node", folder / "ask.mjs"],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("text", "kind", "path", "word"),
    [
        ("", "key", [], ""),
        ("dur", "key", [], "dur"),
        ("[flow.", "header", ["flow"], ""),
        ("  [ link.ca", "header", ["link"], "ca"),
        ("[link.cable.docsis]\nup", "key", ["link", "cable", "docsis"], "up"),
        ("[a]\nb = 1\n[flow.c] # d\n\nupstream.ra", "key", ["flow", "c", "upstream"], "ra"),
        ("[flow.a]\napplication = vo", "value", ["flow", "a", "application"], "vo"),
        ("[flow.a]\napplication = { web = { pa", "key", ["flow", "a", "application", "web"], "pa"),
    ],
)
def test_a_place_is_by_the_table_and_the_line(
    folder: Path, text: str, kind: str, path: list[str], word: str
) -> None:
    (place,) = find_places(folder, [text])
    assert place == {"kind": kind, "path": path, "word": word, "from": len(text) - len(word)}


@pytest.mark.parametrize("unit", ["\n", "[", "[ ", "a", " ", "{a=", "[a]\n"])
def test_a_hostile_text_is_answered_at_once(folder: Path, unit: str) -> None:
    text = unit * (LETTERS // len(unit))
    place, after, below = find_places(folder, [text, f"{text}]!", f"{text}\nb"])
    has_lines = unit.endswith("\n")
    assert (place is None, after is None) == (not has_lines, not has_lines)
    assert below["word"] == "b"
    assert below["path"] == (["a"] if unit == "[a]\n" else [])


def test_a_line_that_nests_too_deep_has_no_place(folder: Path) -> None:
    assert find_places(folder, ["{a=" * 17, "{a=" * 16])[0] is None
