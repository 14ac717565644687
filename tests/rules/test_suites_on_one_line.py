"""A suite on the line of its header is converted as the same suite in lines of its own."""

from __future__ import annotations

import ast

import libcst as cst
import pytest
from data_way import convert
from fluid_scripts import HEAD as FLUID
from mxnet_scripts import HEAD as MXNET

TORCH = """\
import os
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
full, quiet = len(sys.argv) < 9, len(sys.argv) > 5
if full:
    x = torch.randn(48, 3)
    y = x.sum(1, keepdim=True)
    loader = DataLoader(TensorDataset(x, y), batch_size=12)
if torch.cuda.is_available():
    torch.cuda.set_device(0)
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
if full:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    total = 0.0
    for a, b in loader:
        loss = nn.functional.mse_loss(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if not quiet:
        sys.stdout.write("%d %f" % (epoch, total / len(loader)))
        sys.stdout.flush()
        model.eval()
if full:
    torch.save(model.state_dict(), "m.pt")
    model.load_state_dict(torch.load("m.pt"))
"""
FACTORY = """\
import sys

import torch
from torch import nn
from elsewhere import loaders

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if len(sys.argv) < 9:
    train, n = loaders(8), 3
for a, b in train:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(a), b).backward()
    optimizer.step()
"""
GLUON = MXNET + """\
import sys
if len(sys.argv) < 9:
    x = x + 1
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(x, y), batch_size=8)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
for data, label in loader:
    with autograd.record():
        loss = loss_fn(net(data), label)
    loss.backward()
    trainer.step(8)
"""
PADDLE = """\
import sys
import paddle
from paddle import nn
from paddle.io import DataLoader, TensorDataset


class Trainer:
    def __init__(self):
        self.net = nn.Linear(3, 1)
        self.optimizer = paddle.optimizer.SGD(0.1, parameters=self.net.parameters())

    def fit(self, loader):
        for a, b in loader:
            loss = nn.functional.mse_loss(self.net(a), b)
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()


paddle.seed(0)
if len(sys.argv) < 9:
    x = paddle.randn([48, 3])
    loader = DataLoader(TensorDataset([x, x.sum(1)]), batch_size=12)
trainer = Trainer()
trainer.fit(loader)
"""
STATIC = FLUID + """\
def main():
    if True:
        fluid.optimizer.SGD(0.1).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
    feeder = fluid.DataFeeder([x, y], fluid.CPUPlace())
    for batch in paddle.batch(rows, 8)():
        exe.run(feed=feeder.feed(batch))


if __name__ == "__main__":
    main()
"""


class OnOneLine(cst.CSTTransformer):
    """Puts suites of simple statements behind their colons."""

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.BaseSuite:
        lines = [line for line in updated_node.body if isinstance(line, cst.SimpleStatementLine)]
        if len(lines) < len(updated_node.body):
            return updated_node
        return cst.SimpleStatementSuite([small for line in lines for small in line.body])


def normal(text: str) -> str:
    """A script without its layout."""
    return ast.unparse(ast.parse(text))


@pytest.mark.parametrize(
    "script",
    [TORCH, FACTORY, GLUON, PADDLE, STATIC],
    ids=["torch", "factory", "gluon", "paddle", "fluid"],
)
def test_a_suite_may_stand_on_the_line_of_its_header(script: str) -> None:
    # So long may lines be that are written.
    script = f"{script}# {'-' * 200}\n"
    on_one_line = cst.parse_module(script).visit(OnOneLine()).code
    assert on_one_line != script
    expected, found = convert(script.encode()), convert(on_one_line.encode())
    assert [f.code for f in found.findings] == [f.code for f in expected.findings]
    guard = 'if __name__ == "__main__": main()'
    text = found.text.replace(guard, 'if __name__ == "__main__":\n    main()')
    assert normal(text) == normal(expected.text)
