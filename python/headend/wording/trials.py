"""Sentences about advice that was tried, and its table."""

from __future__ import annotations

from collections.abc import Sequence

from headend.analysis.trials import FlowChange, Trial, choose_trial, list_felt
from headend.wording.quantities import share
from headend.wording.table import Cell, Row, Table, make_matrix

#: Flows whose change an answer names.
MOST_CHANGES = 3

#: From this relative change on, what transfers get is told.
FELT = 0.02


def advise_as_tried(trials: Sequence[Trial]) -> str:
    """Say what the best of the tried settings does; or that none of them helps."""
    best = choose_trial(trials)
    if best is not None:
        return f"Tried `--set {best.setting}`: {_describe(best)}."
    tried = " nor ".join(f"`{trial.setting.rpartition('=')[2]}`" for trial in trials)
    first = f"neither {tried} helps" if len(trials) > 1 else f"{tried} does not help"
    return f"{first[0].upper()}{first[1:]} ({_describe(trials[0])})."


def _describe(trial: Trial) -> str:
    felt = list(list_felt(trial)) or list(trial.changes)
    text = ", ".join(map(_describe_change, felt[:MOST_CHANGES]))
    if trial.transfers_ratio is None or abs(trial.transfers_ratio - 1) < FELT:
        return text
    sign = "+" if trial.transfers_ratio > 1 else "\N{MINUS SIGN}"
    return f"{text}; transfers {sign}{share(round(abs(trial.transfers_ratio - 1), 2))}"


def _describe_change(change: FlowChange) -> str:
    text = f"{change.label} {_arrow(change.before, change.after)}"
    # Who reads of a shorter wait must not take it for a short one.
    return f"{text}, still {change.word}" if change.is_relieved else text


def _arrow(before: str, after: str) -> str:
    return f"{before} → {after}" if before != after else f"stays at {before}"


def tabulate_trials(trials: Sequence[Trial]) -> Table:
    """Lay out what each tried setting did to each flow: a row for each setting."""
    labels = [change.label for change in trials[0].changes]
    before = tuple(
        Cell(change.before, change.grades[0], str(change.grades[0])) for change in trials[0].changes
    )
    rows = [Row("as it is", (*before, Cell("100 %")))]
    for trial in trials:
        cells = tuple(
            Cell(change.after, change.grades[1], str(change.grades[1])) for change in trial.changes
        )
        ratio = trial.transfers_ratio
        total = None if ratio is None else Cell(share(round(ratio, 3)))
        rows.append(Row(f"`{trial.setting}`", (*cells, total)))
    return make_matrix((*labels, "transfers"), tuple(rows))
