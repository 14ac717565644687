"""Parts of models that are kept and reached by names which are computed."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert
from transpile.facts.names import may_be_one

SCRIPT = """\
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--depth", type=int, default=3)
args = parser.parse_args()


class Coupling(nn.Module):
    def forward(self, h):
        return h - h.mean(0)


class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.depth = depth
        for i in range(depth):
            {keep}
        self.out = nn.Linear(6, 2)

    def forward(self, h):
        for i in range(self.depth):
            h = torch.relu({reach}(h))
        return self.out(h)


data = TensorDataset(torch.randn(48, 6), torch.randn(48, 2))
model = Net({depth})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=12):
    loss = (model(x) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""
KEEP = [
    'setattr(self, f"layer{i}", LAYER)',
    'setattr(self, "layer" + str(i), LAYER)',
    'self.add_module("layer%d" % i, LAYER)',
    'self.register_module("layer{}".format(i), LAYER)',
    'object.__setattr__(self, f"layer{i}", LAYER)',
]
REACH = ['getattr(self, f"layer{i}")', 'getattr(self, "layer%d" % i)', "self.layer0"]
LINEAR, COUPLING = "nn.Linear(6, 6)", "Coupling()"


def found(keep: str, reach: str, layer: str, depth: str = "args.depth") -> set[str]:
    """The codes of warnings and errors where batches are shared."""
    text = SCRIPT.format(keep=keep.replace("LAYER", layer), reach=reach, depth=depth)
    result = convert(text, Options(shard="data"))
    assert result.outcome in (Outcome.CONVERTED, Outcome.REFUSED), result.findings
    return {one.code for one in result.findings if one.level.name in ("WARNING", "ERROR")}


@pytest.mark.parametrize("depth", ["args.depth", "3"])
@pytest.mark.parametrize("reach", REACH)
@pytest.mark.parametrize("keep", KEEP[:4])
def test_layers_under_computed_names_are_followed(keep: str, reach: str, depth: str) -> None:
    assert found(keep, reach, LINEAR, depth) == set()


@pytest.mark.parametrize("depth", ["args.depth", "3"])
@pytest.mark.parametrize("reach", REACH)
@pytest.mark.parametrize("keep", KEEP)
def test_layers_under_computed_names_that_couple_are_told(
    keep: str, reach: str, depth: str
) -> None:
    assert found(keep, reach, COUPLING, depth) & {"PT414", "PT403", "PT413"}


@pytest.mark.parametrize("reach", ['getattr(self, f"{args.depth}")', "getattr(self, str(i))"])
def test_names_of_which_nothing_is_written_stay_unknown(reach: str) -> None:
    assert found(KEEP[0], reach, LINEAR)


def test_an_attribute_may_be_changed_under_a_computed_name() -> None:
    keep = f"self.layer = {LINEAR}; setattr(self, f'lay{{i}}', {COUPLING})"
    assert found(keep, "self.layer", LINEAR) & {"PT414", "PT403", "PT413"}


def test_names_that_are_gone_over_are_each_followed() -> None:
    keep = "[setattr(self, name, LAYER) for name in ('key', 'query')]"
    reach = "(lambda h: [h := getattr(self, name)(h) for name in ('key', 'query')][-1])"
    assert found(keep, "self.key", LINEAR) == set()
    assert found(keep, "self.key", COUPLING)
    assert found(keep, reach, COUPLING)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("layer1", "layer1", True),
        ("layer1", "layer2", False),
        ("layer*", "layer12", True),
        ("head", "layer*", False),
        ("*_loss", "mse_loss", True),
        ("*_loss", "loss", False),
        ("a*_loss", "ab*", True),
        ("a*_loss", "b*", False),
        ("a*x", "a*y", False),
        ("a.*", "abc", False),
    ],
)
def test_names_may_be_one(left: str, right: str, expected: bool) -> None:
    assert may_be_one(left, right) is expected
    assert may_be_one(right, left) is expected
