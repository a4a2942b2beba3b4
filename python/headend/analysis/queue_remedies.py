"""What shortens a long queue, by what its law did."""

from __future__ import annotations

import math
from dataclasses import replace

from headend.analysis.facts import Action, Remedy
from headend.analysis.modem_tlvs import find_tlvs, list_tlv_settings
from headend.analysis.queue_state import QueueState, is_asleep
from headend.analysis.queues import name_queue_key
from headend.engine.description import find_queue
from headend.results.record import Record

#: A queue is at its limit where its 99th percentile of delay is at least this share of the delay of
#: a full buffer, and at most the inverse of it.
AT_ITS_LIMIT = 0.8


def shorten(record: Record, queue: QueueState) -> Remedy:
    """Choose the remedy for a long queue by what its law did."""
    about, key = find_queue(queue.discipline), name_queue_key(record, queue.queue)
    tlvs = find_tlvs(record, queue.link, queue.direction)

    def propose(action: Action, inner: str = "", value: str = "") -> Remedy:
        path = f"{key}{inner}" if key else ""
        return Remedy(action, queue.queue, path, value, queue, tlvs.buffer, tlvs.aqm)

    if about.governor in ("bound", "nothing"):
        links = record.manifest["scenario"].get("link", {})
        is_cable = "docsis" in links.get(queue.link.split(".")[0], {})
        law = "docsis_pie" if is_cable and queue.direction == "up" else "fq_codel"
        if key and (held := list_tlv_settings(record, queue, key)):
            path, value = held[0]
            proposed = propose(Action.ADD_AQM, path.removeprefix(key), value)
            return replace(proposed, tlv_settings=held)
        return propose(Action.ADD_AQM, value=law)
    if about.governor == "chosen_law":
        law_key = f".{queue.discipline}.{about.law_key}"
        return propose(Action.CHOOSE_LAW, law_key, "codel" if about.law_key else "")
    limit = f".{queue.discipline}.limit"
    if not queue.by_law + queue.marked:
        return propose(Action.WAKE_AQM if is_asleep(queue) else Action.CHECK_AQM, limit)
    if not queue.is_tcps:
        return propose(Action.SLOW_SENDERS)
    # One that does not get its rate holds packets for longer than its limit takes at that rate.
    filled = (queue.delay_p99_ns or 0.0) / (queue.room_ns or math.inf)
    is_at_limit = AT_ITS_LIMIT <= filled <= 1 / AT_ITS_LIMIT
    return propose(Action.LOWER_LIMIT if is_at_limit else Action.TUNE_AQM, limit)
