"""Which laws and controls a file has, read without executing it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from headend.errors import InputError
from headend.files import read_bytes

#: A file with code that is larger than this is not looked into.
_LARGEST_BYTES = 2**20

#: Of what the classes of a kind of code derive.
_BASES = {"queue": "ControlLaw", "congestion": "CongestionControl"}


def describe_missing_class(name: str, kind: str, folders: Iterable[Path]) -> str | None:
    """Say what is expected where a file stands without a class of it.

    Parameters
    ----------
    name
        What was written, such as ``my_law.py``.
    kind
        Of what: ``queue`` or ``congestion``.
    folders
        Where the file may be.

    Returns
    -------
    str or None
        None for a name that is of no Python file.
    """
    file, colon, found = name.partition(".py")
    file += ".py"
    if not colon or not file.removesuffix(".py") or found[:1] not in ("", ":"):
        return None
    path = next((one / file for one in folders if (one / file).is_file()), None)
    base = _BASES[kind]
    classes = list_classes(path, base) if path else []
    example = classes[0] if classes else "MyClass"
    what = f'expected a file and a class in it, such as "{file}:{example}", found "{name}"'
    if path is None:
        return f"{what}; no such file"
    if not classes:
        return f"{what}; the file has no class of the kind {base}"
    return f"{what}; the file has {', '.join(classes)}"


def list_classes(path: Path, base: str) -> list[str]:
    """List the classes of a file that derive from a base.

    Bases are compared by name alone; a file that cannot be read or parsed has none.
    """
    try:
        tree = ast.parse(read_bytes(path, _LARGEST_BYTES, "file"))
    except (InputError, OSError, SyntaxError, ValueError):
        return []
    known, found = {base}, []
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and known & set(_list_bases(node)):
            known.add(node.name)
            found.append(node.name)
    return found


def _list_bases(node: ast.ClassDef) -> Iterator[str]:
    for base in node.bases:
        if isinstance(base, ast.Name):
            yield base.id
        elif isinstance(base, ast.Attribute):
            yield base.attr
