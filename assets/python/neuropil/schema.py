"""Typed access to the fields of a RON struct."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from . import ron
from .errors import RunError
from .files import decoded, read_bytes

T = TypeVar("T")

U32, U64 = (1 << 32) - 1, (1 << 64) - 1


class Fields:
    """Fields of a struct in a file; a missing field has its default.

    Raises:
        RunError: from every method, if a value has another type than the format says.
    """

    def __init__(self, value: Any, file: Path, where: str = "") -> None:
        if not isinstance(value, ron.Struct):
            raise RunError(f"{where or 'the file'} is not a struct", file)
        self.values, self.file, self.where = value, file, where

    def fail(self, name: str, expected: str) -> RunError:
        """Returns an error about a field that is not `expected`."""
        return RunError(f"{self.path(name)} is not {expected}", self.file)

    def path(self, name: str) -> str:
        """Returns the path of a field in the file."""
        return f"{self.where}.{name}" if self.where else name

    def text(self, name: str, default: str = "") -> str:
        """Returns a string."""
        return self._typed(name, default, "a string", lambda v: v if isinstance(v, str) else None)

    def whole(self, name: str, default: int = 0, limit: int = U64) -> int:
        """Returns a whole number from 0 to `limit`."""
        return self._typed(name, default, f"a whole number from 0 to {limit}", lambda v: _whole(v, limit))

    def real(self, name: str, default: float = 0.0) -> float:
        """Returns a number."""
        return self._typed(name, default, "a number", _real)

    def flag(self, name: str) -> bool:
        """Returns a switch, `False` by default."""
        return self._typed(name, False, "true or false", lambda v: v if isinstance(v, bool) else None)

    def texts(self, name: str) -> list[str]:
        """Returns a list of strings."""
        return self._list(name, "strings", lambda v: v if isinstance(v, str) else None)

    def wholes(self, name: str, limit: int = U64) -> list[int]:
        """Returns a list of whole numbers."""
        return self._list(name, "whole numbers", lambda v: _whole(v, limit))

    def reals(self, name: str) -> list[float]:
        """Returns a list of numbers."""
        return self._list(name, "numbers", _real)

    def structs(self, name: str) -> list[Fields]:
        """Returns a list of structs."""
        items = self._list(name, "structs", lambda v: v if isinstance(v, ron.Struct) else None)
        return [Fields(item, self.file, f"{self.path(name)}.{i}") for i, item in enumerate(items)]

    def struct(self, name: str) -> Fields | None:
        """Returns a struct; `None` if the field is missing or `None`."""
        value = self.values.get(name)
        return None if value is None else Fields(value, self.file, self.path(name))

    def pairs(self, name: str) -> list[tuple[str, int]]:
        """Returns a list of pairs of a string and a whole number."""

        def pair(value: Any) -> tuple[str, int] | None:
            is_pair = isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)
            return (value[0], value[1]) if is_pair and _whole(value[1], U64) is not None else None

        return self._list(name, "pairs of a string and a number", pair)

    def _typed(self, name: str, default: T, expected: str, convert: Callable[[Any], T | None]) -> T:
        if name not in self.values:
            return default
        value = convert(self.values[name])
        if value is None:
            raise self.fail(name, expected)
        return value

    def _list(self, name: str, of: str, convert: Callable[[Any], T | None]) -> list[T]:
        values = self.values.get(name, [])
        if not isinstance(values, list):
            raise self.fail(name, f"a list of {of}")
        converted = []
        for value in values:
            item = convert(value)
            if item is None:
                raise self.fail(name, f"a list of {of}")
            converted.append(item)
        return converted


def _whole(value: Any, limit: int) -> int | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return value if is_whole and 0 <= value <= limit else None


def _real(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def parse(text: str, path: Path, line: int = 0) -> Any:
    """Parses a text of a file; `line` is the number of lines before the text.

    Raises:
        RunError: the text is not valid RON; with its place.
    """
    try:
        return ron.parse(text)
    except ron.RonError as error:
        raise RunError(error.what, path, error.line + line, error.column) from None


def read(path: Path) -> Any:
    """Reads a file that holds one value.

    Raises:
        RunError: the file cannot be read or is not valid RON.
    """
    return parse(decoded(read_bytes(path), path), path)
