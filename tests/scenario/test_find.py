"""Names that people use lead to what headend calls them."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headend
from headend.analysis import expect
from headend.engine import description, metrics
from headend.engine.vocabulary import list_choices
from headend.errors import InputError
from headend.results.record import read_manifest
from headend.scenario import lookup
from headend.scenario.library import find_scenario, find_study, find_sweep
from headend.scenario.lookup import (
    ABSENT,
    TERM,
    Entry,
    describe,
    describe_nothing,
    find_kind,
    lead_to_key,
    read_entries,
    suggest_name,
    suggest_names,
    suggest_own_name,
    take_first_sentence,
)
from headend.scenario.source import read_scenario
from headend.scenario.subjects import Vocabulary
from headend.study.locating import find
from headend.sweeps import read_sweep

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
        ("cake", "queue", "cake"),
        ("autorate", "application", "autorate"),
        ("congestion", TERM, "congestion"),
        ("ack", "key of a scenario", "link.NAME.docsis.upstream.ack_acceleration"),
        ("g711", "key of a scenario", "flow.NAME.application.voice.codec"),
        ("newreno", "congestion control", "reno"),
        ("LEDBAT++", "congestion control", "ledbat_plus_plus"),
        ("docsis", "link", "docsis"),
        ("docsis 4.0", ABSENT, "docsis 4.0"),
        ("wi-fi", TERM, "wi-fi"),
        ("Wi-Fi 6", "link", "dot11ax"),
        ("Wi-Fi 7", ABSENT, "wi-fi 7"),
        ("mpu", TERM, "mpu"),
        ("pppoe-vcmux", TERM, "pppoe vcmux"),
        ("policer", "key of a scenario", "link.NAME.point_to_point.up.policer"),
        ("tbf", TERM, "tbf"),
        ("TSO", TERM, "tso"),
        ("fq_codel", "queue", "fq_codel"),
        ("fq-codel", "queue", "fq_codel"),
        ("ping-latency", "study", "buffer-control/ping-latency"),
        ("upload-and-call", "scenario", "upload-and-call"),
        ("mos", "measure", "mos"),
        ("sweep", "command", "sweep"),
        ("zoom calls at home", "application", "video_call"),
        ("latency under load", "application", "responsiveness"),
        ("video", "application", "streaming"),
        ("hd video", "application", "streaming"),
        ("4K", "application", "streaming"),
        ("instagram", "application", "streaming"),
        ("smart TV", "application", "streaming"),
        ("video stutters", "measure", "stall"),
        ("game lags", TERM, "game lags"),
        ("rubberbanding", TERM, "rubberbanding"),
        ("calls breaking up", TERM, "calls breaking up"),
        ("page loads slowly", "application", "web"),
        ("internet is slow at night", TERM, "internet is slow at night"),
        ("Why is my internet slow?", TERM, "why is my internet slow"),
        ("upstream", TERM, "upstream"),
        ("downstream", TERM, "downstream"),
        ("docsis 3.1", "key of a scenario", "link.NAME.docsis.preset"),
        ("docsis3.1", "key of a scenario", "link.NAME.docsis.preset"),
        ("DOCSIS 3.0", "key of a scenario", "link.NAME.docsis.preset"),
        ("wireshark", TERM, "wireshark"),
        ("capture", TERM, "capture"),
        ("ssh", ABSENT, "ssh"),
        ("nagle", ABSENT, "nagle"),
        ("ipv6", TERM, "ipv6"),
        ("vlan", "key of a scenario", "host.NAME.vlan"),
        ("mac address", TERM, "mac address"),
        ("802.1p", TERM, "802.1p"),
        ("security camera", TERM, "security camera"),
        ("update", "application", "bulk"),
        ("buffer sizes", "sweep", "buffer-sizes"),
        ("figure 4", "study", "buffer-control/ping-latency"),
        ("Fig. 1 of the AQM paper", "study", "aqm-docsis/matrix"),
        ("802.11b figure 11", "study", "service-quality/quake3"),
        ("table 2", "study", "buffer-control/target-buffers"),
        ("PCMM", TERM, "pcmm"),
        ("my ping goes to 300 ms when the kids upload", TERM, "ping upload"),
        ("Pings rise with uploads", TERM, "ping upload"),
        ("lag when somebody is uploading", TERM, "lag upload"),
        ("what do I ask my provider?", TERM, "ask my provider"),
        ("what should I tell my ISP", TERM, "tell isp"),
        ("letter", TERM, "letter"),
        ("a letter to my provider", TERM, "letter to my provider"),
        ("my wifi is slow", TERM, "slow wifi"),
        ("slow Wi-Fi", TERM, "slow wi-fi"),
        ("my Wi-Fi is so slow", TERM, "slow wi-fi"),
        ("calls stutter", TERM, "calls stutter"),
        ("my calls stutter", TERM, "calls stutter"),
        ("cake-autorate", TERM, "cake autorate"),
        ("sqm", TERM, "sqm"),
        ("which rate for cake", TERM, "which rate for cake"),
        ("Which rate should I set for CAKE?", TERM, "which rate for cake"),
        ("what bandwidth for sqm", TERM, "sqm bandwidth"),
        ("teach a class", "page of the documentation", "docs/howto/class-of-90-minutes.md"),
        ("derandomise", "study", "aqm-docsis/effective-drop-probability"),
        ("de-randomizer", "study", "aqm-docsis/effective-drop-probability"),
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
        ("sqm", "headend queues cake"),
        ("sqm", "headend queues fq_codel"),
        ("host fairness", "headend queues cake"),
        ("congestion", "headend senders"),
        ("congestion", 'tcp.congestion = "cubic"'),
        ("ack", "flow.NAME.tcp.delayed_ack"),
        ("ack", "headend study run buffer-control/ack-acceleration"),
        ("mac os", 'tcp.system = "macos"'),
        ("csv", "headend export"),
        ("jain", "FLOW.jain_index or run.jain_index in [expect]"),
        ("bloat", "FLOW.delay.p95 or LINK.up.delay.p95 in [expect]"),
        ("docsis 3.1", 'link.NAME.docsis.preset = "docsis31"'),
        ("docsis 3.0", 'link.NAME.docsis.preset = "docsis30"'),
        ("internet is slow at night", "headend run street"),
        ("why is my internet slow", "headend run upload-and-call"),
        ("calls breaking up", "FLOW.late.p95 in [expect]"),
        ("upstream", 'flow.NAME.direction = "up"'),
        ("wireshark", "results.capture"),
        ("ps5", "headend run game-console"),
        ("buffer-sizes", "headend sweep buffer-sizes"),
        ("tunnel", "flow.NAME.tunnel"),
        ("pcmm", "headend study run buffer-control/settings"),
        ("pcmm", "link.NAME.docsis.change"),
        ("unusable", "FLOW.mos.p5 in [expect]"),
        ("bad spells", "FLOW.mos.p5 in [expect]"),
    ],
)
def test_what_to_type_is_among_the_first(query: str, wanted: str) -> None:
    assert wanted in [finding.how for finding in find(query)[:7]]


@pytest.mark.parametrize("query", ["wifi", "slow wifi", "calls stutter"])
def test_what_is_wrong_with_a_wifi_leads_to_the_home_of_today_first(query: str) -> None:
    named = [finding.how for finding in find(query) if finding.kind != TERM]
    assert named[0] == "headend run home-today"


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("snr", "station.NAME.snr"),
        ("rssi", "station.NAME.snr"),
        ("dBm", "station.NAME.snr"),
        ("signal", "station.NAME.snr"),
        ("weak signal", "station.NAME.snr"),
        ("my signal is bad", "station.NAME.snr"),
        ("far away", "station.NAME.snr"),
        ("minstrel", "station.NAME.snr"),
        ("rate control", "station.NAME.snr"),
        ("hidden node", "rts_threshold"),
        ("rts_threshold", "rts_threshold"),
        ("airtime_limit", "access_point.airtime_limit"),
        ("AQL", "access_point.airtime_limit"),
    ],
)
def test_words_of_the_radio_lead_to_the_cell_s_key_its_pages_and_a_home(
    query: str, key: str
) -> None:
    found = find(query)
    assert found[0].kind == TERM
    assert {
        f"link.NAME.dot11ax.{key}",
        "docs/models/wifi.md",
        "docs/howto/modem-or-wifi.md",
        "headend run home-today",
    } <= {finding.how for finding in found}


@pytest.mark.parametrize(
    "query", ["roaming", "neighbour wifi", "my neighbours' wifi", "wifi is slow in the evening"]
)
def test_what_a_cell_has_not_is_told_as_absent_with_what_comes_nearest(query: str) -> None:
    found = find(query)
    assert found[0].kind == ABSENT
    assert {"docs/models/wifi.md", "headend run home-today"} <= {one.how for one in found}


def test_the_evening_is_the_street_s_channel_or_the_neighbours_wifi() -> None:
    found = find("evening")
    assert any(one.kind == TERM and "which is not built" in one.what for one in found)
    assert {"headend run evening", "headend run street"} <= {one.how for one in found}


def test_a_figure_leads_to_all_documents_that_have_it_with_its_caption() -> None:
    found = find("figure 4")
    assert [finding.name for finding in found[:4]] == [
        "buffer-control/ping-latency",
        "aqm-docsis/matrix",
        "service-quality/wifi-rtt",
        "cbt/blast",
    ]
    assert take_first_sentence(found[0].what).endswith('"Ping Time vs. Predicted Buffer Latency".')
    assert find("packet loss")[0].kind != "study"


def test_a_tunnel_is_told_with_the_line_that_makes_one() -> None:
    for word in ("tunnel", "vpn"):
        assert 'write tunnel = "vpn" in each of them' in find(word)[0].what


def test_words_of_descriptions_are_found_after_names() -> None:
    found = find("telephone adapter")
    assert found[0].how == "headend run voice-adapter"
    assert any(finding.name == "cbq" for finding in find("agreed shares"))
    assert find("pie")[0].name == "pie"
    assert {"docsis_pie", "fq_pie"} <= {finding.name for finding in find("pie")[:5]}


@pytest.mark.parametrize(
    ("query", "name", "key"),
    [
        ("UsServiceFlow", "24 upstream_service_flow", "upstream_service_flow"),
        (
            "MaxRateSustained",
            "24/25.8 maximum_sustained_rate",
            "upstream_service_flow.maximum_sustained_rate",
        ),
        ("max rate sustained", "24/25.8 maximum_sustained_rate", "maximum_sustained_rate"),
        ("MaxCPE", "18 maximum_number_of_cpes", "maximum_number_of_cpes"),
        ("TargetBuffer", "24/25.35.2 target", "upstream_service_flow.buffer_control.target"),
        ("24.35.2", "24/25.35.2 target", "buffer_control.target"),
        ("TLV 25.35.2", "24/25.35.2 target", "buffer_control.target"),
        ("tlv 18", "18 maximum_number_of_cpes", "maximum_number_of_cpes"),
    ],
)
def test_a_tlv_is_found_by_operators_names_and_its_number(query: str, name: str, key: str) -> None:
    first = find(query)[0]
    assert (first.kind, first.name) == (lookup.TLV, name)
    assert f"{key} in the text of a modem's file" in first.how
    assert "docs/reference/modem-file.md" in first.how


def test_the_table_mib_is_found() -> None:
    first = find("mib")[0]
    assert "table mib" in first.what


def test_nothing_is_found_twice_and_not_too_much() -> None:
    for query in ("the", "call", "queue", "upload a file", "cake"):
        found = find(query)
        assert len(found) <= lookup.MOST_FOUND
        assert len({(one.kind, one.name) for one in found}) == len(found)


def test_where_nothing_is_found_the_nearest_names_are_told() -> None:
    assert find("webrtd") == []
    assert describe_nothing("webrtd").startswith(
        'nothing is called "webrtd"; the nearest name is webrtc'
    )
    assert describe_nothing("\x1b]qqqq") == (
        'nothing is called "\\x1b]qqqq"; headend --help lists the commands'
    )


@pytest.mark.parametrize(
    ("query", "found"),
    [("", "nothing"), ("  ", "nothing"), ("--", '"--"'), ("?", '"?"'), ("*", '"*"')],
)
def test_a_query_without_a_word_is_refused(query: str, found: str) -> None:
    told = f"expected a name to find, such as webrtc or bufferbloat, found {found}"
    with pytest.raises(InputError, match=f"^{re.escape(told)}$"):
        find(query)


@pytest.mark.parametrize("query", ["0", "7", "x", "2 3", "zzzz"])
def test_a_letter_or_a_number_is_in_too_many_descriptions(query: str) -> None:
    assert find(query) == []


@pytest.mark.parametrize(
    ("query", "near"),
    [
        ("vidoe", ["video"]),
        ("vdeo", ["video"]),
        ("bufferblot", ["bufferbloat", "buffer bloat"]),
        ("netlfix", ["netflix"]),
        ("4q", []),
        ("shoppy audioo", ["choppy audio"]),
        ("instakilogram", []),
        ("xyz", []),
    ],
)
def test_a_name_is_near_only_for_a_slip_or_two(query: str, near: list[str]) -> None:
    assert find(query) == []
    assert suggest_names(query) == near


@pytest.mark.parametrize(
    ("measure", "statistic"),
    [
        ("mos", "p5"),
        ("rpm", "p5"),
        ("speed", "p5"),
        ("segment_rate", "p5"),
        ("video_rate", "p5"),
        ("rtt", "p95"),
        ("late", "p95"),
        ("page_load_time", "p95"),
        ("switches", "p95"),
    ],
)
def test_the_example_of_a_measure_is_of_its_bad_side(measure: str, statistic: str) -> None:
    assert find(measure)[0].how == f"FLOW.{measure}.{statistic} in [expect]"


def test_a_sentence_is_not_cut_in_a_quotation() -> None:
    for finding in [*find("downstream"), *find("buffer")]:
        assert take_first_sentence(finding.what).count('"') % 2 == 0
    found = {one.name: take_first_sentence(one.what) for one in find("downstream")}
    assert found["buffer-control/downstream"] == "Buffer Control downstream."


def test_a_query_that_is_no_text_is_refused() -> None:
    with pytest.raises(InputError, match=r"^query: expected a text, found 3$"):
        find(3)  # type: ignore[arg-type]


def test_all_that_scenarios_may_name_is_found() -> None:
    for kind in lookup._WRITTEN:
        for choice in list_choices(kind):
            assert find(choice.name)[0].name == choice.name


def test_an_entry_is_found_once_though_several_of_its_names_are_held() -> None:
    found = find("slow upload, and lag with every upload and download")
    notes = [own.what for own in found if own.kind == TERM]
    assert notes
    assert len(notes) == len(set(notes))


def test_one_word_of_many_is_not_enough_of_a_description() -> None:
    query = "upload zyzzyva quux corge grault"
    assert find("upload zyzzyva") != []
    assert [own.name for own in find(query)] == [own.name for own in find("upload")[:3]]


def test_pages_are_known_by_their_titles() -> None:
    pages = lookup._read_file()["pages"]
    home = Path(__file__).parents[2]
    assert set(pages) >= {
        path.relative_to(home).as_posix()
        for folder in ("howto", "explanation")
        for path in (home / "docs" / folder).glob("*.md")
    }
    for path, title in pages.items():
        assert (home / path).read_text(encoding="utf-8").startswith(f"# {title}\n"), path


def test_every_measure_is_explained() -> None:
    known = {
        *metrics.FLOW_METRICS,
        *(kind.name for kind in description.describe().measures.values() if kind.what),
        *metrics.QUEUE_METRICS,
        *metrics.CHANNEL_METRICS,
        *metrics.RUN_METRICS,
        *metrics.SCORE_METRICS,
    }
    assert set(lookup._list_kind("measure")) == known


def test_a_measure_is_told_as_expectations_write_it() -> None:
    flows, links = {"FLOW": "no application of ours"}, ["LINK.up"]
    vocabulary = Vocabulary(flows, links, {"FLOW": ["a", "b"]}, links)
    for name in lookup._list_kind("measure"):
        for written in lookup._write_measure(name).split(" or "):
            assert expect.parse_quantity_name(written, vocabulary).metric == name


@pytest.mark.parametrize(
    ("word", "kind", "end"),
    [
        ("webrtc", "application", "; headend calls it video_call"),
        ("Netflix", "application", "; headend calls it streaming"),
        ("fifo", "queue", "; headend calls it drop_tail"),
        ("sqm", "queue", "; the nearest queues are cake, fq_codel and cobalt"),
        ("bbr2", "congestion", "; headend has no bbr2; the nearest are bbr3 and bbr"),
        ("ios", "system", "; headend calls it macos"),
        ("windows_10", "system", "; headend has no windows_10; the nearest is windows_xp"),
        ("htb", "queue", "; headend has no htb; the nearest is cbq"),
        ("starlink", "link", "; headend has no starlink; the nearest is point_to_point"),
        ("ecn", "queue", "; the nearest queue is dualpi2"),
        ("bufferbloat", "queue", "; the nearest queues are fq_codel and docsis_pie"),
        ("mos", "application", '; "mos" is a measure: FLOW.mos.p5 in [expect]'),
        (
            "ledbat",
            "application",
            '; "ledbat" is a congestion control: tcp.congestion = "ledbat"',
        ),
        ("zyzzyva", "queue", "; headend find zyzzyva looks for it"),
        ("two words", "queue", "; headend find 'two words' looks for it"),
        ("codel", "application", '; "codel" is a queue: headend queues codel'),
        ("voice", "queue", '; "voice" is an application: application = "voice"'),
        ("mos", "measure", ""),
        ("mos_down", "measure", ""),
        ("plot", "command", "; headend figures writes figures"),
        ("Version", "command", "; headend --version prints it"),
        ("aqm", "command", "; headend queues lists them"),
        ("codel", "command", '; "codel" is a queue: headend queues codel'),
        (
            "upload-and-call",
            "command",
            '; "upload-and-call" is a scenario: headend run upload-and-call',
        ),
        ("excel", "command", "; headend calls it export"),
        ("zyzzyva", "command", "; headend find zyzzyva looks for it"),
    ],
)
def test_an_unknown_name_leads_to_headends(word: str, kind: str, end: str) -> None:
    assert suggest_own_name(word, kind) == end


def test_what_was_meant_by_its_spelling_stays_unless_the_table_knows_better() -> None:
    assert suggest_own_name("codell", "queue", meant="codel") == ""
    assert suggest_own_name("newreno", "congestion", meant="reno") == ""
    assert suggest_name("moss", "measure", ["mos", "late"]) == '; did you mean "mos"?'
    assert suggest_name("latency", "measure", ["late", "delay"]) == "; headend calls it delay"
    assert suggest_name("latency", "measure", ["late"]) == '; did you mean "late"?'


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
            'unknown name "webrtc" (from --set flow.call.application="webrtc"); headend calls it'
            " video_call",
        ),
        ("queue", "wfq", "; headend has no wfq; the nearest are drr, fq_codel and sfq"),
        ("queue.wfq.limit", "1 s", "; headend has no wfq; the nearest are drr, fq_codel and sfq"),
        ("flow.call.tcp.congestion", "bbr2", "; headend has no bbr2; the nearest are bbr3 and bbr"),
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
    with pytest.raises(InputError, match="; headend has no gpon; the nearest is point_to_point"):
        read_scenario(path).load()
    path.write_text(text.replace("gpon", "point_to_point"), encoding="utf-8")
    with pytest.raises(InputError, match=r"\(line 5, column 15\); headend calls it video_call$"):
        read_scenario(path).load()


def test_a_key_of_ones_own_leads_nowhere() -> None:
    assert "headend find" not in refuse(flow__call__zyzzyva="1")
    assert "headend find" not in refuse(flow__call__direction="sideways")
    assert "headend find" not in refuse(link__zyzzyva="docsis")


def test_a_parameter_that_is_called_as_a_measure_has_the_list_of_what_there_is() -> None:
    told = refuse(queue__delay="5 ms")
    assert "unknown key; expected one of " in told
    assert told.endswith('; "delay" is a measure: FLOW.delay.p95 or LINK.up.delay.p95 in [expect]')


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
    import headend.results.verification  # does not appear below
    import headend.sweeps.experiment

    names = dir(headend)
    assert names == sorted(set(headend.__all__) - {"__version__"})
    assert {"run", "compare", "sweep", "find", "export_tables", "verify", "Result"} <= set(names)
    for name in names:
        assert callable(getattr(headend, name)), name
        assert getattr(headend, name).__doc__
    assert headend.find("webrtc")[0] == headend.Finding(
        "video_call",
        "application",
        lookup._list_kind("application")["video_call"],
        'application = "video_call"',
    )
    package = headend.__doc__ or ""
    assert all(f"``{name}" in package for name in names if name != "Finding")


def test_what_people_type_in_place_of_a_command_leads_to_one_that_there_is() -> None:
    commands, typed = lookup._list_kind("command"), lookup._index_typed()
    assert {"plot", "version", "validate", "check", "list", "search", "copy", "apps"} <= set(typed)
    assert {"aqm", "csv", "new", "init", "serve"} <= set(typed)
    assert not set(typed) & set(commands)
    for hint in typed.values():
        named = re.findall(r"headend ([-a-z]+)", hint)
        assert named
        assert set(named) <= {*commands, "--version"}
        assert not hint.endswith(".")
    assert suggest_name("verfy", "command", commands) == '; did you mean "verify"?'
    assert suggest_name("validate", "command", commands).startswith("; headend run checks ")


def test_every_key_by_another_name_leads_to_one_that_there_is() -> None:
    content = lookup._read_file()
    link = "link.NAME.point_to_point"
    roots = (
        "",
        "flow.NAME.",
        f"{link}.",
        f"{link}.up.",
        "link.NAME.docsis.",
        f"{link}.up.policer.",
        f"{link}.up.queue.drop_tail.",
        "link.NAME.dot11ax.",
        "link.NAME.dot11ax.station.NAME.",
    )
    words = {"up", "down", "both"}
    for word, names in content["keys"].items():
        for name in names:
            assert name in words or any(describe("key", root + name) for root in roots), word
            assert lead_to_key(word.upper(), [name.split(".")[0]]) == f"; headend calls it {name}"
    for nearest in content["unbuilt_values"].values():
        assert describe("key", f'link.NAME.docsis.preset = "{nearest}"')
    assert lead_to_key("loss", ["rate", "queue"]) == ""


@pytest.mark.parametrize(
    ("path", "value", "end"),
    [
        ("flow.call.dir", "up", "; headend calls it direction"),
        ("flow.call.congestion", "bbr", "; headend calls it tcp.congestion"),
        ("flow.call.latency", "1 ms", "; headend calls it rtt"),
        ("flow.call.size", "1 MB", "; headend calls it application.bulk.size"),
        ("flow.call.loss", "1 %", "; headend calls it path.loss"),
        ("flow.call.direction", "upstream", "; headend calls it up"),
        ("link.line.point_to_point.up.bandwidth", "1 Mbit/s", "; headend calls it rate"),
        ("link.line.point_to_point.up.latency", "1 ms", "; headend calls it delay"),
        ("link.line.point_to_point.up.buffer", "1 s", "; headend calls it queue.drop_tail.limit"),
        (
            "link.line",
            {"dot11ax": {"station": {"phone": {}}, "frequency": "5 GHz"}},
            "; headend calls it band",
        ),
        (
            "link.line",
            {"dot11ax": {"station": {"phone": {"signal": "20 dB"}}}},
            "; headend calls it snr",
        ),
        (
            "link.line",
            {"docsis": {"preset": "docsis40"}},
            "; headend has no docsis40; the nearest is docsis31",
        ),
    ],
)
def test_a_scenarios_unknown_key_leads_to_headends(path: str, value: Any, end: str) -> None:
    with pytest.raises(InputError) as caught:
        headend.run(LINE, set={path: value})
    assert str(caught.value).endswith(end)
    assert "did you mean" not in str(caught.value)


def test_a_key_means_nothing_where_its_other_name_does_not_stand() -> None:
    assert "headend calls it" not in refuse(link__line__point_to_point__loss="1 %")
    assert refuse(speed="1").endswith('did you mean "seed"? (from --set speed="1")')


@pytest.mark.parametrize(
    ("look", "name", "told"),
    [
        (
            find_scenario,
            "buffer-control/ping-latency",
            "no scenario but a study: headend study run buffer-control/ping-latency",
        ),
        (
            find_scenario,
            "ping-latency",
            "no scenario but a study: headend study run buffer-control/ping-latency",
        ),
        (
            find_scenario,
            "buffer-control",
            "no scenario but a document with studies: headend study run buffer-control",
        ),
        (find_scenario, "buffer-sizes", "no scenario but a sweep: headend sweep buffer-sizes"),
        (find_study, "upload-and-call", "no study but a scenario: headend run upload-and-call"),
        (find_study, "buffer-sizes", "no study but a sweep: headend sweep buffer-sizes"),
        (find_sweep, "upload-and-call", "no sweep but a scenario: headend run upload-and-call"),
    ],
)
def test_a_name_of_another_kind_is_told_with_its_command(
    look: Callable[[str], Any], name: str, told: str
) -> None:
    with pytest.raises(InputError, match=f'^"{name}" is {re.escape(told)}$'):
        look(name)
    command, *words = shlex.split(told.partition(": ")[2])
    assert command == "headend"
    assert words[-1].endswith(name)


def test_the_beginning_of_a_name_is_near_it() -> None:
    with pytest.raises(InputError, match=r'called "uplod"; did you mean "upload-and-call"\?$'):
        find_scenario("uplod")
    with pytest.raises(InputError, match=r'; did you mean "buffer-control/ping-latency"\?$'):
        find_study("bufer-control/ping")
    with pytest.raises(InputError, match=r'sweep is called "bufer-size"; did you mean "buffer-s'):
        find_sweep("bufer-size")


def test_a_shipped_sweep_is_found_by_name_and_a_file_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sweep = read_sweep("buffer-sizes")
    assert (sweep.name, len(sweep.design.list_points())) == ("buffer-sizes", 24 * 3)
    Path("own.toml").touch()
    assert find_sweep("own.toml") == Path("own.toml")
    Path("buffer-sizes").write_text("", encoding="utf-8")
    assert find_sweep("buffer-sizes") == Path("buffer-sizes")
    with pytest.raises(InputError, match=r"^-: a sweep is not read from standard input"):
        find_sweep("-")


def test_a_folder_without_results_leads_to_those_that_were_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def told(name: str) -> str:
        with pytest.raises(InputError) as caught:
            read_manifest(Path(name))
        return str(caught.value)

    assert told("nowhere") == "nowhere: no such results folder"
    assert "headend run evening makes one of this scenario" in told("evening")
    Path("own.toml").touch()
    assert told("own.toml").startswith(
        "own.toml: expected a results folder, found a file; headend run own.toml makes one"
    )
    for name in ("evening", "sweeps/rates"):
        headend.run(LINE, out=f"results/{name}", report=False)
    assert told("evening") == "evening: no such results folder; did you mean results/evening?"
    assert told("evning") == "evning: no such results folder; did you mean results/evening?"
    below = "results are in results/evening, results/sweeps/rates"
    assert told("results") == f"results: not a results folder (it has no manifest.json); {below}"
    assert told("sweeps") == "sweeps: no such results folder; results are in results/sweeps/rates"


def test_the_table_is_toml_of_known_keys() -> None:
    path = Path(lookup.__file__).with_name("names.toml")
    content = tomllib.loads(path.read_text("utf-8"))
    assert set(content) == {"entry", "measures", "pages", "typed", "keys", "unbuilt_values"}
    for item in content["typed"]:
        assert set(item) == {"words", "hint"}
    words = [word for item in content["typed"] for word in item["words"]]
    assert len(set(words)) == len(words)
    for item in content["entry"]:
        assert set(item) <= {"names", "leads", "note", "absent", "hint"}
