"""Upload with iperf3 and watch the first connection: `upload.py SECONDS STREAMS CONGESTION`.

Prints lines of JSON: first `{"segments", "at"}`, the first slow-start threshold that `ss` shows and
its time since the start in s, or null; at the end `{"streams"}`, what each stream brought to the
receiver after the first 5 s, bit/s.
"""

import json
import re
import subprocess
import sys
import time

#: How often the connection is looked at, and for how long, s: HyStart leaves slow start soon, or
#: not at all.
STEP, WATCHED = 0.05, 15

seconds, streams, congestion = sys.argv[1:4]
words = [
    "iperf3",
    "-4",
    "-c",
    "server",
    "-J",
    "-t",
    seconds,
    "-P",
    streams,
    "-O",
    "5",
    "-C",
    congestion,
]
began = time.monotonic()
process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
found = None
while time.monotonic() - began < WATCHED and process.poll() is None and not found:
    shown = subprocess.run(
        ["ss", "-tinH", "dport", "=", ":5201"], capture_output=True, text=True, check=False
    )
    # The control connection sends little; those of data have soon sent more.
    for text in re.split(r"\n(?=\S)", shown.stdout):
        sent, ssthresh = (
            re.search(rf"\b{name}:(\d+)", text) for name in ("bytes_sent", "ssthresh")
        )
        if sent and ssthresh and int(sent[1]) > 10_000:
            found = {"segments": int(ssthresh[1]), "at": time.monotonic() - began}
            break
    time.sleep(STEP)
print(json.dumps(found), flush=True)
output, _ = process.communicate()
document = json.loads(output)
if "error" in document:
    sys.exit(document["error"])
ends = document["end"]["streams"]
print(json.dumps({"streams": [own["receiver"]["bits_per_second"] for own in ends]}))
