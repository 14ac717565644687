"""What the same expressions are in each framework, by one analysis with words for each."""

from __future__ import annotations

from importlib import import_module
from textwrap import indent

import libcst as cst
import pytest

from transpile.facts.interpreter import interpret
from transpile.options import Options
from transpile.plan.roles.build import build_plan
from transpile.project import Project
from transpile.quantity.asking import Kind, Quantity, analysis, describe
from transpile.text.source import read_source

SCRIPTS = {
    "pytorch": """\
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(48, 4), torch.randint(0, 3, (48,)), torch.rand(48, 3))
model = nn.Linear(4, 3)
fixed = torch.randn(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y, m in DataLoader(data, batch_size=12):
    out = model(x)
{body}
    F.mse_loss(out, m).backward()
    optimizer.step()
""",
    "paddle": """\
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.io import DataLoader, TensorDataset

data = TensorDataset([paddle.randn([48, 4]), paddle.randint(0, 3, [48]), paddle.rand([48, 3])])
model = nn.Linear(4, 3)
fixed = paddle.randn([16, 4])
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for x, y, m in DataLoader(data, batch_size=12):
    out = model(x)
{body}
    F.mse_loss(out, m).backward()
    optimizer.step()
""",
    "mxnet": """\
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd

data = gluon.data.ArrayDataset(np.zeros((48, 4)), np.zeros(48), np.zeros((48, 3)))
model = gluon.nn.Dense(3)
fixed = nd.random.normal(shape=(16, 4))
trainer = gluon.Trainer(model.collect_params(), "sgd", {{"learning_rate": 0.1}})
for x, y, m in gluon.data.DataLoader(data, batch_size=12):
    with autograd.record():
        out = model(x)
{body}
        loss = gluon.loss.L2Loss()(out, m)
    loss.backward()
    trainer.step(12)
""",
    "fluid": """\
import paddle
import paddle.fluid as fluid
import paddle.fluid.layers as L

x = fluid.data(name="x", shape=[None, 4], dtype="float32")
y = fluid.data(name="y", shape=[None, 1], dtype="int64")
m = fluid.data(name="m", shape=[None, 3], dtype="float32")
out = L.fc(x, 3)
weight = L.create_parameter([3, 3], "float32")
fixed = L.fill_constant([16, 3], "float32", 1.0)
{body}
fluid.optimizer.SGD(0.1).minimize(L.mean(out))
""",
    "singa": """\
import numpy as np
from singa import autograd, layer, opt, tensor

data, target = np.zeros((48, 4), "float32"), np.zeros((48, 3), "float32")
weight = tensor.Tensor(shape=(3, 3), stores_grad=True)
linear, batch_norm = layer.Linear(3), layer.BatchNorm2d(3)
sgd = opt.SGD(lr=0.1)
for start in range(0, 48, 12):
    x = tensor.from_numpy(data[start : start + 12])
    m = tensor.from_numpy(target[start : start + 12])
    out = linear(x)
{body}
    sgd(autograd.mse_loss(out, m))
""",
}
#: How deep the body of the training step stands.
DEPTH = {"mxnet": 8, "fluid": 0}
#: What is expected, and the expression in each framework that has it; one for all where they agree.
EXPRESSIONS: list[tuple[str, str | dict[str, str]]] = [
    ("independent", "fixed.mean()"),
    ("independent", "(model.weight ** 2).sum()"),
    ("independent", "x.shape[1]"),
    ("count", "x.shape[0]"),
    ("count", "len(x)"),
    ("samples", "x"),
    ("samples", "out.abs() + 1"),
    ("samples", "x[:, 0]"),
    ("samples", {"pytorch": "F.softmax(out, dim=1)", "paddle": "F.softmax(out, axis=1)"}),
    ("samples", {"pytorch": "out.sum(1)", "paddle": "out.sum(1)"}),
    ("samples", {"pytorch": "out.max(dim=1)[0]", "paddle": "out.max(axis=1)"}),
    ("samples", {"pytorch": "out.topk(2, 1)[0]", "paddle": "out.topk(2, 1)[0]"}),
    ("samples", {"pytorch": "torch.cat([x, x], 1)", "paddle": "paddle.concat([x, x], 1)"}),
    ("samples", {"pytorch": "x @ model.weight.T", "paddle": "paddle.matmul(x, model.weight)"}),
    ("samples", {"pytorch": "torch.clamp(out, 0, 1)", "paddle": "paddle.clip(out, 0, 1)"}),
    (
        "samples",
        {
            "pytorch": "F.cross_entropy(out, y, reduction='none')",
            "paddle": "F.cross_entropy(out, y, reduction='none')",
        },
    ),
    (
        "sum",
        {
            "pytorch": "torch.zeros(3) + out.sum(0)",
            "paddle": "paddle.zeros([3]) + out.sum(0)",
            "mxnet": "nd.zeros((3,)) + out.sum(axis=0)",
        },
    ),
    ("samples", {"pytorch": "x.t().t()", "paddle": "x.transpose([1, 0]).transpose([1, 0])"}),
    ("mean", "F.cross_entropy(out, y)"),
    ("mean", "F.mse_loss(out, m)"),
    ("mean", "(out - m).square().mean()"),
    ("mean", {"pytorch": "out.mean(dim=0)", "paddle": "out.mean(axis=0)"}),
    ("mean", {"pytorch": "out.mean(dim=(0, 1))", "paddle": "paddle.mean(out, axis=[0, 1])"}),
    ("mean", "out.sum() / len(x)"),
    ("mean", "out.sum() / x.shape[0]"),
    ("mean", "out.mean() * 0.5 + (model.weight ** 2).sum()"),
    ("mean", "nn.CrossEntropyLoss()(out, y)"),
    ("mean", "out.mean() + out.abs().mean()"),
    ("mean", "out.mean(1).mean()"),
    ("mean over a denominator", "out.sum() / (m > 0.5).sum()"),
    (
        "mean over a denominator",
        {
            "pytorch": "F.cross_entropy(out, y, weight=fixed[0])",
            "paddle": "F.cross_entropy(out, y, weight=fixed[0])",
        },
    ),
    ("mean over a denominator", "F.cross_entropy(out, y, ignore_index=2)"),
    ("sum", "out.sum()"),
    ("sum", "F.mse_loss(out, m, reduction='sum')"),
    ("sum", "nn.MSELoss(reduction='sum')(out, m)"),
    ("sum", "out.mean() * x.shape[0]"),
    ("sum", {"pytorch": "out.sum(dim=0)", "paddle": "out.sum(axis=0)"}),
    ("sum", {"pytorch": "(out.argmax(1) == y).sum()", "paddle": "(out.argmax(1) == y).sum()"}),
    (
        "sum",
        {
            "pytorch": "fixed[:1].expand(len(x), 4).sum()",
            "paddle": "fixed[:1].expand([len(x), 4]).sum()",
        },
    ),
    (
        "sum",
        {
            "pytorch": "fixed[:1, :3].expand_as(out).sum()",
            "paddle": "fixed[:1, :3].expand_as(out).sum()",
        },
    ),
    ("sum", {"pytorch": "out.numel() * out.mean()", "paddle": "out.size * out.mean()"}),
    ("sum", {"pytorch": "(out * 2).sum()", "paddle": "paddle.scale(out, 2.0).sum()"}),
    (
        "mean and sum",
        {"pytorch": "out.sum() + 1", "paddle": "paddle.scale(out.sum(), 2.0, bias=1.0)"},
    ),
    ("samples", {"pytorch": "F.pad(out, (0, 1))", "paddle": "F.pad(out, [0, 1])"}),
    ("unknown", {"pytorch": "F.pad(out, (0, 0, 1, 0))", "paddle": "F.pad(out, [1, 0, 0, 0])"}),
    (
        "unknown",
        {"pytorch": "torch.arange(len(x)).sum()", "paddle": "paddle.arange(x.shape[0]).sum()"},
    ),
    (
        "unknown",
        {
            "pytorch": "torch.arange(len(x)).float().mean()",
            "paddle": "paddle.arange(x.shape[0]).mean()",
        },
    ),
    ("unknown", "out.mean() ** 2"),
    ("unknown", "out.mean() * out.mean()"),
    ("unknown", {"pytorch": "torch.log(out.mean())", "paddle": "paddle.log(out.mean())"}),
    ("unknown", {"pytorch": "torch.sqrt(out.sum())", "paddle": "paddle.sqrt(out.sum())"}),
    ("unknown", "out.sum() / out.abs().sum()"),
    ("unknown", "out.max()"),
    ("unknown", "out.std()"),
    ("unknown", {"pytorch": "F.softmax(out, dim=0)", "paddle": "F.softmax(out, axis=0)"}),
    ("unknown", {"pytorch": "out.max(dim=0)[0]", "paddle": "out.max(axis=0)"}),
    ("unknown", {"pytorch": "torch.flip(out, [0])", "paddle": "paddle.flip(out, [0])"}),
    ("unknown", {"pytorch": "torch.roll(out, 1, 0)", "paddle": "paddle.roll(out, 1, 0)"}),
    ("unknown", {"pytorch": "torch.sort(out, 0)[0]", "paddle": "paddle.sort(out, 0)"}),
    (
        "unknown",
        {"pytorch": "out @ out.t()", "paddle": "paddle.matmul(out, out, transpose_y=True)"},
    ),
    ("unknown", {"pytorch": "torch.cdist(out, out)", "paddle": "paddle.cdist(out, out)"}),
    ("unknown", {"paddle": "paddle.matmul(out, weight, transpose_x=True)"}),
    ("unknown", {"pytorch": "out.cumsum(0)", "paddle": "out.cumsum()"}),
    ("unknown", "out - out.mean(0)" " * out"),
    ("unknown", {"pytorch": "torch.quantile(out, 0.5)", "paddle": "paddle.quantile(out, 0.5)"}),
    (
        "unknown",
        {
            "pytorch": "torch.bmm(out.unsqueeze(0), m.unsqueeze(0))",
            "paddle": "paddle.bmm(out.unsqueeze(0), m.unsqueeze(0))",
        },
    ),
    ("unknown", "x[0]"),
    ("unknown", "x[:4]"),
    ("unknown", {"pytorch": "out.quaver()", "paddle": "out.quaver()"}),
    ("unknown", {"pytorch": "torch.quaver(out)", "paddle": "paddle.quaver(out)"}),
    ("unknown", {"pytorch": "out.view(6, -1)", "paddle": "out.reshape([6, -1])"}),
    ("unknown", {"pytorch": "torch.chunk(out, 2)[0]", "paddle": "paddle.chunk(out, 2)[0]"}),
    (
        "unknown",
        {
            "pytorch": "torch.index_select(out, 0, torch.tensor([1, 0]))",
            "paddle": "paddle.gather(out, paddle.to_tensor([1, 0]))",
        },
    ),
    ("unknown", {"pytorch": "out.mean().clamp(min=0.18)", "paddle": "out.mean().clip(min=0.18)"}),
    ("unknown", {"pytorch": "max(out.mean(), 0.5)", "paddle": "max(out.mean(), 0.5)"}),
]
COMMON = ("pytorch", "paddle")
#: The same for frameworks whose words are all others.
OWN: dict[str, list[tuple[str, str]]] = {
    "pytorch": [
        ("unknown", "np.cumsum(out.detach().numpy())"),
        ("samples", "np.cumsum(out.detach().numpy(), axis=1)"),
    ],
    "paddle": [
        ("unknown", "paddle.matmul(out, out, False, True)"),
        ("unknown", "out.matmul(m, True)"),
        ("samples", "paddle.matmul(x, model.weight, False, False)"),
        ("unknown (the script writes", "m[m > 0.5] = -100\nF.cross_entropy(out, y)"),
    ],
    "mxnet": [
        ("independent", "fixed.mean()"),
        ("independent", "fixed.shape[0]"),
        ("independent", "x.shape[1]"),
        ("count", "x.shape[0]"),
        ("count", "len(x)"),
        ("samples", "x"),
        ("samples", "out.abs() + 1"),
        ("samples", "x[:, 0]"),
        ("samples", "gluon.loss.SoftmaxCrossEntropyLoss()(out, y)"),
        ("samples", "gluon.loss.L2Loss()(out, m)"),
        ("samples", "nd.softmax(out)"),
        ("samples", "nd.softmax(out, axis=1)"),
        ("samples", "out.sum(axis=1)"),
        ("samples", "nd.mean(out, axis=0, exclude=True)"),
        ("samples", "out.max(axis=1)"),
        ("samples", "nd.concat(x, out)"),
        ("samples", "nd.concat(out, fixed[:12, :3])"),
        ("samples", "nd.concat(x, out, dim=1)"),
        ("samples", "nd.stack(x, x, axis=1)"),
        ("samples", "nd.dot(x, fixed, transpose_b=True)"),
        ("samples", "nd.clip(out, 0, 1)"),
        ("samples", "nd.pick(nd.log_softmax(out), y)"),
        ("samples", "nd.broadcast_mul(out, m)"),
        ("samples", "nd.broadcast_add(out, fixed[0, :3])"),
        ("samples", "nd.slice_axis(out, axis=1, begin=0, end=2)"),
        ("samples", "nd.split(out, 3)[0]"),
        ("samples", "out.reshape((0, -1))"),
        ("samples", "out.reshape((-1, 3))"),
        ("samples", "out.transpose((1, 0)).transpose((1, 0))"),
        ("samples", "nd.add_n(out, m)"),
        ("samples", "nd.one_hot(y, 3)"),
        ("samples", "nd.take(fixed, y)"),
        ("mean", "gluon.loss.L2Loss()(out, m).mean()"),
        ("mean", "nd.mean(out)"),
        ("mean", "out.mean(axis=0)"),
        ("mean", "nd.mean(out, axis=1, exclude=True)"),
        ("mean", "nd.mean(nd.square(out - m))"),
        ("mean", "out.sum() / len(x)"),
        ("mean", "out.sum() / x.shape[0]"),
        ("mean", "out.sum() / out.size"),
        ("mean", "out.mean() * 0.5 + out.abs().mean()"),
        ("mean", "nd.elemwise_add(out.mean(), m.mean())"),
        ("mean", "nd.mean(out, axis=1).mean()"),
        ("mean", "float(out.mean().asscalar())"),
        ("mean over a denominator", "out.sum() / (m > 0.5).sum()"),
        ("sum", "out.sum()"),
        ("sum", "nd.sum(gluon.loss.L2Loss()(out, m))"),
        ("sum", "nd.softmax_cross_entropy(out, y)"),
        ("sum", "out.mean() * x.shape[0]"),
        ("sum", "out.sum(axis=0)"),
        ("sum", "(out.argmax(axis=1) == y).sum()"),
        ("sum", "nd.add_n(out.sum(), m.sum())"),
        ("sum", "nd.sum(out, axis=1, exclude=True)"),
        ("unknown", "nd.dot(out, m, transpose_a=True)"),
        ("unknown", "out.mean() ** 2"),
        ("unknown", "out.mean() * m.mean()"),
        ("unknown", "nd.broadcast_mul(out.mean(), m.mean())"),
        ("unknown", "nd.sqrt(out.sum())"),
        ("unknown", "nd.broadcast_div(out.sum(), out.abs().sum())"),
        ("unknown", "out.sum() / out.abs().sum()"),
        ("unknown", "out.max()"),
        ("unknown", "nd.softmax(out, axis=0)"),
        ("unknown", "out.max(axis=0)"),
        ("unknown", "nd.flip(out, axis=0)"),
        ("unknown", "nd.sort(out, axis=0)"),
        ("unknown", "nd.topk(out, 0, 2)"),
        ("unknown", "nd.norm(out)"),
        ("unknown", "nd.dot(out, out, transpose_b=True)"),
        ("mean", "nd.add_n(fixed.mean(), out.mean())"),
        ("mean and sum", "nd.add_n(out.mean(), out.sum())"),
        ("unknown", "nd.concat(x, fixed[:, :4], dim=0)"),
        ("unknown", "nd.slice_axis(out, axis=0, begin=0, end=2)"),
        ("unknown", "nd.split(out, 2, axis=0)[0]"),
        ("unknown", "nd.take(out, nd.array([1, 0]))"),
        ("unknown", "nd.broadcast_maximum(out.mean(), fixed[0, :1])"),
        ("unknown", "nd.broadcast_sub(out, out.mean(axis=0)) * out"),
        ("unknown", "x[0]"),
        ("unknown", "x[:4]"),
        ("unknown", "out.quaver()"),
        ("unknown", "nd.quaver(out)"),
        ("unknown", "gluon.loss.SDMLLoss()(out, m)"),
        ("unknown", "out.reshape((6, -1))"),
        ("unknown", "nd.clip(out.mean(), 0.18, 1)"),
        ("unknown", "nd.cumsum(out, axis=0)"),
        ("unknown", "nd.cumsum(out)"),
        ("samples", "nd.sort(out)"),
        ("samples", "nd.batch_dot(out.expand_dims(1), m.expand_dims(1), transpose_b=True)"),
        ("unknown", "nd.batch_dot(out.expand_dims(0), m.expand_dims(0), transpose_b=True)"),
        ("unknown", "gluon.loss.L2Loss(batch_axis=1)(out, m)"),
        ("mean", "out.reshape((0, -1)).mean(axis=0)"),
    ],
    "fluid": [
        ("independent", "L.reduce_sum(L.square(weight))"),
        ("independent", "L.mean(fixed)"),
        ("samples", "x"),
        ("samples", "out"),
        ("samples", "L.square_error_cost(out, m)"),
        ("samples", "L.softmax_with_cross_entropy(out, y)"),
        ("samples", "L.softmax(out)"),
        ("samples", "L.softmax(out, axis=1)"),
        ("samples", "L.reduce_sum(out, dim=1)"),
        ("samples", "L.concat([out, m], axis=1)"),
        ("samples", "L.elementwise_mul(out, m)"),
        ("samples", "L.matmul(out, weight)"),
        ("samples", "L.reshape(out, [0, 3, 1])"),
        ("samples", "L.reshape(out, [-1, 3])"),
        ("samples", "L.slice(out, axes=[1], starts=[0], ends=[2])"),
        ("samples", "L.split(out, 3)[0]"),
        ("samples", "L.l2_normalize(out, axis=1)"),
        ("samples", "L.sums([out, m])"),
        ("mean", "L.mean(out)"),
        ("mean", "L.reduce_mean(out)"),
        ("mean", "L.reduce_mean(out, dim=0)"),
        ("mean", "L.mean(L.cross_entropy(L.softmax(out), y))"),
        ("mean", "L.scale(L.mean(out), scale=0.5)"),
        ("mean", "L.mean(out) * 2 + L.mean(m)"),
        ("mean", "L.elementwise_add(L.mean(out), L.mean(m))"),
        ("mean", "L.sums([L.mean(out), L.mean(m)])"),
        ("mean", "L.sums([L.reduce_sum(L.square(weight)), L.mean(out)])"),
        ("mean", "L.mean(out) + L.reduce_sum(L.square(weight))"),
        ("mean", "L.reduce_mean(L.reduce_sum(L.square(out), dim=1))"),
        ("sum", "L.reduce_sum(out)"),
        ("sum", "L.reduce_sum(out, dim=[0, 1])"),
        ("sum", "L.reduce_sum(out, dim=0)"),
        ("sum", "L.reduce_sum(L.reduce_mean(out, dim=1))"),
        ("mean and sum", "L.reduce_sum(out) + L.reduce_sum(L.square(weight))"),
        ("mean and sum", "L.scale(L.reduce_sum(out), scale=1.0, bias=1.0)"),
        ("unknown", "L.square(L.mean(out))"),
        ("unknown", "L.sqrt(L.reduce_sum(out))"),
        ("unknown", "L.mean(out) * L.mean(m)"),
        ("unknown", "L.elementwise_mul(L.mean(out), L.mean(m))"),
        ("unknown", "L.reduce_max(out)"),
        ("unknown", "L.softmax(out, axis=0)"),
        ("unknown", "L.softmax(out, False, None, 0)"),
        ("unknown", "L.cumsum(out, axis=0)"),
        ("unknown", "L.reverse(out, axis=0)"),
        ("unknown", "L.slice(out, axes=[0], starts=[0], ends=[2])"),
        ("unknown", "L.split(out, 2, dim=0)[0]"),
        ("unknown", "L.split(out, 2, 0)[0]"),
        ("unknown", "L.matmul(out, out, transpose_y=True)"),
        ("unknown", "L.mul(out, L.transpose(out, [1, 0]))"),
        ("unknown", "L.elementwise_sub(out, L.reduce_mean(out, dim=0)) * out"),
        ("unknown", "L.clip(L.mean(out), 0.0, 1.0)"),
        ("unknown", "L.reshape(out, [6, -1])"),
    ],
    "singa": [
        ("independent", "weight"),
        ("independent", "autograd.reduce_sum(autograd.mul(weight, weight))"),
        ("count", "x.shape[0]"),
        ("samples", "x"),
        ("samples", "out"),
        ("samples", "batch_norm(out)"),
        ("samples", "layer.Flatten()(out)"),
        ("samples", "layer.Cat(1)([out, m])"),
        ("samples", "layer.Dropout(0.5)(out)"),
        ("samples", "autograd.matmul(out, weight)"),
        ("samples", "autograd.softmax(out)"),
        ("samples", "autograd.add_bias(out, weight)"),
        ("samples", "autograd.cat([out, m], 1)"),
        ("samples", "autograd.reduce_sum(out, axes=[1])"),
        ("samples", "autograd.reduce_mean(out, axes=[1])"),
        ("samples", "autograd.reshape(out, (-1, 3))"),
        ("samples", "autograd.reshape(out, (x.shape[0], 3))"),
        ("samples", "autograd.transpose(autograd.transpose(out, (1, 0)), (1, 0))"),
        ("mean", "autograd.softmax_cross_entropy(out, m)"),
        ("mean", "layer.MeanSquareError()(out, m)"),
        ("mean", "autograd.reduce_mean(out)"),
        ("mean", "autograd.reduce_mean(out, axes=[0, 1])"),
        ("mean", "autograd.mse_loss(out, m) * 2.0"),
        ("mean", "autograd.add(autograd.mse_loss(out, m), autograd.mse_loss(x, m))"),
        ("mean", "autograd.reduce_sum(out) / x.shape[0]"),
        ("sum", "autograd.reduce_sum(out)"),
        ("sum", "autograd.reduce_sum(autograd.abs(out), axes=[0, 1])"),
        ("sum", "autograd.mse_loss(out, m) * x.shape[0]"),
        ("unknown", "autograd.mse_loss(out, m) * autograd.mse_loss(out, m)"),
        ("unknown", "autograd.exp(autograd.mse_loss(out, m))"),
        ("unknown", "autograd.softmax(out, 0)"),
        ("unknown", "autograd.matmul(out, autograd.transpose(out, (1, 0)))"),
        ("unknown", "autograd.cat([out, weight], 0)"),
        ("unknown", "layer.Cat(0)([out, weight])"),
        ("unknown", "autograd.gather(out, 0, [1, 0])"),
        ("unknown", "autograd.reshape(out, (6, -1))"),
        ("unknown", "autograd.quaver(out)"),
        ("unknown", "layer.Quaver()(out)"),
        ("unknown", "layer.LSTM(3, 4)(out)"),
        ("unknown", "out[0]"),
    ],
}
CASES = [
    (framework, expected, expression if isinstance(expression, str) else expression[framework])
    for framework in COMMON
    for expected, expression in EXPRESSIONS
    if isinstance(expression, str) or framework in expression
] + [(framework, *row) for framework, rows in OWN.items() for row in rows]


def measured(framework: str, body: str) -> Quantity:
    """The quantity of what the last assignment to `q` in a training step binds."""
    table = import_module(f"transpile.rules.{framework}").TABLE
    lines = body.splitlines()
    lines[-1] = f"q = {lines[-1]}"
    text = SCRIPTS[framework].format(body=indent("\n".join(lines), " " * DEPTH.get(framework, 4)))
    project = Project(read_source(text.encode(), "train.py"), None)
    plan = build_plan(interpret(project.entry, table.dialect, project.find), table, Options())
    found = [
        node.value
        for node in plan.entry.source.nodes_of(cst.Assign)
        if isinstance(node.targets[0].target, cst.Name) and node.targets[0].target.value == "q"
    ]
    values = plan.facts.values_of(found[-1])
    assert values, "the expression is never reached"
    return analysis(plan).of(values)


@pytest.mark.parametrize(("framework", "expected", "expression"), CASES)
def test_an_expression_is_the_same_in_every_framework(
    framework: str, expected: str, expression: str
) -> None:
    said = describe(measured(framework, expression))
    assert said.startswith(expected), said
    assert expected != "mean" or said == "mean"


@pytest.mark.parametrize(
    ("expression", "dim"),
    [
        ("out.sum(axis=0, exclude=True)", 0),
        ("out.T.sum(axis=1, exclude=True)", 0),
        ("out.T.mean(axis=1, exclude=True)", 0),
        ("out.T.sum(axis=(0, 1), exclude=True)", 1),
    ],
)
def test_samples_move_up_where_all_other_axes_are_summed_over(expression: str, dim: int) -> None:
    found = measured("mxnet", expression)
    assert (found.kind, found.dim) == (Kind.SAMPLE, dim)


@pytest.mark.parametrize(
    ("framework", "expression", "word"),
    [("paddle", "paddle.cummax_(out)", "cummax_"), ("pytorch", "torch.quaver(out)", "quaver")],
)
def test_what_no_table_knows_is_named(framework: str, expression: str, word: str) -> None:
    found = measured(framework, expression)
    assert found.kind is Kind.UNKNOWN
    assert word in found.reason


@pytest.mark.parametrize("framework", SCRIPTS)
def test_a_long_sum_is_told_in_time(framework: str) -> None:
    own = {"fluid": "L.mean(out)", "singa": "autograd.mse_loss(out, m)"}
    mean = own.get(framework, "out.mean()")
    lines = [f"a = {mean}", *["a = a + a"] * 40, "a"]
    assert describe(measured(framework, "\n".join(lines))) == "mean"
