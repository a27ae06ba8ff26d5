"""Checkpoints: the state of a simulation at a step, in named sections."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import ron, schema
from .errors import RunError
from .files import decoded, open_regular, size_of
from .manifest import CheckpointInfo
from .xxh64 import xxh64

_HEAD, _END, _TRAILER = b"NEUROPIL CHECKPOINT 1\n", b"NPCKPEND", 32
_FORMAT = 1
_MAX_DIRECTORY = 1 << 28
_BF16 = "Bf16"
_TYPES = {
    "U8": "u1",
    "I8": "i1",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "F16": "<f2",
    _BF16: "<u2",
    "F32": "<f4",
    "F64": "<f8",
}


@dataclass(frozen=True)
class Section:
    """Entry of a section: name, element type, shape, offset in the file in bytes, and XXH64."""

    name: str
    element: str
    shape: tuple[int, ...]
    offset: int
    hash: str


class Checkpoint(Mapping[str, NDArray[Any]]):
    """State of a simulation: a mapping of section names to arrays, which are memory-mapped.

    Sections of type bfloat16 are converted to float32, because NumPy has no such type.

    Attributes:
        path: path of the file.
        step: step of the state.
        model: model of the state.
        sections: entries of the sections, by name.
    """

    def __init__(self, path: Path, step: int, model: str, sections: dict[str, Section], verify: bool) -> None:
        self.path, self.step, self.model, self.sections = path, step, model, sections
        self._verify, self._verified = verify, set[str]()

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Returns the array of a section.

        Raises:
            KeyError: there is no such section.
            RunError: the section is damaged.
        """
        section = self.sections[name]
        dtype = np.dtype(_TYPES[section.element])
        if math.prod(section.shape) == 0:
            array: NDArray[Any] = np.empty(section.shape, dtype)
        else:
            with open(open_regular(self.path), "rb") as file:
                array = np.memmap(file, dtype, "r", section.offset, section.shape)
        if self._verify and name not in self._verified:
            if xxh64([array.tobytes()]) != section.hash:
                raise RunError(f"section `{name}` is damaged", self.path)
            self._verified.add(name)
        if section.element == _BF16:
            return (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self.sections)

    def __len__(self) -> int:
        return len(self.sections)

    def __repr__(self) -> str:
        return f"<Checkpoint {self.path}: step {self.step}, {len(self)} sections>"


def weights_of(checkpoint: Checkpoint) -> dict[str, NDArray[Any]]:
    """Returns the sections of weights: parameters of a language model, without moments of its optimiser, and
    weights of plastic projections."""
    names = list(checkpoint.sections)
    plastic = [name for name in names if name.startswith("plasticity.") and name.endswith(".weights")]
    if not plastic:
        names = [name for name in names if _is_weight(checkpoint.sections[name])]
    return {name: checkpoint[name] for name in plastic or names}


def _is_weight(section: Section) -> bool:
    if "/" in section.name or "F" not in section.element.upper():
        return False
    return len(section.shape) >= 2 or section.name.endswith((".weight", ".bias", "_bias"))


def read_checkpoint(path: Path, info: CheckpointInfo, verify: bool) -> Checkpoint:
    """Reads the directory of a checkpoint.

    Raises:
        RunError: the file is missing, damaged or of a newer version.
    """
    size = size_of(path)
    if size is None:
        raise RunError("it is missing, or not a regular file", path)
    if verify and info.n_bytes and size != info.n_bytes:
        raise RunError(f"it is damaged: {info.n_bytes} bytes were written, it has {size}", path)
    start, text = _directory(path, size, info.hash if verify else "")
    fields = schema.Fields(schema.parse(text, path), path)
    if fields.whole("format") > _FORMAT:
        raise RunError("it was written by a newer version", path)
    sections = {}
    for entry in fields.structs("sections"):
        section = _section(entry)
        n_bytes = math.prod(section.shape) * np.dtype(_TYPES[section.element]).itemsize
        if section.offset + n_bytes > start:
            raise RunError(f"section `{section.name}` is outside the file", path)
        sections[section.name] = section
    return Checkpoint(path, fields.whole("step"), fields.text("model"), sections, verify)


def _directory(path: Path, size: int, hash_: str) -> tuple[int, str]:
    """Returns offset and text of the directory."""
    with open(open_regular(path), "rb") as file:
        head = file.read(len(_HEAD))
        if size < len(_HEAD) + _TRAILER:
            raise RunError("it is not complete", path)
        file.seek(-_TRAILER, os.SEEK_END)
        trailer = file.read(_TRAILER)
        if trailer[-len(_END) :] != _END:
            raise RunError("it is not complete", path)
        if head != _HEAD:
            raise RunError("it is not a checkpoint, or of a newer version", path)
        start, n, named = (int.from_bytes(trailer[i : i + 8], "little") for i in (0, 8, 16))
        if n > _MAX_DIRECTORY or start + n > size - _TRAILER:
            raise RunError("its directory is damaged", path)
        file.seek(start)
        data = file.read(n)
    found = xxh64([data])
    if found != f"{named:016x}" or (hash_ and found != hash_):
        raise RunError("its directory is damaged", path)
    return start, decoded(data, path)


def _section(entry: schema.Fields) -> Section:
    element = entry.values.get("element")
    if not isinstance(element, ron.Variant) or element.name not in _TYPES:
        raise entry.fail("element", "a type of this version")
    shape = tuple(entry.wholes("shape"))
    if math.prod(max(n, 1) for n in shape) >= 1 << 48 or len(shape) > 32:
        raise entry.fail("shape", "a shape that fits in a file")
    return Section(entry.text("name"), element.name, shape, entry.whole("offset"), entry.text("hash"))
