"""What ``--vary`` and ``--label`` of a comparison vary, and what its settings are called."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headend.design.design import Design
from headend.design.factor import Factor, choose_main, name_path
from headend.errors import InputError, refuse_argument, refuse_unwritable
from headend.scenario.conflicts import spell_out
from headend.scenario.source import Source, check_value, write_value
from headend.text.quantity import shorten_value

#: The largest comparison that one report can show.
MOST_RUNS = 12


def read_vary(texts: Sequence[str]) -> dict[str, list[str]]:
    """Read ``PATH=A,B,…`` of --vary: TOML texts of the values, by path."""
    varied: dict[str, list[str]] = {}
    for path, values in map(parse_vary, texts):
        if path in varied:
            raise InputError(f"--vary {path}: given twice; one --vary takes all its values")
        varied[path] = values
    return varied


def parse_vary(text: str) -> tuple[str, list[str]]:
    """Read one ``PATH=A,B,…``."""
    path, equals, after = text.partition("=")
    values = split_values(after)
    if not equals or not path.strip() or values == [""]:
        raise InputError(
            f"--vary {text}: expected PATH=A,B,…, such as --vary queue=drop_tail,docsis_pie"
        )
    if "" in values:
        raise InputError(f"--vary {text}: a value between two commas is empty")
    return path.strip(), [check_value(value, f"--vary {text}") for value in values]


def write_vary(vary: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
    """Give what is varied from Python as TOML texts by path."""
    if not isinstance(vary, Mapping) or not all(isinstance(path, str) for path in vary):
        raise refuse_argument(
            "vary",
            'a mapping of paths to lists of values, such as {"queue": ["drop_tail", "codel"]}',
            vary,
        )
    texts = {}
    for path, values in vary.items():
        # A text is a sequence too: of its letters.
        is_list = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
        texts[path] = [write_value(value, f"vary.{path}") for value in values] if is_list else []
        if not texts[path]:
            shown = "an empty list" if is_list else reprlib.repr(values)
            raise InputError(
                f'vary.{path}: expected a list of values, such as ["drop_tail", "codel"], found'
                f" {shown}"
            )
    return texts


def split_values(text: str) -> list[str]:
    """Split ``A,B,C`` at the commas outside quotes, brackets and braces.

    Examples
    --------
    >>> split_values('drop_tail, {codel = {target = "5 ms", interval = "100 ms"}}')
    ['drop_tail', '{codel = {target = "5 ms", interval = "100 ms"}}']
    """
    values, depth, quote, start = [], 0, "", 0
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and depth == 0:
            values.append(text[start:position])
            start = position + 1
    return [value.strip() for value in [*values, text[start:]]]


def make_design(
    source: Source, vary: Mapping[str, Sequence[str]], labels: Sequence[str] = ()
) -> tuple[Design, list[str]]:
    """Make the design of a comparison, without its seeds, and give what its settings are called.

    Labels are those of the settings, in order, or of the values of a grid's choice; by default, as
    the values are written, which are TOML texts.
    """
    check_varied(list(vary))
    _check_texts(labels)
    count = math.prod(map(len, vary.values()))
    if count > MOST_RUNS:
        raise InputError(f"--vary asks for {count} runs; one report shows at most {MOST_RUNS}")
    several = [path for path, values in vary.items() if len(values) > 1]
    chosen = choose_main(several) if len(several) > 1 and len(labels) != count else ""
    check_labels(labels, count, len(vary[chosen]) if chosen else 0)
    names = {path: shorten_labels(values) for path, values in vary.items()}
    if chosen and labels:
        names[chosen] = list(labels)
    factors = (
        Factor(
            path,
            name_path(path),
            tuple(values),
            tuple(names[path]),
            writes=tuple([(path, value)] for value in values),
        )
        for path, values in vary.items()
    )
    design = Design(tuple((factor,) for factor in factors), scenario=source)
    if labels and not chosen:
        return design, list(labels)
    setting_labels = [
        label_values(
            [
                (path, str(label) if labels and path == chosen else value)
                for (path, value), label in zip(
                    setting.overrides, setting.factor_labels, strict=True
                )
            ]
        )
        for setting in design.list_settings()
    ]
    return design, setting_labels


def shorten_labels(values: Sequence[str]) -> list[str]:
    """Give the values as labels; as they are written, where the labels would be alike."""
    labels = [shorten_value(value) for value in values]
    return labels if len(set(labels)) == len(set(values)) else list(values)


def _check_texts(labels: Any) -> None:
    """Refuse labels that are no list of texts; a text is a sequence too, of its letters."""
    is_list = isinstance(labels, Sequence) and not isinstance(labels, str | bytes)
    if not is_list or not all(isinstance(label, str) for label in labels):
        raise refuse_argument("labels", "a list of texts", labels)
    for label in labels:
        refuse_unwritable(label)


def check_varied(paths: Sequence[str], queue_path: str = "") -> None:
    """Refuse what would be called one thing and run as another."""
    if "seed" in paths:
        raise InputError(
            "--vary seed: a seed is not a setting; --seeds 1,2,3 runs every setting with each of"
            " these seeds"
        )
    spelled = {path: spell_out(path, queue_path) for path in paths}
    for number, path in enumerate(paths):
        same = next((other for other in paths[:number] if spelled[other] == spelled[path]), None)
        if same:
            raise InputError(f"--vary {path}: --vary {same} is the same setting; vary one of them")
        above = next(
            (other for other in paths if spelled[path].startswith(f"{spelled[other]}.")), None
        )
        if above:
            raise InputError(
                f"--vary {path}: it would replace what --vary {above} chose; write both in one"
                f" --vary, such as"
                f' --vary \'{above}={{codel={{target="5 ms"}}}},{{codel={{target="20 ms"}}}}\''
            )


def check_labels(labels: Sequence[str], count: int, choices: int = 0) -> None:
    """Refuse labels that are blank or alike, and too many or too few; none are no mistake.

    Parameters
    ----------
    count
        Of the settings.
    choices
        How many values the choice of a grid has: so many labels name these.
    """
    if labels and len(labels) not in (count, choices):
        labels_given = "1 label" if len(labels) == 1 else f"{len(labels)} labels"
        runs = "1 run" if count == 1 else f"{count} runs"
        targets = f"for each, or for each of the {choices} choices" if choices else "for each"
        raise InputError(f"{labels_given} for {runs}: give one {targets}, or none")
    for label in labels:
        if not label.strip():
            raise InputError(f'label "{label}": expected a name, found a blank one')
    refuse_alike(labels)


def refuse_alike(labels: Sequence[str]) -> None:
    """Refuse labels that do not tell runs apart."""
    for number, label in enumerate(labels):
        if label in labels[:number]:
            raise InputError(f'two runs would both be called "{label}": give each a --label')


def label_values(pairs: Sequence[tuple[str, str]]) -> str:
    """Say what a run has that others have not: its values, each after its key if several.

    Examples
    --------
    >>> label_values([("queue", "codel")])
    'codel'
    >>> label_values([("flow.near.tcp.congestion", "reno"), ("flow.far.tcp.congestion", "cubic")])
    'near=reno, far=cubic'
    >>> label_values([("queue", "codel"), ("flow.call.rtt", "40 ms")])
    'queue=codel, rtt=40 ms'
    """
    values = [shorten_value(value) for _, value in pairs]
    if len(values) < 2:
        return "".join(values)
    keys = _shorten_paths([path for path, _ in pairs])
    return ", ".join(f"{key}={value}" for key, value in zip(keys, values, strict=True))


def _shorten_paths(paths: Sequence[str]) -> list[str]:
    """Give each path by its last key, or where those are alike, by the keys in which it differs."""
    keys = [path.split(".") for path in paths]
    lasts = [parts[-1] for parts in keys]
    if len(set(lasts)) == len(lasts):
        return lasts
    while all(parts and parts[-1] == keys[0][-1] for parts in keys):
        keys = [parts[:-1] for parts in keys]
    while all(parts and parts[0] == keys[0][0] for parts in keys):
        keys = [parts[1:] for parts in keys]
    short = [".".join(parts) for parts in keys]
    return short if all(short) else list(paths)
