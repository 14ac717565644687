"""Scripts whose classes are noted down by decorators and made by their names in a configuration."""

from __future__ import annotations

from data_way import convert

SCRIPT = """\
import json

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

REGISTRY = {}


def register(name):
    def put(cls):
        REGISTRY[name] = cls
        return cls

    return put


@register("checkpoint")
class Checkpoint:
    def on_epoch_end(self, solver):
        torch.save(solver.model.state_dict(), "last.pt")


@register("stopping")
class Stopping:
    def on_epoch_end(self, solver):
        if solver.loss < 0.1:
            solver.should_stop = True


class Solver:
    def __init__(self, names):
        x = torch.randn(36, 3)
        self.loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=12)
        self.model = nn.Linear(3, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.should_stop = False
        self.callbacks = [REGISTRY[name]() for name in names]

    def trigger(self, hook):
        for callback in self.callbacks:
            getattr(callback, hook)(self)

    def train(self):
        for epoch in range(3):
            for x, y in self.loader:
                loss = nn.functional.mse_loss(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.loss = loss.item()
            self.trigger("on_epoch_end")
            if self.should_stop:
                break


Solver(json.load(open("callbacks.json"))).train()
"""


def test_what_a_registered_class_does_is_seen() -> None:
    text = convert(SCRIPT.encode()).text
    assert "torch.save(unwrap(solver.model).state_dict()" in text
    assert "self.loss = reduce_mean(loss).item()" in text
    assert "if is_main_process():\n            torch.save" in text


def test_a_function_that_is_noted_down_is_called() -> None:
    text = convert(
        SCRIPT.replace("[REGISTRY[name]() for name in names]", "[]")
        .replace(
            "@register",
            "@register('last')\ndef save(model):\n    torch.save(model, 'a')\n\n\n@register",
            1,
        )
        .replace(
            '            self.trigger("on_epoch_end")\n',
            "            REGISTRY[input()](self.model)\n",
        )
        .encode()
    ).text
    assert "torch.save(unwrap(model), 'a')" in text
