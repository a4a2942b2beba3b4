"""A finding of a check, and the rules that find: how grave it is, where, what, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from types import ModuleType

    from headend.modem_file.settings import Settings

#: An ``error`` makes a CMTS or modem refuse the file, or degrades the line. A ``warning`` is
#: probably a mistake. A ``note`` is no fault, but worth knowing.
Severity = Literal["error", "warning", "note"]

#: From grave to light.
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """One finding.

    Parameters
    ----------
    rule
        The name of the rule that found it, such as ``buffer_too_long``.
    path
        The path of the TLV, such as ``24[1].35.2``, or the path where an absent TLV belongs. None
        if the finding concerns the whole file.
    text
        Sentences that say what is wrong, with the numbers.
    advice
        A sentence that says what to do.
    source
        The source of the rule and its numbers; ``headend`` where they are its own.
    name
        The same place as ``path`` in the names of the table.
    """

    severity: Severity
    rule: str
    path: str | None
    text: str
    advice: str
    source: str
    name: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Give it as an object of JSON."""
        keys = ("severity", "rule", "path", "name", "text", "advice", "source")
        return {key: getattr(self, key) for key in keys}


class Found(NamedTuple):
    """What a rule found: see `Finding`. The rest is the rule's, unless it is given."""

    path: str | None
    text: str
    advice: str
    severity: Severity | None = None
    rule: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class Rule:
    """A rule: what it finds in a file.

    Parameters
    ----------
    of
        What ``find`` is asked of, one after the other: the settings of the file, or all of its
        flows, upstream flows, flows and aggregates, aggregates, or classifiers.
    is_of_whole
        Whether it finds absent TLVs, which in a file that is cut short may stand behind the cut.
    scope
        The files that it is for: ``modem``, ``signed`` ones of modems, or ``any``.
    """

    severity: Severity
    name: str
    source: str
    find: Callable[[Any], Iterator[Found]]
    of: Literal["file", "flows", "upstream", "bundles", "aggregates", "classifiers"] = "file"
    is_of_whole: bool = False
    scope: Literal["modem", "signed", "any"] = "modem"

    def apply(self, settings: Settings) -> Iterator[Finding]:
        """Give its findings."""
        asked = (settings,) if self.of == "file" else getattr(settings, self.of)
        for found in chain.from_iterable(map(self.find, asked)):
            yield Finding(
                found.severity or self.severity,
                found.rule or self.name,
                found.path,
                found.text,
                found.advice,
                found.source or self.source,
            )


def rule(
    severity: Severity, name: str, source: str, **more: Any
) -> Callable[[Callable[[Any], Iterator[Found]]], Rule]:
    """Make a rule of a function; ``more`` is what a `Rule` has besides."""
    return lambda find: Rule(severity, name, source, find, **more)


def list_rules(module: ModuleType) -> list[Rule]:
    """List the rules of a module in their order."""
    return [own for own in vars(module).values() if isinstance(own, Rule)]


def find_delay(size: int, rate: int) -> float:
    """Give the time that a rate in bit/s takes for so many bytes, in ns.

    Examples
    --------
    >>> find_delay(62500, 10_000_000)
    50000000.0
    """
    return size * 8e9 / rate


def find_size(delay: float, rate: int) -> int:
    """Give the bytes that a rate in bit/s takes so many ns for.

    Examples
    --------
    >>> find_size(50e6, 10_000_000)
    62500
    """
    return round(delay * rate / 8e9)
