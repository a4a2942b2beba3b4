"""What ``[expect]`` asked of runs and what was found, as JUnit XML for continuous integration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headend.analysis.lateness import is_trustworthy, write_lateness
from headend.errors import InputError, describe_system, take_path
from headend.results.folder import refuse_foreign, write_file
from headend.text.quantity import format_quantity
from headend.text.reveal import reveal_line

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from headend.results.outcome import Outcome
    from headend.results.record import Record

#: Characters that XML 1.0 has no way to write, besides the control characters and surrogates of
#: :mod:`headend.text.reveal`.
_NO_CHARACTERS = re.compile("[\ufffe\uffff]")

#: How every file of ours begins.
_HEAD = re.compile(rb"<\?xml[^>]*\?>\s*<testsuites name=\"headend\"")


def check_junit(path: str | Path) -> Path:
    """Prepare for `write_junit` before a run: refuse to write over files, remove an earlier result.

    A run that then fails leaves no result that is not its own.

    Parameters
    ----------
    path
        The file that is to be written.

    Raises
    ------
    InputError
        When something is there that headend did not write as JUnit XML, such as a scenario, or the
        path leads through a file; an empty file is no harm.
    """
    path = take_path(path, "path")
    try:
        _refuse_other(path)
        path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {describe_system(error)}") from error
    return path


def _refuse_other(path: Path) -> None:
    refuse_foreign(path, "JUnit XML", _HEAD, "give --junit another name")


def write_junit(
    path: str | Path,
    results: Sequence[Record],
    *,
    unfinished: Sequence[str] = (),
    is_strict: bool = False,
) -> Path:
    """Write expectations of runs as JUnit XML, which GitLab, GitHub's reporters and Jenkins read.

    Each run is a ``testsuite`` and each expectation a ``testcase``, failed where it was missed. A
    run without expectations is a suite without test cases. A run that was stopped before its end
    has the property ``interrupted``, and its expectations are errors that say what was found so
    far; without any, and for a run that was not begun, one test case ``interrupted`` is the error.
    The file is written whole or not at all, and only over one that headend wrote. A scenario that
    cannot be run has no results, and so nothing to write: `check_junit` removes an earlier file
    before.

    Parameters
    ----------
    path
        The file; folders above it are made.
    results
        One run, or all of a comparison.
    unfinished
        Runs of a comparison that were not begun or not kept, by their names.
    is_strict
        Whether a run of real programs that is not trustworthy is an error.

    Raises
    ------
    InputError
        When the file cannot be written, or would take the place of one that is not of headend's.
    """
    return save_suites(write_suites(results, unfinished, is_strict=is_strict), path)


def save_suites(content: bytes, path: str | Path) -> Path:
    """Write an XML document of `finish_suites` to a file, whole or not at all.

    Raises
    ------
    InputError
        When the file cannot be written, or would take the place of one that is not of headend's.
    """
    path = take_path(path, "path")
    try:
        _refuse_other(path)
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {describe_system(error)}") from error
    write_file(content, path)
    return path


def write_suites(
    results: Sequence[Record], unfinished: Sequence[str] = (), *, is_strict: bool = False
) -> bytes:
    """Give the XML document of `write_junit`."""
    from xml.etree import ElementTree

    names = _name_suites(results)
    suites = [
        _make_suite(name, result, is_strict=is_strict)
        for name, result in zip(names, results, strict=True)
    ]
    for name in unfinished:
        suite = ElementTree.Element("testsuite", name=clean_text(name))
        add_properties(suite, {"interrupted": "not run"})
        _add_error(suite, clean_text(name), "the run was interrupted before its end, and not kept")
        suites.append(suite)
    times = [result.wall_seconds for result in results if result.wall_seconds is not None]
    return finish_suites(suites, sum(times) if times else None)


def finish_suites(suites: Iterable[Element], seconds: float | None = None) -> bytes:
    """Give the XML document of some test suites, with the numbers of their test cases."""
    from xml.etree import ElementTree

    root = ElementTree.Element("testsuites", name="headend")
    root.extend(suites)
    for element in (*root, root):
        _count(element)
    if seconds is not None:
        root.set("time", f"{seconds:.3f}")
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _name_suites(results: Sequence[Record]) -> list[str]:
    """Name each run by its label, and by its seed where runs are called the same."""
    labels = [result.label or result.title for result in results]
    return [
        f"{label}, seed {result.manifest.get('seed')}" if labels.count(label) > 1 else label
        for label, result in zip(labels, results, strict=True)
    ]


def _make_suite(name: str, result: Record, *, is_strict: bool) -> Element:
    from xml.etree import ElementTree

    name = clean_text(name)
    suite = ElementTree.Element("testsuite", name=name)
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
    stopped = ""
    if result.is_partial:
        duration = format_quantity(manifest.get("duration_ns"), "time")
        properties["interrupted"] = f"at {properties['simulated']} of {duration}"
        stopped = f"the run was interrupted {properties['interrupted']}"
    add_properties(suite, properties)
    if stopped and not result.expectations:
        _add_error(suite, name, stopped)
    if is_strict and not is_trustworthy(result):
        lateness = result.manifest["emulation"]["lateness"]
        _add_error(suite, name, write_lateness(lateness), "trustworthy", "late")
    for outcome in result.expectations:
        if stopped:
            message = f"{stopped}; expected {outcome.expected}, so far {_describe_found(outcome)}"
            _add_error(suite, name, message, outcome.name)
            continue
        case = ElementTree.SubElement(
            suite, "testcase", classname=name, name=clean_text(outcome.name)
        )
        if not outcome.met:
            message = clean_text(f"expected {outcome.expected}, {_describe_found(outcome)}")
            failure = ElementTree.SubElement(case, "failure", type="missed", message=message)
            failure.text = message
    if result.warnings:
        output = ElementTree.SubElement(suite, "system-out")
        output.text = "\n".join(clean_text(f"Warning: {text}.") for text in result.warnings)
    return suite


def _add_error(
    suite: Element, name: str, message: str, case: str = "interrupted", kind: str = "interrupted"
) -> None:
    """Add a test case that neither passed nor failed, since its run cannot be judged by."""
    from xml.etree import ElementTree

    added = ElementTree.SubElement(suite, "testcase", classname=name, name=clean_text(case))
    message = clean_text(message)
    error = ElementTree.SubElement(added, "error", type=kind, message=message)
    error.text = message


def _describe_found(outcome: Outcome) -> str:
    return (
        outcome.measured_text if outcome.measured is None else f"measured {outcome.measured_text}"
    )


def _count(element: Element) -> None:
    """Write how many test cases an element has in it, once they are there."""
    tags = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for key, tag in tags.items():
        element.set(key, str(sum(1 for _ in element.iter(tag))))


def add_properties(suite: Element, values: Mapping[str, str]) -> None:
    """Add what is known of a test suite, by name."""
    from xml.etree import ElementTree

    properties = ElementTree.SubElement(suite, "properties")
    for name, value in values.items():
        ElementTree.SubElement(properties, "property", name=name, value=clean_text(value))


def clean_text(text: str) -> str:
    r"""Replace characters that XML cannot hold by escapes.

    Examples
    --------
    >>> print(clean_text("bell \x07, half \ud800, nothing \uffff"))
    bell \x07, half \ud800, nothing \uffff
    """
    return _NO_CHARACTERS.sub(lambda found: f"\\u{ord(found[0]):04x}", reveal_line(text))
