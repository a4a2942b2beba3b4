"""The same measurements through other shapers: tbf of the kernel, and rattan if given.

Everything happens in network namespaces that vanish with the processes in them; both need root.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from emulation.tools import IPERF_SERVER

#: A pair of namespaces, `left` and `right`, joined by a cable; each direction is shaped by tbf,
#: which counts 14 B of Ethernet with each packet. Packets are not joined into larger ones on the
#: way, as none are on a TUN.
TBF = """
set -e
ip link set lo up
unshare --net sleep {lifetime} &
other=$!
sleep 0.2
ip link add left type veth peer name right netns $other
ip link set dev left gso_max_segs 1
ip addr add 10.7.0.1/24 dev left
ip link set left up
inside="nsenter --net=/proc/$other/ns/net"
$inside sh -c 'ip link set lo up; ip link set dev right gso_max_segs 1
    ip addr add 10.7.0.2/24 dev right; ip link set right up'
tc qdisc add dev left root tbf rate {up} burst {burst_up} limit {limit_up}
$inside tc qdisc add dev right root tbf rate {down} burst {burst_down} limit {limit_down}
$inside {server} >/dev/null &
sleep 0.5
{command}
"""

#: Rattan makes its own namespaces; the server is in the one that it is started from.
RATTAN = """
set -e
ip link set lo up
mount -t tmpfs none /run
mkdir -p /run/netns
{server} >/dev/null &
sleep 0.5
{fifo} {rattan} link {shape} -- sh -c {command}
"""

#: The address of the server as a command names it in either.
TBF_SERVER, RATTAN_SERVER = "10.7.0.2", "$RATTAN_BASE"


def find_missing_tbf() -> str | None:
    """Say why tbf cannot be measured here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    for tool in ("tc", "unshare", "nsenter"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    words = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "tbf"]
    words += ["rate", "1mbit", "burst", "1540", "limit", "10000"]
    ended = subprocess.run(words, capture_output=True, text=True)
    return None if ended.returncode == 0 else "the kernel has no tbf"


def find_missing_rattan() -> str | None:
    """Say why rattan cannot be measured here, or None."""
    program = os.environ.get("RATTAN")
    if program is None:
        return "RATTAN=path of a release binary is not set"
    if not os.access(program, os.X_OK):
        return f"RATTAN: {program} is no program"
    return None if os.geteuid() == 0 else "needs root"


def run_tbf(command: Sequence[str], *, up: float, down: float) -> str:
    """Run a command through tbf at rates in bit/s, buffers of 250 ms, and give its output.

    A burst is what 1 ms carries, two packets at least.
    """
    text = TBF.format(
        lifetime=120,
        server=shlex.join(IPERF_SERVER),
        command=shlex.join(command),
        up=f"{up:.0f}bit",
        down=f"{down:.0f}bit",
        burst_up=max(3028, round(up / 8000)),
        burst_down=max(3028, round(down / 8000)),
        limit_up=round(up / 32),
        limit_down=round(down / 32),
    )
    return _run_inside(text)


def run_rattan(
    command: Sequence[str], *, up: float, down: float, rtt: float, is_fifo: bool = True
) -> str:
    """Run a command through rattan at rates in bit/s, RTT in s and buffers of 250 ms.

    Rattan counts IP bytes; it is in SCHED_FIFO, the command is not. The words of the command may
    name the server as ``RATTAN_SERVER``.
    """
    can_choose = shutil.which("chrt") is not None
    shape: list[str] = []
    for way, rate in (("uplink", up), ("downlink", down)):
        shape += [
            f"--{way}-bandwidth",
            f"{rate / 1e6:.0f}Mbps",
            f"--{way}-delay",
            f"{rtt * 500:.0f}ms",
        ]
        limit = f'{{"byte_limit": {round(rate / 32)}}}'
        shape += [f"--{way}-queue", "droptail", f"--{way}-queue-args", limit]
    inner = " ".join(word if word == RATTAN_SERVER else shlex.quote(word) for word in command)
    text = RATTAN.format(
        server=shlex.join(IPERF_SERVER),
        fifo="chrt -f 10" if is_fifo and can_choose else "",
        rattan=shlex.quote(str(Path(os.environ["RATTAN"]).absolute())),
        shape=shlex.join(shape),
        command=shlex.quote(f"exec chrt -o 0 {inner}" if can_choose else inner),
    )
    return _run_inside(text)


def _run_inside(text: str) -> str:
    words = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    ended = subprocess.run([*words, "sh", "-c", text], capture_output=True, text=True, timeout=120)
    if ended.returncode:
        raise RuntimeError(
            f"exit code {ended.returncode}:\n{ended.stdout[-800:]}{ended.stderr[-800:]}"
        )
    return ended.stdout
