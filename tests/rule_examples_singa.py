"""Scripts around the examples in the docstrings of SINGA's rules: ``@`` is the example."""

from __future__ import annotations

from transpile import Options

HEAD = """\
import argparse
import logging

import numpy as np
from singa import autograd, device, layer, model, opt, tensor
from tqdm import tqdm
"""
MODEL = """\


class Net(model.Model):
    def __init__(self):
        super().__init__()
        self.fc = layer.Linear(10)
        self.bn1 = None

    def forward(self, x):
        return self.fc(x)

    def train_one_batch(self, x, y):
        out = self.forward(x)
        loss = autograd.softmax_cross_entropy(out, y)
        self.optimizer(loss)
        return out, loss

    def set_optimizer(self, optimizer):
        self.optimizer = optimizer


"""
SEEDS = "np.random.seed(0)\n"
DATA = """\
batch_size = 64
num_batch = 10
idx = np.arange(640)
train_x = np.zeros((640, 784), np.float32)
train_y = np.zeros(640, np.int32)
"""
DEVICE = "dev = device.create_cuda_gpu()\ndev.SetRandSeed(0)\n"
MAKE = """\
model = Net()
model.set_optimizer(opt.SGD(lr=0.1))
"""
TENSORS = """\
tx = tensor.Tensor((batch_size, 784), dev)
ty = tensor.Tensor((batch_size,), dev, tensor.int32)
"""
COMPILE = "model.compile([tx], is_train=True, use_graph=True)\n"
LOOP = """\
for b in range(num_batch):
    tx.copy_from_numpy(train_x[b * 64 : (b + 1) * 64])
    ty.copy_from_numpy(train_y[b * 64 : (b + 1) * 64])
    out, loss = model(tx, ty)
"""
BEFORE = HEAD + MODEL + SEEDS + DATA + DEVICE
SET_UP = BEFORE + MAKE + TENSORS + COMPILE
ALL = SET_UP + LOOP
OWN_PATH = HEAD + MODEL + """\
def run(global_rank, world_size, local_rank, max_epoch, batch_size, sgd):
    dev = device.create_cuda_gpu_on(local_rank)
    dev.SetRandSeed(0)
    train_x = np.zeros((640, 784), np.float32)
    train_y = np.zeros(640, np.int32)
    if hasattr(sgd, "communicator"):
        part = len(train_x) // world_size
        train_x = train_x[global_rank * part : (global_rank + 1) * part]
        train_y = train_y[global_rank * part : (global_rank + 1) * part]
    net = Net()
    net.set_optimizer(sgd)
    tx = tensor.Tensor((batch_size, 784), dev)
    ty = tensor.Tensor((batch_size,), dev, tensor.int32)
    net.compile([tx], is_train=True, use_graph=True)
    for epoch in range(max_epoch):
        for b in range(len(train_x) // batch_size):
            tx.copy_from_numpy(train_x[b * batch_size : (b + 1) * batch_size])
            ty.copy_from_numpy(train_y[b * batch_size : (b + 1) * batch_size])
            out, loss = net(tx, ty)


parser = argparse.ArgumentParser()
parser.add_argument("--device-id", type=int, default=0)
parser.add_argument("--max-epoch", type=int, default=3)
parser.add_argument("--batch-size", type=int, default=64)
args = parser.parse_args()
sgd = opt.SGD(lr=0.1)
@
"""
NATIVE = HEAD + SEEDS + DATA + DEVICE + """\
sgd = opt.SGD(lr=0.1)
w = tensor.Tensor(data=np.random.randn(784, 10), device=dev, stores_grad=True)
x = tensor.Tensor(data=train_x, device=dev)
y = tensor.Tensor(data=train_y, device=dev)
for epoch in range(3):
    loss = autograd.softmax_cross_entropy(autograd.matmul(x, w), y)
    @
        sgd.step()
"""

#: Rules that do something only with other options than the default.
OPTIONS = {
    "singa/grow-batches": Options(batch_size="per-device"),
    "singa/scale-learning-rate": Options(batch_size="per-device", scale_lr="linear"),
    "singa/choose-communication": Options(dist_option="fp16"),
    "singa/start-processes": Options(singa_start="multiprocess"),
}
#: Rule to the script around its example.
EXAMPLES = {
    "singa/choose-communication": ALL.replace("self.optimizer(loss)", "\n        @").replace(
        "        \n", ""
    ),
    "singa/gather-outputs": ALL.replace("num_batch = 10", "num_batch, correct, total = 10, 0, 0")
    + "    y = train_y[b * 64 : (b + 1) * 64]\n    @\n",
    "singa/grow-batches": ALL.replace("batch_size = 64", "@"),
    "singa/log-once": ALL.replace("for b", "epoch = 0\n@\nfor b"),
    "singa/open-once": ALL.replace("import logging", "import logging\nimport os")
    + "@\nresults.write('x')\nprint(results)\n",
    "singa/prepare-once": HEAD
    + "from urllib.request import urlretrieve\n"
    + MODEL
    + SEEDS
    + 'url = "https://example.org/digits.npz"\n@\n'
    + DATA
    + DEVICE
    + MAKE
    + TENSORS
    + COMPILE
    + LOOP,
    "singa/print-once": ALL.replace(MODEL, MODEL + "def evaluate(model):\n    return 1\n\n\n")
    + "@\n",
    "singa/progress-once": SET_UP + "@\n" + LOOP.partition("\n")[2],
    "singa/share-batches": BEFORE
    + MAKE
    + "x = train_x[:64]\n"
    + "@\nty = tensor.Tensor((batch_size,), dev, tensor.int32)\n"
    + COMPILE
    + "out, loss = model(tx, ty)\n",
    "singa/share-gradients": NATIVE,
    "singa/share-optimizer": BEFORE
    + "@\n"
    + "model = Net()\nmodel.set_optimizer(sgd)\n"
    + TENSORS
    + COMPILE
    + LOOP,
    "singa/scale-learning-rate": BEFORE
    + "@\n"
    + "model = Net()\nmodel.set_optimizer(sgd)\n"
    + TENSORS
    + COMPILE
    + LOOP,
    "singa/share-parameters": (BEFORE + MAKE + TENSORS + "@\n" + LOOP).replace(
        "dev.SetRandSeed(0)\n", ""
    ),
    "singa/start-processes": HEAD
    + MODEL
    + "def main():\n"
    + "".join(
        f"    {line}\n"
        for line in (SEEDS + DATA + DEVICE + MAKE + TENSORS + COMPILE + LOOP).splitlines()
    )
    .replace("model = Net", "net = Net")
    .replace("model.set", "net.set")
    .replace("model.compile", "net.compile")
    .replace("model(tx", "net(tx")
    + "\n\n@\n",
    "singa/take-own-path": OWN_PATH,
    "singa/track-once": ALL.replace(
        "from tqdm import tqdm", "from tensorboardX import SummaryWriter\nfrom tqdm import tqdm"
    ).replace("for b in", "@\nfor b in")
    + "    writer.add_scalar('loss', 1, b)\n",
    "singa/use-own-gpu": HEAD
    + MODEL
    + SEEDS
    + DATA
    + "@\ndev.SetRandSeed(0)\n"
    + MAKE
    + TENSORS
    + COMPILE
    + LOOP,
    "singa/vary-dropout": (BEFORE + MAKE + TENSORS + "@\n" + LOOP).replace(
        "self.bn1 = None", "self.drop = layer.Dropout(0.5)"
    ),
    "singa/wait-before-reading": ALL + "@\n",
    "singa/write-once": ALL.replace(
        "batch_size = 64",
        'parser = argparse.ArgumentParser()\nparser.add_argument("--save-model")\n'
        "args = parser.parse_args()\nbatch_size = 64",
    )
    + "@\n",
}
#: Rules that leave it to the user, to the script around their examples.
BY_HAND = {
    "singa/refuse-losses": ALL.replace(
        "        out = self.forward(x)\n" "        loss = autograd.softmax_cross_entropy(out, y)\n",
        "        @\n",
    ),
    "singa/refuse-own-processes": "from multiprocessing import Process\n"
    + HEAD
    + MODEL
    + "def train():\n    net = Net()\n"
    + "".join(
        f"    {line}\n"
        for line in (
            DATA + DEVICE + "net.set_optimizer(opt.SGD(lr=0.1))\n" + TENSORS + COMPILE + LOOP
        ).splitlines()
    )
    .replace("model.compile", "net.compile")
    .replace("model(tx", "net(tx")
    + "\n\nnp.random.seed(0)\n@\n",
    "singa/refuse-private-chance": ALL.replace(SEEDS, "").replace("for b in", "@\nfor b in"),
    "singa/refuse-private-decisions": "import time\n"
    + SET_UP
    + "start = time.time()\nfor epoch in range(20):\n    @\n"
    + "".join(f"    {line}\n" for line in LOOP.splitlines()),
    "singa/remark-on-batch-norm": ALL.replace("        self.bn1 = None\n", "        @\n"),
}
#: Rules whose examples show what others do, too.
TOGETHER = {
    "singa/share-gradients": "singa/share-optimizer",
    "singa/wait-before-reading": "singa/write-once",
}
