"""Verification of the files of a run: lengths and hashes in its manifest, and valid parts of a run that is
not closed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import xxh64
from .errors import NeuropilError, RunError
from .files import inside, open_regular, parts_of, size_of
from .manifest import StreamInfo

if TYPE_CHECKING:
    from .reader import Run

COMMANDS, TIMINGS = "commands.ron", "timings.csv"
_BY_PROGRAM = 16 << 20
"""Size from which the program hashes a file, if it is there and `xxhash` is not, bytes."""
_TAIL = 256 << 10
"""Bytes at the end of a file that are searched for its last valid record."""
_PLAUSIBLE_GAP, _PLAUSIBLE_RATIO = 1 << 20, 1000
"""Maximum plausible gap between two records, steps, and its maximum ratio to the largest earlier gap."""


def expected(run: Run, name: str) -> tuple[int, str] | None:
    """Returns length and hash of a file in the manifest; `None` if it has no valid hash."""
    manifest = run.manifest
    streams = [] if run.is_open else [(s.file, s.n_bytes, s.hash) for s in manifest.streams]
    files = [(f.name, f.n_bytes, f.hash) for f in manifest.files]
    for known, n_bytes, hash_ in streams + files:
        is_growing = run.is_open and known in (COMMANDS, TIMINGS)
        if known == name and hash_ and not is_growing:
            return n_bytes, hash_
    return None


def verify_file(run: Run, path: Path, name: str) -> None:
    """Compares a file with its length and hash in the manifest of a run, once.

    Raises:
        RunError: the file is missing, or differs from what was recorded.
    """
    known = expected(run, name)
    if not run.verify or known is None or name in run.verified:
        return
    n_bytes, hash_ = known
    size = size_of(path)
    if size is None:
        raise RunError("it is missing, or not a regular file", path)
    if size != n_bytes:
        raise RunError(f"it is damaged: {n_bytes} bytes were written, it has {size}", path)
    if (
        n_bytes > _BY_PROGRAM
        and not xxh64.IS_FAST
        and (finding := _finding_of_program(run, name)) is not None
    ):
        if finding:
            raise RunError(f"it is damaged: {finding}", path)
    elif xxh64.xxh64(parts_of(path)) != hash_:
        raise RunError("it is damaged: its hash differs from what was recorded", path)
    run.verified.add(name)


def _finding_of_program(run: Run, name: str) -> str | None:
    """Returns what the program says about a damaged file, empty for an intact one; `None` without a
    program."""
    from .program import ask_json

    if run.findings is None:
        run.findings = {}
        try:
            answer: Any = ask_json(["check", str(run.folder), "--json"], accepted=(0, 1))
            run.findings = {f["file"]: f["finding"] if f["damaged"] else "" for f in answer["files"]}
        except (NeuropilError, LookupError, TypeError, json.JSONDecodeError):
            pass
    return run.findings.get(name)


def extent(run: Run, stream: StreamInfo) -> int:
    """Returns the number of valid bytes in the file of a stream, in whole records. Records the last step of a
    run without a lock file in its manifest.

    Raises:
        RunError: the file is unreadable, or missing in a closed run.
    """
    path = inside(run.folder, stream.file)
    size, record = size_of(path), stream.record_bytes or 1
    if run.is_open and run.progress is not None:
        return min(run.progress.files.get(stream.file, 0), size or 0) // record * record
    if run.is_open:
        n_valid, last = _recover(run, stream, path, size or 0)
        end = None if last is None else last + (stream.shape == "spikes")
        run.manifest.last_step = max(run.manifest.last_step, end or 0)
        return n_valid
    if size is None:
        raise RunError("it is missing, or not a regular file", path)
    return (min(size, stream.n_bytes) if stream.hash else size) // record * record


def _recover(run: Run, stream: StreamInfo, path: Path, size: int) -> tuple[int, int | None]:
    """Returns the number of valid bytes in a stream without a lock file, and the step of its last record.
    Records are valid if they are whole and their steps neither decrease nor jump. Only the end of the file is
    read."""
    record = stream.record_bytes
    if record is None or size < record:
        return (size if record is None else 0), None
    is_spikes, first = stream.shape == "spikes", run.manifest.first_step
    with open(open_regular(path), "rb") as file:
        rows = np.memmap(file, np.uint8, "r", shape=(size // record, record))
    n_records = _before_zeros(rows)
    n_tail = min(n_records, max(_TAIL // record, 2))
    start = n_records - n_tail
    heads = np.ascontiguousarray(rows[start:n_records, :8])
    n_lanes = next((s.len for s in run.manifest.sets if s.name == stream.over), 0)
    last, gap, n_valid = None, 0, 0
    for step, lane in _heads(heads, is_spikes, first):
        since = step - (first if last is None else last)
        if since < 0 or (last is not None and since > max(gap * _PLAUSIBLE_RATIO, _PLAUSIBLE_GAP)):
            break
        if n_lanes and lane >= n_lanes:
            break
        gap = gap if last is None else max(gap, since)
        last, n_valid = step, n_valid + 1
    return (start + n_valid) * record, last


def _heads(heads: np.ndarray, is_spikes: bool, first: int) -> list[tuple[int, int]]:
    if not is_spikes:
        return [(step, 0) for step in heads.view("<u8")[:, 0].tolist()]
    return [(first + ((step - first) & 0xFFFFFFFF), lane) for step, lane in heads.view("<u4").tolist()]


def _before_zeros(rows: np.ndarray) -> int:
    """Returns the number of records before zeros at the end of a file, which a file system may leave after a
    power loss. Only the first record can begin with 8 zero bytes, so binary search finds the boundary."""
    n_records = len(rows)
    if n_records < 2 or rows[-1, :8].any():
        return n_records
    written, zeros = 1, n_records - 1
    while written < zeros:
        middle = (written + zeros) // 2
        if rows[middle, :8].any():
            written = middle + 1
        else:
            zeros = middle
    return written
