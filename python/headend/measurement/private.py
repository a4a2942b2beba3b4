"""Names the private fields of a tool's file, for what a record says was dropped."""

from __future__ import annotations

from collections.abc import Mapping


def name_private(values: Mapping[str, object], known: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Name the private fields that an object has.

    Only known names are given, since an unknown one may itself be private.

    Parameters
    ----------
    values
        The fields of the object.
    known
        The private fields. Of a field that is an object, the private fields in it; none, where all
        of it is private.

    Examples
    --------
    >>> known = {"isp": (), "server": ("ip", "host")}
    >>> name_private({"isp": "A", "server": {"ip": "::1", "port": 1}, "ping": 1}, known)
    ['isp', 'server.ip']
    """
    found: list[str] = []
    for key, inner in known.items():
        if key in values and not inner:
            found.append(key)
        elif isinstance(inside := values.get(key), Mapping):
            found.extend(f"{key}.{name}" for name in inner if name in inside)
    return found
