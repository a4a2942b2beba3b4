"""The same scenario in virtual time, with a simulated sender in place of the real one."""

from __future__ import annotations

import tomllib
from typing import Any

import headend


def simulate(
    scenario: str,
    *,
    duration: str,
    warmup: str = "0 s",
    seed: int = 1,
    flow: dict[str, Any] | None = None,
) -> headend.Result:
    """Run a scenario whose real hosts are taken for ordinary ones.

    Parameters
    ----------
    scenario
        Its text.
    duration, warmup, seed
        Keys that a real run needs not.
    flow
        A flow called ``laptop``, as the real one is, in place of the real host's.
    """
    document = tomllib.loads(scenario)
    for host in document["host"].values():
        host.pop("real", None)
    document |= {"duration": duration, "warmup": warmup}
    if flow is not None:
        document.setdefault("flow", {})["laptop"] = flow
    result = headend.run(document, seed=seed)
    assert isinstance(result, headend.Result)
    return result
