"""Sleep for 10 ms until SIGTERM, at most ten minutes, and say how late sleeps ended."""

import contextlib
import json
import os
import signal
import time
from pathlib import Path

INTERVAL_NS = 10_000_000
AT_MOST = 60_000

late: list[int] = []
ended = False


def end(number: int, frame: object) -> None:
    """Let the loop end."""
    global ended
    ended = True


signal.signal(signal.SIGTERM, end)
with contextlib.suppress(OSError):
    Path("/proc/self/timerslack_ns").write_text("1")
scheduling = "fifo"
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
except OSError:
    scheduling = "other"
print("ready", flush=True)
due = time.monotonic_ns()
while not ended and len(late) < AT_MOST:
    due += INTERVAL_NS
    time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
    now = time.monotonic_ns()
    if not ended:
        late.append(now - due)
    due = max(due, now - INTERVAL_NS)
late.sort()
count = len(late)
found = {
    "scheduling": scheduling,
    "count": count,
    "p50_ns": late[count // 2] if late else 0,
    "p99_ns": late[count * 99 // 100] if late else 0,
    "max_ns": late[-1] if late else 0,
}
print(json.dumps(found))
