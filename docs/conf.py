"""The documentation site: how Sphinx builds it from the Markdown pages (``make docs``).

The source folder is the repository's, so that links between pages, and from pages to files, lead to
the same place here and on a code host. The order of the pages stands below, and not in the pages,
which therefore stay plain Markdown.
"""

from __future__ import annotations

import re
import shutil
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

#: The lab, where `make web` has built it.
LAB = ROOT / "target/web/index.html"

#: Its place in the site.
LAB_PAGE = "docs/lab.html"

#: What stands for the lab in a page, and is seen in the site alone: ``<!-- lab -->`` for the lab in
#: a frame, ``<!-- lab: WORDS: ROUTE -->`` for a link into it.
LAB_NOTE = re.compile(r"<!-- lab(?:: (?P<words>[^:\n]+):(?P<route> \S+)?)? -->")

project = "headend"
author = "The headend developers"
html_show_copyright = False
html_title = "headend"

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "docs/index"
include_patterns = ["docs/**", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
exclude_patterns = [".*", "benches", "crates", "dist", "fuzz", "python", "results", "target"]

#: The navigation: captions, and their pages by name without ``.md``.
CONTENTS: dict[str, list[str]] = {
    "Start": ["docs/installing", "docs/tutorial", "docs/lessons/README"],
    "How to": [
        "docs/howto/lab",
        "docs/howto/tier-buffer",
        "docs/howto/homes-per-channel",
        "docs/howto/home-router",
        "docs/howto/my-line",
        "docs/howto/modem-or-wifi",
        "docs/howto/modem-file",
        "docs/howto/buffer-unit",
        "docs/howto/low-latency",
        "docs/howto/paper-comparison",
        "docs/howto/own-law",
        "docs/howto/evaluate",
        "docs/howto/application-in-ci",
        "docs/howto/real-program",
        "docs/howto/class-of-90-minutes",
        "docs/howto/own-trace",
        "docs/howto/cluster",
    ],
    "Explanation": [
        "docs/explanation/why-buffers-bloat",
        "docs/explanation/what-an-aqm-does",
        "docs/explanation/request-and-grant",
        "docs/explanation/what-to-believe",
        "docs/explanation/real-time",
        "docs/explanation/what-a-fit-can-know",
        "docs/glossary",
    ],
    "Reference": [
        "docs/gallery",
        "docs/reference/commands",
        "docs/reference/scenario",
        "docs/reference/modem-file",
        "docs/reference/modem-file-checks",
        "docs/reference/expectations",
        "docs/reference/python",
        "docs/reference/results",
        "docs/reference/recommend",
        "docs/reference/sweeps",
        "docs/reference/emulate",
        "docs/reference/studies",
    ],
    "What is simulated": ["docs/models/README", "docs/receipts", "docs/trust"],
    "Project": [
        "docs/architecture",
        "docs/adr/README",
        "CONTRIBUTING",
        "SECURITY",
        "CHANGELOG",
    ],
}

#: Pages with pages below them: all those of their folder.
SHELVES = ["docs/lessons/README", "docs/models/README", "docs/adr/README"]

html_theme = "furo"
html_theme_options = {"navigation_with_keys": False, "top_of_page_buttons": []}
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_use_index = False
# The summaries of search results are fetched, which a browser refuses for files.
html_show_search_summary = False

# As code hosts do: an anchor for each heading, named after its words.
myst_heading_anchors = 6
# Pictures that are written in HTML because they have a width are pictures all the same.
myst_enable_extensions = ["html_image"]
# The blocks that hold output or a shell's session have no lexer that knows them.
highlight_language = "none"

#: Where the site's home page is, for whoever opens the folder.
FORWARD = """\
<!doctype html>
<meta charset="utf-8">
<title>headend</title>
<meta http-equiv="refresh" content="0; url=docs/index.html">
<a href="docs/index.html">headend</a>
"""


def add_contents(_app: Any, page: str, source: list[str]) -> None:
    """Give the home page and the shelves the pages below them."""
    if page == root_doc:
        for caption, pages in CONTENTS.items():
            lines = "\n".join(f"/{name}" for name in pages)
            source[0] += f"\n\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"
    elif page in SHELVES:
        folder = (ROOT / page).parent
        lines = "\n".join(list_shelf(folder))
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n\n{lines}\n```\n"


def list_shelf(folder: Path) -> list[str]:
    """List the pages of a folder: first those that its README links, then the others."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    linked = [link.removesuffix(".md") for link in re.findall(r"\]\(([\w./-]+\.md)\)", text)]
    names = sorted(path.stem for path in folder.glob("*.md") if path.name != "README.md")
    return list(dict.fromkeys([name for name in linked if name in names] + names))


def add_lab(_app: Any, page: str, source: list[str]) -> None:
    """Put the lab, and links into it, where a page has a note for them; nothing if not built."""
    at = "../" * page.count("/") + LAB_PAGE

    def draw(note: re.Match[str]) -> str:
        if not LAB.is_file():
            return ""
        if not note["words"]:
            title = "The lab: a line that moves while you turn its settings"
            return f'<iframe class="lab" src="{at}" title="{title}" loading="lazy"></iframe>'
        route = f"#{note['route'].strip()}" if note["route"] else ""
        return f'<a class="lab" href="{at}{route}">{escape(note["words"])}</a>'

    source[0] = LAB_NOTE.sub(draw, source[0])


def add_forward(app: Any, exception: Exception | None) -> None:
    """Put a page into the site's folder that leads to the home page, and the lab beside it."""
    if exception is None and LAB.is_file():
        shutil.copyfile(LAB, Path(app.outdir) / LAB_PAGE)
    if exception is None:
        (Path(app.outdir) / "index.html").write_text(FORWARD, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx of the functions above."""
    app.connect("source-read", add_contents)
    app.connect("source-read", add_lab)
    app.connect("build-finished", add_forward)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
