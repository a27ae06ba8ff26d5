"""Manifest of a run, `run.ron`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import ron
from .errors import RunError
from .files import decoded, is_plain_name, read_bytes
from .schema import U32, Fields, parse
from .xxh64 import xxh64

FORMAT = 2
"""Newest version of the format that this package reads."""
MAX_RECORD = 1 << 30
"""Maximum size of a record, bytes."""
MAX_ELEMENTS = 1 << 24
"""Maximum number of elements of a set."""
_HASH_LINE = "// XXH64 of the other lines: "
_ROWS = ("series", "field", "matrix", "histogram")


@dataclass(frozen=True)
class Level:
    """Reference value of a series, in the unit of the probe.

    Attributes:
        name: label of the value.
        value: the value.
        from_step: step after which the value holds; 0: from the beginning.
        to_step: last step for which the value holds; `None`: it does not end.
        use: `Line`, `Factor`, `Exponent` or `ItemsPerStep`.
    """

    name: str
    value: float
    from_step: int = 0
    to_step: int | None = None
    use: str = "Line"


@dataclass(frozen=True)
class StreamInfo:
    """Entry of a stream's segment in the manifest.

    Attributes:
        probe, args: name of the probe and arguments of the tap (`layer=2,head=1`).
        file: name of the file.
        shape: `spikes`, `series`, `field`, `matrix`, `histogram`, `lineage`, `text`, `samples`, `tokens` or
            `links`.
        unit: unit of the values.
        width: number of values per record.
        lanes: names of fixed lanes.
        n_columns, rows, columns: number of columns of a matrix, names of its rows and columns.
        edges: edges of the bins of a histogram.
        levels: reference values.
        elements, element_ids: elements of the lanes, and their public ids.
        over: set of the elements.
        from_step: step after which the segment begins; 0 for the first.
        n_bytes, hash: length of the file, and its XXH64, when the run was closed; the hash is empty if
            unknown.
    """

    probe: str
    args: str
    file: str
    shape: str
    unit: str
    width: int
    lanes: list[str]
    n_columns: int
    rows: list[str]
    columns: list[str]
    edges: list[float]
    levels: list[Level]
    elements: list[int]
    element_ids: list[int]
    over: str
    every_steps: int
    from_step: int
    n_bytes: int
    hash: str

    @property
    def name(self) -> str:
        """Probe with its arguments: `rate`, `attention@layer=2,head=1`."""
        return f"{self.probe}@{self.args}" if self.args else self.probe

    @property
    def record_bytes(self) -> int | None:
        """Size of a record in bytes; `None` for lines and text, and for a stream without values."""
        if self.shape == "spikes":
            return 8
        return 8 + 4 * self.width if self.shape in _ROWS and self.width > 0 else None


@dataclass(frozen=True)
class FileInfo:
    """File of a run with its length in bytes and its XXH64; the hash is empty if unknown."""

    name: str
    n_bytes: int
    hash: str


@dataclass(frozen=True)
class CheckpointInfo:
    """Checkpoint of a run: its file, the step of its state, its size in bytes and the XXH64 of its
    directory."""

    file: str
    step: int
    n_bytes: int
    hash: str


@dataclass(frozen=True)
class SetInfo:
    """Version of an element set: name, number of elements, files of its ids and names, step after which it
    holds."""

    name: str
    len: int
    ids: str
    names: list[str]
    table: str
    from_step: int


@dataclass
class Manifest:
    """Metadata of a run. Fields of the same names are documented in `neuropil.Run`."""

    format: int = 0
    id: str = ""
    app: str = ""
    kind: str = ""
    name: str = ""
    status: str = "running"
    reason: str = ""
    seed: int = 0
    setup_seed: int = 0
    device: str = ""
    threads: int = 0
    n_parameters: int = 0
    secs_per_step: float = 0.0
    counted: tuple[str, str] | None = None
    first_step: int = 0
    last_step: int = 0
    started: str = ""
    stopped: str = ""
    wall_s: float = 0.0
    computed_s: float = 0.0
    hash: str = ""
    totals: dict[str, int] = field(default_factory=dict)
    base: str = ""
    command: str = ""
    sweep: str = ""
    n_trials: int = 0
    streams: list[StreamInfo] = field(default_factory=list)
    files: list[FileInfo] = field(default_factory=list)
    sets: list[SetInfo] = field(default_factory=list)
    checkpoints: list[CheckpointInfo] = field(default_factory=list)
    matches: bool | None = None
    """Whether the file matches the hash in it; `None` without a hash, as in older versions."""


def read_manifest(path: Path) -> Manifest:
    """Reads a manifest.

    Raises:
        RunError: the file cannot be read, is not a manifest, or of a newer format.
    """
    text = decoded(read_bytes(path), path)
    fields = Fields(parse(text, path), path)
    version = fields.whole("format", limit=U32)
    if not 1 <= version <= FORMAT:
        is_what = "unknown" if version == 0 else "newer than this package"
        raise RunError(f"format {version} is {is_what}, which reads 1 to {FORMAT}", path)
    manifest = _manifest(fields)
    manifest.matches = _matches(text)
    _check(manifest, path)
    return manifest


def _manifest(f: Fields) -> Manifest:
    status, reason = _status(f)
    digest = f.struct("digest")
    return Manifest(
        format=f.whole("format", limit=U32),
        id=f.text("id"),
        app=f.text("app"),
        kind=f.text("kind"),
        name=f.text("name"),
        status=status,
        reason=reason,
        seed=f.whole("seed"),
        setup_seed=f.whole("setup_seed"),
        device=f.text("device"),
        threads=f.whole("threads", limit=U32),
        n_parameters=f.whole("n_parameters"),
        secs_per_step=f.real("secs_per_step"),
        counted=_counted(f),
        first_step=f.whole("first_step"),
        last_step=f.whole("last_step"),
        started=f.text("started"),
        stopped=f.text("stopped"),
        wall_s=f.real("wall_s"),
        computed_s=f.real("computed_s"),
        hash=digest.text("hash") if digest else "",
        totals=dict(digest.pairs("totals")) if digest else {},
        base=f.text("base"),
        command=f.text("command"),
        sweep=f.text("sweep"),
        n_trials=f.whole("trials", limit=U32),
        streams=[_stream(s) for s in f.structs("streams")],
        files=[FileInfo(s.text("name"), s.whole("n_bytes"), s.text("hash")) for s in f.structs("files")],
        sets=[_set(s) for s in f.structs("sets")],
        checkpoints=[_checkpoint(s) for s in f.structs("checkpoints")],
    )


def _status(f: Fields) -> tuple[str, str]:
    value = f.values.get("status", ron.Variant("Running"))
    if isinstance(value, ron.Struct) and value.name == "Interrupted":
        return "interrupted", f"at step {Fields(value, f.file, 'status').whole('step')}"
    if isinstance(value, ron.Variant):
        if value.name == "Failed" and len(value.values) == 1 and isinstance(value.values[0], str):
            return "failed", value.values[0]
        if value.name in ("Running", "Complete", "Unclosed") and not value.values:
            return {"Running": "running", "Complete": "complete", "Unclosed": "not closed"}[value.name], ""
    raise f.fail("status", "a status")


def _counted(f: Fields) -> tuple[str, str] | None:
    """Returns the nouns of a counted step; `None` for a simulated time."""
    value: Any = f.values.get("time_base", ron.Variant("Unknown"))
    if isinstance(value, ron.Struct) and value.name == "Count":
        nouns = Fields(value, f.file, "time_base")
        return nouns.text("singular", "step"), nouns.text("plural", "steps")
    if isinstance(value, ron.Variant) and value.name == "Seconds":
        return None
    if isinstance(value, ron.Variant) and value.name == "Unknown":
        nuclei = ("generation", "generations")
        of_kind = nuclei if f.text("kind") == "nuclei" else ("step", "steps")
        return of_kind if f.real("secs_per_step") >= 1.0 else None
    raise f.fail("time_base", "a time base")


def _stream(f: Fields) -> StreamInfo:
    return StreamInfo(
        probe=f.text("probe"),
        args=f.text("args"),
        file=f.text("file"),
        shape=f.text("shape"),
        unit=f.text("unit"),
        width=f.whole("width", limit=U32),
        lanes=f.texts("lanes"),
        n_columns=f.whole("n_columns", limit=U32),
        rows=f.texts("rows"),
        columns=f.texts("columns"),
        edges=f.reals("edges"),
        levels=[_level(level) for level in f.structs("levels")],
        elements=f.wholes("elements", U32),
        element_ids=f.wholes("element_ids"),
        over=f.text("over"),
        every_steps=f.whole("every_steps"),
        from_step=f.whole("from_step"),
        n_bytes=f.whole("n_bytes"),
        hash=f.text("hash"),
    )


def _level(f: Fields) -> Level:
    use = f.values.get("use", ron.Variant("Line"))
    if not isinstance(use, ron.Variant):
        raise f.fail("use", "a name")
    to_step = None if f.values.get("to_step") is None else f.whole("to_step")
    return Level(f.text("name"), f.real("value"), f.whole("from_step"), to_step, use.name)


def _set(f: Fields) -> SetInfo:
    texts = {name: f.text(name) for name in ("name", "ids", "table")}
    return SetInfo(
        **texts, len=f.whole("len", limit=U32), names=f.texts("names"), from_step=f.whole("from_step")
    )


def _checkpoint(f: Fields) -> CheckpointInfo:
    return CheckpointInfo(f.text("file"), f.whole("step"), f.whole("n_bytes"), f.text("hash"))


def _check(manifest: Manifest, path: Path) -> None:
    """Refuses names of files outside the folder, and sizes that exceed memory."""
    names = [(s.file, s.probe) for s in manifest.streams] + [
        (c.file, "a checkpoint") for c in manifest.checkpoints
    ]
    for name, of in names:
        if not is_plain_name(name):
            raise RunError(f"`{name}` of {of} is not a file name in the run folder", path)
    for stream in manifest.streams:
        if (stream.record_bytes or 0) > MAX_RECORD:
            raise RunError(f"{stream.probe} has {stream.width} values per record, which is too many", path)
        if stream.n_columns and stream.width % stream.n_columns:
            raise RunError(f"{stream.probe} has {stream.width} values in {stream.n_columns} columns", path)
    for info in manifest.sets:
        if info.len > MAX_ELEMENTS:
            raise RunError(f"{info.len} {info.name} are more than this package allows", path)
    if not (math.isfinite(manifest.secs_per_step) and manifest.secs_per_step >= 0.0):
        raise RunError(f"{manifest.secs_per_step} seconds per step", path)


def _matches(text: str) -> bool | None:
    """Whether a manifest matches the hash in its second line; `None` without a hash."""
    head, _, lines = text.partition("\n")
    if not lines.startswith("//") and _HASH_LINE.rstrip() not in head:
        return None
    if not lines.startswith(_HASH_LINE):
        return False
    named, _, rest = lines.removeprefix(_HASH_LINE).partition("\n")
    return named == xxh64([head.encode(), rest.encode()])
