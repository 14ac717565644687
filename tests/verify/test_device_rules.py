"""The rules of the stand-in for GPUs are those that a real GPU was seen to keep."""

from __future__ import annotations

import json
import re

import pytest
from device_rules import FOLDER, RULES, outcomes

#: What an H200 did with PyTorch 2.11, CUDA 13.0 and NCCL 2.28.
SEEN: dict[str, list[str]] = json.loads((FOLDER / "device_rules.json").read_text())
#: Where the stand-in does something else, with the reason.
NOT_IMITATED = {
    "a device of a number": "the class of devices is PyTorch's own",
    "an out of range label": "asserts of kernels are errors of the CPU's operations",
    "an index out of range": "asserts of kernels are errors of the CPU's operations",
    "too much memory": "memory is that of the CPU",
    "in a group: gather into one of another size": "Gloo refuses it in words of its own",
    "in a group: gather into one of another type": "Gloo refuses it in words of its own",
    "in a group: fully sharded": "parameters that are sharded are gathered as tensors of the CPU",
    "in a group: fully sharded from the CPU": "what is sharded stays where it is",
}


def compared(found: list[str]) -> list[str]:
    """What is compared of an outcome: a value, or the class of an exception."""
    return [found[0], re.sub(r"-0\.0\b", "0.0", found[1])]


def differing(found: dict[str, list[str]]) -> dict[str, tuple[list[str], list[str]]]:
    """The outcomes that are not those that were seen."""
    return {
        name: (SEEN[name], said)
        for name, said in found.items()
        if compared(said) != compared(SEEN[name])
    }


def test_what_comes_of_every_snippet_was_seen() -> None:
    assert list(SEEN) == list(RULES)


@pytest.mark.slow
def test_the_stand_in_does_what_a_gpu_does() -> None:
    wrong = differing(outcomes(list(RULES), 2, pretended=True))
    assert {name: said for name, said in wrong.items() if name not in NOT_IMITATED} == {}
    assert set(NOT_IMITATED) <= set(wrong), "these are imitated by now"


@pytest.mark.slow
def test_a_real_gpu_still_does_it() -> None:
    import torch

    if not torch.cuda.device_count():
        pytest.skip("CUDA sees no GPU on this machine")
    assert differing(outcomes(list(RULES), 8, pretended=False)) == {}
