"""The documentation site: it builds without a warning, and needs only its own files."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SPHINX = ROOT / "target/docs-env/bin/sphinx-build"

#: The lab, where `make web` has built it. What stands behind the # of its address is a route.
LAB = ROOT / "target/web/index.html"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not SPHINX.exists(),
        reason="Sphinx is not in target/docs-env: `make docs` or `make test-slow` installs it",
    ),
]

#: Attributes by which a page has the browser load something, by element.
LOADS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
    "link": "href",
}

#: Links in a page's head that a browser does not follow by itself.
NOT_LOADED = {"next", "prev", "search", "index", "author", "copyright", "top", "up"}


class Loads(HTMLParser):
    """What a page loads, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if anchor := values.get("id"):
            self.anchors.add(anchor)
        if tag == "a" and (link := values.get("href")):
            self.links.append(link)
        is_read = tag != "link" or not NOT_LOADED & set((values.get("rel") or "").split())
        if is_read and (address := values.get(LOADS.get(tag, ""))):
            self.loaded.append(address)


def build(source: Path, to: Path) -> subprocess.CompletedProcess[str]:
    """Build a site as `make docs` does."""
    options = ["--quiet", "--fail-on-warning", "--keep-going", "--jobs", "2"]
    folders = ["--conf-dir", f"{source}/docs", "--doctree-dir", f"{to}/state", source, f"{to}/site"]
    command = [str(SPHINX), *options, *map(str, folders)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    built = build(ROOT, folder)
    assert built.returncode == 0, built.stderr
    assert built.stderr == ""
    return folder / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Loads]:
    """Give every page of the site as it is parsed."""
    parsed = {}
    for path in sorted(site.rglob("*.html")):
        parsed[path] = Loads()
        parsed[path].feed(path.read_text(encoding="utf-8"))
    return parsed


def test_every_page_of_the_documentation_is_in_the_site(
    pages: dict[Path, Loads], site: Path
) -> None:
    written = {path.relative_to(ROOT).with_suffix(".html") for path in ROOT.glob("docs/**/*.md")}
    assert len(written) > 60
    assert written <= {path.relative_to(site) for path in pages}


def test_a_page_loads_nothing_from_a_network(pages: dict[Path, Loads]) -> None:
    for path, page in pages.items():
        assert page.loaded or path.name == "index.html", path
        for address in page.loaded:
            if address.startswith("data:"):
                continue
            assert not re.match(r"(\w+:)?//|\w+:", address), (path, address)
            assert (path.parent / address.split("?")[0]).exists(), (path, address)


def test_styles_and_scripts_load_nothing_from_a_network(site: Path) -> None:
    styles = "\n".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"url\(\s*[\"']?(?:https?:)?//|@import", styles) == []
    # Results are shown without a summary, which would be fetched.
    search = (site / "_static/documentation_options.js").read_text(encoding="utf-8")
    assert "SHOW_SEARCH_SUMMARY: false" in search


def test_links_between_pages_lead_somewhere(pages: dict[Path, Loads]) -> None:
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"\w+:", link):
                continue
            address, _, anchor = link.partition("#")
            target = (path.parent / address).resolve() if address else path
            assert target.exists(), (path, link)
            if anchor and target in pages and target.name != "lab.html":
                assert anchor in pages[target].anchors, (path, link)


def test_the_lab_is_in_the_site_where_it_was_built(pages: dict[Path, Loads], site: Path) -> None:
    frames = {
        path.relative_to(site).as_posix()
        for path, page in pages.items()
        if any(address.endswith("lab.html") for address in page.loaded)
    }
    links = [
        link.partition("lab.html#")[2]
        for link in pages[site / "docs/receipts.html"].links
        if "lab.html#" in link
    ]
    assert (site / "docs/lab.html").is_file() == LAB.is_file()
    if not LAB.is_file():
        assert frames == set()
        assert links == []
        return
    assert frames == {"docs/index.html", "docs/tutorial.html"}
    assert links
    assert all(link.startswith("workbench/") for link in links)


def test_a_site_without_the_lab_has_no_frame_and_no_link_to_it(tmp_path: Path) -> None:
    docs = tmp_path / "repository/docs"
    docs.mkdir(parents=True)
    shutil.copy(ROOT / "docs/site.css", docs)
    settings = (ROOT / "docs/conf.py").read_text(encoding="utf-8")
    (docs / "conf.py").write_text(f"{settings}\nCONTENTS = {{}}\nSHELVES = []\n", encoding="utf-8")
    notes = "# Home\n\n<!-- lab -->\n\nSee. <!-- lab: Open it: workbench/a-b_c -->\n"
    (docs / "index.md").write_text(notes, encoding="utf-8")
    assert build(tmp_path / "repository", tmp_path / "without").returncode == 0
    page = (tmp_path / "without/site/docs/index.html").read_text(encoding="utf-8")
    assert "lab.html" not in page
    built = tmp_path / "repository/target/web/index.html"
    built.parent.mkdir(parents=True)
    built.write_text("the lab", encoding="utf-8")
    assert build(tmp_path / "repository", tmp_path / "with").returncode == 0
    page = (tmp_path / "with/site/docs/index.html").read_text(encoding="utf-8")
    assert 'src="../docs/lab.html" title="The lab' in page
    assert 'href="../docs/lab.html#workbench/a-b_c">Open it</a>' in page
    assert (tmp_path / "with/site/docs/lab.html").read_text(encoding="utf-8") == "the lab"


def test_the_site_can_be_searched(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert "docs/models/docsis_pie" in index
    assert "bufferbloat" in index


def test_a_broken_link_a_broken_anchor_and_an_orphan_are_errors(tmp_path: Path) -> None:
    docs = tmp_path / "repository/docs"
    docs.mkdir(parents=True)
    shutil.copy(ROOT / "docs/site.css", docs)
    settings = (ROOT / "docs/conf.py").read_text(encoding="utf-8")
    contents = 'CONTENTS = {"Start": ["docs/installing"]}\nSHELVES = []\n'
    (docs / "conf.py").write_text(f"{settings}\n{contents}", encoding="utf-8")
    (docs / "index.md").write_text("# Home\n\n[a](installing.md#here)\n", encoding="utf-8")
    (docs / "installing.md").write_text("# Installing\n\n[b](away.md)\n", encoding="utf-8")
    (docs / "alone.md").write_text("# Alone\n", encoding="utf-8")
    built = build(tmp_path / "repository", tmp_path / "out")
    assert built.returncode != 0
    for name in ("here", "away.md", "alone.md"):
        assert name in built.stderr, built.stderr


#: Screens of a laptop and of a telephone.
SCREENS = ((1400, 900), (390, 844))

#: Pages of every kind: home, prose, commands, long tables, wide tables, pictures.
LOOKED_AT = [
    "docs/index",
    "docs/tutorial",
    "docs/glossary",
    "docs/howto/tier-buffer",
    "docs/howto/paper-comparison",
    "docs/lessons/README",
    "docs/lessons/ten-calls",
    "docs/lessons/aqm-loads",
    "docs/explanation/request-and-grant",
    "docs/reference/scenario",
    "docs/reference/results",
    "docs/models/docsis",
    "docs/receipts",
    "CHANGELOG",
]


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_opens_without_an_error_or_a_request_and_is_no_wider_than_the_screen(
    browser: Any, site: Path, name: str
) -> None:
    grounds = set()
    for scheme in ("light", "dark"):
        for width, height in SCREENS:
            screen = {"width": width, "height": height}
            page = browser.new_page(viewport=screen, color_scheme=scheme)
            told: list[str] = []
            page.on("console", lambda message, told=told: told.append(message.text))
            page.on("pageerror", lambda error, told=told: told.append(str(error)))
            page.on("request", lambda request, told=told: told.append(request.url))
            page.goto((site / f"{name}.html").as_uri())
            # The lab's worker is a part of its page.
            own = (site.as_uri(), "blob:")
            assert [text for text in told if not text.startswith(own)] == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            broken = (
                "[...document.images].filter(image => !image.naturalWidth).map(image => image.src)"
            )
            assert page.evaluate(broken) == []
            grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            page.close()
    assert len(grounds) == 2, "the dark page has the ground of the light one"


def test_what_is_searched_is_found_without_a_network(browser: Any, site: Path) -> None:
    page = browser.new_page()
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.goto((site / "docs/index.html").as_uri())
    page.get_by_placeholder("Search").first.fill("bufferbloat")
    page.get_by_placeholder("Search").first.press("Enter")
    page.wait_for_selector(".search li a")
    links = page.eval_on_selector_all(".search li a", "links => links.map(link => link.href)")
    assert any("docs/tutorial.html" in link for link in links)
    assert told == []
    page.close()
