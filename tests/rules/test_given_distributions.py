"""Distributions that a model gives, and what is drawn from them as the batch."""

from __future__ import annotations

from typing import Literal

import pytest

from transpile import Level, Options, Outcome, convert

ROLLOUTS = """\
import torch
import torch.nn as nn
from torch.distributions import Categorical, MixtureSameFamily, Normal

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.action, self.value = nn.Linear(3, 2), nn.Linear(3, 1)

    def forward(self, x):
        return Categorical(logits=self.action(x)), self.value(x).squeeze(-1)


policy = Policy()
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
for iteration in range(4):
    states, actions = [], []
    state = torch.zeros(3)
    for step in range(16):
        with torch.no_grad():
            chances, value = policy(state[None])
            action = chances.sample()
        states.append(state)
        actions.append(action[0])
        state = 0.5 * state + action.float()
    states, actions = torch.stack(states), torch.stack(actions)
    for rows in torch.randperm(len(states)).split(8):
        chances, value = policy(states[rows])
        loss = value.pow(2).mean() - chances.log_prob(actions[rows]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_calls_that_give_distributions_of_no_known_rows_are_not_split() -> None:
    mixture = "MixtureSameFamily(Categorical(torch.ones(2)), Normal(self.action(x), 1.0))"
    text = ROLLOUTS.replace("Categorical(logits=self.action(x))", mixture)
    result = convert(text, Options(shard="calls"), path="train.py")
    assert result.outcome is Outcome.REFUSED
    (found,) = [one for one in result.findings if one.code == "PT352"]
    assert found.level is Level.ERROR
    assert "it gives an object of a library" in found.message


@pytest.mark.parametrize("shard", ["auto", "data"])
def test_what_is_drawn_from_a_distribution_that_a_model_gives_is_the_same_everywhere(
    shard: Literal["auto", "data"],
) -> None:
    result = convert(ROLLOUTS, Options(shard=shard), path="train.py")
    assert "            with shared_randomness():\n                action = chances.sample()" in (
        result.text
    )
