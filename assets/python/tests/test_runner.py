"""Runs projects from Python: progress, cancel, interrupts, errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import PROJECTS

import neuropil

BALANCED = PROJECTS / "balanced.ron"


def test_parameters_seed_and_probes_reach_the_program(program: Path, tmp_path: Path) -> None:
    parameters = {"network.n_neurons": np.int64(100), "network.in_degree": 10, "lif.tau_m": "15ms"}
    run = neuropil.run(
        BALANCED, parameters, seed=5, device="cpu", duration="20ms", out=tmp_path / "r", probes=["v_field"]
    )
    assert (run.seed, run.last_step, run.status) == (5, 200, "complete")
    assert run.parameters()["lif.tau_m"].value == 15.0
    assert run["v_field"].values.shape[1] == 100
    assert np.allclose(run.time(run.last_step), 0.02)


def test_the_same_seed_gives_the_same_bits(program: Path, tmp_path: Path) -> None:
    runs = [
        neuropil.run(BALANCED, seed=3, device="cpu", duration="20ms", out=tmp_path / name) for name in "ab"
    ]
    assert runs[0].hash == runs[1].hash
    np.testing.assert_array_equal(runs[0].spikes.events, runs[1].spikes.events)


def test_runs_have_numbers_by_default(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs = [neuropil.run(BALANCED, {"lif.w_syn": w}, duration="5ms", device="cpu") for w in (0.2, 0.3)]
    assert [run.folder.name[:4] for run in runs] == ["0001", "0002"]
    assert [run.name for run in neuropil.open_runs("runs")] == [runs[0].name] * 2
    assert neuropil.conditions(neuropil.open_runs("runs")) == {"lif.w_syn": [0.2, 0.3]}


def test_trials_are_an_axis(recorded: Callable[[str], Path]) -> None:
    run = neuropil.open(recorded("trials"))
    assert [trial.seed for trial in run.trials] == [run.seed, run.seed + 1, run.seed + 2]
    values = run["rate"].values
    assert values.shape == (3, len(run["rate"].steps), 1)
    for k, trial in enumerate(run.trials):
        np.testing.assert_array_equal(values[k], trial["rate"].values)
        np.testing.assert_array_equal(run.spikes.times[run.spikes.trials == k], trial.spikes.times)


def test_errors_have_the_text_of_the_program(program: Path, tmp_path: Path) -> None:
    with pytest.raises(
        neuropil.ProgramError, match="there is no parameter `lif.tau`; did you mean `lif.tau_m`"
    ) as e:
        neuropil.run(BALANCED, {"lif.tau": 1}, out=tmp_path / "r", device="cpu")
    assert e.value.code == 2 and "--set" in e.value.command
    with pytest.raises(neuropil.ProgramError, match="no such project file"):
        neuropil.run(tmp_path / "none.ron", out=tmp_path / "r")


def test_a_missing_program_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NEUROPIL_BIN", str(tmp_path / "none"))
    with pytest.raises(neuropil.ProgramError, match="NEUROPIL_BIN names no file"):
        neuropil.run(BALANCED)


def test_cancel_ends_a_run_that_stays_readable(program: Path, tmp_path: Path) -> None:
    cancel, seen = threading.Event(), list[neuropil.Progress]()

    def progress(now: neuropil.Progress) -> None:
        seen.append(now)
        if now.step:
            cancel.set()

    run = neuropil.run(
        BALANCED, duration="1000s", device="cpu", out=tmp_path / "r", progress=progress, cancel=cancel
    )
    assert run.status == "interrupted" and run.last_step >= (seen[-1].step or 0) > 0
    assert seen[-1].fraction is not None and 0.0 < seen[-1].fraction < 1.0
    assert len(run.spikes.times) > 0


def test_a_run_is_readable_while_it_is_written(program: Path, tmp_path: Path) -> None:
    cancel, live = threading.Event(), list[tuple[str, int, int]]()

    def progress(now: neuropil.Progress) -> None:
        if now.step:
            run = neuropil.open(tmp_path / "r")
            live.append((run.status, run.last_step, len(run.spikes.times)))
            cancel.set()

    neuropil.run(
        BALANCED, duration="1000s", device="cpu", out=tmp_path / "r", progress=progress, cancel=cancel
    )
    assert live[0][0] == "running" and live[0][1] > 0


def test_cancel_before_the_run_begins(program: Path, tmp_path: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(neuropil.Cancelled):
        neuropil.run(PROJECTS / "fly.ron", device="cpu", out=tmp_path / "r", cancel=cancel)


def test_an_interrupt_closes_the_run(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    code = (
        "import neuropil, sys\n"
        f"try: neuropil.run({str(BALANCED)!r}, duration='1000s', device='cpu', out={str(out)!r})\n"
        f"except KeyboardInterrupt: print(neuropil.open({str(out)!r}).status)\n"
    )
    path = os.pathsep.join([str(Path(neuropil.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
    for _ in range(600):
        time.sleep(0.05)
        if (out / "spikes.u32").exists() and (out / "spikes.u32").stat().st_size > 0:
            break
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0].strip() == "interrupted"


def test_the_command_is_the_program(program: Path) -> None:
    path = os.pathsep.join([str(Path(neuropil.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "NEUROPIL_BIN": str(program)}
    command = [sys.executable, "-m", "neuropil", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.startswith("neuropil ")
