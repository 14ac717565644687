"""Scripts around the examples in the docstrings of Paddle's rules: ``@`` stands for the example."""

from __future__ import annotations

from transpile import Options

HEAD = """\
import argparse
import logging
import os

import paddle
from paddle import nn
from paddle.io import DataLoader, TensorDataset


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.norm = nn.BatchNorm1D(2)

    def forward(self, x):
        return self.norm(self.layer(x))


train_set = TensorDataset([paddle.randn([64, 4]), paddle.randint(0, 2, [64])])
test_set = TensorDataset([paddle.randn([64, 4]), paddle.randint(0, 2, [64])])
"""
PLAIN = HEAD.replace("        self.norm = nn.BatchNorm1D(2)\n", "").replace(
    "self.norm(self.layer(x))", "self.layer(x)"
)
PARSER = """\
parser = argparse.ArgumentParser()
parser.add_argument("--save-model", action="store_true")
"""
ARGUMENTS = PARSER + "args = parser.parse_args()\n"
SEEDED = HEAD.replace("train_set =", "paddle.seed(0)\ntrain_set =")
MODEL = """\
model = Net()
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
"""
LOADER = "train_loader = DataLoader(train_set, batch_size=32)\n"
CRITERION = "criterion = nn.CrossEntropyLoss()\n"
STEP = """\
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""
TRAINING = """\
for epoch in range(3):
    for x, y in train_loader:
""" + STEP
SETTING = HEAD + LOADER + MODEL + CRITERION

#: Rules whose example shows the work of another rule, too.
TOGETHER = {
    "paddle/split-calls": "paddle/wrap-model",
    "paddle/wait-before-reading": "paddle/write-once",
}
#: Rules that do something only when asked to.
OPTIONS = {
    "paddle/shard-evaluation": Options(evaluation="shard"),
    "paddle/scale-learning-rate": Options(batch_size="per-device", scale_lr="linear"),
    "paddle/train-on-servers": Options(mode="pserver"),
    "paddle/wrap-optimizer": Options(paddle_api="fleet"),
}
#: Rules that leave something to the user.
BY_HAND = {
    "paddle/remark-on-forward-hooks": SETTING + "@\n",
    "paddle/remark-on-gradient-hooks": SETTING + "@\n" + TRAINING,
    "paddle/refuse-data-in-order": HEAD
    + """\
from paddle.io import Dataset


def encode(line):
    return paddle.zeros([4]), 1


@

    def __init__(self):
        self.file = open("lines.txt")
        self.lines = open("lines.txt").readlines()

    def __len__(self):
        return 64


loader = DataLoader(Lines(), batch_size=32)
"""
    + MODEL
    + CRITERION
    + TRAINING.replace("train_loader", "loader"),
    "paddle/remark-on-collation": HEAD
    + """\
from paddle.io.dataloader.collate import default_collate_fn as make_batch

blank = (paddle.zeros([4]), 0)
@

loader = DataLoader(train_set, batch_size=32, collate_fn=collate)
"""
    + MODEL
    + CRITERION
    + TRAINING.replace("train_loader", "loader"),
    "paddle/remark-on-padding": HEAD
    + """\
@

loader = DataLoader(train_set, batch_size=32, collate_fn=collate)
"""
    + MODEL
    + CRITERION
    + TRAINING.replace("train_loader", "loader"),
    "paddle/refuse-own-processes": "from multiprocessing import Process\n\n"
    + HEAD
    + MODEL
    + CRITERION
    + """\


def train(model):
    loader = DataLoader(train_set, batch_size=32)
    for x, y in loader:
"""
    + STEP
    + "\n\n@\n",
    "paddle/refuse-tensors-by-hand": HEAD
    + MODEL
    + CRITERION
    + """\
scale = paddle.to_tensor([0.0], stop_gradient=False)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for x, y in DataLoader(train_set, batch_size=32):
    optimizer.clear_grad()
    @
""",
    "paddle/refuse-uneven-noise": SETTING
    + "shared_noise = [paddle.zeros(p.shape) for p in model.parameters()]\n"
    + TRAINING.replace("        optimizer.step()\n", "        @\n        optimizer.step()\n"),
}
STATIC = """\
import numpy as np
import paddle

paddle.enable_static()
x = paddle.static.data("x", [None, 4], "float32")
loss = paddle.mean(paddle.static.nn.fc(x, 1) ** 2)
sgd = paddle.optimizer.SGD(learning_rate=0.1)
@
executor = paddle.static.Executor()
executor.run(paddle.static.default_startup_program())
for step in range(10):
    executor.run(feed={"x": np.ones((8, 4), "float32")}, fetch_list=[])
"""
#: Rule to the script around its example.
BY_NAME = {
    "agree-on-decisions": SETTING
    + """\
test_loader = DataLoader(test_set, batch_size=32)
best, wait = 0.0, 0
"""
    + TRAINING
    + """\
    for x, y in test_loader:
        accuracy = float((model(x).argmax(1) == y).astype("float32").mean())
    if accuracy > best:
        best = accuracy
    else:
        wait += 1
    @
""",
    "follow-batch-size": HEAD.replace("train_set =", "batch_size = 32\ntrain_set =")
    + LOADER.replace("32", "batch_size, drop_last=True")
    + MODEL
    + """\
criterion = nn.BCEWithLogitsLoss()
for epoch in range(3):
    for x, y in train_loader:
        @
        loss = criterion(model(x)[:, :1], real)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
""",
    "shard-evaluation": SETTING
    + "test_loader = DataLoader(test_set, batch_size=32)\n"
    + TRAINING
    + "    with paddle.no_grad():\n        @\n    print(correct)\n",
    "join-parallel-environment": SEEDED
    + PARSER
    + """\


def train(args):
    train_loader = DataLoader(train_set, batch_size=32)
    model = Net()
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
    for x, y in train_loader:
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


@


if __name__ == "__main__":
    main()
""",
    "log-once": SEEDED
    + """\


def main():
    @
    train_loader = DataLoader(train_set, batch_size=32)
    model = Net()
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
    for epoch in range(3):
        for x, y in train_loader:
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()


main()
""",
    "open-once": SETTING + "@\n" + TRAINING + '        results.write("step")\n',
    "prepare-once": HEAD.replace(
        "from paddle.io", "from paddle.vision.datasets import MNIST\nfrom paddle.io"
    )
    + "@\n"
    + LOADER
    + MODEL
    + CRITERION
    + TRAINING,
    "print-once": SETTING
    + """\
test_loader = DataLoader(test_set, batch_size=32)


def evaluate(model):
    total = 0.0
    with paddle.no_grad():
        for x, y in test_loader:
            total += criterion(model(x), y).item()
    return total


"""
    + TRAINING
    + "    @\n",
    "progress-once": HEAD.replace("import paddle\n", "import paddle\nfrom tqdm import tqdm\n")
    + LOADER.replace("train_loader", "loader")
    + MODEL
    + CRITERION
    + """\
for epoch in range(3):
    @
"""
    + STEP,
    "reduce-reported-numbers": SETTING
    + TRAINING.replace("for epoch in range(3):\n", "for epoch in range(3):\n    total_loss = 0\n")
    + "        @\n    print(total_loss)\n",
    "scale-loss": HEAD
    + LOADER
    + MODEL
    + """\
for epoch in range(3):
    for x, y in train_loader:
        @
        optimizer.step()
""",
    "scale-learning-rate": PLAIN
    + LOADER
    + """\
model = Net()
@
"""
    + CRITERION
    + TRAINING,
    "set-epoch": HEAD
    + "train_loader = DataLoader(train_set, batch_size=32, shuffle=True)\n"
    + MODEL
    + CRITERION
    + "@\n"
    + STEP,
    "shard-training-data": HEAD + "@\n" + MODEL + CRITERION + TRAINING,
    "share-buffers": SETTING + TRAINING + "    @\n",
    "average-gradients": PLAIN
    + LOADER
    + MODEL
    + CRITERION
    + "for x, y in train_loader:\n    loss = criterion(model.layer(x), y)\n    @\n",
    "skip-synchronisation": PLAIN
    + LOADER.replace("train_loader", "loader")
    + MODEL
    + CRITERION
    + "for epoch in range(3):\n    @\n",
    "train-high-level": HEAD
    + """\
model = paddle.Model(Net())
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
model.prepare(optimizer, nn.CrossEntropyLoss())
@
""",
    "track-once": HEAD.replace("import paddle\n", "import paddle\nfrom visualdl import LogWriter\n")
    + "@\n"
    + LOADER
    + MODEL
    + CRITERION
    + TRAINING
    + '    writer.add_scalar("epoch", epoch, epoch)\n',
    "unwrap-model": SETTING + TRAINING + "@\n",
    "use-own-gpu": HEAD + "@\n" + LOADER + MODEL + CRITERION + TRAINING,
    "vary-random-numbers": PLAIN.replace("x)\n\n\ntrain", "nn.functional.dropout(x))\n\n\ntrain")
    + LOADER
    + MODEL
    + CRITERION
    + """\
epochs = 3


def train(model, train_loader):
    for x, y in train_loader:
"""
    + STEP
    + "\n\n@\n",
    "train-on-servers": STATIC,
    "train-static-graph": STATIC,
    "wait-before-reading": SETTING + TRAINING + "@\n",
    "wrap-model": PLAIN + LOADER + "@\n" + CRITERION + TRAINING,
    "wrap-optimizer": PLAIN + LOADER + "model = Net()\n@\n" + CRITERION + TRAINING,
    "split-calls": HEAD.replace("BatchNorm1D", "LayerNorm") + LOADER + "@\n" + CRITERION + TRAINING,
    "write-once": HEAD + ARGUMENTS + LOADER + MODEL + CRITERION + TRAINING + "@\n",
}
EXAMPLES = {f"paddle/{name}": text for name, text in BY_NAME.items()}
