"""The program: where it is, and calls of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from .errors import ProgramError

_NAME = "neuropil.exe" if os.name == "nt" else "neuropil"


def find_program() -> Path:
    """Returns the path of the program: that in the environment variable `NEUROPIL_BIN`, that in this package,
    or the first in `PATH` that is not the command of this package.

    Raises:
        ProgramError: there is none.
    """
    named = os.environ.get("NEUROPIL_BIN")
    if named:
        if not Path(named).is_file():
            raise ProgramError(f"NEUROPIL_BIN names no file: {named}")
        return Path(named)
    packaged = Path(__file__).parent / "bin" / _NAME
    if packaged.is_file():
        return packaged
    for folder in os.get_exec_path():
        found = shutil.which(_NAME, path=folder)
        if found and not _is_script(Path(found)):
            return Path(found)
    raise ProgramError("there is no program `neuropil` in this package or in PATH; NEUROPIL_BIN can name it")


def _is_script(path: Path) -> bool:
    """Whether a file is a script, such as the command of this package, which would call itself."""
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return True


def ask_json(arguments: Sequence[str], accepted: tuple[int, ...] = (0,)) -> Any:
    """Calls the program and returns its answer in JSON.

    Raises:
        ProgramError: the program is missing, or ended with an exit code that is not in `accepted`.
    """
    command = (str(find_program()), *arguments)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError as error:
        raise ProgramError(f"{command[0]}: {error.strerror}", command=command) from None
    if done.returncode not in accepted:
        raise ProgramError(done.stderr.strip() or f"exit code {done.returncode}", done.returncode, command)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        raise ProgramError(
            f"the answer is not JSON: {done.stdout[:200]!r}", done.returncode, command
        ) from None


@lru_cache(maxsize=16)
def declarations(kind: str) -> dict[str, str]:
    """Returns the units of the parameters of a kind by path; `N` stands for the number of an item.

    Raises:
        ProgramError: the program is missing, or knows no such kind.
    """
    return {p["path"]: p["unit"] for p in ask_json(["params", kind, "--json"])["parameters"]}


def main() -> None:
    """Replaces this process by the program: the command `neuropil` of the package."""
    try:
        program = find_program()
    except ProgramError as error:
        sys.exit(f"neuropil: {error}")
    arguments = [str(program), *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.call(arguments))
    os.execv(program, arguments)
