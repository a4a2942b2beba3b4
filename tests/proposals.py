"""The commands that the text of a shipped scenario proposes."""

from __future__ import annotations

import re
import shlex

from headend.scenario.source import read_scenario


def list_proposals(name: str) -> list[tuple[str, list[str]]]:
    """List the commands of a scenario's text: without quotation marks, and in words."""
    found = []
    for text in re.findall(r"`([^`]+)`", read_scenario(name).load().scenario.description):
        words = shlex.split(text)
        if words[0] == "headend":
            found.append((" ".join(words), words[1:]))
        elif words[0] in ("--set", "--vary"):
            verb = "compare" if "--vary" in words else "run"
            found.append((" ".join(words), [verb, name, *words]))
    return found
