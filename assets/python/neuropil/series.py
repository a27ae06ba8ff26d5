"""Runs of an experiment: several runs of one folder, with the parameters in which they differ."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import RunError
from .files import size_of
from .reader import MANIFEST, Run
from .reader import open as open_run

if TYPE_CHECKING:
    import xarray


def open_runs(folder: str | os.PathLike[str], sweep: str | None = None) -> list[Run]:
    """Opens all runs directly in a folder, sorted by name.

    Args:
        folder: folder of runs.
        sweep: name of a sweep, with or without its time after `@`; only its runs are returned.

    Raises:
        RunError: the folder cannot be read, or the manifest of a run is damaged.
    """
    path = Path(folder)
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise RunError(error.strerror or str(error), path) from None
    runs = [open_run(path / name) for name in names if size_of(path / name / MANIFEST) is not None]
    return [
        run
        for run in runs
        if sweep is None or sweep in (run.manifest.sweep, run.manifest.sweep.split("@")[0])
    ]


def conditions(runs: Iterable[Run]) -> dict[str, list[Any]]:
    """Returns the parameters in which runs differ at their first steps, by path, with the value in each run;
    `None` if a run has no such parameter. The seed is one of them.

    Raises:
        RunError: a file is missing or damaged.
    """
    all_runs = list(runs)
    tables: list[dict[str, Any]] = []
    for run in all_runs:
        values = {path: parameter.value for path, parameter in run.parameters(run.first_step).items()}
        tables.append({**values, "seed": run.seed})
    paths = sorted({path for table in tables for path in table})
    columns = {path: [table.get(path) for table in tables] for path in paths}
    return {
        path: column for path, column in columns.items() if any(value != column[0] for value in column[1:])
    }


def stack(runs: Iterable[Run], name: str) -> xarray.DataArray:
    """Joins the samples of a probe of several runs along their conditions.

    If the runs are a grid, with one run for each combination of values, each condition (`conditions`) is an axis
    before those of `Rows.to_xarray`; otherwise the first axis is `run`, and the conditions are its coordinates.

    Raises:
        ImportError: xarray is not installed.
        KeyError: a run has no such data.
        RunError: a file is missing or damaged.
        ValueError: the runs have samples at different steps, or other lanes.
    """
    from .to_xarray import joined

    all_runs = list(runs)
    return joined([run[name].to_xarray() for run in all_runs], conditions(all_runs), name)
