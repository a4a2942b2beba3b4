"""The gallery of figures: every figure, its picture, and the command that makes it."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import headend
from headend.figures.catalogue import list_drawings
from headend.running.result import Result

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "gallery.md").read_text(encoding="utf-8")

SCENARIO = {
    "duration": "200 ms",
    "bottleneck": "line.up",
    "link": {"line": {"point_to_point": {"up": {"rate": "1 Mbit/s"}}}},
    "flow": {"ping": {"application": "ping"}},
}


def load_script() -> ModuleType:
    specification = importlib.util.spec_from_file_location(
        "gallery_draw", DOCS / "gallery" / "draw.py"
    )
    assert specification
    assert specification.loader
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def test_every_figure_that_can_be_drawn_is_in_the_gallery() -> None:
    one = headend.run(SCENARIO)
    other = headend.run(SCENARIO | {"seed": 2})
    labelled = [
        Result(result.tables, result.manifest, label)
        for label in ("a", "b")
        for result in (one, other)
    ]
    names = {*list_drawings([one]), *list_drawings(labelled)}
    assert "differences" in names
    shown = set(re.findall(r"^`([a-z0-9-]+)`: ", PAGE, re.MULTILINE))
    assert names <= shown, f"not in the gallery: {sorted(names - shown)}; docs/gallery/draw.py"


def test_the_gallery_holds_its_pictures_and_no_other() -> None:
    shown = set(re.findall(r"\]\(gallery/([^)]+)\)", PAGE))
    there = {path.name: path.stat().st_size for path in (DOCS / "gallery").glob("*.svg")}
    assert shown == set(there), "run make gallery"
    assert max(there.values()) <= 60_000
    assert sum(there.values()) < 2_000_000


def test_the_gallery_shows_the_commands_that_its_script_runs() -> None:
    commands = re.findall(r"^headend (?:run|compare|sweep) .*$", PAGE, re.MULTILINE)
    assert commands == [source.command for source in load_script().SOURCES]


def test_a_picture_is_written_to_a_tenth_of_a_pixel() -> None:
    shrink = load_script().shrink
    bare = shrink('<path aria-label="a" role="x" d="M1.2345,-2L3,4.04"/><text x="1.2345">')
    assert bare == '<path d="M1.2,-2L3,4"/><text x="1.2345">'
