"""The TLVs of a modem's file that change a queue, for the advice of a run that has such a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headend.analysis.queues import locate_key
from headend.modem_file.finding import find_size
from headend.modem_file.rules.buffer import ADVISED, LEAST_ADVISED
from headend.scenario.groups import name_group
from headend.scenario.modems import is_configured
from headend.scenario.parameters import find_value

if TYPE_CHECKING:
    from headend.analysis.queue_state import QueueState
    from headend.results.record import Record


@dataclass(frozen=True)
class Tlvs:
    """The TLVs that change a queue, as in a sentence: a space and brackets; or empty.

    Parameters
    ----------
    buffer
        That of the target buffer, such as `` (TLV 24.35.2)``.
    aqm
        That which turns an AQM on, with its value, such as `` (TLV 24.40.1 = 0)``.
    """

    buffer: str = ""
    aqm: str = ""


def find_tlvs(result: Record, where: str, direction: str) -> Tlvs:
    """Find the TLVs that change a queue of a modem that has a file.

    Parameters
    ----------
    where
        The link of the queue, and with a dot behind it the modem: ``cable.home``.
    direction
        ``up`` or ``down``.
    """
    scenario = result.manifest["scenario"]
    link, _, modem = where.partition(".")
    path = f"link.{link}.docsis"
    stem = name_group(modem) or modem
    if not find_value(scenario, path) or not is_configured(scenario, link, stem):
        return Tlvs()
    number = 25 if direction == "down" else 24
    switches = {f"{direction}stream.aqm_disabled": f"{number}.40.1"}
    if direction == "up":
        switches["upstream_aqm_disabled"] = "76"
    tables = [path, f"{path}.modem.{stem}"] if stem else [path]
    off = [
        f"{tlv} = 0"
        for key, tlv in switches.items()
        if any(find_value(scenario, f"{table}.{key}") for table in tables)
    ]
    # Where none is off the file says nothing of AQM: the same TLV says that there is some.
    aqm = " and ".join(off) or f"{number}.40.1 = 0"
    return Tlvs(f" (TLV {number}.35.2)", f" (TLV {aqm})")


def list_tlv_settings(result: Record, queue: QueueState, key: str) -> tuple[tuple[str, str], ...]:
    """List what a modem's file can do against a long upstream queue without AQM, as settings.

    The AQM is tried with the buffer that the file has, and the buffer with the delay that
    ``headend config check`` advises. Empty of a queue that no such file sets.

    Parameters
    ----------
    queue
        A queue without AQM.
    key
        What stands for it in ``--set``.
    """
    if queue.direction != "up" or not find_tlvs(result, queue.link, "up").buffer:
        return ()
    written = find_value(result.manifest["scenario"], locate_key(result, queue.queue) or "")
    target = find_value(written, "buffer_control.target") if isinstance(written, dict) else None
    on = (f"{key}.docsis_pie.limit", str(target)) if target else (key, "docsis_pie")
    size = max(find_size(ADVISED, round(queue.rate_bps)), LEAST_ADVISED)
    return (on, (f"{key}.buffer_control.target", f"{size} B"))
