"""What differs between the run of one process and that of several."""

from __future__ import annotations

import io
import math
import pickle
import re
from collections.abc import Iterator, Sequence
from typing import Any

from .processes import Job

RELATIVE = 1e-6
ABSOLUTE = 1e-8
#: How a tensor was computed is printed beside its value.
_GRAPH = re.compile(r", grad_fn=<\w+>")
_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")


def differences(expected: Job, found: Job) -> Iterator[str]:
    """What is not as in one process: steps, parameters, words, files."""
    one = expected.ranks[0]
    for rank, other in enumerate(found.ranks):
        if other.steps != one.steps:
            yield f"steps: {one.steps} in one process, {other.steps} on rank {rank}"
            return
    for rank, other in enumerate(found.ranks):
        gap = distance(one.parameters, other.parameters)
        if gap > 1:
            yield f"parameters of rank {rank} differ ({gap:.1e} of what is allowed)"
            break
    said = text_difference(one.output, found.ranks[0].output)
    if said:
        yield f"output: {said}"
    for rank, other in enumerate(found.ranks[1:], 1):
        if other.output.strip():
            yield f"output: rank {rank} prints {other.output.strip().splitlines()[0]!r}"
            break
    yield from file_differences(expected, found)


def disagreements(found: Job) -> Iterator[str]:
    """What differs between the ranks of one job."""
    first = found.ranks[0]
    for rank, other in enumerate(found.ranks[1:], 1):
        if other.steps != first.steps:
            yield f"steps: {first.steps} on rank 0, {other.steps} on rank {rank}"
        elif distance(first.parameters, other.parameters) > 1:
            yield f"parameters of ranks 0 and {rank} differ"


def file_differences(expected: Job, found: Job) -> Iterator[str]:
    """Files that are missing, too many, or not the same."""
    if set(expected.files) != set(found.files):
        yield f"files: {sorted(expected.files)} in one process, {sorted(found.files)} in several"
        return
    for name, data in expected.files.items():
        if data == found.files[name]:
            continue
        if name.endswith((".pt", ".pth", ".npy", ".pkl")):
            if distance(_loaded(data), _loaded(found.files[name])) > 1:
                yield f"file {name}: the values differ"
        else:
            said = text_difference(
                *(each.decode(errors="replace") for each in (data, found.files[name]))
            )
            if said:
                yield f"file {name}: {said}"


def _loaded(data: bytes) -> Any:
    import numpy
    import torch

    if data.startswith(b"\x93NUMPY"):
        return _plain(numpy.load(io.BytesIO(data), allow_pickle=True))
    if data.startswith(b"PK"):
        return _plain(torch.load(io.BytesIO(data), map_location="cpu", weights_only=False))
    return _plain(pickle.loads(data))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(own) for key, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(own) for own in value]
    return value


def distance(one: Any, other: Any) -> float:
    """How far apart two nested values are, as a multiple of what is allowed."""
    if isinstance(one, dict) and isinstance(other, dict):
        if list(one) != list(other):
            return math.inf
        return max((distance(one[key], other[key]) for key in one), default=0.0)
    if isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str):
        if len(one) != len(other):
            return math.inf
        return max(map(distance, one, other), default=0.0)
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return number_distance(float(one), float(other))
    return 0.0 if one == other else math.inf


def number_distance(one: float, other: float) -> float:
    """How far apart two numbers are, as a multiple of what is allowed."""
    if one == other or (math.isnan(one) and math.isnan(other)):
        return 0.0
    gap = abs(one - other)
    return (
        gap / (ABSOLUTE + RELATIVE * max(abs(one), abs(other))) if math.isfinite(gap) else math.inf
    )


def text_difference(one: str, other: str) -> str:
    """The first line that differs, numbers being compared as numbers; empty if there is none."""
    lines, others = (_GRAPH.sub("", text).splitlines() for text in (one, other))
    for number in range(max(len(lines), len(others))):
        first = lines[number] if number < len(lines) else "nothing"
        second = others[number] if number < len(others) else "nothing"
        if first != second and not _same(first, second):
            return f"{first!r} in one process, {second!r} in several"
    return ""


def _same(one: str, other: str) -> bool:
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    for first, second in zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True):
        digits = len(first.partition(".")[2]) if "e" not in first.lower() else 12
        rounding = 1.01 * 10.0**-digits if 0 < digits < 9 else 0.0
        if abs(float(first) - float(second)) > rounding and not (
            number_distance(float(first), float(second)) <= 1
        ):
            return False
    return True
