"""The way of a flow's packets: the links and modems that its host is behind."""

from __future__ import annotations

from collections.abc import Iterator

from headend.results.record import Record


def list_hops(record: Record, flow: str) -> Iterator[str]:
    """Give the links and modems on a flow's route; a flow's number picks one of many modems.

    Nothing where the scenario does not tell the route.
    """
    scenario = record.manifest.get("scenario", {})
    flows, links = scenario.get("flow", {}), list(scenario.get("link", {}))
    name, _, number = flow.rpartition(".")
    if not number.isdecimal() or name not in flows:
        name, number = flow, ""
    host = scenario.get("host", {}).get(flows.get(name, {}).get("host", ""), {})
    for hop in host.get("via") or (links if len(links) == 1 else []):
        yield str(hop)
        if number:
            yield f"{hop}.{number}"
