"""The scenarios and studies that ship with headend, and how they are found by name.

Both live at the top of the source tree; ``headend/shipped`` links there, and a wheel holds copies in its place.
"""

from __future__ import annotations

from pathlib import Path

from headend.errors import InputError, find_near

SHIPPED = Path(__file__).parent / "shipped"

#: In place of a path: a scenario's text comes from standard input. A file of this name is ``./-``.
STANDARD_INPUT = "-"


def list_scenarios() -> dict[str, Path]:
    """Give every shipped scenario by name: its path below ``scenarios`` without ``.toml``."""
    root = SHIPPED / "scenarios"
    return {
        path.relative_to(root).with_suffix("").as_posix(): path
        for path in sorted(root.rglob("*.toml"))
    }


def list_studies() -> dict[str, Path]:
    """Give every shipped study's folder by name, such as ``buffer-control/ping-latency``."""
    root = SHIPPED / "studies"
    return {
        path.parent.relative_to(root).as_posix(): path.parent
        for path in sorted(root.rglob("study.toml"))
    }


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
        raise InputError(f"{source}: expected a scenario file, found a directory")
    if path.exists():
        return path.stem, path
    if path.is_symlink():
        raise InputError(f"{source}: a symbolic link that leads to no file")
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise InputError(f"{source}: no such file{_near(path, shipped)}")
    from headend.lookup import guide

    hint = guide(source, "scenario", shipped)
    raise InputError(f'no file and no shipped scenario is called "{source}"{hint}')


def find_study(name: str) -> Path:
    """Find a study's folder: a shipped name, its last part, or the path of a folder with a ``study.toml``."""
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
    documents = {key.split("/")[0] for key in studies}
    near = find_near(name, {*studies, *documents, *by_last})
    hint = (
        f'did you mean "{near}"?'
        if near
        else f"there are those of {', '.join(sorted(documents))} (headend study list)"
    )
    from headend.lookup import lead

    raise InputError(f'no study is called "{name}"; {hint}{lead(name, "study", near)}')


def find_studies(name: str) -> list[Path]:
    """Find the folders of a study, of all studies of a document such as ``buffer-control``, or of ``all``."""
    if name == "all":
        return list(list_studies().values())
    below = [path for key, path in list_studies().items() if key.startswith(f"{name}/")]
    return below or [find_study(name)]


def refuse_standard_input(source: object, what: str, expected: str) -> None:
    """Refuse ``-`` for what is not read from standard input."""
    if str(source) == STANDARD_INPUT:
        raise InputError(f"-: {what} is not read from standard input; expected {expected}")


def _near(path: Path, shipped: dict[str, Path]) -> str:
    """Name the file beside, or else the shipped scenario, that was perhaps meant."""
    folder = path.parent
    beside = [file.stem for file in folder.glob("*.toml")] if folder.is_dir() else []
    if near := find_near(path.stem, beside):
        return f'; did you mean "{near}.toml"?'
    near = find_near(path.stem, shipped)
    return f'; did you mean "{near}"?' if near else ""
