"""Names that people use lead to what headend calls them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import headend
from headend import expect, lookup
from headend.cli.main import SECTIONS
from headend.errors import InputError
from headend.library import find_scenario, find_study
from headend.lookup import (
    ABSENT,
    TERM,
    Entry,
    describe,
    find,
    find_kind,
    guide,
    lead,
    read_entries,
    tell_nothing,
)
from headend.scenario import read_scenario
from headend.vocabulary import list_choices

LINE: dict[str, Any] = {
    "duration": "1 s",
    "link": {"line": {"point_to_point": {"up": {"rate": "2 Mbit/s"}}}},
    "flow": {"call": {"application": "voice"}},
}

ENTRIES = read_entries()


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.names[0] for entry in ENTRIES])
def test_every_entry_leads_to_what_there_is(entry: Entry) -> None:
    assert entry.names
    assert entry.leads
    for kind, name in entry.leads:
        finding = describe(kind, name)
        assert finding, f"{entry.names[0]}: there is no {kind} {name}"
        assert finding.what
        assert name.split(" = ")[0] in finding.how
    if entry.is_absent:
        assert entry.note
    assert not entry.note.endswith(".")
    for name in entry.names:
        assert name == name.lower()
        assert find(name), name


def test_the_table_holds_many_names_each_once() -> None:
    names = [lookup._spell(name) for entry in ENTRIES for name in entry.names]
    assert len(names) > 300
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("query", "kind", "name"),
    [
        ("webrtc", "application", "video_call"),
        ("Teams", "application", "video_call"),
        ("zoom", "application", "video_call"),
        ("netflix", "application", "streaming"),
        ("geforce-now", "application", "cloud_gaming"),
        ("torrent", "application", "torrent"),
        ("BitTorrent", "application", "torrent"),
        ("iperf3", TERM, "iperf3"),
        ("bufferbloat", TERM, "bufferbloat"),
        ("cake", ABSENT, "cake"),
        ("congestion", TERM, "congestion"),
        ("ack", "key of a scenario", "link.NAME.docsis.upstream.ack_acceleration"),
        ("g711", "key of a scenario", "flow.NAME.application.voice.codec"),
        ("newreno", "congestion control", "reno"),
        ("LEDBAT++", "congestion control", "ledbat_plus_plus"),
        ("docsis", "link", "docsis"),
        ("docsis 4.0", ABSENT, "docsis 4.0"),
        ("wi-fi", TERM, "wi-fi"),
        ("Wi-Fi 6", ABSENT, "wi-fi 6"),
        ("fq_codel", "queue", "fq_codel"),
        ("fq-codel", "queue", "fq_codel"),
        ("ping-latency", "study", "buffer-control/ping-latency"),
        ("upload-and-call", "scenario", "upload-and-call"),
        ("mos", "measure", "mos"),
        ("sweep", "command", "sweep"),
        ("zoom calls at home", "application", "video_call"),
        ("latency under load", "application", "responsiveness"),
    ],
)
def test_a_name_leads_to_what_is_meant_first(query: str, kind: str, name: str) -> None:
    first = find(query)[0]
    assert (first.kind, first.name) == (kind, name)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("webrtc", 'application = "video_call"'),
        ("netflix", 'application = "streaming"'),
        ("bufferbloat", "headend run upload-and-call"),
        ("bufferbloat", "headend queues fq_codel"),
        ("cake", "headend queues cobalt"),
        ("cake", "headend queues fq_codel"),
        ("congestion", "headend senders"),
        ("congestion", 'tcp.congestion = "cubic"'),
        ("ack", "flow.NAME.tcp.delayed_ack"),
        ("ack", "headend study run buffer-control/ack-acceleration"),
        ("mac os", 'tcp.system = "macos"'),
        ("csv", "headend export"),
        ("jain", "FLOW.jain_index or run.jain_index in [expect]"),
        ("bloat", "FLOW.delay.p95 or LINK.up.delay.p95 in [expect]"),
    ],
)
def test_what_to_type_is_among_the_first(query: str, wanted: str) -> None:
    assert wanted in [finding.how for finding in find(query)[:7]]


def test_words_of_descriptions_are_found_after_names() -> None:
    found = find("telephone adapter")
    assert found[0].how == "headend run voice-adapter"
    assert any(finding.name == "cbq" for finding in find("agreed shares"))
    assert find("pie")[0].name == "pie"
    assert {"docsis_pie", "fq_pie"} <= {finding.name for finding in find("pie")[:5]}


def test_nothing_is_found_twice_and_not_too_much() -> None:
    for query in ("the", "call", "queue", "upload a file", "cake"):
        found = find(query)
        assert len(found) <= lookup.MOST_FOUND
        assert len({(one.kind, one.name) for one in found}) == len(found)


def test_where_nothing_is_found_the_nearest_names_are_told() -> None:
    assert find("webrtd") == []
    assert tell_nothing("webrtd").startswith(
        'nothing is called "webrtd"; the nearest names are webrtc'
    )
    assert tell_nothing("\x1b]qqqq") == (
        'nothing is called "\\x1b]qqqq"; headend --help lists the commands'
    )


@pytest.mark.parametrize("query", ["", "  ", "--", "?"])
def test_a_query_without_a_word_is_refused(query: str) -> None:
    with pytest.raises(InputError, match="expected a name to find"):
        find(query)


def test_a_query_that_is_no_text_is_refused() -> None:
    with pytest.raises(InputError, match=r"^query: expected a text, found 3$"):
        find(3)  # type: ignore[arg-type]


def test_all_that_scenarios_may_name_is_found() -> None:
    for kind in lookup._WRITTEN:
        for choice in list_choices(kind):
            assert find(choice.name)[0].name == choice.name


def test_every_measure_is_explained() -> None:
    known = {
        *expect.FLOW_METRICS,
        *expect.MEASURES,
        *expect.QUEUE_METRICS,
        *expect.CHANNEL_METRICS,
        *expect.RUN_METRICS,
    }
    known -= {name for name in expect.SPEEDS if name != "speed"}
    assert set(lookup._list_kind("measure")) == known


def test_a_measure_is_told_as_expectations_write_it() -> None:
    flows, links = {"FLOW": "no application of ours"}, ["LINK.up"]
    vocabulary = expect.Vocabulary(flows, links, {"FLOW": ["a", "b"]}, links)
    for name in lookup._list_kind("measure"):
        for written in lookup._write_measure(name).split(" or "):
            assert expect.parse_quantity_name(written, vocabulary).metric == name


def test_every_command_is_there_and_explained() -> None:
    listed = {
        name for section in SECTIONS.values() for name, command in section.items() if command.help
    }
    assert set(lookup._list_kind("command")) == listed


@pytest.mark.parametrize(
    ("word", "kind", "end"),
    [
        ("webrtc", "application", "; headend calls it video_call"),
        ("Netflix", "application", "; headend calls it streaming"),
        ("fifo", "queue", "; headend calls it drop_tail"),
        ("cake", "queue", "; headend has no cake, nearest are cobalt and fq_codel"),
        ("bbr2", "congestion", "; headend has no bbr2, nearest are bbr3 and bbr"),
        ("ios", "system", "; headend calls it macos"),
        ("windows_10", "system", "; headend has no windows_10, nearest is windows_xp"),
        ("htb", "queue", "; headend has no htb, nearest is cbq"),
        ("starlink", "link", "; headend has no starlink, nearest is point_to_point"),
        ("zyzzyva", "queue", "; headend find zyzzyva looks for it"),
        ("two words", "queue", "; headend find 'two words' looks for it"),
        ("codel", "application", '; "codel" is a queue: headend queues codel'),
        ("voice", "queue", '; "voice" is an application: application = "voice"'),
        ("mos", "measure", ""),
        ("mos_down", "measure", ""),
    ],
)
def test_an_unknown_name_leads_to_headends(word: str, kind: str, end: str) -> None:
    assert lead(word, kind) == end


def test_what_was_meant_by_its_spelling_stays_unless_the_table_knows_better() -> None:
    assert lead("codell", "queue", meant="codel") == ""
    assert lead("newreno", "congestion", meant="reno") == ""
    assert guide("moss", "measure", ["mos", "late"]) == '; did you mean "mos"?'
    assert guide("latency", "measure", ["late", "delay"]) == "; headend calls it delay"
    assert guide("latency", "measure", ["late"]) == '; did you mean "late"?'


def test_the_kind_of_a_name_is_told_by_what_is_known() -> None:
    assert find_kind(["codel", "pie"]) == "queue"
    assert find_kind(["linux", "rfc"]) == "system"
    assert find_kind(["up", "down"]) is None
    assert find_kind([]) is None


def refuse(**settings: str) -> str:
    with pytest.raises(InputError) as caught:
        headend.run(LINE, set={key.replace("__", "."): value for key, value in settings.items()})
    return str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "end"),
    [
        (
            "flow.call.application",
            "webrtc",
            'unknown name "webrtc" (from --set flow.call.application="webrtc"); headend calls it video_call',
        ),
        ("queue", "cake", "; headend has no cake, nearest are cobalt and fq_codel"),
        ("queue.cake.limit", "1 s", "; headend has no cake, nearest are cobalt and fq_codel"),
        ("flow.call.tcp.congestion", "bbr2", "; headend has no bbr2, nearest are bbr3 and bbr"),
        ("flow.call.tcp.system", "iphone", "; headend calls it macos"),
        ("queue", "zyzzyva", "; headend find zyzzyva looks for it"),
        ("queue", "codell", '; did you mean "codel"? (from --set queue="codell")'),
    ],
)
def test_a_scenarios_unknown_name_leads_to_headends(path: str, value: str, end: str) -> None:
    assert refuse(**{path: value}).endswith(end)


def test_so_does_one_in_a_file(tmp_path: Path) -> None:
    text = (
        'duration = "1 s"\n[link.line.gpon]\nup.rate = "1 Mbit/s"\n[flow.a]\napplication = "zoom"\n'
    )
    path = tmp_path / "line.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="; headend has no gpon, nearest is point_to_point"):
        read_scenario(path).load()
    path.write_text(text.replace("gpon", "point_to_point"), encoding="utf-8")
    with pytest.raises(InputError, match=r"\(line 5, column 15\); headend calls it video_call$"):
        read_scenario(path).load()


def test_a_key_of_ones_own_leads_nowhere() -> None:
    assert "headend find" not in refuse(flow__call__zyzzyva="1")
    assert "headend find" not in refuse(flow__call__direction="sideways")
    assert "headend find" not in refuse(link__zyzzyva="docsis")


def test_an_unknown_measure_leads_to_headends() -> None:
    told = refuse(expect__x="call.latency.p95 < 5 ms")
    assert '"call.latency.p95": call has no metric "latency"; headend calls it delay' in told
    told = refuse(expect__x="call.zyzzyva < 5 ms")
    assert "there are call_failed, " in told
    assert "; headend find zyzzyva looks for it" in told


def test_an_unknown_scenario_or_study_is_looked_for() -> None:
    with pytest.raises(
        InputError, match=r'^no file and no shipped scenario is called "webrtc"; headend find'
    ):
        find_scenario("webrtc")
    with pytest.raises(InputError, match=r'"upload-and-cal"; did you mean "upload-and-call"\?$'):
        find_scenario("upload-and-cal")
    with pytest.raises(InputError, match=r"; headend find webrtc looks for it$"):
        find_study("webrtc")
    with pytest.raises(InputError, match=r'; did you mean "ping-latency"\?$'):
        find_study("ping-latenzy")


def test_dir_shows_what_can_be_called_and_nothing_else() -> None:
    import headend.sweeps.experiment
    import headend.verification  # does not appear below

    names = dir(headend)
    assert names == sorted(set(headend.__all__) - {"__version__"})
    assert {"run", "compare", "sweep", "find", "export_tables", "verify", "Result"} <= set(names)
    for name in names:
        assert callable(getattr(headend, name)), name
        assert getattr(headend, name).__doc__
    assert headend.find("webrtc") == find("webrtc")
    package = headend.__doc__ or ""
    assert all(f"``{name}" in package for name in names if name != "Finding")


def test_the_table_is_toml_of_known_keys() -> None:
    path = Path(lookup.__file__).with_name("names.toml")
    content = tomllib.loads(path.read_text("utf-8"))
    assert set(content) == {"entry", "measures", "commands"}
    for item in content["entry"]:
        assert set(item) <= {"names", "leads", "note", "absent"}
