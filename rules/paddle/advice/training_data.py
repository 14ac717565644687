"""What to do about findings on processes and training data."""

from __future__ import annotations

ADVICE = {
    "PD102": """\
Why:
    The environment is joined once, in front of all training; here several places lead to parts
    of it.

How to fix:
    Call the training from one function of the script.

Before:
    train_first()
    train_second()

After:
    def main():
        train_first()
        train_second()


    main()

When to ignore:
    Never: nothing is written.
""",
    "PD104": """\
Why:
    The launcher starts one process for each device, and a script that starts its own would have
    N times as many.

How to fix:
    Call the training function directly.

Before:
    paddle.distributed.spawn(train, nprocs=2)

After:
    train()

When to ignore:
    Never: nothing is written.
""",
    "PD202": """\
Why:
    Processes without samples of their own would all train on the same ones.

How to fix:
    Make the loader in the script from a data set and a batch size, or give it a
    DistributedBatchSampler by hand.

Before:
    loader = DataLoader(data, batch_sampler=make_sampler(data))

After:
    loader = DataLoader(data, batch_size=8, shuffle=True)

When to ignore:
    Never: nothing is written.
""",
    "PD203": """\
Why:
    A DistributedBatchSampler shares out what a loader draws; no loader is seen here.

How to fix:
    Draw the batches from a paddle.io.DataLoader that the script makes itself.

Before:
    for step in range(100):
        loss = criterion(model(inputs), labels)

After:
    for x, y in DataLoader(data, batch_size=8):
        loss = criterion(model(x), y)

When to ignore:
    Never: nothing is written.
""",
    "PD205": """\
Why:
    The loader is given a batch sampler, and its own batch_size is None from then on.

How to fix:
    Read the size where the loader gets it from.

Before:
    steps = len(data) // loader.batch_size

After:
    steps = len(data) // args.batch_size

When to ignore:
    Never: the script would fail.
""",
    "PD215": """\
Why:
    The pass over the training loader sees one process's share.

How to fix:
    Compute it from the data set, or through a second loader that only this pass uses.

Before:
    mean = sum(x.mean() for x, _ in loader)

After:
    mean = sum(x.mean() for x, _ in DataLoader(data, batch_size=8))

When to ignore:
    Where a value that differs a little does no harm.
""",
    "PD216": """\
Why:
    What the call reads of the loader is one process's share. What Paddle gathers is not named.

How to fix:
    Give it a second DataLoader over the whole data set.

Before:
    visualise(loader)

After:
    visualise(DataLoader(data, batch_size=8))

When to ignore:
    Where it only looks at some samples.
""",
    "PD224": """\
Why:
    The place means the batch of the script, and would be given that of one process.

How to fix:
    Take the size from the batch itself.

Before:
    zeros = paddle.zeros([batch_size, 16])

After:
    zeros = paddle.zeros([x.shape[0], 16])

When to ignore:
    Never: shapes would not fit.
""",
    "PD232": """\
Why:
    --scale-lr finds no number that it could multiply.

How to fix:
    Give the optimizer, or its schedule, the rate as learning_rate=.

Before:
    optimizer = SGD(*settings)

After:
    optimizer = SGD(learning_rate=0.1, parameters=model.parameters())

When to ignore:
    Never: convert without --scale-lr.
""",
    "PD220": """\
Why:
    Shares of the processes would have different sizes, some perhaps none, and one would wait in
    a step that the others never take.

How to fix:
    Leave samples out of the data set before the loader is made.

Before:
    def collate(samples):
        return make_batch([one for one in samples if one[1] > 0])

After:
    data = [one for one in data if one[1] > 0]

When to ignore:
    Never: --shard calls lets every process draw whole batches instead.
""",
    "PD236": """\
Why:
    What compares samples while a batch is put together sees those of one process's share.

How to fix:
    Compute it for each sample in the data set, or over the whole data set before training.

Before:
    def collate(samples):
        return stack(samples) - stack(samples).mean(0)

After:
    data = [one - mean for one in data]

When to ignore:
    Where what it computes only pads or orders the samples.
""",
    "PD229": """\
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
}
