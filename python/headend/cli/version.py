"""``headend --version``: version, commit and build, Python, polars and platform."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from headend import _engine
from headend.version import read_version


def describe_version() -> str:
    """Write version, commit and build in one line, and the platform in another."""
    build = _engine.build()
    commit = find_commit()
    details = [f"commit {commit}"] if commit else []
    details.append(f"{build['profile']} build")
    return (
        f"headend {read_version()} ({', '.join(details)})\n"
        f"Python {platform.python_version()}, polars {version('polars')}, {build['target']}\n"
    )


def find_commit() -> str | None:
    """Give the commit that this is built of: the engine's, or that of the checkout; or None."""
    return _engine.build()["commit"] or ask_git(Path(__file__).parents[3])


def ask_git(folder: Path) -> str | None:
    """Ask git for the commit of a checkout, ``dirty`` if files are changed; or None."""
    if not (folder / ".git").exists():
        return None
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None if answer.returncode == 0 else None
