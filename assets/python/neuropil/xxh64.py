"""XXH64, the hash of the files of a run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

try:
    import xxhash
except ImportError:
    xxhash = None

_MASK = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5

IS_FAST = xxhash is not None
"""Whether the package `xxhash` is installed. Without it, some 20 MB are hashed per second."""


def xxh64(parts: Iterable[bytes | memoryview]) -> str:
    """Returns the XXH64 with seed 0 of the concatenated parts, as 16 hexadecimal digits."""
    if xxhash is not None:
        state = xxhash.xxh64()
        for part in parts:
            state.update(part)
        return str(state.hexdigest())
    return f"{_python(parts):016x}"


def _rotate(x: int, n: int) -> int:
    return ((x << n) | (x >> (64 - n))) & _MASK


def _python(parts: Iterable[bytes | memoryview]) -> int:
    lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
    n_bytes, rest = 0, b""
    for part in parts:
        n_bytes += len(part)
        rest += bytes(part)
        n_whole = len(rest) // 32 * 32
        if n_whole:
            _consume(lanes, rest[:n_whole])
            rest = rest[n_whole:]
    return _finish(lanes, n_bytes, rest)


def _consume(lanes: list[int], stripes: bytes) -> None:
    words = np.frombuffer(stripes, "<u8").astype(np.uint64) * np.uint64(_P2)
    for k, column in enumerate(words.reshape(-1, 4).T.tolist()):
        lane = lanes[k]
        for word in column:
            lane = (lane + word) & _MASK
            lane = (((lane << 31) | (lane >> 33)) & _MASK) * _P1 & _MASK
        lanes[k] = lane


def _finish(lanes: list[int], n_bytes: int, rest: bytes) -> int:
    if n_bytes >= 32:
        hash_ = sum(_rotate(lane, n) for lane, n in zip(lanes, (1, 7, 12, 18))) & _MASK
        for lane in lanes:
            hash_ ^= _rotate(lane * _P2 & _MASK, 31) * _P1 & _MASK
            hash_ = (hash_ * _P1 + _P4) & _MASK
    else:
        hash_ = _P5
    hash_ = (hash_ + n_bytes) & _MASK
    while len(rest) >= 8:
        word = int.from_bytes(rest[:8], "little")
        hash_ ^= _rotate(word * _P2 & _MASK, 31) * _P1 & _MASK
        hash_ = (_rotate(hash_, 27) * _P1 + _P4) & _MASK
        rest = rest[8:]
    if len(rest) >= 4:
        hash_ ^= int.from_bytes(rest[:4], "little") * _P1 & _MASK
        hash_ = (_rotate(hash_, 23) * _P2 + _P3) & _MASK
        rest = rest[4:]
    for byte in rest:
        hash_ = _rotate(hash_ ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    hash_ = (hash_ ^ (hash_ >> 33)) * _P2 & _MASK
    hash_ = (hash_ ^ (hash_ >> 29)) * _P3 & _MASK
    return hash_ ^ (hash_ >> 32)
