"""Streams of text: lineages, samples, tokens, links and logs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .errors import RunError
from .files import decoded, inside, parts_of
from .streams import Part, Stream

_REQUIRED: dict[str, dict[str, type]] = {
    "samples": {"step": int, "title": str, "text": str},
    "tokens": {"step": int, "texts": list},
    "links": {"step": int, "links": list},
    "lineage": {"step": int},
}


class Lines(Stream):
    """Records of a stream of samples of text, tokens or links."""

    def records(self) -> Iterator[dict[str, Any]]:
        """Yields the records in order, as dictionaries: `step` and

        - samples: `title`, `text`
        - tokens: `texts`, and where they exist `values` (`None`: no value), `names`, `categories` (indices
          into `names`), `candidates` (pairs of text and probability)
        - links: `links`, a list of dictionaries with `from`, `to` and `weight`

        Raises:
            RunError: a file is missing or damaged; with its line.
        """
        for part in self.parts:
            yield from _records(part)

    @property
    def strings(self) -> list[tuple[int, str]]:
        """Step and text of each sample, or step and joined text of each sequence of tokens. Raises as
        `records` does."""
        texts = (r["text"] if "text" in r else "".join(map(str, r.get("texts", []))) for r in self.records())
        return [(r["step"], text) for r, text in zip(self.records(), texts)]


@dataclass(frozen=True)
class Individual:
    """Individual of a lineage.

    Attributes:
        id: id, which is never reused.
        name: name; empty if it has none.
        slot: element that it occupies, which is reused; `None` without slots.
        parents: ids: none for a founder, one for a split, several for a merge.
        born: step of the birth.
        gone: step of the end; `None` if it was alive at the end of the run.
        end: `died`, `split` or `merged`; empty if it was alive.
        health: health at the end; `None` if it is not reported.
        attributes: declared attributes of birth and end, by name.
    """

    id: int
    name: str
    slot: int | None
    parents: tuple[int, ...]
    born: int
    gone: int | None = None
    end: str = ""
    health: float | None = None
    attributes: dict[str, float | str | None] = field(default_factory=dict)


class Lineage(Lines):
    """Births and ends of individuals."""

    def individuals(self) -> list[Individual]:
        """Returns every individual in the order of the births.

        Raises:
            RunError: a file is missing or damaged; with its line.
        """
        deaths = {event["gone"]: event for event in self.records() if "gone" in event}
        births = [event for event in self.records() if "child" in event]
        return [_individual(birth, deaths.get(birth["child"])) for birth in births]


class Log(Stream):
    """Log of a run, as text."""

    @property
    def text(self) -> str:
        """The whole text.

        Raises:
            RunError: a file is missing or damaged.
        """
        return "".join(_content(part).decode("utf-8", "replace") for part in self.parts)


def _content(part: Part) -> bytes:
    n_bytes = part.n_bytes()
    return b"".join(parts_of(inside(part.run.folder, part.info.file), n_bytes)) if n_bytes else b""


def _records(part: Part) -> Iterator[dict[str, Any]]:
    """Yields the records of a file without an incomplete last line."""
    path = inside(part.run.folder, part.info.file)
    lines = decoded(_content(part).rpartition(b"\n")[0], path).split("\n")
    required = _REQUIRED[part.info.shape]
    for number, line in enumerate(lines if lines != [""] else [], 1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RunError(f"not a record: {error}", path, number) from None
        is_whole = isinstance(record, dict) and all(isinstance(record.get(k), t) for k, t in required.items())
        if not is_whole or (part.info.shape == "lineage" and not _is_event(record)):
            raise RunError(f"not a record of {part.info.probe}", path, number)
        yield record


def _is_event(record: dict[str, Any]) -> bool:
    if not isinstance(record.get("attributes", {}), dict):
        return False
    if isinstance(record.get("gone"), int):
        return record.get("end") in ("died", "split", "merged")
    parents = record.get("parents")
    return (
        isinstance(record.get("child"), int)
        and isinstance(parents, list)
        and all(type(p) is int for p in parents)
    )


def _individual(birth: dict[str, Any], death: dict[str, Any] | None) -> Individual:
    attributes = dict(death.get("attributes") or {}) if death else {}
    attributes.update(birth.get("attributes") or {})
    return Individual(
        id=birth["child"],
        name=birth.get("name", ""),
        slot=birth.get("place", birth.get("slot")),
        parents=tuple(birth["parents"]),
        born=birth["step"] if birth.get("born") is None else birth["born"],
        gone=death["step"] if death else None,
        end=death["end"] if death else "",
        health=death.get("health") if death else None,
        attributes=attributes,
    )
