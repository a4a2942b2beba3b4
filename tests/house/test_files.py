"""Tests of reading files: up to a limit, and no pipes or devices, which may wait or never end."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from headend.errors import InputError
from headend.files import read_bytes, read_standard_input


def refuse(path: Path, most: int = 2**20) -> str:
    with pytest.raises(InputError) as error:
        read_bytes(path, most, "configuration file")
    return str(error.value)


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "modem.cm"
    path.write_bytes(bytes(2**20))
    assert read_bytes(path, 2**20, "configuration file") == bytes(2**20)
    assert (
        refuse(path, 2**20 - 1)
        == f"{path}: 1 MiB is too large for a configuration file (at most 1048575 B)"
    )
    with path.open("ab") as file:
        file.write(b"\0")
    assert refuse(path) == (
        f"{path}: 1048577 B is too large for a configuration file (at most 1 MiB)"
    )
    path.write_bytes(b"")
    with path.open("wb") as file:
        file.truncate(2**40)  # nothing of it is on the disk
    assert (
        refuse(path) == f"{path}: 1048576 MiB is too large for a configuration file (at most 1 MiB)"
    )


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert refuse(pipe) == f"{pipe}: expected a file, found a pipe or a device"
    assert refuse(tmp_path) == f"{tmp_path}: expected a file, found a directory"
    assert refuse(Path(os.devnull)) == f"{os.devnull}: expected a file, found a pipe or a device"
    assert refuse(tmp_path / "none") == f"{tmp_path / 'none'}: no such file or directory"


def test_standard_input_is_read_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff" * 5)))
    assert read_standard_input(5, "secret") == b"\xff" * 5
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff" * 5)))
    with pytest.raises(
        InputError, match=r"standard input: too large for a secret \(more than 4 B\)"
    ):
        read_standard_input(4, "secret")
