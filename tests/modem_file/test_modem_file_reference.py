"""Tests that the reference page and JSON Schema of a modem's file agree with the TLVs,
and refuses the same texts as the engine."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner

from headend import _engine
from headend.cli.main import app
from headend.engine.modem_file import make_schema, read_table, write_page, write_schema


@pytest.fixture(scope="module")
def schema() -> Any:
    """The validator of a file's TOML form."""
    made = json.loads(write_schema(read_table()))
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


def test_the_page_has_every_row_of_the_table() -> None:
    page = write_page(read_table())
    for row in read_table():
        if "like" not in row:
            assert f"<br>`{row['name']}`" in page, row["number"]
        assert all(f"`{name}`" in page for name in row["aliases"]), row["number"]
    target = next(line for line in page.splitlines() if line.startswith("| 24/25.35.2<br>"))
    assert target == (
        "| 24/25.35.2<br>`target`<br>`TargetBuffer` | 4-byte number, in B, default 0"
        " | Size that the device should choose, or one near it. 0: the device decides. *runs*"
        " [CSROM] |"
    )
    assert (
        "| 70/71.42.5<br>`aqm_coupling_factor` | 1-byte number, tenths, 0.1 to 25.5, default 2.0 |"
        in page
    )
    assert "22, 23, 24, 25, 26, 60, 70, 71, 93 and 94 may have a sub-TLV 43" in page


def test_a_row_without_a_section_is_refused() -> None:
    rows = read_table()
    lost = {**rows[0], "number": "200"}
    with pytest.raises(ValueError, match="no section of the page has: 200"):
        write_page([*rows, lost])


def test_rows_of_one_number_stand_together_in_order() -> None:
    lines = write_page(read_table()).splitlines()
    numbers = [re.split("<br>| [|] ", line[2:])[0] for line in lines if line.startswith("| 2")]
    flows = [number for number in numbers if number[:2] in ("24", "25")]
    assert flows[:5] == ["24", "25", "24/25.1", "24/25.2", "24.3"]
    assert flows.index("24/25.35.2") == flows.index("24/25.35") + 2


def test_one_schema_serves_all_tlvs_of_a_row() -> None:
    """A row of several TLVs is one definition, so each of them must hold the same TLVs."""
    rows = [row for row in read_table() if not row["mta"]]
    below: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        *_, last = row["number"].split(".")
        around = row["number"].removesuffix(last).removesuffix(".")
        if "." in around:
            assert any(other["number"] == around for other in rows), row["number"]
        below.setdefault((around, last), set()).add(row["number"])
    assert all(len(numbers) == 1 for numbers in below.values())


FILE = """
MaxCPE = 16
SnmpMibObject = "1.3.6.1.2.1.69.1.6.3.0 = Integer 1"
network_access_control = 1

[[UsServiceFlow]]
service_flow_reference = 1
qos_parameter_set_type = 7
MaxRateSustained = 10000000
scheduling_type = "best effort"
buffer_control.target = "62500 B"
aqm_encodings.latency_target = "10 ms"
aqm_encodings.latency_histogram_bin_edges = ["1 ms", "2 ms"]
tlv_200 = "0x0102"

[[upstream_aggregate_service_flow]]
low_latency_encodings.aqm_coupling_factor = 2.0

[[upstream_packet_classifier]]
ipv4_packet_classifier.source_address = "192.0.2.1"
ethernet_llc_packet_classifier.source_mac_address = "02:00:5e:00:00:01"

[[vendor_specific]]
vendor_id = "0xffffff"
extended_cmts_mic.hmac_type = "HMAC-MD5"

[[then]]
pad = 3
cm_mic = "0x000102030405060708090a0b0c0d0e0f"
end = true
"""


def test_the_schema_accepts_what_people_and_the_engine_write(schema: Any) -> None:
    data = _engine.config_from_text(FILE)
    for text in (FILE, _engine.config_to_toml(data)):
        errors = [error.message for error in schema.iter_errors(tomllib.loads(text))]
        assert not errors, text


@pytest.mark.parametrize(
    "text",
    [
        "network_acess_control = 1",
        "network_access_control = 2",
        "network_access_control = [1, 2]",
        "cm_mic = 3",
        'cm_mic = "0xabc!"',
        "[[upstream_service_flow]]\ntraffic_priority = 8",
        '[[upstream_service_flow]]\nmaximum_sustained_rate = "10 ms"',
        "[[upstream_service_flow]]\nmaximum_sustained_rate = 4294967296",
        '[[upstream_service_flow]]\nscheduling_type = "best efort"',
        "[[upstream_service_flow]]\nbuffer_control.tarjet = 1",
        "[[downstream_service_flow]]\nscheduling_type = 2",
        "[[upstream_aggregate_service_flow]]\nlow_latency_encodings.aqm_coupling_factor = 26.0",
        "end = false",
        'snmp_mib_object = "1.3.6.1.2.1.69.1.6.3.0"',
        'kind = "modem"',
        "upstream_service_flow = 24",
        "[[then]]\nmaximum_number_of_cpes = 256",
        "[[upstream_packet_classifier]]\nieee_802_1pq_packet_classifier.user_priority = [1, 256]",
    ],
)
def test_the_schema_refuses_what_the_engine_refuses(schema: Any, text: str) -> None:
    assert not schema.is_valid(tomllib.loads(text))
    with pytest.raises(ValueError, match="expected"):
        _engine.config_from_text(text)


def test_the_page_shows_a_file_that_can_be_encoded(schema: Any) -> None:
    texts = re.findall(r"```toml\n(.*?)```", write_page(read_table()), flags=re.DOTALL)
    for text, types in zip(texts, (["3", "24", "25"], ["25", "18"], ["43"]), strict=True):
        tlvs = json.loads(_engine.config_to_json(_engine.config_from_text(text)))["tlvs"]
        assert [tlv["tlv"] for tlv in tlvs] == types
        assert schema.is_valid(tomllib.loads(text))


def test_the_schema_is_printed() -> None:
    answer = CliRunner().invoke(app, ["schema", "--modem-file"])
    assert answer.output == write_schema(read_table())
    assert "--modem-file" in CliRunner().invoke(app, ["schema", "--help"]).output


def test_the_schema_accepts_the_value_that_an_absent_tlv_stands_for() -> None:
    """Each default of the table is a value that its definition allows."""
    definitions = make_schema(read_table())["$defs"]
    found = 0
    for name, definition in definitions.items():
        if "default" in definition:
            whole = {"$ref": f"#/$defs/{name}", "$defs": definitions}
            jsonschema.Draft202012Validator(whole).validate(definition["default"])
            found += 1
    assert found > 50
