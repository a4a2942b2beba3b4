"""Each fact has words, each remedy advice; and what a diagnosis proposes can be set."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

import headend
from headend.analysis import facts, quality
from headend.analysis.diagnosis import diagnose
from headend.analysis.facts import Action, Fact, Remedy
from headend.wording.facts import ADVICE, WORDS, advise, describe_facts, summarize_facts
from headend.wording.flows import DETAILS

TEN = {"rate": "10 Mbit/s"}


def list_kinds(kind: type[Fact] = Fact) -> Iterator[type[Fact]]:
    for own in kind.__subclasses__():
        yield own
        yield from list_kinds(own)


def test_every_fact_has_words_and_every_action_advice() -> None:
    assert set(list_kinds()) - {facts.Waits} == WORDS.keys()
    assert set(Action) == ADVICE.keys()
    assert all(any(words) for words in WORDS.values())


def test_every_detail_of_a_flow_has_words() -> None:
    tree = ast.parse(inspect.getsource(quality))
    found = {
        node.elts[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Tuple)
        and node.elts
        and isinstance(node.elts[0], ast.Constant)
        and node.elts[0].value in DETAILS
    }
    conditional = {"lost", "also_lost"}
    assert found | conditional == DETAILS.keys()


def make_upload(queue: Any) -> dict[str, Any]:
    up = {**TEN, "queue": queue}
    line = {"line": {"point_to_point": {"up": up, "down": TEN}}}
    flow = {"put": {"application": "bulk", "rtt": "40 ms"}, "call": {"application": "voice"}}
    return {"duration": "20 s", "warmup": "5 s", "link": line, "flow": flow}


def test_a_diagnosis_has_the_cause_in_numbers_and_a_remedy_that_helps() -> None:
    scenario = make_upload({"drop_tail": {"limit": "400 ms"}})
    found = diagnose(headend.run(scenario))
    cause = found.cause
    assert isinstance(cause, facts.StandingQueue)
    assert cause in found.facts
    assert (cause.queue.queue, cause.suffers, cause.passing) == ("line.up", True, "")
    assert cause.queue.standing_ratio > 0.5
    remedy = found.remedy
    assert remedy is not None
    assert (remedy.action, remedy.setting) == (Action.ADD_AQM, "queue=fq_codel")
    helped = diagnose(headend.run(scenario, set={remedy.path: remedy.value}))
    assert not isinstance(helped.cause, facts.StandingQueue)


def test_a_fact_is_written_in_two_lengths() -> None:
    long = facts.LongPath("ping", 250e6, is_full=False)
    assert describe_facts([long]) == [
        "The path of ping takes 250 ms each way, and no queue adds to it."
    ]
    brief = "the path itself takes 250 ms each way, and no queue adds to it"
    assert summarize_facts([long]) == brief
    assert advise(None) == ""
    assert advise(Remedy(Action.LOOK_ELSEWHERE)).startswith("No queue explains it")


def test_what_is_not_told_at_a_length_leaves_no_trace() -> None:
    assert describe_facts([facts.Barred("call", "a classifier forbids its packets")]) == []
    assert summarize_facts([facts.Partial(1e9, 2e9)]) == ""
