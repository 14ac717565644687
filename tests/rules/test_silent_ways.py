"""Numbers, draws and models that were once taken for what they are not; both sides of each line."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level, Result
from transpile.result import Outcome

HEAD = """\
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split

{top}
data = TensorDataset(torch.randn(36, 5), torch.randint(0, 3, (36,)))
loader = DataLoader({data}, batch_size=12)
model = {model}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
LOOP = """\
rows = []
for epoch in range(2):
    {before}
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {inside}
    {behind}
"""
MODEL = "nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3))"


def converted(
    inside: str = "pass",
    behind: str = "pass",
    before: str = "pass",
    top: str = "",
    data: str = "data",
    model: str = MODEL,
) -> Result:
    head = HEAD.format(top=top, data=data, model=model)
    return convert(head + LOOP.format(inside=inside, behind=behind, before=before))


def doubts(result: Result) -> list[str]:
    return [finding.code for finding in result.findings if finding.level > Level.NOTE]


@pytest.mark.parametrize(
    ("inside", "behind", "line"),
    [
        # What is sorted is compared, by whatever key.
        (
            "rows.append((loss.item(), epoch))",
            "print(sorted(rows, key=lambda row: row[0])[0][1])",
            "rows.append((reduce_mean(loss).item(), epoch))",
        ),
        (
            "rows.append((loss.item(), epoch))",
            "rows.sort(key=lambda row: row[0]); print(rows[0][1])",
            "rows.append((reduce_mean(loss).item(), epoch))",
        ),
        (
            "rows.append((loss.item(), epoch))",
            "print(sorted([3, epoch])[0])",
            "(loss.item(), epoch",
        ),
        # Samples that are picked are not as many on each process.
        (
            "rows += [int(one) for one in y[out.argmax(1) != y]]",
            "print(len(rows))",
            "print_once(reduce_number(len(rows)) * get_world_size())",
        ),
        (
            "rows += [int(one) for one in y]",
            "print(len(rows))",
            "print_once(len(rows) * get_world_size())",
        ),
        # One sample is as large as it is.
        (
            "print(x[0].size(0), len(x))",
            "pass",
            "print_once(x[0].size(0), len(x) * get_world_size())",
        ),
        (
            "rows.append(x[0].numel())",
            "print(sum(rows))",
            "print_once(sum(rows))",
        ),
        ("print(x.shape[1:])", "pass", "print_once(x.shape[1:])"),
    ],
)
def test_numbers_that_can_be_put_together(inside: str, behind: str, line: str) -> None:
    result = converted(inside, behind)
    assert line in result.text
    assert doubts(result) == []


@pytest.mark.parametrize(
    ("inside", "behind"),
    [
        ("n = 1\n        for size in x.shape:\n            n *= size\n        print(n)", "pass"),
        ("print(np.prod(tuple(x.shape)))", "pass"),
        (
            "rows.append(0)\n        for one in x:\n            rows[0] += one.shape[0]",
            "print(rows[0])",
        ),
    ],
)
def test_numbers_that_cannot(inside: str, behind: str) -> None:
    assert doubts(converted(inside, behind)) == ["PT603"]


def test_what_a_closure_returns_is_reduced_in_it() -> None:
    inside = "print(optimizer.step(lambda: 0))"
    closure = "def closure():\n            optimizer.zero_grad()\n"
    closure += "            loss = F.cross_entropy(model(x), y)\n            loss.backward()\n"
    closure += "            return loss.item()\n        print(optimizer.step(closure))"
    assert "return reduce_mean(loss).item()" in converted(closure).text
    assert "reduce_mean" not in converted(inside).text


def test_the_shape_of_a_share_is_told() -> None:
    result = converted("print(tuple(x.shape), list(x.size()))")
    assert {finding.code for finding in result.findings} >= {"PT604"}


def test_what_a_dict_is_made_of_that_is_not_known_may_be_anything_of_it() -> None:
    inside = "from collections import ChainMap; print(dict(ChainMap({'a': loss.item()})))"
    result = converted(inside)
    assert doubts(result) == ["PT603"] or "reduce_mean(loss).item()" in result.text


BAG = """\
class Bag(Dataset):
    def __init__(self):
        self.x, self.y = torch.randn(36, 5), torch.randint(0, 3, (36,))
        self.resample()

    def resample(self):
        self.order = {drawn}

    def __len__(self):
        return 36

    def __getitem__(self, index):
        return self.x[self.order[index]], self.y[self.order[index]]


bag = Bag()
"""


def test_what_data_draws_anew_between_epochs_is_drawn_together() -> None:
    drawn = BAG.format(drawn="np.random.permutation(36)")
    again = converted(top=drawn, data="bag", before="bag.resample()")
    assert "self.order = from_main_process(np.random.permutation(36))" in again.text
    once = converted(top=drawn, data="bag")
    assert "from_main_process(" not in once.text.split("START")[0].split("class Bag")[1]
    seeded = BAG.format(drawn="np.random.RandomState(3).permutation(36)")
    fixed = converted(top=seeded, data="bag", before="bag.resample()")
    assert "from_main_process(np" not in fixed.text


SPLIT = """\
g = torch.Generator()
{seed}
"""


@pytest.mark.parametrize(
    ("seed", "outcome"),
    [
        ("g.seed()", Outcome.REFUSED),
        ("import time; g.manual_seed(int(time.time()))", Outcome.REFUSED),
        ("g.manual_seed(3)", Outcome.CONVERTED),
        ("pass", Outcome.CONVERTED),
    ],
)
def test_a_generator_that_is_seeded_by_chance_is_no_seed(seed: str, outcome: Outcome) -> None:
    data = "random_split(data, [24, 12], generator=g)[0]"
    assert converted(top=SPLIT.format(seed=seed), data=data).outcome is outcome


CENTER = """\
class Center(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(6))

    def forward(self, x):
        {body}
        return x - self.mean
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)", ["PT413"]),
        ("self.mean = 0.9 * self.mean", []),
    ],
)
def test_layers_without_parameters_may_keep_samples(body: str, expected: list[str]) -> None:
    model = "nn.Sequential(nn.Linear(5, 6), Center(), nn.Tanh(), nn.Linear(6, 3))"
    assert doubts(converted(top=CENTER.replace("{body}", body), model=model)) == expected


LOSS_INSIDE = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(5, 4), nn.Linear(4, 3)

    def forward(self, x, y):
        z = self.first(x)
        return F.cross_entropy(self.second(z), y) + {term}


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(36, 5), torch.randint(0, 3, (36,)))
for x, y in DataLoader(data, batch_size=12):
    loss = model(x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("term", "said"),
    [
        ("F.relu(1 - z.std(0)).mean()", "'std' looks across the samples of a batch"),
        ("(z.var(dim=0) - 1).pow(2).sum()", "'var' looks across the samples of a batch"),
        ("z.std(1).mean()", ""),
        ("z.pow(2).mean()", ""),
    ],
)
def test_losses_that_models_return_are_looked_into(term: str, said: str) -> None:
    result = convert(LOSS_INSIDE.replace("{term}", term))
    told = [one for one in result.findings if one.level > Level.NOTE]
    assert [one.code for one in told] == (["PT403"] if said else [])
    assert all(said in one.message for one in told)


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        ("torch.randn(x.shape, generator=g)", ["PT704"]),
        ("torch.from_numpy(r.normal(size=x.shape))", ["PT704"]),
        ("torch.randn(x.shape)", []),
        ("torch.randn(5, generator=g)", []),
        ("x[torch.randperm(len(x), generator=g)]", []),
    ],
)
def test_equal_generators_give_other_samples_equal_noise(noise: str, expected: list[str]) -> None:
    top = "g = torch.Generator().manual_seed(3)\nr = np.random.RandomState(3)"
    script = HEAD.format(top=top, data="data", model=MODEL)
    body = LOOP.format(inside="pass", behind="pass", before="pass")
    noisy = body.replace("model(x)", f"model(x + {noise})")
    assert doubts(convert(script + noisy)) == expected


SOME = "(F.cross_entropy(out, y, reduction='none') * (y == 2)).sum()"


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        ("((y == 2).sum().item() if (y == 2).sum().item() > 4 else 4)", ["PT403"]),
        ("(n if (n := (y == 2).sum().item()) > 4 else 4)", ["PT403"]),
        ("(len(y) if epoch else len(x))", []),
    ],
)
def test_a_count_that_is_a_plain_number_at_times(count: str, expected: list[str]) -> None:
    body = LOOP.format(inside="print(loss.item())", behind="pass", before="pass")
    text = body.replace("F.cross_entropy(out, y)", f"{SOME} / {count}")
    script = HEAD.format(top="", data="data", model=MODEL)
    assert set(doubts(convert(script + text))) & {"PT403"} == set(expected)


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        ("'many' if (y == 2).sum().item() > 4 else 'few'", "reduce_sum((y == 2).sum()).item() > 4"),
        ("'late' if epoch > 1 else 'early'", "'late' if epoch > 1 else 'early'"),
    ],
)
def test_conditions_within_expressions_are_compared(shown: str, line: str) -> None:
    assert line in converted(f"print({shown})").text


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("torch.stack(sorted(z.unbind(0), key=lambda row: row.sum().item()))", ["PT414"]),
        ("torch.stack(z.unbind(1), 1)", []),
    ],
)
def test_models_that_are_not_shown_to_keep_samples_apart(body: str, expected: list[str]) -> None:
    top = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    top += "        self.f = nn.Linear(5, 3)\n\n    def forward(self, x):\n"
    top += f"        z = self.f(x)\n        return z + {body}\n"
    assert doubts(converted(top=top, model="Net()")) == expected


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ("heapq.nlargest(3, range(len(x)), key=lambda i: x[i, 0].item())", True),
        ("heapq.nlargest(3, range(9), key=lambda i: -i)", False),
    ],
)
def test_what_libraries_choose_by_samples_is_not_known(terms: str, expected: bool) -> None:
    inside = f"print({terms}[0])"
    assert bool(doubts(converted(inside, top="import heapq"))) is expected


def test_numbers_in_containers_within_containers_are_followed() -> None:
    top = "from collections import defaultdict\nstats = defaultdict(lambda: defaultdict(float))"
    behind = "print(stats['train']['loss'])"
    summed = converted("stats['train']['loss'] += loss.item()", behind, top=top)
    assert "+= reduce_mean(loss).item()" in summed.text
    inside = "stats['train']['loss'] += loss.item() * len(y); stats['train']['acc'] = epoch"
    assert doubts(converted(inside, behind, top=top)) == ["PT603"]
