"""Which of the two exact ways is taken, and what is said of it."""

from __future__ import annotations

import pytest

from transpile import Level, Options, Outcome, Result, convert

HEAD = """\
import random
from collections import deque

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = torch.randn(24, 4), torch.randn(24, 1)
loader = DataLoader(TensorDataset(x, y), batch_size=6)
"""
NET = "model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))\n"
REST = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in loader:
    outputs = model(inputs)
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
PLAIN = "nn.functional.mse_loss(outputs, targets)"
COUPLED = f"{PLAIN} + (outputs.std() - targets.std()) ** 2"


def script(loss: str = PLAIN, net: str = NET, rest: str = REST) -> str:
    """A training script."""
    return HEAD + net + rest.format(loss=loss)


def codes(result: Result) -> set[str]:
    """The codes of all findings."""
    return {finding.code for finding in result.findings}


def test_shares_of_batches_are_taken_where_they_are_shown_to_be_right() -> None:
    result = convert(script())
    assert result.outcome is Outcome.CONVERTED
    assert "SplitCalls" not in result.text and "DistributedSampler" in result.text
    assert result.plan["shard"] == "data"
    assert codes(result) == set()


def test_calls_are_split_where_the_loss_couples_samples_and_it_is_said_why() -> None:
    result = convert(script(COUPLED))
    assert "model = SplitCalls(model)" in result.text
    assert "DistributedSampler" not in result.text
    assert result.plan["shard"] == "calls"
    (note,) = [finding for finding in result.findings if finding.code == "DT015"]
    assert "PT403" in note.message or "PT603" in note.message


def test_either_way_can_be_asked_for() -> None:
    shared = convert(script(COUPLED), Options(shard="data"))
    assert "SplitCalls" not in shared.text and "PT403" in codes(shared)
    split = convert(script(), Options(shard="calls"))
    assert "model = SplitCalls(model)" in split.text and "DT015" not in codes(split)


def test_a_model_that_mixes_samples_has_no_exact_way() -> None:
    mixing = """\
class Mixing(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        return torch.softmax(self.layer(x), dim=0)


model = Mixing()
"""
    result = convert(script(COUPLED, mixing), Options(shard="calls"))
    assert result.outcome is Outcome.REFUSED
    (error,) = [finding for finding in result.findings if finding.code == "PT352"]
    assert "softmax" in error.message


def test_one_of_two_models_may_be_computed_whole() -> None:
    rest = REST.replace("model(inputs)", "gate(model(inputs))").replace(
        "model.parameters()", "[*model.parameters(), *gate.parameters()]"
    )
    gate = """\
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.scale * (x - x.mean(0))


gate = Gate()
"""
    result = convert(script(PLAIN, NET + gate, rest), Options(shard="calls"))
    assert "model = SplitCalls(model)" in result.text
    assert "gate = DistributedDataParallel(gate)" in result.text
    assert "PT353" in codes(result)


FIXED = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(9):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_rows_that_never_change_are_shared_out_where_calls_are_split() -> None:
    result = convert(script(rest=FIXED))
    assert "model = SplitCalls(model)" in result.text and codes(result) == {"DT015"}
    refused = convert(script(rest=FIXED), Options(shard="data"))
    assert refused.outcome is Outcome.REFUSED and "PT203" in codes(refused)


DRAWN = FIXED.replace("model(x), y", "model(x[chosen]), y[chosen]").replace(
    "    loss =", "    chosen = torch.from_numpy(numbers.permutation(24)[:6])\n    loss =", 1
)


@pytest.mark.parametrize(
    ("made", "refused"),
    [
        ("np.random.default_rng()", True),
        ("np.random.default_rng(None)", True),
        ("np.random.RandomState()", True),
        ("np.random.default_rng(7)", False),
        ("np.random.RandomState(seed=7)", False),
    ],
)
def test_generators_without_a_seed_draw_other_batches(made: str, refused: bool) -> None:
    result = convert(script(rest=f"numbers = {made}\n{DRAWN}"), Options(shard="calls"))
    assert ("PT356" in codes(result)) is refused
    assert (result.outcome is Outcome.REFUSED) is refused


def test_rank_0_draws_where_it_is_asked_to() -> None:
    result = convert(script(COUPLED), Options(batches="broadcast"))
    assert "for inputs, targets in batches_of_main_process(loader):" in result.text
    assert "model = SplitCalls(model)" in result.text


def test_no_call_of_a_split_model_stands_behind_a_guard() -> None:
    rest = REST + "with open('report.txt', 'w') as report:\n    report.write(str(model(x).sum()))\n"
    result = convert(script(COUPLED, rest=rest), Options(shard="calls"))
    assert "    report.write(str(model(x).sum()))\ncleanup_distributed()" in result.text
    assert "if is_main_process():" not in result.text


@pytest.mark.parametrize(
    "choices",
    [
        {"batch_size": "per-device"},
        {"strategy": "fsdp"},
        {"compression": "fp16"},
    ],
)
def test_choices_that_need_shares_do_not_go_with_split_calls(choices: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="shard='calls'"):
        Options(shard="calls", **choices)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="batches='broadcast'"):
        Options(shard="data", batches="broadcast")


@pytest.mark.parametrize(
    ("before", "within"),
    [
        ("", "random.seed()"),
        ("", "torch.seed()"),
        ("", "torch.manual_seed(int(time.time()))"),
        ("numbers = random.Random(time.time())", ""),
        ("numbers = random.Random(); numbers.seed(time.time_ns())", ""),
    ],
)
def test_seeds_of_the_clock_draw_other_batches(before: str, within: str) -> None:
    rest = f"""\
import time
random.seed(0)
np.random.seed(0)
numbers = random
{before}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(9):
    {within or "pass"}
    chosen = numbers.sample(range(24), 6)
    loss = nn.functional.mse_loss(model(x[chosen]), y[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    result = convert(script(rest=rest), Options(shard="calls"))
    assert "PT356" in codes(result)


KEEPING = """\
class Keeping(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.kept = nn.Linear(4, 1), 0
        self.kept = 0

    def forward(self, x):
        x = self.layer(x)
        self.kept = x.pow(2).mean()
        return x


model = Keeping()
"""


@pytest.mark.parametrize("read", ["model.kept", "getattr(model, 'kept')"])
def test_what_a_call_keeps_beside_its_outputs_is_that_of_its_own_rows(read: str) -> None:
    result = convert(script(f"{PLAIN} + {read}", KEEPING), Options(shard="calls"))
    assert result.outcome is Outcome.REFUSED and "PT352" in codes(result)
    unread = convert(script(PLAIN, KEEPING), Options(shard="calls"))
    assert unread.outcome is Outcome.CONVERTED


def test_hooks_see_the_rows_of_one_process() -> None:
    hook = "seen = []\nmodel[1].register_forward_hook(lambda layer, given, out: seen.append(out))\n"
    loss = f"{PLAIN} + seen[-1].sum()"
    result = convert(script(loss, NET + hook), Options(shard="calls"))
    assert result.outcome is Outcome.REFUSED and "PT352" in codes(result)


@pytest.mark.parametrize(
    ("of", "refused"),
    [("list(model.parameters())", True), ("model[0].weight", True), ("inputs", False)],
)
def test_gradients_of_parameters_in_a_loss_are_those_of_own_rows(of: str, refused: bool) -> None:
    rest = REST.replace(
        "    optimizer.zero_grad",
        f"    loss = loss + torch.autograd.grad(loss, {of}, create_graph=True)"
        "[0].pow(2).sum()\n    optimizer.zero_grad",
    ).replace("    outputs =", "    inputs.requires_grad_(True)\n    outputs =")
    result = convert(script(rest=rest), Options(shard="calls"))
    assert (result.outcome is Outcome.REFUSED) is refused
    assert ("PT352" in codes(result)) is refused


@pytest.mark.parametrize(
    "choices", [{"batch_size": "per-device"}, {"strategy": "fsdp"}, {"compression": "fp16"}]
)
def test_what_needs_shares_is_never_answered_with_split_calls(choices: dict[str, str]) -> None:
    result = convert(script(COUPLED), Options(**choices))  # type: ignore[arg-type]
    assert "SplitCalls" not in result.text


def test_a_model_that_is_given_a_batch_unpacked_may_take_its_samples_together() -> None:
    net = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, inputs, labels=None):
        scores = self.head(inputs)
        if labels is None:
            return None, scores
        return nn.CrossEntropyLoss()(scores, labels), scores


def collate(samples):
    labels = torch.tensor([-100, 1, 2, 0, 1, 2])
    return dict(inputs=torch.stack([x for x, _ in samples]), labels=labels)


loader = DataLoader(TensorDataset(x, y), batch_size=6, collate_fn=collate)
model = Net()
"""
    rest = REST.replace("for inputs, targets in loader:", "for batch in loader:")
    rest = rest.replace("outputs = model(inputs)", "loss, outputs = model(**batch)")
    result = convert(script(net=net, rest=rest.replace("    loss = {loss}\n", "")))
    assert "SplitCalls" not in result.text
    assert {"DT016", "PT403"} <= codes(result)


PAIRS = """\
class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 1)

    def forward(self, fields):
        count = fields.shape[1]
        first, second = list(), list()
        for i in range(count - 1):
            for j in range(i + 1, count):
                first.append(i), second.append(j)
        return self.head(fields[:, first] * fields[:, second])


model = Pairs()
"""


def test_places_that_a_list_gathers_pick_no_samples() -> None:
    found = convert(script(net=PAIRS), path="train.py")
    assert found.outcome is Outcome.CONVERTED
    assert [each.code for each in found.findings] == []


GRAPHS = """\
import numpy as np
import torch
from torch import nn


class Graph:
    def __init__(self, features, label):
        self.features = features
        self.label = label


class Readout(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(self, graphs):
        return self.head(torch.stack([graph.features.mean(0) for graph in graphs]))


graphs = [Graph(torch.randn(5, 4), i % 2) for i in range(24)]
model = Readout()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    chosen = np.random.permutation(len(graphs))[:8]
    batch = [graphs[i] for i in chosen]
    labels = torch.tensor([graph.label for graph in batch])
    loss = nn.functional.cross_entropy(model(batch), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_calls_with_objects_of_the_project_are_not_split() -> None:
    """The first of them would end the job: rows can be shared of tensors alone."""
    found = convert(GRAPHS, path="train.py")
    assert "SplitCalls" not in found.text
    assert "chosen = share_batch(" in found.text
    assert any("objects of 'Graph'" in each.message for each in found.findings)
    assert convert(GRAPHS, Options(shard="calls"), path="train.py").outcome is Outcome.REFUSED


SWITCHED = """\
class Switched(nn.Module):
    def __init__(self):
        super().__init__()
        self.drops = False
        self.first = nn.Linear(4, 8)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(8, 1)

    def forward(self, x, turn_off=False):
        if turn_off:
            drops = self.drops
            self.drops = False
        x = self.first(x)
        if self.drops:
            x = self.dropout(x)
        if turn_off:
            self.drops = drops
        return self.head(x)


model = Switched()
"""


def test_a_setting_that_is_put_back_keeps_nothing_of_the_samples() -> None:
    found = convert(script(COUPLED, net=SWITCHED), path="train.py")
    assert "SplitCalls(model" in found.text
    assert not [each for each in found.findings if each.level is not Level.NOTE]


ROUNDS = """\
import argparse

options = argparse.ArgumentParser()
options.add_argument("--epochs", type=int, default=2)
args = options.parse_args()
if args.epochs < 0:
    args.epochs = 100 // len(loader) + 1
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(args.epochs):
    for inputs, targets in loader:
        loss = {loss}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
"""


def test_a_number_of_batches_hands_on_no_batch() -> None:
    text = script(PLAIN.replace("outputs", "model(inputs)"), rest=ROUNDS)
    found = convert(text, path="train.py")
    assert found.outcome is Outcome.CONVERTED
    assert [each.code for each in found.findings] == []


def test_evaluations_that_are_not_sharded_are_told() -> None:
    shard = Options(evaluation="shard")
    assert "DT019" in codes(convert(script(COUPLED), shard))
    assert "DT019" not in codes(convert(script(COUPLED), Options()))
    assert "DT019" not in codes(convert(script(), shard))


CENTRES = """\
from metrics_of_ours import centre_distances


class Centres(nn.Module):
    def __init__(self):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(3, 1))

    def forward(self, x, labels):
        return centre_distances(x, self.centres, labels)


centres = Centres()
"""


@pytest.mark.parametrize("how", ["", "retain_graph=True"])
def test_a_criterion_that_learns_and_gives_a_number_is_computed_whole(how: str) -> None:
    """A check with the first batch would stop every job."""
    rest = REST.replace("model.parameters()", "[*model.parameters(), *centres.parameters()]")
    rest = rest.replace(".backward()", f".backward({how})")
    loss = f"{PLAIN} + 0.5 * centres(outputs, (targets[:, 0] > 0).long())"
    result = convert(script(loss, NET + CENTRES, rest), Options(shard="calls"))
    assert "    model = SplitCalls(model)" in result.text
    assert "    centres = DistributedDataParallel(centres)" in result.text
    (note,) = [one for one in result.findings if one.code == "PT353"]
    assert "PT354" not in codes(result), note


CHOSEN = """\
class Centred(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, inputs):
        return self.layer({given})


def chosen(name):
    if name == "plain":
        model = nn.Sequential(nn.Linear(4, 1))
    else:
        model = Centred()
    return model


model = chosen(input())
"""


@pytest.mark.parametrize(
    ("given", "splits"), [("inputs - inputs.mean(0)", False), ("inputs - 1", True)]
)
def test_what_one_wrap_computes_whole_is_not_said_to_be_split(given: str, splits: bool) -> None:
    """One wrap serves all models that a variable may hold; with one of them it is a plain one."""
    result = convert(script(COUPLED, CHOSEN.format(given=given)))
    assert result.outcome is Outcome.CONVERTED
    assert ("model = SplitCalls(model)" in result.text) is splits
    (note,) = [finding for finding in result.findings if finding.code == "DT015"]
    assert note.message.startswith("calls of models are split, not batches") is splits
    assert ("computes every batch whole" in note.message) is not splits
    whole = [finding.message for finding in result.findings if finding.code == "PT353"]
    assert len(whole) == (0 if splits else 2)
    assert splits or any("another model that may stand in 'model'" in each for each in whole)
    assert "PT354" not in codes(result)
