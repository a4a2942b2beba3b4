"""Fields of JSON objects in measuring tools' files, read with one clear error each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from headend.errors import InputError, suggest
from headend.text.quantity import MOST_SHOWN
from headend.text.reveal import reveal_line
from headend.text.wording import shorten

#: The longest time, s: no measurement of a line takes a year.
LONGEST_S = 366 * 86400.0

#: Times of days since 1970 end here, s: the year 2500. What a clock without a battery says is
#: earlier.
LATEST_S = 530 * 366 * 86400.0

#: The longest delay, ms: an hour.
LONGEST_DELAY_MS = 3.6e6

#: The fastest rate, bit/s: a thousand times the fastest Ethernet of today.
FASTEST_BIT_S = 1e15

#: An object of more fields, or of longer names, is no object with a slip of the pen in a name.
_MOST_COMPARED, _LONGEST_COMPARED = 100, 40


def describe(value: Any) -> str:
    """Say what a JSON value is, for errors.

    Examples
    --------
    >>> describe({"a": 1}), describe([1, 2]), describe(None), describe("x"), describe(True)
    ('an object', 'a list', 'null', '"x"', 'true')
    >>> describe(float("nan")), describe(10**5000)
    ('nan', 'a number of too many digits')
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f'"{reveal_line(shorten(value, MOST_SHOWN))}"'
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    try:
        return shorten(str(value), MOST_SHOWN)
    except ValueError:
        return "a number of too many digits"


def check_span(place: str, start: float, end: float) -> None:
    """Refuse times that are not of one measurement, s.

    Raises
    ------
    InputError
        That begins with the place: the file, and where in it.
    """
    if end - start > LONGEST_S:
        raise InputError(
            f"{place}: expected times of one measurement, found some that are"
            f" {(end - start) / 86400:.0f} days apart"
        )


def take_number(value: Any) -> float | None:
    """Give a finite number of JSON, or None for whatever else a value is.

    Examples
    --------
    >>> take_number(1), take_number(1.5), take_number(True), take_number("1"), take_number(10**400)
    (1.0, 1.5, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True)
class JsonObject:
    """An object of a JSON file, with its place there for errors.

    Parameters
    ----------
    path
        Of the file.
    values
        What it holds.
    place
        How it is reached from the file's value, such as ``"stats.rtt"``; empty for that value.
    """

    path: Path
    values: Mapping[str, Any]
    place: str = ""

    def __contains__(self, key: str) -> bool:
        """Say whether there is a value other than null."""
        return self.values.get(key) is not None

    def refuse(self, key: str, expected: str) -> InputError:
        """Give the error for a field that is missing or is not what is expected."""
        place = f"{self.place}.{key}" if self.place else key
        if key not in self.values:
            found = f"found nothing{reveal_line(suggest(key, self._list_names()))}"
        else:
            found = f"found {describe(self.values[key])}"
        return InputError(f"{self.path}: {reveal_line(place)}: expected {expected}, {found}")

    def _list_names(self) -> list[str]:
        """List names that a person may have meant: comparing takes time for each character."""
        names = itertools.islice(self.values, _MOST_COMPARED)
        return [name for name in names if len(name) <= _LONGEST_COMPARED]

    def number(
        self,
        key: str,
        expected: str = "a number",
        least: float = -math.inf,
        most: float = math.inf,
    ) -> float:
        """Give a finite number within bounds.

        Raises
        ------
        InputError
            Where there is none.
        """
        number = take_number(self.values.get(key))
        if number is None or not least <= number <= most:
            raise self.refuse(key, expected)
        return number

    def find_number(
        self,
        key: str,
        expected: str = "a number",
        least: float = -math.inf,
        most: float = math.inf,
    ) -> float | None:
        """Give a finite number within bounds, or None where the field is missing or null.

        Raises
        ------
        InputError
            Where it is something else.
        """
        return self.number(key, expected, least, most) if key in self else None

    def text(self, key: str, expected: str = "a text") -> str:
        """Give a text.

        Raises
        ------
        InputError
            Where there is none.
        """
        value = self.values.get(key)
        if not isinstance(value, str):
            raise self.refuse(key, expected)
        return value

    def find_text(self, key: str) -> str:
        """Give a text, and an empty one where the field is missing or null.

        Raises
        ------
        InputError
            Where it is something else.
        """
        return self.text(key) if key in self else ""

    def find_moment(self, key: str) -> float | None:
        """Give a time as ISO 8601 writes it, s since 1970; None without one, or without its zone.

        Raises
        ------
        InputError
            Where it is something else than a text.
        """
        try:
            moment = datetime.fromisoformat(self.find_text(key))
            return moment.timestamp() if moment.tzinfo else None
        except (ValueError, OverflowError):
            return None

    def object(self, key: str, expected: str = "an object") -> JsonObject:
        """Give an object.

        Raises
        ------
        InputError
            Where there is none.
        """
        value = self.values.get(key)
        if not isinstance(value, Mapping):
            raise self.refuse(key, expected)
        return JsonObject(self.path, value, f"{self.place}.{key}" if self.place else key)

    def find_object(self, key: str) -> JsonObject:
        """Give an object, and an empty one where the field is missing or null.

        Raises
        ------
        InputError
            Where it is something else.
        """
        if key in self:
            return self.object(key)
        return JsonObject(self.path, {}, f"{self.place}.{key}" if self.place else key)

    def list(self, key: str, expected: str = "a list") -> list[Any]:
        """Give a list.

        Raises
        ------
        InputError
            Where there is none.
        """
        value = self.values.get(key)
        if not isinstance(value, list):
            raise self.refuse(key, expected)
        return value

    def objects(self, key: str) -> Iterator[JsonObject]:
        """Give the objects of a list, one by one.

        Raises
        ------
        InputError
            Where there is no list, or something else in it.
        """
        place = f"{self.place}.{key}" if self.place else key
        for number, value in enumerate(self.list(key, "a list of objects")):
            if not isinstance(value, Mapping):
                raise InputError(
                    f"{self.path}: {reveal_line(place)}[{number}]: expected an object,"
                    f" found {describe(value)}"
                )
            yield JsonObject(self.path, value, f"{place}[{number}]")
