"""The documents say what is so: columns, measures, metrics, commands, examples, links."""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import headend
from headend.cli.main import app
from headend.design.varying import parse_vary
from headend.engine.columns import OPTIONAL_TABLES, TABLES
from headend.engine.metrics import (
    CHANNEL_METRICS,
    FLOW_METRICS,
    QUEUE_METRICS,
    RUN_METRICS,
    SCORE_METRICS,
    list_measure_names,
    list_measures,
)
from headend.engine.vocabulary import list_choices
from headend.errors import InputError
from headend.scenario.file_access import HERE, FileAccess
from headend.scenario.library import find_studies, find_sweep
from headend.scenario.source import Text, parse_override, read_scenario

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "studies/**/*.md")
    for path in ROOT.glob(pattern)
    if "target" not in path.parts
)

DELAYS = {name for name in TABLES["queues"] if name.startswith("delay_")}
DISCARDED = {name for name in TABLES["queues"] if name.startswith("discarded_")}

#: What results.md writes in short, and the columns it stands for.
SHORT = {"delay_*_ns": DELAYS, "discarded_*": DISCARDED}

#: Optional tables of which results.md has a row for each column.
WITH_ROWS = ("low_latency", "queue_protection", "real_flows", "lateness")


def test_the_documented_columns_are_those_of_the_tables() -> None:
    documented = dict(_document_columns())
    known = TABLES | {name: OPTIONAL_TABLES[name] for name in WITH_ROWS}
    assert set(documented) == set(known)
    for table, columns in documented.items():
        assert columns == set(known[table]), table


def test_the_documented_columns_of_the_mib_are_those_of_its_table() -> None:
    before, _, _ = _sections()["mib"].partition("```")
    assert set(OPTIONAL_TABLES["mib"]) <= _code(before)


def test_the_documented_columns_of_a_packets_life_are_those_of_its_table() -> None:
    before, _, _ = _sections()["steps"].partition("| step |")
    columns = set(OPTIONAL_TABLES["steps"])
    assert columns <= _code(before)


def test_the_page_of_every_queue_shows_its_figure() -> None:
    models = ROOT / "docs/models"
    queues = [queue.name for queue in list_choices("queue")]
    pages = [name for name in queues if (models / f"{name}.md").is_file()]
    assert len(pages) >= 20
    for name in pages:
        assert f"](figures/{name}.svg)" in (models / f"{name}.md").read_text(encoding="utf-8")
        assert (models / f"figures/{name}.svg").is_file()


def test_the_documented_measures_are_those_of_the_language() -> None:
    rows = _rows(_sections()["measures"])
    documented = {name for row in rows for name in _code(row[0])}
    assert documented == list_measure_names(), "the table of measures in docs/reference/results.md"


def test_the_documented_metrics_are_those_of_the_language() -> None:
    found: dict[str, set[str]] = {}
    for subject, names, *_ in _rows(_read("docs/reference/expectations.md")):
        found.setdefault(subject, set()).update(_code(names))
    expected: dict[str, set[str]] = {
        "flow": {*FLOW_METRICS, *SCORE_METRICS, *list_measures()},
        "queue": set(QUEUE_METRICS),
        "channel": set(CHANNEL_METRICS),
        "run": set(RUN_METRICS),
    }
    assert found.keys() == expected.keys()
    for subject, metrics in expected.items():
        missing, surplus = metrics - found[subject], found[subject] - metrics
        assert not missing, f"docs/reference/expectations.md lacks {missing} of a {subject}"
        assert not surplus, f"docs/reference/expectations.md has {surplus} of a {subject}"


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/reference/commands.md"])
def test_the_pages_that_one_opens_first_show_commands(page: str) -> None:
    assert list(_list_commands(_read(page)))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page_can_be_typed(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page.read_text(encoding="utf-8")
    # The code that a page shows is what its commands name.
    for base, name in (("ControlLaw", "my_law.py"), ("CongestionControl", "my_cc.py")):
        blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        if own := [block for block in blocks if f"({base})" in block]:
            (tmp_path / name).write_text("\n".join(own), encoding="utf-8")
            monkeypatch.chdir(tmp_path)
    for command in _list_commands(text):
        _parse(shlex.split(command)[1:])


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("headend runs upload-and-call", "runs"),
        ("headend run upload-and-call --outt x", "--outt"),
        ("headend run upload-and-cal", "upload-and-cal"),
        ("headend run upload-and-call --set queue.codel.tarjet='5 ms'", "tarjet"),
        ("headend compare aimd --vary queue.codel.tarjet='5 ms','6 ms'", "tarjet"),
        ("headend scenarios show evenings", "evenings"),
        ("headend sweep buffer-size", "buffer-size"),
        ("headend study run buffer-control/ping", "buffer-control/ping"),
    ],
)
def test_a_command_that_is_wrong_is_found(command: str, found: str) -> None:
    (listed,) = _list_commands(f"```console\n{command}  # a comment\n```\n")
    with pytest.raises((click.ClickException, InputError), match=found):
        _parse(shlex.split(listed)[1:])


def test_a_command_over_several_lines_in_a_loop_or_before_a_pipe_is_found() -> None:
    text = (
        "```console\n$ headend run a \\\n    --seed 1\nfor i in 1; do headend run b --set x=$i;"
        " done\n"
        "headend queues --json | head\nheadend run - < mine.toml\n```\nheadend is not run here.\n"
    )
    assert list(_list_commands(text)) == [
        "headend run a  --seed 1",
        "headend run b --set x=$i",
        "headend queues --json",
        "headend run -",
    ]


def test_the_scenario_of_the_commands_page_is_one() -> None:
    page = "docs/reference/commands.md"
    (example,) = re.findall(r"```toml\n(format = 1.*?)```", _read(page), re.DOTALL)
    loaded = Text("page", page, example, "toml", HERE).load()
    assert loaded.scenario.bottleneck == "cable.up"


def test_the_program_of_the_page_on_real_programs_is_the_example() -> None:
    page = _read("docs/howto/real-program.md")
    (shown,) = re.findall(r"<!-- file: echo.py -->\n```python\n(.*?)^```", page, re.DOTALL | re.M)
    assert shown == _read("examples/echo.py")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", re.sub(r"`[^`\n]*`", "", text))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_files_that_are_named_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    starts = ("crates/", "python/", "tests/", "scenarios/", "studies/", "docs/", "benches/")
    named = [name for name in re.findall(r"`([\w./-]+)`", text) if name.startswith(starts)]
    # A word in capitals stands for a name of the reader's own.
    named = [name for name in named if not re.search(r"\b[A-Z]{2,}\b", name)]
    homes = (ROOT, ROOT / "crates/headend", page.parent)
    assert [name for name in named if not any((home / name).exists() for home in homes)] == []


def test_the_examples_of_the_python_page_hold() -> None:
    page = ROOT / "docs/reference/python.md"
    found = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.ELLIPSIS, verbose=False
    )
    assert found.attempted > 15
    assert found.failed == 0


def test_the_python_page_has_all_that_can_be_called() -> None:
    page = _read("docs/reference/python.md")
    functions = [name for name in dir(headend) if not name[0].isupper()]
    assert [name for name in functions if f"`headend.{name}(" not in page] == []
    for result in (
        headend.Result,
        headend.Comparison,
        headend.SweepResult,
        headend.Recommendation,
    ):
        assert f"`{result.__name__}`" in page


def _document_columns() -> Iterator[tuple[str, set[str]]]:
    """Give what results.md says of each table."""
    sections = _sections()
    yield "flows", {name for row in _rows(sections["flows"]) for name in _code(row[0])}
    queues = _code(re.sub(r"\([^)]*\)", "", sections["queues"]))
    same = DISCARDED if "the same `discarded_*` columns" in sections["queues"] else set()
    yield "queues", _spell_out(queues - SHORT.keys()) | same | _spell_out(queues & SHORT.keys())
    lists = {**_lists(sections["measures"]), **_lists(sections["Series"])}
    yield from lists.items()
    for table in WITH_ROWS:
        rows = re.sub(r"\([^)]*\)", "", sections[table])
        keys = {name for row in re.findall(r"One row per [^.]*", rows) for name in _code(row)}
        yield table, keys | {name for row in _rows(sections[table]) for name in _code(row[0])}
    for table in ("channels", "collisions", "histograms", "summary"):
        text = re.sub(r"\([^)]*\)", "", sections[table])
        yield table, _code(text)


def _lists(text: str) -> dict[str, set[str]]:
    """Read paragraphs of the form: `table`: `column` (what it is), `column`, …; next table."""
    plain = re.sub(r"\([^)]*\)", "", "\n".join(_prose(text)))
    parts = re.split(r"(?:^|(?<=\. ))`(\w+)`: ", plain, flags=re.MULTILINE)
    return {
        table: _code(body) - {"results.interval"}
        for table, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def _prose(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if not line.startswith("|"))


def _spell_out(names: set[str]) -> set[str]:
    return {column for name in names for column in SHORT.get(name, {name})}


def _sections() -> dict[str, str]:
    """Split results.md at its headings; a heading goes by its first word."""
    parts = re.split(r"^## `?(\w+)`?.*$", _read("docs/reference/results.md"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _rows(text: str) -> list[list[str]]:
    """Read the rows of a text's tables without their heads."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    rules = [index for index, row in enumerate(rows) if set("".join(row)) <= {"-"}]
    heads = {index - 1 for index in rules} | set(rules)
    return [row for index, row in enumerate(rows) if index not in heads]


def _code(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


def _list_commands(text: str) -> Iterator[str]:
    """List the commands of headend in a page's shell blocks, without the shell's work."""
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if kind not in ("", "console"):
            continue
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            found = re.match(r"(?:\$ |.*?(?:; do|&&|\|\|) )?(headend [a-z].*)", line.strip())
            if found and not re.match(r"headend\s{2,}|headend [a-z ]+[.,:]( |$)", found[1]):
                quoted = r"""(?:[^'"#|;<>&]|'[^']*'|"[^"]*")*"""
                (kept,) = re.findall(rf"^{quoted}", found[1]) or [""]
                yield kept.strip()


def _parse(words: list[str]) -> None:
    """Parse a command as headend does, with the scenario, settings, sweep or study named.

    Words in capitals stand for what is the reader's own, and files of the reader are not looked
    for.
    """
    command: click.Command = app
    context = click.Context(app, info_name="headend")
    while isinstance(command, click.Group):
        if words and words[0] not in command.list_commands(context):
            raise InputError(f"there is no command {words[0]}")
        name, found, rest = command.resolve_command(context, words)
        assert found, name
        if isinstance(found, click.Group) and not rest:
            return
        command, words = found, rest
        context = click.Context(command, parent=context, info_name=name)
    values = command.make_context(context.info_name, list(words), parent=context.parent).params
    path = context.command_path.split()[1:]
    named = [name for value in _NAMED for name in _as_list(values.get(value))]
    for name in filter(_is_shipped, named):
        if path == ["sweep"]:
            assert find_sweep(name)
        elif path[0] == "study":
            assert find_studies(name)
        elif path[:1] in (["run"], ["compare"], ["scenarios"]):
            _load(name, values)


#: Parameters that name something that ships with headend.
_NAMED = ("scenario", "sources", "file", "name")


def _as_list(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else [str(value or "")]


def _is_shipped(name: str) -> bool:
    """See whether a name can only be of something that ships: no path, no capitals."""
    return bool(name) and name != "-" and not re.search(r"\.toml$|^\.|results|[A-Z$]", name)


def _is_placeholder(setting: str) -> bool:
    """See whether a setting has a variable of the shell, or capitals for the reader's own."""
    return "$" in setting or bool(re.match(r"[A-Z.]+=", setting))


def _load(name: str, values: dict[str, Any]) -> None:
    """Check a shipped scenario with each of the settings."""
    typed = [text for text in values.get("settings") or () if not _is_placeholder(text)]
    settings = [parse_override(text) for text in typed]
    text = read_scenario(name, FileAccess(person_writes=True))
    text.load(settings)
    for varied in values.get("vary") or ():
        if _is_placeholder(varied):
            continue
        path, taken = parse_vary(varied)
        if path == "modem":
            continue  # files of the reader
        for value in taken:
            text.load([*settings, (path, value)])


def _read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")
