"""The table of TLVs of a modem's file as a reference page, and as a JSON Schema."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

#: A row of the table, as ``_engine.config_table`` gives it.
Row = dict[str, Any]

#: The sections of the page: heading, introduction, and the types of their outermost TLVs.
SECTIONS: tuple[tuple[str, str, frozenset[int]], ...] = (
    (
        "Service flows",
        "Rates, bursts, scheduling, buffers and AQM. TLV 24 is an upstream service flow, TLV 25 a"
        " downstream one.",
        frozenset({24, 25, 68, 76}),
    ),
    (
        "Aggregates and low latency",
        "Service flows that share a rate, and the coupling of a low-latency service flow with a"
        " classic one. A simulation runs an aggregate of a classic and a low-latency service flow,"
        " and leaves other aggregates out.",
        frozenset({70, 71, 88, 91, 92, 93, 94}),
    ),
    (
        "Classifiers",
        "Which packets a service flow takes (22 upstream, 23 downstream), and which the modem drops"
        " (60).",
        frozenset({22, 23, 60, 62}),
    ),
    (
        "DOCSIS 1.0 class of service",
        "Files for DOCSIS 1.0 modems have this in place of service flows.",
        frozenset({4}),
    ),
    (
        "The modem",
        "Access, channels, software, management, security, and the message integrity checks.",
        frozenset({*range(1, 4), *range(6, 22), *range(26, 43), *range(52, 60), *range(61, 70)}),
    ),
    (
        "Business services, energy and time",
        "Settings of DOCSIS 3.0 and later that few files have.",
        frozenset({45, *range(72, 76), 79, 80, *range(81, 85), *range(101, 107)}),
    ),
    (
        "Extensions and vendors",
        "The vendor id in a TLV 43 decides what it holds. With the id `0xffffff` it is an extension"
        " of DOCSIS and has the rows below. The settings of other vendors stay bytes.",
        frozenset({43}),
    ),
    (
        "Devices within the modem",
        "Each TLV holds the settings of one device.",
        frozenset({*range(201, 232), 254}),
    ),
    (
        "Capabilities and messages",
        "What the modem supports, and TLVs of messages that share the numbers and that no file"
        " has.",
        frozenset({5, 44, *range(46, 52), 77, 78, *range(85, 88), 89, 90, *range(95, 101)}),
    ),
)

#: Descriptions of values, by their form.
FORMS = {
    "nested": "TLVs",
    "u8": "1-byte number",
    "u16": "2-byte number",
    "u24": "3-byte number",
    "u32": "4-byte number",
    "u8_or_u16": "1-byte or 2-byte number",
    "text": "text ending with a zero byte",
    "string": "text",
    "bytes": "bytes",
    "ipv4": "IPv4 address",
    "ipv6": "IPv6 address",
    "mac": "Ethernet address",
    "u8_list": "1-byte numbers",
    "u16_list": "2-byte numbers",
    "type_bits": "types of TLVs, a bit each",
    "varbind": "SNMP object",
}

#: The largest number of each form.
MOST = {
    "u8": 0xFF,
    "u16": 0xFFFF,
    "u24": 0xFF_FFFF,
    "u32": 0xFFFF_FFFF,
    "u8_or_u16": 0xFFFF,
    "u8_list": 0xFF,
    "u16_list": 0xFFFF,
    "type_bits": 0xFF,
}

#: What a simulation does with a TLV, in a word.
MODEL = {"yes": "runs", "said": "said", "no": ""}

#: Sources, with the mark of each and what it is.
SOURCES: dict[str, tuple[str, str]] = {
    "CANN": ("C", "the registry of numbers, CL-SP-CANN-I22"),
    "samples": ("S", "public sample files that are there as bytes and as text"),
    "RLA": ("R", "the manual and the behaviour of rlaager/docsis, an encoder"),
    "ODCI": ("O", "the digest of MULPIv4.0-I11 and CANN-I24 by OpenDCI"),
    "MIB": ("M", "DOCS-QOS3-MIB of 2019-05-02"),
    "NS3": ("N", "the documentation of docsis-ns3"),
    "RFC 4323": ("Q", "the QoS MIB of DOCSIS 1.1, RFC 4323"),
}

#: How values with units are written, by unit: the schema's word, the units, an example.
_RATE = ("rate", "([kMG]?bit/s|[kMG]?bps|[kMG]?b/s)", "10 Mbit/s")
_DURATION = ("duration", "(ns|us|µs|μs|ms|s|min|h)", "10 ms")
QUANTITIES = {
    "bit/s": _RATE,
    "kbit/s": _RATE,
    "B": ("size", "(B|bytes?|[kMG]B|[KMG]iB)", "125000 B"),
    "us": _DURATION,
    "10 us": _DURATION,
    "ms": _DURATION,
    "s": _DURATION,
    "Hz": ("frequency", "[kMG]?Hz", "603 MHz"),
}

_HEAD = """# Modem's file reference

<!-- Made by `make generate` from crates/docsis-config/src/tlvs.toml. Do not edit. -->

Every TLV (type, length, value) of a cable modem's configuration file that headend knows by name. A
file may hold others: they are kept, shown as `tlv_213 = "0x0102"` and written back. For editors:
[modem-file.schema.json](modem-file.schema.json), which is the schema of a file's TOML form;
`headend schema --modem-file` prints it.

## How a file is written

`headend config decode` writes a file as TOML, `headend config encode` makes the same bytes of it
again.

```toml
network_access_control = 1

[[upstream_service_flow]]                     # TLV 24
service_flow_reference = 1
qos_parameter_set_type = 7
maximum_sustained_rate = "10 Mbit/s"          # 24.8, or MaxRateSustained = 10000000
buffer_control.target = "62500 B"             # 24.35.2
aqm_encodings.latency_target = "10 ms"        # 24.40.2

[[downstream_service_flow]]                   # TLV 25
service_flow_reference = 2
qos_parameter_set_type = 7
maximum_sustained_rate = "100 Mbit/s"
```

- The order of the text is the order of the file. In TOML, a key that stands after a table is one of
  that table. A TLV that comes after a service flow in the file is therefore written in a table
  called `then`:

  ```toml
  [[downstream_service_flow]]
  service_flow_reference = 2

  [[then]]
  maximum_number_of_cpes = 16                 # TLV 18, behind TLV 25
  ```

- A TLV that holds TLVs is a table. A TLV that occurs several times in a row is a list.
- A key is the name below, one of the operators' names, or the number (`tlv_24`). Upper and lower
  case and underscores do not matter.
- A number may have a unit (`"10 Mbit/s"`, `"125000 B"`, `"24 KiB"`, `"10 ms"`) or none. The number
  alone counts the unit that the table says. Where a number has a meaning, the meaning may be
  written in its place (`scheduling_type = "best effort"`, or `"BE"`). Tenths have a decimal point
  (`aqm_coupling_factor = 2.0`). Where a service flow has a `data_rate_unit`,
  `maximum_sustained_rate`, `minimum_reserved_rate` and `peak_traffic_rate` count it.
- An SNMP object is its id, a type and the value: `"1.3.6.1.2.1.69.1.6.3.0 = Integer 1"`. The types
  are Integer, Gauge32, Counter32, Counter64, TimeTicks, IPAddress, ObjectID, String, HexString and
  Null. In a String, `\\n`, `\\r` and `\\t` are a line feed, a carriage return and a tab, and `\\\\`
  is a backslash.
- Bytes are `"0x0a0b"`. Every value may be written so, also one that the table does not allow.
- `unsigned = true` at the top says that the file has no MICs (TLVs 6 and 7) and is to have none:
  `encode` signs other TOML without MICs where HEADEND_CONFIG_SECRET is set.
- `pad = 3` are three zero bytes between TLVs, `end = true` is TLV 255, and `rest = "0x…"` are bytes
  at the end that are no TLV. `kind = "mta"` at the top is the file of a telephone adapter.
- `cm_mic` and `cmts_mic` are written as they stand. A secret, or `--mic`, computes them anew.

The extended CMTS MIC tells the CMTS of TLVs that the CMTS MIC does not cover, such as TLV 70.
Without a digest (43.6.3) TLV 7 then covers the listed types alone, so the list holds every type
that the CMTS is to see:

```toml
[[vendor_specific]]                           # TLV 43
vendor_id = "0xffffff"                        # 43.8: the settings are those of DOCSIS
extended_cmts_mic.hmac_type = 1               # 43.6.1: HMAC-MD5
extended_cmts_mic.bitmap = [3, 6, 18, 22, 24, 25, 43, 70] # 43.6.2
```

TLV 7 is never listed, and TLV 6 only where there is no digest. `headend config check` writes the
list for a file.

## How to read the tables

The first column has the number of the TLV, its key, and below it the names that operators use.
"24/25.35.2" is 24.35.2 and 25.35.2. The last column ends with what `headend run` does with the TLV:

- *runs*: the TLV sets something of the simulated line.
- *said*: the TLV would change the line, but the model does not have it. The run says so, unless the
  value is the default.
- neither: the TLV concerns nothing that is simulated.

Letters in square brackets name the source of number, width and unit:

SOURCE_MARKS
- "from memory": no source was read. Check it before you rely on it.

Two TLVs have no row: 0 is a pad and 255 the end of a modem's file, a byte each.
"""


def read_table() -> list[Row]:
    """Give the rows of the engine's table of TLVs, in its order."""
    from headend import _engine

    rows: list[Row] = json.loads(_engine.config_table())
    return rows


@dataclass(frozen=True)
class Entry:
    """A TLV by which it can be looked up.

    Parameters
    ----------
    number
        Its number as the page has it, such as ``24/25.35.2``.
    numbers
        The numbers that this stands for.
    name
        The name of its key.
    key
        Its key with those around it, such as ``upstream_service_flow.buffer_control.target``.
    aliases
        What operators call it.
    about
        What it does, with its meanings.
    """

    number: str
    numbers: tuple[str, ...]
    name: str
    key: str
    aliases: tuple[str, ...]
    about: str


@functools.cache
def list_entries() -> tuple[Entry, ...]:
    """List the TLVs that have a name."""
    rows = [row for row in read_table() if not row.get("like")]
    names = {path: row["name"] for row in rows for path in _paths(row["number"]) if not row["mta"]}
    return tuple(
        Entry(
            _write_number(row["number"]),
            tuple(".".join(map(str, path)) for path in _paths(row["number"])),
            row["name"],
            _write_key(row, names),
            tuple(row["aliases"]),
            _write_about(row),
        )
        for row in rows
    )


def _write_key(row: Row, names: dict[tuple[int, ...], str]) -> str:
    """Write the key of a row behind those of the TLVs around it, of several those of the first."""
    path = next(_paths(row["number"]))
    around = (names[path[:size]] for size in range(1, len(path)) if path[:size] in names)
    return ".".join((*around, row["name"]))


def write_page(rows: Iterable[Row]) -> str:
    """Write the reference page of the rows, as Markdown.

    Raises
    ------
    ValueError
        If a row is in no section.
    """
    left = list(rows)
    alike = [row for row in left if row.get("like")]
    left = [row for row in left if not row.get("like")]
    marks = "\n".join(f"- {mark}: {what}." for mark, what in SOURCES.values())
    parts = [_HEAD.replace("SOURCE_MARKS", marks)]
    for heading, introduction, types in SECTIONS:
        here = [row for row in left if set(_outermost(row)) <= types]
        left = [row for row in left if row not in here]
        families = _families(here)
        table = sorted(here, key=lambda row: _order(row, families))
        lines = [
            "| TLV and key | value | what it does |",
            "|---|---|---|",
            *(_write_row(row) for row in table),
            *(_write_like(row) for row in alike if set(_outermost(row)) <= types),
        ]
        # The site's style makes a list of such a table on a narrow screen.
        table_of_lines = '<div class="tlvs">\n\n' + "\n".join(lines) + "\n\n</div>\n"
        parts.append(f"\n## {heading}\n\n{introduction}\n\n{table_of_lines}")
    if left:
        numbers = ", ".join(row["number"] for row in left)
        raise ValueError(f"rows that no section of the page has: {numbers}")
    everywhere = [row for row in alike if not _has_section(row)]
    if everywhere:
        parts.append("\n" + "\n".join(_say_like(row) for row in everywhere) + "\n")
    return "".join(parts)


def make_schema(rows: Iterable[Row]) -> dict[str, Any]:
    """Make the JSON Schema (draft 2020-12) of the TOML form of a file, from the rows."""
    table = list(rows)
    named = {path: row for row in table for path in _paths(row["number"]) if not row["mta"]}
    definitions: dict[str, Any] = {
        "raw": {
            "type": "string",
            "pattern": "^0x[0-9a-fA-F\\s]*$",
            "description": "Bytes, as hexadecimal digits.",
        },
        "pad": {
            "type": "integer",
            "minimum": 1,
            "description": "A number of zero bytes between TLVs.",
        },
        "unknown": {
            "description": "A TLV by its number.",
            "anyOf": [{"$ref": "#/$defs/raw"}, {"type": ["object", "array"]}],
        },
    }
    for row in table:
        if row.get("like") or row["mta"]:
            continue
        definitions[_key(row["number"])] = _define(row, named)
    outermost = _properties((), named)
    long_object = next((row for row in table if row["mta"]), None)
    if long_object is not None:
        definitions["mta"] = _define(long_object, named)
        outermost[long_object["name"]] = {"$ref": "#/$defs/mta"}
    file = _table(outermost)
    file["properties"] |= {
        "kind": {
            "enum": ["cable_modem", "mta"],
            "default": "cable_modem",
            "description": "The device that the file is for.",
        },
        "end": {"const": True, "description": "The end marker, TLV 255."},
        "rest": {"$ref": "#/$defs/raw", "description": "Bytes at the end that are no TLV."},
        "then": {
            "type": "array",
            "items": {"$ref": "#"},
            "description": "TLVs that follow, where TOML cannot write them in the order of the"
            " file.",
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Modem's file",
        "description": "The TOML form of a cable modem's configuration file. Names are also"
        " understood in other upper and lower case.",
        **file,
        "$defs": definitions,
    }


def write_schema(rows: Iterable[Row]) -> str:
    """Write the JSON Schema of the TOML form of a file, a line for each definition."""
    schema = make_schema(rows)
    definitions = schema.pop("$defs")
    lines = [f"  {_dump(name)}: {_dump(value)}" for name, value in definitions.items()]
    head = [f" {_dump(name)}: {_dump(value)}" for name, value in schema.items()]
    return "{\n" + ",\n".join([*head, ' "$defs": {\n' + ",\n".join(lines)]) + "\n }\n}\n"


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _paths(number: str) -> Iterator[tuple[int, ...]]:
    """Give the paths that a number such as "24|25.35.2" stands for."""
    paths: list[tuple[int, ...]] = [()]
    for place in number.split("."):
        paths = [(*path, int(one)) for path in paths for one in place.split("|")]
    return iter(paths)


def _outermost(row: Row) -> list[int]:
    return [path[0] for path in _paths(row["number"])]


def _families(rows: Iterable[Row]) -> dict[int, int]:
    """Give for each outermost type the least of those with which it shares rows."""
    family: dict[int, int] = {}
    for row in rows:
        together = _outermost(row)
        least = min(family.get(one, one) for one in together)
        family |= dict.fromkeys(together, least)
    return family


def _order(row: Row, families: dict[int, int]) -> tuple[int, tuple[int, ...], int]:
    """Order rows by number; outermost TLVs that share rows stand together, by inner types."""
    first = next(_paths(row["number"]))
    return families[first[0]], first[1:], first[0]


def _has_section(row: Row) -> bool:
    return any(set(_outermost(row)) <= types for _, _, types in SECTIONS)


def _write_number(number: str) -> str:
    return number.replace("|", "/")


def _write_row(row: Row) -> str:
    number = _write_number(row["number"]) + (" (MTA)" if row["mta"] else "")
    aliases = ", ".join(f"`{name}`" for name in row["aliases"])
    names = "<br>".join(filter(None, (f"`{row['name']}`", aliases)))
    remarks = (f"*{MODEL[row['model']]}*" if MODEL[row["model"]] else "", _write_source(row))
    cells = (
        f"{number}<br>{names}",
        _write_value(row),
        " ".join(filter(None, (_write_about(row), *remarks))),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _write_like(row: Row) -> str:
    return f"| {_write_number(row['number'])} | | What {row['like']} holds. |"


def _say_like(row: Row) -> str:
    *_, last = row["number"].split(".")
    around = row["number"].rsplit(".", 1)[0].split("|")
    others = ", ".join(around[:-1]) + f" and {around[-1]}" if len(around) > 1 else around[0]
    return f"{others} may have a sub-TLV {last} that holds what TLV {row['like']} does."


def _write_source(row: Row) -> str:
    """Give the marks of the sources of a row, and what is said of them."""
    named, *said = row["source"].split("; ")
    marks = ""
    for name in named.split(", "):
        mark, _ = SOURCES.get(name, ("", ""))
        marks += mark
        if not mark and name:
            said.insert(0, "from memory" if name == "memory" else name)
    return f"[{'; '.join(filter(None, (marks, *said)))}]" if marks or said else ""


def _write_value(row: Row) -> str:
    """Describe the value of a TLV: form, unit, length, range, default."""
    parts = [FORMS[row["form"]]]
    unit = row["unit"]
    if unit:
        parts.append(
            "tenths" if unit == "0.1" else f"in units of {unit}" if " " in unit else f"in {unit}"
        )
    length = row["length"]
    if isinstance(length, int):
        parts.append(f"{length} bytes")
    elif length:
        least, most = length
        parts.append(f"{least} to {most} bytes" if least else f"at most {most} bytes")
    if row["range"]:
        least, most = row["range"]
        parts.append(f"{_say(row, least)} to {_say(row, most)}")
    if row["default"] is not None:
        parts.append(f"default {_say(row, row['default'])}")
    return ", ".join(parts).removeprefix("bytes, ")


def _say(row: Row, number: int) -> str:
    if row["unit"] == "0.1":
        return f"{number / 10:.1f}"
    if row["form"] == "ipv4":
        return ".".join(str(byte) for byte in number.to_bytes(4, "big"))
    return str(number)


def _write_about(row: Row) -> str:
    digits = 2 * row["length"] if row["form"] == "bytes" and isinstance(row["length"], int) else 0
    short = row.get("short", {})
    meanings = "; ".join(
        f"{f'0x{number:0{digits}x}' if digits else number}: {meaning}"
        + (f" ({short[str(number)]})" if str(number) in short else "")
        for number, meaning in _meanings(row)
    )
    bits = "; ".join(
        f"{number}: {meaning}"
        for number, meaning in sorted(
            (int(bit), meaning) for bit, meaning in row.get("bits", {}).items()
        )
    )
    return " ".join(
        (
            row["about"],
            *([f"{meanings}."] if meanings else []),
            *([f"Bits from the lowest: {bits}."] if bits else []),
        )
    )


def _meanings(row: Row) -> list[tuple[int, str]]:
    return sorted((int(number), meaning) for number, meaning in row["meanings"].items())


def _key(number: str) -> str:
    """Name the definition of a row in the schema."""
    return "tlv-" + number.replace("|", "-")


def _properties(around: tuple[int, ...], named: dict[tuple[int, ...], Row]) -> dict[str, Any]:
    """Give the keys of the TLVs below those of a path, each with its definition."""
    properties: dict[str, Any] = {}
    for path, row in named.items():
        if path[:-1] != around:
            continue
        if row.get("like"):
            row = named[next(_paths(row["like"]))]
        reference = {"$ref": f"#/$defs/{_key(row['number'])}"}
        properties |= dict.fromkeys((row["name"], *row["aliases"]), reference)
    return properties


def _table(properties: dict[str, Any]) -> dict[str, Any]:
    """Give the schema of a table of TLVs, made from the schemas of its keys."""
    return {
        "type": "object",
        "properties": {**properties, "pad": {"$ref": "#/$defs/pad"}},
        "patternProperties": {"^tlv_[0-9]+$": {"$ref": "#/$defs/unknown"}},
        "additionalProperties": False,
    }


def _define(row: Row, named: dict[tuple[int, ...], Row]) -> dict[str, Any]:
    """Define the value of a TLV, and a list of the values of several TLVs of one type."""
    raw = {"$ref": "#/$defs/raw"}
    if row["form"] == "nested":
        key = f"#/$defs/{_key(row['number'])}/$defs/table"
        table = _table(_properties(next(_paths(row["number"])), named))
        table["properties"]["then"] = {"type": "array", "items": {"$ref": key}}
        one: list[dict[str, Any]] = [{"$ref": key}, raw]
        definition: dict[str, Any] = {"$defs": {"table": table}}
    else:
        one = [*_values(row), raw]
        definition = {}
    definition = {
        "description": f"TLV {_write_number(row['number'])}. {_write_about(row)}",
        "anyOf": [*one, {"type": "array", "minItems": 1, "items": {"anyOf": one}}],
        **definition,
    }
    if row["default"] is not None and row["form"] != "ipv4" and row["unit"] != "0.1":
        definition["default"] = row["default"]
    return definition


def _values(row: Row) -> list[dict[str, Any]]:
    """Give the schemas of all ways to write the value of a TLV, except as bytes."""
    form = row["form"]
    meanings = [meaning for _, meaning in _meanings(row)]
    if form == "bytes":
        return [{"enum": meanings}] if meanings else []
    if form == "varbind":
        return [{"type": "string", "pattern": "^[0-9.]+ *= ?[A-Za-z0-9]+( .*)?$"}]
    if form in ("text", "string"):
        return [{"type": "string"}]
    if form in ("ipv4", "ipv6"):
        return [{"type": "string", "format": form}]
    if form == "mac":
        return [{"type": "string", "pattern": "^[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}$"}]
    least, most = row["range"] or (0, MOST[form])
    if row["unit"] == "0.1":
        return [{"type": "number", "minimum": least / 10, "maximum": most / 10}]
    values: list[dict[str, Any]] = [{"type": "integer", "minimum": least, "maximum": most}]
    if row["unit"] in QUANTITIES:
        _, units, example = QUANTITIES[row["unit"]]
        pattern = f"^[0-9]+(\\.[0-9]+)? *{units}$"
        values.append({"type": "string", "pattern": pattern, "examples": [example]})
    if meanings:
        values.append({"enum": [*meanings, *row.get("short", {}).values()]})
    if form.endswith("_list") or form == "type_bits":
        values.append({"type": "array", "items": {"anyOf": list(values)}})
    return values
