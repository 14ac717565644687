"""Trainings that run several times: processes join once, and draw what differs alike."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

HEAD = """\
import random

import numpy as np
import torch
from sklearn.model_selection import KFold
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

X = torch.linspace(-1, 1, 288).reshape(48, 6)
data = TensorDataset(X, X[:, :1])


def run_fold(train, lr=0.05, width=5):
    loader = DataLoader(Subset(data, train.tolist()), batch_size=12)
    model = nn.Sequential(nn.Linear(6, width), nn.Linear(width, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
    return loss.item()


"""
FOLDS = {
    "a comprehension": """
def main():
    folds = KFold(4, shuffle=True, random_state=3)
    print(np.mean([run_fold(train) for train, test in folds.split(X)]))

main()
""",
    "a loop": """
def main():
    folds = KFold(4, shuffle=True, random_state=3)
    for train, test in folds.split(X):
        run_fold(train)

main()
""",
    "map": """
def main():
    order = np.random.permutation(48)
    return list(map(run_fold, np.array_split(order, 4)))

main()
""",
    "a guard": """
if __name__ == "__main__":
    order = np.random.permutation(48)
    scores = [run_fold(order[12 * k : 12 * k + 12]) for k in range(4)]
""",
}
CHOICES = {
    "learning rate": ("run_fold(np.arange(48), lr=LINE)", "10 ** random.uniform(-3, -1)"),
    "width": ("run_fold(np.arange(48), width=LINE)", "random.choice([4, 5, 6])"),
    "width by NumPy": ("run_fold(np.arange(48), width=LINE)", "int(np.random.randint(4, 9))"),
    "seed": ("torch.manual_seed(LINE)\n    run_fold(np.arange(48))", "random.randint(0, 99)"),
}


@pytest.mark.parametrize("name", FOLDS)
def test_processes_join_above_all_folds_and_their_split(name: str) -> None:
    found = convert(HEAD + FOLDS[name], path="train.py")
    assert found.outcome is Outcome.CONVERTED
    body = found.text[found.text.index("def main" if "def main" in found.text else "__name__") :]
    assert body.count('    setup_distributed("gloo")') == 1
    assert body.count("    cleanup_distributed()") == 1
    for drawn in ("KFold(4", "permutation(48)"):
        if drawn in body:
            assert body.index('setup_distributed("gloo")') < body.index(drawn)


@pytest.mark.parametrize("name", CHOICES)
def test_settings_of_a_later_training_are_drawn_alike(name: str) -> None:
    line, drawn = CHOICES[name]
    script = HEAD + "for trial in range(3):\n    " + line.replace("LINE", f"{drawn}") + "\n"
    script = script.replace(f"={drawn}", "=chosen").replace(f"({drawn})", "(chosen)")
    script = script.replace("range(3):\n", f"range(3):\n    chosen = {drawn}\n")
    text = convert(script, path="train.py").text
    assert f"with shared_randomness():\n        chosen = {drawn}" in text


def test_settings_drawn_once_need_no_care() -> None:
    script = HEAD + "run_fold(np.arange(48), lr=random.uniform(0, 1))\n"
    assert "shared_randomness" not in convert(script, path="train.py").text
