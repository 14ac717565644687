"""What a step draws for its whole batch is the same on all processes; noise is each one's own."""

from __future__ import annotations

import textwrap

import pytest
from data_way import convert

from transpile import Options, Result
from transpile import convert as convert_on_any_way

HEAD = """\
import random
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
np.random.seed(0)
random.seed(0)
x, y, z = torch.randn(64, 10), torch.randn(64, 2), torch.randn(64, 2)
loader = DataLoader(TensorDataset(x, y, z), batch_size=16)
model = nn.Sequential(nn.Dropout(0.1), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
order = [0, 1]
heads = {"a": 0, "b": 1}
mixture = torch.distributions.Beta(torch.tensor(0.4), torch.tensor(0.4))
"""
LOOP = """\
seen = 0
for epoch in range(3):
    print(seen)
    for a, b, c in loader:
        cut, target = a[:, :8], b
@
        loss = nn.functional.mse_loss(model(cut), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""


def script(step: str, above: str = "") -> str:
    """A training script with some lines in its step."""
    return HEAD + above + LOOP.replace("@", textwrap.indent(step.rstrip(), " " * 8))


def codes(result: Result) -> list[str]:
    """The codes of what is said of draws."""
    return [one.code for one in result.findings if one.code in ("PT739", "PT740", "PT741")]


WITH = "with shared_randomness():\n            "
#: What a step draws, and what it draws afterwards.
DRAWN = {
    "i = random.randint(0, 2)\ncut = a[:, i:i + 8]": "= from_main_process(random.randint(0, 2))",
    "lam = np.random.beta(0.4, 0.4)\ncut = lam * cut": "from_main_process(np.random.beta(0.4,",
    "if random.random() < 0.5:\n    cut = cut.flip(1)": "if from_main_process(random.random()) <",
    "task = random.choice(['a', 'b'])\ntarget = {'a': b, 'b': c}[task]": "from_main_process(ra",
    "t = torch.rand(1)\ncut = cut * t": WITH + "t = torch.rand(1)",
    "random.shuffle(order)\ntarget = (b, c)[order[0]]": WITH + "random.shuffle(order)",
    "lam = mixture.sample()\ncut = lam * cut": WITH + "lam = mixture.sample()",
    "if random.random() < 0.5:\n    seen += len(a)": "if from_main_process(random.random()) <",
    "if random.random() < 0.1:\n    print(cut.mean().item())": "if from_main_process(random.",
    "w = torch.zeros(8)\nw[2:] = torch.rand(6)\ncut = cut * w": WITH + "w[2:] = torch.rand(6)",
    "keep = torch.randperm(8)[:4]\ncut = cut.clone()\ncut[:, keep] = 0": WITH + "keep = torch",
}


@pytest.mark.parametrize(("step", "line"), DRAWN.items())
def test_choices_for_a_batch_are_those_of_rank_0(step: str, line: str) -> None:
    result = convert(script(step))
    assert line in result.text
    assert codes(result) == []


@pytest.mark.parametrize(
    "step",
    [
        "cut = cut + torch.randn_like(cut)",
        "cut = cut + 0.1 * torch.randn(cut.size(0), 8)",
        "cut = cut * torch.tensor([random.random() for _ in range(len(cut))])[:, None]",
        "cut = torch.stack([row * random.random() for row in cut])",
        "cut = cut[torch.randperm(len(cut))]; target = target",
        "if random.random() < 0.1:\n    print('now and then')",
    ],
)
def test_noise_of_samples_is_each_processs_own(step: str) -> None:
    result = convert(script(step))
    assert "from_main_process(random" not in result.text
    assert "with shared_randomness" not in result.text
    assert codes(result) == []


def test_what_is_drawn_in_the_call_of_a_model_is_warned_of_and_exact_where_calls_are_split() -> (
    None
):
    text = script("").replace("model(cut)", "model(cut * torch.rand(1))")
    result = convert(text)
    assert codes(result) == ["PT740"]
    finding = next(one for one in result.findings if one.code == "PT740")
    assert "'torch.rand(1)'" in finding.message
    assert "SplitCalls(" in convert_on_any_way(text, Options()).text


def test_what_functions_that_make_batches_draw_is_warned_of() -> None:
    above = """\
def collate(rows):
    i = random.randint(0, 2)
    cut = torch.stack([row[0][i:i + 8] for row in rows])
    return cut, torch.stack([row[1] for row in rows]), torch.stack([row[2] for row in rows])


loader = DataLoader(TensorDataset(x, y, z), batch_size=16, collate_fn=collate)
"""
    assert codes(convert(script("cut = a", above))) == ["PT740"]
    noise = above.replace("    i = random.randint(0, 2)\n", "    i = 1\n")
    noise = noise.replace("row[0][i:i + 8]", "row[0][i:i + 8] * random.random()")
    assert codes(convert(script("cut = a", noise))) == []


def test_what_a_generator_of_batches_draws_is_that_of_rank_0() -> None:
    above = """\
def scaled(batches):
    for a, b, c in batches:
        s = random.uniform(0.5, 1.5)
        yield a * s, b, c


"""
    text = script("", above).replace("in loader:", "in scaled(loader):")
    assert "s = from_main_process(random.uniform(0.5, 1.5))" in convert(text).text


def test_what_models_draw_is_noted() -> None:
    above = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 2), nn.Linear(8, 2)

    def forward(self, x):
        k = random.random()
        return k * self.first(x) + (1 - k) * self.second(x)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
    assert codes(convert(script("", above))) == ["PT741"]


def test_a_choice_of_data_that_is_cut_by_index_is_that_of_rank_0() -> None:
    text = HEAD + """\
data = {"a": (x, y), "b": (x * 0.5, z)}
for epoch in range(3):
    for i in range(0, 64, 16):
        xs, ys = data[random.choice(["a", "b"])]
        loss = nn.functional.mse_loss(model(xs[i:i + 16]), ys[i:i + 16])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
    assert 'data[from_main_process(random.choice(["a", "b"]))]' in convert(text).text


def test_a_second_conversion_finds_it_done() -> None:
    once = convert(
        script("i = random.randint(0, 2)\ncut = a[:, i:i + 8]\ncut = cut * torch.rand(1)")
    )
    again = convert(once.text, Options(respect_distributed=False))
    assert once.text.count("from_main_process(random") == 1
    assert again.text.count("from_main_process(random") == 1
    assert again.text.count("with shared_randomness") == once.text.count("with shared_randomness")


ORDERED = """\
{batches}
for epoch in range(3):
    {shuffle}
    for a, b in batches:
        loss = nn.functional.mse_loss(model(a[:, :8]), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""
CUT = "batches = [(x[i:i + 16], y[i:i + 16]) for i in range(0, 64, 16)]"
GATHERED = """\
batches = []
for i in range(4):
    batches.append((x[i * 16:(i + 1) * 16], y[i * 16:(i + 1) * 16]))"""


@pytest.mark.parametrize("batches", [CUT, GATHERED])
@pytest.mark.parametrize("shuffle", ["random.shuffle(batches)", "np.random.shuffle(batches)"])
def test_the_order_of_whole_batches_is_drawn_together(batches: str, shuffle: str) -> None:
    result = convert(HEAD + ORDERED.format(batches=batches, shuffle=shuffle), path="train.py")
    assert codes(result) == []
    assert f"with shared_randomness():\n        {shuffle}" in result.text


@pytest.mark.parametrize(
    ("loop", "said"),
    [
        ("for k in range(t.size(1)):\n            x = self.l(x) if {} else x", True),
        ("for v in t.unbind(1):\n            x = self.l(x + v) if {} else x", True),
        ("for k, v in enumerate(t.transpose(0, 1)):\n            x = self.l(v) if {} else x", True),
        ("for k in range(len(t)):\n            x = self.l(x) if {} else x", False),
        ("for k in range(t.shape[0]):\n            x = self.l(x) if {} else x", False),
        ("for k, v in enumerate(t):\n            x = self.l(x + v[0]) if {} else x", False),
        ("x = torch.stack([v[0] if {} else v[1] for v in t])", False),
    ],
)
def test_what_is_drawn_for_each_place_of_sequences_is_drawn_for_all_samples(
    loop: str, said: bool
) -> None:
    text = f"""\
import random
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

random.seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    def forward(self, t):
        x = t[:, 0]
        {loop.format("random.random() < 0.5")}
        return self.l(x)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for (t,) in DataLoader(TensorDataset(torch.randn(32, 5, 3)), 8):
    optimizer.zero_grad()
    net(t).pow(2).mean().backward()
    optimizer.step()
"""
    assert codes(convert(text)) == ["PT741"] * said
