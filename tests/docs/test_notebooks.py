"""The notebooks of docs/notebooks: stored without outputs, and run to the last cell."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from headend.figures.plot import VEGALITE

FOLDER = Path(__file__).parents[2] / "docs/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NAMES = [path.stem for path in NOTEBOOKS]

#: What cells give that must look like the first screen of a page, and like a figure, in each
#: notebook.
SHOWN = {"researcher": (3, 1), "teacher": (3, 4)}


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def list_sources(path: Path, kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in read(path)["cells"] if cell["cell_type"] == kind]


def test_there_are_notebooks() -> None:
    assert NAMES == ["researcher", "teacher"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_a_notebook_is_stored_without_what_a_run_leaves(path: Path) -> None:
    for cell in read(path)["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
    assert path.stat().st_size < 20_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_the_cells_of_a_notebook_are_short_and_can_be_read(path: Path) -> None:
    for source in list_sources(path, "code"):
        ast.parse(source)
        assert len(source.splitlines()) <= 20
        assert max(map(len, source.splitlines())) <= 100
    texts = "\n".join(list_sources(path, "markdown"))
    assert texts.startswith("# ")
    for link in re.findall(r"\]\(([^)#\s]+)\)", texts):
        assert (FOLDER / link).exists(), link


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_a_notebook_runs_from_its_first_cell_to_its_last(path: Path, tmp_path: Path) -> None:
    why = "nbclient and ipykernel run notebooks, and are not installed"
    nbclient = pytest.importorskip("nbclient", reason=why)
    pytest.importorskip("ipykernel", reason=why)
    nbformat = pytest.importorskip("nbformat", reason=why)
    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(tmp_path)}}
    done = nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources=where
    ).execute()
    outputs = [
        output["data"]
        for cell in done.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "data" in output
    ]
    pages = [data for data in outputs if "headend-first" in data.get("text/html", "")]
    plots = [data for data in outputs if VEGALITE in data]
    assert (len(pages), len(plots)) == SHOWN[path.stem]
    # An executed notebook is small enough to be sent around.
    assert len(nbformat.writes(done)) < 2_000_000
