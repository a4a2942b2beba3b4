"""Looks up headend's name for what other people call otherwise.

Searched are the names that scenarios may use, shipped scenarios, studies, sweeps, commands,
measures and pages of the documentation, then ``names.toml``, which holds other people's names with
what headend has in their place, and the names and numbers of TLVs, then what is said of each.
"""

from __future__ import annotations

import functools
import re
import shlex
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headend.engine.metrics import (
    CHANNEL_METRICS,
    FLOW_METRICS,
    QUEUE_METRICS,
    RUN_METRICS,
    SCORE_METRICS,
    list_measure_names,
    list_measures,
)
from headend.engine.modem_file import list_entries
from headend.engine.vocabulary import list_choices
from headend.errors import InputError, find_near, refuse_argument, suggest
from headend.scenario.shipped import list_scenarios, list_studies, list_sweeps
from headend.text.commands import COMMANDS
from headend.text.reveal import reveal_line
from headend.text.wording import join_names

#: What is found at most; a word that is in every description tells nothing.
MOST_FOUND = 20

#: Names that one error lists at most.
MOST_NAMED = 3

#: A word with fewer letters is looked for as it is; a longer one may have a wrong letter for so
#: many.
_LETTERS_FOR_A_SLIP = 4

#: What is said of something must have one in so many of the words that tell something.
_FEWEST_OF = 3

#: Words that tell nothing about what is looked for, where there are others.
_FILLERS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by can could did do does for from get gets go goes has have how"
        " i if in is it just me my of on or our should so than that the their them there they this"
        " to too was we what when where which while who why will with would you your",
    )
)

#: How each kind is written or typed, with the name in place of {}.
HOW = {
    "queue": "headend queues {}",
    "congestion": 'tcp.congestion = "{}"',
    "application": 'application = "{}"',
    "system": 'tcp.system = "{}"',
    "link": "[link.NAME.{}]",
    "scenario": "headend run {}",
    "study": "headend study run {}",
    "sweep": "headend sweep {}",
    "command": "headend {}",
    "measure": "{} in [expect]",
    "key": "{}",
    "page": "{}",
}

#: How kinds are called where that is not their own word.
KINDS = {"congestion": "congestion control", "system": "end system", "key": "key of a scenario"}
KINDS["page"] = "page of the documentation"

#: The kinds that :mod:`headend.engine.vocabulary` knows.
_WRITTEN = ("queue", "congestion", "application", "system", "link")

#: The kinds whose names tell what they are about.
_NAMED_BY_TITLE = ("scenario", "study", "sweep", "command")

#: Settings of modems' files, and the page that has them all.
TLV, TLV_PAGE = "TLV of a modem's file", "docs/reference/modem-file.md"

#: Kinds of findings that are no name of headend's: a sentence about a name, and about one that
#: headend has nothing of.
TERM, ABSENT = "term", "not in headend"


@dataclass(frozen=True)
class Finding:
    """Something that a query leads to.

    Parameters
    ----------
    name
        What headend calls it.
    kind
        What it is: ``queue``, ``congestion control``, ``application``, ``end system``, ``link``,
        ``scenario``, ``study``, ``sweep``, ``command``, ``measure``, ``key of a scenario``,
        ``page of the documentation`` or ``TLV of a modem's file``. ``term`` is a remark on the word
        that was asked for, and ``not in headend`` the remark that there is no such thing, with what
        comes nearest.
    what
        What is said of it, in a sentence.
    how
        What to type or to write in a scenario.
    """

    name: str
    kind: str
    what: str
    how: str

    def to_dict(self) -> dict[str, str]:
        """Give it as JSON can hold it."""
        return asdict(self)


@dataclass(frozen=True)
class Entry:
    """A row of ``names.toml``: names of others, and what headend has in their place."""

    names: tuple[str, ...]
    #: A kind and a name each, the best first.
    leads: tuple[tuple[str, str], ...]
    #: A sentence without its full stop; empty where the leads say enough.
    note: str = ""
    #: Whether headend has no such thing, and the leads are what comes nearest.
    is_absent: bool = False
    #: What an error says where a kind among the leads is expected; empty where the leads say it.
    hint: str = ""


def find(query: str) -> list[Finding]:
    """Find what headend calls something: a protocol, an application, a queue, a word of the field.

    The best is first; there is nothing where no name and no description fits.

    Examples
    --------
    >>> find("webrtc")[0].how
    'application = "video_call"'
    >>> find("wfq")[0].kind
    'not in headend'
    >>> find("zyzzyva")
    []
    """
    words = _read_query(query)
    found: dict[tuple[str, str], tuple[int, int, Finding]] = {}
    for order, (rank, finding) in enumerate(_search(words)):
        key = (finding.kind, finding.name)
        if key not in found or rank < found[key][0]:
            found[key] = (rank, order, finding)
    best = sorted(found.values(), key=lambda item: item[:2])
    return [finding for _, _, finding in best[:MOST_FOUND]]


def suggest_names(query: str, most: int = MOST_NAMED) -> list[str]:
    """Give the names, headend's and others', spelled most like a query that found nothing."""
    known = {_spell(name): name for entry in read_entries() for name in entry.names}
    known |= {_spell(name): name for kind in list_kinds() for name in _list_kind(kind)}
    word = _spell(query)
    allowed = len(word) // _LETTERS_FOR_A_SLIP
    slips = {
        name: count
        for name in known
        if abs(len(name) - len(word)) <= allowed and (count := _count_slips(word, name)) <= allowed
    }
    near = sorted(slips, key=lambda name: (slips[name], name[:1] != word[:1], name))
    return [known[name] for name in near[:most]]


def _count_slips(first: str, second: str) -> int:
    """Count the letters that are wrong, missing, too many or in the place of their neighbour.

    Examples
    --------
    >>> _count_slips("vidoe", "video"), _count_slips("vdeo", "video"), _count_slips("copy", "video")
    (1, 1, 5)
    """
    before: list[int] = []
    row = list(range(len(second) + 1))
    for at, letter in enumerate(first, start=1):
        older, before, row = before, row, [at]
        for to, other in enumerate(second, start=1):
            cost = min(before[to] + 1, row[-1] + 1, before[to - 1] + (letter != other))
            if at > 1 and to > 1 and letter == second[to - 2] and first[at - 2] == other:
                cost = min(cost, older[to - 2] + 1)
            row.append(cost)
    return row[-1]


def describe_nothing(query: str) -> str:
    """Say in one line that nothing was found, with the nearest names.

    Examples
    --------
    >>> describe_nothing("webrtd")
    'nothing is called "webrtd"; the nearest name is webrtc'
    """
    near = suggest_names(query)
    names = f"name is {near[0]}" if len(near) == 1 else f"names are {', '.join(near)}"
    hint = f"the nearest {names}" if near else "headend --help lists the commands"
    return f'nothing is called "{reveal_line(query)}"; {hint}'


def suggest_name(word: str, kind: str, known: Collection[str]) -> str:
    """Give the end of an error about an unknown name: the one perhaps meant, or headend's.

    The kind is what was expected, one of ``HOW``, and the known names are what can stand there.

    Examples
    --------
    >>> suggest_name("goodputt", "measure", ["goodput", "loss"])
    '; did you mean "goodput"?'
    >>> suggest_name("bandwidth", "measure", ["goodput", "loss"])
    '; headend calls it goodput'
    """
    near = find_near(word, known)
    answer = suggest_own_name(word, kind, near, known)
    # Where the table knows the word, neither what is spelled like it nor a list of all that there
    # is helps.
    return answer if answer and (near or is_answer(answer)) else suggest(word, known) + answer


def is_answer(text: str) -> bool:
    """Say whether what `suggest_own_name` gave helps more than a list of all that there is.

    Many a measure is called as a parameter that somebody looks for, such as ``delay`` and ``loss``.
    """
    return bool(text) and not text.endswith((" looks for it", " in [expect]"))


def suggest_own_name(
    word: str, kind: str, meant: str | None = None, known: Collection[str] | None = None
) -> str:
    """Give headend's word for an unknown name, to be put behind an error with a list.

    ``meant`` is what the message asks for with "did you mean", if anything; ``known`` is what can
    stand there, if that is not everything of its kind.

    Examples
    --------
    >>> suggest_own_name("webrtc", "application")
    '; headend calls it video_call'
    >>> suggest_own_name("wfq", "queue")
    '; headend has no wfq; the nearest are drr, fq_codel and sfq'
    >>> suggest_own_name("ecn", "queue")
    '; the nearest queue is dualpi2'
    >>> suggest_own_name("codell", "queue", meant="codel"), suggest_own_name("zyzzyva", "queue")
    ('', '; headend find zyzzyva looks for it')
    >>> suggest_own_name("cubic", "queue")
    '; "cubic" is a congestion control: tcp.congestion = "cubic"'
    """
    if word in _list_kind(kind) or (kind == "measure" and word in list_measure_names()):
        return ""
    if kind == "command" and (typed := _index_typed().get(word.lower())):
        return f"; {typed}"
    # A scenario's name is often longer than what it is about; similar spelling counts.
    if (other := _describe_other_kind(word)) and not (meant and kind in _NAMED_BY_TITLE):
        return other
    entry = _index_foreign().get(_spell(word))
    leads = entry.leads if entry and kind not in ("scenario", "study") else ()
    names = [name for own, name in leads if own == kind and (known is None or name in known)]
    if entry and names and meant != names[0]:
        return _describe_entry(word, kind, entry, names[:MOST_NAMED])
    if meant:
        return ""
    return f"; headend find {shlex.quote(reveal_line(word))} looks for it"


def _describe_other_kind(word: str) -> str:
    """Say of a word that is a name of some kind how it is written there; nothing of any other."""
    kinds = (*_WRITTEN, "scenario", "study", "sweep", "measure")
    kind = next((kind for kind in kinds if word in _list_kind(kind)), None)
    if kind is None:
        return ""
    shown = KINDS.get(kind, kind)
    article = "an" if shown[0] in "ae" else "a"
    return f'; "{word}" is {article} {shown}: {_describe_how(kind, word)}'


def _describe_entry(word: str, kind: str, entry: Entry, names: Sequence[str]) -> str:
    """Say which names of a kind an entry leads to: headend's word, or what comes nearest."""
    if entry.hint:
        return f"; {entry.hint}"
    if not entry.is_absent and not entry.note and entry.leads[0] == (kind, names[0]):
        return f"; headend calls it {names[0]}"
    plural = "s" if len(names) > 1 else ""
    nearest = f"{'are' if plural else 'is'} {join_names(names)}"
    if entry.is_absent:
        return f"; headend has no {reveal_line(word)}; the nearest {nearest}"
    return f"; the nearest {KINDS.get(kind, kind)}{plural} {nearest}"


def lead_to_key(word: str, known: Collection[str]) -> str:
    """Give headend's word for a key or value of a scenario that is none of the known; or nothing.

    Examples
    --------
    >>> lead_to_key("congestion", ["direction", "rtt", "tcp"])
    '; headend calls it tcp.congestion'
    >>> lead_to_key("upstream", ["up", "down", "both"])
    '; headend calls it up'
    >>> lead_to_key("congestion", ["rate", "delay"])
    ''
    """
    tables = _read_file()
    spelled = word.lower()
    for name in tables["keys"].get(spelled, ()):
        if name.split(".")[0] in known:
            return f"; headend calls it {name}"
    near = tables["unbuilt_values"].get(spelled)
    return f"; headend has no {reveal_line(word)}; the nearest is {near}" if near in known else ""


def take_first_sentence(text: str) -> str:
    """Give the first sentence of a description; what is quoted in it is not cut.

    Examples
    --------
    >>> take_first_sentence('How long? "Now, none. So none was tried." Here it is.')
    'How long?'
    >>> take_first_sentence('As it says, "None. So none was tried." Here it is.')
    'As it says, "None. So none was tried."'
    """
    for end in re.finditer(r"[\w)`\"][.?!]\"? (?=[\"A-Z`])", text):
        sentence = text[: end.end()].rstrip()
        if sentence.count('"') % 2 == 0:
            return sentence
    return text


def find_kind(known: Iterable[str]) -> str | None:
    """Say of which kind known names are, such as ``queue``; None if not headend's."""
    names = set(known)
    for kind in _WRITTEN:
        if names and names <= {choice.name for choice in list_choices(kind)}:
            return kind
    return None


@functools.cache
def read_entries() -> tuple[Entry, ...]:
    """Read the table of other people's names."""
    return tuple(
        Entry(
            tuple(item["names"]),
            tuple((lead.partition(" ")[0], lead.partition(" ")[2]) for lead in item["leads"]),
            item.get("note", ""),
            item.get("absent", False),
            item.get("hint", ""),
        )
        for item in _read_file()["entry"]
    )


def describe(kind: str, name: str) -> Finding | None:
    """Give something of headend's by kind and name, such as ``queue`` and ``codel``; or None."""
    if kind == "key":
        return _describe_key(name)
    what = _list_kind(kind).get(name)
    if what is None:
        return None
    return Finding(name, KINDS.get(kind, kind), what, _describe_how(kind, name))


def list_kinds() -> list[str]:
    """List the kinds of what can be found by name."""
    return [kind for kind in HOW if kind != "key"]


def _read_query(query: str) -> list[str]:
    if not isinstance(query, str):
        raise refuse_argument("query", "a text", query)
    words = _spell(query).split()
    if not words:
        found = f'"{reveal_line(query)}"' if query.strip() else "nothing"
        raise InputError(f"expected a name to find, such as webrtc or bufferbloat, found {found}")
    return words


def _search(words: Sequence[str]) -> Iterator[tuple[int, Finding]]:
    """Give all that fits, each with how well: the smallest number is the best."""
    query = " ".join(words)
    entries = _index_foreign()
    is_foreign = query in entries
    own = [(kind, name, what) for kind in list_kinds() for name, what in _list_kind(kind).items()]
    for kind, name, what in own:
        is_whole = _spell(name) == query
        if is_whole or _spell(name.rsplit("/", 1)[-1]) == query:
            rank = 0 if is_whole or not is_foreign else 2
            yield rank, Finding(name, KINDS.get(kind, kind), what, _describe_how(kind, name))
    if is_foreign:
        yield from ((1, finding) for finding in _follow(entries[query], query))
    else:
        weighed = {name: _weigh_name(words, name.split()) for name in entries}
        held: dict[Entry, str] = {}
        for name, weight in weighed.items():
            if weight[0] and weight > weighed.get(held.get(entries[name], ""), (0, False)):
                held[entries[name]] = name
        # What holds more of the words tells more.
        for entry, name in sorted(held.items(), key=lambda item: weighed[item[1]], reverse=True):
            yield from ((3, finding) for finding in _follow(entry, name))
    yield from _search_tlvs(query)
    telling = [word for word in words if word not in _FILLERS] or words
    for kind, name, what in own:
        finding = Finding(name, KINDS.get(kind, kind), what, _describe_how(kind, name))
        spelled = _spell(name)
        if _is_word(query) and f" {query}" in f" {spelled}":
            yield 2, finding
            continue
        text = f"{spelled} {_spell(what)}".split()
        count = sum(any(_fits(word, other) for other in text) for word in telling)
        if count == len(telling):
            yield 4, finding
        elif count * _FEWEST_OF >= len(telling) and not is_foreign:
            yield 5 + len(telling) - count, finding


def _search_tlvs(query: str) -> Iterator[tuple[int, Finding]]:
    """Give the TLVs of a name, operators' before the table's, or of a number."""
    number = query.removeprefix("tlv ").replace(" ", ".")
    # A number alone may be one of anything.
    is_number = number.replace(".", "").isdigit() and (
        number.count(".") > 1 or query.startswith("tlv ")
    )
    name = query.replace(" ", "")
    for entry in list_entries():
        if is_number:
            is_it, rank = number in entry.numbers, 1
        elif name in {_spell(alias).replace(" ", "") for alias in entry.aliases}:
            is_it, rank = True, 1
        else:
            is_it, rank = name == _spell(entry.name).replace(" ", ""), 2
        if is_it:
            how = f"{entry.key} in the text of a modem's file; {TLV_PAGE} has them all"
            yield rank, Finding(f"{entry.number} {entry.name}", TLV, entry.about, how)


def _weigh_name(words: Sequence[str], name: Sequence[str]) -> tuple[int, bool]:
    """Weigh how much of others' name a query holds: how many words, and whether as they stand.

    A name of several words that tell something is also held where they are anywhere in the query,
    in whatever order and number. Nothing is held where the query lacks a word, unless it begins the
    name.

    Examples
    --------
    >>> _weigh_name(["my", "wifi", "is", "slow"], ["slow", "wifi"])
    (2, False)
    >>> _weigh_name(["pings", "rise", "with", "uploads"], ["ping", "upload"])
    (2, False)
    >>> _weigh_name(["zoom", "calls"], ["zoom"]), _weigh_name(["slow"], ["slow", "wifi"])
    ((1, True), (2, True))
    """
    size = len(name)
    inside = any(list(words[at : at + size]) == list(name) for at in range(len(words) - size + 1))
    if inside or (len("".join(words)) > 2 and list(name[: len(words)]) == list(words)):
        return size, True
    telling = {_stem(word) for word in name if word not in _FILLERS}
    if len(telling) > 1 and telling <= {_stem(word) for word in words}:
        return len(telling), False
    return 0, False


def _stem(word: str) -> str:
    """Give a word without the ending of a plural or of a verb.

    Examples
    --------
    >>> _stem("uploads"), _stem("uploading"), _stem("loss"), _stem("ping")
    ('upload', 'upload', 'loss', 'ping')
    """
    if len(word) > 5 and word.endswith("ing"):
        return word[:-3]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _fits(word: str, other: str) -> bool:
    """Say whether a word of a description was asked for; short ones must be the whole word."""
    return _is_word(word) and (other == word or (len(word) > 3 and other.startswith(word)))


def _is_word(text: str) -> bool:
    """Say whether a text has more than a letter or numbers, which are in any description."""
    return len(text) > 1 and not text.replace(" ", "").isdigit()


def _follow(entry: Entry, spelled: str) -> Iterator[Finding]:
    """Give what an entry leads to, its remark first, under the name that was looked up."""
    found = [finding for lead in entry.leads if (finding := describe(*lead))]
    if entry.note:
        name = next(name for name in entry.names if _spell(name) == spelled)
        kind = ABSENT if entry.is_absent else TERM
        yield Finding(name, kind, f"{entry.note}.", found[0].how)
    yield from found


def _describe_how(kind: str, name: str) -> str:
    return HOW[kind].format(_write_measure(name) if kind == "measure" else name)


def _write_measure(name: str) -> str:
    """Write a measure as an expectation has it, with a statistic where it has one."""
    tables = (
        ("FLOW", FLOW_METRICS | SCORE_METRICS | list_measures()),
        ("LINK.up", QUEUE_METRICS),
        ("LINK.up.channel", CHANNEL_METRICS),
        ("run", RUN_METRICS),
    )
    written = []
    for subject, metrics in tables:
        if metric := metrics.get(name):
            # Of what more is better of, the bad side is the low one.
            higher_is_better = metric.worse is min or metric.kind == "rate"
            bad = ("p5",) if higher_is_better else ("p95", "max")
            statistics = [statistic for statistic in bad if statistic in metric.statistics]
            statistics = statistics or list(metric.statistics)
            written.append(".".join((subject, name, *statistics[:1])))
    return " or ".join(written)


@functools.cache
def _list_kind(kind: str) -> Mapping[str, str]:
    """Give all names of a kind, each with what is said of it."""
    if kind in _WRITTEN:
        return {
            choice.name: " ".join(filter(None, (choice.description, choice.use)))
            for choice in list_choices(kind)
        }
    if kind == "scenario":
        return {name: _read_title(path) for name, path in list_scenarios().items()}
    if kind == "study":
        return {name: _read_title(folder / "study.toml") for name, folder in list_studies().items()}
    if kind == "sweep":
        return {name: _read_title(path) for name, path in list_sweeps().items()}
    if kind == "command":
        return COMMANDS
    if kind == "page":
        return {path: f"{title.rstrip('.')}." for path, title in _read_file()["pages"].items()}
    from headend.engine import description

    measures = description.describe().measures.values()
    described = {measure.name: measure.what for measure in measures if measure.what}
    return dict(sorted((described | _read_file()["measures"]).items()))


def _read_title(path: Path) -> str:
    """Give the title and the description of a file that is shipped, each a sentence."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    title = str(content.get("title", "")).rstrip(".")
    end = "" if title.endswith(("?", "!")) else "."
    text = " ".join(str(content.get("description") or content.get("question") or "").split())
    return f"{title}{end} {text}".strip()


def _describe_key(text: str) -> Finding | None:
    """Find a key in the schema by its path, such as ``flow.NAME.tcp.sack``, or with "=" a value."""
    path, _, value = (part.strip() for part in text.partition("="))
    schema = _read_schema()
    node: Any = schema
    for key in path.split("."):
        node = _step(node, key, schema["$defs"])
        if node is None:
            return None
    if value and tomllib.loads(f"value = {value}")["value"] not in _list_values(
        node, schema["$defs"]
    ):
        return None
    inner = _resolve(node, schema["$defs"])
    what = " ".join((node.get("description") or inner.get("description") or "").split())
    return Finding(path, KINDS["key"], what, text)


def _step(node: Mapping[str, Any], key: str, definitions: Mapping[str, Any]) -> Any:
    """Give what stands at a key, in whichever of a node's forms has it; ``NAME`` is any name."""
    node = _resolve(node, definitions)
    if key in node.get("properties", {}):
        return node["properties"][key]
    if key == "NAME" and isinstance(node.get("additionalProperties"), Mapping):
        return node["additionalProperties"]
    forms = (*node.get("oneOf", ()), *node.get("anyOf", ()), *node.get("allOf", ()))
    return next((found for form in forms if (found := _step(form, key, definitions))), None)


def _list_values(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[Any]:
    """List the values that a key may have by name."""
    node = _resolve(node, definitions)
    values = [*node.get("enum", ()), *((node["const"],) if "const" in node else ())]
    for form in (*node.get("oneOf", ()), *node.get("anyOf", ()), *node.get("allOf", ())):
        values += _list_values(form, definitions)
    return values


def _resolve(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in node:
        node = definitions[node["$ref"].rsplit("/", 1)[-1]]
    return node


@functools.cache
def _read_schema() -> Any:
    import json

    from headend import _engine

    return json.loads(_engine.schema())


@functools.cache
def _read_file() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "names.toml").read_text(encoding="utf-8"))


@functools.cache
def _index_typed() -> Mapping[str, str]:
    """Give what is said of each word that people type in place of a command."""
    typed = _read_file()["typed"]
    return {word: item["hint"] for item in typed for word in item["words"]}


@functools.cache
def _index_foreign() -> Mapping[str, Entry]:
    return {_spell(name): entry for entry in read_entries() for name in entry.names}


def _spell(text: str) -> str:
    """Write a name as it is compared: in small letters, one space between its words.

    Examples
    --------
    >>> _spell("Wi-Fi 6"), _spell("LEDBAT++"), _spell("fq_codel")
    ('wi fi 6', 'ledbat plus plus', 'fq codel')
    """
    words = re.sub(r"[^\w]|_", " ", text.lower().replace("+", " plus ")).split()
    return " ".join(words)
