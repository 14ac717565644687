"""What to do about findings on data and batches."""

from __future__ import annotations

ADVICE = {
    "MX202": """\
Why:
    The data is given in a way that cannot be parted by rank.

How to fix:
    Give each worker its part by hand, by the rank and num_workers of the store.

Before:
    data = mylib.batches()

After:
    data = mx.io.NDArrayIter(x, y, batch_size=8)

When to ignore:
    Never: all workers would train on the same samples.
""",
    "MX203": """\
Why:
    No loader or iterator is seen behind the backward pass.

How to fix:
    Draw the batches from a DataLoader or an iterator that the script makes itself.

Before:
    for step in range(100):
        loss = criterion(net(x), y)

After:
    for x, y in gluon.data.DataLoader(data, 8):
        loss = criterion(net(x), y)

When to ignore:
    Never: nothing is written.
""",
    "MX212": """\
Why:
    The batch of the script is divided among the workers, and its size is not told.

How to fix:
    Write the size where the data is made, or choose --batch-size per-device.

Before:
    data = mx.io.NDArrayIter(x, y, **settings)

After:
    data = mx.io.NDArrayIter(x, y, batch_size=8)

When to ignore:
    Never: nothing is written.
""",
    "MX217": """\
Why:
    Each device shall take the batch of the script, and a worker may have any number of them.

How to fix:
    Multiply the batch size by the number of devices where the script says it.

Before:
    batch_size = 64

After:
    batch_size = 64 * len(ctx)

When to ignore:
    Where the batch size of the script is meant for all devices of a worker together.
""",
    "MX218": """\
Why:
    The batch size shall be multiplied by the number of devices, and is not found.

How to fix:
    Give it a name that is assigned once, as a literal or from the command line.

Before:
    data = gluon.data.DataLoader(train_set, sizes[stage])

After:
    batch_size = 64
    data = gluon.data.DataLoader(train_set, batch_size)

When to ignore:
    Never: nothing is written.
""",
    "MX214": """\
Why:
    Something else than the data takes the batch size, and would not fit one worker's.

How to fix:
    Use -1 or 0 in shapes, or choose --batch-size per-device.

Before:
    mx.sym.reshape(x, shape=(batch_size, 16))

After:
    mx.sym.reshape(x, shape=(-1, 16))

When to ignore:
    Never: shapes would not fit.
""",
    "MX222": """\
Why:
    Workers that draw whole batches and take rows of them must draw the same ones.

How to fix:
    Seed what draws them alike, or give each worker its part by hand.

Before:
    batches = draw(random.SystemRandom())

After:
    batches = draw(random.Random(0))

When to ignore:
    Never: rows would not belong together.
""",
    "MX223": """\
Why:
    A worker has every so manieth sample of a batch, and would take the rows of others.

How to fix:
    Put the array into the data set of the loader.

Before:
    w = weights[at : at + len(x)]

After:
    dataset = gluon.data.ArrayDataset(x, y, weights)

When to ignore:
    Never: rows would not belong together.
""",
    "MX232": """\
Why:
    Adaptive optimizers often diverge with a rate that grows with the number of workers.

How to fix:
    Use --scale-lr sqrt, or none.

Before:
    disttranspile train.py --scale-lr linear

After:
    disttranspile train.py --scale-lr sqrt

When to ignore:
    Where the linear rate was tried.
""",
    "MX234": """\
Why:
    The number counts batches of the script's size, and each step takes N of them.

How to fix:
    Divide the number by the number of workers where it means samples.

Before:
    mx.lr_scheduler.FactorScheduler(step=1000)

After:
    mx.lr_scheduler.FactorScheduler(step=1000 // workers)

When to ignore:
    Where steps are meant.
""",
    "MX235": """\
Why:
    --scale-lr finds no rate that it could multiply.

How to fix:
    Write the rate out, or multiply it by hand.

Before:
    gluon.Trainer(net.collect_params(), "sgd", settings)

After:
    gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})

When to ignore:
    Where the rate stays on purpose.
""",
    "MX224": """\
Why:
    Shares of the processes would have different sizes, some perhaps none, and one would wait in
    a step that the others never take.

How to fix:
    Leave samples out of the data set before the loader is made.

Before:
    def batchify(samples):
        return make_batch([one for one in samples if one[1] > 0])

After:
    data = [one for one in data if one[1] > 0]

When to ignore:
    Never: --shard calls lets every process draw whole batches instead.
""",
    "MX225": """\
Why:
    What compares samples while a batch is put together sees those of one process's share.

How to fix:
    Compute it for each sample in the data set, or over the whole data set before training.

Before:
    def batchify(samples):
        return stack(samples) - stack(samples).mean(0)

After:
    data = [one - mean for one in data]

When to ignore:
    Where what it computes only pads or orders the samples.
""",
    "MX229": """\
Why:
    Each process asks for other samples of this data set, and what it gives depends on those that
    were asked for before.

How to fix:
    Let `__getitem__` give the sample of its index, and keep in the training loop what is kept.

Before:
    def __getitem__(self, index):
        return next(self.lines)

After:
    def __getitem__(self, index):
        return self.lines[index]

When to ignore:
    Never: the processes would train on other samples than one does.
""",
    "MX226": """\
Why:
    A worker pads to the longest sample of its share, which may be shorter than that of the batch.

How to fix:
    Pad all batches to one length, or mask the padding.

Before:
    longest = max(len(each) for each in samples)

After:
    longest = 100

When to ignore:
    Where the network gives padding no part in its outputs.
""",
}
