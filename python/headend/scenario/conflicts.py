"""What is set twice: a value that another replaces would have a wrong name in results."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
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

    Parameters
    ----------
    varied
        What is varied, as it is called, with a path that it sets.
    shared
        What all runs would share.
    queue_path
        What ``queue`` stands for; nothing where that is not known yet.
    shown_as
        How what is shared is written, such as ``--set {}``.
    by
        Who sets it instead, such as ``the axis {} sets it at every point``.
    """
    for written, _ in shared:
        path = spell_out(written, queue_path)
        for other, set_by_it in varied:
            above = spell_out(set_by_it, queue_path)
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

    Parameters
    ----------
    text
        The scenario that is changed.
    overrides
        What is set, in order; the scenario takes all of it.
    queue_path
        What ``queue`` stands for in it.
    before
        What is set before, and may be changed.
    shown
        How some paths were written, where that was not ``--set PATH``.
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
        near = [late for late in range(earlier + 1, len(paths)) if _share(path, paths[late])]
        replacing = _find_replacing(text, overrides, paths, earlier, near, before)
        if replacing:
            raise InputError(
                f"{names[earlier]}: has no effect, since {names[replacing]} replaces it by another"
                " choice; leave out one of them"
            )


def note_replaced(text: Text, loaded: Loaded, overrides: Overrides, queue_path: str) -> list[str]:
    """Say where a choice set by its bare name replaces the same choice with values of its own.

    Parameters
    ----------
    text
        The scenario as written.
    loaded
        The same with everything set.
    overrides
        What is set.
    queue_path
        What ``queue`` stands for in it.

    Returns
    -------
    list of str
        A sentence without its full stop for each such choice: what was written, what applies now,
        and how to keep it.
    """
    try:
        content = text.parse()
    except ValueError:  # the engine reads more of TOML than Python does
        return []
    replaced = []
    for written, value in overrides:
        path, name = spell_out(written, queue_path), _unquote(value)
        # Only a name's own parameters can have been meant: another name is another choice.
        own = find_value(content, f"{path}.{name}") if is_name(value) else None
        if isinstance(own, Mapping):
            replaced.append((written, value, path, name, own))
    whole = _resolve_whole(text) if replaced else {}
    chosen = {spell_out(written, queue_path) for written, _ in overrides}
    notes = []
    for written, value, path, name, own in replaced:
        now = dict(_list_leaves(find_value(loaded.resolved, f"{path}.{name}") or {}))
        before = dict(_list_leaves(find_value(whole, f"{path}.{name}") or own))
        changed = [
            (key, item)
            for key, item in _list_leaves(own)
            if before.get(key, item) != now.get(key) and f"{path}.{name}.{key}" not in chosen
        ]
        if changed:
            told = ", ".join(
                f"{key} is {_show(now[key]) if key in now else 'its default'} and not {_show(item)}"
                for key, item in changed
            )
            keys = ", ".join(f"{key} = {_show(item)}" for key, item in changed)
            notes.append(
                f"{written}={value} replaces what the scenario writes at {path}.{name} by the"
                f" defaults of {name}: {told}; {written}={{{name} = {{{keys}}}}} keeps it"
            )
    return notes


def is_name(value: str) -> bool:
    """Say whether a value that is set is a bare name, quoted or not."""
    return _unquote(value).isidentifier()


def _unquote(value: str) -> str:
    return value.strip("\"'")


def _resolve_whole(text: Text) -> Mapping[str, Any]:
    """Give the resolved scenario without settings; empty where it is valid only with them."""
    try:
        return text.load().resolved
    except InputError:
        return {}


def _list_leaves(table: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items() if isinstance(table, Mapping) else ():
        if isinstance(value, Mapping):
            yield from _list_leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _show(value: Any) -> str:
    return write_value(value, "scenario")


def _share(path: str, other: str) -> bool:
    """Say whether one could be another choice in place of the other, such as ``link.cable``."""
    return path.split(".")[:2] == other.split(".")[:2]


def _find_replacing(
    text: Text,
    overrides: Overrides,
    paths: Sequence[str],
    earlier: int,
    near: Sequence[int],
    before: Overrides,
) -> int | None:
    """Find the override after which the scenario no longer holds what an earlier one wrote."""
    written = set(_list_written(paths[earlier], overrides[earlier][1]))
    if not near:
        return None
    held = written & _resolve(text, [*before, *overrides[: earlier + 1]])
    for later in near if held else []:
        after = _resolve(text, [*before, *overrides[: later + 1]])
        if after and not held <= after:
            return later
    return None


def _resolve(text: Text, overrides: Overrides) -> set[str]:
    """Give all paths of a scenario; none where it is valid only with later settings."""
    try:
        return set(_list_paths(text.load(overrides).resolved, ""))
    except InputError:
        return set()


def _list_written(path: str, text: str) -> Iterator[str]:
    """Give the paths that a value writes; a name stands for a table of that name."""
    try:
        value = parse_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    if isinstance(value, Mapping):
        yield from _list_paths(value, f"{path}.")
    elif isinstance(value, str):
        yield f"{path}.{value}"
    yield path


def _list_paths(table: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for key, value in table.items():
        yield f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _list_paths(value, f"{prefix}{key}.")
