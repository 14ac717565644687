"""Gradients that a wrap would not average as one process has them are averaged, or spoken of."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options, Outcome, Result
from transpile import convert as convert_on_any_way

SCRIPT = """\
import functools

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Bent(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, grad):
        {backward}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.last = {last}
        self.mean = torch.zeros(8)

    def forward(self, x):
        h = self.first(x)
        {forward}
        return self.last(h)


data = TensorDataset(torch.randn(48, 4), torch.randint(0, 3, (48,)))
loader = DataLoader(data, batch_size=12)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
{setup}
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        out = model(x)
        {step}
        optimizer.step()
"""
STEP = "F.cross_entropy(out, y).backward()"


def result(**parts: str) -> Result:
    """What becomes of the script with some places filled."""
    return convert(script(**parts), path="train.py")


def script(**parts: str) -> str:
    """The script with some places filled."""
    filled = {
        "backward": "return grad",
        "last": "nn.Linear(8, 3)",
        "forward": "pass",
        "setup": "",
        "step": STEP,
        **parts,
    }
    filled = {key: text.replace("\n", "\n        ") for key, text in filled.items()}
    filled["setup"] = parts.get("setup", "")
    return SCRIPT.format(**filled)


def loud(found: Result) -> set[str]:
    """The codes of warnings and errors."""
    return {finding.code for finding in found.findings if finding.level.label != "note"}


TWICE = (
    "F.cross_entropy(out, y).backward(retain_graph=True)\nout.pow(2).mean().backward()",
    "again = model(x)\nF.cross_entropy(out, y).backward()\nF.cross_entropy(again, y).backward()",
    "for part in (0, 1):\n    out[:, part].mean().backward(retain_graph=True)",
    "F.cross_entropy(out, y).backward(retain_graph=True)\nloss = out.pow(2).mean()\n"
    "if len(data) > 100:\n    loss = loss + model(x).mean()\nloss.backward()",
)


@pytest.mark.parametrize("step", TWICE)
def test_second_pass_through_a_call_is_averaged_by_hand(step: str) -> None:
    found = result(step=step)
    assert found.outcome is Outcome.CONVERTED
    assert "average_gradients(optimizer)" in found.text
    assert "DistributedDataParallel(" not in found.text


@pytest.mark.parametrize(
    "step",
    [
        STEP,
        "if epoch:\n    F.cross_entropy(out, y).backward()\nelse:\n    out.mean().backward()",
        "F.cross_entropy(out, y).backward()\nF.cross_entropy(model(x), y).backward()",
        "F.cross_entropy(out, y).backward()\nif len(data) > 100:\n    loss = model(x).mean()\n"
        "else:\n    loss = model(2 * x).mean()\nloss.backward()",
        "other = model(x)\n(F.cross_entropy(out, y) + other.pow(2).mean()).backward()",
        "out.detach().mean()\nF.cross_entropy(out, y).backward()",
        "F.cross_entropy(out, y).backward()\n(scale * out.data.mean()).sum().backward()",
        "F.cross_entropy(out, y).backward()\n(scale * out.detach().mean()).sum().backward()",
    ],
)
def test_one_pass_for_each_call_is_left_to_the_wrap(step: str) -> None:
    text = result(step=step, setup="scale = torch.ones(1, requires_grad=True)").text
    assert "DistributedDataParallel(model)" in text
    assert "average_gradients" not in text


PENALTY = (
    "x.requires_grad_(True)\nout = model(x)\n"
    "(g,) = torch.autograd.grad(out.sum(), x, create_graph=True)\nloss = g.pow(2).mean()\n"
)


@pytest.mark.parametrize(
    ("more", "by_hand"),
    [("", True), (" + out.detach().mean()", True), (" + F.cross_entropy(out, y)", False)],
)
def test_a_loss_of_gradients_alone_is_averaged_by_hand(more: str, by_hand: bool) -> None:
    text = result(step=f"{PENALTY}loss = loss{more}\nloss.backward()").text
    assert ("average_gradients(optimizer)" in text) is by_hand
    assert ("DistributedDataParallel(model)" in text) is not by_hand


def test_second_pass_is_refused_where_gradients_are_read_in_between() -> None:
    found = result(
        step="F.cross_entropy(out, y).backward(retain_graph=True)\n"
        "first = [p.grad.clone() for p in model.parameters()]\n"
        "optimizer.zero_grad()\nout.mean().backward()\n"
        "for p, g in zip(model.parameters(), first):\n    p.grad = p.grad + g"
    )
    assert found.outcome is Outcome.REFUSED
    assert any("two backward passes" in finding.message for finding in found.findings)


HOOKS = {
    "model.first.weight.register_hook(lambda g: g.clamp(-1, 1))": True,
    "model.first.weight.register_hook(lambda g: g / g.norm())": True,
    "model.first.weight.register_hook(lambda g: torch.sign(g))": True,
    "model.first.weight.register_hook(lambda g: g * g)": True,
    "model.first.weight.register_hook(lambda g: g * 2)": False,
    "model.first.weight.register_hook(lambda g: -0.5 * g)": False,
    "model.first.weight.register_hook(lambda g: g * (model.first.weight > 0))": False,
    "model.first.weight.register_hook(lambda g: g // 2)": True,
    "model.first.weight.register_hook(lambda g: g * abs(-2))": False,
    "model.first.weight.register_hook(lambda g: abs(g) * 2)": True,
    "model.first.weight.register_hook(lambda g: 1 / g)": True,
    "model.first.weight.register_hook(lambda g: g + 1)": True,
    "model.first.weight.register_hook(lambda g: g + 2 * g)": False,
    "def more(g):\n    g += 2 * g\n    g *= 3\n    return g\n"
    "model.first.weight.register_hook(more)": False,
    "def more(g):\n    g *= g\n    return g\nmodel.first.weight.register_hook(more)": True,
    "kept = []\nmodel.first.weight.register_hook(lambda g: kept.append(g))": True,
    "kept = {}\ndef keep(g):\n    kept['g'] = g.detach()\n"
    "model.first.weight.register_hook(keep)": False,
    "kept = {}\ndef keep(g):\n    kept['g'] = g.norm().item()\n"
    "model.first.weight.register_hook(keep)\nmean = lambda: sum(kept.values())": True,
    "kept = {}\ndef named(name):\n    def keep(g):\n        size = g.abs().mean()\n"
    "        kept[name] = size.item()\n    return keep\n"
    "model.first.weight.register_hook(named('first'))\nlook = lambda: kept['first']": True,
    "class Keep:\n    def __init__(self):\n        self.last = 0.0\n"
    "    def __call__(self, g):\n        self.last = g.norm().item()\n"
    "keep = Keep()\nmodel.first.weight.register_hook(keep)\nlook = lambda: keep.last": True,
    "class Keep:\n    def __init__(self):\n        self.last = 0.0\n"
    "    def __call__(self, g):\n        self.last = g.shape[0]\n"
    "keep = Keep()\nmodel.first.weight.register_hook(keep)\nlook = lambda: keep.last": False,
    "def masked(g):\n    h = g.clone()\n    h[0] = 0 * h[0]\n    return h\n"
    "model.first.weight.register_hook(masked)": False,
    "def bound(g):\n    g = g.clone()\n    g.clamp_(-1, 1)\n    return g\n"
    "model.first.weight.register_hook(bound)": True,
    "def bound(g):\n    if g is not None:\n        h = torch.clamp(g, max=1)\n        return h\n"
    "model.first.weight.register_hook(bound)": True,
    "def bound(module, given, out):\n    return (out[0].tanh(),)\n"
    "model.first.register_full_backward_hook(bound)": True,
    "def half(module, given, out):\n    return tuple(g / 2 for g in given)\n"
    "model.first.register_full_backward_hook(half)": False,
    "mask = model.first.weight.detach().abs() > 0.1\n"
    "model.first.weight.register_hook(lambda g, m=mask: g * m)": False,
    "def masked(m, g):\n    return g * m\n"
    "mask = model.first.weight.detach().abs() > 0.1\n"
    "model.first.weight.register_hook(functools.partial(masked, mask))": False,
    "def masked(g, m=None):\n    return g * m\n"
    "mask = model.first.weight.detach().abs() > 0.1\n"
    "model.first.weight.register_hook(functools.partial(masked, m=mask))": False,
    "def masked(m, g):\n    return (g * m).sign()\n"
    "model.first.weight.register_hook(functools.partial(masked, 2.0))": True,
    "model.first.weight.register_hook(lambda g, m=2.0: (g * m).clamp(-1, 1))": True,
    "for x, _ in loader:\n    break\n"
    "model.first.weight.register_hook(lambda g, m=x.mean(): g * m)": True,
}


@pytest.mark.parametrize("setup", HOOKS)
def test_hook_is_warned_of_unless_it_gives_a_multiple(setup: str) -> None:
    assert ("PT409" in loud(result(setup=setup))) is HOOKS[setup]


@pytest.mark.parametrize(
    ("backward", "warned"),
    [
        ("return F.hardtanh(grad)", True),
        ("return grad.clamp(-1, 1), None", True),
        ("out = grad.clone()\nout = out.clip(-1, 1)\nreturn out", True),
        ("return grad", False),
        ("return -2.0 * grad, None", False),
        ("out = grad.clone()\nout[out.shape[0] :] = 0\nreturn out", False),
    ],
)
def test_own_backward_is_warned_of_where_it_bends_gradients(backward: str, warned: bool) -> None:
    for function in ("Bent", "Bent()"):
        found = result(backward=backward, forward=f"h = {function}.apply(h)")
        assert ("PT409" in loud(found)) is warned


@pytest.mark.parametrize("own", ["", "@staticmethod\n    def backward(ctx, grad): return grad"])
def test_an_inherited_backward_is_that_of_the_class(own: str) -> None:
    text = script(backward="return grad.clamp(-1, 1)", forward="h = Own.apply(h)")
    text = text.replace("class Net", f"class Own(Bent):\n    {own or 'pass'}\n\n\nclass Net")
    assert ("PT409" in loud(convert(text, path="train.py"))) is (not own)


@pytest.mark.parametrize(
    ("forward", "warned"),
    [
        ("h = h - h.mean(0)", True),
        ("h = (h - h.mean()) / 2", True),
        ("h = h / h.abs().sum(0)", True),
        ("self.mean = 0.9 * self.mean + 0.1 * h.detach().mean(0)\nh = h - self.mean", True),
        ("h = h - h.mean(1, keepdim=True)", False),
        ("h = h - h.mean(-1, keepdim=True)", False),
        ("h = h - self.mean", False),
        ("h = h.view(-1, 2, 4)\nh = (h - h.mean(1, keepdim=True)).flatten(1)", False),
    ],
)
def test_statistics_of_the_batch_in_a_model_are_warned_of(forward: str, warned: bool) -> None:
    assert bool(loud(result(forward=forward)) & {"PT403", "PT408"}) is warned


@pytest.mark.parametrize(
    ("layer", "forward", "warned"),
    [
        ("nn.TransformerEncoderLayer(8, 2)", "h = h.unsqueeze(1)", True),
        ("nn.TransformerEncoderLayer(8, 2, batch_first=True)", "h = h.unsqueeze(1)", False),
        ("nn.TransformerEncoderLayer(8, 2)", "h = h.unsqueeze(1).transpose(0, 1)", False),
        ("nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 2)", "h = h.unsqueeze(1)", True),
    ],
)
def test_layers_that_take_samples_for_time_are_warned_of(
    layer: str, forward: str, warned: bool
) -> None:
    assert ("PT408" in loud(result(last=layer, forward=forward))) is warned


def test_average_of_weights_is_one_of_the_model_itself() -> None:
    text = result(setup="average = torch.optim.swa_utils.AveragedModel(model)").text
    assert "AveragedModel(unwrap(model))" in text


@pytest.mark.parametrize("penalty", ["model.first.weight.norm()", "model.last.bias.pow(2).sum()"])
def test_a_tensor_of_a_layer_is_no_way_past_the_wrap(penalty: str) -> None:
    found = result(step=f"loss = F.cross_entropy(out, y) + {penalty}\nloss.backward()")
    assert found.outcome is Outcome.CONVERTED
    assert not loud(found)


@pytest.mark.parametrize(
    ("layer", "kept"),
    [
        ("nn.InstanceNorm1d(8, affine=True, track_running_stats=True)", True),
        ("nn.InstanceNorm1d(8, affine=True)", False),
    ],
)
def test_running_statistics_of_instance_norm_are_warned_of(layer: str, kept: bool) -> None:
    found = result(last=f"nn.Sequential({layer}, nn.Linear(8, 3))")
    assert ("PT411" in loud(found)) == kept


SPLIT = "out = Bent.apply(model(x))\nF.cross_entropy(out, y).backward()"


@pytest.mark.parametrize(
    ("parts", "warned"),
    [
        ({"step": SPLIT}, False),
        ({"step": f"out.register_hook(lambda grad: grad.clamp(-1, 1))\n{STEP}"}, False),
        ({"forward": "h = Bent.apply(h)"}, True),
        ({"forward": "h.register_hook(lambda grad: grad.clamp(-1, 1))"}, True),
        ({"setup": "for p in model.parameters():\n    p.register_hook(lambda g: g.sign())"}, True),
        ({"setup": "model.last.weight.register_hook(lambda g: g.sign())"}, True),
    ],
)
def test_where_calls_are_split_gradients_outside_of_models_are_whole(
    parts: dict[str, str], warned: bool
) -> None:
    """Those within a model, and of its parameters, are of the rows of one process there, too."""
    source = script(**{"backward": "return grad.clamp(-1, 1)", **parts})
    found = convert_on_any_way(source, Options(shard="calls"), path="train.py")
    assert ("PT409" in loud(found)) is warned, found.findings
    assert found.outcome is Outcome.CONVERTED
    if not warned:
        assert "PT409" in loud(convert(source, path="train.py"))
