"""Modules that a document's studies share: found beside them, blamed where they fail."""

from __future__ import annotations

import doctest
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from conftest import ANALYSIS, SMALL_STUDY
from headend.cli.main import app
from headend.errors import InputError
from headend.scenario.shipped import SHIPPED, list_studies
from headend.study import read_study
from judged import LINE, import_shared

SHARED = sorted((SHIPPED / "studies").glob("*/*.py"))

COUNTING = """\
from headend.study.claims import ClaimResult, ClaimVerdict

def tell(points):
    return ClaimResult(f"{NAME} {{len(points)}}", ClaimVerdict.REPRODUCED)
"""

USING = """\
from ..counting import tell

def count(points, limits):
    return tell(points)
"""


def write_study(folder: Path, analysis: str = USING) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("study.toml", SMALL_STUDY),
        ("analysis.py", analysis),
        ("line.toml", LINE),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def write_shared(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    # A file that is as long and was written in the same second would be taken for the one before.
    os.utime(path, (0, len(text)))


def tell(analysis: ModuleType) -> str:
    return str(analysis.count([], {}).measured)


@pytest.mark.parametrize("path", SHARED, ids=[f"{path.parent.name}/{path.stem}" for path in SHARED])
def test_examples_of_shared_modules_hold(path: Path) -> None:
    module = import_shared(path.parent.name, path.stem)
    assert module.__doc__
    assert doctest.testmod(module).failed == 0


def test_there_are_shared_modules_and_each_is_used_by_several_studies() -> None:
    assert SHARED
    for path in SHARED:
        users = [
            name
            for name, folder in list_studies().items()
            if f"from ..{path.stem} import" in (folder / "analysis.py").read_text(encoding="utf-8")
        ]
        assert len(users) > 1, f"{path}: used by {users}"
        assert {name.split("/")[0] for name in users} == {path.parent.name}


def test_documents_with_modules_of_one_name_do_not_meet(tmp_path: Path) -> None:
    for name in ("first", "second"):
        write_study(tmp_path / name / "study")
        write_shared(tmp_path / name / "counting.py", COUNTING.format(NAME=name))
    studies = [
        read_study(f"{name}/study", tmp_path / name / "study") for name in ("first", "second")
    ]
    analyses = [study.load_analysis() for study in studies]
    assert [tell(analysis) for analysis in analyses] == ["first 0", "second 0"]
    assert "counting" not in sys.modules


def test_a_module_may_be_called_as_a_study_is_and_as_one_of_pythons_own(tmp_path: Path) -> None:
    for name in ("counting", "statistics"):
        write_study(tmp_path / name, USING.replace("counting", name))
        write_shared(tmp_path / f"{name}.py", COUNTING.format(NAME=name))
    for name in ("counting", "statistics"):
        assert tell(read_study(name, tmp_path / name).load_analysis()) == f"{name} 0"


def test_a_module_beside_the_analysis_is_found_too(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", USING.replace("..counting", ".counting"))
    write_shared(folder / "counting.py", COUNTING.format(NAME="beside"))
    assert tell(read_study("study", folder).load_analysis()) == "beside 0"


def test_a_shared_module_that_was_changed_is_read_anew(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study")
    for name in ("before", "afterwards"):
        write_shared(tmp_path / "counting.py", COUNTING.format(NAME=name))
        assert tell(read_study("study", folder).load_analysis()) == f"{name} 0"


@pytest.mark.parametrize(
    ("shared", "error"),
    [
        ("x = 1 +\n", "counting.py: line 1: SyntaxError: invalid syntax"),
        ("\nx = 1 / 0\n", "counting.py: line 2: ZeroDivisionError: division by zero"),
        ("\n\ndef tell(points):\n    return points['x']\n", "counting.py: line 4: "),
        (None, "study/analysis.py: line 1: ModuleNotFoundError: No module named 'counting'"),
        ("", "study/analysis.py: line 1: ImportError: cannot import name 'tell' from 'counting'"),
    ],
)
def test_a_mistake_in_a_shared_module_is_told_with_its_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: str | None, error: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_study(tmp_path / "study")
    if shared is not None:
        write_shared(tmp_path / "counting.py", shared)
    answer = CliRunner().invoke(app, ["study", "run", "study"])
    assert answer.exit_code == 2, answer.output
    assert error in answer.stderr.splitlines()[-1]
    assert "headend_study" not in answer.stderr


def test_an_analysis_without_shared_modules_needs_no_folder_above(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", ANALYSIS)
    assert tell(read_study("study", folder).load_analysis()) == "0"
    (folder / "analysis.py").unlink()
    with pytest.raises(InputError, match="no such file; a study needs one"):
        read_study("study", folder).load_analysis()
