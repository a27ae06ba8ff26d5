"""Recorded data of probes. Arrays are views of memory-mapped files and cannot be written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import verify
from .files import inside, open_regular
from .manifest import Level, StreamInfo

if TYPE_CHECKING:
    import pandas
    import xarray

    from .reader import Run


def seconds(steps: Any, secs_per_step: float) -> NDArray[np.float64]:
    """Converts steps to seconds, or to counted steps if `secs_per_step` is 1. If a second is a whole number
    of steps, the result has exact decimals."""
    counts: NDArray[np.float64] = np.asarray(steps).astype(np.float64)
    per_second = float(np.round(1.0 / secs_per_step)) if secs_per_step > 0.0 else 0.0
    is_whole = abs(per_second * secs_per_step - 1.0) < 1e-9
    return counts / per_second if is_whole else counts * secs_per_step


@dataclass(frozen=True)
class Part:
    """Segment of a stream in a run or a trial."""

    run: Run
    info: StreamInfo

    def n_bytes(self) -> int:
        """Verifies the file and returns the number of its valid bytes.

        Raises:
            RunError: the file is missing or damaged.
        """
        verify.verify_file(self.run, inside(self.run.folder, self.info.file), self.info.file)
        return self.run.extent(self.info)

    def array(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Maps the records of the file.

        Raises:
            RunError: the file is missing or damaged.
        """
        n_records = self.n_bytes() // dtype.itemsize
        if n_records == 0:
            return np.empty(0, dtype)
        with open(open_regular(inside(self.run.folder, self.info.file)), "rb") as file:
            mapped: NDArray[Any] = np.memmap(file, dtype, "r", shape=(n_records,))
        return mapped


class Stream:
    """Data of a recorded probe: base of `Spikes`, `Rows`, `Lineage` and the other shapes.

    A probe has several segments if the elements or the shape of its data changed during the run. `segments`
    has a stream for each of them.

    Attributes:
        name: probe with its arguments: `rate`, `attention@layer=2,head=1`.
        probe: name of the probe.
        args: arguments of the probe, as on the command line.
        shape: `spikes`, `series`, `field`, `matrix`, `histogram`, `lineage`, `text`, `samples`, `tokens` or
            `links`.
        unit: unit of the values; empty without one.
        over: name of the set of the elements; empty without one.
    """

    def __init__(self, run: Run, parts: list[Part]) -> None:
        self.run, self.parts = run, parts
        info = parts[0].info
        self.name, self.probe, self.args = info.name, info.probe, info.args
        self.shape, self.unit, self.over = info.shape, info.unit, info.over

    def __repr__(self) -> str:
        unit = f", {self.unit}" if self.unit else ""
        return f"<{type(self).__name__} {self.name} ({self.shape}{unit})>"

    @property
    def segments(self) -> list[Any]:
        """Stream of each segment, of the same class; in a series of trials, also of each trial."""
        return [type(self)(part.run, [part]) for part in self.parts]

    @property
    def from_step(self) -> int:
        """Step after which the data begin; 0 for the first segment."""
        return self.parts[0].info.from_step

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the data as a table.

        Raises:
            ImportError: pandas is not installed.
            RunError: a file is missing or damaged.
        """
        from .to_pandas import frame

        return frame(self)


class Spikes(Stream):
    """Events of elements: spikes of neurons, births, deaths; n events in the order of their steps."""

    DTYPE = np.dtype([("step", "<u4"), ("lane", "<u4")])

    @property
    def events(self) -> NDArray[Any]:
        """Structured array of shape (n) with the fields `step` and `lane`, uint32; a memory map if there is
        one segment.

        Raises:
            RunError: a file is missing or damaged.
        """
        arrays = [part.array(self.DTYPE) for part in self.parts]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)

    @property
    def steps(self) -> NDArray[np.uint32]:
        """Step of each event; shape (n)."""
        steps: NDArray[np.uint32] = self.events["step"]
        return steps

    @property
    def lanes(self) -> NDArray[np.uint32]:
        """Index of the element of each event; shape (n)."""
        lanes: NDArray[np.uint32] = self.events["lane"]
        return lanes

    @property
    def times(self) -> NDArray[np.float64]:
        """Time of each event in `Run.time_unit`: seconds or counted steps; shape (n)."""
        return seconds(self.steps, self.run.secs_per_step)

    @property
    def trials(self) -> NDArray[np.int64]:
        """Number of the trial of each event, 0 in a single run; shape (n)."""
        counts = [len(part.array(self.DTYPE)) for part in self.parts]
        return np.repeat(np.array([part.run.trial or 0 for part in self.parts], np.int64), counts)

    @property
    def ids(self) -> NDArray[np.uint64]:
        """Public id of the element of each event, its index if the elements have no ids; shape (n).

        Raises:
            RunError: a file is missing or damaged.
        """
        lanes, ids = self.lanes, self.parts[0].run.element_set(self.over).ids
        if ids is None:
            return lanes.astype(np.uint64)
        is_known = lanes < len(ids)
        return np.where(is_known, ids[np.where(is_known, lanes, 0)], lanes).astype(np.uint64)

    @property
    def n_lanes(self) -> int:
        """Number of elements that can have events; 1 + the largest index with an event if the set is
        unknown."""
        known = self.parts[0].run.sets.get(self.over)
        if known is not None:
            return known.len
        lanes = self.lanes
        return int(lanes.max()) + 1 if len(lanes) else 0


class Rows(Stream):
    """Samples of numbers: a series, a field, a matrix or a histogram; n samples of width values.

    Attributes of the first segment:
        lanes: names of the values; empty if they are numbered.
        elements: elements of the values, indices into the set `over`; empty if they are all elements in
            order.
        rows, columns: names of the rows and columns of a matrix; empty if they are numbered or change during
            the run.
        edges: edges of the bins of a histogram; one more than bins.
        levels: reference values.
    """

    def __init__(self, run: Run, parts: list[Part]) -> None:
        super().__init__(run, parts)
        info = parts[0].info
        self.lanes, self.elements = info.lanes, np.array(info.elements, np.uint32)
        self.rows = info.rows if all(part.info.rows == info.rows for part in parts) else []
        self.columns = info.columns if all(part.info.columns == info.columns for part in parts) else []
        self.edges, self.levels = np.array(info.edges, np.float32), info.levels

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of a sample: (width), or (rows, columns) for a matrix."""
        info = self.parts[0].info
        return (info.width // info.n_columns, info.n_columns) if info.n_columns else (info.width,)

    @property
    def has_same_lanes(self) -> bool:
        """Whether all segments have the same lanes."""
        return len({_description(part.info) for part in self.parts if part.info.width > 0}) <= 1

    @property
    def is_uniform(self) -> bool:
        """Whether `values` can have all data: the lanes do not change, and trials have samples at the same
        steps. Fields and matrices are recorded at the ends of batches, so their steps may differ between
        trials.

        Raises:
            RunError: a file is missing or damaged.
        """
        steps = self._by_trial("step") if self.has_same_lanes else []
        return bool(steps) and all(np.array_equal(steps[0], other) for other in steps[1:])

    def _samples(self) -> list[NDArray[Any]]:
        """Maps the samples of each part. Raises ValueError if the parts have different lanes."""
        if not self.has_same_lanes:
            raise ValueError(f"the lanes of {self.name} change during the run: read each of its `segments`")
        dtype = np.dtype([("step", "<u8"), ("value", "<f4", self.row_shape)])
        if 0 in self.row_shape:
            return [np.empty(0, dtype) for _ in self.parts]
        return [part.array(dtype) for part in self.parts]

    def _by_trial(self, field: str) -> list[NDArray[Any]]:
        """Returns a field of the samples of each trial, or of the run."""
        samples, numbers = self._samples(), [part.run.trial for part in self.parts]
        joined = []
        for number in dict.fromkeys(numbers):
            own = [sample for sample, of in zip(samples, numbers) if of == number]
            joined.append(own[0][field] if len(own) == 1 else np.concatenate([s[field] for s in own]))
        return joined

    @property
    def steps(self) -> NDArray[np.uint64]:
        """Step of each sample; shape (n).

        Raises:
            RunError: a file is missing or damaged.
            ValueError: the lanes change during the run, or the trials have samples at different steps.
        """
        if self.has_same_lanes and not self.is_uniform:
            raise ValueError(
                f"the trials have samples of {self.name} at different steps: read each of `Run.trials`"
            )
        return self._by_trial("step")[0]

    @property
    def times(self) -> NDArray[np.float64]:
        """Time of each sample in `Run.time_unit`: seconds or counted steps; shape (n). Raises as `steps`
        does."""
        return seconds(self.steps, self.run.secs_per_step)

    @property
    def values(self) -> NDArray[np.float32]:
        """Values in `unit`; shape (n, width), or (n, rows, columns) for a matrix; in a series of trials, the
        first axis is the trial. A memory map if there is one segment. Raises as `steps` does."""
        values = self._by_trial("value")
        if not self.run.n_trials:
            return values[0]
        _ = self.steps
        return np.stack(values)

    @property
    def ids(self) -> NDArray[np.uint64] | None:
        """Public ids of the elements of the values; `None` if they have none; shape (width).

        Raises:
            RunError: the file of the ids is missing or damaged.
        """
        info = self.parts[0].info
        if info.element_ids:
            return np.array(info.element_ids, np.uint64)
        ids = self.parts[0].run.element_set(self.over).ids if self.over else None
        if ids is None or len(self.elements) == 0:
            return ids
        is_known = self.elements < len(ids)
        return np.where(is_known, ids[np.where(is_known, self.elements, 0)], self.elements).astype(np.uint64)

    def level_at(self, name: str, step: int) -> float | None:
        """Returns the reference value with a name that holds at a step; `None` if none does."""
        found: Level | None = None
        for level in self.levels:
            begins = level.from_step == 0 or level.from_step < step
            if level.name == name and begins and (level.to_step is None or step <= level.to_step):
                found = level
        return None if found is None else found.value

    def to_xarray(self) -> xarray.DataArray:
        """Returns the values with their times, lanes and, in a series of trials, trials as coordinates.

        Raises:
            ImportError: xarray is not installed.
            RunError: a file is missing or damaged.
            ValueError: the lanes change during the run, or the trials have samples at different steps.
        """
        from .to_xarray import array

        return array(self)


def _description(info: StreamInfo) -> tuple[Any, ...]:
    """Describes what the segments of a stream must have in common; labels of matrices may change."""
    lists = (info.lanes, info.elements, info.element_ids, info.edges)
    return info.width, info.n_columns, *(tuple(values) for values in lists)
