"""What ``[expect]`` asked of runs and what was found, as JUnit XML, which continuous integration shows as tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headend.errors import InputError, take_path, tell_system
from headend.folder import write_file
from headend.quantity import format_quantity
from headend.reveal import reveal_line

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from headend.expect import Outcome
    from headend.result import Result

#: Characters that XML 1.0 has no way to write, besides the control characters and surrogates of :mod:`headend.reveal`.
_NO_CHARACTERS = re.compile("[\ufffe\uffff]")


def write_junit(
    path: str | Path, results: Sequence[Result], *, unfinished: Sequence[str] = ()
) -> Path:
    """Write the expectations of runs as JUnit XML, which GitLab, GitHub's test reporters and Jenkins read.

    Each run is a ``testsuite`` and each expectation a ``testcase``, failed where it was missed. A run without expectations
    is a suite without test cases. A run that was stopped before its end has the property ``interrupted``, and its
    expectations are those of what was simulated. The file is written whole or not at all. A scenario that cannot be run
    has no results: then there is nothing to write, and a file that is there stays as it is.

    Parameters
    ----------
    path
        The file; folders above it are made.
    results
        One run, or all of a comparison.
    unfinished
        Runs of a comparison that were not begun or not kept, by their names: suites without test cases.

    Raises
    ------
    InputError
        When the file cannot be written.
    """
    path = take_path(path, "path")
    content = write_suites(results, unfinished)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {tell_system(error)}") from error
    write_file(content, path)
    return path


def write_suites(results: Sequence[Result], unfinished: Sequence[str] = ()) -> bytes:
    """Give the XML document of `write_junit`."""
    from xml.etree import ElementTree

    root = ElementTree.Element("testsuites", name="headend")
    names = _name_suites(results)
    for name, result in zip(names, results, strict=True):
        root.append(_make_suite(name, result))
    for name in unfinished:
        suite = ElementTree.SubElement(root, "testsuite", name=_clean(name))
        _count(suite, [])
        _add_properties(suite, {"interrupted": "not run"})
    _count(root, [outcome for result in results for outcome in result.expectations])
    times = [result.wall_seconds for result in results if result.wall_seconds is not None]
    if times:
        root.set("time", f"{sum(times):.3f}")
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _name_suites(results: Sequence[Result]) -> list[str]:
    """Name each run by its label, and by its seed where runs are called the same."""
    labels = [result.label or result.title for result in results]
    return [
        f"{label}, seed {result.manifest.get('seed')}" if labels.count(label) > 1 else label
        for label, result in zip(labels, results, strict=True)
    ]


def _make_suite(name: str, result: Result) -> Element:
    from xml.etree import ElementTree

    name = _clean(name)
    suite = ElementTree.Element("testsuite", name=name)
    _count(suite, result.expectations)
    if result.wall_seconds is not None:
        suite.set("time", f"{result.wall_seconds:.3f}")
    manifest = result.manifest
    properties = {
        "scenario": str(manifest.get("name", "")),
        "title": result.title,
        "label": result.label,
        "seed": str(manifest.get("seed", "")),
        "version": str(manifest.get("headend", "")),
        "simulated": format_quantity(manifest.get("simulated_ns"), "time"),
    }
    if result.is_partial:
        wanted = format_quantity(manifest.get("duration_ns"), "time")
        properties["interrupted"] = f"at {properties['simulated']} of {wanted}"
    _add_properties(suite, properties)
    for outcome in result.expectations:
        case = ElementTree.SubElement(suite, "testcase", classname=name, name=_clean(outcome.name))
        if not outcome.met:
            message = _clean(f"expected {outcome.expected}, {_tell_found(outcome)}")
            failure = ElementTree.SubElement(case, "failure", type="missed", message=message)
            failure.text = message
    if result.warnings:
        told = ElementTree.SubElement(suite, "system-out")
        told.text = "\n".join(_clean(f"Warning: {text}.") for text in result.warnings)
    return suite


def _tell_found(outcome: Outcome) -> str:
    return "nothing measured" if outcome.measured is None else f"measured {outcome.measured_text}"


def _count(element: Element, outcomes: Sequence[Outcome]) -> None:
    element.set("tests", str(len(outcomes)))
    element.set("failures", str(sum(not outcome.met for outcome in outcomes)))
    element.set("errors", "0")
    element.set("skipped", "0")


def _add_properties(suite: Element, values: dict[str, str]) -> None:
    from xml.etree import ElementTree

    properties = ElementTree.SubElement(suite, "properties")
    for name, value in values.items():
        ElementTree.SubElement(properties, "property", name=name, value=_clean(value))


def _clean(text: str) -> str:
    r"""Write what XML cannot hold as a program's text would.

    Examples
    --------
    >>> print(_clean("bell \x07, half \ud800, nothing \uffff"))
    bell \x07, half \ud800, nothing \uffff
    """
    return _NO_CHARACTERS.sub(lambda found: f"\\u{ord(found[0]):04x}", reveal_line(text))
