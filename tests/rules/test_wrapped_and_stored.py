"""Models that are written as a part of something, and models made by a method that runs twice."""

from __future__ import annotations

import pytest
from data_way import convert
from small_scripts import findings, script

from transpile import Outcome

SAVED = [
    "torch.save({{'model': {}, 'epoch': 1}}, 'm.pt')",
    "state = {{'model': {}}}\ntorch.save(state, 'm.pt')",
    "state = dict(model={})\ntorch.save(state, 'm.pt')",
    "state = {{}}\nstate['model'] = {}\ntorch.save(state, 'm.pt')",
    "torch.save([{}, 1], 'm.pt')",
    "kept = []\nkept.append({})\ntorch.save(kept, 'm.pt')",
    "torch.save({{'all': {{'model': {}}}}}, 'm.pt')",
    "state = {{'model': {}}}\nstate['all'] = state\ntorch.save(state, 'm.pt')",
]


@pytest.mark.parametrize("saved", SAVED)
def test_a_model_in_what_is_saved_goes_without_its_wrap(saved: str) -> None:
    converted = convert(script(epoch=saved.format("model")))
    assert converted.outcome is Outcome.CONVERTED
    for line in saved.format("unwrap(model)").splitlines():
        assert line in converted.text


def test_a_model_that_a_condition_chooses_is_saved_without_its_wrap() -> None:
    chosen = "{} if epoch else {}"
    saved = "torch.save({{'model': {}}}, 'm.pt')"
    converted = convert(script(epoch=saved.format(chosen.format("model", "model"))))
    assert converted.outcome is Outcome.CONVERTED
    written = saved.format(chosen.format("unwrap(model)", "unwrap(model)"))
    assert written in converted.text


def test_a_choice_that_is_not_written_keeps_the_wrap() -> None:
    source = script(epoch="state = {'model': model if epoch else None}\nprint(len(state))")
    assert "unwrap(" not in convert(source).text


def test_a_model_that_a_call_puts_in_is_not_pickled() -> None:
    top = "def chosen(*models):\n    return models[0]"
    source = script(top=top, epoch="torch.save({'model': chosen(model) if epoch else 0}, 'm.pt')")
    assert convert(source).outcome is Outcome.REFUSED


def test_a_dict_that_is_not_written_keeps_the_wrap() -> None:
    source = script(epoch="state = {'model': model}\nprint(len(state))")
    assert "unwrap(" not in convert(source).text


def test_an_object_that_holds_the_model_is_not_pickled() -> None:
    top = "class Trainer:\n    def __init__(self, model):\n        self.model = model"
    source = script(top=top, epoch="torch.save(Trainer(model), 'm.pt')")
    assert len(findings(source, "PT315")) == 1
    assert convert(source).outcome is Outcome.REFUSED


SOLVER = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randn(64, 1)), batch_size=8)


class Solver:
    def __init__(self):
        self.net = None
        self.build()

    def build(self):
        if LAYERS == 1:
            self.net = Small()
        elif LAYERS == 2:
            self.net = Large()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.net.to("cpu")

    def train(self):
        for epoch in range(2):
            for x, y in loader:
                loss = nn.functional.mse_loss(self.net(x), y)
                self.net.zero_grad()
                loss.backward()
                self.optimizer.step()
            best = self.net.state_dict()
            torch.save(best, "best.pt")
        del self.net
        self.build()
        self.net.load_state_dict(torch.load("best.pt"))
        print(self.net(torch.ones(1, 3)))


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x):
        return self.layer(x)


class Large(Small):
    def __init__(self):
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))


LAYERS = int(input())
Solver().train()
"""


def test_a_model_is_wrapped_once_where_its_variable_was_none_before() -> None:
    assert convert(SOLVER).text.count("self.net = DistributedDataParallel(self.net)") == 1


def test_states_go_without_the_wrap_of_a_method_that_runs_twice() -> None:
    text = convert(SOLVER).text
    assert "best = unwrap(self.net).state_dict()" in text
    assert "unwrap(self.net).load_state_dict(" in text
    assert "unwrap(self.net).to(" not in text


def test_a_model_that_is_read_in_another_method_goes_without_its_wrap() -> None:
    made = "        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)\n"
    source = SOLVER.replace(made, "").replace('        self.net.to("cpu")\n', "")
    begins = "    def train(self):\n"
    source = source.replace(begins, begins + made)
    source += "other = Solver()\ntorch.save(other.net.state_dict(), 'other.pt')\n"
    text = convert(source).text
    assert "torch.save(unwrap(other.net).state_dict(), 'other.pt')" in text
    assert text.count("DistributedDataParallel(self.net)") == 2
    assert "best = unwrap(self.net).state_dict()" in text
    assert "unwrap(self.net).load_state_dict(" in text


def test_what_was_none_before_it_was_made_is_called_once_it_is_made() -> None:
    assert findings(SOLVER, "PT403") == []
