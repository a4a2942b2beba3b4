"""The queues that the AQM paper compares, as its figures call them, with one colour each."""

from __future__ import annotations

#: What the studies call a queue, and what the paper's legends do; in the order of its §4.
DISCIPLINES = {
    "bufferbloat": "Buffer Bloat",
    "buffer-control": "Buffer Control",
    "codel": "CoDel",
    "codel-dt": "CoDel-DT",
    "sfq-codel": "SFQ-CoDel",
    "pie": "PIE",
    "sfq-pie": "SFQ-PIE",
    "docsis-pie": "DOCSIS-PIE",
    # Other readings of what the paper names.
    "codel-dt-offset": "CoDel-DT, 6 ms lower",
    "codel-dt-ns2": "CoDel-DT, ns-2 code",
    "pie-draft": "PIE, bare draft",
    "sfq-pie-draft": "SFQ-PIE, bare draft",
}

#: The bare draft has the colour of what the studies run, and another shape.
DRAFTS = {"pie-draft": "pie", "sfq-pie-draft": "sfq-pie"}

#: Places in the palette.
SLOTS = {name: slot for slot, name in enumerate(DISCIPLINES) if name not in DRAFTS}
SLOTS |= {name: SLOTS[queue] for name, queue in DRAFTS.items()}
