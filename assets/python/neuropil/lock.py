"""Lock file of a run folder, `run.lock`: how much of each stream is written while a run is not closed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from .errors import RunError
from .files import decoded, open_regular, read_bytes
from .xxh64 import xxh64

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

LOCK = "run.lock"
_LIMIT = 16 << 20


@dataclass
class Progress:
    """Amount of data that a run has written.

    Attributes:
        id: id of the run in the folder.
        process: id of the process that writes the run.
        step: last step of which the data are written; `None` before the recording begins.
        files: length of each stream's file, bytes.
    """

    id: str = ""
    process: int = 0
    step: int | None = None
    files: dict[str, int] = field(default_factory=dict)


def read_lock(folder: Path) -> Progress | None:
    """Reads the lock file; `None` if it is missing or incomplete."""
    path = folder / LOCK
    try:
        text = decoded(read_bytes(path, _LIMIT), path)
    except RunError:
        return None
    lines, mark, end = text.partition("\nend ")
    if not mark or end.split("\n", 1)[0] != xxh64([lines.encode(), b"\n"]):
        return None
    progress = Progress()
    try:
        first, second, *rest = lines.split("\n")
        progress.id = first.removeprefix("neuropil run ")
        progress.process = int(second.removeprefix("process "))
        for line in rest:
            name, _, number = line.rpartition(" ")
            if name == "step":
                progress.step = int(number)
            else:
                progress.files[name] = int(number)
    except ValueError:
        return None
    return progress


def is_locked(folder: Path) -> bool:
    """Whether a live process writes the run in this folder."""
    if fcntl is None:
        return False
    try:
        descriptor = open_regular(folder / LOCK)
    except RunError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
