"""Layers that some forward pass does without: DistributedDataParallel must look for them."""

from __future__ import annotations

import pytest
from data_way import convert

HEAD = """\
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, inputs=6, outputs=6):
        super().__init__()
        self.equal = inputs == outputs
        self.fc = nn.Linear(inputs, outputs)
        {made}

    def forward(self, x):
        {forward}


model = {model}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(TensorDataset(torch.randn(48, 6), torch.randn(48, 6)), batch_size=12):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""
LAYERS = "self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(4)])"
#: How many of them run is changed while the model trains.
ACTIVE = LAYERS + "\n        self.active = 4"
COUNTED = """\
self.depth = 3
        self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(self.depth)])"""
SKIP = "self.skip = nn.Linear(inputs, outputs)"
ONE, SEVERAL = "Block()", "nn.Sequential(*[Block() for _ in range(3)])"
#: What is made, what the forward pass is, the model, and whether layers may be left out.
CASES = {
    "skipped by chance": (
        LAYERS,
        "for layer in self.layers:\n            if random.random() < 0.5:\n"
        "                continue\n            x = layer(x)\n        return self.fc(x)",
        ONE,
        True,
    ),
    "left early": (
        "pass",
        "if self.training and torch.rand(1).item() < 0.3:\n            return x\n"
        "        return x + self.fc(x)",
        SEVERAL,
        True,
    ),
    "way around": (SKIP, "return self.fc(x) + (x if self.equal else self.skip(x))", SEVERAL, True),
    "one of several": (LAYERS, "return self.layers[0](self.fc(x))", ONE, True),
    "experts by data": (
        LAYERS,
        "out, best = torch.zeros_like(x), self.fc(x).argmax(1)\n"
        "        for k, expert in enumerate(self.layers):\n            if (best == k).any():\n"
        "                out[best == k] = expert(x[best == k])\n        return out + self.fc(x)",
        ONE,
        True,
    ),
    "loop that ends early": (
        LAYERS,
        "for k, layer in enumerate(self.layers):\n            x = x + layer(x)\n"
        "            if k == 1:\n                break\n        return self.fc(x)",
        ONE,
        True,
    ),
    "loop that gives back": (
        LAYERS,
        "x = self.fc(x)\n        for k in range(len(self.layers)):\n"
        "            x = x + self.layers[k](x)\n            if k == 1:\n"
        "                return x\n        return x",
        ONE,
        True,
    ),
    "loop that ends in another": (
        LAYERS,
        "for layer in self.layers:\n            for _ in range(9):\n"
        "                if x.abs().max() > 1:\n                    break\n"
        "                x = 2 * x\n            x = layer(x)\n        return self.fc(x)",
        ONE,
        False,
    ),
    "loop that ends in evaluation": (
        LAYERS,
        "for layer in self.layers:\n            x = x + layer(x)\n"
        "            if not self.training:\n                break\n        return self.fc(x)",
        ONE,
        False,
    ),
    "some by chance": (
        LAYERS,
        "for k in sorted(random.sample(range(len(self.layers)), 2)):\n"
        "            x = x + self.layers[k](x)\n        return self.fc(x)",
        ONE,
        True,
    ),
    "one by chance": (LAYERS, "return self.fc(random.choice(self.layers)(x))", ONE, True),
    "as many as are active": (
        ACTIVE,
        "for layer in self.layers[: self.active]:\n            x = layer(x)\n"
        "        return self.fc(x)",
        ONE,
        True,
    ),
    "the first two": (
        LAYERS,
        "for layer in self.layers[:2]:\n            x = layer(x)\n        return self.fc(x)",
        ONE,
        True,
    ),
    "as many as are active, under a local name": (
        LAYERS + "\n        self.active = 4",
        "layers = self.layers\n        for k in range(self.active):\n"
        "            x = layers[k](x)\n        return self.fc(x)",
        ONE,
        True,
    ),
    "all under a local name": (
        LAYERS,
        "layers = self.layers\n        for k in range(len(layers)):\n"
        "            x = layers[k](x)\n        return self.fc(x)",
        ONE,
        False,
    ),
    "gone through under a local name": (
        LAYERS,
        "layers, fc = self.layers, self.fc\n        for layer in layers:\n"
        "            x = layer(x)\n        return fc(x)",
        ONE,
        False,
    ),
    "the first ones and the rest": (
        LAYERS,
        "for layer in self.layers[:2]:\n            x = layer(x)\n"
        "        for layer in self.layers[2:]:\n            x = x + layer(x)\n"
        "        return self.fc(x)",
        ONE,
        False,
    ),
    "all but the last, and the last": (
        LAYERS,
        "for layer in self.layers[:-1]:\n            x = layer(x).relu()\n"
        "        return self.layers[-1](self.fc(x))",
        ONE,
        False,
    ),
    "the first, and all behind it": (
        LAYERS,
        "x = self.layers[0](x)\n        for layer in self.layers[1:]:\n"
        "            x = layer(x).relu()\n        return self.fc(x)",
        ONE,
        False,
    ),
    "pairs along the list": (
        LAYERS,
        "for k in range(0, 4, 2):\n            for layer in self.layers[k : k + 2]:\n"
        "                x = layer(x)\n        return self.fc(x)",
        ONE,
        False,
    ),
    "one at a random place": (
        LAYERS,
        "return self.fc(self.layers[torch.randint(4, (1,)).item()](x))",
        ONE,
        True,
    ),
    "by number, as many as are active": (
        ACTIVE,
        "for k in range(self.active):\n            x = self.layers[k](x)\n"
        "        return self.fc(x)",
        ONE,
        True,
    ),
    "by number from the beginning, but for one": (
        "self.active = 3\n        self.layers = nn.ModuleList(\n"
        "            [nn.Linear(6, 6), *(nn.Linear(6, 6) for _ in range(1, 4))]\n        )",
        "for k in range(0, self.active - 1, 1):\n            x = self.layers[k](x)\n"
        "        return self.fc(x)",
        ONE,
        True,
    ),
    "backwards by number": (
        COUNTED,
        "for k in range(self.depth - 1, -1, -1):\n            x = self.layers[k](x)\n"
        "        return self.fc(x)",
        ONE,
        False,
    ),
    "by number, half of them": (
        COUNTED,
        "for k in range(self.depth // 2):\n            x = self.layers[k](x)\n"
        "        return self.fc(x)",
        ONE,
        True,
    ),
    "by number, at most two": (
        LAYERS,
        "for k in range(min(2, len(self.layers))):\n            x = self.layers[k](x)\n"
        "        return self.fc(x)",
        ONE,
        True,
    ),
    "by number, a share of them": (
        LAYERS,
        "for k in range(int(0.5 * len(self.layers))):\n            x = self.layers[k](x)\n"
        "        return self.fc(x)",
        ONE,
        True,
    ),
    "by number, half as many as numbers, all that there are": (
        "self.width = 6\n        self.layers = nn.ModuleList(\n"
        "            nn.Linear(6, 6) for _ in range(self.width // 2)\n        )",
        "for k in range(self.width // 2):\n            x = self.layers[k](x)\n"
        "        return self.fc(x)",
        ONE,
        False,
    ),
    "by number, fewer than there are": (
        LAYERS,
        "for k in range(1, 3):\n            x = self.layers[k](x)\n        return self.fc(x)",
        ONE,
        True,
    ),
    "a list of them, cut": (
        ACTIVE,
        "for layer in list(self.layers)[: self.active]:\n            x = layer(x)\n"
        "        return self.fc(x)",
        ONE,
        True,
    ),
    "counted up to those active": (
        ACTIVE,
        "k = 0\n        while k < self.active:\n            x = self.layers[k](x)\n"
        "            k += 1\n        return self.fc(x)",
        ONE,
        True,
    ),
    "together with a shorter range": (
        ACTIVE,
        "for layer, _ in zip(self.layers, range(self.active)):\n            x = layer(x)\n"
        "        return self.fc(x)",
        ONE,
        True,
    ),
    "in a comprehension, as many as are active": (
        ACTIVE,
        "return self.fc(sum([self.layers[k](x) for k in range(self.active)]))",
        ONE,
        True,
    ),
    "as many as were made": (
        COUNTED,
        "for k in range(self.depth):\n            x = self.layers[k](x)\n"
        "        return self.fc(x)",
        ONE,
        False,
    ),
    "all but the last by number, and the last": (
        COUNTED,
        "for k in range(self.depth - 1):\n            x = self.layers[k](x).relu()\n"
        "        return self.fc(self.layers[-1](x))",
        ONE,
        False,
    ),
    "counted up to all": (
        COUNTED,
        "k = 0\n        while k < self.depth:\n            x = self.layers[k](x)\n"
        "            k += 1\n        return self.fc(x)",
        ONE,
        False,
    ),
    "as many as a list of sizes says": (
        "sizes = [6, 6, 6]\n        self.depth = len(sizes) - 1\n"
        "        self.layers = nn.ModuleList(\n"
        "            nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])\n        )",
        "for k in range(self.depth):\n            x = self.layers[k](x)\n"
        "        return self.fc(x)",
        ONE,
        False,
    ),
    "as many as were put in": (
        "self.depth = 3\n        self.layers = nn.ModuleList()\n"
        "        for _ in range(self.depth):\n            self.layers.append(nn.Linear(6, 6))",
        "for k in range(self.depth):\n            x = self.layers[k](x)\n"
        "        return self.fc(x)",
        ONE,
        False,
    ),
    "as many as were put in one by one": (
        "self.depth = 2\n        self.layers = nn.ModuleList()\n"
        "        self.layers.append(nn.Linear(6, 6))\n"
        "        self.layers.append(nn.Linear(6, 6))",
        "for k in range(self.depth):\n            x = self.layers[k](x)\n"
        "        return self.fc(x)",
        ONE,
        False,
    ),
    "round and round": (
        LAYERS,
        "for k in range(12):\n            x = self.layers[k % 4](x)\n        return self.fc(x)",
        ONE,
        False,
    ),
    "together with a range as long": (
        COUNTED,
        "for layer, k in zip(self.layers, range(self.depth)):\n            x = layer(x) * k\n"
        "        return self.fc(x)",
        ONE,
        False,
    ),
    "a list of all": (
        COUNTED,
        "for layer in list(self.layers)[::-1]:\n            x = layer(x)\n"
        "        return self.fc(x)",
        ONE,
        False,
    ),
    "so many by chance": (
        LAYERS,
        "for layer in self.layers[:random.randint(1, 4)]:\n            x = layer(x)\n"
        "        return self.fc(x)",
        ONE,
        True,
    ),
    "all in random order": (
        LAYERS,
        "for k in torch.randperm(4).tolist():\n            x = self.layers[k](x)\n"
        "        return self.fc(x)",
        ONE,
        False,
    ),
    "experts with samples": (
        LAYERS,
        "out, best = torch.zeros_like(x), self.fc(x).argmax(1)\n"
        "        for k, expert in enumerate(self.layers):\n"
        "            rows = (best == k).nonzero()\n"
        "            if len(rows) == 0:\n                continue\n"
        "            out[rows] = expert(x[rows])\n"
        "        return out / len(self.layers) + self.fc(x)",
        ONE,
        True,
    ),
    "all by their number": (
        LAYERS,
        "for k in range(len(self.layers)):\n            x = self.layers[k](x)\n"
        "        return self.fc(x)",
        ONE,
        False,
    ),
    "all of several": (
        LAYERS,
        "for layer in self.layers:\n            x = layer(x)\n        return self.fc(x)",
        ONE,
        False,
    ),
    "all by number": (
        LAYERS,
        "for k in range(4):\n            x = self.layers[k](x)\n        return self.fc(x)",
        ONE,
        False,
    ),
    "made where it is used": (
        "self.skip = None if self.equal else nn.Linear(inputs, outputs)",
        "return self.fc(x) + (x if self.skip is None else self.skip(x))",
        SEVERAL,
        False,
    ),
    "in both arms": (
        SKIP,
        "if len(__file__) > 9:\n            return self.skip(self.fc(x))\n        else:\n"
        "            return self.skip(x) + self.fc(x)",
        ONE,
        False,
    ),
    "in training alone": (
        SKIP,
        "out = self.fc(x)\n        if self.training:\n            out = out + self.skip(x)\n"
        "        return out",
        SEVERAL,
        False,
    ),
}


CHANGED = "    model.active = 2 if model.active == 4 else 4\n    optimizer.zero_grad()"


@pytest.mark.parametrize("name", CASES)
def test_wrap_looks_for_layers_that_a_pass_does_without(name: str) -> None:
    made, forward, model, left_out = CASES[name]
    script = HEAD.format(made=made, forward=forward, model=model)
    if made == ACTIVE:
        script = script.replace("    optimizer.zero_grad()", CHANGED)
    text = convert(script, path="train.py").text
    assert "DistributedDataParallel(" in text
    assert ("find_unused_parameters=True" in text) is left_out


#: Those of the cases in which each pass of a step may do without other layers.
VARYING = {name for name, (_, _, _, left_out) in CASES.items() if left_out} - {
    "way around",
    "loop that ends early",
    "one of several",
    "as many as are active",
    "as many as are active, under a local name",
    "the first two",
    "by number, as many as are active",
    "by number from the beginning, but for one",
    "by number, fewer than there are",
    "by number, half of them",
    "by number, at most two",
    "by number, a share of them",
    "a list of them, cut",
    "counted up to those active",
    "together with a shorter range",
    "in a comprehension, as many as are active",
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_passes_that_vary_are_averaged_by_hand(name: str) -> None:
    """The wrap stops where a pass does without what another one of the same step uses."""
    made, forward, model, _ = CASES[name]
    script = HEAD.format(made=made, forward=forward, model=model)
    twice = " + nn.functional.mse_loss(model(0.9 * x), y)\n"
    text = convert(script.replace("mse_loss(model(x), y)\n", f"mse_loss(model(x), y){twice}")).text
    assert ("average_gradients(optimizer)" in text) is (name in VARYING)
    assert ("= DistributedDataParallel(" in text) is (name not in VARYING)


CARRIED = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 6)
        self.start = nn.Parameter(torch.zeros(1, 6))

    def forward(self, x, h):
        h = self.cell(x, h)
        return h.mean(1){more}


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(48, 4), torch.randn(48)), batch_size=12)
for epoch in range(2):
    for x, y in loader:
        h = torch.zeros(len(x), 6)
        if epoch > 0:
            h = {start}
        out = model(x, h)
        loss = nn.functional.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("start", "more", "left_out"),
    [
        ("model.start.expand(len(x), 6)", "", True),
        ("model.start.expand(len(x), 6)", " + 0 * self.start.sum()", False),
        ("torch.ones(len(x), 6)", " + 0 * self.start.sum()", False),
    ],
)
def test_parameters_that_only_others_use_are_looked_for(
    start: str, more: str, left_out: bool
) -> None:
    text = convert(CARRIED.format(start=start, more=more), path="train.py").text
    assert "DistributedDataParallel(" in text
    assert ("find_unused_parameters=True" in text) is left_out


ATTACK = """\
    for _ in range(2):
        moved = x.clone().requires_grad_(True)
        (steep,) = torch.autograd.grad(nn.functional.mse_loss(model(moved), y), moved)
        x = x + 0.1 * steep.sign()
    optimizer.zero_grad()"""


@pytest.mark.parametrize(
    ("forward", "left_out"),
    [
        (CASES["the first two"][1], True),
        (CASES["by number, as many as are active"][1], True),
        (CASES["all by their number"][1], False),
        (CASES["all of several"][1], False),
    ],
)
def test_wrap_looks_for_them_behind_an_attack_on_the_inputs(forward: str, left_out: bool) -> None:
    script = HEAD.format(made=ACTIVE, forward=forward, model=ONE)
    script = script.replace("    optimizer.zero_grad()", f"{CHANGED.splitlines()[0]}\n{ATTACK}")
    text = convert(script, path="train.py").text
    assert "DistributedDataParallel(model" in text
    assert ("find_unused_parameters=True" in text) is left_out
