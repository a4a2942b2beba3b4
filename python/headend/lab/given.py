"""A scenario as the lab is given it: in its page, or behind the ``#`` of a link into it.

Either way it is one JSON object, ``{"text": TOML, "overrides": [[path, value], …], "seed": N}``.
The workbench runs the scenario with the overrides alone; into links of its own it writes
``"compare": true`` besides where it shall run beside the scenario as its text has it.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass

from headend.errors import InputError
from headend.scenario.source import Overrides, Text, write_toml

#: The largest whole number of which a browser's numbers hold every smaller one too.
LARGEST_SEED = 2**53 - 1

#: What errors call the files that a scenario names, by what the engine calls them.
_WORDS = {"code": "the code", "config": "the modem's file", "data": "the file"}

#: The route of the page that shows a scenario and runs it.
WORKBENCH = "workbench"


@dataclass(frozen=True)
class Given:
    """A scenario, what is changed in it, and the seed of its run."""

    #: In TOML.
    text: str
    overrides: tuple[tuple[str, str], ...] = ()
    seed: int = 1

    def to_json(self) -> str:
        """Write it as one line of JSON."""
        content = {
            "text": self.text,
            "overrides": [list(pair) for pair in self.overrides],
            "seed": self.seed,
        }
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"))

    def write_fragment(self) -> str:
        r"""Write what stands behind the ``#`` of a link: the JSON, deflated, in base64url.

        Deflated is without a header (RFC 1951), and base64url without padding (RFC 4648, §5).

        Examples
        --------
        >>> fragment = Given('duration = "9 s"').write_fragment()
        >>> packed = fragment.removeprefix("workbench/")
        >>> json = zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), -15)
        >>> print(json.decode())
        {"text":"duration = \"9 s\"","overrides":[],"seed":1}
        """
        packing = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
        packed = packing.compress(self.to_json().encode()) + packing.flush()
        return f"{WORKBENCH}/{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def refuse_files(text: Text, overrides: Overrides) -> None:
    """Refuse a scenario that names files or holds code in Python: a browser has neither.

    What else is wrong with the scenario is not said here.
    """
    from headend import _engine

    try:
        needed = _engine.required_files(text.content, format=text.format, overrides=list(overrides))
    except _engine.ScenarioError:
        return
    for name, set_by, kind in needed:
        what = f"names {_WORDS[kind]} {name}" if kind in _WORDS else "holds code in Python"
        what += f" (from --set {set_by})" if set_by else ""
        raise InputError(
            f"{text.shown_as}: {what}, and the lab's page reads no file and runs no Python;"
            f" headend run runs the scenario"
        )


def give(text: Text, overrides: Overrides, seed: int) -> Given:
    """Give a checked scenario to the lab; an InputError where a browser cannot have it."""
    if seed > LARGEST_SEED:
        raise InputError(
            f"{text.shown_as}: seed: expected at most {LARGEST_SEED} for the lab, whose page counts"
            f" no further exactly, found {seed}"
        )
    content = text.content if text.format == "toml" else write_toml(text.parse())
    return Given(content, tuple(overrides), seed)
