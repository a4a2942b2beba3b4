"""Gives a modem's file the buffer, the AQM or the low latency of another file.

All else in the file stays as it is; its message integrity checks are still those of the old
content.
"""

from __future__ import annotations

from headend import _engine
from headend.errors import InputError
from headend.modem_file.document import read_document
from headend.modem_file.settings import FLOWS, ServiceFlow, Settings, read_settings


def carry_queue(content: bytes, source: bytes) -> bytes:
    """Give a file the buffer and the AQM of another file's first upstream service flow.

    Other TLVs than 24.35 and 24.40.1 to 24.40.3 stay. An `InputError` is a clause that says why
    that cannot be done by these TLVs alone.
    """
    settings = read_settings(read_document(content))
    flow = _find_first(settings, "up")
    around = None if flow.aggregate is None else settings.aggregates[flow.aggregate]
    if around and around.low_latency and not settings.is_low_latency_off:
        raise InputError(
            f"it has low latency today (TLV {around.path}), which would have to be taken out of it"
        )
    return _carry(content, source, low_latency=False)


def carry_low_latency(content: bytes, source: bytes) -> bytes:
    """Give a file without aggregates the low latency of another, whose first flows have it.

    The rates of the first service flows move to the aggregates. The new service flows and
    classifiers take references that the file does not use. Where another classifier has the
    priority 0, which is that of the new ones, those of the file get a priority one higher. The
    extended CMTS MIC covers what is new. An `InputError` is a clause that says why that cannot be
    done soundly.
    """
    settings = read_settings(read_document(content))
    if settings.aggregates:
        raise InputError(
            f"it has an aggregate service flow already (TLV {settings.aggregates[0].path})"
        )
    if settings.is_low_latency_off:
        raise InputError("it turns low latency off (TLV 91)")
    for way in ("up", "down"):
        flow = _find_first(settings, way)
        if flow.service_class:
            raise InputError(
                f"its service flow of TLV {flow.path} has the service class {flow.service_class},"
                " whose values the CMTS has"
            )
        if flow.aggregate_reference:
            raise InputError(f"its service flow of TLV {flow.path} is in an aggregate already")
        # They would keep these packets from the low-latency flow, and no simulated line has them.
        for one in settings.classifiers:
            is_own = flow.reference is not None and one.flow == flow.reference.value
            if one.direction == way and is_own and one.is_active and not one.drops:
                raise InputError(
                    f"its {one.name} (TLV {one.path}) keeps {one.describe_packets()} in the first"
                    " service flow"
                )
    return _carry(content, source, low_latency=True)


def _carry(content: bytes, source: bytes, *, low_latency: bool) -> bytes:
    try:
        return _engine.config_carry(content, source, low_latency)
    except _engine.ConfigError as error:
        raise InputError(str(error)) from error


def _find_first(settings: Settings, direction: str) -> ServiceFlow:
    """Find the first service flow of a direction, which is the primary one."""
    found = next(iter(settings.list_flows(direction)), None)
    if found is None:
        number = next(own for own, way in FLOWS.items() if way == direction)
        raise InputError(f"it has no service flow of TLV {number}")
    return found
