"""The settings of a recommendation as TLVs, and as configuration files of modems."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headend.recommending.deciding import Decision
from headend.recommending.request import Request

if TYPE_CHECKING:
    from headend.recommending.record import RecommendationRecord


@dataclass(frozen=True)
class Tlv:
    """One setting of a modem's file: its path such as ``24.35.2``, its name, and its value in words."""

    path: str
    name: str
    value: str


@dataclass(frozen=True)
class Written:
    """A file that was written for a tier, and what to know about it."""

    tier: str
    path: Path
    notes: tuple[str, ...] = ()


def list_tlvs(request: Request, decision: Decision) -> tuple[Tlv, ...]:
    """List the TLVs that the recommended setting of a tier adds or changes; nothing where none is recommended."""
    return ()


def write_files(
    recommendation: RecommendationRecord,
    path: Path,
    secret: bytes | None = None,
    *,
    force: bool = False,
) -> list[Written]:
    """Write a modem's file for each tier: to ``path`` for a single tier, else with the tier's name added to the file's."""
    return []
