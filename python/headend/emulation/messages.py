"""Messages between headend and the process that emulates: plain values, each after its length.

Both ends are one version of Python, so its own `marshal` serves; it needs no slow import.
"""

from __future__ import annotations

import marshal
import struct
from typing import Any, BinaryIO

_LENGTH = struct.Struct("<Q")


def send(pipe: BinaryIO, message: Any) -> None:
    """Write one message of texts, numbers, bytes, lists, tuples, dictionaries and None."""
    content = marshal.dumps(message)
    pipe.write(_LENGTH.pack(len(content)) + content)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """Read one message.

    Raises
    ------
    EOFError
        Where the other end is gone.
    """
    (length,) = _LENGTH.unpack(_read(pipe, _LENGTH.size))
    return marshal.loads(_read(pipe, length))


def _read(pipe: BinaryIO, length: int) -> bytes:
    """Read exactly so many bytes: an unbuffered one gives at most what the pipe holds."""
    content = b""
    while len(content) < length:
        piece = pipe.read(length - len(content))
        if not piece:
            raise EOFError
        content += piece
    return content
