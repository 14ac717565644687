"""What the emitted helper that takes rank 0's values makes of tensors of one element."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

torch = pytest.importorskip("torch")
helper = importlib.import_module("transpile.rules.pytorch.emitted.numbers")


@pytest.mark.parametrize(
    "drawn",
    [torch.tensor([3]), torch.tensor(2.5), torch.tensor([[True]]), torch.arange(4)],
    ids=["one", "scalar", "mask", "several"],
)
def test_tensors_stay_tensors_of_their_shape(monkeypatch: Any, drawn: Any) -> None:
    def send(values: list[Any]) -> None:
        """Hand out what rank 0 has: here to itself."""

    monkeypatch.setattr(helper, "get_world_size", lambda: 2)
    monkeypatch.setattr(helper.dist, "broadcast_object_list", send)
    found = helper.from_main_process(drawn)
    assert torch.is_tensor(found) and found.shape == drawn.shape and found.dtype == drawn.dtype
    assert torch.equal(found, drawn)


def test_what_is_trained_is_handed_out_without_its_graph(monkeypatch: Any) -> None:
    monkeypatch.setattr(helper, "get_world_size", lambda: 2)
    monkeypatch.setattr(helper.dist, "broadcast_object_list", lambda values: None)
    loss = (torch.ones(1, requires_grad=True) * 2).sum()
    assert not helper.from_main_process(loss).requires_grad


@pytest.mark.parametrize(("own", "drawn"), [(False, torch.tensor(True)), (torch.tensor(0), 3)])
def test_what_is_a_tensor_on_one_rank_alone(monkeypatch: Any, own: Any, drawn: Any) -> None:
    """What ``and`` gives is either of its operands."""

    def send(values: list[Any]) -> None:
        values[:] = [drawn]

    monkeypatch.setattr(helper, "get_world_size", lambda: 2)
    monkeypatch.setattr(helper.dist, "broadcast_object_list", send)
    assert helper.from_main_process(own) == drawn
