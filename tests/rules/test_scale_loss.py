"""Losses that are no plain mean keep the gradient of the global batch."""

from __future__ import annotations

from pathlib import Path

import pytest
from single_rule import Made, made, plan_of

from transpile import Verdict
from transpile.checks.unclaimed import unclaimed
from transpile.rule import Ruling, Rulings
from transpile.rules.pytorch.losses import scale_loss

SCRIPT = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
{top}

START = True
loader = DataLoader(TensorDataset(torch.randn(48, 4), torch.randint(0, 3, (48,)), torch.rand(48)),
                    batch_size=12)
valid = DataLoader(TensorDataset(torch.randn(48, 4), torch.randint(0, 3, (48,)), torch.rand(48)))
model = nn.Linear(4, 3)
criterion = {criterion}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y, mask in loader:
    optimizer.zero_grad()
    out = model(x)
    {body}
    optimizer.step()
"""
LOSSES = "losses = nn.functional.cross_entropy(out, y, reduction='none')\n"
WEIGHTED = "nn.CrossEntropyLoss(weight=torch.rand(3))"


def script(body: str, top: str = "", criterion: str = "nn.CrossEntropyLoss()") -> str:
    return SCRIPT.format(body=body.replace("\n", "\n    "), top=top, criterion=criterion)


def scaled(body: str, top: str = "", criterion: str = "nn.CrossEntropyLoss()") -> Made:
    return made(scale_loss, script(body, top, criterion))


def check_twice(first: Made) -> None:
    """On its own output the rule has nothing to do."""
    again = made(scale_loss, first.after)
    assert {verdict for _, verdict in again.verdicts} == {Verdict.ALREADY_DONE}
    assert again.remarks == []
    assert again.after == first.after


@pytest.mark.parametrize(
    "body",
    [
        "loss = criterion(out, y)\nloss.backward()",
        "criterion(out, y).backward()",
        "loss = criterion(out, y) / 4\nloss.backward(retain_graph=True)",
        "(criterion(out, y) + 0.1 * model.weight.norm()).backward()",
        "torch.autograd.backward(criterion(out, y))",
        "scaler = torch.cuda.amp.GradScaler()\nscaler.scale(criterion(out, y)).backward()",
        "loss = criterion(out, y)\nloss = loss.mean()\nloss.backward()",
        "loss = criterion(model(torch.randn(7, 4)), torch.zeros(7).long())\nloss.backward()",
        "out.mean().backward()",
    ],
)
def test_means_stay_as_they_are(body: str) -> None:
    found = scaled(body)
    assert found.verdicts == [("PT401", Verdict.ALREADY_DONE)]
    assert found.remarks == []
    assert found.after == found.before


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("loss = out.sum()\nloss.backward()", "(loss * get_world_size()).backward()"),
        ("out.sum().backward()", "(out.sum() * get_world_size()).backward()"),
        (
            "loss = out.sum()\n(loss / 12).backward()",
            "(loss / 12 * get_world_size()).backward()",
        ),
        (
            "a, b = out.sum(), x.sum()\n(a + b).backward(retain_graph=True)",
            "((a + b) * get_world_size()).backward(retain_graph=True)",
        ),
        (
            "scaler = torch.cuda.amp.GradScaler()\nloss = out.sum()\nscaler.scale(loss).backward()",
            "scaler.scale(loss * get_world_size()).backward()",
        ),
        (
            "loss = out.sum()\ntorch.autograd.backward(loss)",
            "torch.autograd.backward(loss * get_world_size())",
        ),
        (
            "loss = out.sum()\ntorch.autograd.backward([loss, out.sum()], retain_graph=True)",
            "torch.autograd.backward([loss * get_world_size(), out.sum() * get_world_size()], "
            "retain_graph=True)",
        ),
        (
            "torch.autograd.backward((out.sum() / 2, out.mean()))",
            "torch.autograd.backward((out.sum() / 2 * get_world_size(), out.mean()))",
        ),
        (
            "loss = criterion(out, y) / len(x)\nloss.backward()",
            "(loss / get_world_size()).backward()",
        ),
        (
            "loss = out.sum() * len(x)\nloss.backward()",
            "(loss * get_world_size() ** 2).backward()",
        ),
        (
            "(out.sum() if len(y) else x.sum()).backward()",
            "((out.sum() if len(y) else x.sum()) * get_world_size()).backward()",
        ),
        (
            "(loss := out.sum()).backward()",
            "((loss := out.sum()) * get_world_size()).backward()",
        ),
        (
            "torch.autograd.backward((loss := out.sum()))",
            "torch.autograd.backward(((loss := out.sum()) * get_world_size()))",
        ),
        (
            "out.sum(1).backward(torch.ones_like(mask))",
            "(out.sum(1) * get_world_size()).backward(torch.ones_like(mask))",
        ),
    ],
)
def test_sums_are_multiplied_for_the_backward_pass_alone(body: str, line: str) -> None:
    found = scaled(body)
    assert found.new == [line]
    assert found.verdicts == [("PT402", Verdict.APPLY)]
    check_twice(found)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (
            "loss = out.sum() + 0.1 * model.weight.norm()\nloss.backward()",
            "loss = out.sum() * get_world_size() + 0.1 * model.weight.norm()",
        ),
        (
            "loss = 0.1 * model.weight.norm()\nloss += 2 * out.sum()\nloss.backward()",
            "loss += 2 * out.sum() * get_world_size()",
        ),
        (
            "loss = criterion(out, y) - (out.sum() + x.sum())\nloss.backward()",
            "loss = criterion(out, y) - ((out.sum() + x.sum()) * get_world_size())",
        ),
        (
            "loss = (criterion(out, y) + out.sum() + model.bias.norm()) / 2\nloss.backward()",
            "loss = (criterion(out, y) + out.sum() * get_world_size() + model.bias.norm()) / 2",
        ),
        (
            "def total(a, b):\n    return a + b\n"
            "loss = total(out.sum(), out.mean())\nloss.backward()",
            "return a * get_world_size() + b",
        ),
    ],
)
def test_only_the_summed_term_of_a_mix_is_multiplied(body: str, line: str) -> None:
    found = scaled(body)
    assert found.new == [line]
    check_twice(found)


@pytest.mark.parametrize(
    "body",
    [
        "terms = [out.sum(), out.mean()]\nloss = sum(terms)\nloss.backward()",
        "loss = torch.stack([out.sum(), out.mean()]).sum()\nloss.backward()",
        "def total(a, b):\n    return a.sum() + b\nloss = total(out, out.mean())\nloss.backward()\n"
        "for a, b, c in valid:\n    print(total(model(a), model(a).mean()))",
    ],
)
def test_terms_that_cannot_be_told_apart(body: str) -> None:
    found = scaled(body)
    assert found.after == found.before
    assert found.verdicts == [("PT404", Verdict.REFUSE)] or [c for c, _ in found.remarks] == [
        "PT403"
    ]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (
            "loss = (losses * mask).sum() / mask.sum()\nloss.backward()",
            "loss = (losses * mask).sum() / reduce_mean(mask.sum())",
        ),
        (
            "loss = (losses * mask).sum() / (mask.sum() + 1e-8)\nloss.backward()",
            "loss = (losses * mask).sum() / (reduce_mean(mask.sum()) + 1e-8)",
        ),
        (
            "loss = losses.sum() / (mask * 2).sum().clamp(min=1)\nloss.backward()",
            "loss = losses.sum() / "
            "(reduce_sum((mask * 2).sum()).clamp(min=1) / get_world_size())",
        ),
        (
            "loss = losses.mean() / mask.mean().clamp(min=0.2)\nloss.backward()",
            "loss = losses.mean() / reduce_mean(mask.mean()).clamp(min=0.2)",
        ),
        (
            "loss = (losses * mask).sum() / max(mask.sum(), 1)\nloss.backward()",
            "loss = (losses * mask).sum() / (max(reduce_sum(mask.sum()), 1) / get_world_size())",
        ),
        (
            "count = mask.sum()\nloss = (losses * mask).sum().div(count)\nloss.backward()",
            "loss = (losses * mask).sum().div(reduce_mean(count))",
        ),
        (
            "n = torch.clamp(mask.sum(), min=1)\nloss = (losses * mask).sum() / n\nloss.backward()",
            "n = torch.clamp(reduce_sum(mask.sum()), min=1) / get_world_size()",
        ),
        (
            "loss = (losses * mask).sum()\nloss /= torch.sum(mask)\nloss.backward()",
            "loss /= reduce_mean(torch.sum(mask))",
        ),
        (
            "loss = (losses * mask).sum() / mask.sum().item()\nloss.backward()",
            "loss = (losses * mask).sum() / reduce_mean(mask.sum()).item()",
        ),
        (
            "loss = (losses * (mask / (mask.sum()))).sum()\nloss.backward()",
            "loss = (losses * (mask / reduce_mean(mask.sum()))).sum()",
        ),
        (
            "loss = (losses * mask).sum() / float(mask.sum())\nloss.backward()",
            "loss = (losses * mask).sum() / float(reduce_mean(mask.sum()))",
        ),
    ],
)
def test_denominators_are_averaged(body: str, line: str) -> None:
    found = scaled(LOSSES + body)
    assert found.new == [line]
    assert found.verdicts == [("PT402", Verdict.APPLY)]
    check_twice(found)


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (
            "loss = nn.functional.cross_entropy(out, y, ignore_index=0)\nloss.backward()",
            [
                'loss = nn.functional.cross_entropy(out, y, ignore_index=0, reduction="sum")',
                "loss = loss / reduce_mean((y != 0).sum())",
            ],
        ),
        (
            "some = y[mask > 0]\nnn.functional.cross_entropy(out[mask > 0], some).backward()",
            [
                '(nn.functional.cross_entropy(out[mask > 0], some, reduction="sum") '
                "/ mean_size(some)).backward()",
            ],
        ),
        (
            "some = y[mask > 0]\nloss = criterion(out[mask > 0], some)\nloss.backward()",
            ['loss = F.cross_entropy(out[mask > 0], some, reduction="sum") / mean_size(some)'],
        ),
        (
            "w = torch.rand(3)\nnn.functional.nll_loss(out, y, w, reduction='mean').backward()",
            [
                '(nn.functional.nll_loss(out, y, w, reduction="sum") / reduce_mean(w[y].sum()))'
                ".backward()",
            ],
        ),
        (
            "w = torch.rand(3)\nl = nn.functional.cross_entropy(out, y.view(-1), w, ignore_index=2)"
            "\nl.backward()",
            [
                "l = nn.functional.cross_entropy(out, y.view(-1), w, ignore_index=2, "
                'reduction="sum")',
                "l = l / reduce_mean(w[y.view(-1)[y.view(-1) != 2]].sum())",
            ],
        ),
    ],
)
def test_losses_that_divide_by_their_weights(body: str, lines: list[str]) -> None:
    found = scaled(body)
    assert found.new == lines
    check_twice(found)


@pytest.mark.parametrize(
    ("criterion", "settings", "counted"),
    [
        (WEIGHTED, "weight=criterion.weight, ", "criterion.weight[y].sum()"),
        (
            "nn.CrossEntropyLoss(ignore_index=1)",
            "ignore_index=criterion.ignore_index, ",
            "(y != criterion.ignore_index).sum()",
        ),
        (
            "nn.CrossEntropyLoss(torch.rand(3), label_smoothing=0.1).cuda()",
            "weight=criterion.weight, label_smoothing=criterion.label_smoothing, ",
            "criterion.weight[y].sum()",
        ),
    ],
)
def test_loss_objects_that_divide_by_their_weights(
    criterion: str, settings: str, counted: str
) -> None:
    found = scaled("2 * criterion(out, y).backward()", criterion=criterion)
    assert found.new == [
        f'2 * (F.cross_entropy(out, y, {settings}reduction="sum") / reduce_mean({counted}))'
        ".backward()"
    ]
    assert "import torch.nn.functional as F" in found.after
    check_twice(found)


def test_targets_that_are_marked_are_left_out() -> None:
    found = scaled("y[mask > 0.5] = -100\ncriterion(out, y).backward()")
    assert "reduce_mean((y != criterion.ignore_index).sum())" in found.after
    check_twice(found)


def test_a_shared_loss_is_rewritten_once() -> None:
    body = (
        "def loss_of(a, b):\n    return criterion(model(a), b)\n"
        "loss_of(x, y).backward()\n"
        "for a, b, c in valid:\n    print(loss_of(a, b))"
    )
    found = scaled(body, criterion=WEIGHTED)
    assert len([line for line in found.new if "reduce_mean(" in line]) == 1
    check_twice(found)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("criterion(out @ out.t(), y).backward()", "compares the samples"),
        ("out.std().backward()", "looks at all samples"),
        ("criterion(model(x - x.mean(0)), y).backward()", "combines single samples with a number"),
        ("criterion(model(x / x.sum()), y).backward()", "combines single samples with a number"),
        ("criterion(out - out.mean(), y).backward()", "combines single samples with a number"),
        ("out[mask > 0].mean(0).sum().backward()", "how many differs"),
        ("nn.HuberLoss()(out[mask > 0], out[mask > 0]).backward()", "how many differs"),
        ("((out * 2).sum() / out.sum()).backward()", "denominator"),
        ("package.loss(out, y).backward()", "nothing is known of package.loss"),
        ("out.backward()", "not seen how"),
    ],
)
def test_other_losses_are_left_with_a_warning(body: str, reason: str) -> None:
    found = scaled(body, top="import package")
    assert [code for code, _ in found.remarks] == ["PT403"]
    assert reason in found.remarks[0][1]
    assert found.verdicts == [("PT403", Verdict.ALREADY_DONE)]
    assert found.after == found.before


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("criterion(out, make(y)).backward()", "would be computed twice"),
        ("criterion(*[out, y]).backward()", "unpacked"),
        (
            "n = mask.sum().clamp(min=1)\nprint(n)\n(torch.rand(3)[y].sum() / n).backward()",
            "used for something else",
        ),
        (
            "n = len(y[y > 0])\n(torch.rand(3)[y].sum() / n).backward()",
            "no tensor",
        ),
    ],
)
def test_denominators_out_of_reach_give_a_warning(body: str, reason: str) -> None:
    top = "def make(t):\n    return t + 0\n"
    found = scaled(body, top=top, criterion=WEIGHTED)
    assert [code for code, _ in found.remarks] == ["PT403"]
    assert reason in found.remarks[0][1]
    assert found.after == found.before


def test_every_backward_pass_is_claimed() -> None:
    bodies = [
        "criterion(out, y).backward()",
        "out.sum().backward()",
        "(out @ out.t()).mean().backward()",
        "(mask.sum() / (mask > 0).sum()).backward()\nout.mean().backward()",
        "def unused(a):\n    a.backward()\nout.mean().backward()",
    ]
    for body in bodies:
        plan = plan_of(script(body))
        rulings = [one for one in scale_loss.decide(plan) if isinstance(one, Ruling)]
        left = [one.message for one in unclaimed(plan, Rulings({"scale-loss": rulings}))]
        assert not [message for message in left if "backward" in message]


def test_gradients_that_a_function_defines_are_no_backward_pass() -> None:
    top = """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.a = a
        return a * 2

    @staticmethod
    def backward(ctx, grad):
        torch.autograd.backward(ctx.a.sum(), grad)
        return grad
"""
    found = scaled("(out.mean() + Double.apply(torch.ones(1)).sum()).backward()", top=top)
    assert ("PT401", Verdict.ALREADY_DONE) in found.verdicts
    assert {verdict for _, verdict in found.verdicts} == {Verdict.ALREADY_DONE}
    assert found.after == found.before


def test_a_loss_in_another_module_is_asked_for_there(tmp_path: Path) -> None:
    (tmp_path / "losses.py").write_text(
        "def masked(losses, mask):\n    return (losses * mask).sum() / mask.sum()\n"
    )
    text = script(f"{LOSSES}masked(losses, mask).backward()", top="from losses import masked")
    found = made(scale_loss, text, tmp_path)
    assert found.foreign > 0
    assert found.new == []
