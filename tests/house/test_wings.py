"""Tests of python/headend's order: an import goes down the wings, and none goes in a circle."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import headend

PACKAGE = Path(headend.__file__).parent

# From low to high: folders, which are wings, and modules of the root. docs/architecture.md says
# what each is for.
ORDER = (
    "text",
    "errors",
    "files",
    "extras",
    "interruption",
    "version",
    "_engine",
    "engine",
    "modem_file",
    "scenario",
    "design",
    "results",
    "analysis",
    "wording",
    "comparison",
    "figures",
    "pages",
    "running",
    "emulation",
    "sweeps",
    "study",
    "recommendation",
    "loading",
    "cli",
    "__main__",
)


@dataclass(frozen=True)
class Import:
    """One import: who imports what, and where it is written."""

    importer: str
    imported: str
    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.importer} imports {self.imported}"


def name_of(path: Path, package: Path) -> str:
    """Name a module as an import would."""
    parts = (package.name, *path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(package: Path) -> dict[str, Path]:
    """All modules of a package, by name."""
    return {
        name_of(path, package): path
        for path in sorted(package.rglob("*.py"))
        if "shipped" not in path.relative_to(package).parts
    }


def imports(package: Path) -> Iterator[Import]:
    """Every import of one module of the package by another, at any place in it."""
    known = modules(package)
    compiled = f"{package.name}._engine"
    for name, path in known.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                wanted = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                above = name.split(".")
                if path.name != "__init__.py":
                    above = above[:-1]
                base = ".".join(above[: len(above) - node.level + 1]) if node.level else ""
                module = ".".join(part for part in (base, node.module) if part)
                # `from package import module` imports the module, and `from module import name` the
                # module it stands in.
                wanted = [
                    inner if (inner := f"{module}.{alias.name}") in (*known, compiled) else module
                    for alias in node.names
                ]
            else:
                continue
            for imported in dict.fromkeys(wanted):
                if (imported in known or imported == compiled) and imported != name:
                    yield Import(name, imported, path, node.lineno)


def place(name: str) -> int:
    """Where a module stands in the order; what is in no wing stands above all."""
    first = name.split(".")[1] if "." in name else ""
    return ORDER.index(first) if first in ORDER else len(ORDER)


def against_the_order(package: Path) -> list[str]:
    """Every import that goes up, in words; no module needs the package itself."""
    wrong = []
    for found in imports(package):
        importer, imported = place(found.importer), place(found.imported)
        if found.importer != package.name and imported > importer:
            wrong.append(str(found))
    return wrong


def circle(package: Path) -> list[str]:
    """The modules of one circle of imports, if there is one."""
    needs: dict[str, set[str]] = {}
    for found in imports(package):
        needs.setdefault(found.importer, set()).add(found.imported)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


def test_imports_go_down_the_wings() -> None:
    assert against_the_order(PACKAGE) == []


def test_no_import_goes_in_a_circle() -> None:
    assert circle(PACKAGE) == []


def test_every_folder_is_a_wing() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    files = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    assert folders | files | {"_engine"} == set(ORDER)


def test_the_documents_list_the_wings_in_their_order() -> None:
    wings = [name for name in ORDER if (PACKAGE / name / "__init__.py").exists()]
    root = Path(__file__).parents[2]
    table = (root / "docs/architecture.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)/` \|", table.split("| wing |")[1], re.MULTILINE) == wings
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = text.split("Its folders stand in one order")[1].split(". ")[0]
    assert re.findall(r"`(\w+)`", listed) == wings


def test_an_import_inside_a_function_counts(tmp_path: Path) -> None:
    package = tmp_path / "headend"
    for folder in ("text", "pages"):
        (package / folder).mkdir(parents=True)
        (package / folder / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "pages" / "page.py").write_text("from headend.text import words\n")
    words = package / "text" / "words.py"
    words.write_text("def show():\n    from headend.pages.page import draw\n")
    assert against_the_order(package) == [
        f"{words}:2: headend.text.words imports headend.pages.page"
    ]
    assert set(circle(package)) == {"headend.text.words", "headend.pages.page"}
    words.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..pages import page\n"
    )
    assert against_the_order(package) == [
        f"{words}:3: headend.text.words imports headend.pages.page"
    ]
