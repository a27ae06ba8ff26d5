"""The RON reader accepts what the format says, and names the place of a mistake."""

from __future__ import annotations

from typing import Any

import pytest

from neuropil import ron
from neuropil.ron import Variant
from neuropil.xxh64 import _python, xxh64


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-1_000", -1000),
        ("0x1f", 31),
        ("0b101", 5),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("-1e-3", -0.001),
        ("-inf", float("-inf")),
        ("true", True),
        ("None", None),
        ("Some(Some(3))", 3),
        ("()", ()),
        ('("a", 2,)', ("a", 2)),
        ("[1, 2,]", [1, 2]),
        ('{"a": 1, "b": [ ]}', {"a": 1, "b": []}),
        (r'"a\n\u{e9}\x41\"\\"', 'a\né\x41"\\'),
        ('"two\nlines"', "two\nlines"),
        (r'r#"raw \ " "#', r'raw \ " '),
        ("'\\''", "'"),
        ("Complete", Variant("Complete")),
        ('Failed("why")', Variant("Failed", ("why",))),
        ("/* a /* nested */ */ 1 // end", 1),
        ("#![enable(implicit_some)]\n[1]", [1]),
    ],
)
def test_values(text: str, value: Any) -> None:
    read = ron.parse(text)
    assert read == value and type(read) is type(value)


def test_structs_keep_names_and_comments() -> None:
    read = ron.parse("Cuba(tau: 20.0, // ms\n  r#type: A(b: [1]), size: 3 // n\n)")
    assert (read.name, read["tau"], read["size"]) == ("Cuba", 20.0, 3)
    assert read["type"].name == "A" and read.comments == {"tau": "ms"}


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("(a: 1, a: 2)", 1, 8),
        ("(a: 1\nb: 2)", 2, 1),
        ("[1, 2", 1, 6),
        ('(a: "x', 1, 5),
        ("(a: 1) 2", 1, 8),
        ("[1,\n  0x]", 2, 3),
        ("1" * 100, 1, 1),
        ("12abc", 1, 1),
        (r'"\q"', 1, 2),
        (r'"\u{110000}"', 1, 2),
        ("/* no end", 1, 1),
        ("{1 2}", 1, 4),
        ("{[1]: 2}", 1, 2),
        ("[" * 200, 1, 129),
        ("Some(1, 2)", 1, 5),
        ("1e_", 1, 1),
    ],
)
def test_mistakes_have_a_place(text: str, line: int, column: int) -> None:
    with pytest.raises(ron.RonError) as raised:
        ron.parse(text)
    assert (raised.value.line, raised.value.column) == (line, column), raised.value


def test_hash_is_xxh64() -> None:
    # https://github.com/Cyan4973/xxHash, seed 0
    assert xxh64([]) == "ef46db3751d8e999"
    assert xxh64([b"a", b"bc"]) == "44bc2cf5ad770999"
    text = bytes(range(256)) * 5 + b"tail of it"
    whole = _python([text])
    for cut in (0, 1, 31, 32, 33, 64, 700, len(text)):
        assert _python([text[:cut], text[cut:]]) == whole
