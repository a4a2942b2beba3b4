"""One rule for what a modem does by its file: ``config show``, a run, ``recommend`` agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headend.analysis.modem_tlvs import find_tlvs
from headend.modem_file.document import read_document
from headend.modem_file.settings import read_settings
from headend.recommendation.line import read_modem_tier
from headend.results.record import Record
from headend.scenario.source import Loaded, read_scenario
from headend.scenario.supposed import note_supposed
from headend.text.quantity import parse_quantity
from modem_files import DOWN, buffer, build, flow, tlv, u8, u16

RATE = 10_000_000

#: Encodings of an upstream flow, TLVs of the modem, and whether AQM then runs; None: by generation.
CASES: dict[str, tuple[list[bytes], list[bytes], bool | None]] = {
    "not disabled": ([tlv(40, u8(1, 0))], [], True),
    "not disabled, a target": ([tlv(40, u8(1, 0), u8(2, 20))], [], True),
    "a target": ([tlv(40, u8(2, 5))], [], True),
    "the default target": ([tlv(40, u8(2, 0))], [], True),
    "the default algorithm": ([tlv(40, u8(3, 0))], [], True),
    "DOCSIS-PIE": ([tlv(40, u8(3, 1))], [], True),
    "not disabled for all": ([], [u8(76, 0)], True),
    "disabled": ([tlv(40, u8(1, 1))], [], False),
    "disabled for all": ([], [u8(76, 1)], False),
    "disabled for all, not for itself": ([tlv(40, u8(1, 0))], [u8(76, 1)], False),
    "disabled twice": ([tlv(40, u8(1, 1))], [u8(76, 1)], False),
    "nothing": ([], [], None),
    "edges of a histogram": ([tlv(40, u16(6, 100))], [], None),
}

BUFFERS = {
    "none": [],
    "target": [buffer(125_000)],
    "maximum": [buffer(most=60_000)],
    "minimum": [buffer(least=400_000)],
    "wide bounds": [buffer(least=24_576, most=10_000_000)],
}


def make(encodings: list[bytes], of_modem: list[bytes], sizes: list[bytes]) -> bytes:
    return build(*of_modem, up=flow(24, *sizes, *encodings, rate=RATE), down=DOWN)


def load(
    folder: Path, content: bytes, preset: str, queue: dict[str, Any] | None
) -> tuple[Loaded, str]:
    """A run's scenario, whose line has the file and perhaps a queue of its own; and its notes."""
    path = folder / "home.cm"
    path.write_bytes(content)
    upstream = {"rate": "10 Mbit/s"} | ({"queue": queue} if queue else {})
    scenario = {
        "link": {
            "cable": {
                "docsis": {
                    "preset": preset,
                    "upstream": upstream,
                    "downstream": {"rate": "100 Mbit/s"},
                }
            }
        },
        "flow": {"probe": {"application": "ping"}},
    }
    overrides = [("modem", json.dumps(str(path)))]
    text = read_scenario(scenario).allow_named(overrides)
    loaded = text.load(overrides)
    return loaded, " ".join(note_supposed(text, loaded, overrides))


def describe_queue(line: dict[str, Any]) -> tuple[bool, float | None, float]:
    """Whether the upstream queue of a resolved line has AQM, its target in ns, and its bytes."""
    ((kind, settings),) = line["upstream"]["queue"].items()
    is_off = line["upstream"].get("aqm_disabled") or line.get("upstream_aqm_disabled")
    size = settings["target"] if kind == "buffer_control" else settings["limit"]
    if size.endswith("s"):
        length = parse_quantity(size, "time").value * RATE / 8e9
    else:
        length = parse_quantity(size, "size").value
    has_aqm = kind == "docsis_pie" and not is_off
    target = parse_quantity(settings["target"], "time").value if has_aqm else None
    return has_aqm, target, length


@pytest.mark.parametrize("preset", ["docsis31", "docsis30"])
@pytest.mark.parametrize("sizes", BUFFERS)
@pytest.mark.parametrize("case", CASES)
def test_show_run_and_recommend_agree(case: str, sizes: str, preset: str, tmp_path: Path) -> None:
    encodings, of_modem, runs = CASES[case]
    content = make(encodings, of_modem, BUFFERS[sizes])
    shown = read_settings(read_document(content), preset).upstream[0]
    loaded, _ = load(tmp_path, content, preset, None)
    run = describe_queue(loaded.resolved["link"]["cable"]["docsis"])
    expected = preset == "docsis31" if runs is None else runs
    assert shown.aqm.runs == expected
    assert shown.buffer
    assert list(run) == [expected, shown.aqm.target if expected else None, shown.buffer.size]
    tier, _ = read_modem_tier(tmp_path / "home.cm", preset)
    upstream = (tier.today or {})["upstream"]
    kind = next(iter(upstream["queue"]))
    assert (kind == "docsis_pie" and not upstream.get("aqm_disabled")) == run[0]


@pytest.mark.parametrize("case", CASES)
def test_a_queue_that_the_scenario_writes_stays_only_where_the_file_says_nothing(
    case: str, tmp_path: Path
) -> None:
    encodings, of_modem, runs = CASES[case]
    content = make(encodings, of_modem, BUFFERS["target"])
    loaded, told = load(tmp_path, content, "docsis31", {"drop_tail": {"limit": "250 ms"}})
    has_aqm, _, size = describe_queue(loaded.resolved["link"]["cable"]["docsis"])
    assert (has_aqm, size) == (bool(runs), 125_000)
    kept = "the scenario writes its queue, which stays: buffer_control runs; 24.40.1 = 0 turns"
    assert (kept in told) is (runs is None)


@pytest.mark.parametrize("case", CASES)
def test_advice_that_names_tlvs_works_when_it_is_done(case: str, tmp_path: Path) -> None:
    encodings, of_modem, _ = CASES[case]
    written = {"drop_tail": {"limit": "250 ms"}}
    before, _ = load(tmp_path, make(encodings, of_modem, []), "docsis31", written)
    record = Record({}, {"scenario": before.resolved})
    advice = find_tlvs(record, "cable", "up").aqm.removeprefix(" (TLV ").removesuffix(")")
    done = dict(one.split(" = ") for one in advice.split(" and "))
    of_flow = [
        u8(int(path.rpartition(".")[2]), int(value))
        for path, value in done.items()
        if path.startswith("24.40.")
    ]
    of_all = [u8(76, int(done["76"]))] if "76" in done else []
    after, _ = load(
        tmp_path, make([tlv(40, *of_flow)] if of_flow else [], of_all, []), "docsis31", written
    )
    assert describe_queue(after.resolved["link"]["cable"]["docsis"])[0]
