"""Runs projects with the program."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from .errors import Cancelled, ProgramError, RunError
from .lock import read_lock
from .manifest import read_manifest
from .program import find_program
from .reader import MANIFEST, PROJECT, Run
from .reader import open as open_run
from .schema import read

CANCELLED = 3
"""Exit code of a cancelled program."""
_POLL_S = 0.1
_PERCENT = re.compile(r"^\s*(\d+) %\s+(.*)")


@dataclass(frozen=True)
class Progress:
    """Progress of a run.

    Attributes:
        fraction: completed part, 0 to 1; `None` while it is unknown.
        step: last recorded step; `None` before the first and in trials.
        text: what the program said last.
    """

    fraction: float | None
    step: int | None
    text: str


def run(
    project: str | os.PathLike[str],
    parameters: Mapping[str, Any] | None = None,
    trials: int | None = None,
    seed: int | None = None,
    device: str = "auto",
    duration: str | float | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
    *,
    probes: Iterable[str] = (),
    threads: int | None = None,
    cancel: threading.Event | None = None,
    allow_outside: bool = False,
) -> Run:
    """Runs a project, records it and returns the run.

    Args:
        project: project file.
        parameters: changed parameters by path: `{"lif.tau_m": "15ms", "network.n_neurons": 200}`. A number is
            in the unit of the parameter; a string may have another unit.
        trials: number of trials, with the same network and different draws; `Run.trials` has them.
        seed: seed of random draws; trial k takes seed + k.
        device: `auto`, `cpu`, `cuda`, or `cuda:1` for the second GPU.
        duration: simulated time with a unit, `200ms`, or a number of steps, `400generations`; a number
            without a unit is in ms, or in steps for a kind that counts them. By default that of the project.
        out: folder of the run: new, empty, or an old run, which is replaced. By default the next number in
            `runs/`.
        progress: called with the progress several times per second, in the calling thread.
        probes: further probes to record, `attention:layer=2,head=1`.
        threads: number of CPU threads.
        cancel: event that ends the run; what was recorded until then is returned.
        allow_outside: whether a project from another folder may name files outside its folder.

    Raises:
        ProgramError: the program is missing, refused the project or failed; with what it said.
        Cancelled: `cancel` was set before anything was recorded.
        KeyboardInterrupt: after an interrupt; the run is closed and can be opened.
        RunError: the recorded run cannot be read.
    """
    command = [str(find_program()), "run", os.fspath(project), "--json", "--device", device]
    for path, value in (parameters or {}).items():
        command += ["--set", f"{path}={_text(value)}"]
    for probe in probes:
        command += ["--probe", probe]
    given = {"--trials": trials, "--seed": seed, "--duration": duration, "--threads": threads}
    for option, argument in given.items():
        command += [] if argument is None else [option, str(argument)]
    command += [] if out is None else ["--out", os.fspath(out)]
    command += ["--allow-outside"] if allow_outside else []
    call = _Call(command, None if out is None else Path(out), progress)
    code = call.wait(cancel)
    folder = call.folder()
    if code in (CANCELLED, -signal.SIGINT) and cancel is not None and cancel.is_set():
        if folder is None or not (folder / MANIFEST).is_file():
            raise Cancelled(call.said(), code, tuple(command))
        return open_run(folder)
    if code != 0 or folder is None:
        raise ProgramError(call.said() or f"the program ended with exit code {code}", code, tuple(command))
    return open_run(folder)


def _text(value: Any) -> str:
    """Formats a value of a parameter for the command line."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, np.generic):
        return _text(value.item())
    if isinstance(value, (list, tuple, np.ndarray)):
        return f"[{', '.join(_text(item) for item in value)}]"
    return str(value)


class _Call:
    """Running program; its output is read by two threads."""

    def __init__(
        self, command: list[str], out: Path | None, progress: Callable[[Progress], None] | None
    ) -> None:
        self.out, self.progress = out, progress
        self.answer, self.lines = [""], list[str]()
        self.planned: int | None = None
        try:
            # A session of its own, because a second interrupt, from the terminal, would abort the program.
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise ProgramError(f"{command[0]}: {error.strerror}", command=tuple(command)) from None
        readers = [(self.process.stdout, self._read_answer), (self.process.stderr, self._read_lines)]
        self.threads = [threading.Thread(target=read, args=(file,), daemon=True) for file, read in readers]
        for thread in self.threads:
            thread.start()

    def _read_answer(self, file: IO[str]) -> None:
        self.answer[0] = file.read()

    def _read_lines(self, file: IO[str]) -> None:
        self.lines.extend(line.rstrip("\n") for line in iter(file.readline, ""))

    def wait(self, cancel: threading.Event | None) -> int:
        """Waits for the end and returns the exit code. An interrupt closes the run, a second one aborts
        it."""
        try:
            while self.process.poll() is None:
                if cancel is not None and cancel.wait(_POLL_S):
                    self._interrupt()
                    break
                if cancel is None:
                    self._wait_for(_POLL_S)
                self._report()
            code = self.process.wait()
        except BaseException:
            self._interrupt()
            try:
                self.process.wait()
            except KeyboardInterrupt:
                self._interrupt()
                self.process.wait()
                raise
            raise
        finally:
            for thread in self.threads:
                thread.join()
        return code

    def _wait_for(self, secs: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(secs)

    def _interrupt(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT if os.name != "nt" else signal.SIGTERM)

    def _report(self) -> None:
        if self.progress is None:
            return
        last = _PERCENT.match(self.lines[-1]) if self.lines else None
        fraction, text = (
            (int(last[1]) / 100.0, last[2]) if last else (None, self.lines[-1] if self.lines else "")
        )
        step = self._step()
        if step is not None and self.planned:
            fraction = min(step / self.planned, 1.0)
        self.progress(Progress(fraction, step, text))

    def _step(self) -> int | None:
        """Returns the last recorded step, from the lock file of the run."""
        if self.out is None:
            return None
        written = read_lock(self.out)
        if written is None or written.process != self.process.pid or written.step is None:
            return None
        if self.planned is None:
            self.planned = _planned_steps(self.out)
        return written.step

    def folder(self) -> Path | None:
        """Returns the folder of the run; `None` if the program did not name one."""
        try:
            return Path(json.loads(self.answer[0])["out"])
        except (ValueError, LookupError, TypeError):
            return self.out

    def said(self) -> str:
        """Returns what the program said, without its progress."""
        return "\n".join(line for line in self.lines if line.strip() and not _PERCENT.match(line))


def _planned_steps(folder: Path) -> int:
    """Returns the number of steps that a run will have; 0 if it is unknown."""
    try:
        manifest, settings = read_manifest(folder / MANIFEST), read(folder / PROJECT)["run"]
        if manifest.counted:
            return int(settings["steps"])
        return int(round(settings["duration_ms"] * 1e-3 / manifest.secs_per_step))
    except (RunError, LookupError, TypeError, ValueError, ZeroDivisionError):
        return 0


__all__ = ["Progress", "run"]
