"""Parameters in force during a run: its project at step 0, and the changes of its command log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from . import ron, schema, verify
from .edits import Choice, Edit
from .errors import NeuropilError, RunError
from .files import inside

if TYPE_CHECKING:
    from .reader import Run

PROJECT = "project.ron"


@dataclass(frozen=True)
class Parameter:
    """Value of a parameter.

    Attributes:
        value: switch, number in `unit`, string (also for choices and distributions with a spread) or list of
            numbers.
        unit: unit of the value; empty without one.
        since: step after which the value holds; 0 for the value in the project.
    """

    value: Any
    unit: str = ""
    since: int = 0

    def __str__(self) -> str:
        return f"{self.value} {self.unit}".rstrip()


def read_project(run: Run) -> ron.Struct:
    """Reads the project of a run.

    Raises:
        RunError: the file is missing or damaged.
    """
    path = inside(run.folder, PROJECT)
    verify.verify_file(run, path, PROJECT)
    return schema.Fields(schema.read(path), path).values


def parameters_at(run: Run, step: int) -> dict[str, Parameter]:
    """Returns the parameters in force after a step, by path.

    Raises:
        RunError: project or command log are missing or damaged.
    """
    parameters = _of_project(run)
    for edit in run.edits:
        if edit.step <= step and edit.kind in ("set", "data"):
            _apply(run.kind, parameters, edit)
    return dict(sorted(parameters.items()))


def _of_project(run: Run) -> dict[str, Parameter]:
    path, model = run.folder / PROJECT, run.project.get("model")
    groups = model.values[0] if isinstance(model, ron.Variant) and len(model.values) == 1 else model
    if not isinstance(groups, ron.Struct):
        raise RunError("`model` is not a struct of groups", path)
    parameters: dict[str, Parameter] = {}
    for group, content in groups.items():
        items = enumerate(content) if isinstance(content, list) else [(None, content)]
        for i, item in items:
            if not isinstance(item, ron.Struct):
                raise RunError(f"an item of `{group}` is not a struct", path)
            _add_fields(parameters, group if i is None else f"{group}.{i}", item)
    return parameters


def _add_fields(parameters: dict[str, Parameter], path: str, fields: ron.Struct) -> None:
    for name, value in fields.items():
        unit = fields.comments.get(name, "")
        if isinstance(value, ron.Struct):
            parameters[f"{path}.{name}"] = Parameter(value.name)
            _add_fields(parameters, f"{path}.{name}", value)
        elif isinstance(value, ron.Variant):
            parameters[f"{path}.{name}"] = Parameter(value.name)
        else:
            parameters[f"{path}.{name}"] = Parameter(value, unit)


def _apply(kind: str, parameters: dict[str, Parameter], edit: Edit) -> None:
    if (
        isinstance(edit.value, list)
        and all(isinstance(item, dict) for item in edit.value)
        and "." not in edit.name
    ):
        units = {
            path.split(".", 2)[2]: p.unit
            for path, p in parameters.items()
            if path.startswith(f"{edit.name}.")
        }
        _remove(parameters, edit.name)
        for i, item in enumerate(edit.value):
            for name, value in item.items():
                path = f"{edit.name}.{i}.{name}"
                if name in units:
                    parameters[path] = Parameter(None, units[name])
                _set(kind, parameters, path, value, edit.step)
    else:
        _set(kind, parameters, _without_choices(parameters, edit.name), edit.value, edit.step)


def _remove(parameters: dict[str, Parameter], path: str) -> None:
    for known in [known for known in parameters if known.startswith(f"{path}.")]:
        del parameters[known]


def _without_choices(parameters: dict[str, Parameter], path: str) -> str:
    """Removes the names of chosen groups from a path: `projections.0.plasticity.Pair.tau_plus`."""
    kept: list[str] = []
    for part in path.split("."):
        chosen = parameters.get(".".join(kept))
        if chosen is None or chosen.value != part:
            kept.append(part)
    return ".".join(kept)


def _set(kind: str, parameters: dict[str, Parameter], path: str, value: Any, step: int) -> None:
    if isinstance(value, Choice):
        _remove(parameters, path)
        parameters[path] = Parameter(value.name, since=step)
        for name, own in value.values.items():
            _set(kind, parameters, f"{path}.{name}", own, step)
        return
    known = parameters.get(path)
    if known is not None and isinstance(known.value, str) and known.value != value:
        _remove(parameters, path)
    if known is not None:
        parameters[path] = replace(known, value=value, since=step)
    else:
        parameters[path] = Parameter(value, _declared_unit(kind, path), step)


def _declared_unit(kind: str, path: str) -> str:
    """Returns the unit of a parameter that the project does not have, from the program; empty without the
    program."""
    from .program import declarations

    generic = ".".join("N" if part.isdigit() else part for part in path.split("."))
    try:
        return declarations(kind).get(generic, "")
    except NeuropilError:
        return ""
