"""Name the repository in what an index page shows: pyproject.toml's URLs, README.md's links.

The sources do not say where they are published: a fork and a mirror are as good. So the links of
README.md are relative, which an index page cannot follow, and pyproject.toml has no URLs. The
release workflow, which knows its repository and its tag, runs this over its checkout before it
builds; nobody else needs it.

    python release/name_repository.py https://HOST/OWNER/NAME TAG

Addresses are those of GitHub: `blob` for pages, `tree` for folders, `raw` for pictures.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: `[text](target)` and `![text](target)`.
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
#: A block of code, in which a link is not a link.
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Rewrite README.md and pyproject.toml in place."""
    parser = argparse.ArgumentParser(
        description="Name the repository in README.md and pyproject.toml."
    )
    parser.add_argument("repository", help="its address, such as https://HOST/OWNER/NAME")
    parser.add_argument("tag", help="the tag or commit that links lead to")
    options = parser.parse_args()
    if not re.fullmatch(r"https://[^/\s]+/[^/\s]+/[^/\s]+", options.repository):
        sys.exit(f"name_repository: found {options.repository!r}, expected https://HOST/OWNER/NAME")
    for name, change in (("README.md", name_links), ("pyproject.toml", name_urls)):
        path = ROOT / name
        path.write_text(
            change(path.read_text(encoding="utf-8"), options.repository, options.tag),
            encoding="utf-8",
        )


def name_links(text: str, repository: str, tag: str) -> str:
    """Make the relative links of a page at the root of the repository whole."""

    def name(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        # A picture may be what is clicked on: [![words](picture)](target).
        words = LINK.sub(name, words)
        if not re.match(r"[a-z]+:|#|//", target):
            path = target.partition("#")[0]
            kind = "raw" if picture else "tree" if (ROOT / path).is_dir() else "blob"
            target = f"{repository}/{kind}/{tag}/{target.removeprefix('./')}"
        return f"{picture}[{words}]({target})"

    whole, end = [], 0
    for code in FENCE.finditer(text):
        whole += [LINK.sub(name, text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*whole, LINK.sub(name, text[end:])])


def name_urls(text: str, repository: str, tag: str) -> str:
    """Add the project's URLs to pyproject.toml."""
    if "\n[project.urls]\n" in text:
        sys.exit("name_repository: pyproject.toml has [project.urls] already, expected none")
    urls = f"""
[project.urls]
Homepage = "{repository}"
Documentation = "{repository}/tree/{tag}/docs"
Changelog = "{repository}/blob/{tag}/CHANGELOG.md"
Source = "{repository}"
Issues = "{repository}/issues"
"""
    before, table, after = text.partition("\n[project.scripts]\n")
    if not table:
        sys.exit(
            "name_repository: pyproject.toml has no [project.scripts], before which the URLs go"
        )
    return before + urls + table + after


if __name__ == "__main__":
    main()
