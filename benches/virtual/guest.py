"""A real Linux kernel in virtual time: how kernel-lab is called, and what is kept of its runs.

A run in virtual time repeats to the microsecond, so a run whose kernel, scripts, cells and seed are
the same is not made again: its files are kept in `target/kernel-lab/runs`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from virtual.flows import FlowsOrder
from virtual.uploads import Order

BENCHES = Path(__file__).parent.parent
KERNEL_LAB = BENCHES / "kernel-lab" / "kernel-lab"
LIBRARY = KERNEL_LAB.with_name("lib.sh")
PROGRAMS = Path(__file__).parent / "programs"

#: What each program of the guest is laid beside.
BESIDE: dict[str, tuple[Path, ...]] = {"uploads.sh": (), "flows.sh": (PROGRAMS / "uploads.sh",)}

#: Where packages, kernels and runs are kept; KERNEL_LAB_CACHE says otherwise.
CACHE = BENCHES.parent / "target" / "kernel-lab"

KERNELS = ("6.1", "6.12")

#: Longest run, s: in the guest, and here.
GUEST_LIMIT, LIMIT = 3000, 20_000

#: What fetches the packages and what unpacks them.
TOOLS = ("apt-get", "dpkg-deb")


class GuestFailedError(Exception):
    """The guest did not end well; the message says how."""


def find_missing() -> str | None:
    """Say in a line what this machine lacks to run the kernel, or None."""
    if sys.platform != "linux":
        return "needs Linux"
    if os.geteuid() != 0:
        return "needs root, to fetch and unpack the kernel"
    for tool in TOOLS:
        if shutil.which(tool) is None:
            return f"{tool} is not installed: the kernel comes from Debian's packages"
    for row in ("ID=debian", 'VERSION_ID="12"'):
        if row not in _read_release():
            return "needs Debian 12, whose packages the kernel and its tools come from"
    if shutil.which("qemu-system-x86_64") is None:
        return "qemu-system-x86_64 is not installed (Debian: the package qemu-system-x86)"
    return None


def _read_release() -> list[str]:
    file = Path("/etc/os-release")
    return file.read_text().splitlines() if file.exists() else []


def run_guest(orders: Sequence[Order | FlowsOrder], *, kernel: str, seed: int) -> Path:
    """Let a kernel run cells of a program, one after another.

    Parameters
    ----------
    orders
        What it is to do; all of one program.
    kernel
        ``"6.1"`` or ``"6.12"``.
    seed
        Of the guest's random numbers.

    Returns
    -------
    Path
        A folder with one for each cell.

    Raises
    ------
    GuestFailedError
        If the guest ended with an exit code, or did not run at all.
    """
    text = "".join(f"{order.write()}\n" for order in orders)
    program = PROGRAMS / orders[0].PROGRAM
    beside = BESIDE[orders[0].PROGRAM]
    parts = [kernel, str(seed), program.read_text(), LIBRARY.read_text(), text]
    parts += [file.read_text() for file in beside]
    cache = Path(os.environ.get("KERNEL_LAB_CACHE", CACHE))
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    out = cache / "runs" / name
    if out.exists():
        return out
    work = out.with_name(f"{name}.part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "cells").write_text(text)
    words = [str(KERNEL_LAB), "--cache", str(cache), "run", "--quiet", "--kernel", kernel]
    words += ["--seed", str(seed), "--out", str(work), "--file", str(work / "cells")]
    words += [word for file in beside for word in ("--file", str(file))]
    words += ["--limit", str(LIMIT), "--guest-limit", str(GUEST_LIMIT), str(program)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    if ended.returncode:
        said = ended.stderr.strip().splitlines()
        raise GuestFailedError(
            f"the guest ended with {ended.returncode}: {said[-1] if said else '?'}"
        )
    work.rename(out)
    return out
