"""What a modem does about AQM and buffers where its file says nothing, by its generation.

This is the one place that decides it: ``config check``, ``config show``, ``run --modem``,
``compare --modem`` and ``recommend`` ask here, and each names what it supposes. The numbers are
those of the engine's preset, so that what is said of a file is what a run with it has.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from headend import _engine
from headend.errors import InputError, suggest
from headend.text.quantity import format_quantity, parse_quantity

#: The generation of modems where nobody says.
PRESET = "docsis31"

#: The first generation whose modems have Buffer Control.
FIRST = "docsis30"

_PIE = "docsis_pie"


@dataclass(frozen=True)
class Generation:
    """What the modems of a generation do upstream where their file says nothing.

    Parameters
    ----------
    preset
        Its name, such as ``docsis31``.
    has_aqm
        Whether DOCSIS-PIE is on.
    target
        The latency target of its DOCSIS-PIE in ns; None without AQM.
    span, size
        The buffer, as a time at the sustained rate in ns or as bytes; the other is None.
    """

    preset: str
    has_aqm: bool
    target: float | None
    span: float | None
    size: int | None

    @property
    def aqm(self) -> str:
        """Say whether it has AQM.

        Examples
        --------
        >>> find_generation("docsis31").aqm, find_generation("docsis30").aqm
        ('docsis31 has DOCSIS-PIE on (10 ms)', 'docsis30 has no AQM')
        """
        if self.target is None:
            return f"{self.preset} has no AQM"
        return f"{self.preset} has DOCSIS-PIE on ({format_quantity(self.target, 'time')})"

    @property
    def buffer(self) -> str:
        """Write its buffer.

        Examples
        --------
        >>> find_generation("docsis31").buffer, find_generation("docsis30").buffer
        ('250 ms', '256 KiB')
        """
        if self.span is not None:
            return format_quantity(self.span, "time")
        return f"{(self.size or 0) / 1024:g} KiB"

    @property
    def brief(self) -> str:
        """Say both in few words.

        Examples
        --------
        >>> find_generation("docsis31").brief, find_generation("docsis30").brief
        ('docsis31: DOCSIS-PIE on with 10 ms, buffer 250 ms', 'docsis30: no AQM, buffer 256 KiB')
        """
        aqm = "no AQM"
        if self.target is not None:
            aqm = f"DOCSIS-PIE on with {format_quantity(self.target, 'time')}"
        return f"{self.preset}: {aqm}, buffer {self.buffer}"

    def find_size(self, rate: int) -> int:
        """Give the bytes of its buffer at a sustained rate in bit/s.

        Examples
        --------
        >>> find_generation("docsis31").find_size(10_000_000)
        312500
        """
        return self.size if self.size is not None else round((self.span or 0) * rate / 8e9)

    def describe_absent(self, absent: Collection[str]) -> str:
        """Say what it does for TLVs that a file does not have; nothing where it has them.

        Parameters
        ----------
        absent
            Of ``24.40``, ``24.35`` and ``24.35.2``, those that are absent.

        Examples
        --------
        >>> find_generation("docsis31").describe_absent(["24.40"])
        '24.40 absent: docsis31 has DOCSIS-PIE on (10 ms)'
        >>> find_generation("docsis30").describe_absent(["24.40", "24.35"])
        '24.40 absent: docsis30 has no AQM; 24.35 absent: docsis30 has a buffer of 256 KiB'
        """
        buffer = f"{self.preset} has a buffer of {self.buffer}"
        told = {"24.40": self.aqm, "24.35": buffer, "24.35.2": f"{buffer}, within the bounds"}
        return "; ".join(f"{tlv} absent: {what}" for tlv, what in told.items() if tlv in absent)


@functools.cache
def find_generation(preset: str = PRESET) -> Generation:
    """Ask the engine what a generation's modems do where nobody sets it."""
    line = {"preset": preset, "upstream": {"rate": "1 Mbit/s"}}
    scenario = {"link": {"cable": {"docsis": line}}, "flow": {"probe": {"application": "ping"}}}
    found = json.loads(_engine.parse(json.dumps(scenario), format="json").resolved_json())
    queue: Mapping[str, Any] = found["link"]["cable"]["docsis"]["upstream"]["queue"]
    ((kind, settings),) = queue.items()
    limit = settings["limit"]
    span = size = None
    if limit.endswith("s"):
        span = parse_quantity(limit, "time").value
    else:
        size = round(parse_quantity(limit, "size").value)
    has_aqm = kind == _PIE
    target = parse_quantity(settings["target"], "time").value if has_aqm else None
    return Generation(preset, has_aqm, target, span, size)


@functools.cache
def list_generations() -> tuple[str, ...]:
    """List the generations of modems that the engine knows, the oldest first."""
    forms = json.loads(_engine.schema())["$defs"]["Preset"]["oneOf"]
    return tuple(form["const"] for form in forms)


def read_preset(name: object) -> str:
    """Give the generation of modems that a word names.

    Raises
    ------
    InputError
        For a word that names none, and for a generation without Buffer Control; without saying
        where it is written.

    Examples
    --------
    >>> read_preset("docsis20")
    Traceback (most recent call last):
    ...
    headend.errors.InputError: modems of docsis20 have neither Buffer Control nor AQM; expected
    docsis30 or docsis31
    """
    known = list_generations()
    able = known[known.index(FIRST) :]
    expected = " or ".join(able)
    if not isinstance(name, str) or name not in known:
        found = json.dumps(name, default=str)
        raise InputError(f"expected {expected}, found {found}{suggest(str(name), able)}")
    if name not in able:
        raise InputError(
            f"modems of {name} have neither Buffer Control nor AQM; expected {expected}"
        )
    return name
