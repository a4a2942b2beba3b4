"""The workbench in a browser: runs are those of this engine, and links of others are harmless."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import headend
from headend.analysis.quality import judge_flows
from headend.figures import draw_figures
from headend.scenario.shipped import list_scenarios

ROOT = Path(__file__).parents[2]
LAB = ROOT / "target/web/index.html"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not LAB.is_file(), reason="needs what `make web` builds"),
]

#: A run takes some hundredths of a second; a slow machine's patience, ms.
PATIENCE = 20_000

SMALL = """\
title = "Small"
duration = "20 s"
warmup = "2 s"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "5 Mbit/s", queue = "drop_tail" }
downstream.rate = "50 Mbit/s"
[flow.call]
application = "voice"
[flow.upload]
application = "bulk"
direction = "up"
"""

Open = Callable[..., Any]

#: Keeps the worker and the kinds of all that the page asks of it.
LISTEN = """
    window.asked = [];
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message, ...others) {
        window.engine = this;
        window.asked.push(message.kind);
        return post.call(this, message, ...others);
    };
"""


@pytest.fixture
def bench(browser: Any) -> Iterator[Open]:
    """Give what opens the workbench; any error or request of the page fails the test."""
    pages, faults = [], list[str]()

    def open_page(hash_: str = "#workbench", *, width: int = 1280, path: Path = LAB) -> Any:
        page = browser.new_page(viewport={"width": width, "height": 800}, accept_downloads=True)
        page.set_default_timeout(PATIENCE)
        page.add_init_script(LISTEN)
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.on("request", lambda request: faults.append(request.url))
        page.goto(f"{path.as_uri()}{hash_}")
        page.wait_for_selector(".cm-content")
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    # Its own text, its worker, and what it gives to be saved, all of which are parts of it.
    others = [own for own in faults if not own.startswith(("file:", "blob:"))]
    assert others == []


def write_link(content: Any) -> str:
    """Write what stands behind # for a scenario."""
    deflate = zlib.compressobj(wbits=-15)
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    packed = deflate.compress(text) + deflate.flush()
    return f"#workbench/{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def wait_until_ready(page: Any) -> None:
    page.wait_for_function("document.querySelector('button.main')?.disabled === false")


def run(page: Any) -> None:
    wait_until_ready(page)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_selector(".results .matrix")


def list_asked(page: Any, kind: str) -> int:
    """Count what of a kind the page has asked of the engine."""
    return int(page.evaluate("kind => window.asked.filter(own => own === kind).length", kind))


def write(page: Any, text: str) -> None:
    """Put a text in the editor's place by the keyboard, as a paste is one."""
    page.wait_for_function("document.querySelector('.state')?.innerText !== '…'")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def read_editor(page: Any) -> str:
    return "\n".join(page.locator(".cm-line").all_inner_texts()).replace("\u200b", "")


def read_words(page: Any) -> dict[str, tuple[str, str]]:
    """Give the word and the number of each flow in the matrix."""
    rows = page.evaluate(
        "[...document.querySelectorAll('.matrix tbody tr')].map(row => ["
        "row.cells[0].firstChild.textContent.trim(),"
        "row.querySelector('strong')?.lastChild.textContent.trim() ?? '',"
        "[...row.cells[1].childNodes].filter(node => node.nodeType === 3)"
        ".map(node => node.textContent).join('').trim()])"
    )
    return {flow: (word, number.replace("\u00a0", " ")) for flow, word, number in rows}


def save(page: Any, button: Any) -> str:
    """Press a button that saves a file, and give its content."""
    with page.expect_download() as started:
        button.click()
    return Path(started.value.path()).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["upload-and-call", "evening", "game-console", "low-latency-home", "office"]
)
def test_the_matrix_has_the_words_and_numbers_of_a_native_run(bench: Open, name: str) -> None:
    page = bench()
    page.locator(".shipped select").select_option(name)
    run(page)
    expected = {
        own.flow: (own.word, own.number if own.word else "no grade")
        for own in judge_flows(headend.run(list_scenarios()[name]))
    }
    words = read_words(page)
    # Of many of one kind, the row is that of one.
    assert {flow: expected[flow] for flow in words if flow in expected} == {
        flow: found for flow, found in words.items() if flow in expected
    }
    assert {flow for flow in expected if "." not in flow} <= set(words)


def test_a_saved_table_is_that_of_a_native_run(bench: Open, tmp_path: Path) -> None:
    page = bench()
    run(page)
    result = headend.run(list_scenarios()["upload-and-call"])
    result.to_csv(tmp_path / "tables")
    for table in ("flows", "queues", "measures", "queue_series"):
        page.locator(".files select").select_option(table)
        found = save(page, page.get_by_role("button", name="Save the table"))
        native = (tmp_path / f"tables/{table}.csv").read_text(encoding="utf-8")
        assert found.splitlines() == native.splitlines(), table


def list_units(part: dict[str, Any], datasets: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the charts of a specification that are not made of others, with the rows they draw."""
    if "layer" in part:
        return [unit for own in part["layer"] for unit in list_units(own, datasets)]
    channels = [
        own
        for channel in part["encoding"].values()
        for own in (channel if isinstance(channel, list) else [channel])
    ]
    fields = {own["field"] for own in channels if "field" in own}
    rows = [{name: row[name] for name in sorted(fields)} for row in datasets[part["data"]["name"]]]
    return [{**part, "data": rows}]


def round_all(text: str) -> Any:
    """Read JSON, whose numbers may differ by what the last bit of a product is."""
    return json.loads(text, parse_float=lambda number: round(float(number), 9))


def is_near(one: Any, other: Any) -> bool:
    """Say whether two values are the same, of numbers four digits: so many are in charts."""
    if isinstance(one, float | int) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=1.1e-3, abs_tol=1e-9)
    return bool(one == other)


@pytest.mark.parametrize("name", ["upload-and-call", "ten-uploads", "voice-adapter"])
def test_a_chart_is_that_of_the_report(bench: Open, name: str) -> None:
    page = bench()
    page.locator(".shipped select").select_option(name)
    run(page)
    drawn = draw_figures([headend.run(list_scenarios()[name])])
    figures = {figure.name: figure for figure in drawn}
    for figure in ("delay", "queue", "rates", "cwnd", "line-rate"):
        for place, panel in enumerate(figures[figure].panels):
            files = page.locator(f"[data-figure={figure}] .chart-files").nth(place)
            found = round_all(save(page, files.get_by_role("button", name="Vega-Lite")))
            expected = round_all(json.dumps(panel.specify()))
            own = list_units(found, found["datasets"])
            units = list_units(expected, expected["datasets"])
            for unit, other in zip(own, units, strict=True):
                rows, wanted = unit.pop("data"), other.pop("data")
                assert unit == other, figure
                assert len(rows) == len(wanted), figure
                wrong = [
                    (row, known)
                    for row, known in zip(rows, wanted, strict=True)
                    if not all(is_near(row[key], known[key]) for key in known)
                ]
                assert wrong == [], figure


def test_an_error_stands_where_it_is_and_is_said_once(bench: Open) -> None:
    page = bench()
    write(page, SMALL.replace('"voice"', '"voce"'))
    page.wait_for_selector(".cm-lintRange-error")
    assert page.inner_text(".cm-lintRange-error") == '"voce"'
    assert "did you mean" in page.inner_text(".state .refusal")
    assert page.get_by_role("button", name="Run", exact=True).is_disabled()
    write(page, SMALL)
    wait_until_ready(page)
    assert page.locator(".cm-lintRange-error").count() == 0


def test_a_run_that_is_stopped_keeps_what_it_has(bench: Open) -> None:
    page = bench()
    write(page, SMALL.replace('"20 s"', '"90000 s"'))
    wait_until_ready(page)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("document.querySelector('progress')?.value > 60_000")
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector(".partial")
    assert "of 90,000 s" in page.inner_text(".partial")
    assert set(read_words(page)) == {"call", "upload"}


def test_two_clicks_are_one_run_which_stop_ends(bench: Open) -> None:
    page = bench()
    write(page, SMALL.replace('"20 s"', '"90000 s"'))
    wait_until_ready(page)
    page.evaluate(
        "() => { const run = document.querySelector('button.main'); run.click(); run.click(); }"
    )
    page.wait_for_function("document.querySelector('progress')?.value > 1000")
    assert list_asked(page, "simulate") == 1
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector(".partial")
    assert page.locator("progress").count() == 0


def test_an_engine_that_dies_is_said_and_another_one_runs(bench: Open) -> None:
    page = bench()
    write(page, SMALL.replace('"20 s"', '"90000 s"'))
    wait_until_ready(page)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("document.querySelector('progress')?.value > 1000")
    page.evaluate(
        "window.engine.dispatchEvent(new ErrorEvent('error', { message: 'out of memory' }))"
    )
    page.wait_for_selector("[role=alert]")
    assert "out of memory" in page.inner_text("[role=alert]")
    write(page, SMALL)
    run(page)
    assert page.locator("[role=alert]").count() == 0


def test_a_file_that_cannot_be_read_is_said(bench: Open, tmp_path: Path) -> None:
    path = tmp_path / "gone.toml"
    path.write_text(SMALL, encoding="utf-8")
    page = bench()
    page.evaluate("() => { File.prototype.text = () => Promise.reject(new Error('gone')); }")
    page.locator("input[type=file]").set_input_files(path)
    page.wait_for_selector("[role=alert]")
    assert page.inner_text("[role=alert]").startswith("gone.toml cannot be read")


def test_no_link_is_made_that_the_workbench_would_refuse(bench: Open) -> None:
    page = bench()
    write(page, f"{SMALL}#{'x' * 2**18}")
    page.get_by_text("Share it, or run it elsewhere").click()
    page.get_by_role("button", name="Copy a link").click()
    page.wait_for_selector("[role=alert]")
    assert "256 KiB" in page.inner_text("[role=alert]")
    assert page.get_by_label("The link").count() == 0
    assert "headend lab scenario.toml --out FILE" in page.inner_text(".share")


def test_a_line_copied_out_of_its_table_is_answered_with_its_full_path(bench: Open) -> None:
    page = bench()
    page.get_by_text("Compare with a second setting").click()
    page.locator("textarea").fill('upstream.queue.drop_tail.limit = "30 ms"')
    page.wait_for_selector("#second-state .refusal")
    meant = "link.cable.docsis.upstream.queue.drop_tail.limit"
    assert f"did you mean {meant}?" in page.inner_text("#second-state .refusal")
    page.locator("textarea").fill(f'{meant} = "30 ms"')
    page.wait_for_selector("#second-state .refusal", state="detached")
    # Both flows have it.
    page.locator("textarea").fill('rtt = "30 ms"')
    page.wait_for_selector("#second-state .refusal")
    assert "did you mean" not in page.inner_text("#second-state .refusal")


def test_what_is_too_large_is_refused(bench: Open) -> None:
    page = bench()
    write(page, SMALL.replace('"20 s"', '"100000 s"') + "count = 3000\n")
    page.wait_for_selector(".state .refusal")
    assert "GiB of memory" in page.inner_text(".state .refusal")
    assert page.get_by_role("button", name="Run", exact=True).is_disabled()


def test_a_second_setting_is_drawn_beside_the_first_on_the_same_axes(bench: Open) -> None:
    page = bench()
    write(page, SMALL)
    page.get_by_text("Compare with a second setting").click()
    page.locator("textarea").fill("link.cable.docsis.upstream.queue = { codel = {} }")
    run(page)
    matrices = page.locator(".matrix")
    assert matrices.count() == 2
    assert "unusable" in matrices.nth(0).inner_text()
    assert "unusable" not in matrices.nth(1).inner_text()
    files = page.locator("[data-figure=queue] .chart-files")
    both = [
        json.loads(save(page, files.nth(at).get_by_role("button", name="Vega-Lite")))
        for at in (0, 1)
    ]
    ends = [json.dumps(own).partition('"domainMax": ')[2].partition(",")[0] for own in both]
    assert ends[0] == ends[1]
    page.locator("textarea").fill("link.cable.docsis.upstream.queue = { codle = {} }")
    page.wait_for_selector("#second-state .refusal")
    assert "codel" in page.inner_text("#second-state .refusal")


def test_a_link_brings_the_same_scenario_and_does_not_run_it(bench: Open) -> None:
    page = bench()
    write(page, SMALL)
    page.get_by_text("Compare with a second setting").click()
    page.locator("textarea").fill("seed = 7")
    page.get_by_label("Seed").fill("5")
    page.get_by_text("Share it, or run it elsewhere").click()
    page.get_by_role("button", name="Copy a link").click()
    page.wait_for_selector("[aria-label='The link']")
    link = page.get_by_label("The link").input_value()
    other = bench(f"#{link.partition('#')[2]}")
    wait_until_ready(other)
    assert read_editor(other).strip() == SMALL.strip()
    assert other.locator("textarea").input_value() == "seed = 7"
    assert other.get_by_label("Seed").input_value() == "5"
    # A run is asked for before its first check is answered, and two checks are.
    assert list_asked(other, "check") == 2
    assert list_asked(other, "simulate") == 0
    assert other.locator("progress").count() == 0


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("#workbench/%3Cscript%3E", "other characters"),
        ("#workbench/AAAA", "damaged"),
        (write_link(b"not JSON"), "damaged"),
        (write_link({"text": 5}), "no text"),
        (write_link({"text": "a", "overrides": "b"}), "other values"),
        (write_link({"text": "a", "seed": -1}), "seed"),
        (write_link({"text": "a" * 2**26}), "too much"),
        (f"#workbench/{'A' * 2**20}", "too long"),
    ],
    ids=["characters", "packed", "json", "text", "overrides", "seed", "bomb", "long"],
)
def test_a_wrong_link_is_refused_in_one_sentence(bench: Open, link: str, expected: str) -> None:
    page = bench(link)
    page.wait_for_selector("[role=alert]")
    assert expected in page.inner_text("[role=alert]")
    assert page.locator("[role=alert]").count() == 1
    assert read_editor(page).strip() == ""


def test_what_a_stranger_writes_is_only_text(bench: Open) -> None:
    evil = '<img src=x onerror=alert(1)><script>alert(2)</script> {{1+1}} datum.x \\" +alert(3)+'
    text = SMALL.replace('"Small"', f"'''{evil}'''")
    link = write_link({"text": text, "overrides": [["title", f"'''{evil}'''"]], "seed": None})
    page = bench(link)
    run(page)
    assert page.inner_text(".results h2") == evil
    assert page.locator(".bench img, .bench script").count() == 0
    page.wait_for_selector("[data-chart][data-drawn=yes]")


def test_values_of_a_link_are_run_alone_unless_it_says_to_compare(bench: Open) -> None:
    values = [["link.cable.docsis.upstream.queue", "codel"], ["duration", "15 s"]]
    content = {"text": SMALL, "overrides": values, "seed": 1}
    alone = bench(write_link(content))
    run(alone)
    assert alone.locator(".matrix").count() == 1
    assert "Of 15 s" in alone.inner_text(".matrix caption")
    assert alone.locator("[data-command]").count() == 1
    both = bench(write_link({**content, "compare": True}))
    run(both)
    assert both.locator(".matrix").count() == 2


def test_what_another_program_gives_is_shown(bench: Open, tmp_path: Path) -> None:
    given = '<script type="application/json" id="given">'
    content = json.dumps({"text": SMALL, "overrides": [], "seed": 3}).replace("<", "\\u003c")
    page_text = LAB.read_text(encoding="utf-8")
    filled = page_text.replace(f"{given}null", f"{given}{content}")
    if filled == page_text:
        filled = page_text.replace("<body>", f"<body>{given}{content}</script>", 1)
    path = tmp_path / "lab.html"
    path.write_text(filled, encoding="utf-8")
    page = bench(path=path)
    wait_until_ready(page)
    assert read_editor(page).strip() == SMALL.strip()
    assert page.get_by_label("Seed").input_value() == "3"


def test_the_keyboard_is_enough(bench: Open) -> None:
    page = bench()
    write(page, SMALL)
    page.keyboard.press("Control+Home")
    page.keyboard.press("Tab")
    assert page.evaluate("!document.activeElement.closest('.cm-editor')")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("!!document.activeElement.closest('.cm-editor')")
    assert read_editor(page).strip() == SMALL.strip()
    wait_until_ready(page)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".results .matrix")
    assert page.evaluate("document.activeElement.tagName") == "H2"


def test_completion_offers_what_the_schema_has_here(bench: Open) -> None:
    page = bench()
    wait_until_ready(page)
    write(page, "[link.cable.docsis]\n")
    page.keyboard.type("upst")
    page.wait_for_selector(".cm-tooltip-autocomplete")
    assert "upstream" in page.inner_text(".cm-tooltip-autocomplete")
    page.keyboard.press("Escape")
    write(page, "[flow.a]\napplication = ")
    page.keyboard.press("Control+i")
    page.wait_for_selector(".cm-tooltip-autocomplete")
    page.keyboard.type("voi")
    page.locator(".cm-tooltip-autocomplete li[aria-selected]", has_text='"voice"').wait_for()


def test_the_command_names_a_shipped_scenario_while_it_is_unchanged(bench: Open) -> None:
    page = bench()
    page.get_by_text("Share it, or run it elsewhere").click()
    assert page.inner_text("[data-command]") == "headend run upload-and-call"
    write(page, SMALL)
    page.get_by_text("Compare with a second setting").click()
    page.locator("textarea").fill('duration = "9 s"')
    page.wait_for_selector("[data-command='Second setting']")
    commands = page.locator("[data-command]").all_inner_texts()
    assert commands == [
        "headend run scenario.toml",
        "headend run scenario.toml --set 'duration=\"9 s\"'",
    ]


def test_a_picture_can_be_saved(bench: Open) -> None:
    page = bench()
    run(page)
    files = page.locator("[data-figure=queue] .chart-files").first
    picture = save(page, files.get_by_role("button", name="SVG"))
    assert picture.startswith("<svg")
    assert "queue delay (ms)" in picture


def test_numbers_stand_under_the_pointer_as_text(bench: Open) -> None:
    page = bench()
    run(page)
    page.wait_for_selector("[data-chart=delay][data-drawn=yes]")
    page.evaluate(
        """() => {
            const path = document.querySelector("[data-chart=delay] .mark-line path");
            const start = path.getPointAtLength(0), matrix = path.getScreenCTM();
            const clientX = start.x * matrix.a + matrix.e, clientY = start.y * matrix.d + matrix.f;
            const options = { bubbles: true, clientX, clientY };
            path.dispatchEvent(new PointerEvent("pointermove", options));
        }"""
    )
    lines = page.inner_text(".chart-tip").splitlines()
    assert lines[0] == "call ↑"
    assert lines[2] == "above: 100%"


@pytest.mark.parametrize("width", [390, 768])
def test_nothing_is_wider_than_the_screen(bench: Open, width: int) -> None:
    page = bench(width=width)
    run(page)
    page.wait_for_selector("[data-chart][data-drawn=yes]")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
