"""How scenarios, studies and sweeps are found: by the name of one that is shipped, or by a path."""

from __future__ import annotations

import shlex
from pathlib import Path

from headend.errors import InputError, find_near, suggest
from headend.scenario.shipped import list_scenarios, list_studies, list_sweeps
from headend.text.wording import list_names

#: In place of a path: a scenario's text comes from standard input. A file of this name is ``./-``.
STANDARD_INPUT = "-"

#: Folders of results that one error names at most.
MOST_FOLDERS = 6


def find_scenario(source: str) -> tuple[str, Path]:
    """Find a scenario that is the path of a file or the name of a shipped one.

    Returns
    -------
    tuple of str and Path
        Its name (for the results folder) and its file.
    """
    if not source.strip():
        raise InputError(
            "expected the name of a shipped scenario or the path of a file, found nothing"
        )
    shipped = list_scenarios()
    path = Path(source)
    if source in shipped and not path.is_file():
        return source.replace("/", "-"), shipped[source]
    if path.is_dir():
        hint = ""
        if (path / "study.toml").is_file():
            hint = f"; it is a study: headend study run {shlex.quote(source)}"
        raise InputError(f"{source}: expected a scenario file, found a directory{hint}")
    if path.exists():
        return path.stem, path
    if path.is_symlink():
        raise InputError(f"{source}: a symbolic link that leads to no file")
    _refuse_other_kind(source, "scenario")
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise InputError(f"{source}: no such file{_near(path, shipped)}")
    from headend.scenario.lookup import suggest_name

    hint = suggest_name(source, "scenario", shipped)
    raise InputError(f'no file and no shipped scenario is called "{source}"{hint}')


def find_study(name: str) -> Path:
    """Find a study's folder: a shipped name, its last part, or a path with a ``study.toml``."""
    refuse_standard_input(name, "a study", "a study's name or its folder")
    studies = list_studies()
    by_last = {key.rsplit("/", 1)[-1]: path for key, path in studies.items()}
    if name in studies:
        return studies[name]
    if name in by_last:
        return by_last[name]
    if (Path(name) / "study.toml").is_file():
        return Path(name)
    if Path(name).is_dir():
        raise InputError(f"{name}: expected a folder with a study.toml, found none in it")
    if Path(name).is_file():
        raise InputError(f"{name}: expected a study's name or its folder, found a file")
    if name.startswith((".", "/")) or name.endswith("/"):
        raise InputError(f"{name}: no such folder")
    _refuse_other_kind(name, "study")
    documents = {key.split("/")[0] for key in studies}
    near = find_near(name, {*studies, *documents, *by_last})
    hint = (
        f'did you mean "{near}"?'
        if near
        else f"there are those of {', '.join(sorted(documents))} (headend study list)"
    )
    from headend.scenario.lookup import suggest_own_name

    raise InputError(f'no study is called "{name}"; {hint}{suggest_own_name(name, "study", near)}')


def find_studies(name: str) -> list[Path]:
    """Find the folders of a study, of a document such as ``buffer-control``, or of ``all``."""
    if name == "all":
        return list(list_studies().values())
    below = [path for key, path in list_studies().items() if key.startswith(f"{name}/")]
    return below or [find_study(name)]


def find_sweep(source: str | Path) -> Path:
    """Find a sweep's file, by its path or by the name of a shipped one.

    Raises
    ------
    InputError
        With what was perhaps meant, where there is neither.
    """
    refuse_standard_input(source, "a sweep", "the path of its file")
    name, path = str(source), Path(source)
    if path.exists() or path.is_symlink():
        return path
    shipped = list_sweeps()
    if path.suffix == ".toml" or len(path.parts) != 1:
        raise InputError(f"{source}: no such file{_near(path, shipped)}")
    if name in shipped:
        return shipped[name]
    _refuse_other_kind(name, "sweep")
    raise InputError(f'no file and no shipped sweep is called "{name}"{suggest(name, shipped)}')


def guide_to_results(folder: Path) -> str:
    """Give the end of an error about a folder that holds no results: where some are."""
    name = shlex.quote(str(folder))
    if folder.is_dir():
        below = sorted(
            path.parent
            for pattern in ("*/manifest.json", "sweeps/*/manifest.json", "studies/*/manifest.json")
            for path in folder.glob(pattern)
        )
        told = list_names([str(path) for path in below], MOST_FOLDERS)
        return f"; results are in {told}" if below else ""
    beside = "results" / folder
    if not folder.is_absolute() and beside.is_dir():
        is_whole = (beside / "manifest.json").is_file()
        return f"; did you mean {beside}?" if is_whole else guide_to_results(beside)
    is_file = folder.suffix in (".toml", ".json") and folder.is_file()
    if is_file or str(folder) in list_scenarios():
        return (
            f"; headend run {name} makes one of this scenario, and headend compare {name} --vary"
            " PATH=A,B compares settings of it"
        )
    if folder.parent == Path() and (root := Path("results")).is_dir():
        near = find_near(folder.name, [path.name for path in root.iterdir() if path.is_dir()])
        return f"; did you mean {root / near}?" if near else ""
    return ""


def _refuse_other_kind(name: str, wanted: str) -> None:
    """Refuse the name of something that ships, but is of another kind than is wanted here."""
    studies = list_studies()
    by_last = {key.rsplit("/", 1)[-1]: key for key in studies}
    found = []
    if name in list_scenarios():
        found.append(("scenario", f"headend run {name}"))
    if name in studies or name in by_last:
        found.append(("study", f"headend study run {by_last.get(name, name)}"))
    if any(key.startswith(f"{name}/") for key in studies):
        found.append(("document with studies", f"headend study run {name}"))
    if name in list_sweeps():
        found.append(("sweep", f"headend sweep {name}"))
    if found:
        kind, how = found[0]
        raise InputError(f'"{name}" is no {wanted} but a {kind}: {how}')


def refuse_standard_input(source: object, what: str, expected: str) -> None:
    """Refuse ``-`` for what is not read from standard input."""
    if str(source) == STANDARD_INPUT:
        raise InputError(f"-: {what} is not read from standard input; expected {expected}")


def _near(path: Path, shipped: dict[str, Path]) -> str:
    """Name the file beside, or else the shipped scenario, that was perhaps meant."""
    if path.stem in shipped:
        return f'; did you mean "{path.stem}"?'
    folder = path.parent
    beside = [file.stem for file in folder.glob("*.toml")] if folder.is_dir() else []
    if near := find_near(path.stem, beside):
        return f'; did you mean "{folder / near}.toml"?'
    near = find_near(path.stem, shipped)
    return f'; did you mean "{near}"?' if near else ""
