"""Modems' files named beside a scenario: with ``--modem``, or ``modem=`` from Python."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headend.errors import InputError, refuse_argument, refuse_unwritable
from headend.files import STANDARD_INPUT
from headend.scenario.parameters import find_value
from headend.text.reveal import escape_in_json

#: The path of an override that sets the file of the only modem. With a dot and a name behind it, it
#: sets the file of that modem.
MODEM_ALIAS = "modem"

#: ``NAME=FILE``, where a name of a modem has neither dots nor slashes. Any other text is a path.
_NAMED = re.compile(r"([\w-]+)\s*=(.*)", re.DOTALL)

#: The words of the engine for a value from ``--modem``, whose file is written in quotes.
_ORIGIN = re.compile(rf'\(from --set {MODEM_ALIAS}(?:\.([\w-]+))?=("(?:[^"\\]|\\.)*")\)')

#: The engine's words for the paths of such overrides, and the option that is typed in their place.
_PATHS = {"modem.NAME": "--modem NAME=FILE", "`modem` alone": "--modem FILE"}


def parse_modem(text: str) -> tuple[str, str]:
    """Give the override that ``[NAME=]FILE`` stands for.

    Examples
    --------
    >>> parse_modem("old.cm"), parse_modem("home=files/old.cm"), parse_modem("./a=b.cm")
    (('modem', '"old.cm"'), ('modem.home', '"files/old.cm"'), ('modem', '"./a=b.cm"'))
    """
    named = _NAMED.fullmatch(text)
    if text.startswith("="):
        raise InputError(
            f"--modem {text}: expected the name of a modem before =, found nothing; --modem"
            f" ./{text} is a file of this name"
        )
    name, file = (named[1], named[2].strip()) if named else ("", text)
    if not file.strip():
        raise InputError(
            f"--modem {text}: expected the file of a modem, such as --modem modem.cm or --modem"
            " NAME=modem.cm"
        )
    if file.strip() == STANDARD_INPUT:
        raise InputError(
            f"--modem {text}: the file of a modem is not read from standard input here; expected"
            " its path"
        )
    return _write(name, file)


def write_modems(
    modem: str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]] | None,
) -> list[tuple[str, str]]:
    """Give the overrides for ``modem=`` from Python: a file's path, or paths by modem."""
    if modem is None:
        return []
    if isinstance(modem, str | os.PathLike):
        return [_write("", str(modem))]
    if not isinstance(modem, Mapping) or not all(
        isinstance(name, str) and isinstance(file, str | os.PathLike)
        for name, file in modem.items()
    ):
        raise refuse_argument("modem", "a path, or a mapping of modems to paths", modem)
    return [_write(name, str(file)) for name, file in modem.items()]


def find_named(overrides: Sequence[tuple[str, str]]) -> frozenset[str]:
    """Give the overrides that name the file of a modem, each as ``PATH=VALUE``."""
    return frozenset(f"{path}={value}" for path, value in overrides if is_modem(path))


def is_modem(path: str) -> bool:
    """Say whether the path of an override is that of a modem's file.

    Examples
    --------
    >>> is_modem("modem"), is_modem("modem.home"), is_modem("link.cable.docsis.config")
    (True, True, False)
    """
    first, _, name = path.partition(".")
    return first == MODEM_ALIAS and "." not in name


def echo_option(message: str) -> str:
    """Replace ``--set`` by the typed ``--modem`` in an error of the engine.

    Examples
    --------
    >>> echo_option('no such file (from --set modem.home="old.cm")')
    'no such file (from --modem home=old.cm)'
    >>> echo_option('expected modem.NAME, with one of the names a, b (from --set modem="old.cm")')
    'expected --modem NAME=FILE, with one of the names a, b (from --modem old.cm)'
    """

    def write(found: re.Match[str]) -> str:
        name = f"{found[1]}=" if found[1] else ""
        return f"(from --modem {name}{json.loads(found[2])})"

    text, count = _ORIGIN.subn(write, message)
    for path, option in _PATHS.items() if count else ():
        text = text.replace(f"expected {path}", f"expected {option}")
    return text


def show_option(path: str) -> str:
    """Write the option that stands for an override of a modem's file."""
    name = path.partition(".")[2]
    return f"--modem {name}=…" if name else "--modem"


@dataclass(frozen=True)
class Configured:
    """A modem, or all modems of a line, with the path of the file that sets it, as written.

    The modem is called as its line and itself, such as ``cable.home``; the line alone stands for
    all modems without a file of their own.
    """

    modem: str
    file: str


def list_configured(scenario: Mapping[str, Any]) -> list[Configured]:
    """List the files of modems that a resolved scenario was made with."""
    configured = []
    for link in scenario.get("link", {}):
        docsis = find_value(scenario, f"link.{link}.docsis")
        modems = find_value(docsis, "modem") or {}
        tables = {link: docsis} | {f"{link}.{name}": table for name, table in modems.items()}
        for modem, table in tables.items():
            if isinstance(file := find_value(table, "config"), str):
                configured.append(Configured(modem, file))
    return configured


def describe_configured(scenario: Mapping[str, Any]) -> str:
    """Say which files set the modems of a resolved scenario; nothing where none does.

    Examples
    --------
    >>> describe_configured({"link": {"cable": {"docsis": {"config": "old.cm"}}}})
    "modem's file: old.cm"
    >>> modems = {"home": {"config": "old.cm"}}
    >>> describe_configured({"link": {"cable": {"docsis": {"modem": modems}}}})
    "modem's file: old.cm (cable.home)"
    >>> describe_configured({"link": {"line": {"point_to_point": {}}}})
    ''
    """
    files = [
        f"{entry.file} ({entry.modem})" if "." in entry.modem else entry.file
        for entry in list_configured(scenario)
    ]
    what = "modems' files" if len(files) > 1 else "modem's file"
    return f"{what}: {', '.join(files)}" if files else ""


def describe_shared(scenarios: Sequence[Mapping[str, Any]]) -> str:
    """Say which files set the modems of several resolved scenarios; nothing if they differ.

    Examples
    --------
    >>> names = ("old.cm", "new.cm")
    >>> old, new = ({"link": {"cable": {"docsis": {"config": name}}}} for name in names)
    >>> describe_shared([old, old]), describe_shared([old, new])
    ("modem's file: old.cm", '')
    """
    texts = {describe_configured(scenario) for scenario in scenarios}
    return texts.pop() if len(texts) == 1 else ""


def is_configured(scenario: Mapping[str, Any], link: str, modem: str = "") -> bool:
    """Say whether a file sets a modem of a resolved scenario; by default the only modem.

    Examples
    --------
    >>> modem = {"home": {"config": "old.cm"}, "office": {}}
    >>> line = {"link": {"cable": {"docsis": {"modem": modem}}}}
    >>> is_configured(line, "cable", "home"), is_configured(line, "cable", "office")
    (True, False)
    """
    modems = {entry.modem for entry in list_configured(scenario)}
    return link in modems or f"{link}.{modem}" in modems


def _write(name: str, file: str) -> tuple[str, str]:
    refuse_unwritable(file)
    # TOML reads the escapes of JSON, except halves of surrogate pairs.
    value = escape_in_json(json.dumps(file, ensure_ascii=False))
    return f"{MODEM_ALIAS}.{name}" if name else MODEM_ALIAS, value
