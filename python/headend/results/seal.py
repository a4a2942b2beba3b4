"""Seals: the SHA-256 of every file of a results folder, checked before anything is decoded.

The file is in the format of ``sha256sum``, so ``sha256sum --check SHA256SUMS`` reads it too; a
comment before the first line says how many there are, so that none gets lost unnoticed. A seal
detects damage, not forgery: whoever can write to the folder can write the seal too. Reports are not
among the files, as they are made again from the others; a page bears a seal of its own.
"""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from headend.errors import InputError, describe_system
from headend.results.scratch import write_whole

SEALS = "SHA256SUMS"

_LINE = re.compile(r"([0-9a-f]{64})  ([^\0]+)")

#: The comment that says how many lines follow.
_COUNT = re.compile(r"# ([1-9][0-9]{0,8}) files?")

#: The last line of a page.
_MARK = re.compile(rb"<!-- made of ([0-9a-f]*), SHA-256 of the page [0-9a-f]{64} -->\n\Z")

_AGAIN = "run it again"


def seal(folder: Path, names: Iterable[str]) -> None:
    """Write the seals of files that were just written; they count from now on."""
    try:
        lines = [f"{hash_file(folder / name)}  {name}\n" for name in sorted(names)]
        count = f"# {len(lines)} {'file' if len(lines) == 1 else 'files'}\n"
        write_whole(folder / SEALS, "".join([count, *lines]).encode())
    except OSError as error:
        raise InputError(
            f"{folder / SEALS}: cannot be written: {describe_system(error)}"
        ) from error


def read_sealed(folder: Path, name: str) -> bytes:
    """Give a file of a results folder as it was written; an InputError if it is not that."""
    path = folder / name
    expected = read_seals(folder).get(name)
    if expected is None:
        raise InputError(f"{path}: damaged: it is not listed in {SEALS}; {_AGAIN}")
    if why := _find_obstacle(folder, name):
        raise InputError(f"{path}: damaged: it {why}; {_AGAIN}")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {describe_system(error)}") from error
    if hashlib.sha256(content).hexdigest() != expected:
        raise InputError(
            f"{path}: damaged: it has changed since it was written (its SHA-256 differs); {_AGAIN}"
        )
    return content


def check_whole(folder: Path) -> dict[str, str]:
    """Give the seals of a results folder; an InputError if a file is not what was written."""
    for damage in find_damage(folder):
        raise InputError(f"{damage}; {_AGAIN}")
    return read_seals(folder)


def read_seals(folder: Path) -> dict[str, str]:
    """Give the seals of a results folder: SHA-256 by name.

    Where there are none, or they are damaged themselves, an InputError is raised.
    """
    path = folder / SEALS
    if why := _find_obstacle(folder, SEALS):
        raise InputError(f"{path}: {why}, so the results may be damaged; {_AGAIN}")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {describe_system(error)}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: damaged: not a text file; {_AGAIN}") from error
    seals: dict[str, str] = {}
    lines = text.splitlines()
    if not lines:
        raise InputError(f"{path}: damaged: it lists no files; {_AGAIN}")
    count = _COUNT.fullmatch(lines[0])
    if count is None:
        raise InputError(
            f'{path}: damaged: line 1 does not say how many files it lists, such as "# 3 files";'
            f" {_AGAIN}"
        )
    for number, line in enumerate(lines[1:], start=2):
        parts = _LINE.fullmatch(line)
        if parts is None:
            raise InputError(f"{path}: damaged in line {number}; {_AGAIN}")
        seals[parts[2]] = parts[1]
    if len(seals) != int(count[1]):
        raise InputError(f"{path}: damaged: it lists {len(seals)} of {count[1]} files; {_AGAIN}")
    return seals


def find_damage(folder: Path) -> Iterator[str]:
    """Say of each file of a results folder that is not what was written what is wrong with it."""
    for name, expected in read_seals(folder).items():
        path = folder / name
        if why := _find_obstacle(folder, name):
            yield f"{path}: {why}"
            continue
        try:
            if hash_file(path) != expected:
                yield f"{path}: not what was written (its SHA-256 is another)"
        except OSError as error:
            yield f"{path}: {describe_system(error)}"


def _find_obstacle(folder: Path, name: str) -> str | None:
    """Say why a file is not read, if it is no regular file of the folder, such as a pipe."""
    path = folder / name
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            return "leads out of the results folder"
        return None if stat.S_ISREG(path.stat().st_mode) else "is no file"
    except FileNotFoundError:
        return "is gone"
    except (OSError, RuntimeError) as error:  # such as links that lead round
        return describe_system(error)


def hash_file(path: Path) -> str:
    """Give the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def seal_page(page: str, made_of: str = "") -> bytes:
    """Give a page as written: its last line has the SHA-256 of the rest, and its sources.

    Pages with equal fingerprints of the sources show the same.
    """
    content = page.removesuffix("\n").encode() + b"\n"
    return content + _mark(content, made_of)


def is_page_of(path: Path, made_of: str) -> bool:
    """Say whether a whole page of this is there."""
    content = _read_page(path) or b""
    before = content[: content.rstrip(b"\n").rfind(b"\n") + 1]
    return content == before + _mark(before, made_of)


def is_sealed_page(path: Path) -> bool:
    """Say whether headend wrote a page, whole or not any more."""
    return _MARK.search(_read_page(path) or b"") is not None


def find_page_damage(path: Path) -> str | None:
    """Say what is wrong with a page, if anything is."""
    content = _read_page(path)
    if content is None:
        return f"{path}: no file that can be read; make the report again"
    found = _MARK.search(content)
    if found is None or not is_page_of(path, found[1].decode()):
        return f"{path}: not what was written; make the report again"
    return None


def _read_page(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else None
    except OSError:
        return None


def _mark(content: bytes, made_of: str) -> bytes:
    digest = hashlib.sha256(content).hexdigest()
    return f"<!-- made of {made_of}, SHA-256 of the page {digest} -->\n".encode()
