"""Each fact has words, each remedy advice; and what a diagnosis proposes can be set."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import headend
from headend.analysis import facts, quality
from headend.analysis.diagnosis import diagnose
from headend.analysis.facts import SHORTENING, Action, Fact, Remedy
from headend.analysis.queue_state import describe_queue
from headend.analysis.trials import Trial, describe_trials
from headend.comparison.pooling import pool_runs
from headend.wording.facts import ADVICE, WORDS, advise, describe_facts, summarize_facts
from headend.wording.flows import DETAILS
from headend.wording.queue import full_remedy
from headend.wording.verdict import judge

TEN = {"rate": "10 Mbit/s"}


def list_kinds(kind: type[Fact] = Fact) -> Iterator[type[Fact]]:
    for own in kind.__subclasses__():
        yield own
        yield from list_kinds(own)


def test_every_fact_has_words_and_every_action_advice() -> None:
    assert set(list_kinds()) - {facts.Waits} == WORDS.keys()
    assert set(Action) == ADVICE.keys()
    assert all(any(words) for words in WORDS.values())


@pytest.mark.parametrize("action", Action)
def test_no_setting_is_proposed_without_saying_that_it_was_not_tried(action: Action) -> None:
    scenario = make_upload({"drop_tail": {"limit": "400 ms"}})
    queue = describe_queue(headend.run(scenario, set={"duration": "6 s"}), "line.up")
    remedy = Remedy(action, "it", "queue", "codel", queue)
    for write in (advise, *([full_remedy] if action in SHORTENING else [])):
        proposed = re.findall(r"(\S+ \S+)\s`--set", write(remedy))
        assert set(proposed) <= {"(not tried:"}
        assert "--set" not in re.sub(r"\(not tried: `--set [^`]+`\)", "", write(remedy))
        assert "--set" not in write(replace(remedy, path=""))


def test_notes_of_a_run_with_trials_propose_nothing() -> None:
    result = headend.run(make_upload({"drop_tail": {"limit": "400 ms"}}))
    assert "(not tried: `--set queue=…`)" in judge(result).paragraph
    trial = Trial(("queue=fq_codel",), (), None)
    tried = replace(result, manifest={**result.manifest, "advice": describe_trials([trial])})
    assert "may shorten it." in judge(tried).paragraph
    assert "--set" not in judge(tried).paragraph


def test_what_was_tried_of_one_seed_is_not_told_of_several() -> None:
    scenario = make_upload({"drop_tail": {"limit": "400 ms"}})
    runs = [headend.run(scenario, seed=seed) for seed in (1, 2)]
    for run in runs:
        run.manifest["advice"] = describe_trials([Trial(("queue=fq_codel",), (), None)])
    assert "advice" not in pool_runs(runs).manifest
    assert pool_runs(runs[:1]).manifest["advice"]


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
