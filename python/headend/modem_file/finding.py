"""A finding of a check: how grave it is, where it is, what is wrong, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
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
    severity
        How grave it is.
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
        return {
            "severity": self.severity,
            "rule": self.rule,
            "path": self.path,
            "name": self.name,
            "text": self.text,
            "advice": self.advice,
            "source": self.source,
        }


#: A rule reads the settings of a file and gives its findings.
Rule = Callable[["Settings"], Iterator[Finding]]
