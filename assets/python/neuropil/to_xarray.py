"""Arrays of xarray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    differ. Streams whose lanes change during the run are a variable per segment."""
    streams = [(name, stream) for name, stream in run.uniform_streams() if isinstance(stream, Rows)]
    arrays = {name: array(stream, f"{name}_") for name, stream in streams if 0 not in stream.row_shape}
    attributes = {"name": run.name, "kind": run.kind, "seed": run.seed, "time_unit": run.time_unit}
    return xarray.Dataset(arrays, attrs=attributes)
