"""Turning what a person names (a file, text, dictionary) into a scenario for the engine."""

from __future__ import annotations

import codecs
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.errors import (
    InputError,
    find_reordered,
    naming,
    refuse_argument,
    refuse_unwritable,
)
from headend.files import (
    LARGEST_MODEM_FILE_BYTES,
    STANDARD_INPUT,
    STANDARD_INPUT_SHOWN,
    parse_toml,
    read_bytes,
    read_standard_input,
)
from headend.scenario.file_access import HERE, FileAccess
from headend.scenario.library import find_scenario
from headend.scenario.modems import echo_option, find_named
from headend.text.quantity import read_integer

if TYPE_CHECKING:
    from headend._engine import Scenario, ScenarioError

#: A scenario larger than this is somebody's disk image, not a scenario.
LARGEST_SCENARIO_BYTES = 16 * 2**20

#: The files that a scenario names, such as captures to replay, are held in memory.
LARGEST_FILE_BYTES = 512 * 2**20

#: The names that there are, in an error about an unknown one.
_LIST = re.compile(r'; expected (one of (\d+ names: )?)?"[^()]*(?= \(|$)')

#: What the engine says of an unknown name, up to where that was written.
_UNKNOWN = re.compile(r'unknown name ".*?(?= \(from |$)')

#: What there is in one's own code too, as `find_kind` calls it.
_CODE_KINDS = ("queue", "congestion")

#: What the engine's errors say where a quantity was expected, and the units by kind.
_QUANTITY = re.compile(
    r'expected an? (?P<kind>duration|rate|size)(?: or "\w+",)? such as "[^"]*"(?=, found "[\d.])'
)
_UNITS = {
    "duration": ("ns", "us", "ms", "s", "min", "h"),
    "rate": ("bit/s", "kbit/s", "Mbit/s", "Gbit/s"),
    "size": ("B", "kB", "MB", "GB", "KiB", "MiB", "GiB"),
}

#: Keys that TOML takes without quotes.
_BARE = re.compile(r"[A-Za-z0-9_-]+")

#: How many keys the header of a table has at most, by the first of them; deeper ones take one line.
_DEPTHS = {"link": 4}
_DEPTH = 2

#: ``queue`` on the command line and in ``set=`` means the bottleneck's queue.
QUEUE_ALIAS = "queue"

#: The name of results whose scenario comes from standard input.
STANDARD_INPUT_NAME = "stdin"

Overrides = Sequence[tuple[str, str]]
Source = str | Path | Mapping[str, Any]


@dataclass(frozen=True)
class Loaded:
    """A scenario ready to run, and the name its results go by."""

    name: str
    scenario: Scenario

    @property
    def resolved(self) -> dict[str, Any]:
        """The scenario with every default filled in."""
        content: dict[str, Any] = json.loads(self.scenario.resolved_json())
        return content


@dataclass(frozen=True)
class Text:
    """A scenario's text before the engine has looked at it."""

    name: str
    shown_as: str
    content: str
    format: str
    access: FileAccess

    def load(self, overrides: Overrides = (), files: Mapping[str, bytes] | None = None) -> Loaded:
        """Let the engine check the text with the overrides applied.

        Files that the scenario names are given, by name, where they were read before. An InputError
        has the file's name, the key's path, line and column in one line.
        """
        from headend import _engine
        from headend.engine.build import check_engine

        check_engine()
        missing: dict[str, str] = {}
        try:
            self._check_alias(overrides)
            if files is None:
                files, missing = self._read_files(overrides)
            scenario = _engine.parse(
                self.content, format=self.format, overrides=list(overrides), files=files
            )
        except _engine.ScenarioError as error:
            # The engine knows where the file was named, and we know what is wrong with it.
            whys = (f": {why}" for name, why in missing.items() if f'"{name}"' in str(error))
            text = echo_option(f"{self._explain(error)}{next(whys, '')}")
            raise InputError(f"{self.shown_as}: {text}") from error
        return Loaded(self.name, scenario)

    def allow_named(self, overrides: Overrides) -> Text:
        """Give the same text, which may also read the modems' files that overrides name."""
        named = self.access.named | find_named(overrides)
        return replace(self, access=replace(self.access, named=named))

    def parse(self) -> dict[str, Any]:
        """Give the tables as written, unchecked; a ValueError for a text of another format."""
        content: dict[str, Any] = (
            parse_toml(self.content) if self.format == "toml" else json.loads(self.content)
        )
        return content

    def read_files(self, overrides: Overrides = ()) -> dict[str, bytes]:
        """Read the files that the scenario names, by name; unreadable ones are left out."""
        return self._read_files(overrides)[0]

    def refuse(self, path: str, why: str, overrides: Overrides = ()) -> InputError:
        """Give the error of a value that the engine takes and headend does not, with its place."""
        from headend import _engine

        line = _engine.refuse(
            self.content, path, why, format=self.format, overrides=list(overrides)
        )
        return InputError(f"{self.shown_as}: {line}")

    def _read_files(self, overrides: Overrides) -> tuple[dict[str, bytes], dict[str, str]]:
        """Give the files that can be read, and what is wrong with those that cannot, by name."""
        from headend import _engine

        needed = _engine.required_files(self.content, format=self.format, overrides=list(overrides))
        files: dict[str, bytes] = {}
        missing: dict[str, str] = {}
        found: dict[str, Path] = {}
        for name, set_by, kind in needed:
            if kind == "embedded_code":
                with naming(self.shown_as):
                    self.access.check_code("", set_by, Path(self.shown_as))
                continue
            what = f"file besides {', '.join(files)}" if files else "file"
            left = LARGEST_FILE_BYTES - sum(map(len, files.values()))
            if kind == "config":
                what, left = "configuration file", min(left, LARGEST_MODEM_FILE_BYTES)
            try:
                path = self.access.locate(name, set_by)
                if found.setdefault(name, path) != path:
                    raise InputError(
                        f"two files have this name, {found[name]} and {path}; write ./{name} for"
                        " one of them"
                    )
                content = read_bytes(path, left, what)
            except InputError as error:
                files.pop(name, None)
                missing.setdefault(name, str(error))
                continue
            if kind == "code":
                with naming(self.shown_as):
                    self.access.check_code(name, set_by, path)
            files[name] = content
        return files, missing

    def _explain(self, error: ScenarioError) -> str:
        """Write the engine's error; for a file of code without a class, with what is expected."""
        from headend.custom.classes import describe_missing_class
        from headend.scenario.lookup import find_kind

        kind = find_kind(error.known)
        if error.unknown and kind in _CODE_KINDS:
            folders = (Path(), self.access.scenario)
            if why := describe_missing_class(error.unknown, kind, folders):
                return _UNKNOWN.sub(lambda _: why, str(error))
        return _explain_unknown(error)

    def _check_alias(self, overrides: Overrides) -> None:
        """Say it first when ``queue`` means nothing, in words about the command line."""
        if not any(path.split(".")[0] == QUEUE_ALIAS for path, _ in overrides):
            return
        try:
            content = self.parse()
            links = content.get("link", {})
            named = "bottleneck" in content or any(path == "bottleneck" for path, _ in overrides)
        except (AttributeError, ValueError):
            return  # the engine says what is wrong with it
        if not named and len(links) != 1:
            raise InputError(
                f'{self.shown_as}: "{QUEUE_ALIAS}" means the bottleneck\'s queue, but the scenario'
                ' names no bottleneck: add bottleneck = "LINK.up", or give the whole path'
            )


def _explain_unknown(error: ScenarioError) -> str:
    """Write the engine's error; for an unknown name that is no user's, with headend's word."""
    text = _list_units(str(error))
    word, meant = error.unknown, error.meant
    if word is None:
        return text
    # The engine compares letters, and headend words too.
    reordered = find_reordered(word, error.known)
    if meant and reordered and reordered != meant:
        text = text.replace(f'; did you mean "{meant}"?', f'; did you mean "{reordered}"?', 1)
        meant = reordered
    from headend.scenario.lookup import find_kind, is_answer, lead_to_key, suggest_own_name

    kind = find_kind(error.known)
    end = suggest_own_name(word, kind, meant) if kind else lead_to_key(word, error.known)
    if is_answer(end):  # more than a list of all that there is
        text = _LIST.sub("", text)
    # Where the table knows the word, what is spelled like it is something else.
    return text.replace(f'; did you mean "{meant}"?', "", 1) + end if end else text


def _list_units(text: str) -> str:
    """Put the units behind the quantity in the engine's error, where those were wrong.

    Examples
    --------
    >>> _list_units('rate: expected a rate such as "10 Mbit/s", found "100 Tbit/s"')
    'rate: expected a rate such as "10 Mbit/s" (bit/s, kbit/s, Mbit/s, Gbit/s), found "100 Tbit/s"'
    """
    found = _QUANTITY.search(text)
    if found is None or "did you mean" in text:
        return text
    units = ", ".join(_UNITS[found["kind"]])
    return f"{text[: found.end()]} ({units}){text[found.end() :]}"


def read_scenario(source: Source, access: FileAccess = HERE) -> Text:
    """Read a scenario without checking more than that it is text.

    The source is the path of a file, the name of a shipped scenario, ``-`` for standard input, or
    the scenario as a dictionary. Files that overrides name are read from where the access says;
    those that the scenario names are of its own folder, or where the program runs for a dictionary
    and for standard input.
    """
    if isinstance(source, Mapping):
        return Text("scenario", "scenario", _write_json(source), "json", access)
    if source == STANDARD_INPUT:
        return _read_standard_input(access)
    check_source(source, "a path or the name of a scenario", "scenario")
    name, path = find_scenario(str(source))
    content = read_text(path)
    if not content.strip():
        raise InputError(
            f"{source}: the file is empty; a scenario needs at least a link and a flow"
        )
    format_ = "json" if path.suffix == ".json" else "toml"
    return Text(name, str(source), content, format_, replace(access, scenario=path.parent))


def _read_standard_input(access: FileAccess) -> Text:
    """Read a scenario from standard input; its files are where the program runs."""
    shown_as = STANDARD_INPUT_SHOWN
    text = _decode(read_standard_input(LARGEST_SCENARIO_BYTES, "scenario"), shown_as, "scenario")
    if not text.strip():
        raise InputError(f"{shown_as}: empty; a scenario needs at least a link and a flow")
    # No TOML begins with a brace.
    form = "json" if text.lstrip().startswith("{") else "toml"
    return Text(STANDARD_INPUT_NAME, shown_as, text, form, replace(access, scenario=Path()))


def _write_json(source: Mapping[str, Any]) -> str:
    """Write a dictionary as the text of a scenario, and refuse what such a text cannot hold."""

    def convert(value: Any) -> Any:
        if isinstance(value, Mapping):
            return dict(value)
        if (number := read_integer(value)) is not None:
            return number
        raise TypeError(f"found {type(value).__name__}")

    try:
        return json.dumps(source, default=convert)
    except (TypeError, ValueError) as error:  # such as for a key that is no text
        raise InputError(
            f"scenario: expected a dictionary of texts, numbers, lists and tables: {error}"
        ) from error


def check_source(source: Any, expected: str, what: str) -> None:
    """Refuse what neither names a file nor is a dictionary."""
    if not isinstance(source, str | os.PathLike):
        raise refuse_argument(what, f"{expected}, or a dictionary", source)
    refuse_unwritable(str(source))


def parse_override(text: str) -> tuple[str, str]:
    """Split ``PATH=VALUE``.

    Examples
    --------
    >>> parse_override("flow.call.rtt = 40 ms")
    ('flow.call.rtt', '40 ms')
    """
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise InputError(
            f'--set {text}: expected PATH=VALUE, such as --set "flow.upload.rtt=80 ms"'
        )
    return path.strip(), check_value(value.strip(), f"--set {text}")


def check_value(text: str, typed: str) -> str:
    """Refuse a value that begins as TOML and is none, echoing it; plain words need no quotes.

    Examples
    --------
    >>> check_value("40 ms", "--set x=40 ms")
    '40 ms'
    >>> check_value("{codel}", "--set x={codel}")
    Traceback (most recent call last):
    ...
    headend.errors.InputError: --set x={codel}: not valid TOML; a table is written {name = "value"},
    a text in quotes
    """
    if text[:1] in ("{", "[", '"', "'"):
        try:
            parse_toml(f"value = {text}")
        except tomllib.TOMLDecodeError as error:
            raise InputError(
                f'{typed}: not valid TOML; a table is written {{name = "value"}}, a text in quotes'
            ) from error
    return text


def write_overrides(values: Mapping[str, Any] | Overrides) -> list[tuple[str, str]]:
    """Give overrides as path and TOML text, from a dictionary of Python values or as they are.

    Examples
    --------
    >>> write_overrides({"seed": 3, "queue": {"drop_tail": {"limit": "1 s"}}})
    [('seed', '3'), ('queue', '{drop_tail = {limit = "1 s"}}')]
    """
    if isinstance(values, Mapping):
        if not all(isinstance(path, str) for path in values):
            raise _refuse_overrides(values)
        return [(path, write_value(value, f"set.{path}")) for path, value in values.items()]
    given: Any = values
    pairs = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    # Each is a path and a TOML text, as the command line gives them.
    if not all(
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and all(isinstance(part, str) for part in pair)
        for pair in pairs
    ):
        raise _refuse_overrides(given)
    return pairs


def _refuse_overrides(found: Any) -> InputError:
    return refuse_argument("set", 'a mapping of paths to values, such as {"queue": "codel"}', found)


def write_value(value: Any, where: str) -> str:
    """Write a Python value as TOML: text, a number, a list or a table; errors begin with ``where``.

    Examples
    --------
    >>> write_value({"codel": {"target": "5 ms"}}, "set.queue")
    '{codel = {target = "5 ms"}}'
    """
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key} = {write_value(item, where)}" for key, item in value.items())
        return "{" + inner + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(write_value(item, where) for item in value) + "]"
    if isinstance(
        value, str | int | float
    ):  # booleans are integers, and JSON writes them as TOML does
        return json.dumps(value)
    if (number := read_integer(value)) is not None:
        return str(number)
    found = "None" if value is None else type(value).__name__
    raise InputError(f"{where}: expected text, a number, a list or a table, found {found}")


def write_toml(content: Mapping[str, Any]) -> str:
    r"""Write tables as TOML that reads back as the same tables.

    Examples
    --------
    >>> call = {"application": "voice", "rtt": "40 ms"}
    >>> print(write_toml({"seed": 1, "flow": {"call": call}}), end="")
    seed = 1
    <BLANKLINE>
    [flow.call]
    application = "voice"
    rtt = "40 ms"
    """
    return "\n".join(_write_table((), content)).lstrip("\n") + "\n"


def _write_table(path: tuple[str, ...], content: Mapping[str, Any]) -> Iterator[str]:
    tables = {
        key: value
        for key, value in content.items()
        if isinstance(value, Mapping) and len(path) < _DEPTHS.get((*path, key)[0], _DEPTH)
    }
    lines = {key: value for key, value in content.items() if key not in tables}
    if path and (lines or not tables):
        yield f"\n[{'.'.join(map(_write_key, path))}]"
    for key, value in lines.items():
        yield f"{_write_key(key)} = {_write_value(value)}"
    for key, value in tables.items():
        yield from _write_table((*path, key), value)


def _write_value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_write_key(key)} = {_write_value(own)}" for key, own in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_write_value, value))}]"
    return write_value(value, "scenario")


def _write_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key)


def read_text(path: Path, what: str = "scenario") -> str:
    """Read a file of text; an InputError of one line begins with its path."""
    return _decode(read_bytes(path, LARGEST_SCENARIO_BYTES, what), str(path), what)


def _decode(content: bytes, shown_as: str, what: str) -> str:
    if _is_utf_16(content):
        raise InputError(f"{shown_as}: UTF-16; save it as UTF-8")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{shown_as}: not a text file (byte {error.start} is not UTF-8); a {what} is TOML"
        ) from error


def _is_utf_16(content: bytes) -> bool:
    r"""Say whether bytes look like UTF-16: by their mark, or since every other byte is zero.

    Examples
    --------
    >>> [_is_utf_16("seed = 1".encode(code)) for code in ("utf-16", "utf-16-be", "utf-8")]
    [True, True, False]
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    # Most characters at the beginning of a scenario are ASCII, and no text has a zero.
    first = content[:64]
    fewer, more = sorted((first[0::2].count(0), first[1::2].count(0)))
    return fewer == 0 and more > len(first) // 4


def is_sweep(text: str) -> bool:
    """Say whether a file's text is a sweep's, not a scenario's."""
    if "grid" not in text and "zip" not in text:
        return False  # without reading a long one
    try:
        content = parse_toml(text)
    except tomllib.TOMLDecodeError:
        return False
    return "scenario" in content and ("grid" in content or "zip" in content)
