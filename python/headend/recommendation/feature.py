"""The features of a modem whose settings are compared: the columns of a recommendation."""

from __future__ import annotations

from enum import StrEnum


class Feature(StrEnum):
    """What may be set; the value is the word of ``--may-set``."""

    #: What the tier has today; of rates alone, a buffer of 250 ms without AQM.
    TODAY = "today"
    #: The size of the upstream buffer (TLV 24.35), with the AQM off.
    BUFFER_CONTROL = "buffer-control"
    #: DOCSIS-PIE: its latency target (TLV 24.40.2) and its buffer (24.35).
    AQM = "aqm"
    #: Low Latency DOCSIS: an aggregate of a classic and a low-latency service flow (TLVs 70 and
    #: 71).
    LOW_LATENCY = "low-latency"

    @property
    def words(self) -> str:
        """Its name above a column."""
        return {
            Feature.TODAY: "today",
            Feature.BUFFER_CONTROL: "Buffer Control",
            Feature.AQM: "AQM",
            Feature.LOW_LATENCY: "low latency",
        }[self]


#: Those that ``--may-set`` can name.
CHOOSABLE = (Feature.BUFFER_CONTROL, Feature.AQM, Feature.LOW_LATENCY)
