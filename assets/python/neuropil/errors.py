"""Exceptions of this package."""

from __future__ import annotations

from pathlib import Path


class NeuropilError(Exception):
    """Base of all exceptions of this package."""


class RunError(NeuropilError):
    """A file of a run is missing, damaged or of a newer version.

    Attributes:
        file: path of the file; `None` if the error concerns no single file.
        line: line in a text file, from 1; 0 if the error has no position.
        column: column in that line, from 1; 0 if the error has no position.
        what: what is wrong, without the place.
    """

    def __init__(self, what: str, file: Path | None = None, line: int = 0, column: int = 0) -> None:
        self.what, self.file, self.line, self.column = what, file, line, column
        place = "" if file is None else f"{file}"
        if line:
            place += f":{line}" + (f":{column}" if column else "")
        super().__init__(f"{place}: {what}" if place else what)


class ProgramError(NeuropilError):
    """The program ended with an error.

    Attributes:
        code: exit code: 1 error, 2 usage, 3 cancelled, 4 no usable GPU or a GPU that failed; negative: number
            of the signal that ended the program; `None` if the program could not be started.
        text: what the program wrote about the error.
        command: command line.
    """

    def __init__(self, text: str, code: int | None = None, command: tuple[str, ...] = ()) -> None:
        self.text, self.code, self.command = text, code, command
        super().__init__(text)


class Cancelled(ProgramError):
    """The program was cancelled before there was a run to read."""
