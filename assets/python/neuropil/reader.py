"""Reader of run folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import verify
from .checkpoint import Checkpoint, read_checkpoint, weights_of
from .edits import Edit, read_edits
from .errors import RunError
from .files import decoded, inside, read_bytes, size_of
from .lines import Lineage, Lines, Log
from .lock import is_locked, read_lock
from .manifest import Manifest, StreamInfo, read_manifest
from .parameters import Parameter, parameters_at, read_project
from .ron import Struct
from .sets import ElementSet, read_set
from .streams import Part, Rows, Spikes, Stream, seconds

if TYPE_CHECKING:
    import neo
    import pandas
    import xarray

MANIFEST, PROJECT = "run.ron", "project.ron"
_CLASSES: dict[str, type[Stream]] = {
    "spikes": Spikes,
    "series": Rows,
    "field": Rows,
    "matrix": Rows,
    "histogram": Rows,
    "lineage": Lineage,
    "samples": Lines,
    "tokens": Lines,
    "links": Lines,
    "text": Log,
}


def open(folder: str | os.PathLike[str], *, verify: bool = True) -> Run:
    """Opens the folder of a run.

    Only the manifest is read; data are read when they are asked for. A file of a closed run is compared with
    its recorded length and hash when it is first used. Data of a run that is being written, or was not
    closed, are readable up to the last written block; a run that is opened once does not grow.

    Args:
        folder: folder of the run.
        verify: whether files are compared with their hashes. Large files are hashed by the package `xxhash`
            or by the program, if one of them is installed; otherwise at some 20 MB per second.

    Raises:
        RunError: the folder is no run, or its manifest is damaged or of a newer version.
    """
    return Run(Path(folder), verify)


class Run:
    """Run on disk, or one of its trials.

    Attributes:
        folder: path of the folder.
        manifest: metadata of the run.
        trial: number of the trial; `None` for a run that is none.
        status: `complete`, `interrupted`, `failed`, `running` or `not closed`.
        name, kind: name of the project, and kind of the simulation.
        seed: seed of random draws.
        device: name of the device.
        first_step, last_step: first and last recorded step.
        secs_per_step: simulated seconds per step; 1 for a kind that counts its steps.
        time_unit: unit of all times: `s`, or the noun of counted steps, such as `generations`.
        totals: totals since step 0, such as the number of spikes.
        hash: hash of the simulation at the end; empty if the run is not closed.
        n_trials: number of trials of a series; 0 for a single run.
    """

    def __init__(
        self, folder: Path, verify: bool = True, trial: int | None = None, parent: Run | None = None
    ) -> None:
        self.folder, self.verify, self.trial, self.parent = folder, verify, trial, parent
        if size_of(folder / MANIFEST) is None and not (folder / MANIFEST).is_symlink():
            raise RunError(f"it is not a run: it has no {MANIFEST}", folder)
        self.manifest: Manifest = read_manifest(folder / MANIFEST)
        if verify and self.manifest.matches is False:
            raise RunError("it is damaged: its hash differs from what was written", folder / MANIFEST)
        self.verified: set[str] = set()
        self.findings: dict[str, str] | None = None
        self.is_open = self.manifest.status in ("running", "not closed")
        progress = read_lock(folder) if self.is_open else None
        self.progress = progress if progress is not None and progress.id == self.manifest.id else None
        self._extents: dict[str, int] = {}
        if self.is_open:
            self._examine()

    def _examine(self) -> None:
        """Finds status and last step of a run that is not closed."""
        manifest = self.manifest
        manifest.status = "running" if is_locked(self.folder) else "not closed"
        manifest.last_step = manifest.first_step
        if self.progress is not None:
            manifest.last_step = max(self.progress.step or 0, manifest.first_step)
        self._extents = {stream.file: verify.extent(self, stream) for stream in manifest.streams}

    def __repr__(self) -> str:
        steps = f"steps {self.first_step} to {self.last_step}"
        return f"<Run {self.folder}: {self.name}, {self.kind}, {self.status}, {steps}>"

    def extent(self, stream: StreamInfo) -> int:
        """Returns the number of valid bytes in the file of a stream.

        Raises:
            RunError: the file is missing in a closed run.
        """
        if stream.file not in self._extents:
            self._extents[stream.file] = verify.extent(self, stream)
        return self._extents[stream.file]

    @property
    def status(self) -> str:
        return self.manifest.status

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def kind(self) -> str:
        return self.manifest.kind

    @property
    def seed(self) -> int:
        return self.manifest.seed

    @property
    def device(self) -> str:
        return self.manifest.device

    @property
    def first_step(self) -> int:
        return self.manifest.first_step

    @property
    def last_step(self) -> int:
        return self.manifest.last_step

    @property
    def secs_per_step(self) -> float:
        return self.manifest.secs_per_step

    @property
    def time_unit(self) -> str:
        return self.manifest.counted[1] if self.manifest.counted else "s"

    @property
    def totals(self) -> dict[str, int]:
        return self.manifest.totals

    @property
    def hash(self) -> str:
        return self.manifest.hash

    @property
    def n_trials(self) -> int:
        return self.manifest.n_trials

    def time(self, step: Any) -> NDArray[np.float64]:
        """Converts steps to times in `time_unit`."""
        return seconds(step, self.secs_per_step)

    @cached_property
    def trials(self) -> list[Run]:
        """Existing trials of a series, sorted by number; an interrupted series has gaps. The run itself if it
        is no series.

        Raises:
            RunError: no trial exists, or the manifest of one is damaged.
        """
        if not self.n_trials:
            return [self]
        folder = self.folder / "trials"
        try:
            names = os.listdir(folder)
        except OSError as error:
            raise RunError(error.strerror or str(error), folder) from None
        numbers = sorted(
            {int(name) for name in names if name.isascii() and name.isdigit() and len(name) < 10}
        )
        numbers = [
            k for k in numbers if k < self.n_trials and size_of(folder / f"{k:04}" / MANIFEST) is not None
        ]
        if not numbers:
            raise RunError(f"none of the {self.n_trials} trials exists", folder)
        return [Run(folder / f"{k:04}", self.verify, k, self) for k in numbers]

    @cached_property
    def streams(self) -> dict[str, Any]:
        """Data of the recorded probes by name (`rate`, `attention@layer=2,head=1`). In a series of trials,
        those of all trials.

        Raises:
            RunError: the manifest of a trial is damaged.
        """
        parts: dict[str, list[Part]] = {}
        for run in self.trials:
            for info in run.manifest.streams:
                if info.shape in _CLASSES:
                    parts.setdefault(info.name, []).append(Part(run, info))
        return {name: _CLASSES[own[0].info.shape](self, own) for name, own in parts.items()}

    def __getitem__(self, name: str) -> Any:
        """Returns the data of a probe by name; the arguments may be left out if the probe is recorded once.

        Raises:
            KeyError: the run has no such data; with the names that it has.
        """
        if name in self.streams:
            return self.streams[name]
        found = [stream for stream in self.streams.values() if stream.probe == name]
        if len(found) != 1:
            why = "is recorded with several arguments" if found else "is not recorded"
            raise KeyError(f"{name} {why}; there are {', '.join(self.streams) or 'no data'}")
        return found[0]

    def __contains__(self, name: object) -> bool:
        return name in self.streams or sum(s.probe == name for s in self.streams.values()) == 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.streams)

    def _of_shape(self, *shapes: str) -> dict[str, Any]:
        return {name: stream for name, stream in self.streams.items() if stream.shape in shapes}

    @property
    def spikes(self) -> Spikes:
        """Spikes of neurons, or the first recorded events.

        Raises:
            KeyError: no events were recorded.
        """
        events = self._of_shape("spikes")
        if not events:
            raise KeyError(f"no events are recorded; there are {', '.join(self.streams) or 'no data'}")
        found: Spikes = events.get("spikes", next(iter(events.values())))
        return found

    @property
    def series(self) -> dict[str, Rows]:
        """Series of samples, by name."""
        return self._of_shape("series")

    @property
    def fields(self) -> dict[str, Rows]:
        """Fields with a value per element, by name."""
        return self._of_shape("field")

    @property
    def matrices(self) -> dict[str, Rows]:
        """Matrices, by name."""
        return self._of_shape("matrix")

    @property
    def histograms(self) -> dict[str, Rows]:
        """Histograms, by name."""
        return self._of_shape("histogram")

    @property
    def strings(self) -> dict[str, Lines | Log]:
        """Sampled texts, tokens and logs, by name."""
        return self._of_shape("samples", "tokens", "text")

    @property
    def lineages(self) -> dict[str, Lineage]:
        """Lineages, by name."""
        return self._of_shape("lineage")

    @property
    def lineage(self) -> Lineage:
        """The first lineage.

        Raises:
            KeyError: no lineage was recorded.
        """
        if not self.lineages:
            raise KeyError(f"no lineage is recorded; there are {', '.join(self.streams) or 'no data'}")
        return next(iter(self.lineages.values()))

    @cached_property
    def sets(self) -> dict[str, ElementSet]:
        """First version of each element set, by name.

        Raises:
            RunError: the file of the ids of a set is missing or damaged.
        """
        first: dict[str, ElementSet] = {}
        for info in self.manifest.sets:
            if info.name not in first:
                first[info.name] = read_set(self, info)
        return first

    def element_set(self, name: str, step: int = 0) -> ElementSet:
        """Returns the version of an element set to which the samples of a step refer; an empty set if there
        is none.

        Raises:
            RunError: a file of the set is missing or damaged.
        """
        for info in reversed(self.manifest.sets):
            if info.name == name and (info.from_step == 0 or info.from_step < step):
                return self.sets[name] if info.from_step == 0 else read_set(self, info)
        return ElementSet(name, 0, None, [], None, {}, 0)

    @cached_property
    def project(self) -> Struct:
        """Project at step 0, as it is in the file.

        Raises:
            RunError: the file is missing or damaged.
        """
        return read_project(self)

    @cached_property
    def edits(self) -> list[Edit]:
        """Changes of parameters and actions, in the order in which they were applied.

        Raises:
            RunError: the command log is missing or damaged; with its line.
        """
        return read_edits(self)

    def parameters(self, step: int | None = None) -> dict[str, Parameter]:
        """Returns the parameters in force after a step, by path (`lif.tau_m`, `populations.0.size`); by
        default at the end.

        The paths are those of the version that recorded the run.

        Raises:
            RunError: project or command log are missing or damaged.
        """
        return parameters_at(self, self.last_step if step is None else step)

    def checkpoint(self, step: int | None = None) -> Checkpoint:
        """Returns the last checkpoint at or before a step; by default the last one.

        Raises:
            KeyError: there is none.
            RunError: its file is missing or damaged.
        """
        until = [info for info in self.manifest.checkpoints if step is None or info.step <= step]
        if not until:
            steps = [info.step for info in self.manifest.checkpoints]
            raise KeyError(f"no checkpoint at or before this step; there are {steps or 'none'}")
        return read_checkpoint(inside(self.folder, until[-1].file), until[-1], self.verify)

    def weights(self, step: int | None = None) -> dict[str, NDArray[Any]]:
        """Returns the weights in the last checkpoint at or before a step, by name; by default in the last
        one. Raises as `checkpoint` does."""
        return weights_of(self.checkpoint(step))

    @property
    def note(self) -> str:
        """The user's note; empty without one."""
        return self._label("note.txt")

    @property
    def tags(self) -> list[str]:
        """The user's tags."""
        return [line.strip() for line in self._label("tags.txt").splitlines() if line.strip()]

    def _label(self, name: str) -> str:
        path = self.folder / name
        return "" if size_of(path) is None else decoded(read_bytes(path), path)

    def to_pandas(self) -> dict[str, pandas.DataFrame]:
        """Returns a table per stream, by name, as `uniform_streams` names them. Raises as `Stream.to_pandas`
        does."""
        return {name: stream.to_pandas() for name, stream in self.uniform_streams()}

    def uniform_streams(self) -> Iterator[tuple[str, Stream]]:
        """Yields the streams with their names. A stream with lanes or steps that differ between its segments
        or trials is replaced by these, `NAME-1`, `NAME-2`; numbers of trials begin at 0.

        Raises:
            RunError: a file is missing or damaged.
        """
        for name, stream in self.streams.items():
            if not isinstance(stream, Rows) or stream.is_uniform:
                yield name, stream
                continue
            for i, segment in enumerate(stream.segments, 1):
                yield f"{name}-{segment.run.trial if self.n_trials else i}", segment

    def to_xarray(self) -> xarray.Dataset:
        """Returns all series, fields, matrices and histograms, each with its own dimensions of time and
        lanes.

        Raises:
            ImportError: xarray is not installed.
            RunError: a file is missing or damaged.
        """
        from .to_xarray import dataset

        return dataset(self)

    def to_neo(self) -> neo.Block:
        """Returns a block with a segment per trial: spike trains of all neurons with spikes, signals of the
        series, and the edits as an event.

        Raises:
            ImportError: neo is not installed.
            ValueError: the steps of this kind are counted and have no duration.
            RunError: a file is missing or damaged.
        """
        from .to_neo import block

        return block(self)


__all__ = ["Run", "open"]
