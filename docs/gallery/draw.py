"""Draw a picture of every figure and write docs/gallery.md: ``make gallery``.

The commands on the page are those that are run here; what is drawn of their results is each
figure's first chart.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headend.figures.catalogue import draw_figures
from headend.figures.export import choose_figures, write_figures
from headend.figures.figure import Figure
from headend.figures.paper import UNITS, Paper
from headend.running.comparison import load_results
from headend.sweeps.result import load_sweep

HERE = Path(__file__).parent

#: The page, beside the folder of its pictures.
PAGE = HERE.with_suffix(".md")

#: As wide as a page's text, with letters of 9 pt.
PAPER = Paper(width=150 * UNITS["mm"], font_size=9.0, has_title=False)

#: The largest picture, and all of them, in bytes.
LARGEST, MOST = 60_000, 2_000_000


@dataclass(frozen=True)
class Source:
    """Results that figures are taken from.

    Parameters
    ----------
    heading
        What the figures of these results are about.
    command
        Makes them.
    folder
        Where they are then.
    names
        The figures that are shown of them.
    """

    heading: str
    command: str
    folder: str
    names: tuple[str, ...]


SOURCES = (
    Source(
        "One run",
        'headend run upload-and-call --explain "call@20 s"',
        "results/upload-and-call",
        ("mos", "pages", "ping", "delay", "queue", "queue-delay", "rates", "line-rate", "loss",
         "cwnd", "life"),
    ),
    Source(
        "A latency histogram, as a modem shows it by SNMP",
        "headend run upload-and-call --set 'link.cable.docsis.upstream.latency_histogram=[\"10"
        " ms\", \"25 ms\", \"50 ms\", \"100 ms\", \"150 ms\", \"200 ms\", \"250 ms\"]' --out"
        " results/histogram",
        "results/histogram",
        ("latency-histogram",),
    ),
    Source("Calls that are set up", "headend run ten-calls", "results/ten-calls", ("set-up",)),
    Source(
        "Live video",
        "headend run evening --set queue=docsis_pie",
        "results/evening",
        ("video", "live-video-rate", "internals"),
    ),
    Source(
        "Streamed video",
        "headend run upload-and-call --set flow.page.application=streaming --out results/streamed",
        "results/streamed",
        ("streamed-video-rate",),
    ),
    Source("Files", "headend run power-boost", "results/power-boost", ("files",)),
    Source(
        "A router's rate",
        "headend run varying-line --set router.autorate=true",
        "results/varying-line",
        ("router-rate",),
    ),
    Source("A speed test", "headend run aqm/speed-test", "results/aqm-speed-test", ("speed",)),
    Source("Many of one kind", "headend run street", "results/street", ("street", "class-rates")),
    Source(
        "Runs side by side",
        "headend compare upload-and-call --vary queue=drop_tail,docsis_pie --seeds 3 --set"
        " duration='40 s'",
        "results/upload-and-call-compared",
        ("differences",),
    ),
    Source("A sweep", "headend sweep buffer-sizes", "results/sweeps/buffer-sizes", ()),
)  # fmt: skip


def main() -> int:
    """Write the page and its pictures; those of an earlier time are removed."""
    for old in HERE.glob("*.svg"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        parts = [line for source in SOURCES for line in _show(source, Path(folder))]
    head = [
        "# Gallery",
        "",
        "The figures that headend draws of most runs, with the command that made it."
        " `headend figures FOLDER --list` prints which of them a result has, and `--only NAME`"
        " writes one, in the size that a paper asks for"
        " ([figures for papers](reference/results.md)).",
    ]
    PAGE.write_text("\n".join([*head, *parts]) + "\n", encoding="utf-8")
    sizes = {path.name: path.stat().st_size for path in HERE.glob("*.svg")}
    large = [f"{name}: {size} B" for name, size in sizes.items() if size > LARGEST]
    print(f"{len(sizes)} pictures, {sum(sizes.values()) / 1e6:.2f} MB")
    if large or sum(sizes.values()) > MOST:
        print("too large:", *large, sep="\n", file=sys.stderr)
        return 1
    return 0


def _show(source: Source, place: Path) -> Iterator[str]:
    """Run the command and draw the figures; give their part of the page."""
    command = [sys.executable, "-m", "headend", *shlex.split(source.command)[1:], "--quiet"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    folder = place / source.folder
    if done.returncode not in (0, 1) or not folder.is_dir():
        raise SystemExit(f"{source.command}: no {source.folder}: {done.stderr}")
    yield from ("", f"## {source.heading}", "", "```console", source.command, "```")
    for figure in _draw(source, folder):
        stem = f"{figure.name}-of-sweep" if not source.names else figure.name
        shown = Figure(
            figure.name, figure.title, figure.explanation, figure.panels[:1], stems=(stem,)
        )
        (path,) = write_figures([shown], HERE, ["svg"], PAPER)
        path.write_text(shrink(path.read_text(encoding="utf-8")), encoding="utf-8")
        chart = figure.panels[0].title
        others = len(figure.panels) - 1
        note = f" Shown: {chart}; it has {others} more." if chart and others else ""
        yield from (
            "",
            f"### {figure.title}",
            "",
            f"![{figure.title}]({HERE.name}/{path.name})",
            "",
        )
        yield f"`{figure.name}`: {figure.explanation}{note}"
        yield from ("", "```console")
        yield (
            f"headend figures {source.folder} --only {figure.name} --width 150mm --font-size 9"
            " --no-title"
        )
        yield "```"


def _draw(source: Source, folder: Path) -> list[Figure]:
    if not source.names:
        return load_sweep(folder).draw_figures()
    drawn = draw_figures(load_results([folder]), source.names)
    return choose_figures(drawn, source.names)


def shrink(svg: str) -> str:
    """Write places to a tenth of a pixel, without labels of single marks for screen readers.

    Examples
    --------
    >>> shrink('<path aria-label="a" role="x" d="M1.2345,2L3,4.04"/>')
    '<path d="M1.2,2L3,4"/>'
    """
    bare = re.sub(r' (?:aria-[a-z]+|role|pointer-events)="[^"]*"', "", svg)
    return re.sub(r' d="([^"]*)"', lambda match: f' d="{_round(match[1])}"', bare)


def _round(path: str) -> str:
    return re.sub(r"-?\d+\.\d+", lambda match: f"{float(match[0]):.1f}".removesuffix(".0"), path)


if __name__ == "__main__":
    sys.exit(main())
