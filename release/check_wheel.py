"""`make wheel-check`: what somebody meets who installs the wheel, and what it costs them.

Looks at what the wheel (and the source distribution beside it) holds. Then installs the wheel into
a fresh environment with an empty home folder and nothing else on PATH, so neither cargo nor a
package manager's cache helps, runs a scenario and a comparison there, and opens their pages without
a network. Prints times and sizes. Exits with 1, one line for each fault, when anything is wrong,
when more than 60 s pass from pip to the first report, or when the environment is not below 300 MB
or the wheel not below 8 MB (of 2^20 bytes).
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path

LONGEST_S = 60
BELOW_MB = 300
WHEEL_BELOW_MB = 8

ROOT = Path(__file__).parents[1]

SCENARIO = "upload-and-call"
VARY = "queue=drop_tail,docsis_pie"

#: What a wheel must hold, and what an archive must not hold: regular expressions for paths in it.
WHEEL_HOLDS = (
    r"headend/__init__\.py",
    r"headend/_engine\.abi3\.so",
    r"headend/_engine\.pyi",
    r"headend/py\.typed",
    r"headend/lab/index\.html",
    r"headend/pages/templates/.+",
    rf"headend/shipped/scenarios/{SCENARIO}\.toml",
    r"headend/shipped/scenarios/aqm/.+\.toml",
    r"headend/shipped/studies/.+/study\.toml",
    r"headend/shipped/sweeps/buffer-sizes\.toml",
    r"headend/shipped/studies/.+/analysis\.py",
    r"headend-[^/]+\.dist-info/licenses/LICENSE",
    r"headend-[^/]+\.dist-info/entry_points\.txt",
)
WHEEL_LACKS = (
    r"(?!headend/|headend-[^/]+\.dist-info/).*",  # anything beside the package and its description
    r".*__pycache__.*",
    r".*\.(pyc|rs|whl)",
    r"headend/(?!_engine\.abi3\.so).*\.so",
    r"(.*/)?tests?/.*",
)
SOURCES_HOLD = (
    r"CHANGELOG\.md",
    r"Cargo\.lock",
    r"Cargo\.toml",
    r"LICENSE",
    r"PKG-INFO",
    r"README\.md",
    r"pyproject\.toml",
    r"crates/headend/src/lib\.rs",
    r"crates/headend-python/src/lib\.rs",
    r"python/headend/__init__\.py",
    r"python/headend/lab/index\.html",
    rf"python/headend/shipped/scenarios/{SCENARIO}\.toml",
    r"python/headend/shipped/studies/.+/analysis\.py",
    r"python/headend/shipped/sweeps/buffer-sizes\.toml",
)
SOURCES_LACK = (
    r"(target|results|dist|\.venv|\.git)/.*",
    r".*__pycache__.*",
    r".*\.(pyc|so|whl)",
)


@dataclass
class Check:
    """What was measured and what was wrong."""

    faults: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    cpu_s: dict[str, float] = field(default_factory=dict)
    fetching_s: float | None = None
    size_mb: int = 0
    wheel_mb: float = 0.0


def main() -> None:
    """Check the wheel that is named, print the measurements, and exit with 1 if wrong."""
    parser = argparse.ArgumentParser(
        description="Install a wheel where nothing else is, and use it."
    )
    parser.add_argument(
        "wheel", type=Path, help="the wheel, or the folder that holds one for this machine"
    )
    parser.add_argument(
        "--keep", type=Path, help="make the environment in this folder, and leave it there"
    )
    options = parser.parse_args()
    wheel = find_wheel(options.wheel)
    check = Check(wheel_mb=wheel.stat().st_size / 2**20)
    print(f"{wheel.name}: {check.wheel_mb:.2f} MB, Python {sys.version.split()[0]}")
    check.faults += judge_names(wheel.name, list_wheel(wheel), WHEEL_HOLDS, WHEEL_LACKS)
    for sources in sorted(wheel.parent.glob("headend-*.tar.gz")):
        print(f"{sources.name}: {sources.stat().st_size / 2**20:.2f} MB")
        check.faults += judge_names(sources.name, list_sources(sources), SOURCES_HOLD, SOURCES_LACK)
    with tempfile.TemporaryDirectory(prefix="wheel-check-") as folder:
        use(wheel, (options.keep or Path(folder)).resolve(), check)
    for step, seconds in check.seconds.items():
        print(f"{seconds:7.1f} s  {step} (CPU {check.cpu_s[step]:.1f} s)")
    if check.fetching_s is not None:
        print(
            f"{check.fetching_s:7.1f} s  of pip: until all was fetched (the network); the rest"
            " unpacks and compiles"
        )
    print(f"{check.size_mb:7} MB environment")
    check.faults += judge_costs(check)
    for fault in check.faults:
        print(f"wheel-check: {fault}", file=sys.stderr)
    sys.exit(bool(check.faults))


def find_wheel(path: Path) -> Path:
    """Give the wheel at ``path``; of a folder, the newest one for this machine."""
    if path.is_file():
        return path.resolve()
    machine = os.uname().machine
    wheels = sorted(path.glob(f"headend-*_{machine}.whl"), key=lambda wheel: wheel.stat().st_mtime)
    if not wheels:
        sys.exit(f"wheel-check: {path}: found no wheel for {machine}; `make wheel` builds one")
    return wheels[-1].resolve()


def list_wheel(wheel: Path) -> list[str]:
    """List the files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return [name for name in archive.namelist() if not name.endswith("/")]


def list_sources(sources: Path) -> list[str]:
    """List the files of a source distribution, without the folder that all of them are in."""
    with tarfile.open(sources) as archive:
        return [member.name.partition("/")[2] for member in archive if not member.isdir()]


def judge_names(
    archive: str, names: Iterable[str], holds: Iterable[str], lacks: Iterable[str]
) -> list[str]:
    """Say what is missing in an archive and what must not be there."""
    names = list(names)
    faults = [
        f"{archive}: found nothing that matches {pattern}"
        for pattern in holds
        if not any(re.fullmatch(pattern, name) for name in names)
    ]
    for pattern in lacks:
        unwanted = [name for name in names if re.fullmatch(pattern, name)]
        if unwanted:
            more = f" and {len(unwanted) - 1} more" if unwanted[1:] else ""
            faults.append(
                f"{archive}: found {unwanted[0]}{more}, expected nothing that matches {pattern}"
            )
    return faults


def judge_costs(check: Check) -> list[str]:
    """Say which limits are not kept."""
    faults = []
    until_report = sum(
        check.seconds.get(step, 0.0) for step in ("pip install", "headend --version", "headend run")
    )
    if until_report > LONGEST_S:
        faults.append(
            f"{until_report:.0f} s from pip to the first report, expected at most {LONGEST_S} s"
        )
    if check.size_mb >= BELOW_MB:
        faults.append(f"the environment takes {check.size_mb} MB, expected less than {BELOW_MB} MB")
    if check.wheel_mb >= WHEEL_BELOW_MB:
        faults.append(
            f"the wheel takes {check.wheel_mb:.2f} MB, expected less than {WHEEL_BELOW_MB} MB"
        )
    return faults


def use(wheel: Path, folder: Path, check: Check) -> None:
    """Install the wheel below ``folder`` and do with it what its first user would."""
    if any((folder / name).exists() for name in ("environment", "home", "work")):
        sys.exit(f"wheel-check: {folder}: holds an environment already; expected a fresh folder")
    environment, home, work = folder / "environment", folder / "home", folder / "work"
    home.mkdir(parents=True)
    work.mkdir()
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    # Nothing of the caller's environment, and nothing on PATH but the new environment's own
    # programs.
    variables = {"HOME": str(home), "PATH": str(environment / "bin"), "LANG": "C.UTF-8"}

    def run(step: str, *command: str) -> str | None:
        """Run a step against the clock; give what it printed, or None if it failed."""
        started, cpu = time.monotonic(), measure_cpu_s()
        done = subprocess.run(
            command, cwd=work, env=variables, capture_output=True, text=True, check=False
        )
        check.seconds[step] = time.monotonic() - started
        check.cpu_s[step] = measure_cpu_s() - cpu
        if done.returncode == 0:
            return done.stdout
        said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
        check.faults.append(f"{step}: exit code {done.returncode}, its last line: {said[-1]}")
        return None

    log = folder / "pip.log"
    python = str(environment / "bin/python")
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input", "--log", str(log))
    installed = run("pip install", python, "-m", "pip", "install", *quiet, str(wheel))
    check.size_mb = measure_mb(environment)
    if installed is None:
        return
    check.fetching_s = read_fetching(log.read_text(encoding="utf-8"))
    headend = str(environment / "bin/headend")
    version = run("headend --version", headend, "--version")
    if version is not None and "headend" not in version:
        check.faults.append(f"headend --version: printed {version.strip()!r}, expected its name")
    use_lab(wheel, work, python, headend, run, check)
    use_runs(work, headend, run, check)
    # Once more: the first runs may have written caches of their own.
    check.size_mb = measure_mb(environment)


def use_lab(
    wheel: Path,
    work: Path,
    python: str,
    headend: str,
    run: Callable[..., str | None],
    check: Check,
) -> None:
    """Hold the wheel's lab against the sources that this script is of, and write a copy of it."""
    with zipfile.ZipFile(wheel) as archive:
        if "headend/lab/index.html" not in archive.namelist():
            return  # which is a fault already
        page = Path(archive.extract("headend/lab/index.html", work / "wheel"))
    run("the lab's sources", python, str(ROOT / "web/export.py"), "--check", str(page))
    run("headend lab", headend, "lab", SCENARIO, "--no-open", "--out", "lab.html")
    addresses = find_addresses(page.read_text(encoding="utf-8"))
    check.faults += [f"the lab: asks the network for {address}" for address in addresses]


def use_runs(work: Path, headend: str, run: Callable[..., str | None], check: Check) -> None:
    """Run a scenario and a comparison, verify what they wrote and open their pages."""
    for step, command, name in (
        ("headend run", ["run", SCENARIO], SCENARIO),
        (
            "headend compare",
            ["compare", SCENARIO, "--vary", VARY, "--out", "results/compared"],
            "compared",
        ),
    ):
        folder = work / "results" / name
        if run(step, headend, *command) is None:
            continue
        pages = sorted(folder.glob("*.html"))
        if not pages:
            check.faults.append(f"{step}: found no page in results/{name}")
        run(f"headend verify ({name})", headend, "verify", str(folder))
        for page in pages:
            check.faults += [f"{step}: {page.name}: {fault}" for fault in open_page(page)]


def measure_cpu_s() -> float:
    """Give the CPU time in s of all processes that were started here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure_mb(folder: Path) -> int:
    """Give what a folder takes on disk in units of 2^20 bytes, rounded up, as ``du -sm`` does."""
    seen: set[tuple[int, int]] = set()
    blocks = 0
    for path in [folder, *folder.rglob("*")]:
        status = path.lstat()
        if (status.st_dev, status.st_ino) not in seen:
            seen.add((status.st_dev, status.st_ino))
            blocks += status.st_blocks
    return -(-blocks * 512 // 2**20)


def read_fetching(log: str) -> float | None:
    """Give the seconds of pip's log until it had everything that it installs; or None."""
    times = re.findall(r"^(\d{4}-\d\d-\d\dT[\d:]+,\d+) +(.*)$", log, re.MULTILINE)
    for stamp, text in times:
        if text.startswith("Installing collected packages"):
            return (_read_time(stamp) - _read_time(times[0][0])).total_seconds()
    return None


def _read_time(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp.replace(",", "."))


def open_page(page: Path) -> list[str]:
    """Say what is wrong with a page when it is opened without a network."""
    faults = [
        f"asks the network for {address}"
        for address in find_addresses(page.read_text(encoding="utf-8"))
    ]
    browser = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if browser is None:
        print(f"{page.parent.name}/{page.name}: no Chromium here, so it was not opened")
        return faults
    with tempfile.TemporaryDirectory() as profile:
        opened = subprocess.run(
            [
                browser, "--headless=new", "--no-sandbox", "--disable-gpu",
                f"--user-data-dir={profile}",
                "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=30000",
                "--dump-dom", page.as_uri(),
            ],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    drawn = opened.stdout.count("<svg xmlns=")
    if 'data-drawn="yes"' not in opened.stdout or not drawn:
        faults.append(f"drew {drawn} charts in Chromium and did not come to its end")
    else:
        print(
            f"{page.parent.name}/{page.name}: {drawn} charts drawn in Chromium, without a network"
        )
    return faults


def find_addresses(page: str) -> list[str]:
    """List what a page would load from elsewhere, without links for readers to follow."""
    tags = r"<(?:script|img|iframe|source)\b[^>]*?\bsrc=[\"']((?:https?:)?//[^\"']+)"
    links = r"<link\b[^>]*?\bhref=[\"']((?:https?:)?//[^\"']+)"
    styles = r"(?:@import\s+|url\()[\"']?((?:https?:)?//[^\"')]+)"
    found = [re.findall(pattern, page, re.IGNORECASE) for pattern in (tags, links, styles)]
    return list(dict.fromkeys(chain.from_iterable(found)))


if __name__ == "__main__":
    main()
