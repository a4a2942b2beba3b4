"""The outcome of one expectation of a scenario, as a manifest keeps it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

#: Stands in place of a value that there is not; why, may follow after a colon.
NOTHING_MEASURED = "nothing measured"


@dataclass(frozen=True)
class Outcome:
    """An expectation, its measured value, and whether it was met.

    ``measured`` is in base units (ns, bit/s, bytes, ratio), None where nothing was measured.
    """

    name: str
    expected: str
    measured: float | None
    measured_text: str
    met: bool = field(kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return asdict(self)
