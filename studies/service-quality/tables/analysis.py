"""Tables 1 to 4 of Nguyen and Armitage by cell: printed values and their constants'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, decide
from headend.study.airtime import (
    CELL,
    CELL_TRANSFER,
    DOCUMENT,
    DOCUMENT_TRANSFER,
    FCS_BYTES,
    HALF_LIFE_MAPS,
    IP_HEADER_BYTES,
    LLC_SNAP_BYTES,
    MAC_HEADER_BYTES,
    PLCP_HEADER_BYTES,
    PREAMBLE_BYTES,
    SECOND_US,
    Airtime,
    Transfer,
    describe_half_life,
    describe_quake3,
)
from headend.study.definition import read_study

#: Names of what may be the matter with a cell, from the best to the worst.
AGREES, ROUNDED, CARRIED, MISPRINT = "agrees", "carries rounding", "carries a misprint", "misprint"

#: Colours of those names.
TONES = {AGREES: PALETTE[2], ROUNDED: PALETTE[0], CARRIED: PALETTE[4], MISPRINT: PALETTE[1]}


class Cell(NamedTuple):
    """A cell as its constants give it, and the cells it is made of, with factors."""

    value: float
    parts: Mapping[str, float] = MappingProxyType({})


class Compared(NamedTuple):
    """A cell beside what is printed.

    Parameters
    ----------
    from_parts
        What its parts give as they are printed, or what its constants give where it has none.
    fault
        What is the matter with it.
    """

    name: str
    printed: str
    value: float
    from_parts: float
    fault: str


def list_exchange(name: str, packet_bytes: float, airtime: Airtime = DOCUMENT) -> dict[str, Cell]:
    """Give the column of one exchange: DIFS to CTS, frame, answer and their sum."""
    parts = ["before", "frame", "answer"]
    return {
        f"{name} before": Cell(airtime.spaces_us + airtime.announcement_us),
        f"{name} frame": Cell(airtime.data_us(packet_bytes)),
        f"{name} answer": Cell(airtime.answer_us),
        f"{name} exchange": Cell(
            airtime.exchange_us(packet_bytes), {f"{name} {part}": 1 for part in parts}
        ),
    }


def list_table_1() -> dict[str, Cell]:
    """Give Table 1: a segment of 1500 B and its acknowledgement."""
    cells: dict[str, Cell] = {}
    for name, size in (("data", 1500), ("ACK", 40)):
        cells |= {
            f"{name} spaces": Cell(DOCUMENT.spaces_us),
            f"{name} RTS and CTS": Cell(DOCUMENT.announcement_us),
            f"{name} frame": Cell(DOCUMENT.data_us(size)),
            f"{name} answer": Cell(DOCUMENT.answer_us),
        }
        parts = dict.fromkeys([item for item in cells if item.startswith(name)], 1.0)
        cells[f"{name} exchange"] = Cell(DOCUMENT.exchange_us(size), parts)
    parts = {"data exchange": 1.0, "ACK exchange": 1.0}
    return {**cells, "transaction": Cell(DOCUMENT_TRANSFER.exchange_us(DOCUMENT), parts)}


def list_table_2() -> dict[str, Cell]:
    """Give Table 2: an echo request and its reply, whose IP header the document leaves out."""
    cells: dict[str, Cell] = {}
    for size in (64, 128, 256):
        name = f"{size} B"
        cells |= list_exchange(name, size)
        cells[f"{name} both"] = Cell(2 * DOCUMENT.exchange_us(size), {f"{name} exchange": 2})
    return cells


def list_table_3() -> dict[str, Cell]:
    """Give Table 3: a player of Quake III among N; what grows with N is a cell of its own."""
    nobody, somebody = describe_quake3(0), describe_quake3(1)
    slope = DOCUMENT.exchange_us(somebody.server.packet_bytes)
    slope -= DOCUMENT.exchange_us(nobody.server.packet_bytes)
    client, server = nobody.client.per_second, nobody.server.per_second
    return {
        **list_exchange("client", nobody.client.packet_bytes),
        **list_exchange("server", nobody.server.packet_bytes),
        "server frame per player": Cell(slope),
        "server exchange per player": Cell(slope, {"server frame per player": 1}),
        "total per N²": Cell(server * slope, {"server exchange per player": server}),
        "total per N": Cell(
            nobody.busy_us(DOCUMENT), {"client exchange": client, "server exchange": server}
        ),
    }


def list_table_4() -> dict[str, Cell]:
    """Give Table 4: a player of Half-Life on four maps."""
    cells: dict[str, Cell] = {}
    for game_map in HALF_LIFE_MAPS:
        game = describe_half_life(game_map)
        if not cells:
            cells = list_exchange("client", game.client.packet_bytes)
        cells |= list_exchange(game_map, game.server.packet_bytes)
        parts = {
            "client exchange": game.client.per_second,
            f"{game_map} exchange": game.server.per_second,
        }
        cells[f"{game_map} total"] = Cell(game.busy_us(DOCUMENT), parts)
    return cells


TABLES = {1: list_table_1, 2: list_table_2, 3: list_table_3, 4: list_table_4}


def find_unit(printed: str) -> float:
    """Give the unit of a number's last digit."""
    _, _, decimals = printed.partition(".")
    return float(10 ** -len(decimals))


def compare_cells(table: int, printed: Mapping[str, str]) -> list[Compared]:
    """Hold a table's cells against what is printed.

    A cell is right if it is within one unit of its last digit, as the document cuts off (1313.4 for
    1313.45) and rounds up (203 for 202.2). If it is not, its printed parts may give it; then it
    carries on their rounding, or their misprint.
    """
    compared: dict[str, Compared] = {}
    for name, cell in TABLES[table]().items():
        text = printed[name]
        unit = find_unit(text) + 1e-9
        parts = {part: compared[part] for part in cell.parts}
        total = sum(factor * float(parts[part].printed) for part, factor in cell.parts.items())
        if abs(float(text) - cell.value) <= unit:
            fault = AGREES
        elif not parts or abs(float(text) - total) > unit:
            fault = MISPRINT
        else:
            is_faulty = any(part.fault in (MISPRINT, CARRIED) for part in parts.values())
            fault = CARRIED if is_faulty else ROUNDED
        compared[name] = Compared(name, text, cell.value, total if parts else cell.value, fault)
    return list(compared.values())


def check_table(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Judge a table: all of its cells must follow from its constants, or from its other cells."""
    rows = compare_cells(limits["table"], limits["printed"])
    wrong = [row for row in rows if row.fault in (MISPRINT, CARRIED)]
    counts = {fault: sum(row.fault == fault for row in rows) for fault in TONES}
    text = ", ".join(f"{count} {_agree(fault, count)}" for fault, count in counts.items() if count)
    told = [_tell(row) for row in rows if row.fault != AGREES]
    return ClaimResult(f"{len(rows)} cells: {text}", decide(not wrong), why="; ".join(told))


def _agree(fault: str, count: int) -> str:
    """Put a fault's name into the plural."""
    if count == 1:
        return fault
    return {AGREES: "agree", MISPRINT: "misprints"}.get(fault, fault.replace("carries", "carry"))


def _tell(row: Compared) -> str:
    by_parts = f", by its printed parts {row.from_parts:.1f}" if row.fault == MISPRINT else ""
    return f"{row.name}: {row.printed} for {row.value:.1f} ({row.fault}{by_parts})"


def read_time(table: int, cell: str) -> float:
    """Give a printed time in µs."""
    return float(read_printed()[table][cell])


def time_pings(limits: dict[str, Any]) -> float:
    """Give the µs of a second that so many pings take, by the printed time of one."""
    return float(limits["per_second"]) * read_time(2, f"{limits['bytes']} B both")


def lose_transactions(limits: dict[str, Any]) -> float:
    """Give the transactions that so many pings a second displace."""
    return time_pings(limits) / read_time(1, "transaction")


def lose_mbps(limits: dict[str, Any]) -> float:
    """Give the TCP throughput in Mb/s that pings a second displace, without headers."""
    return lose_transactions(limits) * DOCUMENT_TRANSFER.counted_bytes * 8 / 1e6


def check_rates(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Take the most pings and transactions a second from their printed times."""
    pings = SECOND_US / read_time(2, "64 B both")
    transactions = SECOND_US / read_time(1, "transaction")
    agrees = int(pings) == limits["pings"] and int(transactions) == limits["transactions"]
    return ClaimResult(f"{pings:.1f} pings, {transactions:.1f} transactions", decide(agrees))


def check_stolen(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Follow the text from pings to the throughput that they take."""
    ms, lost, mbps = time_pings(limits) / 1e3, lose_transactions(limits), lose_mbps(limits)
    agrees = (
        round(ms, 2) == limits["ms"]
        and round(lost, 1) == limits["transactions"]
        and round(mbps, 2) == limits["mbps"]
    )
    return ClaimResult(f"{ms:.2f} ms, {lost:.1f} transactions, {mbps:.2f} Mb/s", decide(agrees))


def check_left(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Find what pings leave of the measured throughput."""
    left = limits["alone_mbps"] - lose_mbps(limits)
    agrees = limits["least"] <= left <= limits["most"]
    return ClaimResult(f"{left:.2f} Mb/s", decide(agrees))


def check_game_rates(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Take packets a second from their intervals; of two, as the mean of both rates."""
    rates = [
        sum(1e3 / interval for interval in intervals) / len(intervals)
        for intervals in limits["intervals_ms"]
    ]
    pairs = zip(rates, limits["printed"], strict=True)
    agrees = all(printed in (int(rate), round(rate)) for rate, printed in pairs)
    return ClaimResult(", ".join(f"{rate:.1f}" for rate in rates) + " a second", decide(agrees))


def list_corrections() -> list[tuple[str, Airtime, Transfer, int]]:
    """Go from the document's assumptions to the cell's and beyond, one after the other."""
    air, transfer, header = DOCUMENT, DOCUMENT_TRANSFER, 0
    steps = [("as the document reckons", air, transfer, header)]
    for name, change in (
        ("a ping has an IP header", {}),
        ("36 B around a packet, not 42", {"overhead_bytes": 36}),
        ("answers at 2 Mbit/s, not 11", {"answer_mbps": 2.0}),
        ("no RTS and CTS", {"is_announced": False}),
        ("a mean backoff of 15.5 slots", {"backoff_slots": 15.5}),
        ("whole microseconds", {"whole_us": True}),
    ):
        air, header = replace(air, **change), IP_HEADER_BYTES
        steps.append((name, air, transfer, header))
    each = replace(CELL_TRANSFER, acknowledgements=1.0)
    steps.append(("timestamps: the cell", air, each, header))
    steps.append(("one ACK for two segments", air, CELL_TRANSFER, header))
    return steps


def check_maximum(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the document's largest calculation against its measurement, by assumption."""
    silent = replace(DOCUMENT, is_announced=False)
    most, more = (DOCUMENT_TRANSFER.find_rate_bps(air) / 1e6 for air in (DOCUMENT, silent))
    why = (
        "its cards cannot have sent an RTS before every frame: without it the same calculation"
        f" allows {more:.2f} Mb/s, and in a simulated cell with it a ping every 3 ms leaves 12 % of"
        " a download, not the measured half (`wifi-choices`)"
    )
    agrees = most >= limits["least"]
    return ClaimResult(f"{most:.2f} Mb/s", decide(agrees), why="" if agrees else why)


def draw_cells(points: pl.DataFrame) -> list[Panel]:
    """Draw each table as a list of its cells: printed, by the constants, and remarks."""
    panels = []
    for table, printed in read_printed().items():
        rows = pl.DataFrame(
            [
                {
                    "cell": row.name,
                    "printed": row.printed,
                    "computed": f"{row.value:.2f}",
                    "difference": f"{float(row.printed) - row.value:+.2f}",
                    "what": row.fault,
                }
                for row in compare_cells(table, printed)
            ]
        )
        columns = ("printed", "computed", "difference", "what")
        base = make_chart(rows).encode(
            y=vl.Y("cell:N", sort=None, title=None, axis=vl.Axis(grid=False, labelLimit=220))
        )
        layers = [
            base.mark_text(align="left" if name == "what" else "right", dx=0).encode(
                x=vl.value(place), text=f"{name}:N", **tone
            )
            for name, place, tone in zip(
                columns,
                (80, 190, 300, 330),
                (*[{}] * 3, {"color": _colour_faults()}),
                strict=True,
            )
        ]
        heads = pl.DataFrame(
            {"name": ["printed", "computed", "difference, µs"], "place": [0, 0, 0]}
        )
        titles = [
            make_chart(heads.filter(name=name))
            .mark_text(align="right", fontStyle="italic")
            .encode(x=vl.value(place), y=vl.value(-8), text="name:N")
            for name, place in zip(heads["name"], (80, 190, 300), strict=True)
        ]
        chart = vl.layer(*layers, *titles).properties(height=18 * rows.height)
        panels.append(Panel(f"Table {table}", chart, f"table-{table}"))
    return panels


def _colour_faults() -> vl.Color:
    return vl.Color(
        "what:N", scale=vl.Scale(domain=list(TONES), range=list(TONES.values())), legend=None
    )


def read_printed() -> dict[int, dict[str, str]]:
    """Give what is printed in each table, from the study's claims."""
    study = read_study("service-quality/tables", Path(__file__).parent)
    tables = [claim.limits for claim in study.claims if "table" in claim.limits]
    return {limits["table"]: limits["printed"] for limits in tables}


def draw_exchanges(points: pl.DataFrame) -> list[Panel]:
    """Draw what exchanges are made of, by the document's assumptions and by the cell's."""
    packets = {
        "segment, 1500 B": 1500.0,
        "server of Quake III, 131 B": describe_quake3(6).server.packet_bytes,
        "client of Quake III, 64 B": describe_quake3(6).client.packet_bytes,
        "TCP ACK, 40 B": 40.0,
    }
    parts = [
        "DIFS and SIFS",
        "backoff",
        "RTS and CTS",
        "preambles and headers",
        "bits of the packet",
        "answer's bits",
    ]
    rows = []
    for who, air in (("document", DOCUMENT), ("cell", CELL)):
        for packet, size in packets.items():
            payload = size * 8 / air.data_mbps
            times = [
                air.spaces_us,
                air.backoff_us,
                air.announcement_us,
                2 * air.plcp_us + air.data_us(size) - air.plcp_us - payload,
                payload,
                air.answer_us - air.plcp_us,
            ]
            rows += [
                {"packet": packet, "who": who, "part": part, "order": place, "us": time}
                for place, (part, time) in enumerate(zip(parts, times, strict=True))
            ]
    tones = ("#8C8C8C", PALETTE[4], PALETTE[3], PALETTE[1], PALETTE[0], PALETTE[2])
    panels = []
    for who, title in (("document", "By the document's assumptions"), ("cell", "By the cell's")):
        chart = (
            make_chart(pl.DataFrame(rows).filter(who=who))
            .mark_bar()
            .encode(
                x=vl.X("us:Q", title="time on the air, µs", scale=vl.Scale(domain=[0, 2400])),
                y=vl.Y("packet:N", title=None, sort=list(packets), axis=vl.Axis(labelLimit=200)),
                color=vl.Color(
                    "part:N",
                    scale=vl.Scale(domain=parts, range=list(tones)),
                    legend=vl.Legend(title=None, columns=3),
                ),
                order="order:O",
                tooltip=["packet:N", "part:N", vl.Tooltip("us:Q", format=".1f")],
            )
            .properties(height=130)
        )
        panels.append(Panel(title, chart, f"exchanges-{who}"))
    return panels


def draw_corrections(points: pl.DataFrame) -> list[Panel]:
    """Draw what each correction makes of TCP's throughput and of the most pings."""
    steps = list_corrections()
    rows = pl.DataFrame(
        [
            {
                "step": name if place == 0 else f"+ {name}",
                "mbps": transfer.find_rate_bps(air) / 1e6,
                "pings": SECOND_US / (2 * air.exchange_us(64 + header)),
            }
            for place, (name, air, transfer, header) in enumerate(steps)
        ]
    )
    y = vl.Y("step:N", sort=None, title=None, axis=vl.Axis(labelLimit=260))
    panels = []
    for column, title, tone, measured in (
        ("mbps", "TCP throughput without headers, Mbit/s", PALETTE[0], 4.0),
        ("pings", "pings of 64 B a second, at most", PALETTE[2], None),
    ):
        base = make_chart(rows).encode(y=y)
        bars = base.mark_bar(color=tone).encode(
            x=vl.X(f"{column}:Q", title=title, scale=vl.Scale(zero=True))
        )
        words = base.mark_text(align="left", dx=3).encode(
            x=f"{column}:Q", text=vl.Text(f"{column}:Q", format=".3~g")
        )
        layers = [bars, words]
        if measured:
            mark = make_chart(pl.DataFrame({"measured": [measured]}))
            layers.append(mark.mark_rule(strokeDash=[4, 3]).encode(x="measured:Q"))
        panels.append(Panel("", vl.layer(*layers).properties(height=200), f"corrections-{column}"))
    return panels


def draw_encapsulation(points: pl.DataFrame) -> list[Panel]:
    """Draw the document's Figure 2: what stands around an IP packet, in bytes and time."""
    packet = 1500
    parts = [
        ("PLCP preamble", PREAMBLE_BYTES, 1.0),
        ("PLCP header", PLCP_HEADER_BYTES, 1.0),
        ("MAC header", MAC_HEADER_BYTES, 11.0),
        ("LLC and SNAP", LLC_SNAP_BYTES, 11.0),
        ("IP packet", packet, 11.0),
        ("FCS", FCS_BYTES, 11.0),
    ]
    rows, at = [], 0.0
    for name, size, mbps in parts:
        time = size * 8 / mbps
        rows.append({"part": name, "bytes": size, "from": at, "to": at + time, "us": time})
        at += time
    frame = pl.DataFrame(rows).with_columns(
        words=pl.format("{} B, {} µs", "bytes", pl.col("us").round(1)),
        place=pl.col("part").cum_count(),
    )
    names = frame["part"].to_list()
    y = vl.Y("part:N", sort=names, title=None)
    base = make_chart(frame).encode(y=y)
    bars = base.mark_bar().encode(
        x=vl.X("from:Q", title="time since the frame began, µs", scale=vl.Scale(domain=[0, 1500])),
        x2="to:Q",
        color=vl.Color(
            "part:N", scale=vl.Scale(domain=names, range=list(PALETTE[:6])), legend=None
        ),
    )
    words = base.mark_text(align="left", dx=4).encode(x="to:Q", text="words:N")
    return [Panel("", vl.layer(bars, words).properties(height=170))]
