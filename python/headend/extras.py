"""Libraries that the default install leaves out: whether they are there, else what to install."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from headend.errors import InputError


@dataclass(frozen=True)
class Extra:
    """Libraries that one part of headend needs, and the name that installs them with it.

    Parameters
    ----------
    name
        As in ``pip install "headend[NAME]"``.
    packages
        What is installed, by the module that is imported.
    """

    name: str
    packages: dict[str, str]

    def describe_absent(self, what: str) -> str:
        """Say that ``what`` needs libraries that are absent, and how to install them; or empty."""
        absent = [package for module, package in self.packages.items() if not _is_installed(module)]
        if not absent:
            return ""
        return f'{what} needs {" and ".join(absent)}: {_find_installer()} "headend[{self.name}]"'

    def require(self, what: str) -> None:
        """Refuse ``what`` where libraries that it needs are not installed.

        Raises
        ------
        InputError
            With the command that installs them.
        """
        if absent := self.describe_absent(what):
            raise InputError(absent)


def _find_installer() -> str:
    """Give the command that installs into this environment, as its tool's marker file tells."""
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").is_file():
        return "pipx install --force"
    if (prefix / "uv-receipt.toml").is_file():
        return "uv tool install"
    return "pip install"


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


#: Pictures as files: SVG, PDF and PNG.
PAPER = Extra("paper", {"vl_convert": "vl-convert-python"})

#: The shipped studies: their analyses, and their figures as pictures.
STUDIES = Extra("studies", {"numpy": "numpy", "vl_convert": "vl-convert-python"})

#: Results of Crusader: packed with Snappy, and written as MessagePack.
MEASUREMENTS = Extra("measurements", {"cramjam": "cramjam", "msgpack": "msgpack"})

#: Points on other machines.
CLUSTER = Extra("cluster", {"distributed": "dask"})
