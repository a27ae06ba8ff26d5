"""The reader gives the numbers that the program exports, for a run of each kind and for runs of older
versions."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CAPSULE, KINDS, export

import neuropil

OLD = ["balanced-edits", "killed", "kuramoto", "leaky", "nuclei-edits", "trials"]


def assert_same(run: neuropil.Run, archive: Any) -> int:
    """Compares every array of an archive and returns the number of compared streams."""
    assert archive["time_unit"][0] == run.time_unit
    compared = 0
    if "spike_times" in archive:
        spikes = run.spikes
        np.testing.assert_array_equal(archive["spike_times"], spikes.times)
        np.testing.assert_array_equal(archive["spike_steps"], spikes.steps)
        np.testing.assert_array_equal(archive["spike_ids"], spikes.lanes)
        assert archive["n_lanes"] == spikes.n_lanes
        if run.n_trials:
            np.testing.assert_array_equal(archive["spike_trials"], spikes.trials)
        compared += 1
    for stream in run.streams.values():
        for part in stream.segments:
            name = Path(part.parts[0].info.file).stem + (f"_{part.run.trial}" if run.n_trials else "")
            compared += assert_stream(part, name, archive)
    return compared


def assert_stream(part: Any, name: str, archive: Any) -> int:
    if f"{name}_t" not in archive:
        return 0
    np.testing.assert_array_equal(archive[f"{name}_t"], part.times)
    if isinstance(part, neuropil.Spikes):
        np.testing.assert_array_equal(archive[f"{name}_lanes"], part.lanes)
        np.testing.assert_array_equal(archive[f"{name}_steps"], part.steps)
        return 1
    np.testing.assert_array_equal(archive[name], part.values)
    for key, own in {
        "rows": part.rows,
        "columns": part.columns,
        "lanes": part.lanes,
        "edges": part.edges,
    }.items():
        if f"{name}_{key}" in archive:
            assert list(archive[f"{name}_{key}"]) == list(own)
    if f"{name}_ids" in archive:
        np.testing.assert_array_equal(archive[f"{name}_ids"], part.ids)
    return 1


@pytest.mark.parametrize("kind", [*KINDS, "trials"])
def test_a_run_equals_its_export(
    kind: str, recorded: Callable[[str], Path], program: Path, tmp_path: Path
) -> None:
    folder = recorded(kind)
    run = neuropil.open(folder)
    assert run.status == "complete"
    with np.load(export(program, folder, "npz", tmp_path / "run.npz")) as archive:
        assert assert_same(run, archive) >= (1 if kind == "fly" else 2)


@pytest.mark.parametrize("name", OLD)
def test_an_old_run_equals_its_export(
    name: str, program: Path, tmp_path: Path, copied: Callable[[Path], Path]
) -> None:
    folder = copied(CAPSULE / name)
    run = neuropil.open(folder)
    assert run.status == ("not closed" if name == "killed" else "complete")
    with np.load(export(program, folder, "npz", tmp_path / "run.npz")) as archive:
        assert assert_same(run, archive) >= 3
    assert all(isinstance(edit.step, int) for edit in run.edits)
    assert run.parameters()


@pytest.mark.parametrize("kind", ["nuclei", "synaptic"])
def test_a_lineage_equals_its_export(
    kind: str, recorded: Callable[[str], Path], program: Path, tmp_path: Path
) -> None:
    folder = recorded(kind)
    export(program, folder, "csv", tmp_path / "run.csv")
    individuals = neuropil.open(folder).lineage.individuals()
    with (tmp_path / "run.lineage.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(individuals) > 0
    for row, own in zip(rows, individuals):
        assert (int(row["id"]), row["name"], int(row["born_step"])) == (own.id, own.name, own.born)
        assert row["gone_step"] == ("" if own.gone is None else str(own.gone))
        assert (row["end"], row["parents"]) == (own.end, " ".join(map(str, own.parents)))
        for name, value in own.attributes.items():
            assert (
                row[name] == value if isinstance(value, str) else np.float32(row[name]) == np.float32(value)
            )


def test_texts_tokens_and_links_equal_their_exports(
    recorded: Callable[[str], Path], program: Path, tmp_path: Path
) -> None:
    folder = recorded("synaptic")
    export(program, folder, "csv", tmp_path / "run.csv")
    tables = neuropil.open(folder).to_pandas()

    def rows(name: str) -> list[dict[str, str]]:
        with (tmp_path / f"run.{name}.csv").open(newline="") as file:
            return list(csv.DictReader(file))

    samples, tokens, links = rows("samples"), rows("routed"), rows("similarity")
    assert [row["text"] for row in samples] == list(tables["samples"]["text"]) != []
    assert [row["text"] for row in tokens] == list(tables["routed"]["text"]) != []
    assert [row["category"] for row in tokens] == list(tables["routed"]["category"])
    assert [int(row["to"]) for row in links] == list(tables["similarity"]["to"]) != []
    weights = [np.float32(row["weight"]) for row in links]
    np.testing.assert_array_equal(weights, tables["similarity"]["weight"].astype(np.float32))


@pytest.mark.parametrize("kind", ["transformer", "synaptic", "evolution"])
def test_weights_equal_their_export(
    kind: str, recorded: Callable[[str], Path], program: Path, tmp_path: Path
) -> None:
    folder = recorded(kind)
    data = export(program, folder, "safetensors", tmp_path / "w.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    head, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    head.pop("__metadata__")
    types = {"F32": "<f4", "F64": "<f8", "U64": "<u8", "U32": "<u4", "I32": "<i4", "U8": "u1", "I8": "i1"}
    run = neuropil.open(folder)
    checkpoint = run.checkpoint()
    assert set(head) == set(checkpoint)
    for name, entry in head.items():
        begin, end = entry["data_offsets"]
        np.testing.assert_array_equal(
            checkpoint[name], np.frombuffer(body[begin:end], types[entry["dtype"]]).reshape(entry["shape"])
        )
    n_weights = sum(array.size for array in run.weights().values())
    assert n_weights == run.manifest.n_parameters or kind == "synaptic"
