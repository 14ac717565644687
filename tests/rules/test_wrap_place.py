"""Where a model is wrapped that the script assigns to its variable again."""

from __future__ import annotations

import re

import pytest
from data_way import convert
from small_scripts import findings, new_lines, script, undone

from transpile import Outcome

UNKNOWN = "from networks import Network"
MADE = "model = Network()"


@pytest.mark.parametrize(
    "batch",
    ["model = model.train()", "model.train()", "model = model.eval()\nmodel = model.train()"],
)
@pytest.mark.parametrize("made", ["pass", MADE])
def test_setting_the_mode_is_no_new_model(made: str, batch: str) -> None:
    source = script(top=UNKNOWN, model=made, batch=batch)
    assert findings(source, "PT302") == []
    lines = new_lines(source)
    assert lines.count("model = DistributedDataParallel(model)") == 1
    assert undone(source, "wrap-model") == []


def test_moving_the_model_in_the_loop_is_another_matter() -> None:
    source = script(batch="model = model.double().float()")
    assert "            average_gradients(optimizer)\n" in convert(source).text


STEPS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randn(64, 1)), batch_size=8)
{made}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step(net, x, y):
    {ready}
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for epoch in range(2):
    for x, y in loader:
        {batch}
        step(model, x, y)
"""
MODEL = "model = nn.Linear(3, 1)"
NET = """\
import zoo


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x):
        return self.layer(x)

"""


def steps(made: str = MODEL, ready: str = "pass", batch: str = "pass") -> str:
    return STEPS.format(made=made, ready=ready, batch=batch)


def wraps(source: str) -> list[str]:
    """The lines that wrap, with their indentation."""
    text = convert(source).text
    wrapped = re.compile(r"model = (DistributedDataParallel|wrap_thawed)\(")
    return [line for line in text.splitlines() if wrapped.search(line)]


def test_no_step_wraps_the_model_anew() -> None:
    assert wraps(steps()) == ["    model = DistributedDataParallel(model)"]
    # The place before the loop is no place, and each step would be a wrong one.
    made = (MODEL, f"{NET}\nmodel = Net()")
    for source in (
        *(steps(made=each, ready="net.cpu()") for each in made),
        *(steps(made=each, batch="model.cpu()") for each in made),
    ):
        result = convert(source)
        assert result.outcome is Outcome.CONVERTED
        assert "DistributedDataParallel(" not in result.text
        assert "    average_gradients(optimizer)\n    optimizer.step()" in result.text


SWITCH = "for p in model.parameters():\n            p.requires_grad = True"
FREEZE = f"{MODEL}\nfor p in model.parameters():\n    p.requires_grad = False"
PART = "for n, p in model.named_parameters():\n            p.requires_grad = n != 'bias'"


def test_all_gradients_may_be_switched_in_the_loop() -> None:
    assert wraps(steps(batch=SWITCH)) == ["    model = DistributedDataParallel(model)"]
    assert wraps(steps(made=FREEZE, batch=SWITCH)) == ["    model = wrap_thawed(model)"]
    assert wraps(steps(batch=PART)) == ["    model = wrap_thawed(model)"]


@pytest.mark.parametrize("made", ["model = Net()", MODEL, "model = zoo.resnet()"])
def test_forward_of_the_wrap_is_a_call_of_it(made: str) -> None:
    source = steps(made=f"{NET}\n{made}").replace("net(x)", "net.forward(x)")
    assert wraps(source) == ["    model = DistributedDataParallel(model)"]
    assert "unwrap(" not in convert(source).text


TWO_MODELS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randn(64, 1)), batch_size=8)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 4)
        self.head = nn.Linear(4, 4)

    def forward(self, x):
        return self.head(self.body(x))


def train(model, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


net = Net()
net.head = nn.Linear(4, 1)
train(net, torch.optim.SGD(net.parameters(), lr=0.1))
torch.save(net.state_dict(), "net.pt")
net = Net()
net.head = nn.Linear(4, 1)
net.load_state_dict(torch.load("net.pt"))
"""


def test_another_model_in_the_same_variable_is_no_matter_of_the_wrap() -> None:
    result = convert(TWO_MODELS.encode())
    assert result.outcome is Outcome.CONVERTED
    assert result.text.count("= DistributedDataParallel(") == 1


def test_a_part_replaced_before_the_function_that_wraps_is_no_matter() -> None:
    result = convert(TWO_MODELS.encode())
    assert "PT312" not in [finding.code for finding in result.findings]
    late = TWO_MODELS.replace("        optimizer.step()\n", "        optimizer.step()\n"
                              "        model.head = nn.Linear(4, 1)\n")  # fmt: skip
    assert convert(late.encode()).outcome is Outcome.REFUSED


def test_a_method_that_loads_the_model_again_is_not_where_it_is_wrapped() -> None:
    """It runs behind the training: a wrap there would average nothing."""
    result = convert(b"""\
import torch
from transformers import AutoModel
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, device):
        self.device = device
        self.model = AutoModel.from_pretrained("start")
        self.model.to(self.device)

    def train(self):
        loader = DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=8)
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        for epoch in range(2):
            for (x,) in loader:
                optimizer.zero_grad()
                self.model(x)[0].backward()
                optimizer.step()

    def load(self):
        self.model = AutoModel.from_pretrained("trained")
        self.model.to(self.device)


trainer = Trainer("cpu")
trainer.train()
trainer.load()
""")
    before, _, _ = result.text.partition("    def train(self)")
    assert "self.model = DistributedDataParallel(self.model)" in before
    assert result.text.count("DistributedDataParallel(") == 1


GIVEN = {
    "a number": ("model.rate = 0.5 * (1 - epoch / 2)", "unwrap(model).rate = 0.5"),
    "one by chance": (
        "model.rate = random.random()",
        "unwrap(model).rate = from_main_process(random.random())",
    ),
    "weights": (
        "model.load_state_dict(torch.load('last.pt'))",
        "unwrap(model).load_state_dict(torch.load(",
    ),
}


@pytest.mark.parametrize("name", GIVEN)
def test_what_each_epoch_gives_a_model_goes_to_the_one_behind_the_wrap(name: str) -> None:
    given, written = GIVEN[name]
    source = steps(ready=given).replace("for _ in range(2)", "for epoch in range(2)")
    assert wraps("import random\n" + source) == ["    model = DistributedDataParallel(model)"]
    assert written in convert("import random\n" + source).text


def test_no_wrap_stands_before_a_part_that_is_replaced() -> None:
    text = convert(steps(ready="model.weight = nn.Parameter(torch.ones(4, 3))")).text
    assert "DistributedDataParallel(" not in text
