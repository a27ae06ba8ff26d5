"""Damaged runs raise `RunError` or give what was recorded; nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CAPSULE

import neuropil

N_VARIANTS = 200
KINDS = ["spiking", "nuclei", "transformer", "synaptic", "trials"]


def everything(folder: Path) -> dict[str, Any]:
    """Reads all data of a run, comparable by value. Parts that cannot be read are `None`."""

    def attempt(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except neuropil.RunError as error:
            assert error.what and error.file is not None
            return None

    found: dict[str, Any] = {}
    run = attempt(lambda: neuropil.open(folder))
    if run is None:
        return found
    found["manifest"] = (run.name, run.status, run.first_step, run.last_step, run.secs_per_step, run.totals)
    found["parameters"] = attempt(run.parameters)
    found["edits"] = attempt(lambda: run.edits)
    if run.manifest.checkpoints:
        weights = attempt(run.weights)
        found["checkpoint"] = weights and {name: array.tobytes() for name, array in weights.items()}
    streams = attempt(lambda: run.streams)
    for name, stream in (streams or {}).items():
        for i, part in enumerate(stream.segments):
            found[f"{name} {i} {part.run.trial}"] = attempt(lambda part=part: content(part))
    return found


def content(part: Any) -> Any:
    if isinstance(part, neuropil.Spikes):
        return part.times.tolist(), part.lanes.tolist(), part.ids.tolist()
    if isinstance(part, neuropil.Rows):
        return part.steps.tolist(), np.asarray(part.values).tobytes(), part.to_pandas().shape
    if isinstance(part, neuropil.Lineage):
        return part.individuals()
    return part.text if isinstance(part, neuropil.Log) else list(part.records())


def damage(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    how = draw.choice(["cut", "flip", "flip", "byte", "zeros", "append", "remove", "insert"])
    at = draw.randrange(max(len(data), 1))
    if how == "remove":
        path.unlink()
        return
    if how == "cut":
        del data[at:]
    elif how == "append" or not data:
        data += draw.randbytes(draw.randrange(1, 40))
    elif how == "flip":
        data[at] ^= 1 << draw.randrange(8)
    elif how == "byte":
        data[at] = draw.randrange(256)
    elif how == "zeros":
        data[at : at + 16] = bytes(len(data[at : at + 16]))
    else:
        data[at:at] = draw.randbytes(draw.randrange(1, 9))
    path.write_bytes(data)


def test_damaged_closed_runs(recorded: Callable[[str], Path], copied: Callable[[Path], Path]) -> None:
    draw, n_found, n_intact = random.Random(7), 0, 0
    whole = {kind: everything(recorded(kind)) for kind in KINDS}
    assert all(
        None not in of.values() or kind in ("spiking", "nuclei", "trials") for kind, of in whole.items()
    )
    for i in range(N_VARIANTS):
        kind = KINDS[i % len(KINDS)]
        folder = copied(recorded(kind))
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        changed = draw.choice(files)
        damage(changed, draw)
        read = everything(folder)
        for key, value in read.items():
            assert value is None or value == whole[kind][key], (i, kind, changed.name, key)
        n_intact += read == whole[kind]
        n_found += read != whole[kind]
    assert n_found > N_VARIANTS // 2 and n_intact > 0, (n_found, n_intact)


def test_damaged_runs_without_hashes(copied: Callable[[Path], Path], killed: Path) -> None:
    """Runs of older versions and runs that are not closed have no hashes: wrong numbers are possible, other
    errors not."""
    draw = random.Random(11)
    sources = [CAPSULE / name for name in ("killed", "nuclei-edits", "balanced-edits", "trials")] + [killed]
    for i in range(N_VARIANTS):
        folder = copied(sources[i % len(sources)])
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        damage(draw.choice(files), draw)
        everything(folder)


def test_a_killed_run_is_read_up_to_its_lock_file(killed: Path, copied: Callable[[Path], Path]) -> None:
    run = neuropil.open(killed)
    assert run.status == "not closed" and run.last_step > 1000
    n_spikes, steps = len(run.spikes.times), run.spikes.steps
    assert n_spikes > 0 and steps.max() < run.last_step
    folder = copied(killed)
    (folder / "run.lock").unlink()
    with (folder / "spikes.u32").open("ab") as file:
        file.write(bytes(1000))
    again = neuropil.open(folder)
    assert len(again.spikes.times) >= n_spikes and again.last_step >= run.last_step - 1
    np.testing.assert_array_equal(again.spikes.steps[:n_spikes], steps)


def test_errors_say_file_and_place(recorded: Callable[[str], Path], copied: Callable[[Path], Path]) -> None:
    folder = copied(recorded("spiking"))
    with pytest.raises(neuropil.RunError, match="it is not a run: it has no run.ron"):
        neuropil.open(folder.parent)
    spikes = folder / "spikes.u32"
    data = spikes.read_bytes()
    spikes.write_bytes(data[:-3])
    with pytest.raises(
        neuropil.RunError, match=rf"spikes\.u32: it is damaged: {len(data)} bytes were written"
    ):
        _ = neuropil.open(folder).spikes.times
    assert len(neuropil.open(folder, verify=False).spikes.times) == len(data) // 8 - 1
    spikes.unlink()
    with pytest.raises(neuropil.RunError, match=r"spikes\.u32: it is missing"):
        _ = neuropil.open(folder).spikes.times
    spikes.symlink_to("/etc/passwd")
    with pytest.raises(neuropil.RunError, match="not a regular file"):
        _ = neuropil.open(folder).spikes.times
    manifest = folder / "run.ron"
    text = manifest.read_text()
    manifest.write_text(text.replace("    seed: 1,", "    seed: -1,"))
    with pytest.raises(neuropil.RunError, match=r"run\.ron: seed is not a whole number"):
        neuropil.open(folder)
    manifest.write_text(text.replace("    seed: 1,", "    seed: 1;"))
    with pytest.raises(neuropil.RunError, match=r"run\.ron:\d+:12: `,` or `\)` is expected"):
        neuropil.open(folder)
    manifest.write_text(text.replace("    seed: 1,", "    seed: 2,"))
    with pytest.raises(neuropil.RunError, match="its hash differs"):
        neuropil.open(folder)
    manifest.write_text(text.replace("spikes.u32", "../spikes.u32"))
    with pytest.raises(neuropil.RunError, match="is not a file name in the run folder"):
        neuropil.open(folder)
    manifest.write_text("(" * 5000)
    with pytest.raises(neuropil.RunError, match="nested more than 128 times"):
        neuropil.open(folder)
