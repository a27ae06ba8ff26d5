"""Tables and arrays of other packages have the numbers of the reader."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import CAPSULE, PROJECTS

import neuropil

BALANCED = PROJECTS / "balanced.ron"
SMALL = {"network.n_neurons": 200, "network.in_degree": 20}


def test_only_numpy_is_imported() -> None:
    code = "import sys, neuropil; print(sorted({'pandas', 'xarray', 'neo', 'quantities'} & set(sys.modules)))"
    folder = str(Path(neuropil.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("package", ["pandas", "xarray", "neo"])
def test_a_missing_package_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for module in ("to_pandas", "to_xarray", "to_neo"):
        monkeypatch.delitem(sys.modules, f"neuropil.{module}", raising=False)
    run = neuropil.open(CAPSULE / "leaky")
    with pytest.raises(ImportError, match=f"to_{package} needs {package}: pip install {package}"):
        getattr(run, f"to_{package}")()


def test_pandas(recorded: Callable[[str], Path]) -> None:
    pytest.importorskip("pandas")
    run = neuropil.open(CAPSULE / "balanced-edits")
    tables = run.to_pandas()
    assert list(tables["spikes"].columns) == ["time", "step", "lane"]
    assert list(tables["v"].columns) == [3, 12, 55] and tables["v"].shape == run["v"].values.shape
    assert list(tables["class_rates"].columns) == run["class_rates"].lanes
    trials = neuropil.open(recorded("trials")).to_pandas()
    assert trials["rate"].index.names == ["trial", "time"] and "trial" in trials["spikes"]
    lineage = neuropil.open(recorded("nuclei")).to_pandas()["lineage"]
    assert lineage.index.name == "id" and lineage["gone"].isna().any()


def test_xarray(recorded: Callable[[str], Path]) -> None:
    pytest.importorskip("xarray")
    run = neuropil.open(recorded("trials"))
    data = run.to_xarray()
    assert data["rate"].dims == ("trial", "rate_time", "rate_lane")
    rate = run["rate"].to_xarray()
    np.testing.assert_array_equal(rate.sel(trial=1).values, run.trials[1]["rate"].values)
    assert rate.attrs["units"] == "Hz"
    run = neuropil.open(recorded("transformer"))
    matrix = run["attention"].segments[0].to_xarray()
    assert matrix.dims == ("time", "row", "column")
    assert len(run.to_xarray()) >= 5


def test_conditions_are_axes(program: Path, tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    for tau, seed in [(15.0, 2), (20.0, 1), (15.0, 1), (20.0, 2)]:
        out = tmp_path / f"{tau}-{seed}"
        parameters = {**SMALL, "lif.tau_m": tau}
        neuropil.run(BALANCED, parameters, seed=seed, device="cpu", duration="30ms", out=out)
    runs = neuropil.open_runs(tmp_path)
    rates = neuropil.stack(runs, "rate")
    assert rates.dims == ("lif.tau_m", "seed", "time", "lane") and rates.shape[:2] == (2, 2)
    own = neuropil.open(tmp_path / "20.0-1")["rate"].values
    np.testing.assert_array_equal(rates.sel({"lif.tau_m": 20.0, "seed": 1}).values, own)
    part = neuropil.stack(runs[:3], "rate")
    assert part.dims == ("run", "time", "lane") and list(part.coords["seed"]) == [1, 2, 1]


def test_neo(recorded: Callable[[str], Path]) -> None:
    pytest.importorskip("neo")
    run = neuropil.open(CAPSULE / "balanced-edits")
    block = run.to_neo()
    (segment,) = block.segments
    assert sum(len(train) for train in segment.spiketrains) == len(run.spikes.times)
    train = segment.spiketrains[0]
    own = run.spikes.times[run.spikes.lanes == train.annotations["lane"]]
    np.testing.assert_array_equal(train.magnitude, own)
    signal = next(s for s in segment.analogsignals if s.name == "v")
    np.testing.assert_allclose(signal.magnitude, run["v"].values)
    assert str(signal.units.dimensionality) == "mV" and len(segment.events[0]) == len(run.edits)
    assert len(neuropil.open(recorded("trials")).to_neo().segments) == 3
    with pytest.raises(ValueError, match="generations"):
        neuropil.open(recorded("nuclei")).to_neo()
