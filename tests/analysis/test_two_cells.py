"""A home with two cells of Wi-Fi: the one that is to blame is named, with advice for its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import headend
from headend.analysis.diagnosis import diagnose
from headend.analysis.facts import Action, Hops, LongPath
from headend.analysis.trials import list_candidates
from headend.results.record import Record
from headend.wording.hops import brief_hops, full_hops, tabulate_hops
from headend.wording.run import answer_run

OLD = {"standard": "dot11n", "mcs": 0, "streams": 1, "width": 20}
CALL = {"application": "video_call", "rtt": "30 ms"}
GET = {"application": "bulk", "direction": "down", "rtt": "20 ms"}


def run_home(
    flows: Mapping[str, Any],
    order: tuple[str, str] = ("upstairs", "downstairs"),
    local: tuple[str, ...] = (),
) -> Record:
    """Run a home with a new and an old device on each floor, behind one modem.

    Parameters
    ----------
    order
        The order of the cells in the scenario.
    local
        Hosts that are not behind the modem.
    """
    cells = {
        floor: {"dot11ax": {"station": {f"new_{floor}": {"mcs": 7}, f"old_{floor}": OLD}}}
        for floor in order
    }
    line = {
        "preset": "docsis31",
        "upstream": {"rate": "50 Mbit/s"},
        "downstream": {"rate": "1 Gbit/s"},
    }
    stations = {name: floor for floor in order for name in (f"new_{floor}", f"old_{floor}")}
    return headend.run(
        {
            "duration": "12 s",
            "warmup": "4 s",
            "link": {**cells, "cable": {"docsis": line}},
            "host": {
                name: {"via": [f"{floor}.{name}", *(() if name in local else ("cable",))]}
                for name, floor in stations.items()
            },
            "flow": dict(flows),
        }
    )


def find_hops(record: Record) -> Hops:
    hops = diagnose(record).hops
    assert hops
    return hops


@pytest.mark.parametrize("order", [("upstairs", "downstairs"), ("downstairs", "upstairs")])
@pytest.mark.parametrize(("bad", "good"), [("upstairs", "downstairs"), ("downstairs", "upstairs")])
def test_the_cell_of_the_one_who_suffers_is_named_and_advised(
    bad: str, good: str, order: tuple[str, str]
) -> None:
    flows = {
        "call": {**CALL, "host": f"new_{bad}"},
        "get": {**GET, "host": f"old_{bad}"},
        "film": {**GET, "host": f"new_{good}"},
    }
    record = run_home(flows, order)
    told = answer_run(record).sentences[0]
    assert f"It is the Wi-Fi {bad}, not the modem: the air of {bad} is full" in told
    paths = [path for settings in list_candidates(record) for path, _ in settings]
    assert paths
    assert all(path.startswith(f"link.{bad}.") for path in paths)


def test_a_full_cell_is_the_limit_though_those_who_are_graded_are_in_another() -> None:
    flows = {"call": {**CALL, "host": "new_upstairs"}, "get": {**GET, "host": "old_downstairs"}}
    hops = find_hops(run_home(flows))
    assert brief_hops(hops) == "the Wi-Fi downstairs is the limit, not the modem"
    assert hops.flow == "get"


def test_a_cell_that_nobody_who_suffers_crosses_is_not_why() -> None:
    far = {"application": "ping", "host": "new_upstairs", "rtt": "900 ms"}
    record = run_home({"ping": far, "get": {**GET, "host": "old_downstairs"}})
    [cause] = diagnose(record).causes
    assert isinstance(cause, LongPath)
    assert "It is neither the Wi-Fi upstairs nor the modem" in answer_run(record).sentences[0]


def test_where_both_cells_are_full_both_are_named_and_tried_together() -> None:
    flows = {
        "call": {**CALL, "host": "new_upstairs"},
        "get": {**GET, "host": "old_upstairs"},
        "talk": {**CALL, "host": "new_downstairs"},
        "fetch": {**GET, "host": "old_downstairs"},
    }
    record = run_home(flows)
    answer, hops = answer_run(record), find_hops(record)
    assert "It is the Wi-Fi upstairs and the Wi-Fi downstairs, not the modem" in answer.sentences[0]
    assert "waits for the full channel of upstairs" in answer.sentences[0]
    # That it is limited by the same channel is not told of a transfer.
    assert "limited" not in " ".join(answer.sentences)
    together = list_candidates(record)[0]
    assert [path.split(".")[1] for path, _ in together] == ["upstairs", "downstairs"]
    labels = [row.label.text for row in tabulate_hops(hops).rows if not isinstance(row.label, str)]
    assert labels == ["Wi-Fi upstairs", "Modem", "Wi-Fi downstairs, on the way of talk"]
    assert any(text.startswith(f"{labels[2]}: packets wait ") for text in full_hops(hops))


def test_of_two_cells_on_one_way_the_guilty_one_is_named_and_the_other_cleared() -> None:
    flows = {
        "call": {**CALL, "host": "new_upstairs", "peer": "new_downstairs"},
        "get": {**GET, "host": "old_downstairs"},
    }
    del flows["call"]["rtt"]
    record = run_home(flows, local=("new_upstairs", "new_downstairs"))
    told = answer_run(record).sentences[0]
    assert "It is the Wi-Fi downstairs, not the Wi-Fi upstairs: the air of downstairs is" in told
    [cause] = diagnose(record).causes
    assert cause.remedies[0].action is Action.STATION_QUEUES
    assert cause.remedies[0].path.startswith("link.downstairs.")
