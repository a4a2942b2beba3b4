"""The worst street as a scenario of its own: ``headend run`` runs what its point was."""

from __future__ import annotations

from headend.capacity.findings import Street
from headend.capacity.request import Request
from headend.capacity.streets import draw_street
from headend.scenario.applying import apply_overrides
from headend.scenario.source import Overrides, write_toml
from headend.text.quantity import format_quantity


def name_street(street: Street) -> str:
    """Name the file of a street.

    Examples
    --------
    >>> name_street(Street(71, 3, 0.12))
    'worst-71-homes.toml'
    """
    return f"worst-{street.homes}-homes.toml"


def list_overrides(request: Request, homes: int, seed: int) -> Overrides:
    """List what makes a street of a scenario: its number of homes, and who has which flow."""
    street = draw_street(request.shares, homes, seed)
    return (*request.overrides, (request.path, str(homes)), *street)


def write_street(request: Request, street: Street) -> str:
    """Write the scenario of a street, in TOML."""
    content = apply_overrides(request.text, list_overrides(request, street.homes, street.seed))
    share = format_quantity(street.share, "ratio")
    words = {
        "title": f"The worst street of {street.homes} homes",
        "description": f"Of the streets that were drawn, the one with the most who suffer from"
        f" sharing the line: {share}.",
        "seed": street.seed,
    }
    return write_toml({**words, **{key: own for key, own in content.items() if key not in words}})
