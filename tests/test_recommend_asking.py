"""Tests of what a recommendation is asked: options, files of tiers, modems' files, people and conditions."""

import json
from dataclasses import replace
from pathlib import Path

from headend.recommending.feature import Feature
from headend.recommending.people import make_people
from headend.recommending.request import Request
from headend.recommending.tier import Tier

BRONZE = Tier(
    "bronze",
    5e6,
    50e6,
    {
        "preset": "docsis31",
        "upstream": {"rate": "5 Mbit/s", "peak": "8 Mbit/s"},
        "downstream": {"rate": "50 Mbit/s"},
    },
    {"upstream": {"queue": {"docsis_pie": {"target": "15 ms"}}}, "downstream": {}},
    Path("bronze.cm"),
)


def test_a_request_survives_json_exactly() -> None:
    asked = Request(
        "tiers",
        (BRONZE, replace(BRONZE, name="plain", today=None, file=None)),
        people=replace(make_people(("call", "upload")), others={"tcp": {"linux": {}}}),
        features=(Feature.AQM,),
        expect=("call.mos.p5 >= 4.0", "upload.goodput >= 80 %"),
        prefer="least cable.up.delay.p99",
        seeds=(3, 1),
        title="What?",
        overrides=(("duration", "12 s"),),
        allowed=(Path("captures"),),
    )

    written = json.dumps(asked.to_dict())

    found = Request.from_dict(json.loads(written))
    assert found == asked
    assert [tier.file for tier in found.tiers] == [Path("bronze.cm"), None]
    assert json.dumps(found.to_dict()) == written
