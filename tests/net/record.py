"""The net under refactorings: what some 90 commands print, write and draw.

``python tests/net/record.py`` writes it anew, ``--check`` says which commands differ and exits 1;
both leave every text in ``target/net``, where ``diff -r`` shows what moved (``--keep NAME`` for
another folder there). What is printed stands in ``outputs``, if it is short; of all texts, JSON,
pages and tables ``hashes.json`` has hashes.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import polars as pl
from click.testing import CliRunner

from headend.cli.main import app
from headend.scenario.shipped import SHIPPED
from headend.scenario.source import read_scenario

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OUTPUTS = HERE / "outputs"
HASHES = HERE / "hashes.json"

TIERS = """\
seeds = 2
[tier.bronze]
upstream = "5 Mbit/s"
downstream = "50 Mbit/s"
[tier.gold]
upstream = "35 Mbit/s"
downstream = "350 Mbit/s"
"""

SWEEP = """\
format = 1
title = "Which buffer suits a call?"
scenario = "upload-and-call"
seeds = 2
[set]
duration = "25 s"
[grid]
link.cable.docsis.upstream.rate = { values = ["2 Mbit/s", "10 Mbit/s"], name = "rate" }
queue.buffer_control.target = { values = ["16 KiB", "64 KiB", "256 KiB"], name = "buffer" }
[measures]
call = "call.mos.mean"
upload = "upload.goodput"
page = "page.page_load_time.p50"
[wish]
hold = "call >= 4.0"
most = "upload"
"""

#: A line whose two real hosts a recording has.
REAL = """\
duration = "5 s"
[link.line.point_to_point]
up = { rate = "2 Mbit/s" }
[host.laptop]
via = ["line"]
real = true
[host.server]
real = true
[flow.laptop]
host = "laptop"
application = "real"
"""

# A name and a command; later commands read the folders of earlier ones. `--out` of the name is
# added to what runs.
COMMANDS = """
grid              compare upload-and-call --vary queue=drop_tail,docsis_pie,codel --set duration=20s
grid-seeds        compare ten-uploads --vary queue=drop_tail,fq_codel --seeds 3 --set duration=35s
grid-tiers        compare upload-and-call --vary queue=drop_tail,docsis_pie \
                  --vary link.cable.docsis.upstream.rate=2Mbit/s,10Mbit/s --set duration=20s
seeds             compare wifi-home --seeds 3 --set duration=45s
loose             compare upload-and-call-json voice-adapter-json
sweep             sweep sweep.toml
sweep-2           sweep sweep.toml --seeds 2 --prefer 'least page'
sweep-3           sweep buffer-sizes --seeds 1 --set duration=20s
tier              recommend --upstream 10Mbit/s --seeds 2 --set duration=25s --may-set aqm
tiers             recommend tiers.toml --senders cubic --set duration=25s \
                  --traffic 'call, 2 uploads, page'
tiers-again       recommend tiers --expect 'call.mos.p5 >= 4.2' \
                  --prefer 'least page.page_load_time.p50'
by-hand           import --down 300 --up 20 --idle 12 --loaded-up 180 --seeds 2
my-line           recommend by-hand/my-line.toml --seeds 1
study             study run cable-plant/request-grant --quick
study-2           study run buffer-control/sawtooth --quick
study-show        study show buffer-control/ping-latency
study-list        study list
study-figure      study show 'figure 4'
replay            replay recording.pcapng
replay-open       replay recording.pcapng --set queue=codel
report-1          report grid
report-2          report upload-and-call-json wifi-home-json --out two.html
figures-1         figures upload-and-call-json --list
figures-2         figures sweep --list
figures-3         figures tiers --list
export-1          export grid --csv grid-csv
export-2          export sweep --csv sweep-csv
verify-1          verify grid
config-from       config from upload-and-call -o modem.cm
config-show       config show modem.cm
config-check      config check modem.cm --unsigned
config-decode     config decode modem.cm
config-low        config from low-latency-home -o low.cm
config-show-low   config show low.cm
config-check-low  config check low.cm --unsigned
config-diff       config diff modem.cm low.cm
modem             run upload-and-call --modem modem.cm --set duration=20s
packet            run upload-and-call --set duration=20s --explain call@15s
find              find bufferbloat
find-2            find zoom
queues            queues
queue             queues docsis_pie
senders           senders bbr
applications      applications voice
scenarios         scenarios
wrong-key         run upload-and-call --set link.cable.docsis.upstrem.rate=1Mbit/s
wrong-name        run uplod-and-call
wrong-unit        run upload-and-call --set duration=10
wrong-expect      run upload-and-call --set 'expect=["call.moss > 3"]'
wrong-vary        compare upload-and-call --vary queue=drop_tial,codel
"""

#: Texts of more lines are not kept, only their hashes.
LONG = 60

#: What runs, and takes a results folder.
RUNS = {"run", "compare", "sweep", "recommend", "replay", "import"}

_VOLATILE = (
    (re.compile(r"\b\d[\d.,]*\s?(µs|ms|s|min|h),\s[\d.,]+\s×\sreal\stime"), "TIME"),
    (re.compile(r'("(?:wall_seconds|version|engine_version)": )[^,\n}]+'), r"\1X"),
)


def list_commands() -> dict[str, list[str]]:
    """Give every command's words by name: each scenario in full and as JSON, and those above."""
    commands = {}
    for name in list_scenarios():
        stem = name.replace("/", "-")
        commands[f"{stem}-full"] = ["run", name, "--full", "--no-report"]
        commands[f"{stem}-json"] = ["run", name, "--json"]
    for line in COMMANDS.strip().splitlines():
        name, *words = shlex.split(line)
        commands[name] = words
        if name in (
            "grid",
            "grid-seeds",
            "grid-tiers",
            "sweep",
            "tiers",
            "config-show",
            "config-check-low",
        ):
            commands[f"{name}-json"] = [*words, "--json"]
    for name, words in commands.items():
        # What is judged again is a folder of results, which needs no other.
        if words[0] in RUNS and words[:2] != ["recommend", "tiers"]:
            words += ["--out", name, "--force"]
        elif words[:2] == ["study", "run"]:
            words += ["--out", name]
    return commands


def list_scenarios() -> list[str]:
    """Give the shipped scenarios without real hosts."""
    folder = SHIPPED / "scenarios"
    names = [
        str(path.relative_to(folder).with_suffix("")) for path in sorted(folder.rglob("*.toml"))
    ]
    return [name for name in names if not read_scenario(name).load().scenario.real_hosts]


def write_inputs() -> None:
    """Write what the commands read into the current folder."""
    sys.path[:0] = [str(ROOT / "tests")]
    from recorded import write_end, write_packets, write_start

    Path("tiers.toml").write_text(TIERS)
    Path("sweep.toml").write_text(SWEEP)
    Path("real.toml").write_text(REAL)
    scenario = read_scenario("real.toml").load().scenario
    addresses = [bytes(map(int, host[2].split("."))) for host in scenario.real_hosts]
    before = write_start(scenario.resolved_json(), ["laptop", "server"]) + write_packets(addresses)
    frames = {"entered": 50, "delivered": 50, "discarded": 0, "marked": 0, "digest": "0" * 16}
    Path("recording.pcapng").write_bytes(before + write_end(before, frames))


def clean(text: str, folder: Path) -> str:
    """Take out of a text what differs between two equal runs: times, versions, the folder."""
    text = text.replace(str(folder), "FOLDER")
    for pattern, instead in _VOLATILE:
        text = pattern.sub(instead, text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def read_page(path: Path, folder: Path) -> str:
    """Give what a page says, and the data of its figures, a mark a line."""
    text = path.read_text(encoding="utf-8")
    data = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL)
    text = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    text = html.unescape(re.sub(r"<[^>]+>", "\n", text))
    words = "\n".join(line.strip() for line in text.splitlines() if line.strip())
    return clean("\n".join([words, *data]), folder)


def read_tables(results: Path) -> str:
    """Give a hash of each table below a folder of results; kept points are named by the engine."""
    lines = []
    for path in sorted(results.rglob("*.parquet")):
        table = pl.read_parquet(path)
        digest = hashlib.sha256(f"{table.schema}\n{table.write_json()}".encode()).hexdigest()
        name = path.relative_to(results)
        lines.append(f"{'point' if 'points' in name.parts else name} {table.height} {digest[:16]}")
    return "\n".join(sorted(lines)) + "\n"


def record(keep: Path, only: str = "") -> dict[str, dict[str, str | int]]:
    """Run all commands, keep every text in a folder, and give exit codes and hashes by command."""
    shutil.rmtree(keep, ignore_errors=True)
    keep.mkdir(parents=True)
    os.environ["COLUMNS"] = "100"
    found: dict[str, dict[str, str | int]] = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        os.chdir(folder)
        try:
            write_inputs()
            for name, words in list_commands().items():
                if only and not re.search(only, name):
                    continue
                answer = CliRunner().invoke(app, words)
                texts = {"json" if "--json" in words else "txt": clean(answer.output, folder)}
                results = folder / name
                if words[:2] == ["report", "grid"]:
                    results = folder / "grid"
                if (results / "report.html").exists():
                    texts["page"] = read_page(results / "report.html", folder)
                if results.is_dir():
                    texts["tables"] = read_tables(results)
                found[name] = {"exit": answer.exit_code}
                for kind, text in texts.items():
                    (keep / f"{name}.{kind}").write_text(text, encoding="utf-8")
                    found[name][kind] = hashlib.sha256(text.encode()).hexdigest()[:16]
        finally:
            os.chdir(before)
    return found


def main() -> int:
    """Record, or compare with what is recorded."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="compare, and write nothing but target/net"
    )
    parser.add_argument("--keep", default="now", metavar="NAME", help="the folder in target/net")
    parser.add_argument(
        "--only", default="", metavar="PATTERN", help="only the commands of such names"
    )
    options = parser.parse_args()
    keep = ROOT / "target" / "net" / options.keep
    found = record(keep, options.only)
    if not options.check and not options.only:
        shutil.rmtree(OUTPUTS, ignore_errors=True)
        OUTPUTS.mkdir()
        for path in keep.glob("*.txt"):
            if path.read_text(encoding="utf-8").count("\n") <= LONG:
                shutil.copy(path, OUTPUTS)
        HASHES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return 0
    differing = compare(found)
    print("\n".join(differing) or f"{len(found)} commands as recorded")
    return 1 if differing else 0


def compare(found: dict[str, dict[str, str | int]]) -> list[str]:
    """Say of each command that differs in what: exit code, text, JSON, page or tables."""
    recorded = json.loads(HASHES.read_text(encoding="utf-8"))
    lines = []
    for name, now in found.items():
        before = recorded.get(name, {})
        kinds = [kind for kind in {**before, **now} if before.get(kind) != now.get(kind)]
        if kinds:
            lines.append(f"{name}: {', '.join(kinds)}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
