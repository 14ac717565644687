"""Scripts around the examples in the rules' docstrings: a line ``@`` stands for the example."""

from __future__ import annotations

from transpile import Options

HEAD = """\
import argparse
import logging
import os

import torch
from torch import nn
from torch.optim import SGD
from torch.utils.data import (
    DataLoader, Dataset, IterableDataset, TensorDataset, WeightedRandomSampler
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x)


device = "cuda" if torch.cuda.is_available() else "cpu"
train_set = TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
test_set = TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
"""
PARSER = """\
parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--save-model", action="store_true")
"""
ARGUMENTS = PARSER + "args = parser.parse_args()\n"
MODEL = """\
model = Net().to(device)
optimizer = SGD(model.parameters(), lr=0.1)
"""
LOADER = "train_loader = DataLoader(train_set, batch_size=32)\n"
CRITERION = "criterion = nn.CrossEntropyLoss()\n"
STEP = """\
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""
TRAINING = """\
for epoch in range(3):
    for x, y in train_loader:
""" + STEP
SETTING = HEAD + LOADER + MODEL + CRITERION

#: An example that needs nothing but itself.
ABOVE = HEAD + "@\n" + LOADER + MODEL + CRITERION + TRAINING

#: Rules whose example shows the work of another rule, too.
TOGETHER = {
    "agree-on-missing-files": "write-once",
    "agree-on-names": "write-once",
    "compress-gradients": "wrap-model",
    "split-calls": "wrap-model",
    "gather-state": "write-once",
    "leave-horovod": "wrap-model",
    "look-at-whole-batches": "print-once",
    "replace-data-parallel": "wrap-model",
    "share-sampler": "divide-batch-size",
    "share-stream": "divide-batch-size",
    "wait-before-reading": "write-once",
}
#: Choices without which a rule has nothing to do.
OPTIONS = {
    "fully-shard-model": Options(strategy="fsdp"),
    "gather-state": Options(strategy="fsdp"),
    "leave-horovod": Options(leave="horovod"),
    "compress-gradients": Options(compression="fp16"),
    "scale-learning-rate": Options(batch_size="per-device", scale_lr="linear"),
    "shard-evaluation": Options(evaluation="shard"),
    "broadcast-batches": Options(batches="broadcast"),
    "remark-on-seeds-of-shares": Options(shard="data"),
}
#: Rules that change nothing, to the script around their example, of which the user makes the other.
BY_HAND = {
    "remark-on-forward-hooks": HEAD + LOADER + MODEL + CRITERION + "@\n",
    "remark-on-weights-by-share": HEAD
    + LOADER
    + MODEL
    + CRITERION
    + """shadow = nn.Linear(4, 2)
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    @
""",
    "remark-on-unknown-records": "import reclib\nimport torch.distributed as dist\n"
    + HEAD
    + LOADER
    + MODEL
    + CRITERION
    + "@\n",
    "remark-on-seeds-of-shares": SETTING
    + """\
for step, (x, y) in enumerate(train_loader):
    @
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
""",
    "remark-on-squeezed-shares": HEAD
    + LOADER
    + MODEL
    + """\
for images, y in train_loader:
    @
    optimizer.zero_grad()
    nn.functional.cross_entropy(scores, y).backward()
    optimizer.step()
""",
    "remark-on-sparse-tables": HEAD
    + LOADER
    + """\
@
optimizer = SGD([*user_bias.parameters(), *item_bias.parameters()], lr=0.1)
for x, y in train_loader:
    optimizer.zero_grad()
    (user_bias(y) + item_bias(y)).mean().backward()
    optimizer.step()
""",
    "remark-on-fixed-tensors": SETTING
    + """\
@
    optimizer.zero_grad()
    criterion(model(static), y).backward()
    optimizer.step()
""",
    "remark-on-written-buffers": HEAD.replace(
        "        self.layer = nn.Linear(4, 2)\n",
        "        self.layer = nn.Linear(4, 2)\n"
        '        self.register_buffer("total", torch.zeros(()))\n',
    ).replace("import torch\n", "import torch\nimport torch.distributed as dist\n", 1)
    + LOADER
    + MODEL
    + CRITERION
    + "@\n",
    "remark-on-other-devices": HEAD + "@\n" + LOADER + MODEL + CRITERION + TRAINING,
    "refuse-private-chance": HEAD
    + MODEL
    + CRITERION
    + """\
import numpy

inputs, targets = train_set.tensors
@
for step in range(3):
    batch = torch.from_numpy(rng.integers(0, 64, 8))
    optimizer.zero_grad()
    criterion(model(inputs[batch]), targets[batch]).backward()
    optimizer.step()
""",
    "remark-on-unseeded-environments": HEAD.replace(
        "import torch\n", "import gymnasium\nimport torch\n", 1
    )
    + MODEL
    + CRITERION
    + """\
import random

memory = []
@
for step in range(60):
    after, reward, done, _, _ = env.step(action)
    memory.append((state, action))
    state = after
    if step > 20:
        chosen = random.sample(memory, 8)
        optimizer.zero_grad()
        criterion(
            model(torch.tensor([s for s, _ in chosen])), torch.tensor([a for _, a in chosen])
        ).backward()
        optimizer.step()
""",
    "refuse-chosen-trainings": HEAD.replace("import torch\n", "import optuna\nimport torch\n", 1)
    + CRITERION
    + """\
settings = {"lr": 0.1}


def objective(trial):
    train_loader = DataLoader(train_set, batch_size=32)
    model = Net()
    optimizer = SGD(model.parameters(), lr=trial["lr"])
    for x, y in train_loader:
"""
    + STEP
    + """\


study = optuna.create_study()
@
""",
    "refuse-changing-data": HEAD
    + """\
class Pool(Dataset):
    def __init__(self):
        self.keep = list(range(64))

    def __len__(self):
        return len(self.keep)

    def __getitem__(self, index):
        return train_set[self.keep[index]]


pool = Pool()
"""
    + MODEL
    + CRITERION
    + "@\n",
    "refuse-data-in-order": HEAD
    + """\
def encode(line):
    return torch.randn(4), 1


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
    "refuse-parameters-by-batch": HEAD
    + CRITERION
    + """\
BATCH_SIZE = 32


class Shifted(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 8)
        @

    def forward(self, x):
        return self.layer(x) + self.offset


train_loader = DataLoader(train_set, batch_size=BATCH_SIZE)
model = Shifted()
optimizer = SGD(model.parameters(), lr=0.1)
"""
    + TRAINING,
    "refuse-rows-left-out": HEAD
    + """\
from torch.utils.data import default_collate

blank = (torch.zeros(4), 0)
@

loader = DataLoader(train_set, batch_size=32, collate_fn=collate)
"""
    + MODEL
    + CRITERION
    + TRAINING.replace("train_loader", "loader"),
    "refuse-steps-in-backward": SETTING + "@\n",
    "remark-on-padding": HEAD
    + """\
@

loader = DataLoader(train_set, batch_size=32, collate_fn=collate)
"""
    + MODEL
    + CRITERION
    + TRAINING.replace("train_loader", "loader"),
    "agree-on-state": SETTING
    + """\
word = "word"
@
"""
    + TRAINING,
    "refuse-exchanged-parts": SETTING
    + """\


def smaller(layer):
    return nn.Linear(4, 2)


def train(model):
    for x, y in train_loader:
"""
    + STEP
    + """

@
""",
    "refuse-rank-conditional-collectives": HEAD
    + "loader = DataLoader(train_set, batch_size=32)\n"
    + MODEL
    + CRITERION
    + """\


def train_step(batch):
    x, y = batch
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()


for epoch in range(3):
    @
""",
    "remark-on-batch-statistics": HEAD.replace(
        "        self.layer = nn.Linear(4, 2)\n",
        "        self.layer = nn.Linear(4, 2)\n        self.mean = 0.5\n",
    ).replace("    def forward(self, x):\n        return self.layer(x)\n", "    @\n")
    + LOADER
    + MODEL
    + CRITERION
    + TRAINING,
    "remark-on-coupled-models": HEAD.replace(
        "    def forward(self, x):\n        return self.layer(x)\n", "    @\n"
    )
    + LOADER
    + MODEL
    + CRITERION
    + TRAINING,
    "remark-on-gradient-hooks": SETTING + "@\n",
    "remark-on-equal-noise": SETTING
    + """\
optimizer = SGD(model.parameters(), lr=0.1)
generator = torch.Generator().manual_seed(1)
for x, y in train_loader:
    @
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "refuse-sample-gradients": HEAD
    + MODEL
    + CRITERION
    + """\
optimizer = SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(train_set, batch_size=32):
    fake = torch.rand_like(x).requires_grad_(True)
    @
    optimizer.zero_grad()
    loss = criterion(model(x), y) + model(fake.detach()).mean()
    loss.backward()
    optimizer.step()
""",
    "refuse-cuts-beside-loaders": HEAD
    + LOADER.replace("32", "12")
    + MODEL
    + CRITERION
    + """\
inputs, targets = torch.randn(48, 4), torch.randint(0, 2, (48,))
loss = torch.zeros((), requires_grad=True)
@
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "refuse-tensors-by-hand": HEAD
    + MODEL
    + CRITERION
    + """\
scale = torch.zeros(1, requires_grad=True)
optimizer = SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(train_set, batch_size=32):
    optimizer.zero_grad()
    @
""",
    "refuse-uneven-noise": SETTING
    + "shared = torch.Generator().manual_seed(1)\n"
    + TRAINING.replace("        optimizer.step()\n", "        @\n        optimizer.step()\n"),
    "refuse-own-processes": HEAD.replace(
        "import torch\n", "import torch\nimport torch.multiprocessing as mp\n", 1
    )
    + MODEL
    + CRITERION
    + """\


def train(model):
    loader = DataLoader(train_set, batch_size=32)
    optimizer = SGD(model.parameters(), lr=0.1)
    for x, y in loader:
"""
    + STEP
    + "\n\n@\n",
}
#: Rule to the script around its example.
EXAMPLES = {
    "lay-out-buffers": HEAD.replace(
        "        self.layer = nn.Linear(4, 2)\n",
        "        self.layer = nn.Linear(4, 2)\n        pe = torch.zeros(50, 4)\n        @\n",
    )
    + LOADER
    + MODEL
    + CRITERION
    + TRAINING,
    "split-calls": HEAD + LOADER + "@\n" + CRITERION + TRAINING,
    "split-methods": HEAD
    + LOADER
    + "@\n\n\nmodel = Policy()\noptimizer = SGD(model.parameters(), lr=0.1)\n"
    + CRITERION
    + TRAINING.replace("model(x)", "model.evaluate(x)"),
    "broadcast-batches": HEAD
    + """\
loader = DataLoader(train_set, batch_size=32)
model = Net()
optimizer = SGD(model.parameters(), lr=0.1)


def train_step(inputs, targets):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), targets).backward()
    optimizer.step()


@
""",
    "agree-on-decisions": HEAD
    + """\
class EarlyStopping:
    def __init__(self):
        self.best = None
        self.early_stop = False

    def __call__(self, value):
        if self.best is not None and value > self.best:
            self.early_stop = True
        self.best = value


"""
    + LOADER
    + MODEL
    + CRITERION
    + "early_stopping = EarlyStopping()\n"
    + TRAINING
    + """\
    with torch.no_grad():
        x, y = test_set.tensors
        early_stopping(criterion(model(x), y).item())
    @
""",
    "agree-on-names": SETTING + "@\n" + TRAINING,
    "agree-on-paths": "from datetime import datetime\n\n"
    + SETTING
    + "@\n"
    + TRAINING
    + """\
torch.save(model.state_dict(), f"{folder}/best.pt")
model.load_state_dict(torch.load(f"{folder}/best.pt"))
""",
    "agree-on-order": SETTING
    + """\
with open("notes.txt") as notes:
    text = notes.read()
@
numbers = {word: number for number, word in enumerate(words)}
"""
    + TRAINING,
    "agree-on-drawn-data": HEAD
    + """\


def draw_negatives(pairs):
    return TensorDataset(pairs, torch.randint(0, 2, (len(pairs),)))


pairs = torch.zeros(64, 4)
"""
    + MODEL
    + CRITERION
    + """\
for epoch in range(3):
    @
    train_loader = DataLoader(samples, batch_size=32)
    for x, y in train_loader:
"""
    + STEP,
    "agree-on-draws": "import random\n"
    + SETTING
    + """\
for epoch in range(3):
    for x, y in train_loader:
        @
"""
    + STEP,
    "agree-on-splits": HEAD.replace(
        "import torch\n",
        "import numpy as np\nimport torch\nfrom torch.utils.data import Subset\n",
        1,
    )
    + "@\n"
    + "train_loader = DataLoader(Subset(train_set, order[:48]), batch_size=16)\n"
    + MODEL
    + CRITERION
    + TRAINING,
    "look-at-whole-batches": HEAD + LOADER + "@\n" + MODEL + CRITERION + TRAINING,
    "find-synchronised-batch-norm": HEAD.replace(
        "self.layer = nn.Linear(4, 2)",
        "self.layer = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2))",
    )
    + LOADER
    + MODEL
    + CRITERION
    + TRAINING
    + "@\n",
    "average-gradients": HEAD + LOADER + CRITERION + "@\n",
    "divide-batch-size": HEAD
    + ARGUMENTS
    + "@\n"
    + MODEL
    + CRITERION
    + TRAINING.replace("train_loader", "loader"),
    "join-process-group": HEAD.replace("train_set", "torch.manual_seed(0)\ntrain_set", 1)
    + PARSER
    + """\


def train(args):
    train_loader = DataLoader(train_set, batch_size=args.batch_size)
    model = Net().to(device)
    optimizer = SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(3):
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()


@


if __name__ == "__main__":
    main()
""",
    "log-once": HEAD.replace("train_set", "torch.manual_seed(0)\ntrain_set", 1)
    + """\


def main():
    @
    train_loader = DataLoader(train_set, batch_size=32)
    model = Net().to(device)
    optimizer = SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(3):
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()


main()
""",
    "open-once": SETTING + "@\n" + TRAINING + '        results.write("step")\n',
    "prepare-once": HEAD.replace(
        "import torch\n", "import torch\nfrom torchvision import datasets\n"
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
    with torch.no_grad():
        for x, y in test_loader:
            total += criterion(model(x), y).item()
    return total


"""
    + TRAINING
    + "    @\n",
    "progress-once": HEAD.replace("import torch\n", "import torch\nfrom tqdm import tqdm\n", 1)
    + LOADER
    + MODEL
    + CRITERION
    + "for epoch in range(3):\n    @\n"
    + STEP.replace("model(x), y", "model(data), target"),
    "rebuild-training-loader": HEAD
    + ARGUMENTS
    + """\


def make_loader(data, args):
    return DataLoader(data, batch_size=args.batch_size)


def make_loaders(args):
    return make_loader(train_set, args), make_loader(test_set, args)


@
"""
    + MODEL
    + CRITERION
    + TRAINING
    + "    for x, y in val_loader:\n        model(x)\n",
    "reduce-reported-numbers": SETTING + "for epoch in range(3):\n    @\n",
    "replace-data-parallel": HEAD + LOADER + "model = Net().cuda()\n@\n" + CRITERION + TRAINING,
    "scale-learning-rate": HEAD
    + ARGUMENTS
    + LOADER
    + "model = Net().to(device)\n@\n"
    + CRITERION
    + TRAINING,
    "scale-loss": HEAD
    + "train_loader = DataLoader(train_set, batch_size=32)\n"
    + MODEL
    + """\
for epoch in range(3):
    for x, y in train_loader:
        optimizer.zero_grad()
        losses = nn.functional.cross_entropy(model(x), y, reduction="none")
        mask = (y > 0).float()
        @
        optimizer.step()
""",
    "shard-evaluation": SETTING
    + "test_loader = DataLoader(test_set, batch_size=32)\n"
    + TRAINING
    + "    @\n    print(correct)\n",
    "set-epoch": HEAD
    + """\
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
"""
    + MODEL
    + """\
criterion = nn.CrossEntropyLoss()
epochs = 3


def train(model, train_loader):
    for x, y in train_loader:
"""
    + STEP
    + """

@
""",
    "shard-training-data": HEAD + "@\n" + MODEL + CRITERION + TRAINING,
    "share-cut-batches": HEAD
    + "inputs, labels = torch.randn(64, 4), torch.randint(0, 2, (64,))\n"
    + MODEL
    + CRITERION
    + "@\n",
    "share-sampler": HEAD
    + "weights = [1.0] * 64\n@\n"
    + MODEL
    + CRITERION
    + TRAINING.replace("train_loader", "loader"),
    "share-stream": HEAD
    + """\


class Stream(IterableDataset):
    def __iter__(self):
        for number in range(64):
            yield torch.full((4,), float(number)), number % 2


stream = Stream()
@
"""
    + MODEL
    + CRITERION
    + TRAINING.replace("train_loader", "loader"),
    "leave-out-gradients": HEAD
    + LOADER
    + CRITERION
    + """\
generator, discriminator = nn.Linear(2, 4), Net()
generator_optimizer = SGD(generator.parameters(), lr=0.1)
discriminator_optimizer = SGD(discriminator.parameters(), lr=0.1)
for epoch in range(3):
    for x, real in train_loader:
        noise = torch.randn(len(x), 2)
        generator_optimizer.zero_grad()
        @
        criterion(discriminator(x), real).backward()
        discriminator_optimizer.step()
""",
    "skip-synchronisation": HEAD
    + "loader = DataLoader(train_set, batch_size=32)\n"
    + MODEL
    + CRITERION
    + "for epoch in range(3):\n    @\n",
    "track-once": HEAD.replace(
        "import torch\n", "import torch\nfrom torch.utils.tensorboard import SummaryWriter\n"
    )
    + "@\n"
    + LOADER
    + MODEL
    + CRITERION
    + TRAINING
    + '    writer.add_scalar("epoch", epoch)\n',
    "unwrap-model": SETTING + TRAINING + "@\n",
    "keep-models-whole": HEAD.replace(
        "import torch\n", "import torch\nfrom transformers import AutoModelForCausalLM\n"
    )
    + LOADER
    + "@\n"
    + CRITERION
    + TRAINING,
    "use-own-gpu-in-threads": HEAD.replace("import os\n", "import os\nimport threading\n")
    + "from queue import Queue\n"
    + LOADER
    + "loader, queue = [torch.ones(2)], Queue()\n"
    + "@\n"
    + MODEL
    + CRITERION
    + TRAINING,
    "use-own-gpu": HEAD.replace('device = "cuda" if torch.cuda.is_available() else "cpu"\n', "@\n")
    + LOADER
    + MODEL
    + CRITERION
    + TRAINING,
    "vary-random-numbers": HEAD
    + "epochs = 3\n"
    + LOADER
    + MODEL
    + CRITERION
    + """\


def train(model, train_loader, optimizer):
    for x, y in train_loader:
"""
    + STEP
    + """


@
""",
    "wait-before-reading": SETTING + TRAINING + "@\n",
    "fully-shard-model": HEAD + LOADER + "@\n" + CRITERION + TRAINING,
    "leave-horovod": HEAD + "@\n" + LOADER + CRITERION + TRAINING,
    "gather-state": HEAD + LOADER + MODEL + CRITERION + TRAINING + "@\n",
    "compress-gradients": HEAD + LOADER + "@\n" + CRITERION + TRAINING,
    "wrap-model": HEAD + LOADER + "@\n" + CRITERION + TRAINING,
    "write-once": HEAD + ARGUMENTS + LOADER + MODEL + CRITERION + TRAINING + "@\n",
}
