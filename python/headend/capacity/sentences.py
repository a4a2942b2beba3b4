"""The answer: how many homes suit, how sure that is, and what people suffer from beyond."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headend.analysis.estimate import format_estimate
from headend.analysis.grading import Grade
from headend.capacity.counting import SHARED, Cause
from headend.capacity.findings import EVERYBODY
from headend.capacity.rule import FACTORS, apply_rule
from headend.text.quantity import format_quantity
from headend.text.wording import join_names, write_count
from headend.wording.answer import Answer
from headend.wording.table import Cell, Column, Row, Table, make_matrix

if TYPE_CHECKING:
    from headend.capacity.findings import Fall, Findings, Street

#: Numbers of homes in the matrix of the answer.
MOST_COLUMNS = 5


def answer_capacity(result: Findings) -> Answer:
    """Give question, sentences and matrix."""
    share = format_quantity(result.most, "ratio")
    question = (
        f"How many homes does the line of {result.name} carry before more than {share} of people"
        " suffer from sharing it?"
    )
    sentences = (_describe_number(result, share), _describe_causes(result))
    matrix = tabulate_shares(result, choose_numbers(result))
    return Answer(question, tuple(filter(None, sentences)), matrix, "suffering")


def _describe_number(result: Findings, share: str) -> str:
    """Say how many homes suit, and between which numbers the seeds do not decide."""
    suits, fails = result.crossing
    if not suits:
        return f"Not even {write_count(fails or 1, 'home')}: more than {share} of people suffer."
    if fails is None:
        told = f"{suits} homes and more"
        return f"{told}: of so many, {_write_share(result, suits)} suffer; no more were tried."
    refused = result.trials[fails].share is None
    beyond = "cannot be simulated" if refused else f"are too many ({_write_share(result, fails)})"
    told = f"{suits} homes: {_write_share(result, suits)} suffer then, and {fails} {beyond}."
    if len(result.seeds) < 2:
        return f"{told} That is one seed; more of them say how sure it is."
    sure, failing = result.sure, result.failing
    if sure == suits and failing == fails:
        return f"{told} Both are sure."
    ends = [f"Up to {sure} is sure"] if sure else ["No number is sure"]
    ends += [f"from {failing} on it is surely too many"] if failing else []
    return (
        f"{told} {', and '.join(ends)} (95 % intervals, {len(result.seeds)} seeds; more of them"
        " narrow that)."
    )


def _write_share(result: Findings, homes: int) -> str:
    found = result.estimate(homes, *SHARED)
    return format_estimate(found, "ratio") if found else "–"


def _describe_causes(result: Findings) -> str:
    """Say who suffers first beyond the number that suits, from what, and who suffers anyway."""
    looked = result.looked_at
    if not looked:
        return ""
    told = ""
    causes = [(_mean(result, looked, cause), cause) for cause in SHARED]
    worst = [cause.words for mean, cause in sorted(causes, reverse=True) if mean > 0][:2]
    groups = [(_mean(result, looked, *SHARED, group=name), name) for name in result.groups]
    first = max(groups, default=(0.0, ""))
    if worst and first[0] > 0:
        share = format_quantity(first[0], "ratio")
        told = f"With {looked}, {first[1]} suffers most ({share}); the cause is {worst[0]}"
        told += f", then {worst[1]}. " if len(worst) > 1 else ". "
    own = _mean(result, looked, Cause.OWN)
    if own > 0:
        told += (
            f"Besides, {format_quantity(own, 'ratio')} suffer from transfers of their own home,"
            " which no number of homes changes: that is the modem's queue (headend recommend)."
        )
    return told.strip()


def _mean(result: Findings, homes: int, *causes: Cause, group: str = EVERYBODY) -> float:
    found = result.estimate(homes, *causes, group=group)
    return found.mean if found else 0.0


def choose_numbers(result: Findings) -> list[int]:
    """Choose the numbers of homes that an answer shows: those about which it speaks."""
    suits, fails = result.crossing
    known = sorted(number for number, trial in result.trials.items() if trial.share)
    wanted = [result.sure, suits, fails or 0, result.failing or 0]
    chosen = {number for number in wanted if number in known}
    others = [number for number in (known[0], known[-1]) if number not in chosen] if known else []
    return sorted([*chosen, *others[: MOST_COLUMNS - len(chosen)]])


def tabulate_shares(result: Findings, numbers: Sequence[int]) -> Table:
    """Make the table of who suffers with each number of homes: by cause, and by group."""

    def write(*causes: Cause, group: str = EVERYBODY, graded: bool = False) -> list[Cell]:
        cells = []
        for number in numbers:
            found = result.estimate(number, *causes, group=group)
            grade = result.trials[number].standing.grade if graded else Grade.NONE
            cells.append(Cell(format_estimate(found, "ratio") if found else "–", grade))
        return cells

    found = list_found(result)
    rows = [Row("all, from sharing", tuple(write(*SHARED, graded=True)))]
    if len(found) > 1:
        rows += [Row(f"all, from {cause.words}", tuple(write(cause))) for cause in found]
    rows.append(Row(f"all, from {Cause.OWN.words}", tuple(write(Cause.OWN))))
    if len(result.groups) > 1:
        rows += [
            Row(f"{name}, from sharing", tuple(write(*SHARED, group=name)))
            for name in result.groups
        ]
    heads = [f"{number} home{'s' if number > 1 else ''}" for number in numbers]
    several = f", means of {len(result.seeds)} seeds with 95 % intervals"
    note = f"Shares of people who suffer{several if len(result.seeds) > 1 else ''}."
    if len(found) == 1:
        note += f" All who suffer from sharing suffer from {found[0].words}."
    if fall := result.find_fall(numbers):
        note += f" {_describe_fall(fall)}"
    return make_matrix(heads, rows, note=note)


def _describe_fall(fall: Fall) -> str:
    """Say why a mean is smaller with more homes."""
    share, smaller = (format_quantity(own, "ratio") for own in (fall.share, fall.smaller))
    who = "all" if fall.group == EVERYBODY else fall.group
    return (
        f"That {who} suffer less with {fall.more} homes ({smaller}) than with {fall.fewer}"
        f" ({share}) is chance: each number of homes draws streets of its own, and more seeds even"
        " that out."
    )


def describe_worst(street: Street, file: str) -> str:
    """Say which street is the worst, and how to look at it."""
    share = format_quantity(street.share, "ratio")
    return (
        f"The worst street of {street.homes} homes (seed {street.seed}: {share} suffer from"
        f" sharing): headend run {file}"
    )


def list_found(result: Findings) -> list[Cause]:
    """List the causes of sharing that anybody suffered from."""
    return [own for own in SHARED if any(_mean(result, number, own) for number in result.numbers)]


def tabulate_rule(result: Findings) -> Table | None:
    """Make the table of what the rule of thumb says, a row for each channel; None without rates."""
    rows = []
    for channel in result.channels:
        way = channel.name.rpartition(".")[2]
        fastest = result.fastest.get(way)
        if not fastest or channel.needed <= 0:
            continue
        told = [apply_rule(channel.capacity, channel.needed, fastest, factor) for factor in FACTORS]
        figures = (channel.capacity, channel.needed, fastest)
        cells = [*(format_quantity(own, "rate") for own in figures), *map(str, told)]
        rows.append(Row(channel.name, tuple(map(Cell, cells))))
    if not rows:
        return None
    columns = [Column(own, is_number=True) for own in ("capacity C", "a home needs t", "fastest T")]
    columns += [Column(f"K = {factor}", is_number=True) for factor in FACTORS]
    note = (
        "Homes N by the rule of thumb C ≥ N · t + K · T (Cloonan, Allen and Emmendorfer, ARRIS"
        " 2014), with what a home carried on average where the fewest were tried. Greedy transfers"
        " make t too large: they take what is free."
    )
    return Table(tuple(columns), tuple(rows), "channel", "The rule of thumb", note)


def list_facts(result: Findings) -> str:
    """Say which numbers were tried, and with how many seeds."""
    tried = join_names([str(number) for number in sorted(result.numbers)])
    return f"Tried: {tried} homes, each with {len(result.seeds)} seeds."
