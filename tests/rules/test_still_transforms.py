"""Random numbers vary between processes only where the training draws some."""

from __future__ import annotations

import pytest

from transpile import convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader
{imports}

torch.manual_seed(0)
change = transforms.Compose([{changes}])
loader = DataLoader(datasets.MNIST("data", transform=change), batch_size=64)
model = {model}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""
PLAIN = "from torchvision import datasets, models, transforms"
LINEAR = "nn.Sequential(nn.Flatten(), nn.Linear(784, 10))"
STILL = "transforms.ToTensor(), transforms.Normalize((0.1,), (0.3,))"


def varies(imports: str, changes: str, model: str) -> bool:
    """Whether each process goes on with random numbers of its own."""
    text = SCRIPT.format(imports=imports, changes=changes, model=model)
    return "\nvary_seed()\n" in convert(text, path="train.py").text


@pytest.mark.parametrize(
    "imports",
    [
        PLAIN,
        "from torchvision import datasets\nimport torchvision.transforms as transforms",
        "import torchvision\nfrom torchvision import datasets\n"
        "from torchvision.transforms import v2 as transforms",
    ],
)
def test_nothing_varies_where_images_are_only_read(imports: str) -> None:
    assert not varies(imports, STILL, LINEAR)


@pytest.mark.parametrize(
    ("imports", "changes", "model"),
    [
        (PLAIN, f"transforms.RandomHorizontalFlip(), {STILL}", LINEAR),
        (PLAIN, f"transforms.SomethingNew(), {STILL}", LINEAR),
        (PLAIN, STILL, "models.vgg11()"),
        (f"{PLAIN}\nfrom torchvision.transforms import *", STILL, LINEAR),
    ],
)
def test_what_draws_varies(imports: str, changes: str, model: str) -> None:
    assert varies(imports, changes, model)
