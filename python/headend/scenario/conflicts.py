"""What is set twice: a value that another replaces would have a wrong name in results."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from headend.errors import InputError
from headend.files import parse_toml
from headend.scenario.parameters import find_value
from headend.scenario.source import QUEUE_ALIAS, Loaded, Overrides, Text, write_value


def spell_out(path: str, queue_path: str) -> str:
    """Give the whole path where ``queue`` stands for one; as it is where that is not known."""
    first, dot, rest = path.partition(".")
    return f"{queue_path}{dot}{rest}" if queue_path and first == QUEUE_ALIAS else path


def check_shared(
    varied: Sequence[tuple[str, str]], shared: Overrides, queue_path: str, shown_as: str, by: str
) -> None:
    """Refuse a shared setting that a varied value replaces in every run.

    What is varied has a name and a path that it sets. ``queue_path`` is what ``queue`` stands for;
    empty where that is not known yet. Shared settings are shown as ``--set {}``, for example, and
    ``by`` says who sets them instead, such as ``the axis {} sets it at every point``.
    """
    for written, _ in shared:
        path = spell_out(written, queue_path)
        for other, set_by_other in varied:
            above = spell_out(set_by_other, queue_path)
            if path == above or path.startswith(f"{above}."):
                raise InputError(
                    f"{shown_as.format(written)}: has no effect, since {by.format(other)}; leave"
                    " out one of them"
                )


def check_settings(
    text: Text,
    overrides: Overrides,
    queue_path: str,
    *,
    before: Overrides = (),
    shown: Mapping[str, str] | None = None,
) -> None:
    """Refuse a setting that a later one replaces: the same, one above it, or another choice.

    The scenario takes all overrides, in their order. What is set ``before`` them may be changed.
    ``shown`` says how paths were written where that was not ``--set PATH``.
    """
    shown = shown or {}
    names = [shown.get(path, f"--set {path}") for path, _ in overrides]
    paths = [spell_out(path, queue_path) for path, _ in overrides]
    for later, path in enumerate(paths):
        for earlier, other in enumerate(paths[:later]):
            if path == other:
                also = "" if names[earlier] == names[later] else f" by {names[earlier]}"
                raise InputError(f"{names[later]}: set twice{also}; leave out one of them")
            if other.startswith(f"{path}."):
                raise InputError(
                    f"{names[earlier]}: has no effect, since {names[later]} comes after it and"
                    " replaces it; leave out one of them, or put the longer path last"
                )
    for earlier, path in enumerate(paths):
        # One of these could be another choice in place of the other, such as ``link.cable``.
        start = path.split(".")[:2]
        near = [
            late for late in range(earlier + 1, len(paths)) if paths[late].split(".")[:2] == start
        ]
        written = set(_list_written(path, overrides[earlier][1])) if near else set()
        held = written & _resolve(text, [*before, *overrides[: earlier + 1]]) if near else set()
        for later in near if held else []:
            # After an override that replaces it, the scenario no longer holds what was written.
            after = _resolve(text, [*before, *overrides[: later + 1]])
            if after and not held <= after:
                raise InputError(
                    f"{names[earlier]}: has no effect, since {names[later]} replaces it by another"
                    " choice; leave out one of them"
                )


def note_replaced(text: Text, loaded: Loaded, overrides: Overrides, queue_path: str) -> list[str]:
    """Say where a choice set by its bare name replaces the same choice with values of its own.

    The text is the scenario as written, and loaded is the same with everything set. A sentence,
    without its full stop, says what was written, what applies now, and how to keep it.
    """
    try:
        content = text.parse()
    except ValueError:  # the engine reads more of TOML than Python does
        return []
    replaced = []
    for written, value in overrides:
        path, name = spell_out(written, queue_path), _unquote(value)
        # Only a name's own parameters can have been meant: another name is another choice.
        values = find_value(content, f"{path}.{name}") if is_name(value) else None
        if isinstance(values, Mapping):
            replaced.append((written, value, path, name, values))
    whole: Mapping[str, Any] = {}
    if replaced:
        with suppress(InputError):  # where the scenario is valid only with its settings
            whole = text.load().resolved
    chosen = {spell_out(written, queue_path) for written, _ in overrides}
    notes = []
    for written, value, path, name, values in replaced:
        now = _list_leaves(find_value(loaded.resolved, f"{path}.{name}"))
        before = _list_leaves(find_value(whole, f"{path}.{name}") or values)
        changed = [
            (key, item)
            for key, item in _list_leaves(values).items()
            if before.get(key, item) != now.get(key) and f"{path}.{name}.{key}" not in chosen
        ]
        if changed:
            changes = ", ".join(
                f"{key} is {_show(now[key]) if key in now else 'its default'} and not {_show(item)}"
                for key, item in changed
            )
            keys = ", ".join(f"{key} = {_show(item)}" for key, item in changed)
            notes.append(
                f"{written}={value} replaces what the scenario writes at {path}.{name} by the"
                f" defaults of {name}: {changes}; {written}={{{name} = {{{keys}}}}} keeps it"
            )
    return notes


def is_name(value: str) -> bool:
    """Say whether a value that is set is a bare name, quoted or not."""
    return _unquote(value).isidentifier()


def _unquote(value: str) -> str:
    return value.strip("\"'")


def _list_leaves(table: Any) -> dict[str, Any]:
    """Give the values of a table that are no tables, by path; none for what is no table."""
    items = _list_items(table) if isinstance(table, Mapping) else ()
    return {path: value for path, value in items if not isinstance(value, Mapping)}


def _show(value: Any) -> str:
    return write_value(value, "scenario")


def _resolve(text: Text, overrides: Overrides) -> set[str]:
    """Give all paths of a scenario; none where it is valid only with later settings."""
    try:
        return {path for path, _ in _list_items(text.load(overrides).resolved)}
    except InputError:
        return set()


def _list_written(path: str, text: str) -> Iterator[str]:
    """Give the paths that a value writes; a name stands for a table of that name."""
    try:
        value = parse_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    if isinstance(value, Mapping):
        yield from (inner for inner, _ in _list_items(value, f"{path}."))
    elif isinstance(value, str):
        yield f"{path}.{value}"
    yield path


def _list_items(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        yield f"{prefix}{key}", value
        if isinstance(value, Mapping):
            yield from _list_items(value, f"{prefix}{key}.")
