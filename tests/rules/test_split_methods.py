"""Models that are trained through methods: which of these have their calls split, and which not."""

from __future__ import annotations

import pytest

from transpile import Level, Options, Outcome, Result, convert
from transpile.auditing import audit
from transpile.rules.pytorch.emitted import split_calls as emitted

HEAD = """\
import torch
from torch import nn
from torch.distributions import Categorical, Normal


class Base(nn.Module):
    pass


class Agent({base}):
    def __init__(self):
        super().__init__()
        self.actor, self.critic = nn.Linear(4, 3), nn.Linear(4, 1)
        {made}

    def value(self, x):
        return self.critic(x){value}

{decorator}    def evaluate(self, x, action):
        {evaluate}
        return law.log_prob(action), law.entropy()


torch.manual_seed(0)
states, actions = torch.randn(48, 4), torch.randint(0, 3, (48,))
agent = Agent()
optimizer = torch.optim.SGD({parameters}, lr=0.1)
for epoch in range(3):
    for rows in torch.randperm(48).split(12):
        chances, entropy = agent.evaluate(states[rows], actions[rows])
        gain = chances - agent.value(states[rows]).squeeze(-1)
        loss = (gain / gain.std()).mean() - entropy.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
PLAIN = {
    "base": "Base",
    "made": "pass",
    "value": "",
    "decorator": "",
    "evaluate": "law = Categorical(logits=self.actor(x))",
    "parameters": "agent.parameters()",
}


def converted(shard: str = "calls", **parts: str) -> Result:
    """What becomes of an agent."""
    script = HEAD.format(**{**PLAIN, **parts})
    return convert(script, Options(shard=shard), path="train.py")  # type: ignore[arg-type]


def said(result: Result) -> str:
    """What is said of it."""
    return "\n".join(f"{one.code} {one.message}" for one in result.findings)


def split(text: str) -> list[str]:
    """The methods with a decorator of ours."""
    lines = text.splitlines()
    marks = [at for at, line in enumerate(lines) if line.strip().startswith("@split_method(")]
    found = []
    for at in marks:
        head = next(line for line in lines[at:] if line.strip().startswith("def "))
        found.append(head.strip()[4:].partition("(")[0])
    return found


def test_methods_that_training_goes_through_are_split() -> None:
    result = converted()
    assert result.outcome is Outcome.CONVERTED, said(result)
    assert split(result.text) == ["value", "evaluate"]
    assert "average_gradients(optimizer)" in result.text
    assert "DistributedDataParallel(" not in result.text.replace("class", "")
    assert "agent.evaluate(states[rows], actions[rows])" in result.text


def test_the_better_way_is_found() -> None:
    assert split(converted("auto").text) == ["value", "evaluate"]
    assert not split(converted("data").text)


@pytest.mark.parametrize(
    "parameters", ["[*agent.actor.parameters(), *agent.critic.parameters()]", "agent.parameters()"]
)
def test_optimizers_of_parts_count_as_those_of_the_model(parameters: str) -> None:
    result = converted(parameters=parameters)
    assert split(result.text) == ["value", "evaluate"], said(result)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"value": " - self.critic(x).mean()"}, "'mean' is taken over the samples"),
        ({"made": "self.norm = nn.BatchNorm1d(4)", "value": " + self.norm(x)"}, "batch norm"),
    ],
)
def test_a_method_that_mixes_samples_is_computed_whole(parts: dict[str, str], reason: str) -> None:
    result = converted(**parts)
    assert result.outcome is Outcome.CONVERTED, said(result)
    assert split(result.text) == ["evaluate"]
    assert "PT362 every process computes the calls of 'value' whole" in said(result)
    assert reason in said(result)


def test_decorated_methods_are_computed_whole() -> None:
    result = converted(decorator="    @torch.autocast('cpu', enabled=False)\n")
    assert split(result.text) == ["value"]
    assert "it has a decorator already" in said(result)


def test_where_nothing_can_be_split_nothing_is_written() -> None:
    mixing = "law = Categorical(logits=self.actor(x) - self.actor(x).mean(0))"
    result = converted(evaluate=mixing, value=" - self.critic(x).mean()")
    assert result.outcome is Outcome.REFUSED
    refusal = next(one.message for one in result.findings if one.code == "PT352")
    assert "'evaluate', which training goes through: 'mean' is taken over the samples" in refusal


def test_outputs_in_dicts_are_those_of_a_method() -> None:
    script = HEAD.format(**PLAIN)
    given = "return law.log_prob(action), law.entropy()"
    taken = "chances, entropy = agent.evaluate(states[rows], actions[rows])"
    assert given in script and taken in script
    script = script.replace(
        given, "return {'chances': law.log_prob(action), 'rest': law.entropy()}"
    )
    script = script.replace(
        taken,
        taken.replace("chances, entropy", "given")
        + "\n        chances, entropy = given['chances'], given['rest']",
    )
    result = convert(script, Options(shard="calls"), path="train.py")
    assert split(result.text) == ["value", "evaluate"], said(result)


def test_unknown_operations_are_checked_with_the_first_batch() -> None:
    script = HEAD.format(
        **{**PLAIN, "evaluate": "law = Categorical(logits=lib.mix(self.actor(x)))"}
    )
    result = convert(f"import lib\n{script}", Options(shard="calls"), path="train.py")
    assert "@split_method(CheckedSplitMethod" in result.text, said(result)
    assert "PT363" in said(result)


def test_methods_of_a_model_that_is_called_are_left_alone() -> None:
    script = (
        HEAD.format(**PLAIN).replace("def value", "def forward").replace("agent.value", "agent")
    )
    result = convert(script, Options(shard="calls"), path="train.py")
    assert "= SplitCalls(" in result.text and not split(result.text)


def test_methods_of_a_class_that_a_wrap_is_around_are_computed_whole() -> None:
    """The wrap would hand them rows of one rank, which they would share out again."""
    script = HEAD.format(**PLAIN).replace("def value(self, x):\n        return self.critic(x)",
        "def value(self, x):\n        return self.critic(x)\n\n"
        "    def forward(self, x):\n        return self.value(x)")  # fmt: skip
    script = script.replace("agent = Agent()", "agent, other = Agent(), Agent()")
    script = script.replace("SGD(agent.parameters()",
                            "SGD([*agent.parameters(), *other.parameters()]")  # fmt: skip
    script = script.replace("- entropy.mean()", "- entropy.mean() + other(states[rows]).mean()")
    result = convert(script, Options(shard="calls"), path="train.py")
    assert "other = SplitCalls(other" in result.text, said(result)
    assert not split(result.text)
    assert "a model of the same class is called itself" in said(result)


def test_methods_without_gradients_are_left_alone() -> None:
    gain = "chances - agent.value(states[rows]).squeeze(-1)"
    script = HEAD.format(**PLAIN).replace(gain, gain.replace(".squeeze", ".detach().squeeze"))
    result = convert(script, Options(shard="calls"), path="train.py")
    assert split(result.text) == ["evaluate"]


def test_the_output_passes_the_audit_and_a_changed_helper_is_looked_at() -> None:
    text = converted(decorator="").text
    stop = "        if loss.item() > 90:\n            break\n        loss.backward()"
    text = text.replace("        loss.backward()", stop)
    findings = audit(text, path="train_dist.py")
    assert not [one for one in findings if one.level is Level.ERROR], findings
    changed = text.replace("rows.module = True, model", "rows.module = False, model")
    assert changed != text
    assert [one for one in audit(changed, path="train_dist.py") if one.level is not Level.NOTE]


def test_an_input_that_a_model_gives_back_has_rows() -> None:
    """It was an internal error: nothing had asked of how many axes it is."""
    script = HEAD.format(**PLAIN).replace(
        "return law.log_prob(action), law.entropy()",
        "return law.log_prob(action), law.entropy(), action",
    )
    script = script.replace("chances, entropy =", "chances, entropy, again =")
    result = convert(script, Options(shard="calls"), path="train.py")
    assert split(result.text) == ["value", "evaluate"], said(result)


class Agent:
    """What the helper is asked of: a model of which only the method matters."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def evaluate(self, x: int) -> int:
        """Note down a call."""
        self.seen.append(x)
        return x + 1


def test_in_one_process_a_method_is_what_it_was() -> None:
    agent = Agent()
    method = emitted.split_method(emitted.SplitMethod)(Agent.evaluate)
    assert method(agent, 3) == 4 and agent.seen == [3]
    assert method.__name__ == "evaluate" and method.__doc__ == Agent.evaluate.__doc__


SEVERAL = """\
import sys

import torch
import torch.nn.functional as F
from torch import nn


class First(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def scores(self, x):
        return self.layer(x)


class Second(First):
    def scores(self, x):
        h = self.layer(x)
        return h - 0.5 * h.roll(1, 0)


net = First() if len(sys.argv) > 1 else Second()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
rows = torch.utils.data.TensorDataset(torch.randn(40, 5), torch.randn(40, 3))
for x, y in torch.utils.data.DataLoader(rows, batch_size=8):
    optimizer.zero_grad()
    F.mse_loss(net.scores(x), y).backward()
    optimizer.step()
"""


def test_each_method_that_a_call_may_be_of_is_looked_at() -> None:
    """Nothing was said where it may be one of several models."""
    mixing = [
        one for one in convert(SEVERAL, Options(shard="data")).findings if one.code == "PT413"
    ]
    assert mixing and mixing[0].level is Level.WARNING


@pytest.mark.parametrize("touched", [False, True])
def test_what_a_model_merely_holds_hands_nothing_on(touched: bool) -> None:
    """An environment that is kept counts where the model's own methods come to it."""
    script = HEAD.format(
        **{**PLAIN, "made": "self.env = envs", "value": " + self.env.bias()" * touched}
    )
    script = script.replace("import torch\n", "import gymnasium\nimport torch\n", 1)
    script = script.replace("class Base", 'envs = gymnasium.make("Walk")\n\n\nclass Base')
    script = script.replace("gain = chances", "gain = chances * envs.spread")
    result = convert(script, Options(shard="calls"), path="train.py")
    assert ("'spread' may hand samples on" in said(result)) is touched, said(result)
    assert bool(split(result.text)) is not touched
