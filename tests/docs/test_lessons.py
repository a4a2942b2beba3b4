"""What the shipped scenarios' texts propose: each command exits 0 and shows what is said."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

import headend
from headend.analysis.expect import parse_quantity_name
from headend.cli.main import app
from headend.running.comparison import load_results
from headend.running.result import Result
from headend.scenario.source import read_scenario
from headend.scenario.subjects import Vocabulary
from proposals import list_proposals
from simulated import list_simulated

#: A run as it was measured: its quantities by their names in `[expect]`, the worst of several for
#: what is bad when high.
Shown = dict[str, Result]

AQM_QUEUES = "queue=docsis_pie,codel,sfq_codel"
OFFICE = "link.cable.docsis.modem.office.service_flow.voice"


def read(result: Result, name: str) -> list[float]:
    """Give what was measured, in base units: of each member, and each direction with data."""
    scenario = read_scenario(result.manifest["scenario"]).load().scenario
    return parse_quantity_name(name, Vocabulary.from_scenario(scenario)).read(result.tables)


def worst(result: Result, name: str) -> float:
    return max(read(result, name))


def least(result: Result, name: str) -> float:
    return min(read(result, name))


def names_its_queues(runs: Shown) -> bool:
    """See that a comparison ran the queues it names, over the same line."""
    disciplines = {
        label: result.queues.filter(queue="cable.up")["discipline"].item()
        for label, result in runs.items()
    }
    return len(runs) > 1 and all(label == name for label, name in disciplines.items())


def congests(runs: Shown) -> bool:
    """See that the channel gives 150 Mbit/s, and that no more passes."""
    return (
        least(runs["set"], "cable.up.channel.capacity") == 150e6
        and least(runs["plain"], "cable.up.channel.capacity") > 150e6
        and worst(runs["set"], "cable.up.channel.used") <= 150e6
    )


def with_the_rate_of_the_fast_tier(result: Result) -> int:
    up = result.queues.filter(direction="up")
    return up.filter(up["rate_bps"] == 20_000_000).height


def share_of_the_near(result: Result) -> float:
    near, far = least(result, "near.goodput"), least(result, "far.goodput")
    return near / (near + far)


#: By scenario, and by command as its text has it: what its sentence says of the runs. `plain` is
#: the scenario as it is, `set` the run that is proposed; a comparison's runs have their labels.
PROMISES: dict[str, dict[str, Callable[[Shown], bool]]] = {
    "aimd": {
        # "The teeth now reach below what fills the link."
        "--set link.line.point_to_point.up.queue.drop_tail.limit=8 KiB": lambda runs: (
            least(runs["plain"], "reno.goodput") > 9.5e6
            and worst(runs["set"], "reno.goodput") < 9e6
        ),
    },
    **{
        f"aqm/load-{load}": {
            f"headend compare aqm/load-{load} --vary {AQM_QUEUES}": names_its_queues,
            "--set link.cable.docsis.upstream.capacity=150 Mbit/s": congests,
        }
        for load in range(1, 8)
    },
    "aqm/load-8": {
        # "Calls hear it."
        "--set flow.near.application.bulk.persistent=false --set"
        " flow.far.application.bulk.persistent=false": lambda runs: (
            worst(runs["set"], "call.mos.p5") < least(runs["plain"], "call.mos.p5") - 0.3
        ),
        f"headend compare aqm/load-8 --vary {AQM_QUEUES}": names_its_queues,
    },
    "aqm/load-9": {
        # "In a deep buffer a tenth of it is left to them."
        "--set queue.drop_tail.limit=250 ms": lambda runs: (
            0.05
            < least(runs["set"], "torrent.goodput") / least(runs["plain"], "torrent.goodput")
            < 0.15
        ),
        f"headend compare aqm/load-9 --vary {AQM_QUEUES}": names_its_queues,
    },
    **{
        f"aqm/rf-{name}": {f"headend compare aqm/rf-{name} --vary {AQM_QUEUES}": names_its_queues}
        for name in ("heavy", "light", "moderate")
    },
    "aqm/speed-test": {
        # "After one second slow start": the farther, the less of it is over.
        "headend compare aqm/speed-test"
        " --vary flow.test.rtt=20 ms,50 ms,100 ms,200 ms": lambda runs: (
            list(runs) == ["20 ms", "50 ms", "100 ms", "200 ms"]
            and least(runs["20 ms"], "test.speed_1s.p50")
            > 2 * least(runs["100 ms"], "test.speed_1s.p50")
            > 4 * least(runs["200 ms"], "test.speed_1s.p50")
        ),
        "--vary queue=docsis_pie,codel_dt": names_its_queues,
    },
    "codel-vs-droptail": {
        # "The same throughput with a tenth of the delay."
        "headend compare codel-vs-droptail --vary queue=drop_tail,codel": lambda runs: (
            least(runs["codel"], "upload.goodput")
            > 0.95 * least(runs["drop_tail"], "upload.goodput")
            and worst(runs["codel"], "dsl.up.delay.p50")
            < 0.1 * worst(runs["drop_tail"], "dsl.up.delay.p50")
            and worst(runs["drop_tail"], "call.mos.p50") < 2
            and least(runs["codel"], "call.mos.p50") > 4
        ),
    },
    "evening": {
        # Behind the long buffer the game hears too late, and the call's picture comes a quarter of
        # a second late.
        "headend compare evening --vary queue=drop_tail,docsis_pie,fq_codel": lambda runs: (
            least(runs["drop_tail"], "game.missed.mean") > 0.9
            and least(runs["drop_tail"], "call.up.frame_delay.p50") > 0.2e9
            and all(
                worst(runs[queue], "game.missed.mean") < 0.05
                and worst(runs[queue], "call.up.frame_delay.p50") < 0.1e9
                for queue in ("docsis_pie", "fq_codel")
            )
        ),
        # "The call alone takes what the line gives."
        "headend run evening --set flow.upload.start=119 s": lambda runs: (
            least(runs["set"], "call.up.video_rate.p50")
            > least(runs["plain"], "call.up.video_rate.p50")
        ),
    },
    "game-console": {
        # "Half of the buffer, half the waiting, the same clips; with a quarter the clips pay."
        "headend compare game-console --vary"
        " link.cable.docsis.service_flow.game.queue.buffer_control.target=16 KiB,8 KiB,"
        "4 KiB": lambda runs: (
            list(runs) == ["16 KiB", "8 KiB", "4 KiB"]
            and worst(runs["8 KiB"], "cable.game.delay.p99")
            < 0.6 * worst(runs["16 KiB"], "cable.game.delay.p99")
            and worst(runs["8 KiB"], "cable.game.delay.p50")
            < 0.6 * worst(runs["16 KiB"], "cable.game.delay.p50")
            and least(runs["8 KiB"], "clip.goodput") > 0.95 * least(runs["16 KiB"], "clip.goodput")
            and least(runs["4 KiB"], "clip.goodput") < 0.75 * least(runs["16 KiB"], "clip.goodput")
        ),
        # "The modem's own 256 KiB, and the game waits a third of a second."
        "headend run game-console"
        " --set link.cable.docsis.buffer_settings.dropped=true": lambda runs: (
            runs["set"].queues.filter(queue="cable.game")["limit_bytes"].item() == 256 * 1024
            and runs["set"].queues.filter(queue="cable.up")["limit_bytes"].item() == 256 * 1024
            and 0.3e9 < worst(runs["set"], "cable.game.delay.p99") < 0.37e9
            and worst(runs["plain"], "cable.game.delay.p99") < 0.07e9
        ),
        # "Senders without HyStart fill the buffer, a whole second."
        "headend run game-console --set link.cable.docsis.buffer_settings.dropped=true --set"
        " tcp.system=rfc": lambda runs: 0.9e9 < worst(runs["set"], "cable.game.delay.p99") < 1.1e9,
    },
    "generations": {
        # "Nothing changes."
        "--set link.then.docsis.upstream.rate=20 Mbit/s": lambda runs: all(
            abs(worst(runs["set"], name) / worst(runs["plain"], name) - 1) < 0.02
            for name in (
                "ping_then.rtt.p50",
                "upload_then.completion_time.p50",
                "download_then.completion_time.p50",
            )
        ),
    },
    "home-router": {
        # "The call passes, and the two computers share the line evenly."
        "--set router=cake": lambda runs: (
            worst(runs["plain"], "call.mos.p5") < 2
            and least(runs["set"], "call.mos.p5") > 4
            and least(runs["plain"], "film.goodput")
            < 0.25 * sum(read(runs["plain"], "backup.goodput"))
            and least(runs["set"], "film.goodput") > 0.7 * sum(read(runs["set"], "backup.goodput"))
        ),
    },
    "living-line": {
        # A queue for each flow makes call and game good, and an AQM alone does not.
        "headend compare living-line --vary queue=drop_tail,docsis_pie,fq_codel": lambda runs: (
            names_its_queues(runs)
            and worst(runs["drop_tail"], "call.mos.p50") < 2
            and least(runs["fq_codel"], "call.mos.p5") > 4
        ),
        # "A queue of their own."
        "headend run living-line --set low_latency=on": lambda runs: (
            least(runs["set"], "call.mos.p5") > 4
            and worst(runs["set"], "game.missed.mean") < 0.01
            and worst(runs["plain"], "game.missed.mean") > 0.5
        ),
    },
    "low-latency-home": {
        # "The game waits in one queue with the uploads", and neither upload stops where there are
        # two.
        "headend compare low-latency-home --vary low_latency=off,on": lambda runs: (
            list(runs) == ["off", "on"]
            and worst(runs["on"], "game.up.delay.p95")
            < 0.7 * worst(runs["off"], "game.up.delay.p95")
            and worst(runs["on"], "game.missed.mean")
            < 0.05
            < worst(runs["off"], "game.missed.mean")
            and least(runs["on"], "photos.goodput") > 2e6
            and least(runs["on"], "backup.goodput") > 2e6
        ),
    },
    "office": {
        # Those with grants do not notice; calls that have to ask are lost from 60 s on, and are
        # good before.
        "headend compare office"
        f" --vary {OFFICE}.scheduling={{ugs={{grants=3}}}},rtps,best_effort": lambda runs: (
            len(runs) == 3
            and all(
                (min(call_scores(result, late=True)) > 4) == ("ugs" in label)
                and min(call_scores(result, late=False)) > 4
                and (max(call_scores(result, late=True)) < 2) != ("ugs" in label)
                for label, result in runs.items()
            )
        ),
        f"headend compare office --set {OFFICE}.priority=5 --vary"
        f" {OFFICE}.scheduling=rtps,best_effort": lambda runs: all(
            least(result, "call.mos.p5") > 4 for result in runs.values()
        ),
        # "Six calls do not fit into three grants."
        "--set flow.call.count=6": lambda runs: (
            least(runs["set"], "cable.office.voice.delay.p50") > 0.1e9
            and least(runs["set"], "call.mos.p50") < 2
            and least(runs["plain"], "call.mos.p5") > 4
        ),
    },
    "rtt-unfairness": {
        # "The one with the shorter trip takes most of the link"; CUBIC's growth helps.
        "headend compare rtt-unfairness --vary flow.near.tcp.congestion=reno,cubic --vary"
        " flow.far.tcp.congestion=reno,cubic": lambda runs: (
            len(runs) == 4
            and share_of_the_near(runs["near=reno, far=reno"]) > 0.65
            and share_of_the_near(runs["near=cubic, far=cubic"])
            < share_of_the_near(runs["near=reno, far=reno"]) - 0.05
        ),
    },
    "shaped-download": {
        # "As fast as the line": the download waits in the modem's queue again.
        "--set link.router.point_to_point.down.rate=50 Mbit/s": lambda runs: (
            least(runs["set"], "modem.down.delay.p50") > 0.1e9
            and least(runs["plain"], "modem.down.delay.p50") < 0.001e9
            and least(runs["plain"], "router.down.delay.p50") > 0.001e9
        ),
    },
    "street": {
        # "Make it worse": the channel is full.
        "--set flow.photos.share=30 %": lambda runs: (
            least(runs["plain"], "cable.up.channel.utilisation")
            < 0.95
            < least(runs["set"], "cable.up.channel.utilisation")
            and sum(read(runs["set"], "call.mos.p50")) < sum(read(runs["plain"], "call.mos.p50"))
        ),
        # "Twice the street": more requests collide than twice as many.
        "--set link.cable.docsis.modem.home.count=200": lambda runs: (
            worst(runs["set"], "cable.home.*.up.collisions")
            > 2 * worst(runs["plain"], "cable.home.*.up.collisions")
        ),
        "--set link.cable.docsis.modem.home.mix.fast=60": lambda runs: (
            with_the_rate_of_the_fast_tier(runs["set"])
            > with_the_rate_of_the_fast_tier(runs["plain"])
            > 0
        ),
    },
    "ten-calls": {
        "headend compare ten-calls --vary queue.buffer_control.target=8 KiB,16 KiB,32 KiB,64"
        " KiB,256 KiB": lambda runs: (
            len(runs) == 5
            and is_rising([worst(run, "call.set_up_time.p50") for run in runs.values()])
            and least(runs["256 KiB"], "call.mos.p50") < least(runs["8 KiB"], "call.mos.p50") - 1
        ),
        # A codec that needs less leaves more to the upload.
        "--vary flow.call.application.voice.codec=g711,g729": lambda runs: (
            list(runs) == ["g711", "g729"]
            and least(runs["g729"], "upload.goodput") > least(runs["g711"], "upload.goodput")
        ),
        # "Look at the packets of a set-up."
        "headend run ten-calls --capture call.host": lambda runs: any(
            path.stat().st_size > 1000 for path in Path("out/capture").glob("*.pcapng")
        ),
    },
    "ten-uploads": {
        # The ping next to them, and Jain's index.
        "headend compare ten-uploads"
        " --vary queue=drop_tail,buffer_control,codel,docsis_pie": lambda runs: (
            names_its_queues(runs)
            and least(runs["drop_tail"], "ping.rtt.p95") > 0.2e9
            and all(
                worst(run, "ping.rtt.p95") < 0.1e9
                for queue, run in runs.items()
                if queue != "drop_tail"
            )
            and all(0.5 < least(run, "upload.jain_index") <= 1 for run in runs.values())
        ),
    },
    "upload-and-call": {
        # The long buffer ruins the call and the page, and no other queue does: with PIE it is good,
        # with Buffer Control fair at least.
        "headend compare upload-and-call"
        " --vary queue=drop_tail,buffer_control,docsis_pie": lambda runs: (
            worst(runs["drop_tail"], "call.mos.p50") < 2
            and all(
                least(runs[queue], "call.mos.p50") > bound
                and worst(runs[queue], "page.page_load_time.p50")
                < 0.5 * worst(runs["drop_tail"], "page.page_load_time.p50")
                for queue, bound in (("buffer_control", 3.6), ("docsis_pie", 4))
            )
        ),
        "headend run upload-and-call --set queue.buffer_control.target=32 KiB": lambda runs: (
            least(runs["set"], "call.mos.p50") > 4
        ),
    },
    "varying-line": {
        # "Right for the first 40 s only."
        "--set router=cake": lambda runs: (
            worst(runs["set"], "lte.up.delay.p95") > 0.5e9
            and worst(runs["set"], "ping.rtt.p95") > 0.5e9
        ),
        # "Its rate follows."
        "--set router.autorate=true": lambda runs: (
            worst(runs["plain"], "ping.rtt.p95") > 1e9
            and worst(runs["set"], "ping.rtt.p95") < 0.25e9
            and least(runs["set"], "upload.goodput") > 0.8 * least(runs["plain"], "upload.goodput")
        ),
    },
    "voice-adapter": {
        # "When the adapter is too fast" the queue forms in the modem.
        "headend compare voice-adapter --vary link.adapter.point_to_point.up.rate=4.6 Mbit/s,5.5"
        " Mbit/s": lambda runs: (
            least(runs["4.6 Mbit/s"], "call.mos.p5") > 4
            and worst(runs["5.5 Mbit/s"], "call.mos.p50") < 2
            and worst(runs["4.6 Mbit/s"], "cable.up.delay.p50") < 0.02e9
            and least(runs["5.5 Mbit/s"], "cable.up.delay.p50") > 0.1e9
        ),
        "headend compare voice-adapter --set link.adapter.point_to_point.up.rate=100 Mbit/s --vary"
        " link.cable.docsis.upstream.queue=drop_tail,docsis_pie": lambda runs: (
            worst(runs["drop_tail"], "call.mos.p50") < 2
            and least(runs["docsis_pie"], "call.mos.p5") > 4
        ),
    },
    "web-page-under-upload": {
        "headend compare web-page-under-upload --vary queue.buffer_control.target=16 KiB,64 KiB,256"
        " KiB": lambda runs: (
            len(runs) == 3
            and is_rising([worst(run, "page.page_load_time.p50") for run in runs.values()])
        ),
        # "What the line can do."
        "--set flow.upload.start=299 s": lambda runs: (
            worst(runs["set"], "page.page_load_time.p50")
            < 0.5 * worst(runs["plain"], "page.page_load_time.p50")
        ),
    },
    "home-today": {
        # "Give each station a queue of its own and the same time on the air."
        "--set link.wifi.dot11ax.access_point.queues=by_station": lambda runs: (
            worst(runs["set"], "call.frames_late.mean")
            < 0.1 * worst(runs["plain"], "call.frames_late.mean")
            and least(runs["set"], "download.goodput") > least(runs["plain"], "download.goodput")
        ),
        "headend compare home-today"
        " --vary link.wifi.dot11ax.access_point.queue=drop_tail,fq_codel": lambda runs: is_rising(
            [-worst(runs[queue], "call.frames_late.mean") for queue in ("drop_tail", "fq_codel")]
        ),
        "--set link.wifi.dot11ax.station.printer.mcs=7": lambda runs: (
            worst(runs["set"], "call.frames_late.mean")
            < worst(runs["plain"], "call.frames_late.mean")
            and least(runs["set"], "print.goodput") > least(runs["plain"], "print.goodput")
        ),
    },
    "wifi-home": {
        "--set link.wifi.dot11b.station.printer.rate=11 Mbit/s": lambda runs: (
            least(runs["set"], "download.goodput") > least(runs["plain"], "download.goodput")
        ),
        "headend compare wifi-home --vary queue=drop_tail,codel,fq_codel": lambda runs: is_rising(
            [-worst(runs[queue], "call.delay.p95") for queue in ("drop_tail", "codel", "fq_codel")]
        ),
        # "Up it is the laptop's own queue that stands …
        "--set flow.download.direction=up": lambda runs: (
            least(runs["set"], "wifi.laptop.up.delay.p50")
            > 10 * worst(runs["set"], "cable.up.delay.p50")
        ),
        # … until the modem's rate is below the cell's; then it is the modem's."
        "--set flow.download.direction=up"
        " --set link.cable.docsis.upstream.rate=1 Mbit/s": lambda runs: (
            least(runs["set"], "cable.up.delay.p50")
            > 10 * worst(runs["set"], "wifi.laptop.up.delay.p50")
        ),
    },
}


def is_rising(values: list[float]) -> bool:
    return all(first < second for first, second in pairwise(values))


def call_scores(result: Result, *, late: bool) -> list[float]:
    """Give the scores of the office's calls up to the change of priority at 60 s, or after it."""
    scores = result.samples.filter(measure="mos")
    # A period of 10 s and its own length of a queue later: the change is heard.
    after = scores["time_ns"] > 80e9
    before = scores["time_ns"] <= 60e9
    return scores.filter(after if late else before)["value"].to_list()


@cache
def run_plain(name: str) -> Result:
    return headend.run(name)


def test_every_command_of_a_text_has_a_promise_and_every_promise_a_command() -> None:
    proposed = {
        name: [text for text, _ in list_proposals(name)]
        for name in list_simulated()
        if list_proposals(name)
    }
    assert proposed == {name: list(promises) for name, promises in PROMISES.items()}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, promises in PROMISES.items() for text in promises]
)
def test_a_command_that_a_text_proposes_exits_0_and_shows_what_its_sentence_says(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # What a run shows is in its tables; its report, which has tests of its own, takes longer than
    # the run.
    monkeypatch.setattr("headend.pages.page.write_report", lambda _results, path, **_: path)
    words = dict(list_proposals(name))[text]
    answer = CliRunner().invoke(app, [*words, "--quiet", "--out", "out"])
    assert answer.exit_code == 0, answer.output
    results = load_results(["out"])
    if words[0] == "compare":
        runs = {result.label: result for result in results}
    else:
        runs = {"plain": run_plain(name), "set": results[0]}
    assert PROMISES[name][text](runs), runs
