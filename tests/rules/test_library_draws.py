"""Random numbers that libraries draw where they make the data, from a state that nothing seeds."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

SCRIPT = """\
{imports}
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
{seed}
{made}
loader = DataLoader(data, batch_size=12, shuffle=True)
model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = (model(x) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""
TENSORS = "data = TensorDataset(torch.tensor(x), torch.tensor(y))"
DRAWING = {
    "a library's data": ("import somelib", "x, y = somelib.load()"),
    "a method of a library's object": ("import somelib", "x, y = somelib.Corpus().split(0.8)"),
    "rows of a frame": (
        "import pandas as pd",
        "f = pd.read_csv('d.csv').sample(frac=1); x, y = f['x'].values, f['y'].values",
    ),
    "a shuffled table": (
        "import datasets",
        "d = datasets.load_dataset('imdb').shuffle(); x, y = d['x'], d['y']",
    ),
    "noise": ("import scipy.stats", "x = y = scipy.stats.norm.rvs(size=(64, 6))"),
    "a split": (
        "from sklearn.datasets import load_digits\n"
        "from sklearn.model_selection import train_test_split",
        "x, y = load_digits(return_X_y=True); x, _, y, _ = train_test_split(x, y)",
    ),
}
STILL = {
    "a table": (
        "import datasets",
        "d = datasets.load_dataset('imdb').map(str.lower); x, y = d['x'], d['y']",
    ),
    "arrays": ("import scipy.io", "d = scipy.io.loadmat('d.mat'); x, y = d['x'], d['y']"),
    "a seeded table": (
        "import datasets",
        "d = datasets.load_dataset('imdb').shuffle(seed=1); x, y = d['x'], d['y']",
    ),
    "files": (
        "import pandas as pd",
        "f = pd.read_csv('d.csv').dropna(); x, y = f['x'].values, f['y'].values",
    ),
    "pictures": (
        "from torchvision import datasets",
        "x, y = zip(*datasets.MNIST('data', download=False))",
    ),
    "data as it is": ("import sklearn.datasets as d", "x, y = d.load_digits(return_X_y=True)"),
    "a seeded split": (
        "from sklearn.model_selection import train_test_split",
        "x, y = torch.load('d.pt'); x, _, y, _ = train_test_split(x, y, random_state=0)",
    ),
    "seeded rows": (
        "import pandas as pd",
        "f = pd.read_csv('d.csv').sample(frac=1, random_state=1); x = y = f['x'].values",
    ),
}


def written(imports: str, made: str, seed: str = "") -> str:
    """The output."""
    text = SCRIPT.format(imports=imports, made=f"{made}\n{TENSORS}", seed=seed)
    result = convert(text, Options(shard="data"))
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert result.text is not None
    return result.text


@pytest.mark.parametrize("case", DRAWING)
def test_all_processes_draw_alike(case: str) -> None:
    assert "\nshare_random_state()" in written(*DRAWING[case])


@pytest.mark.parametrize("case", DRAWING)
def test_a_seed_of_the_script_is_enough(case: str) -> None:
    imports, made = DRAWING[case]
    imported = f"import random\nimport numpy as np\n{imports}"
    seeds = "random.seed(0); np.random.seed(0)"
    assert "share_random_state" not in written(imported, made, seeds)
    by_python = "somelib" in imports
    half = written(f"import numpy as np\n{imports}", made, "np.random.seed(0)")
    assert ("share_random_state" in half) is by_python
    assert "\nshare_random_state()" in written(imported, made)


@pytest.mark.parametrize("case", STILL)
def test_what_draws_nothing_is_left_alone(case: str) -> None:
    assert "share_random_state" not in written(*STILL[case])
