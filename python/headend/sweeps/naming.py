"""Names a sweep's settings, lines and conditions in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headend.analysis.estimate import format_estimate
from headend.analysis.measures import MeasureValues
from headend.sweeps.conclusion import Best, Conclusion, Dimension
from headend.text.wording import join_names, list_names

#: Labels that a sentence lists at most.
MOST_TOLD = 4


def write_mean(measured: MeasureValues, setting: int) -> str:
    """Write a mean with its interval."""
    estimate = measured.estimates.get(setting)
    return format_estimate(estimate, measured.info.kind) if estimate else "–"


def order_best(best: Best) -> list[int]:
    """Give the best setting and those that tie with it, in the order of their line."""
    return [own for own in best.among if own == best.setting or own in best.ties]


def label_settings(conclusion: Conclusion, settings: Iterable[int]) -> list[str]:
    """Name settings by their place along the main axis."""
    main = conclusion.main_axis
    return [main.labels[conclusion.grid.find_place(own)[conclusion.main]] for own in settings]


def name_setting(conclusion: Conclusion, setting: int) -> str:
    """Name one setting by its label on the main axis; a bare number gets the axis' name too."""
    (label,) = label_settings(conclusion, [setting])
    main = conclusion.main_axis
    return f"{main.name} {label}" if label.replace(".", "").isdigit() else label


def join_settings(conclusion: Conclusion, settings: Sequence[int]) -> str:
    """Name settings along the main axis as a sentence lists them."""
    main = conclusion.main_axis
    return join_labels(label_settings(conclusion, settings), _list_ordered(main))


def _list_ordered(dimension: Dimension) -> Sequence[str]:
    """List the labels of an axis of ascending numbers; empty for any other axis."""
    numbers = dimension.numbers or ()
    return dimension.labels if list(numbers) == sorted(numbers) and numbers else ()


def join_labels(labels: Sequence[str], ordered: Sequence[str] = ()) -> str:
    """List labels in a sentence: a long contiguous row by its ends, others by their beginning.

    Examples
    --------
    >>> join_labels(["a", "b"]), join_labels(["2 ms", "5 ms", "9 ms"]), join_labels(
    ...     list("abcde"), list("abcdef")
    ... )
    ('a and b', '2, 5 and 9 ms', 'a to e')
    >>> join_labels(list("abcdf"), list("abcdef")), join_labels(["key 1", "key 2"])
    ('a, b, c and 2 more', 'key 1 and 2')
    """
    words = _find_common_words(labels) if len(labels) > 1 else ""
    if words:
        bare = [label.removeprefix(f"{words} ") for label in labels]
        return (
            f"{words} {join_labels(bare, [label.removeprefix(f'{words} ') for label in ordered])}"
        )
    is_long = len(labels) > MOST_TOLD
    first = ordered.index(labels[0]) if is_long and labels[0] in ordered else 0
    is_row = is_long and list(ordered[first : first + len(labels)]) == list(labels)
    units = {label.partition(" ")[2] for label in labels}
    if len(units) == 1 and units != {""} and all(label[0].isdigit() for label in labels):
        # A common unit is written once, after the last number.
        labels = [*(label.partition(" ")[0] for label in labels[:-1]), labels[-1]]
    if is_row:
        return f"{labels[0]} to {labels[-1]}"
    if any("," in label for label in labels):
        return list_names(labels, MOST_TOLD - 1, "; ")
    return list_names(labels, MOST_TOLD - 1) if is_long else join_names(labels)


def _find_common_words(labels: Sequence[str]) -> str:
    """Give the words that all labels begin with, such as an axis's name; empty if with commas.

    Examples
    --------
    >>> _find_common_words(["own key 1", "own key 2"]), _find_common_words(["a 1, b 2", "a 1, b 3"])
    ('own key', '')
    """
    if any("," in label for label in labels):
        return ""
    beginnings = {label.rpartition(" ")[0] for label in labels}
    (words,) = beginnings if len(beginnings) == 1 else ("",)
    return words if words and not words[0].isdigit() else ""


def describe_lines(conclusion: Conclusion, bests: Sequence[Best]) -> str:
    """Name lines by their values on the other axes."""
    return join_labels(
        [_name_line(conclusion, best) for best in bests], list_ordered_lines(conclusion)
    )


def list_ordered_lines(conclusion: Conclusion) -> Sequence[str]:
    """List the main lines' names, if they differ in one axis of ascending numbers; or empty."""
    others = list_others(conclusion)
    if len(others) != 1 or not _list_ordered(others[0]):
        return ()
    return [_name_line(conclusion, best) for best in conclusion.list_bests(conclusion.main)]


def list_others(conclusion: Conclusion) -> list[Dimension]:
    """List the other dimensions that have several values."""
    return [
        own
        for number, own in enumerate(conclusion.grid.dimensions)
        if number != conclusion.main and len(own.labels) > 1
    ]


def _name_line(conclusion: Conclusion, best: Best) -> str:
    """Name a line by its values on the other axes; a bare number gets its axis' name too."""
    is_bare = any(
        label.replace(".", "").isdigit() for own in list_others(conclusion) for label in own.labels
    )
    without = [conclusion.main]
    return conclusion.grid.name_place(best.among[0], without, whole=is_bare, between=" with ")


def name_options(conclusion: Conclusion, options: Sequence[Sequence[int]]) -> list[str]:
    """Name options by their labels on the chosen axes."""
    overall = conclusion.overall
    given = overall.given if overall else ()
    grid = conclusion.grid
    several = [own for own in list_others(conclusion) if own not in _pick(conclusion, given)]
    return [
        grid.name_place(option[0], given, whole=bool(several), between=" with ")
        for option in options
    ]


def name_circumstances(conclusion: Conclusion, given: Sequence[int]) -> str:
    """Name the axes whose values are given, such as "upload RTT and upload count"."""
    return join_names([own.name for own in _pick(conclusion, given)])


def _pick(conclusion: Conclusion, numbers: Sequence[int]) -> list[Dimension]:
    return [conclusion.grid.dimensions[number] for number in numbers]


def join_conditions(conclusion: Conclusion) -> str:
    """Name the conditions of the wish as a sentence lists them."""
    return join_names([write_operators(one.text) for one in conclusion.criteria.constraints])


def write_operators(text: str) -> str:
    """Write conditions with ≥ and ≤.

    Examples
    --------
    >>> write_operators("call >= 4.0")
    'call ≥ 4.0'
    """
    return text.replace(">=", "≥").replace("<=", "≤")
