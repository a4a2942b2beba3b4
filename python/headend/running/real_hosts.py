"""Real hosts in a scenario that is to run in virtual time: no program could keep up with it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from headend.errors import InputError
from headend.files import STANDARD_INPUT_SHOWN

if TYPE_CHECKING:
    from headend._engine import Scenario


def refuse_real_hosts(scenario: Scenario, name: str) -> None:
    """Refuse a scenario, named by its file, with real hosts.

    Raises
    ------
    InputError
        In one line, with the command that runs it and the overrides that leave the real hosts out.
    """
    hosts = [host for host, side, *_ in scenario.real_hosts if side == "customer"]
    if not hosts:
        return
    named = " and ".join(f"host.{host}" for host in hosts)
    are, them = ("is", "it") if len(hosts) == 1 else ("are", "them")
    leave = " ".join(f"--set host.{host}.real=false" for host in hosts)
    verb = "leaves" if len(hosts) == 1 else "leave"
    is_file = name not in (STANDARD_INPUT_SHOWN, "scenario")
    shown = shlex.quote(name) if is_file else "SCENARIO"
    raise InputError(
        f"{named} {are} real: headend emulate {shown} -- COMMAND runs a program there;"
        f" {leave} {verb} {them} out"
    )
