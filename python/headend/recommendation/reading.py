"""Reads what a recommendation is asked: from options, a file of tiers, modems' files, own lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from headend.design.place import read_toml
from headend.design.reading import show_value
from headend.design.seeds import choose_seeds
from headend.errors import InputError, naming, suggest, take_path
from headend.files import read_bytes
from headend.modem_file.generation import PRESET, read_preset
from headend.modem_file.reading import is_text
from headend.recommendation.candidate import CHOOSABLE, OF_MODEM, Feature
from headend.recommendation.conditions import (
    list_vocabularies,
    read_objective,
    read_tier_wish,
)
from headend.recommendation.line import read_modem_tier
from headend.recommendation.own_line import read_own_line
from headend.recommendation.people import (
    People,
    RoundTrip,
    Traffic,
    make_people,
    read_round_trip,
    read_tables,
    read_traffic,
)
from headend.recommendation.rates import make_tiers, shorten_rate
from headend.recommendation.request import (
    SEEDS,
    Request,
    list_open_uploads,
)
from headend.recommendation.sender import QUICK, USUAL, Sender, read_senders
from headend.recommendation.tier import DOCSIS, PLAIN, Tier
from headend.recommendation.tiers_file import TiersFile, is_tiers, read_tiers_file
from headend.scenario.codes import find_file
from headend.scenario.file_access import read_allowed
from headend.scenario.library import refuse_standard_input
from headend.scenario.source import LARGEST_SCENARIO_BYTES, Overrides
from headend.text.wording import join_names

#: Other words for what may be set.
_FEATURES: Mapping[str, Feature] = {
    **{str(own): own for own in CHOOSABLE},
    "lld": Feature.LOW_LATENCY,
    "docsis-pie": Feature.AQM,
    "sqm": Feature.ROUTER,
    "cake": Feature.ROUTER,
}

#: Paths of ``--set`` that a recommendation sets itself, by the kind of the line: whole tables, and
#: keys of the line with all below them.
_TAKEN = {
    DOCSIS: (
        r"link(\.{line}(\.docsis(\.(upstream|downstream))?)?)?|bottleneck"
        r"|(link\.{line}\.docsis\.(upstream|downstream)\.)?(queue|low_latency)(\..+)?"
        r"|link\.{line}\.docsis\.((upstream|downstream)\.rate|preset|config(\..+)?)|seed"
    ),
    PLAIN: (
        r"link(\.{line}(\.point_to_point(\.(up|down))?)?)?|bottleneck|seed"
        r"|(link\.{line}\.point_to_point\.(up|down)\.)?queue(\..+)?"
        r"|link\.{line}\.point_to_point\.(up|down)\.rate(\..+)?"
    ),
}

#: The longest name of results.
_LONGEST = 60

#: So many tiers are named in the name of results.
_NAMED = 5

#: The kinds of files that are read alone, in errors.
_TIERS, _OWN_LINE = "a file of tiers", "the scenario of a line"

_Value = TypeVar("_Value")


def read_request(
    sources: Sequence[str | Path] = (),
    *,
    upstream: Sequence[str] = (),
    downstream: Sequence[str] = (),
    preset: str | None = None,
    traffic: str | None = None,
    rtt: str | None = None,
    may_set: Sequence[str] = (),
    expect: Sequence[str] = (),
    prefer: str | None = None,
    senders: Sequence[str] = (),
    seeds: int | Sequence[int] | None = None,
    overrides: Overrides = (),
    allow_files: Sequence[str | Path] = (),
) -> Request:
    """Understand what is asked. Every given option replaces what the file of tiers says.

    Parameters
    ----------
    sources, upstream, downstream, preset, traffic, rtt, may_set, expect, prefer, senders, seeds
        As of `headend.recommend`.
    allow_files
        As of `headend.recommend`.
    overrides
        What all points share besides.

    Raises
    ------
    InputError
        In one line that begins with the option, or with the file and the key.
    """
    with naming("--preset"):
        given = None if preset is None else read_preset(preset)
    allowed = read_allowed([take_path(path, "allow_files") for path in allow_files])
    file, tiers, notes = _read_sources(sources, given, allowed)
    if file and (upstream or downstream):
        way = "upstream" if upstream else "downstream"
        raise InputError(
            f"--{way}: the tiers are those of {file.path}; expected either the file or rates"
        )
    tiers += make_tiers(upstream, downstream, given or PRESET)
    if not tiers:
        raise InputError(
            'expected tiers: --upstream "5 Mbit/s" (can be given several times), a file of tiers,'
            " modems' configuration files, or the scenario of your own line"
        )
    is_own = tiers[0].is_own
    if is_own and given:
        raise InputError(f"--preset: the line is that of {tiers[0].name}; expected it left out")
    _refuse_twins(tiers)
    options = _Options(file)
    features = options.read("may_set", "--may-set", list(may_set) or None, _read_features)
    if features is not None:
        options.locate("may_set", "--may-set", may_set, lambda: _check_features(features, tiers))
    round_trip = options.read("rtt", "--rtt", rtt, read_round_trip)
    for path, value in overrides:
        _check_override(path, value, tiers[0])
    people, files = _read_people(options, traffic, round_trip, allowed, tiers[0])
    files = (*files, *(file.files if file else ()))
    request = Request(
        name=_clean(file.path.stem) if file else name_tiers(tiers),
        tiers=tuple(tiers),
        people=people,
        features=features or (CHOOSABLE if is_own else OF_MODEM),
        expect=tuple(expect) or tuple(file.expect.values() if file else ()),
        prefer=options.read("prefer", "--prefer", prefer, read_objective) or "",
        senders=_read_senders(options, senders, people, overrides, (QUICK,) if is_own else USUAL),
        codes=_list_codes(senders),
        seeds=options.read("seeds", "--seeds", seeds, _read_seeds) or SEEDS,
        title=file.title if file else "",
        overrides=tuple(overrides),
        allowed=(*allowed, *files),
        notes=tuple(dict.fromkeys(notes)),
        times=file.times if file and traffic is None else {},
    )
    instead = {"traffic": traffic, "expect": expect or None, "prefer": prefer}
    _check(request, file, {key for key, value in instead.items() if value is not None})
    return request


def list_wanted(may_set: Sequence[str], *, router: bool) -> tuple[str, ...]:
    """List what may be set, a router among it where it is asked for by its own option."""
    return (*may_set, *([str(Feature.ROUTER)] if router else []))


@dataclass(frozen=True)
class _Options:
    """The options of a file of tiers; an option that is given replaces that of the file."""

    file: TiersFile | None

    def read(
        self, key: str, option: str, given: Any, read: Callable[[Any], _Value]
    ) -> _Value | None:
        """Read what is given, or else what the file says; None where neither does."""
        written = self.file.options.get(key) if self.file else None
        value = written if given is None else given
        if value is None:
            return None
        return self.locate(key, option, given, lambda: read(value))

    def locate(self, key: str, option: str, given: Any, act: Callable[[], _Value]) -> _Value:
        """Begin errors with the option, or with the file and the key."""
        try:
            return act()
        except InputError as error:
            if self.file and not given:
                raise self.file.refuse(InputError(f"{key}: {error}")) from error
            raise InputError(f"{option}: {error}") from error


def _read_sources(
    sources: Sequence[str | Path], preset: str | None, allowed: tuple[Path, ...]
) -> tuple[TiersFile | None, list[Tier], list[str]]:
    """Read a file of tiers, modems' files or an own line: the file, the tiers, notes on them."""
    tiers: list[Tier] = []
    notes: list[str] = []
    for source in sources:
        path = take_path(source, "sources")
        if not str(source).strip():
            raise InputError("expected the path of a file of tiers or of a modem, found nothing")
        refuse_standard_input(path, "a file of tiers or of a modem", "its path")
        kind = _find_kind(path)
        if kind and len(sources) > 1:
            raise InputError(
                f"{path}: {kind}, beside which no other file is read; expected it alone, or modems'"
                " files"
            )
        if kind:
            is_line = kind == _OWN_LINE
            file = (
                read_own_line(path, allowed) if is_line else read_tiers_file(path, preset, allowed)
            )
            return file, list(file.tiers), list(file.notes)
        tier, own = read_modem_tier(path, preset or PRESET)
        tiers.append(tier)
        notes += own
    return None, tiers, notes


def _find_kind(path: Path) -> str:
    """Say whether a file is one of tiers, or the scenario of a line; empty for one of a modem."""
    if not path.is_file():
        return ""  # whoever reads it says what is wrong
    content = read_bytes(path, LARGEST_SCENARIO_BYTES, "file of tiers")
    if not is_text(content) or content.lstrip().startswith(b"{"):
        return ""
    if path.suffix != ".toml" and not re.search(rb"^\s*\[?\s*(tier|link)\b", content, re.MULTILINE):
        return ""
    table = read_toml(path, "file of tiers")
    if "link" in table:
        return _OWN_LINE
    return _TIERS if is_tiers(table) else ""


def _check_override(path: str, value: str, tier: Tier) -> None:
    """Refuse an override of what a recommendation sets itself."""
    if re.fullmatch(_TAKEN[tier.kind].replace("{line}", re.escape(tier.line)), path):
        example = f'link.{tier.line}.docsis.plant.map_interval="1 ms"'
        if not tier.is_cable:
            example = f'link.{tier.line}.point_to_point.up.delay="10 ms"'
        raise InputError(
            f"--set {path}={value}: the tiers and the settings that are tried set this;"
            f" expected another key, such as {example}, and --may-set for what is tried"
        )


def _refuse_twins(tiers: Sequence[Tier]) -> None:
    counts = Counter(tier.name for tier in tiers)
    for name, count in counts.items():
        if count > 1:
            files = [str(tier.file) for tier in tiers if tier.name == name and tier.file]
            told = f" ({', '.join(files)})" if files else ""
            raise InputError(f'two tiers are called "{name}"{told}; expected each of them once')


def _read_features(value: Any) -> tuple[Feature, ...]:
    """Read names of features, in lists or with commas between them."""
    texts, known = [value] if isinstance(value, str) else value, ", ".join(CHOOSABLE)
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"expected names such as {known}, found {show_value(value)}")
    words = [word.strip() for text in texts for word in text.split(",")]
    if not all(words) or not words:
        raise InputError(f"expected names such as {known}, found nothing")
    found = set()
    for word in words:
        spelled = re.sub(r"[\s_]+", "-", word.lower())
        if spelled in (Feature.TODAY, Feature.DELIVERED, Feature.AQM_OFF):
            raise InputError(f'"{word}" is there to compare with in any case; expected {known}')
        if spelled not in _FEATURES:
            raise InputError(f'nothing is called "{word}"{suggest(spelled, _FEATURES)}')
        found.add(_FEATURES[spelled])
    return tuple(own for own in CHOOSABLE if own in found)


def _check_features(features: Sequence[Feature], tiers: Sequence[Tier]) -> None:
    """Refuse low latency where it is asked for and a tier's modems cannot have it."""
    if Feature.LOW_LATENCY not in features:
        return
    for tier in tiers:
        if not tier.is_docsis31:
            what = f"those of {tier.name} are {tier.preset}"
            if not tier.is_cable:
                what = f"{tier.name} is a plain link"
            raise InputError(
                f"{Feature.LOW_LATENCY} needs modems of DOCSIS 3.1 (docsis31), and {what}"
            )


def _read_seeds(value: Any) -> tuple[int, ...]:
    try:
        return choose_seeds(value)
    except InputError as error:
        raise InputError(str(error).removeprefix("seeds: ").removeprefix("seed: ")) from error


def _read_people(
    options: _Options,
    traffic: str | None,
    round_trip: RoundTrip | None,
    allowed: tuple[Path, ...],
    tier: Tier,
) -> Traffic:
    file, line = options.file, tier.line
    if file and file.people and traffic is None:
        own = file.path.parent
        try:
            return read_tables(file.people, round_trip, own, allowed, line, tier.cells)
        except InputError as error:
            raise file.refuse(error) from error
    if file and tier.cells:
        names = join_names([f"link.{name}" for name in tier.cells])
        raise InputError(
            f"--traffic: the people are those of {file.path}, whose hosts are behind {names};"
            " expected it left out"
        )
    folder = file.path.parent if file and traffic is None else None

    def read(value: Any) -> Traffic:
        if not isinstance(value, str):
            raise InputError(
                f'expected people such as "call, game, 2 uploads", found {show_value(value)}'
            )
        return read_traffic(value, round_trip, folder, allowed, line)

    found = options.read("traffic", "--traffic", traffic, read)
    if found:
        return found
    return make_people() if round_trip is None else make_people(round_trip=round_trip), ()


def _list_codes(senders: Sequence[str]) -> frozenset[str]:
    """List the files of senders that the person who asks has named, and no file of tiers."""
    named = read_senders(list(senders)) if senders else ()
    return frozenset(filter(None, (find_file(own.control) for own in named)))


def _read_senders(
    options: _Options,
    given: Sequence[str],
    people: People,
    overrides: Overrides,
    default: Sequence[str],
) -> tuple[Sender, ...]:
    """Read who sends the uploads; nobody where no upload leaves that open."""
    uploads = list_open_uploads(people)

    def read(value: Any) -> tuple[Sender, ...]:
        found = read_senders(value)
        if not uploads:
            raise InputError(
                "nobody has an upload that leaves its sender open; expected --traffic with one, or"
                " this left out"
            )
        return found

    found = options.read("senders", "--senders", list(given) or None, read)
    if found is None:
        found = read_senders(list(default)) if uploads else ()
    keys = ("tcp.congestion", "tcp.system", "count")
    taken = [f"flow.{name}.{key}" for name in uploads for key in keys]
    for path, value in overrides:
        if any(path == own or path.startswith(f"{own}.") for own in taken):
            raise InputError(
                f"--set {path}={value}: the senders that are tried set this; expected --senders,"
                ' such as --senders "bbr, 10 cubic"'
            )
    return found


def _check(request: Request, file: TiersFile | None, given: Collection[str]) -> None:
    """Refuse what cannot be asked of the tiers, before anything is run.

    Errors name a key of the file of tiers, unless an option takes its place (``given``).
    """
    for tier in request.tiers:
        # Candidates of one feature have the same queues.
        examples = {own.feature: own for own in request.list_candidates(tier)}
        try:
            vocabularies = list_vocabularies(request, tier, list(examples.values()))
        except InputError as error:
            told = str(error).removeprefix("scenario: ")
            if not told.startswith("flow.") or "(from " in told:
                raise
            if file and "traffic" not in given:
                raise file.refuse(InputError(told)) from error
            raise InputError(f"--traffic: {told}") from error
        try:
            read_tier_wish(request, tier, vocabularies)
        except InputError as error:
            raise _place_wish(error, file, given) from error


def _place_wish(error: InputError, file: TiersFile | None, given: Collection[str]) -> InputError:
    """Name the key and the line of a condition, or of an objective, that the file of tiers has."""
    if file is None:
        return error
    keys: dict[str, str] = {}
    if "expect" not in given:
        keys |= {f'--expect "{text}"': f"expect.{name}" for name, text in file.expect.items()}
    if "prefer" not in given and "prefer" in file.options:
        keys[f'--prefer "{read_objective(file.options["prefer"])}"'] = "prefer"
    for where, key in keys.items():
        if str(error).startswith(where):
            return file.refuse(InputError(str(error).replace(where, key, 1)))
    return error


def name_tiers(tiers: Sequence[Tier]) -> str:
    """Name the results of tiers: by their names, or by their rates where they have no other.

    Examples
    --------
    >>> name_tiers([Tier("5 Mbit/s", 5e6, 50e6, {}), Tier("10 Mbit/s", 10e6, 100e6, {})])
    '5M-10M'
    """
    shared = Counter(tier.upstream for tier in tiers)
    words = []
    for tier in tiers:
        up, down = shorten_rate(tier.upstream), shorten_rate(tier.downstream)
        own = f"{up}_{down}" if shared[tier.upstream] > 1 else up
        words.append(tier.name if tier.file else own)
    if len(words) > _NAMED:
        words = [*words[: _NAMED - 1], f"and-{len(words) - _NAMED + 1}-more"]
    return _clean("-".join(words))


def _clean(name: str) -> str:
    """Write a name as that of a file."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._-")[:_LONGEST].rstrip("._-") or "tiers"
