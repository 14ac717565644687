"""Trainings that a library calls with settings of its own choice."""

from __future__ import annotations

import pytest

from transpile import Level, Outcome, convert

SCRIPT = """\
import functools

import cProfile
import fire
import optuna
import tunelib
import wandb
from absl import app
from hyperopt import fmin
from ray import tune
from skopt import gp_minimize

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(48, 6), torch.randn(48, 1))


def train(lr):
    torch.manual_seed(1)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    loader = DataLoader(data, batch_size=12)
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()


"""
CHOSEN = {
    "a function": """
def objective(trial):
    return train(trial.suggest_float("lr", 0.01, 0.1))

optuna.create_study().optimize(objective, n_trials=3)
""",
    "a lambda": "optuna.create_study().optimize(lambda t: train(t.suggest_float('lr', 0, 1)))",
    "an object": """
class Objective:
    def __call__(self, trial):
        return train(trial.suggest_float("lr", 0.01, 0.1))

def main():
    optuna.create_study().optimize(Objective(), n_trials=3)

main()
""",
    "a partial": """
def objective(trial, scale):
    return train(trial.suggest_float("lr", 0.01, 0.1) * scale)

optuna.create_study().optimize(functools.partial(objective, scale=2))
""",
    "asked": """
study = optuna.create_study()
for _ in range(3):
    trial = study.ask()
    train(trial.suggest_float("lr", 0.01, 0.1))
""",
    "gp_minimize": "gp_minimize(lambda p: train(p[0]), [(0.01, 0.1)])",
    "fmin": "fmin(fn=train, space=[0.01, 0.1], max_evals=3)",
    "tune": "tune.run(lambda config: train(config['lr']), config={})",
    "agent": """
def run():
    wandb.init()
    train(wandb.config.lr)

wandb.agent("sweep", function=run, count=5)
""",
    "a library that nobody knows": "tunelib.Search().go(train)",
}
GIVEN = {
    "a loop": "for lr in (0.1, 0.01):\n    train(lr)",
    "map": "list(map(train, [0.1, 0.01]))",
    "the command line": "fire.Fire(train)",
    "an application": "app.run(lambda argv: train(0.1))",
    "a profiler": "cProfile.Profile().runcall(train, 0.1)",
    "a tracker": "wandb.init(config={'lr': 0.1})\ntrain(0.1)",
}


@pytest.mark.parametrize("name", CHOSEN)
def test_library_that_chooses_settings_is_named(name: str) -> None:
    found = convert(SCRIPT + CHOSEN[name] + "\n", path="train.py")
    assert found.outcome is Outcome.REFUSED
    (error,) = [each for each in found.findings if each.level is Level.ERROR]
    assert error.code == "PT105"


@pytest.mark.parametrize("name", GIVEN)
def test_others_may_call_a_training(name: str) -> None:
    found = convert(SCRIPT + GIVEN[name] + "\n", path="train.py")
    assert found.outcome is Outcome.CONVERTED
    assert "PT105" not in {each.code for each in found.findings}
