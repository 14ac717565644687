"""Policies that give distributions: their rows are those of the parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
import torch
from torch import distributions

from transpile import Level, Options, Outcome, convert
from transpile.rules.pytorch.emitted.distributions import put_together, take_apart
from transpile.verify import Auditor
from transpile.verify.table import format_report

SCRIPT = """\
import torch
from torch import nn
from torch.distributions import {family}

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
        self.mean = nn.Linear(16, 3)
        self.value = nn.Linear(16, 1)
        self.scale = nn.Parameter(torch.zeros(3))

    def {name}(self, rows):
        hidden = self.body(rows)
        {more}
        return {law}, self.value(hidden).squeeze(-1)

    def act(self, rows):
        law, value = self{call}(rows)
        action = law.sample()
        return action, law.log_prob(action), value


def play(rows, action):
    return 0.9 * rows + 0.1 * action.double().reshape(len(rows), -1).mean(1, keepdim=True)


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for round in range(3):
    rows, kept = torch.randn(8, 4), []
    for step in range(4):
        with torch.no_grad():
            action, chance, value = policy.act(rows)
        kept.append((rows, action, chance, -rows.abs().sum(1) - value))
        rows = play(rows, action)
    states, actions, chances, gains = (torch.cat(each) for each in zip(*kept))
    for _ in range(2):
        order = torch.randperm(len(states))
        for start in range(0, len(states), 16):
            at = order[start : start + 16]
            law, value = policy{call}(states[at])
            ratio = (law.log_prob(actions[at]) - chances[at]).exp()
            loss = -torch.min(ratio * gains[at], ratio.clamp(0.8, 1.2) * gains[at]).mean()
            loss = loss + (value - gains[at]).pow(2).mean() - 0.01 * law.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(round, loss.item(), gains.mean().item())
torch.save(policy.state_dict(), "policy.pt")
"""
CATEGORICAL = {"family": "Categorical", "law": "Categorical(logits=self.mean(hidden))"}
NORMAL = {
    "family": "Independent, Normal",
    "law": "Independent(Normal(self.mean(hidden), self.scale.exp()), 1)",
}
METHOD = {"name": "distribution", "call": ".distribution"}


def script(**parts: str) -> str:
    """The script with what is given put in."""
    return SCRIPT.format(**{"name": "forward", "call": "", "more": "pass"} | parts)


@pytest.mark.parametrize("way", ["data", "calls"])
@pytest.mark.parametrize("parts", [CATEGORICAL, NORMAL | METHOD], ids=["model", "method"])
def test_it_is_trained_as_by_one_process(
    parts: dict[str, str], way: Literal["data", "calls"], tmp_path: Path, auditor: Auditor
) -> None:
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(script(**parts), "utf-8")
    result = convert(script(**parts), Options(shard=way))
    assert result.outcome is Outcome.CONVERTED
    assert all(one.level is Level.NOTE for one in result.findings), result.findings
    output.write_bytes(result.data)
    report = auditor.audit(original, output, world_sizes=(1, 2), tolerance=1e-9, timeout_seconds=90)
    assert report.passed, format_report(report)


@pytest.mark.parametrize(
    "parts",
    [
        # What others hold has no rows that are known.
        {
            "family": "MultivariateNormal",
            "law": "MultivariateNormal(self.mean(hidden), torch.diag(self.scale.exp()))",
        },
        # Rows that were made of each other.
        CATEGORICAL | {"more": "hidden = hidden - hidden.mean(0)"},
        # Draws from the rows, not for them.
        {"family": "Categorical", "law": "Categorical(logits=self.mean(hidden).t())"},
    ],
    ids=["other family", "mixed", "across"],
)
@pytest.mark.parametrize("way", ["data", "calls"])
def test_what_has_no_rows_is_told(parts: dict[str, str], way: Literal["data", "calls"]) -> None:
    found = convert(script(**parts), Options(shard=way)).findings
    checked = {"PT354", "PT363"}.intersection(one.code for one in found)
    assert checked or any(one.level is not Level.NOTE for one in found)


P = torch.rand(5, 3, generator=torch.Generator().manual_seed(0)) + 0.1


@pytest.mark.parametrize(
    "law",
    [
        distributions.Normal(P, 1.5),
        distributions.LogNormal(P, P),
        distributions.Laplace(P, P),
        distributions.Cauchy(P, P),
        distributions.HalfNormal(P),
        distributions.Exponential(P),
        distributions.Poisson(P),
        distributions.Bernoulli(probs=P / 2),
        distributions.Bernoulli(logits=P),
        distributions.Geometric(P / 2),
        distributions.Gamma(P, P),
        distributions.Beta(P, 2 * P),
        distributions.StudentT(P + 1, P, P),
        distributions.Uniform(P, P + 1),
        distributions.Categorical(P),
        distributions.Categorical(logits=P),
        distributions.OneHotCategorical(P),
        distributions.Dirichlet(P),
        distributions.Independent(distributions.Normal(P, P), 1),
    ],
    ids=lambda law: type(law).__name__,
)
def test_it_is_made_again_of_its_parameters(law: distributions.Distribution) -> None:
    apart = take_apart({"law": law}["law"])
    again = put_together({"law": [apart]})["law"][0]
    assert type(again) is type(law)
    torch.manual_seed(1)
    draw = law.sample()
    torch.manual_seed(1)
    assert torch.equal(draw, again.sample())
    assert torch.allclose(law.log_prob(draw), again.log_prob(draw), rtol=1e-6)
