"""Writes the name that is evaluated into a case's scenario, as it was typed."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator

from headend.evaluation.case import Case, Scenario
from headend.files import parse_toml
from headend.scenario.codes import KIND, find_file
from headend.scenario.parameters import find_value
from headend.scenario.source import Overrides

#: The key of a queue's limit.
LIMIT = "limit"

#: Letters of a name that the name of a file has.
_LONGEST = 40


def write_name(case: Case, variant: str, scenario: Scenario, name: str) -> Overrides:
    """Give the overrides that put a name where it belongs; a queue keeps its limit in bytes."""
    found: list[tuple[str, str]] = []
    for path in case.list_paths(variant):
        if _is_there(scenario, path, name):
            continue
        found.append((path, name))
        if path.endswith(".queue"):
            found += _keep_buffer(scenario, path, name)
    return tuple(found)


def make_safe(name: str) -> str:
    """Write a name as a part of the name of a file.

    Examples
    --------
    >>> make_safe('{codel={target="15 ms"}}')
    'codel--target--15-ms'
    """
    own = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    return own.strip("-.")[:_LONGEST]


def _is_there(scenario: Scenario, path: str, name: str) -> bool:
    """Say whether a place has a name without parameters already, with those of its case."""
    kind, typed = split_name(name)
    written = find_value(scenario, path)
    return not typed and isinstance(written, dict) and kind in written


def _keep_buffer(scenario: Scenario, path: str, name: str) -> Iterator[tuple[str, str]]:
    """Give a queue the limit of the drop-tail queue that it replaces (RFC 7928 §3.2).

    A queue whose parameters have no limit, and one that was typed with a limit, keeps its own.
    """
    limit = find_value(scenario, f"{path}.drop_tail.{LIMIT}")
    kind, typed = split_name(name)
    if limit and LIMIT in list_parameters(kind) and LIMIT not in typed:
        yield f"{path}.{kind}.{LIMIT}", limit


def split_name(name: str) -> tuple[str, frozenset[str]]:
    """Give the name that a text begins with, and the parameters that it sets.

    Examples
    --------
    >>> split_name("codel"), split_name('{codel={target="15 ms"}}')
    (('codel', frozenset()), ('codel', frozenset({'target'})))
    >>> split_name("my_law.py:MyLaw"), split_name('{custom="my_law.py:MyLaw", target="15 ms"}')
    (('custom', frozenset()), ('custom', frozenset({'target'})))
    """
    text = name.strip()
    if not text.startswith("{"):
        plain = text.strip("\"'")
        return KIND if find_file(plain) else plain, frozenset()
    try:
        table = parse_toml(f"name = {text}")["name"]
    except tomllib.TOMLDecodeError:
        return text, frozenset()  # which the engine refuses
    if isinstance(table.get(KIND), str):  # one's own code, with its parameters beside it
        return KIND, frozenset(table) - {KIND}
    kind = next(iter(table), "")
    parameters = table.get(kind)
    return kind, frozenset(parameters if isinstance(parameters, dict) else ())


def is_code(name: str) -> bool:
    """Say whether a name is code of one's own.

    Examples
    --------
    >>> is_code("my_law.py:MyLaw"), is_code("codel")
    (True, False)
    """
    return split_name(name)[0] == KIND


def list_parameters(kind: str) -> frozenset[str]:
    """List the parameters of a queue; nothing for one that the engine does not describe."""
    return _list_queues().get(kind, frozenset())


@functools.cache
def _list_queues() -> dict[str, frozenset[str]]:
    from headend.engine.vocabulary import list_choices

    return {
        choice.name: frozenset(parameter.name for parameter in choice.parameters)
        for choice in list_choices("queue")
    }
