"""Arrays of xarray."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from .streams import Rows
from .to_pandas import axis_names, lane_names

if TYPE_CHECKING:
    from .reader import Run

try:
    import xarray
except ImportError as error:
    raise ImportError("to_xarray needs xarray: pip install xarray") from error


def array(stream: Rows, prefix: str = "") -> xarray.DataArray:
    """Returns the values of a stream with dimensions `trial` (in a series), `time`, and `lane`, or `row` and
    `column`."""
    info = stream.parts[0].info
    time = f"{prefix}time"
    if info.n_columns:
        rows = axis_names(stream.rows, info.width // info.n_columns)
        lanes: dict[str, Any] = {
            f"{prefix}row": rows,
            f"{prefix}column": axis_names(stream.columns, info.n_columns),
        }
    else:
        lanes = {f"{prefix}lane": lane_names(stream)}
    dims, coords = [time, *lanes], {time: stream.times, **lanes}
    if stream.run.n_trials:
        dims = ["trial", *dims]
        coords["trial"] = list(dict.fromkeys(part.run.trial for part in stream.parts))
    coords[f"{prefix}step"] = (time, stream.steps)
    ids = stream.ids
    if ids is not None and not info.n_columns and len(ids) == info.width:
        coords[f"{prefix}id"] = (f"{prefix}lane", ids)
    attributes = {
        "units": stream.unit,
        "shape": stream.shape,
        "probe": stream.probe,
        "time_unit": stream.run.time_unit,
    }
    return xarray.DataArray(stream.values, coords, dims, name=stream.name, attrs=attributes)


def dataset(run: Run) -> xarray.Dataset:
    """Returns all numeric streams; the dimensions of each begin with its name, because times and lanes
    differ. A stream with lanes that change during the run is a variable per segment."""
    streams = [(name, stream) for name, stream in run.uniform_streams() if isinstance(stream, Rows)]
    arrays = {name: array(stream, f"{name}_") for name, stream in streams if 0 not in stream.row_shape}
    attributes = {"name": run.name, "kind": run.kind, "seed": run.seed, "time_unit": run.time_unit}
    return xarray.Dataset(arrays, attrs=attributes)


def joined(arrays: list[xarray.DataArray], conditions: dict[str, list[Any]], name: str) -> xarray.DataArray:
    """Joins arrays of several runs along their conditions; see `neuropil.stack`."""
    first = arrays[0]
    if any(other.dims != first.dims or other.shape != first.shape for other in arrays[1:]) or any(
        not np.array_equal(first.coords[dim], other.coords[dim]) for other in arrays for dim in first.dims
    ):
        raise ValueError(f"the runs have samples of {name} at different steps, or other lanes")
    values = np.stack([array.values for array in arrays])
    axes = {
        path: list(dict.fromkeys(_label(value) for value in column)) for path, column in conditions.items()
    }
    places = list(zip(*[[_label(value) for value in column] for column in conditions.values()]))
    grid = list(itertools.product(*axes.values()))
    own = {coord: first.coords[coord] for coord in first.coords}
    if places and sorted(map(str, places)) == sorted(map(str, grid)):
        order = [places.index(place) for place in grid]
        shape = (*map(len, axes.values()), *first.shape)
        dims = (*axes, *first.dims)
        return xarray.DataArray(values[order].reshape(shape), {**axes, **own}, dims, name, first.attrs)
    columns = {path: ("run", [_label(value) for value in column]) for path, column in conditions.items()}
    return xarray.DataArray(values, {**columns, **own}, ("run", *first.dims), name, first.attrs)


def _label(value: Any) -> Any:
    """Returns a value as a coordinate: numbers and strings as they are."""
    return value if isinstance(value, (int, float, str)) else str(value)
