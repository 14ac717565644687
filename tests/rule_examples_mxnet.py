"""Scripts around the examples in the docstrings of MXNet's rules: ``@`` is the example."""

from __future__ import annotations

from transpile import Options

HEAD = """\
import argparse
import logging

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=64)
args = parser.parse_args()
images = np.zeros((640, 8), dtype="float32")
labels = np.zeros(640, dtype="float32")
train_set = gluon.data.ArrayDataset(images, labels)
net = gluon.nn.Dense(2)
net.initialize()
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
"""
LOADER = "loader = gluon.data.DataLoader(train_set, 64)\n"
TRAINER = 'trainer = gluon.Trainer(net.collect_params(), "sgd")\n'
STEP = """\
for epoch in range(3):
    for data, label in loader:
        with autograd.record():
            loss = loss_fn(net(data), label)
        loss.backward()
"""
TRAINING = STEP + "        trainer.step(data.shape[0])\n"
SYMBOL = 'module = mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.var("data"), name="softmax"))\n'

#: Rules that do something only with other options than the default.
OPTIONS = {
    "mxnet/compress-gradients": Options(compression="2bit"),
    "mxnet/shard-evaluation": Options(evaluation="shard"),
    "mxnet/grow-batches": Options(batch_size="per-device"),
    "mxnet/scale-learning-rate": Options(batch_size="per-device", scale_lr="linear"),
}
#: Rule to the script around its example.
EXAMPLES = {
    "mxnet/call-back-on-one-worker": HEAD
    + SYMBOL
    + "train_iter = mx.io.NDArrayIter(images, labels, 64)\n@\n"
    + "module.fit(train_iter, epoch_end_callback=checkpoint, num_epoch=1)\n",
    "mxnet/divide-by-bound-batch": HEAD
    + SYMBOL
    + "train_iter = mx.io.NDArrayIter(images, labels, 64)\n"
    + "val_iter = mx.io.NDArrayIter(images, labels, 80)\n@\n"
    + "for batch in train_iter:\n    module.forward_backward(batch)\n    module.update()\n",
    "mxnet/grow-batches": HEAD
    + "ctx = [mx.gpu(i) for i in range(4)]\n@\n"
    + "loader = gluon.data.DataLoader(train_set, batch_size)\n"
    + TRAINER
    + "for data, label in loader:\n"
    + "    parts = gluon.utils.split_and_load(data, ctx), gluon.utils.split_and_load(label, ctx)\n"
    + "    with autograd.record():\n"
    + "        losses = [loss_fn(net(x), y) for x, y in zip(*parts)]\n"
    + "    autograd.backward(losses)\n    trainer.step(batch_size)\n",
    "mxnet/compress-gradients": HEAD + LOADER + "@\n" + TRAINING,
    "mxnet/shard-evaluation": HEAD
    + LOADER
    + TRAINER
    + TRAINING
    + "test_loader = gluon.data.DataLoader(train_set, 64)\ntotal = 0\n@\nprint(total)\n",
    "mxnet/scale-learning-rate": HEAD.replace("args = ", 'parser.add_argument("--lr")\nargs = ')
    + LOADER
    + "@\n"
    + TRAINING,
    "mxnet/track-once": HEAD.replace(
        "import mxnet as mx\n", "import mxnet as mx\nfrom mxboard import SummaryWriter\n"
    )
    + LOADER
    + TRAINER
    + "@\n"
    + TRAINING
    + '    writer.add_scalar("rate", trainer.learning_rate)\n',
    "mxnet/reduce-score-metrics": HEAD.replace(
        "args = ",
        """parser.add_argument("--kv-store", default="device")
args = """,
    )
    + SYMBOL
    + "kv = mx.kv.create(args.kv_store)\n"
    + "".join(
        f'{name}_iter = mx.io.ImageRecordIter(path_imgrec="{name}.rec", data_shape=(3, 8, 8), '
        "batch_size=args.batch_size, num_parts=kv.num_workers, part_index=kv.rank)\n"
        for name in ("train", "val")
    )
    + "module.fit(train_iter, num_epoch=1, kvstore=kv)\n@\n",
    "mxnet/divide-batch": HEAD + SYMBOL + "@\nmodule.fit(train_iter, num_epoch=1)\n",
    "mxnet/split-calls": HEAD + LOADER + "@\n" + TRAINING,
    "mxnet/leave-together": HEAD + LOADER + TRAINER + TRAINING + "@\n",
    "mxnet/log-once": HEAD
    + "@\n"
    + LOADER
    + TRAINER
    + TRAINING
    + '    logging.info("epoch %d", epoch)\n',
    "mxnet/open-once": HEAD.replace("import logging\n", "import logging\nimport os\n")
    + LOADER
    + TRAINER
    + "@\n"
    + TRAINING
    + '        results.write("step")\n',
    "mxnet/progress-once": HEAD.replace(
        "import mxnet as mx\n", "import mxnet as mx\nfrom tqdm import tqdm\n"
    )
    + LOADER
    + TRAINER
    + TRAINING
    + "@\n    print(batch)\n",
    "mxnet/share-store": "@\n" + HEAD + LOADER + TRAINER + TRAINING,
    "mxnet/prepare-once": HEAD
    + "@\nloader = gluon.data.DataLoader(train_set, 64)\n"
    + TRAINER
    + TRAINING,
    "mxnet/print-once": HEAD
    + "def evaluate(model):\n    return 1\n\n\nmodel = net\n"
    + LOADER
    + TRAINER
    + TRAINING
    + "    @\n",
    "mxnet/reduce-numbers": HEAD
    + LOADER
    + TRAINER
    + "total = 0.0\n"
    + TRAINING
    + "        @\nprint(total)\n",
    "mxnet/reduce-metrics": HEAD
    + LOADER
    + TRAINER
    + "metric = mx.metric.Accuracy()\n"
    + TRAINING
    + "        metric.update(label, net(data))\n    @\n",
    "mxnet/reduce-fit-metrics": HEAD
    + SYMBOL
    + "train_iter = mx.io.NDArrayIter(images, labels, 64)\n"
    + "kv = mx.kv.create('local')\n@\n",
    "mxnet/add-up-early": HEAD
    + LOADER
    + "params = net.collect_params()\n"
    + TRAINER
    + STEP.replace("        loss.backward()\n", "            loss = loss.mean()\n        @\n"),
    "mxnet/scale-step": HEAD + LOADER + TRAINER + STEP + "        @\n",
    "mxnet/shard-data": HEAD + "@\n" + TRAINER + TRAINING,
    "mxnet/share-batches": HEAD
    + "class PairIter(mx.io.DataIter):\n    def next(self):\n        raise StopIteration\n\n\n"
    + SYMBOL
    + "@\nmodule.fit(train_iter, num_epoch=1)\n",
    "mxnet/share-parameters": HEAD + LOADER + "@\n" + TRAINING,
    "mxnet/use-store": HEAD + LOADER + "params = net.collect_params()\n@\n" + TRAINING,
    "mxnet/wait-for-files": HEAD
    + LOADER
    + TRAINER
    + TRAINING
    + 'net.save_parameters("best.params")\n@\n',
    "mxnet/write-once": HEAD + LOADER + TRAINER + TRAINING + "@\n",
}
#: Rules that only say something, which their after does not need any more.
BY_HAND = {
    "mxnet/remark-on-forward-hooks": HEAD + LOADER + TRAINER + "@\n",
    "mxnet/refuse-data-in-order": HEAD
    + """\
from mxnet.gluon.data import Dataset


def encode(line):
    return np.zeros(8), 1


@

    def __init__(self):
        self.file = open("lines.txt")
        self.lines = open("lines.txt").readlines()

    def __len__(self):
        return 64


loader = gluon.data.DataLoader(Lines(), 64)
"""
    + TRAINER
    + TRAINING,
    "mxnet/remark-on-collation": HEAD
    + """\
from mxnet.gluon.data.dataloader import default_batchify_fn as make_batch

blank = (images[0], 0)
@

loader = gluon.data.DataLoader(train_set, 64, batchify_fn=batchify)
"""
    + TRAINER
    + TRAINING,
    "mxnet/remark-on-common-draws": HEAD
    + LOADER
    + TRAINER
    + "for data, label in loader:\n    @\n    with autograd.record():\n"
    + "        loss = loss_fn(net(data), label)\n"
    + "    loss.backward()\n    trainer.step(64)\n",
    "mxnet/refuse-rows-beside": HEAD
    + "weights = mx.nd.random.uniform(shape=(640, 1))\nat = 0\n"
    + LOADER
    + TRAINER
    + "@\n    with autograd.record():\n        loss = loss_fn(net(data), label, weight)\n"
    + "    loss.backward()\n    trainer.step(64)\n",
    "mxnet/remark-on-batch-norm": HEAD.replace(
        "net.init", "net = gluon.nn.Sequential()\n@\nnet.init"
    )
    + LOADER
    + TRAINER
    + TRAINING,
    "mxnet/remark-on-gpus": "import os\n" + HEAD + "@\n" + LOADER + TRAINER + TRAINING,
}
