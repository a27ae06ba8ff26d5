"""Access to the files of a run folder: plain names and regular files only, because a run may come from
elsewhere."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from .errors import RunError

MAX_TEXT = 1 << 28
"""Maximum size of a text file, bytes."""
_PART = 1 << 20


def is_plain_name(name: str) -> bool:
    """Whether a name denotes a file directly in a folder."""
    return name not in ("", ".", "..") and not any(c in name for c in "/\\\0")


def inside(folder: Path, name: str) -> Path:
    """Returns the path of a file in a run folder.

    Raises:
        RunError: the name is not that of a file directly in the folder.
    """
    if not is_plain_name(name):
        raise RunError(f"`{name}` is not a file name in the run folder", folder)
    return folder / name


def size_of(path: Path) -> int | None:
    """Returns the size of a regular file in bytes; `None` if there is no such file."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def open_regular(path: Path) -> int:
    """Opens a regular file for reading and returns its descriptor. Links, pipes and devices are not followed.

    Raises:
        RunError: the file is missing, unreadable or not regular.
    """
    flags = (
        os.O_RDONLY
        | getattr(os, "O_NOFOLLOW", 0)
        | getattr(os, "O_NONBLOCK", 0)
        | getattr(os, "O_CLOEXEC", 0)
    )
    try:
        descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except OSError as error:
        what = "it is not a regular file" if error.errno == errno.ELOOP else error.strerror or str(error)
        raise RunError("it is missing" if error.errno == errno.ENOENT else what, path) from None
    except ValueError as error:
        raise RunError(str(error), path) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise RunError("it is not a regular file", path)
    return descriptor


def parts_of(path: Path, n_bytes: int | None = None) -> Iterator[bytes]:
    """Yields the content of a file, or its first `n_bytes` bytes, in parts of 1 MiB.

    Raises:
        RunError: the file cannot be read.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        left = n_bytes
        while left is None or left > 0:
            try:
                part = file.read(_PART if left is None else min(_PART, left))
            except OSError as error:
                raise RunError(error.strerror or str(error), path) from None
            if not part:
                return
            left = None if left is None else left - len(part)
            yield part


def read_bytes(path: Path, limit: int = MAX_TEXT) -> bytes:
    """Reads a whole file.

    Raises:
        RunError: the file cannot be read, or has more than `limit` bytes.
    """
    data = b"".join(parts_of(path, limit + 1))
    if len(data) > limit:
        raise RunError(f"it is larger than {limit} bytes", path)
    return data


def decoded(data: bytes, path: Path) -> str:
    """Decodes UTF-8.

    Raises:
        RunError: the bytes are not UTF-8; with the position.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise RunError("it is not a text in UTF-8", path, line, column) from None
