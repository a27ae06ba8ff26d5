"""Small recorded runs, one of each kind, made once per session with the program (`NEUROPIL_BIN`, or the one
in PATH)."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import neuropil
from neuropil.lock import read_lock

ROOT = Path(__file__).parents[3]
PROJECTS = ROOT / "projects"
CAPSULE = ROOT / "tests" / "golden" / "capsule_2026_11" / "runs"

LANGUAGE = {"measure.every": 1, "measure.held_out_every": 2, "measure.sample_every": 2, "measure.length": 8}
SMALL = {**LANGUAGE, "model.width": 32, "model.context": 16}
MATRIX = "attention:layer=1,head=1"
KINDS: dict[str, tuple[str, dict[str, Any], str, list[str]]] = {
    "spiking": (
        "balanced",
        {"network.n_neurons": 200, "network.in_degree": 20},
        "100ms",
        ["rate_field", "v[3, 12]"],
    ),
    "fly": ("fly", {}, "20ms", []),
    "nuclei": ("nuclei", {}, "40generations", ["births", "deaths", "phase", "entropy"]),
    "transformer": (
        "nano",
        {**SMALL, "model.heads": 2, "model.layers": 2},
        "4steps",
        [MATRIX, "weights", "tokens", "tensor_rms"],
    ),
    "synaptic": ("synaptic-nano", SMALL, "4steps", [MATRIX, "routed", "similarity", "load"]),
    "evolution": (
        "evolution-nano",
        {**LANGUAGE, "strategy.population": 64},
        "4steps",
        ["unrounded", "tokens"],
    ),
}


@pytest.fixture(scope="session")
def program() -> Path:
    """The program; the tests that need it are skipped without one."""
    try:
        return neuropil.find_program()
    except neuropil.ProgramError as error:
        pytest.skip(f"SKIPPED: {error}")


@pytest.fixture(scope="session")
def recorded(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Returns the folder of the run of a kind, or of three trials (`trials`)."""
    folders: dict[str, Path] = {}

    def of(kind: str) -> Path:
        if kind not in folders:
            name, parameters, duration, probes = KINDS["spiking" if kind == "trials" else kind]
            out = tmp_path_factory.mktemp("runs") / kind
            trials = 3 if kind == "trials" else None
            neuropil.run(
                PROJECTS / f"{name}.ron",
                parameters,
                trials,
                device="cpu",
                duration=duration,
                out=out,
                probes=probes,
                threads=1,
                allow_outside=True,
            )
            folders[kind] = out
        return folders[kind]

    return of


@pytest.fixture(scope="session")
def killed(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was killed while it was recorded."""
    out = tmp_path_factory.mktemp("killed") / "run"
    command = [str(program), "run", str(PROJECTS / "balanced.ron"), "--duration", "1000s", "--device", "cpu"]
    child = subprocess.Popen([*command, "--out", str(out)], stderr=subprocess.DEVNULL)
    for _ in range(600):
        time.sleep(0.05)
        progress = read_lock(out)
        if progress is not None and (progress.step or 0) > 1000:
            break
    child.kill()
    child.wait()
    return out


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Path], Path]:
    """Returns a copy of a folder that a test may damage."""

    def of(folder: Path) -> Path:
        to = tmp_path / folder.name
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(folder, to)
        return to

    return of


def export(program: Path, run: Path, format: str, out: Path) -> Path:
    """Writes a run with the program."""
    command = [str(program), "export", str(run), "--format", format, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out
