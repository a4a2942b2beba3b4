"""Classes of Python files as the engine asks for them: the text of a file becomes an object."""

from __future__ import annotations

import difflib
import functools
import hashlib
import inspect
import json
import linecache
import sys
import types
from typing import Any

from headend.custom.congestion import CongestionControl
from headend.custom.failures import describe
from headend.custom.interruption import MODULE_PREFIX
from headend.custom.law import ControlLaw
from headend.custom.parameters import read_parameters
from headend.errors import InputError, suggest

Built = tuple[Any, list[str]]

#: Of these a class has one at least.
_NEEDED: dict[type, tuple[str, ...]] = {
    ControlLaw: ("enqueue", "dequeue", "update"),
    CongestionControl: ("on_ack", "on_sent", "on_timer"),
}

#: How alike a misspelt method is to the one that is meant; 1 is the same.
_LIKE = 0.8


def build_law(name: str, text: str, parameters: str, further: tuple[Any, int]) -> Built:
    """Build a control law: the object, and the methods that its class has of its own.

    Parameters
    ----------
    name
        The file and the class, such as ``my_law.py:MyLaw``.
    text
        The text of the file.
    parameters
        What the scenario sets, as JSON.
    further
        The stream of random numbers, and the rate of the line in bit/s.

    Raises
    ------
    InputError
        For code that cannot be read, and parameters that it refuses.
    """
    random, rate = further
    return _build(name, text, ControlLaw, parameters, {"random": random, "rate": rate})


def build_control(name: str, text: str, parameters: str, further: tuple[Any, int, int]) -> Built:
    """Build a congestion control, as `build_law`.

    ``further`` is the stream of random numbers, the largest segment, and the window at the start,
    both in bytes.
    """
    random, mss, window = further
    given = {"random": random, "mss": mss, "initial_window": window, "cwnd": window}
    return _build(name, text, CongestionControl, parameters, given)


@functools.cache
def counts_marks(name: str, text: str) -> bool:
    """Say whether a congestion control needs the number of marked bytes."""
    return bool(_load(name, text, CongestionControl).counts_marks)


def _build(name: str, text: str, base: type, parameters: str, given: dict[str, Any]) -> Built:
    cls = _load(name, text, base)
    own, class_name = _list_own(cls, base), name.rpartition(":")[2]
    _check_methods(cls, base, own, class_name)
    read = read_parameters(cls, base, json.loads(parameters), class_name)
    built: Any = object.__new__(cls)
    for key, value in {**given, **read}.items():
        setattr(built, key, value)
    try:
        built.__init__()
    except ValueError as error:
        raise InputError(f"{name}: {error}") from error
    except Exception as error:
        raise InputError(describe(name, error)) from error
    return built, own


def _check_methods(cls: type, base: type, own: list[str], name: str) -> None:
    """Refuse a class that would do nothing, or whose method is misspelt: it would not be called."""
    missing = [key for key, method in vars(base).items() if inspect.isfunction(method)]
    missing = [key for key in missing if key not in own]
    for one in cls.__mro__:
        if one in base.__mro__:
            continue
        for key, method in vars(one).items():
            if not inspect.isfunction(method) or key in own or key.startswith("_"):
                continue
            near = difflib.get_close_matches(key, missing, n=1, cutoff=_LIKE)
            if near:
                raise InputError(f'{name}.{key} is never called; did you mean "{near[0]}"?')
    needed = _NEEDED[base]
    if not any(key in own for key in needed):
        raise InputError(f"{name} has none of the methods {', '.join(needed)}: it would do nothing")


def _list_own(cls: type, base: type) -> list[str]:
    """List the methods of a base that a class has in its own way."""
    return [
        name
        for name, method in vars(base).items()
        if inspect.isfunction(method) and getattr(cls, name) is not method
    ]


def _load(name: str, text: str, base: type) -> Any:
    """Execute a file's text, and give the class.

    It is executed for each object anew, so that nothing of a module is carried from one run to
    another.
    """
    file, _, class_name = name.rpartition(":")
    if not text:
        raise InputError(f"{name}: the file is empty")
    code = _compile(file, text)
    module = types.ModuleType(f"{MODULE_PREFIX}{_digest(file, text)}")
    module.__file__ = file
    # For annotations, dataclasses and the lines of tracebacks.
    sys.modules[module.__name__] = module
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    try:
        exec(code, vars(module))
    except Exception as error:
        raise InputError(describe(name, error)) from error
    found = getattr(module, class_name, None)
    if isinstance(found, type) and issubclass(found, base) and found is not base:
        return found
    classes = [
        key
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, base) and value is not base
    ]
    kind = f"headend.{base.__name__}"
    if found is not None:
        raise InputError(f'{name}: "{class_name}" is no class of the kind {kind}')
    end = suggest(class_name, classes) or f"; the file has no class of the kind {kind}"
    raise InputError(f'{name}: no class is called "{class_name}"{end}')


@functools.cache
def _compile(file: str, text: str) -> types.CodeType:
    try:
        return compile(text, file, "exec")
    except SyntaxError as error:
        line = (error.text or "").strip()
        raise InputError(f"{file}, line {error.lineno}: {error.msg}: {line}") from error


@functools.cache
def _digest(file: str, text: str) -> str:
    return hashlib.sha256(f"{file}\n{text}".encode()).hexdigest()[:16]
