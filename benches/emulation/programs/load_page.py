"""Load pages with Chromium: `load_page.py CHROMIUM LOADS WAIT PAUSE`; times in ms as JSON.

Each load is by a browser without a connection and without a cache, WAIT s after the start and PAUSE
s after the load before. A load ends with the last byte of the last resource.
"""

import json
import sys
import time

from playwright.sync_api import sync_playwright

chromium, loads, wait, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])

#: From the start of the navigation to the end of the last resource.
READ = """() => Math.max(...performance.getEntriesByType("resource").map(own => own.responseEnd),
performance.getEntriesByType("navigation")[0].responseEnd)"""

began = time.monotonic()
times, counts = [], []
with sync_playwright() as started:
    browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    time.sleep(max(0, wait - (time.monotonic() - began)))
    for number in range(loads):
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"http://server:8000/?{number}", wait_until="load", timeout=120_000)
        times.append(page.evaluate(READ))
        counts.append(page.evaluate("() => performance.getEntriesByType('resource').length"))
        context.close()
        time.sleep(pause)
    browser.close()
print(json.dumps({"times": times, "resources": min(counts)}))
