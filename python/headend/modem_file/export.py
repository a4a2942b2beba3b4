"""The configuration file of a modem of a scenario, with its message integrity checks.

The engine makes the file from its plan of the modem; no code here reads the keys of a scenario.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from headend.errors import InputError

if TYPE_CHECKING:
    from headend._engine import Scenario


class HasScenario(Protocol):
    """A scenario that was read, and its name; such as a loaded file."""

    @property
    def name(self) -> str:
        """The name of the scenario."""

    @property
    def scenario(self) -> Scenario:
        """The engine's scenario."""


def write_for(
    loaded: HasScenario,
    modem: str | None = None,
    secret: bytes | None = None,
    *,
    by_class: bool = False,
) -> tuple[bytes, list[str]]:
    """Make the configuration file of a modem of a scenario.

    Parameters
    ----------
    modem
        The modem's name: ``home``, or ``home.3`` of several, or ``cable.home`` where there are
        several lines. The only modem of a line has the name of its link. None means the only modem
        of the scenario.
    secret
        That of the CMTS, for the CMTS MIC; it may be empty. Without it the file has no CMTS MIC.
    by_class
        Whether the file names the modem's service class in place of what the class gives.

    Returns
    -------
    tuple of bytes and list of str
        The file, and one sentence for each setting of the scenario that the file does not hold.

    Raises
    ------
    InputError
        When there is no such modem, or the name stands for several that differ.

    Examples
    --------
    >>> from headend.modem_file.export import write_for
    >>> from headend.scenario.source import read_scenario
    >>> content, notes = write_for(read_scenario("upload-and-call").load(), secret=b"DOCSIS")
    >>> content[:3].hex(), len(content) % 4
    ('030101', 0)
    """
    from headend._engine import ScenarioError

    try:
        return loaded.scenario.modem_file(modem, secret, by_class=by_class)
    except ScenarioError as error:
        raise InputError(f"{loaded.name}: {error}") from error
