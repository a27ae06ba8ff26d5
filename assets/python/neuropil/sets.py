"""Element sets of a run: the neurons, nuclei or experts that its data refer to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import schema, verify
from .errors import RunError
from .files import inside, read_bytes, size_of
from .manifest import SetInfo

if TYPE_CHECKING:
    from .reader import Run


@dataclass(frozen=True)
class ElementSet:
    """Set of elements.

    Attributes:
        name: name of the set.
        len: number of elements.
        ids: public ids, uint64, shape (len); `None` if the elements have none.
        names: names of the elements; empty if they have none, or in the first version of a set with more than
            1,024.
        positions: positions in µm, float32, shape (len, 3), of a later version of a set; else `None`.
        columns: category of each element by column, shape (len), of a later version of a set.
        from_step: step after which this version of the set holds; 0 for the first.
    """

    name: str
    len: int
    ids: NDArray[np.uint64] | None
    names: list[str]
    positions: NDArray[np.float32] | None
    columns: dict[str, NDArray[np.str_]]
    from_step: int


def read_set(run: Run, info: SetInfo) -> ElementSet:
    """Reads the ids and the table of a set.

    Raises:
        RunError: a file is missing or damaged.
    """
    names, positions, columns = info.names, None, {}
    if info.table:
        table = _table(run, info)
        names = table.texts("names") or names
        rows = table.values.get("positions", [])
        positions = _positions(rows, info.len)
        columns = {c.text("name"): _column(c, info.len) for c in table.structs("columns")}
    return ElementSet(info.name, info.len, _ids(run, info), names, positions, columns, info.from_step)


def _ids(run: Run, info: SetInfo) -> NDArray[np.uint64] | None:
    if not info.ids:
        return None
    # The trials of a series share the ids of the series.
    shared = info.ids.removeprefix("../../")
    folder = run.folder if shared == info.ids else run.folder / ".." / ".."
    path = inside(folder, shared)
    owner = run if shared == info.ids else run.parent
    size = size_of(path)
    if size != info.len * 8:
        raise RunError(
            f"{info.len} ids expected, {'no file' if size is None else f'{size} bytes'} found", path
        )
    if owner is not None:
        verify.verify_file(owner, path, shared)
    return np.frombuffer(read_bytes(path), "<u8")


def _table(run: Run, info: SetInfo) -> schema.Fields:
    path = inside(run.folder, info.table)
    verify.verify_file(run, path, info.table)
    return schema.Fields(schema.read(path), path)


def _positions(rows: Any, n: int) -> NDArray[np.float32] | None:
    def is_point(row: Any) -> bool:
        return isinstance(row, tuple) and len(row) == 3 and all(isinstance(x, (int, float)) for x in row)

    is_whole = isinstance(rows, list) and len(rows) == n and all(map(is_point, rows))
    return np.array(rows, np.float32) if is_whole and rows else None


def _column(column: schema.Fields, n: int) -> NDArray[np.str_]:
    labels, codes = column.texts("labels"), column.wholes("codes")
    if len(codes) != n or any(code >= len(labels) for code in codes):
        raise column.fail("codes", f"a list of {n} categories")
    return np.array(labels, np.str_)[codes] if codes else np.empty(0, np.str_)
