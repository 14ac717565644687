"""Scripts around the examples in the docstrings of Fluid's rules: ``@`` stands for the example."""

from __future__ import annotations

from transpile import Options

HEAD = """\
import logging
import os

import paddle
import paddle.fluid as fluid
"""
READER = """\


def rows():
    for i in range(64):
        yield [i / 64.0], [i / 32.0]


train_reader = paddle.batch(rows, batch_size=8)
"""
NETWORK = """\
x = fluid.layers.data(name="x", shape=[1], dtype="float32")
y = fluid.layers.data(name="y", shape=[1], dtype="float32")
place = fluid.CPUPlace()
prediction = fluid.layers.fc(input=x, size=1)
costs = fluid.layers.square_error_cost(input=prediction, label=y)
avg_loss = fluid.layers.mean(costs)
sgd = fluid.optimizer.SGD(learning_rate=0.01)
"""
START = """\
exe = fluid.Executor(place)
exe.run(fluid.default_startup_program())
"""
MAIN = 'main_program = fluid.default_main_program()\npath = "line"\n'
DATASET = """\
dataset = fluid.DatasetFactory().create_dataset("QueueDataset")
dataset.set_use_var([x, y])
dataset.set_batch_size(8)
dataset.set_filelist(["part-0"])
"""
FEEDER = "feeder = fluid.DataFeeder(feed_list=[x, y], place=place)\n"
LOOP = """\
for data in train_reader():
    exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_loss])
"""
SETTING = HEAD + READER + NETWORK + "sgd.minimize(avg_loss)\n" + START + MAIN + FEEDER

#: Rule to the script around its example.
EXAMPLES = {
    "fluid/join-job": HEAD.replace("import logging", "import logging\nimport random")
    + READER.split("train_reader")[0]
    + "def main():\n    random.random()\n"
    + "".join(
        f"    {line}\n"
        for line in (
            "train_reader = paddle.batch(rows, batch_size=8)\n"
            + NETWORK
            + "sgd.minimize(avg_loss)\n"
            + START
            + MAIN
            + FEEDER
            + LOOP
        ).splitlines()
    )
    + "\n\n@\n",
    "fluid/average-fetches": SETTING + "@\n",
    "fluid/keep-order": SETTING + "decode = sorted\n@\n" + LOOP,
    "fluid/log-once": SETTING + "device = place\n@\n" + LOOP,
    "fluid/open-once": SETTING + "@\n" + LOOP + '    results.write("step")\n',
    "fluid/optimise-memory": HEAD
    + READER
    + NETWORK
    + "sgd.minimize(avg_loss)\n@\n"
    + START
    + MAIN
    + FEEDER
    + LOOP,
    "fluid/print-once": SETTING.replace(READER, "def evaluate(model):\n    return 1\n" + READER)
    + LOOP
    + "model = prediction\n@\n",
    "fluid/progress-once": SETTING.replace(
        "import paddle\n", "import paddle\nfrom tqdm import tqdm\n"
    )
    + "@\n    exe.run(main_program, feed=feeder.feed(batch))\n",
    "fluid/save-state": SETTING + MAIN + LOOP + "@\n",
    "fluid/scale-learning-rate": HEAD
    + READER
    + NETWORK.replace("sgd = fluid.optimizer.SGD(learning_rate=0.01)\n", "@\n")
    + "sgd.minimize(avg_loss)\n"
    + START
    + MAIN
    + FEEDER
    + LOOP,
    "fluid/scale-loss": HEAD
    + READER
    + NETWORK
    + "loss = fluid.layers.reduce_sum(costs)\n@\n"
    + START
    + MAIN
    + FEEDER
    + LOOP,
    "fluid/shard-batches": SETTING + "@\n",
    "fluid/share-dataset": SETTING + MAIN + DATASET + "@\n",
    "fluid/track-once": SETTING.replace(
        "import paddle\n", "import paddle\nfrom visualdl import LogWriter\n", 1
    )
    + "@\n"
    + LOOP
    + '    writer.add_scalar("cost", 1.0)\n',
    "fluid/transpile-program": HEAD + READER + NETWORK + "@\n" + MAIN + FEEDER + LOOP,
    "fluid/wait-for-each-other": SETTING
    + "\n\ndef train(exe):\n"
    + "".join(f"    {line}\n" for line in LOOP.splitlines())
    + "    fluid.io.save_inference_model(path, ['x'], [prediction], exe)\n"
    + "\n\n@\n",
    "fluid/write-once": SETTING.replace("import os\n", "import argparse\nimport os\n")
    + LOOP
    + "args = argparse.ArgumentParser().parse_args()\n@\n",
    "fluid/distribute-embedding": HEAD
    + """\
word = fluid.layers.data(name="word", shape=[1], dtype="int64")
@
place = fluid.CPUPlace()
cost = fluid.layers.mean(emb)
fluid.optimizer.SGD(0.1).minimize(cost)
"""
    + START
    + "exe.run(feed={})\n",
    "fluid/share-gradients": HEAD
    + READER
    + NETWORK.replace("CPUPlace()", "CUDAPlace(0)")
    + "sgd.minimize(avg_loss)\n"
    + START
    + "@\ntrain_exe.run(fetch_list=[avg_loss.name], feed={})\n",
}
OPTIONS = {
    "fluid/distribute-embedding": Options(distributed_embedding=True),
    "fluid/scale-learning-rate": Options(batch_size="per-device", scale_lr="linear"),
    "fluid/share-gradients": Options(mode="nccl2"),
}
