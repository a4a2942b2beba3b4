"""Which programs run on which real hosts, checked before anything is started."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.engine.description import REAL
from headend.errors import InputError, suggest
from headend.text.wording import join_names, write_count

if TYPE_CHECKING:
    from headend._engine import Scenario

#: The shipped scenario that an error shows.
EXAMPLE = "real-program"

#: The network host that --server means.
SERVER = "server"

#: The shell of --shell where the environment names none.
SHELL = "/bin/sh"


class MissingProgramError(InputError):
    """A command that is not there, or cannot be run: a shell exits with 127, or 126."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Host:
    """A real host of a scenario."""

    name: str
    is_customer: bool
    ipv4: str
    ipv6: str


@dataclass(frozen=True)
class Program:
    """A command on a real host."""

    host: str
    argv: tuple[str, ...]


@dataclass(frozen=True)
class Programs:
    """All commands of a run, and the host whose command ends it."""

    main: str
    programs: tuple[Program, ...]

    def find(self, host: str) -> list[str] | None:
        """Give the command of a host; None where it has none."""
        return next((list(entry.argv) for entry in self.programs if entry.host == host), None)


def list_hosts(scenario: Scenario) -> list[Host]:
    """List the real hosts of a scenario."""
    return [
        Host(name, side == "customer", ipv4, ipv6) for name, side, ipv4, ipv6 in scenario.real_hosts
    ]


def choose_programs(
    shown_as: str,
    hosts: Sequence[Host],
    command: Sequence[str],
    server: str | None = None,
    others: Sequence[str] = (),
    *,
    outside: bool = False,
) -> Programs:
    """Say which command runs on which host, and refuse what cannot be.

    The main command runs on a customer's host; when it exits, the run is over. The server's command
    is of the host ``server``, or of the only real host of the network. The others are
    ``NAME=COMMAND`` each. Where a command is not to be found, a `MissingProgramError` is raised.
    """
    customers = [host for host in hosts if host.is_customer]
    if not customers:
        raise InputError(
            f"{shown_as}: no customer's host is real: expected a [host.NAME] with via and real ="
            f" true, as in the shipped scenario {EXAMPLE}"
        )
    typed = [_split_host(text, hosts) for text in others]
    if server is not None:
        name = _find_server(shown_as, hosts)
        typed.append(Program(name, _split_command(server, "--server")))
    named = [program.host for program in typed]
    for name in named:
        if named.count(name) > 1:
            raise InputError(f"{name}: two commands for one host; leave out one")
    free = [host.name for host in customers if host.name not in named]
    if not free:
        raise InputError(
            f"{shown_as}: no customer's host is left for the command after --, as --host names all"
            " of them; leave out one --host"
        )
    known = {host.name for host in customers}
    if outside and (taken := [name for name in named if name not in known]):
        raise InputError(
            f"--outside: the world outside stands in the place of {taken[0]}, which has a command;"
            " leave out one of them"
        )
    programs = (*typed, Program(free[0], tuple(command)))
    for program in programs:
        _check_program(program)
    return Programs(free[0], programs)


def choose_shell(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Give the command of --shell: the shell of whoever types it."""
    return [environment.get("SHELL") or SHELL]


def describe_hosts(
    scenario: Mapping[str, Any], hosts: Sequence[Host], flows: Sequence[tuple[str, str]]
) -> str:
    """Say in one line which host is where, and how many simulated flows are their neighbours.

    Examples
    --------
    >>> hosts = [Host("laptop", True, "10.0.0.1", "fd00::1")]
    >>> hosts.append(Host("server", False, "198.18.0.1", "fd00::2"))
    >>> scenario = {"host": {"laptop": {"via": ["cable.home"]}}}
    >>> describe_hosts(scenario, hosts, [("laptop", "real"), ("call", "voice")])
    'laptop 10.0.0.1 behind cable.home, server 198.18.0.1 (server.ip6: fd00::2); 1 neighbour'
    """
    texts = []
    for host in sorted(hosts, key=lambda host: not host.is_customer):
        via = scenario.get("host", {}).get(host.name, {}).get("via") or []
        via = [via] if isinstance(via, str) else via
        behind = f" behind {join_names(via)}" if host.is_customer and via else ""
        # Programs look for the network's hosts; a name alone leads to the IPv4 address.
        other = "" if host.is_customer else f" ({host.name}.ip6: {host.ipv6})"
        texts.append(f"{host.name} {host.ipv4}{behind}{other}")
    neighbours = sum(application != REAL for _, application in flows)
    count = write_count(neighbours, "neighbour") if neighbours else "no neighbours"
    return f"{', '.join(texts)}; {count}"


def _find_server(shown_as: str, hosts: Sequence[Host]) -> str:
    """Find the host that --server means."""
    names = [host.name for host in hosts if not host.is_customer]
    if SERVER in names:
        return SERVER
    if len(names) == 1:
        return names[0]
    raise InputError(
        f"--server: {shown_as} has no host called {SERVER}, but {join_names(names)};"
        f' write --host "{names[0] if names else "NAME"}=COMMAND"'
    )


def _split_host(text: str, hosts: Sequence[Host]) -> Program:
    name, equals, command = text.partition("=")
    name = name.strip()
    if not equals or not name or not command.strip():
        raise InputError(f'--host {text}: expected NAME=COMMAND, such as --host "server=iperf3 -s"')
    known = [host.name for host in hosts]
    if name not in known:
        raise InputError(f'--host {text}: no real host is called "{name}"{suggest(name, known)}')
    return Program(name, _split_command(command, f"--host {name}"))


def _split_command(text: str, option: str) -> tuple[str, ...]:
    """Split a command as a shell splits words; it is not given to one."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"{option}: {text}: {str(error).lower()}") from error
    if not words:
        raise InputError(f"{option}: expected a command, found nothing")
    return words


def _check_program(program: Program) -> None:
    """Refuse a command that is not there."""
    name = program.argv[0]
    if shutil.which(name):
        return
    if os.sep in name and Path(name).is_dir():
        raise MissingProgramError(f"{name}: expected a command, found a folder", 126)
    if os.sep in name and Path(name).exists():
        raise MissingProgramError(f"{name}: cannot be run: it is no executable file", 126)
    raise MissingProgramError(f"{name}: command not found", 127)
