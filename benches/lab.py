"""Times the lab in a browser: first picture, slider to picture, frames and memory.

Run it when nothing else runs: `.venv/bin/python benches/lab.py [--hours 10]`. It needs Chromium and
what `make web` builds. CPU is throttled where a row says so, as the developer tools do it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

LAB = Path(__file__).parents[1] / "target/web/index.html"
CHROMIUM = "/usr/bin/chromium"
THROTTLE = 4
READY = "document.querySelector('[data-flow=call] strong')?.innerText === 'good'"
FRAMES = """(ms) => new Promise((done) => {
  let count = -1;
  const end = performance.now() + ms;
  const step = (now) => { count += 1; now < end ? requestAnimationFrame(step) : done(count); };
  requestAnimationFrame(step);
})"""
#: Pictures follow each other as fast as the engine lets them, a tenth of a second apart.
HURRY = """
let now = 0;
performance.now = () => now;
window.requestAnimationFrame = (step) => setTimeout(() => { now += 100; step(now); }, 0);
window.cancelAnimationFrame = (frame) => clearTimeout(frame);
"""


def open_lab(browser: Browser, script: str = "") -> tuple[Page, float]:
    """Open the lab; give its page and the seconds to the first picture with numbers."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    if script:
        page.add_init_script(script)
    began = time.monotonic()
    page.goto(LAB.as_uri())
    page.wait_for_function(READY, polling=20, timeout=60_000)
    return page, time.monotonic() - began


def throttle(page: Page) -> Any:
    """Slow the page's CPU down; give the session that keeps it so."""
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": THROTTLE})
    return session


def time_turns(page: Page, turn: Any, times: int) -> list[float]:
    """Turn something some times; give the ms from each turn to the picture of it."""
    entries = "performance.getEntriesByType('measure')"
    for number in range(times):
        turn()
        page.wait_for_function(f"{entries}.length > {number}", timeout=60_000)
        page.wait_for_timeout(1000)
    taken: list[float] = page.evaluate(f"{entries}.map((own) => own.duration)")
    page.evaluate("performance.clearMeasures()")
    return taken


def show(name: str, values: list[float], unit: str) -> None:
    """Print the median and the worst of some values."""
    worst = max(values)
    print(f"{name:58} {statistics.median(values):8.1f} {unit}, worst of {len(values)} {worst:.1f}")


def measure_memory(browser: Browser, hours: float) -> None:
    """Let the line run for simulated hours; print the heap of the page after each."""
    page, _ = open_lab(browser, HURRY)
    page.get_by_label("time", exact=True).select_option("10 times faster")
    for hour in range(1, int(hours) + 1):
        before = float(page.get_attribute(".line", "data-now") or 0)
        simulated = 0.0
        while simulated < 3_600_000:
            page.wait_for_timeout(1000)
            now = float(page.get_attribute(".line", "data-now") or 0)
            simulated += now - before if now >= before else now
            before = now
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        heap = session.send("Runtime.getHeapUsage")["usedSize"]
        print(f"after {hour} simulated hours: page {heap / 1e6:.1f} MB")


def main() -> None:
    """Print all rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=0, help="measure memory over so many hours")
    hours = parser.parse_args().hours
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        firsts = []
        for _ in range(5):
            page, first = open_lab(browser)
            page.close()
            firsts.append(first * 1e3)
        show("first picture with numbers", firsts, "ms")
        page, _ = open_lab(browser)
        show("frames a second", [page.evaluate(FRAMES, 5000) / 5], "")
        session = throttle(page)
        show(f"frames a second, CPU / {THROTTLE}", [page.evaluate(FRAMES, 5000) / 5], "")
        page.get_by_role("slider", name="buffer").focus()
        taken = time_turns(page, lambda: page.keyboard.press("ArrowRight"), 6)
        show(f"slider to picture, CPU / {THROTTLE}", taken, "ms")
        box = page.get_by_label("low latency")
        taken = time_turns(page, box.click, 6)
        show(f"low latency on or off to picture, CPU / {THROTTLE}", taken, "ms")
        session.detach()
        page.close()
        if hours:
            measure_memory(browser, hours)
        browser.close()


if __name__ == "__main__":
    main()
