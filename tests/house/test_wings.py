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
    "custom",
    "modem_file",
    "scenario",
    "design",
    "results",
    "analysis",
    "wording",
    "comparison",
    "figures",
    "pages",
    "lab",
    "running",
    "emulation",
    "sweeps",
    "evaluation",
    "study",
    "recommendation",
    "capacity",
    "measurement",
    "fitting",
    "loading",
    "cli",
    "__main__",
)


@dataclass(frozen=True)
class Import:
    """One import: importing module, imported module, and the line of the statement."""

    importer: str
    imported: str
    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.importer} imports {self.imported}"


def name_module(path: Path, package: Path) -> str:
    """Give a module's name as imports have it."""
    parts = (package.name, *path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def list_modules(package: Path) -> dict[str, Path]:
    """List the modules of a package: paths by name."""
    return {
        name_module(path, package): path
        for path in sorted(package.rglob("*.py"))
        if "shipped" not in path.relative_to(package).parts
    }


def list_imports(package: Path) -> Iterator[Import]:
    """Give each import of one module of the package by another, inside functions too."""
    paths = list_modules(package)
    compiled = f"{package.name}._engine"
    for name, path in paths.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                above = name.split(".")
                if path.name != "__init__.py":
                    above = above[:-1]
                base = ".".join(above[: len(above) - node.level + 1]) if node.level else ""
                module = ".".join(part for part in (base, node.module) if part)
                # `from package import module` imports that module, `from module import name` the
                # module that defines the name.
                names = [
                    inner if (inner := f"{module}.{alias.name}") in (*paths, compiled) else module
                    for alias in node.names
                ]
            else:
                continue
            for imported in dict.fromkeys(names):
                if (imported in paths or imported == compiled) and imported != name:
                    yield Import(name, imported, path, node.lineno)


def rank(name: str) -> int:
    """Give a module's rank in `ORDER`; a module of no wing ranks above all."""
    first = name.split(".")[1] if "." in name else ""
    return ORDER.index(first) if first in ORDER else len(ORDER)


def list_upward_imports(package: Path) -> list[str]:
    """List the imports that go up the order, and those of the package itself."""
    wrong = []
    for item in list_imports(package):
        importer, imported = rank(item.importer), rank(item.imported)
        if item.importer != package.name and imported > importer:
            wrong.append(str(item))
    return wrong


def find_circle(package: Path) -> list[str]:
    """Give the modules of one circle of imports; an empty list where there is none."""
    needs: dict[str, set[str]] = {}
    for item in list_imports(package):
        needs.setdefault(item.importer, set()).add(item.imported)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


def test_imports_go_down_the_wings() -> None:
    assert list_upward_imports(PACKAGE) == []


def test_no_import_goes_in_a_circle() -> None:
    assert find_circle(PACKAGE) == []


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
    assert list_upward_imports(package) == [
        f"{words}:2: headend.text.words imports headend.pages.page"
    ]
    assert set(find_circle(package)) == {"headend.text.words", "headend.pages.page"}
    words.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..pages import page\n"
    )
    assert list_upward_imports(package) == [
        f"{words}:3: headend.text.words imports headend.pages.page"
    ]
