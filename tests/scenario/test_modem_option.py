"""Tests of a modem's file beside a scenario: ``--modem``, ``modem=``, and where such a file
is read."""

from __future__ import annotations

import html
import json
import os
import tomllib
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

import headend
from headend.cli.main import app
from headend.errors import InputError
from headend.scenario.file_access import FileAccess
from headend.scenario.modems import (
    Configured,
    describe_configured,
    echo_option,
    find_named,
    list_configured,
    parse_modem,
    write_modems,
)
from modem_files import DOWN, UP, buffer, flow, make_file, tlv, u8, u16


@pytest.mark.parametrize(
    ("typed", "path", "file"),
    [
        ("old.cm", "modem", "old.cm"),
        ("../files/old.cm", "modem", "../files/old.cm"),
        ("home=old.cm", "modem.home", "old.cm"),
        ("home = /srv/a=b.cm", "modem.home", "/srv/a=b.cm"),
        ("./a=b.cm", "modem", "./a=b.cm"),
        ('a "quoted" \\ name.cm', "modem", 'a "quoted" \\ name.cm'),
    ],
)
def test_the_option_is_an_override(typed: str, path: str, file: str) -> None:
    written, value = parse_modem(typed)
    assert (written, json.loads(value)) == (path, file)


@pytest.mark.parametrize("typed", ["", " ", "home=", "-", "home=-", "home= ", "=old.cm"])
def test_an_option_without_a_file_is_refused(typed: str) -> None:
    with pytest.raises(InputError, match=r"^--modem .*expected"):
        parse_modem(typed)


def test_python_takes_a_path_or_one_for_each_modem(tmp_path: Path) -> None:
    assert write_modems(None) == []
    assert write_modems("old.cm") == write_modems(Path("old.cm")) == [("modem", '"old.cm"')]
    assert write_modems({"home": "a.cm", "office": Path("b.cm")}) == [
        ("modem.home", '"a.cm"'),
        ("modem.office", '"b.cm"'),
    ]
    with pytest.raises(InputError, match="modem: expected a path, or a mapping of modems to paths"):
        write_modems(3)  # type: ignore[arg-type]


def test_a_file_beyond_ascii_is_text_that_toml_takes() -> None:
    _, value = parse_modem("Zürich 😀\x7f.cm")
    assert tomllib.loads(f"value = {value}")["value"] == "Zürich 😀\x7f.cm"


def test_exactly_the_file_that_a_person_names_is_within_reach() -> None:
    named = parse_modem("/elsewhere/old.cm")
    access = FileAccess(named=find_named([named, ("queue", "codel")]))
    assert access.locate("/elsewhere/old.cm", "=".join(named)) == Path("/elsewhere/old.cm")
    for set_by in (None, "link.cable.docsis.config=/elsewhere/old.cm", "modem=/elsewhere/old.cm"):
        with pytest.raises(InputError, match="--allow-files"):
            access.locate("/elsewhere/old.cm", set_by)


def test_an_error_names_the_option_that_was_typed() -> None:
    told = 'the file "old.cm" cannot be read (from --set modem.home="old.cm"): no such file'
    assert echo_option(told) == (
        'the file "old.cm" cannot be read (from --modem home=old.cm): no such file'
    )
    told = "unknown queue (from --set queue=modem)"
    assert echo_option(told) == told


def test_the_files_of_a_resolved_scenario_are_listed() -> None:
    modem = {"home": {"config": "own.cm"}, "office": {"upstream": {}}}
    docsis = {"config": "all.cm", "modem": modem}
    scenario = {"link": {"cable": {"docsis": docsis}, "line": {"point_to_point": {}}}}
    assert list_configured(scenario) == [
        Configured("cable", "all.cm"),
        Configured("cable.home", "own.cm"),
    ]
    assert describe_configured(scenario) == "modems' files: all.cm, own.cm (cable.home)"


# Runs with a file

LINE = """
duration = "3 s"
warmup = "1 s"
bottleneck = "cable.up"
[link.cable.docsis]
upstream = { rate = "5 Mbit/s", queue = "drop_tail" }
preset = "docsis30" # whose modems have no AQM where their file says nothing of it
[flow.ping]
application = "ping"
[flow.upload]
application.cbr = { rate = "14 Mbit/s", size = "1000 B" } # more than the line carries
direction = "up"
"""

STREET = """
duration = "3 s"
warmup = "1 s"
bottleneck = "cable.office.up"
[link.cable.docsis]
upstream.rate = "5 Mbit/s"
[link.cable.docsis.modem.home]
[link.cable.docsis.modem.office]
[host]
desk.via = ["cable.office"]
family.via = ["cable.home"]
[flow.ping]
host = "family"
application = "ping"
[flow.upload]
host = "desk"
application = "bulk"
direction = "up"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where headend runs, with a line; the files of modems are in another."""
    here = tmp_path / "here"
    here.mkdir()
    files = tmp_path / "files"
    files.mkdir()
    (files / "short.cm").write_bytes(make_file(target=62_500))
    (files / "long.cm").write_bytes(make_file(target=250_000))
    monkeypatch.chdir(here)
    Path("line.toml").write_text(LINE)
    return files


def call(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def run(*words: str) -> dict[str, object]:
    """Run the line as the command line does."""
    answer = call("run", "line.toml", "--json", "--no-report", "--out", "out", "--force", *words)
    assert answer.exit_code == 0, answer.output
    document: dict[str, object] = json.loads(answer.stdout)
    return document


def list_tried(*words: str) -> list[str]:
    """List what is tried in a run of the line, each a single setting."""
    answer = call("run", "line.toml", "--json", "--no-report", "--out", "out", "--force", *words)
    trials: list[dict[str, list[str]]] = json.loads(answer.stdout)["advice"]
    return [setting for trial in trials for setting in trial["settings"]]


def refuse(*words: str) -> str:
    answer = call("run", "line.toml", "-q", "--out", "out", "--force", *words)
    assert answer.exit_code == 2, answer.output
    (line,) = answer.stderr.splitlines()
    return line.removeprefix("error: ")


def find_up(document: dict[str, object], queue: str = "cable.up") -> dict[str, float]:
    queues = document["queues"]
    assert isinstance(queues, list)
    (up,) = [row for row in queues if row["queue"] == queue]
    return up  # type: ignore[no-any-return]


def test_a_run_shows_the_limit_of_its_file_and_says_which_file(folder: Path) -> None:
    short, long = (run("--modem", str(folder / name)) for name in ("short.cm", "long.cm"))
    assert short["modem_files"] == [{"modem": "cable", "file": str(folder / "short.cm")}]
    assert find_up(short)["rate_bps"] == 10e6
    # Buffers are chosen in steps of 1 KiB.
    assert 61_000 < find_up(short)["limit_bytes"] <= 62_500
    assert 248_000 < find_up(long)["limit_bytes"] <= 250_000
    # A full buffer delays by its size over the rate: 50 ms and 200 ms.
    assert find_up(short)["delay_p50_ns"] == pytest.approx(50e6, rel=0.15)
    assert find_up(long)["delay_p50_ns"] == pytest.approx(200e6, rel=0.15)


def test_the_terminal_and_the_page_name_the_file(folder: Path) -> None:
    file = os.path.relpath(folder / "short.cm")
    answer = call("run", "line.toml", "--modem", file, "--out", "out")
    assert f"modem's file: {file}" in answer.stdout
    assert f"Modem&#39;s file: {file}" in Path("out/report.html").read_text(encoding="utf-8")
    without = call("run", "line.toml", "--out", "without")
    assert "file" not in without.stdout
    assert "s file:" not in Path("without/report.html").read_text(encoding="utf-8")


def test_the_page_says_what_the_file_set_replaced_and_has_beyond_the_model(folder: Path) -> None:
    file = os.path.relpath(folder / "beyond.cm")
    aggregate = tlv(70, u16(1, 1))
    Path(file).write_bytes(make_file(further=aggregate))
    answer = call("run", "line.toml", "--modem", file, "--json", "--out", "out")
    document = json.loads(answer.stdout)
    # What is not simulated is said once.
    assert sum("not simulated" in text for text in document["warnings"]) == 1
    assert json.dumps(document).count("not simulated") == 1
    (read,) = json.loads(Path("out/manifest.json").read_text(encoding="utf-8"))["modem_files"]
    assert (read["file"], read["key"]) == (file, "link.cable.docsis.config")
    assert {
        "key": "upstream.rate",
        "value": "10 Mbit/s",
        "tlv": "upstream_service_flow.maximum_sustained_rate, TLV 24.8",
    } in read["set"]
    assert read["replaced"] == [
        "upstream.rate (5 Mbit/s → 10 Mbit/s)",
        "upstream.queue (drop_tail → buffer_control of 62.5 kB)",
    ]
    page = html.unescape(Path("out/report.html").read_text(encoding="utf-8"))
    assert f"What the modem's file {file} set" in page
    assert "<td>upstream_service_flow.maximum_sustained_rate, TLV 24.8</td>" in page
    assert "upstream.rate (5" in page
    text = "upstream_aggregate_service_flow, TLV 70: no service flow of the file refers to it"
    assert page.count(f"{text}: not simulated") == 2


def test_the_advice_names_the_tlvs_of_the_file(folder: Path) -> None:
    def advise(*words: str) -> str:
        answer = call("run", "line.toml", *words, "--no-report", "--out", "out", "--force")
        return " ".join(answer.stdout.split())

    Path("line.toml").write_text(LINE.replace("docsis30", "docsis31"))
    smaller = "A smaller target (TLV 24.35.2) or an AQM"
    assert f"{smaller} (TLV 24.40.1 = 0) may help. Tried" in advise(
        "--modem", str(folder / "long.cm")
    )
    for further, tlv_of_aqm in ((tlv(40, u8(1, 1)), "24.40.1"), (b"", "76")):
        up = flow(24, buffer(250_000), further)
        top = b"" if further else u8(76, 1)
        (folder / "off.cm").write_bytes(make_file(up, DOWN, further=top))
        told = advise("--modem", str(folder / "off.cm"))
        assert f"(TLV {tlv_of_aqm} = 0) may help" in told
    assert "TLV" not in advise("--set", "queue.drop_tail.limit=300 ms")


def test_only_what_a_file_can_hold_is_tried(folder: Path) -> None:
    Path("line.toml").write_text(LINE.replace("docsis30", "docsis31"))
    off = flow(24, buffer(1_000_000), tlv(40, u8(1, 1)))
    (folder / "off.cm").write_bytes(make_file(off, DOWN))
    tried = list_tried("--modem", str(folder / "off.cm"))
    # The AQM with the file's buffer, and 50 ms at 10 Mbit/s.
    assert tried == ["queue.docsis_pie.limit='1 MB'", "queue.buffer_control.target='62500 B'"]
    without = list_tried("--set", "queue.drop_tail.limit=800 ms")
    assert without == ["queue=docsis_pie", "queue=fq_codel"]


def test_python_runs_with_a_file_too(folder: Path) -> None:
    result = headend.run("line.toml", modem=folder / "long.cm")
    up = result.queues.row(by_predicate=pl.col("queue") == "cable.up", named=True)
    assert 248_000 < up["limit_bytes"] <= 250_000
    same = headend.run("line.toml", set={"modem": str(folder / "long.cm")})
    assert same.queues.equals(result.queues)


def test_set_of_a_key_wins_over_the_file(folder: Path) -> None:
    rate = "link.cable.docsis.upstream.rate=7 Mbit/s"
    for words in (
        ["--set", rate, "--modem", str(folder / "short.cm")],
        ["--modem", str(folder / "short.cm"), "--set", rate],
    ):
        up = find_up(run(*words))
        assert (up["rate_bps"], 61_000 < up["limit_bytes"] <= 62_500) == (7e6, True)


@pytest.mark.parametrize("command", ["run", "compare", "sweep"])
def test_another_name_of_the_option_leads_to_it(command: str) -> None:
    told = call(command, "line.toml", "--config", "x.cm").stderr
    assert told == (
        f"error: headend {command}: no such option: --config; --modem FILE sets a modem by its"
        " configuration file\n"
    )


def test_one_of_several_modems_is_named(folder: Path) -> None:
    Path("line.toml").write_text(STREET)
    file = str(folder / "long.cm")
    assert refuse("--modem", file) == (
        "line.toml: modem: the line has several modems: expected --modem NAME=FILE, with one of the"
        " names home, office; or link.cable.docsis.config, for all that have no file of their own"
        f" (from --modem {file})"
    )
    office = run("--modem", f"office={file}")
    assert office["modem_files"] == [{"modem": "cable.office", "file": file}]
    assert 248_000 < find_up(office, "cable.office.up")["limit_bytes"] <= 250_000
    assert find_up(office, "cable.home.up")["rate_bps"] == 5e6
    assert (
        f'no modem is called "ofice"; did you mean "office"? (from --modem ofice={file})'
        in refuse("--modem", f"ofice={file}")
    )


def test_a_file_that_cannot_be_read_is_told_in_words_of_the_command_line(folder: Path) -> None:
    os.mkfifo(folder / "pipe.cm")
    (folder / "two.cm").write_bytes(bytes(2**21))
    (folder / "text.cm").write_text("max_cpe = 16\n")
    refusals = {
        "none.cm": "no such file or directory",
        "pipe.cm": "expected a file, found a pipe or a device",
        ".": "expected a file, found a directory",
        "two.cm": "2 MiB is too large for a configuration file (at most 128 KiB)",
    }
    for name, why in refusals.items():
        file = str(folder / name)
        told = refuse("--modem", file)
        assert told.startswith("line.toml: link.cable.docsis.config: ")
        assert told.endswith(f"(from --modem {file}): {folder / name}: {why}")
    file = str(folder / "short.cm")
    assert "found a text, expected the binary file" in refuse("--modem", str(folder / "text.cm"))
    assert refuse("--modem", file, "--modem", file) == "--modem: set twice; leave out one of them"


def test_a_file_that_the_scenario_names_is_as_small_as_one_that_is_typed(folder: Path) -> None:
    Path("line.toml").write_text(LINE.replace("upstream =", 'config = "huge.cm"\nupstream ='))
    with Path("huge.cm").open("wb") as file:
        file.truncate(2**28)
    told = refuse()
    assert told.startswith(
        'line.toml: link.cable.docsis.config: the file "huge.cm" cannot be read (line 6, column 10)'
    )
    assert told.endswith(
        ": huge.cm: 256 MiB is too large for a configuration file (at most 128 KiB)"
    )


def test_only_a_file_that_a_person_types_is_read_elsewhere(folder: Path) -> None:
    file = str(folder / "short.cm")
    assert "--allow-files" in refuse("--set", f"link.cable.docsis.config={file}")
    Path("line.toml").write_text(
        LINE.replace("upstream =", f"config = {json.dumps(file)}\nupstream =")
    )
    assert "--allow-files" in refuse()
    assert run("--allow-files", str(folder))
    assert run("--modem", str(folder / "long.cm"))


def test_files_are_compared(folder: Path) -> None:
    files = ",".join(str(folder / name) for name in ("short.cm", "long.cm"))
    answer = call(
        *("compare", "line.toml", "--vary", f"modem={files}", "--json"),
        *("--out", "out", "--no-report"),
    )
    assert answer.exit_code == 0, answer.output
    short, long = json.loads(answer.stdout)["runs"]
    assert find_up(short)["limit_bytes"] < 62_501 < find_up(long)["limit_bytes"]
    answer = call("compare", "line.toml", "--vary", f"modem={files}", "--out", "files")
    lines = answer.stdout.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("Warning: "))
    last = next(at for at, line in enumerate(lines) if line.startswith("Report: "))
    assert "" not in lines[first : last - 1]
    page = html.unescape(Path("files/report.html").read_text(encoding="utf-8"))
    assert "s file: " not in page
    assert page.count("What the modem's file ") == 2
    answer = call("compare", "line.toml", "--vary", f"modem={files}", "--modem", "other.cm")
    assert answer.stderr == (
        "error: --modem: has no effect, since --vary modem sets it in every run; leave out one"
        " of them\n"
    )


def test_a_comparison_names_the_file_that_all_its_runs_share(folder: Path) -> None:
    file = str(folder / "short.cm")
    answer = call(
        *("compare", "line.toml", "--vary", "queue=drop_tail,codel", "--modem", file),
        *("--out", "out"),
    )
    assert answer.exit_code == 0, answer.output
    assert f"modem's file: {file}" in " ".join(answer.stdout.split())
    assert f"Modem&#39;s file: {file}" in Path("out/report.html").read_text(encoding="utf-8")


SWEEP = """
scenario = "line.toml"
[grid]
%s
[measures]
rtt = "ping.rtt.p95"
"""


def test_a_sweep_has_files_too(folder: Path) -> None:
    Path("sweep.toml").write_text(SWEEP % '"flow.ping.rtt" = ["10 ms", "20 ms"]')
    words = ("sweep", "sweep.toml", "--modem", str(folder / "short.cm"), "--json", "--no-report")
    answer = call(*words, "--out", "out")
    assert answer.exit_code == 0, answer.output
    # What the file of a sweep names is read from its own folder only.
    Path("short.cm").write_bytes((folder / "short.cm").read_bytes())
    Path("sweep.toml").write_text(
        SWEEP % f'modem = ["short.cm", {json.dumps(str(folder / "long.cm"))}]'
    )
    answer = call("sweep", "sweep.toml", "--json", "--no-report", "--out", "grid")
    assert answer.exit_code == 2
    assert "--allow-files" in answer.stderr


def test_a_damaged_file_is_an_error_or_runs_with_what_is_whole(folder: Path) -> None:
    whole = make_file(UP, DOWN)
    for size in range(3, len(whole), 7):
        (folder / "cut.cm").write_bytes(whole[:size])
        words = ("run", "line.toml", "-q", "--out", "out", "--force", "--no-report")
        answer = call(*words, "--modem", str(folder / "cut.cm"))
        assert answer.exit_code in (0, 2), answer.output
        assert len(answer.stderr.splitlines()) == (1 if answer.exit_code else 0)
