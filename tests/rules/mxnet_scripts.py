"""Small MXNet scripts in pieces, for tests of what becomes of them."""

from __future__ import annotations

from transpile import Result

HEAD = """\
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

x = np.zeros((64, 4), dtype="float32")
y = np.zeros(64, dtype="float32")
net = gluon.nn.Dense(1)
net.initialize()
loss_fn = gluon.loss.L2Loss()
"""
LOADER = """\
batch_size = 8
loader = gluon.data.DataLoader(gluon.data.ArrayDataset(x, y), batch_size=batch_size)
"""
TRAINER = 'trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})\n'
LOOP = """\
for epoch in range(2):
    for data, label in loader:
        with autograd.record():
            loss = loss_fn(net(data), label)
        loss.backward()
"""
STEP = "        trainer.step(batch_size)\n"
GLUON = HEAD + LOADER + TRAINER + LOOP
SYMBOL = """\
symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2)
symbol = mx.sym.SoftmaxOutput(symbol, name="softmax")
module = mx.mod.Module(symbol)
train = mx.io.NDArrayIter(x, y, batch_size=8)
"""
FIT = 'module.fit(train, optimizer_params={"learning_rate": 0.1}, num_epoch=1)\n'


def codes(result: Result) -> set[str]:
    """The codes of the findings."""
    return {finding.code for finding in result.findings}
