"""Tables of pandas."""

from __future__ import annotations

from typing import Any

from .lines import Lineage, Lines, Log
from .streams import Rows, Spikes, Stream

try:
    import pandas
except ImportError as error:
    raise ImportError("to_pandas needs pandas: pip install pandas") from error


def frame(stream: Stream) -> pandas.DataFrame:
    """Returns the data of a stream as a table; see `Stream.to_pandas`."""
    if isinstance(stream, Spikes):
        return _events(stream)
    if isinstance(stream, Rows):
        return _rows(stream)
    if isinstance(stream, Lineage):
        return _lineage(stream)
    if isinstance(stream, Lines):
        return _lines(stream)
    assert isinstance(stream, Log)
    return pandas.DataFrame({"text": stream.text.splitlines()})


def _events(stream: Spikes) -> pandas.DataFrame:
    """Columns `time`, `step`, `lane`; `id` if the elements have ids, `trial` in a series of trials."""
    table: dict[str, Any] = {"time": stream.times, "step": stream.steps, "lane": stream.lanes}
    if stream.run.element_set(stream.over).ids is not None:
        table["id"] = stream.ids
    if stream.run.n_trials:
        table["trial"] = stream.trials
    return pandas.DataFrame(table)


def lane_names(stream: Rows) -> list[Any]:
    """Returns the names of the values of a sample: bins, cells of a matrix, declared names, elements, the
    probe, or numbers."""
    info = stream.parts[0].info
    n = info.width
    if len(info.edges) == n + 1:
        return [f"{low:g} to {high:g}" for low, high in zip(info.edges, info.edges[1:])]
    if info.n_columns:
        rows, columns = axis_names(stream.rows, n // info.n_columns), axis_names(
            stream.columns, info.n_columns
        )
        return [f"{row}:{column}" for row in rows for column in columns]
    if len(info.lanes) == n:
        return list(info.lanes)
    if len(info.elements) == n:
        return list(info.elements)
    return [info.probe] if n == 1 else list(range(n))


def axis_names(names: list[str], n: int) -> list[Any]:
    """Returns the names along an axis of length `n`, or numbers if there are other names than that."""
    return list(names) if len(names) == n else list(range(n))


def _rows(stream: Rows) -> pandas.DataFrame:
    """A row per sample, with its time as index; in a series of trials, with trial and time."""
    values, names = stream.values, lane_names(stream)
    times = pandas.Index(stream.times, name="time")
    if not stream.run.n_trials:
        return pandas.DataFrame(values.reshape(len(times), len(names)), times, names)
    numbers = list(dict.fromkeys(part.run.trial for part in stream.parts))
    tables = [pandas.DataFrame(own.reshape(len(times), len(names)), times, names) for own in values]
    return pandas.concat(tables, keys=numbers, names=["trial"])


def _lineage(stream: Lineage) -> pandas.DataFrame:
    """A row per individual, with its id as index and its attributes as columns."""
    rows = []
    for individual in stream.individuals():
        row = {name: value for name, value in vars(individual).items() if name != "attributes"}
        rows.append({**row, **individual.attributes})
    columns = ["id", "name", "slot", "parents", "born", "gone", "end", "health"]
    table = pandas.DataFrame(rows) if rows else pandas.DataFrame(columns=columns)
    table[["slot", "gone"]] = table[["slot", "gone"]].astype("Int64")
    return table.set_index("id")


def _lines(stream: Lines) -> pandas.DataFrame:
    """A row per text, token or link."""
    if stream.shape == "samples":
        return pandas.DataFrame(stream.records(), columns=["step", "title", "text"])
    if stream.shape == "links":
        links = [{"step": record["step"], **link} for record in stream.records() for link in record["links"]]
        return pandas.DataFrame(links, columns=["step", "from", "to", "weight"])
    rows = []
    for record in stream.records():
        values, categories, names = (record.get(key, []) for key in ("values", "categories", "names"))
        for i, text in enumerate(record["texts"]):
            category = names[categories[i]] if i < len(categories) and categories[i] < len(names) else ""
            value = values[i] if i < len(values) else None
            rows.append(
                {"step": record["step"], "position": i, "text": text, "value": value, "category": category}
            )
    return pandas.DataFrame(rows, columns=["step", "position", "text", "value", "category"])
