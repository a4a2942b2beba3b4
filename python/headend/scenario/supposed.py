"""What is supposed of a modem whose file says nothing of AQM or buffer, in a scenario with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headend.modem_file.document import read_document
from headend.modem_file.generation import Generation
from headend.modem_file.settings import read_settings
from headend.scenario.parameters import find_value

if TYPE_CHECKING:
    from headend.scenario.source import Loaded, Overrides, Text


def note_supposed(text: Text, loaded: Loaded, overrides: Overrides) -> list[str]:
    """Say of each modem's file what is supposed of the AQM and buffer that it does not set."""
    read = json.loads(loaded.scenario.modem_files_json())
    if not read:
        return []
    files, resolved = text.read_files(overrides), loaded.resolved
    told = (
        (own, describe_supposed(resolved, own["key"], files[own["file"]], overrides))
        for own in read
        if own["file"] in files
    )
    return [f'{own["key"]}: of the file "{own["file"]}": {what}' for own, what in told if what]


def describe_supposed(
    scenario: Mapping[str, Any], key: str, content: bytes, overrides: Sequence[tuple[str, str]] = ()
) -> str:
    """Say what a modem does upstream about AQM and buffer of which its file says nothing.

    Parameters
    ----------
    scenario
        The resolved scenario.
    key
        The path of the key that names the file.
    content
        The bytes of the file.
    overrides
        Those of the scenario: a queue that one of them writes is not the modem's own.
    """
    settings = read_settings(read_document(content), _find_preset(scenario, key))
    primary = next(iter(settings.upstream), None)
    table = key.rpartition(".")[0]
    line = table.partition(".modem.")[0]
    own = (find_value(scenario, f"{one}.upstream.queue") for one in (table, line))
    queue = next(filter(None, own), None)
    is_set = any(path == "queue" or ".queue" in path for path, _ in overrides)
    if primary is None or not isinstance(queue, Mapping) or is_set:
        return ""
    ((kind, parameters),) = queue.items()
    generation = settings.generation
    absent = [
        tlv for tlv in settings.absent if tlv == "24.40" or _is_default(parameters, generation)
    ]
    if (
        "24.40" in absent
        and (kind == "docsis_pie") is not generation.has_aqm
        and (generation.has_aqm or kind not in ("drop_tail", "buffer_control"))
    ):
        switch = "0 turns DOCSIS-PIE on" if generation.has_aqm else "1 turns it off"
        return (
            f"24.40 absent: {generation.aqm}, but the scenario writes its queue, which stays:"
            f" {kind} runs; 24.40.1 = {switch}"
        )
    return generation.describe_absent(absent)


def _find_preset(scenario: Mapping[str, Any], key: str) -> str:
    line = key.rpartition(".")[0].partition(".modem.")[0]
    return str(find_value(scenario, f"{line}.preset"))


def _is_default(parameters: Mapping[str, Any], generation: Generation) -> bool:
    """Say whether a queue has the buffer that the generation has by itself."""
    return str(parameters.get("limit", "")) == generation.buffer
