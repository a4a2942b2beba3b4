"""What a shell completes: names of headend's, files and folders."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click
    from click.shell_completion import CompletionItem


def complete_scenarios(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the name of a shipped scenario, or the path of a TOML file."""
    from headend.scenario.shipped import list_scenarios

    return _complete_paths(typed, list_scenarios())


def complete_sweeps(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the name of a shipped sweep, or the path of a TOML file."""
    from headend.scenario.shipped import list_sweeps

    return _complete_paths(typed, list_sweeps())


def complete_folders(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Let the shell complete a folder."""
    return [_new_item(typed, type="dir")]


def complete_any_file(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Let the shell complete a file."""
    return [_new_item(typed, type="file")]


def complete_shipped(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the name of a shipped scenario."""
    from headend.scenario.shipped import list_scenarios

    return _offer(list_scenarios(), typed)


def complete_studies(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the name of a shipped study or of a document; otherwise a folder."""
    from headend.scenario.shipped import list_studies

    studies = list_studies()
    names = [*dict.fromkeys(name.split("/")[0] for name in studies), *studies]
    return _offer(names, typed) or complete_folders(_, __, typed)


def complete_features(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete what a recommendation may set; in a list, its last word."""
    from headend.recommendation.candidate import CHOOSABLE

    return _complete_list(map(str, CHOOSABLE), typed)


def complete_traffic(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the names of people, and those of scenarios; in a list, its last word."""
    from headend.recommendation.people import KNOWN

    scenarios = [] if "," in typed else complete_scenarios(_, __, typed)
    return [*_complete_list(KNOWN, typed), *scenarios]


def complete_senders(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the congestion control of a sender; in a list, its last word."""
    from headend.engine.vocabulary import list_choices

    return _complete_list([choice.name for choice in list_choices("congestion")], typed)


def complete_words(*words: str) -> Callable[..., list[CompletionItem]]:
    """Give the completion of some words."""
    return lambda _, __, typed: _offer(words, typed)


#: The kind of a line whose modems have buffers that can be set.
complete_presets = complete_words("docsis31", "docsis30")

#: The sites whose round-trip times CM-GL-Buffer, Appendix I, has.
complete_sites = complete_words("all", "boston", "louisville", "philadelphia")


def complete_choices(kind: str) -> Callable[..., list[CompletionItem]]:
    """Give the completion of one kind of the engine's names, such as queues."""

    def complete(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
        from headend.engine.vocabulary import list_choices

        return [
            _new_item(choice.name, help=choice.description)
            for choice in list_choices(kind)
            if choice.name.startswith(typed)
        ]

    return complete


def _complete_paths(typed: str, names: Iterable[str]) -> list[CompletionItem]:
    """Complete names and paths of TOML files; where only folders match, the shell completes."""
    folder, slash, begun = typed.rpartition("/")
    files, folders = [], []
    for entry in _list_folder(folder + slash or "."):
        if entry.name.startswith(begun) and (begun or not entry.name.startswith(".")):
            path = f"{folder}{slash}{entry.name}"
            if entry.is_dir():
                folders.append(f"{path}/")
            elif entry.name.endswith(".toml"):
                files.append(path)
    offered = _offer([*names, *files], typed)
    if folders and not offered:
        return [_new_item(typed, type="dir")]
    return [*offered, *_offer(folders, typed)]


def _complete_list(names: Iterable[str], typed: str) -> list[CompletionItem]:
    """Complete the last word of a list with commas, with what was typed before it."""
    before, comma, last = typed.rpartition(",")
    kept = before + comma + last[: len(last) - len(last.lstrip())]
    return _offer((f"{kept}{name}" for name in names), typed)


def _list_folder(folder: str) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return []


def _offer(names: Iterable[str], typed: str) -> list[CompletionItem]:
    return [_new_item(name) for name in names if name.startswith(typed)]


def _new_item(value: str, **settings: Any) -> CompletionItem:
    from click.shell_completion import CompletionItem

    return CompletionItem(value, **settings)
