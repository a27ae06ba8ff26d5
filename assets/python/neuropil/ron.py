"""Reader of RON, the format of the text files in a run folder.

Values become Python objects: booleans, numbers, strings, lists, dictionaries (maps), tuples, `None`.
`Some(x)` becomes `x`. A struct becomes a `Struct`, and a variant with or without values a `Variant`.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

MAX_DEPTH = 128
"""Maximum nesting of values."""
MAX_DIGITS = 60
"""Maximum number of characters of a number."""

_SPACE = re.compile(r"(?:[ \t\r\n\f\v\u0085\u200e\u200f\u2028\u2029]+|//[^\n]*)+")
_NAME = re.compile(r"(?:r#)?([A-Za-z_][A-Za-z0-9_]*)")
_FIELD = re.compile(r"(?:r#)?([A-Za-z_][A-Za-z0-9_]*)\s*:")
_NUMBER = re.compile(
    r"[+-]?(?:0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+|inf|NaN"
    r"|(?:[0-9][0-9_]*)?\.[0-9][0-9_]*(?:[eE][+-]?[0-9_]+)?|[0-9][0-9_]*\.?(?:[eE][+-]?[0-9_]+)?)"
)
_RAW = re.compile(r'r(#*)"')
_PLAIN = re.compile(r'[^"\\]*')
_ESCAPE = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|(.))", re.S)
_CHAR = re.compile(r"'(?:([^'\\])|(\\(?:u\{[0-9A-Fa-f]{1,6}\}|x[0-9A-Fa-f]{2}|.)))'", re.S)
_COMMENT = re.compile(r"[ \t]*//[ \t]*([^\n]*)")
_EXTENSIONS = re.compile(r"#!\[enable\([A-Za-z_,\s]*\)\]")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "\\": "\\", '"': '"', "'": "'"}
_CONSTANTS = {"true": True, "false": False, "None": None}


class RonError(ValueError):
    """The text is not valid RON; `line` and `column` are counted from 1."""

    def __init__(self, what: str, line: int, column: int) -> None:
        self.what, self.line, self.column = what, line, column
        super().__init__(f"{line}:{column}: {what}")


class Struct(dict[str, Any]):
    """Fields of a struct by name.

    Attributes:
        name: name before the parenthesis; empty without one.
        comments: comments after the fields on their lines, by field.
    """

    __slots__ = ("comments", "name")

    def __init__(self, name: str = "") -> None:
        super().__init__()
        self.name = name
        self.comments: dict[str, str] = {}


class Variant:
    """A name with its values: `Complete`, `Failed("why")`.

    Attributes:
        name: the name.
        values: the values in parentheses; empty without them.
    """

    __slots__ = ("name", "values")

    def __init__(self, name: str, values: tuple[Any, ...] = ()) -> None:
        self.name, self.values = name, values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variant) and (self.name, self.values) == (other.name, other.values)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.values))})" if self.values else self.name


def parse(text: str) -> Any:
    """Parses a text that holds one value.

    Raises:
        RonError: the text is not valid RON, or nested more than `MAX_DEPTH` times.
    """
    return _Parser(text.removeprefix("\ufeff")).document()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0

    def document(self) -> Any:
        self.skip_space()
        while found := _EXTENSIONS.match(self.text, self.at):
            self.at = found.end()
            self.skip_space()
        value = self.value()
        self.skip_space()
        if self.at < len(self.text):
            self.fail("nothing is expected after the value")
        return value

    def fail(self, what: str, at: int | None = None) -> NoReturn:
        at = self.at if at is None else at
        line = self.text.count("\n", 0, at) + 1
        raise RonError(what, line, at - (self.text.rfind("\n", 0, at) + 1) + 1)

    def skip_space(self) -> None:
        while True:
            if found := _SPACE.match(self.text, self.at):
                self.at = found.end()
            if not self.text.startswith("/*", self.at):
                return
            self.skip_block_comment()

    def skip_block_comment(self) -> None:
        start, depth = self.at, 0
        while True:
            opened, closed = self.text.find("/*", self.at), self.text.find("*/", self.at)
            if closed < 0:
                self.fail("a comment without end", start)
            if 0 <= opened < closed:
                depth, self.at = depth + 1, opened + 2
            else:
                depth, self.at = depth - 1, closed + 2
            if depth == 0:
                return

    def takes(self, token: str) -> bool:
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def value(self) -> Any:
        char = self.text[self.at : self.at + 1]
        if char in "([{" and char:
            self.depth += 1
            if self.depth > MAX_DEPTH:
                self.fail(f"values are nested more than {MAX_DEPTH} times")
            value = self.parenthesis("") if char == "(" else self.list() if char == "[" else self.map()
            self.depth -= 1
            return value
        if char == '"':
            return self.string()
        if char == "'":
            return self.char()
        if found := _RAW.match(self.text, self.at):
            return self.raw_string(found)
        if (found := _NUMBER.match(self.text, self.at)) and not found[0].isalpha():
            return self.number(found)
        if found := _NAME.match(self.text, self.at):
            return self.named(found)
        self.fail("a value is expected" if char else "the text ends where a value is expected")

    def number(self, found: re.Match[str]) -> int | float:
        digits, start = found[0].replace("_", ""), self.at
        self.at = found.end()
        if len(digits) > MAX_DIGITS:
            self.fail("a number with too many digits", start)
        if _NAME.match(self.text, self.at):
            self.fail("a number is followed by a letter", start)
        try:
            if digits.lstrip("+-")[:2].lower() in ("0x", "0o", "0b"):
                return int(digits, 0)
            is_whole = digits.lstrip("+-").isdigit()
            return int(digits) if is_whole else float(digits)
        except ValueError:
            self.fail("not a number", start)

    def named(self, found: re.Match[str]) -> Any:
        name = found[1]
        self.at = found.end()
        if name in _CONSTANTS and not found[0].startswith("r#"):
            return _CONSTANTS[name]
        if name in ("inf", "NaN"):
            return float(name)
        after = self.at
        self.skip_space()
        if not self.text.startswith("(", self.at):
            self.at = after
            return Variant(name)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"values are nested more than {MAX_DEPTH} times")
        value = self.parenthesis(name)
        self.depth -= 1
        if isinstance(value, Struct):
            return value
        if name == "Some":
            if len(value) != 1:
                self.fail("`Some` has one value", after)
            return value[0]
        return Variant(name, value)

    def parenthesis(self, name: str) -> Struct | tuple[Any, ...]:
        self.at += 1
        self.skip_space()
        return self.fields(name) if _FIELD.match(self.text, self.at) else tuple(self.items(")"))

    def fields(self, name: str) -> Struct:
        struct = Struct(name)
        while not self.takes(")"):
            found = _FIELD.match(self.text, self.at)
            if not found:
                self.fail("the name of a field or `)` is expected")
            field = found[1]
            if field in struct:
                self.fail(f"the field `{field}` is there twice")
            self.at = found.end()
            self.skip_space()
            struct[field] = self.value()
            comment = self.separator(")")
            if comment:
                struct.comments[field] = comment
        return struct

    def items(self, end: str) -> list[Any]:
        items = []
        self.skip_space()
        while not self.takes(end):
            items.append(self.value())
            self.separator(end)
        return items

    def list(self) -> list[Any]:
        self.at += 1
        return self.items("]")

    def map(self) -> dict[Any, Any]:
        self.at += 1
        entries: dict[Any, Any] = {}
        self.skip_space()
        while not self.takes("}"):
            start = self.at
            key = self.value()
            if not isinstance(key, (str, int, float, bool, Variant)):
                self.fail("the key of a map is a number, a string or a name", start)
            self.skip_space()
            if not self.takes(":"):
                self.fail("`:` is expected after the key of a map")
            self.skip_space()
            if key in entries:
                self.fail(f"the key {key!r} is there twice", start)
            entries[key] = self.value()
            self.separator("}")
        return entries

    def separator(self, end: str) -> str:
        """Skips the comma after a value and returns the comment after it on the same line."""
        self.skip_space()
        if not self.takes(","):
            if not self.text.startswith(end, self.at):
                self.fail(f"`,` or `{end}` is expected")
            return ""
        comment = _COMMENT.match(self.text, self.at)
        self.skip_space()
        return comment[1].strip() if comment else ""

    def string(self) -> str:
        start, parts = self.at, []
        self.at += 1
        while True:
            found = _PLAIN.match(self.text, self.at)
            assert found
            parts.append(found[0])
            self.at = found.end()
            if self.takes('"'):
                return "".join(parts)
            if self.at >= len(self.text):
                self.fail("a string without end", start)
            parts.append(self.escape(self.at))

    def escape(self, at: int) -> str:
        found = _ESCAPE.match(self.text, at)
        code = found and (found[1] or found[2])
        if found and code:
            number = int(code, 16)
            if number <= 0x10FFFF and not 0xD800 <= number < 0xE000:
                self.at = found.end()
                return chr(number)
        elif found and found[3] in _ESCAPED:
            self.at = found.end()
            return _ESCAPED[found[3]]
        self.fail("an unknown escape sequence", at)

    def raw_string(self, found: re.Match[str]) -> str:
        start, mark = found.end(), '"' + found[1]
        end = self.text.find(mark, start)
        if end < 0:
            self.fail("a string without end")
        self.at = end + len(mark)
        return self.text[start:end]

    def char(self) -> str:
        found = _CHAR.match(self.text, self.at)
        if not found:
            self.fail("a character in quotes is expected")
        text = found[1] or self.escape(self.at + 1)
        self.at = found.end()
        return text
