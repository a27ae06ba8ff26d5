"""Command log of a run, `commands.ron`: changes of parameters, and actions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import ron, schema, verify
from .errors import RunError
from .files import decoded, inside, read_bytes

if TYPE_CHECKING:
    from .reader import Run

_NAMED_SINCE = 2
"""First format of run folders with names in their logs; earlier ones hold indices."""
_WHOLE_LIST = 255
"""Field of an index that stands for a whole list."""


@dataclass(frozen=True)
class Edit:
    """Change of a parameter, or action, between two steps.

    Attributes:
        step: step after which it was applied.
        kind: `set` (a parameter), `data` (an input file), `act` (an action) or `rewind` (back to step 0).
        name: path of the parameter, or name of the action.
        value: new value of a parameter: a switch, a number in the unit of the parameter, a string (also for
            choices and distributions), a list of numbers, a list of dictionaries (a whole list of items), or
            a `Choice`.
        elements: elements of an action, as indices into their set.
        ids: their public ids, in place of `elements`, if they have any.
        individuals: ids of individuals, in place of `elements`, if the elements are slots.
        arguments: arguments of an action, by name.
        data_hash: hash of an input file.
        text: the edit in words, with units.
    """

    step: int
    kind: str
    name: str = ""
    value: Any = None
    elements: tuple[int, ...] = ()
    ids: tuple[int, ...] = ()
    individuals: tuple[int, ...] = ()
    arguments: dict[str, Any] = field(default_factory=dict)
    data_hash: str = ""
    text: str = ""


@dataclass(frozen=True)
class Choice:
    """Chosen group of a parameter, with the values of its own parameters that are known."""

    name: str
    values: dict[str, Any]


def read_edits(run: Run) -> list[Edit]:
    """Reads the command log without an incomplete last line.

    Raises:
        RunError: the log is missing or damaged; with its line.
    """
    path = inside(run.folder, verify.COMMANDS)
    verify.verify_file(run, path, verify.COMMANDS)
    lines = decoded(read_bytes(path), path).rpartition("\n")[0].split("\n")
    edits = []
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("//"):
            value = schema.parse(line, path, number - 1)
            try:
                edits.append(_edit(run, value, line))
            except (LookupError, TypeError, ValueError) as error:
                raise RunError(f"not a command: {error}", path, number) from None
    return edits


def _edit(run: Run, value: Any, line: str) -> Edit:
    step, command = value
    if not isinstance(step, int) or not isinstance(command, (ron.Variant, ron.Struct)):
        raise ValueError("a step and a command are expected")
    text = line.rpartition(" // ")[2] if " // " in line else ""
    if run.manifest.format < _NAMED_SINCE:
        return _unnamed(run.kind, step, command, text)
    if isinstance(command, ron.Struct) and command.name == "Act":
        elements, ids, individuals = (
            _indices(command.get(n, [])) for n in ("elements", "ids", "individuals")
        )
        name, arguments = _name(command["action"]), _fields(command.get("arguments", []))
        return Edit(step, "act", name, None, elements, ids, individuals, arguments, text=text)
    if isinstance(command, ron.Variant) and command.name == "Set":
        path, new = command.values
        return Edit(step, "set", _name(path), _value(new), text=text)
    if isinstance(command, ron.Variant) and command.name == "Data":
        path, new, hash_ = command.values
        return Edit(step, "data", _name(path), _value(new), data_hash=_name(hash_), text=text)
    if isinstance(command, ron.Variant) and command.name == "Rewind" and not command.values:
        return Edit(step, "rewind", text=text)
    raise ValueError(f"`{command.name}` is unknown")


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a name is expected")
    return value


def _indices(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(i) is int and i >= 0 for i in value):
        raise ValueError("a list of whole numbers is expected")
    return tuple(value)


def _value(value: Any) -> Any:
    """Converts a value of the log, such as `Real(0.5)`."""
    if not isinstance(value, ron.Variant):
        raise ValueError("a value with its type is expected")
    of, values = value.name, value.values
    if of == "Variant":
        name, fields = values
        return Choice(_name(name), _fields(fields))
    (plain,) = values
    types: dict[str, type | tuple[type, ...]] = {
        "Bool": bool,
        "Int": int,
        "Real": (int, float),
        "Choice": str,
        "Text": str,
    }
    if of in types and isinstance(plain, types[of]):
        return plain
    if of == "Items" and isinstance(plain, list):
        return [_fields(item) for item in plain]
    if of == "List" and isinstance(plain, list):
        return [float(x) for x in plain]
    if of == "Distribution" and isinstance(plain, (str, int, float)):
        return plain
    raise ValueError(f"`{of}` has a value of another type")


def _fields(value: Any) -> dict[str, Any]:
    if not isinstance(value, list):
        raise ValueError("a list of names and values is expected")
    return {_name(name): _value(of) for name, of in value}


@lru_cache(maxsize=1)
def _orders() -> dict[str, Any]:
    """Returns the order of declarations to which the indices in logs of format 1 refer, by kind."""
    orders: dict[str, Any] = schema.read((Path(__file__).parent / "log_order.ron").resolve())
    return orders


def _unnamed(kind: str, step: int, command: ron.Variant | ron.Struct, text: str) -> Edit:
    """Converts a command of format 1, which holds indices."""
    order = _orders()[kind]
    if command.name == "Rewind":
        return Edit(step, "rewind", text=text)
    if not isinstance(command, ron.Variant):
        raise ValueError(f"`{command.name}` is unknown")
    (body,) = command.values
    if command.name == "Act":
        fields = order["actions"][_name(body["name"])]
        arguments = _row(body["values"], fields)
        return Edit(
            step, "act", body["name"], elements=_indices(body["elements"]), arguments=arguments, text=text
        )
    if command.name != "Set":
        raise ValueError(f"`{command.name}` is unknown")
    at, value = body["id"], body["value"]
    group = order["groups"][at["group"]]
    if at["field"] == _WHOLE_LIST and value.name == "Rows":
        rows = [_row(row, group["fields"]) for row in value.values[0]]
        return Edit(step, "set", group["name"], rows, text=text)
    own = group["fields"][at["field"]]
    item = f"{at['item']}." if group["list"] else ""
    return Edit(step, "set", f"{group['name']}.{item}{own[0]}", _indexed(value, own), text=text)


def _row(values: list[Any], fields: list[Any]) -> dict[str, Any]:
    if len(values) > len(fields):
        raise ValueError(f"{len(values)} values for {len(fields)} fields")
    return {own[0]: _indexed(value, own) for value, own in zip(values, fields)}


def _indexed(value: Any, own: tuple[str, list[str]]) -> Any:
    if isinstance(value, ron.Variant) and value.name == "Choice":
        return own[1][value.values[0]]
    return _value(value)
