"""Sentences about advice that was tried, and its table."""

from __future__ import annotations

from collections.abc import Sequence

from headend.analysis.trials import FlowChange, Trial, choose_trial, list_felt
from headend.text.wording import join_names
from headend.wording.quantities import rate, share
from headend.wording.table import Cell, Row, Table, make_matrix

#: Flows whose change an answer names.
MOST_CHANGES = 3

#: From this relative change on, what transfers get, or a picture loses, is told.
FELT = 0.02


def advise_as_tried(trials: Sequence[Trial]) -> str:
    """Say what the best of the tried settings does; or that none of them helps."""
    best = choose_trial(trials)
    if best is None:
        return _refuse(trials)
    text = f"Tried {_name(best.settings)}: {_describe(best)}"
    alone = [trial for trial in trials if len(trial.settings) == 1]
    if len(best.settings) == 1 or len(alone) < len(best.settings):
        return f"{text}."
    if not any(trial.helps for trial in alone):
        return f"{text}; neither alone helps."
    return f"{text}."


def _name(settings: Sequence[str]) -> str:
    """Name the settings of a trial; several were tried together."""
    named = join_names([f"`--set {setting}`" for setting in settings])
    return f"{named} together" if len(settings) > 1 else named


def _refuse(trials: Sequence[Trial]) -> str:
    """Say that nothing helps of what was tried, and what that does which was the most."""
    alone = [trial.settings[0] for trial in trials if len(trial.settings) == 1]
    most = max(trials, key=lambda trial: len(trial.settings))
    does = _describe(most)
    if len(most.settings) == 1:
        return f"{_refuse_values(alone)} ({does})."
    if not alone:
        return f"{_name(most.settings)} do not help ({does})."
    named = " nor ".join(f"`--set {setting}`" for setting in alone)
    text = f"Neither {named} helps" if len(alone) > 1 else f"{named} does not help"
    rest = [setting for setting in most.settings if setting not in alone]
    both = f"nor together with {_name(rest)}" if rest else "nor do both together"
    return f"{text}, {both} ({does})."


def _refuse_values(settings: Sequence[str]) -> str:
    """Say that a key's values do not help, naming the key once; or that several keys do not.

    A value that is no word, such as ``7``, says nothing without its key.
    """
    keys, values = zip(*(setting.split("=", 1) for setting in settings), strict=True)
    is_one = len(set(keys)) == 1 and all(map(_is_word, values))
    named = [f"`{value}`" for value in values] if is_one else [_name([own]) for own in settings]
    end = f" as `--set {keys[0]}=…`" if is_one else ""
    if len(settings) == 1:
        return f"{named[0]} does not help{end}"
    return f"Neither {' nor '.join(named)} helps{end}"


def _is_word(value: str) -> bool:
    """Say whether a value is a name, such as ``codel``; no number, rate, switch or table is."""
    return value[:1].isalpha() and value not in ("true", "false")


def _describe(trial: Trial) -> str:
    felt = list(list_felt(trial)) or list(trial.changes)
    text = ", ".join(map(_describe_change, felt[:MOST_CHANGES]))
    costs = [*map(_describe_picture, trial.changes)]
    if trial.transfers_ratio is not None and abs(trial.transfers_ratio - 1) >= FELT:
        sign = "+" if trial.transfers_ratio > 1 else "\N{MINUS SIGN}"
        costs.append(f"transfers {sign}{share(round(abs(trial.transfers_ratio - 1), 2))}")
    return "; ".join(filter(None, (text, *costs)))


def _describe_picture(change: FlowChange) -> str:
    """Say what a picture loses; empty where it loses nothing that is felt."""
    if change.pictures is None:
        return ""
    before, after = change.pictures
    if after > (1 - FELT) * before:
        return ""
    return f"picture of {change.label} {rate(before)} → {rate(after)}"


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
        named = join_names([f"`{setting}`" for setting in trial.settings])
        rows.append(Row(named, (*cells, total)))
    return make_matrix((*labels, "transfers"), tuple(rows))
