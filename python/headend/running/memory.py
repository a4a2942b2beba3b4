"""How much memory runs may take: the allowed share, and the refusal of larger runs."""

from __future__ import annotations

import functools
import math
import os
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headend.errors import InputError
from headend.text.quantity import UNITS, read_integer

if TYPE_CHECKING:
    from headend._engine import Scenario

#: Share of the machine's memory that runs may take where nothing else is said.
DEFAULT_SHARE = 0.5

#: Of tables, what is still held once a run is over: the engine's and the report's copies are gone.
KEPT_SHARE = 0.3

#: Bytes that are assumed where the machine does not tell what it has.
_UNKNOWN = 4_000_000_000

#: Parts that a refusal names, and the least share of the whole that is worth a word.
_MOST_PARTS = 3
_LEAST_SHARE = 0.05

_UNITS = {**UNITS["size"], "TB": 1e12, "TiB": 2**40}
_SIZE = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)\s*([A-Za-z]+|%)")

#: A cgroup's limit of its first version that means none.
_NO_LIMIT = 2**62


@dataclass(frozen=True)
class Allowance:
    """What runs may take, in bytes, and where that comes from, in words."""

    size: int
    source: str


@dataclass(frozen=True)
class Part:
    """A part of what a run can need: its keys, the reckoning, bytes, and whether for tables."""

    keys: str
    reckoning: str
    size: int
    is_table: bool


def read_allowance(wanted: str | int | Allowance | None = None) -> Allowance:
    """Understand what is allowed: ``8GB``, ``500 MB``, ``50%`` of memory, or bytes; else half.

    Raises
    ------
    InputError
        For what is neither.

    Examples
    --------
    >>> read_allowance("500 MB").size, read_allowance("1.5GiB").size, read_allowance(1000).size
    (500000000, 1610612736, 1000)
    >>> read_allowance("much")
    Traceback (most recent call last):
    ...
    headend.errors.InputError: --memory: expected a size such as 8GB or 500 MB, or a share of the
    machine's memory such as 50%, found "much"
    """
    if isinstance(wanted, Allowance):
        return wanted
    if wanted is None:
        share = "half" if DEFAULT_SHARE == 0.5 else f"{DEFAULT_SHARE:.0%}"
        return _share(DEFAULT_SHARE, f"{share} of the {{}} here")
    size = read_integer(wanted)
    if size is None and isinstance(wanted, str) and (match := _SIZE.fullmatch(wanted.strip())):
        number, unit = float(match[1]), match[2]
        if unit == "%" and 0 < number <= 100:
            return _share(number / 100, f"{number:g} % of the {{}} here")
        if unit in _UNITS and math.isfinite(number * _UNITS[unit]):
            size = int(number * _UNITS[unit])
    if size is None or size <= 0:
        found = f'"{wanted}"' if isinstance(wanted, str) else repr(wanted)
        raise InputError(
            "--memory: expected a size such as 8GB or 500 MB, or a share of the machine's memory"
            f" such as 50%, found {found}"
        )
    return Allowance(size, "--memory")


def _share(share: float, words: str) -> Allowance:
    machine = measure_machine()
    return Allowance(max(1, int(machine * share)), words.format(format_size(machine)))


@functools.cache
def measure_machine(root: Path = Path("/")) -> int:
    """Measure the memory this process could have, in bytes: the machine's or a lower limit's."""
    sizes = [_measure_physical(), *_read_cgroups(root), *_read_process_limits()]
    limits = [size for size in sizes if size is not None]
    return min(limits) if limits else _UNKNOWN


def _measure_physical() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _read_process_limits() -> Iterator[int]:
    """Give the limits that ``ulimit`` sets."""
    try:
        import resource
    except ImportError:
        return
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        soft, _ = resource.getrlimit(kind)
        if soft != resource.RLIM_INFINITY:
            yield soft


def _read_cgroups(root: Path) -> Iterator[int]:
    """Give the limits of this process's cgroups, of both versions, and of those above."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            top, file = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            top, file = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        # In a container the group's own path may not be there, but its root has the limit.
        group = Path(path.lstrip("/"))
        for folder in (top / group, *(top / above for above in group.parents)):
            limit = _read_limit(folder / file)
            if limit is not None:
                yield limit


def _read_limit(path: Path) -> int | None:
    try:
        limit = int(path.read_text())
    except (OSError, ValueError):  # "max" is no limit
        return None
    return limit if 0 < limit < _NO_LIMIT else None


def list_parts(scenario: Scenario) -> list[Part]:
    """List what a run of a scenario can need at most, the largest first."""
    return [Part(*part) for part in scenario.memory]


def check_memory(scenario: Scenario, allowance: Allowance, name: str) -> int:
    """Give the bytes that a run can need, and refuse more than is allowed.

    Raises
    ------
    InputError
        In one line that begins with the name, with the largest parts, their keys and numbers.
    """
    parts = list_parts(scenario)
    total = sum(part.size for part in parts)
    if total > allowance.size:
        raise InputError(
            f"{name}: a run can need {format_size(total)} of memory,"
            f" {_describe_allowed(total, allowance)}: {_describe_parts(parts, total)}"
        )
    return total


def check_kept(scenarios: Sequence[Scenario], allowance: Allowance) -> int:
    """Give the bytes of the tables that runs hold until they are compared, or refuse them.

    Raises
    ------
    InputError
        Where they and the largest run do not fit together.
    """
    # Seeds of one setting have its scenario in common.
    reckoned: dict[int, list[Part]] = {}
    for scenario in scenarios:
        if id(scenario) not in reckoned:
            reckoned[id(scenario)] = list_parts(scenario)
    by_run = [reckoned[id(scenario)] for scenario in scenarios]
    tables = [sum(part.size for part in parts if part.is_table) for parts in by_run]
    kept = int(KEPT_SHARE * sum(tables))
    total = kept + max((sum(part.size for part in parts) for parts in by_run), default=0)
    if total > allowance.size:
        largest = by_run[tables.index(max(tables))]
        of_tables = [part for part in largest if part.is_table]
        raise InputError(
            f"{len(by_run)} runs that are compared can need {format_size(total)} of memory with the"
            f" tables that each keeps, {_describe_allowed(total, allowance)}:"
            f" {_describe_parts(of_tables, max(tables))}"
        )
    return kept


def _describe_allowed(total: int, allowance: Allowance) -> str:
    """Say what is allowed, and how to allow what is needed."""
    source = "" if allowance.source == "--memory" else f"{allowance.source}; "
    unit, size = ("MB", 1e6) if total < 0.95e9 else ("GB", 1e9)
    proposed = math.ceil(total * 1.05 / size)
    more = (
        f"--memory changes that, such as --memory {proposed}{unit}"
        if proposed * size <= measure_machine()
        else "more than this machine has, so make it smaller by these keys"
    )
    return f"and {format_size(allowance.size)} are allowed ({source}{more})"


def _describe_parts(parts: Iterable[Part], total: int) -> str:
    largest = [part for part in parts if part.size >= _LEAST_SHARE * total][:_MOST_PARTS]
    return "; ".join(
        f"{part.keys}: {part.reckoning} = {format_size(part.size)}" for part in largest
    )


def format_size(size: float) -> str:
    """Write bytes with a decimal unit, as memory is sold and as ``--memory`` is typed.

    Examples
    --------
    >>> format_size(999), format_size(12_345_678_900), format_size(2**64)
    ('999 B', '12.3 GB', '18447 PB')
    """
    unit = "B"
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.0f} {unit}" if size >= 100 or unit == "B" else f"{size:.3g} {unit}"


class Room:
    """Lets as many runs go side by side as there is memory for; one alone may always go.

    Parameters
    ----------
    size
        Bytes that those which run may need together.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._taken = 0
        self._changed = threading.Condition()

    @contextmanager
    def take(self, size: int) -> Iterator[None]:
        """Wait until there is room for so many bytes, and hold them for a block."""
        with self._changed:
            self._changed.wait_for(lambda: not self._taken or self._taken + size <= self.size)
            self._taken += size
        try:
            yield
        finally:
            with self._changed:
                self._taken -= size
                self._changed.notify_all()
