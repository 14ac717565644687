"""What to do about findings on batches and learning rates."""

from __future__ import annotations

ADVICE = {
    "PT222": """\
Why:
    The batch size is divided by the number of processes, and here it is not told, or there is
    none.

How to fix:
    Give the loader a batch size that can be read, or divide it by hand.

Before:
    loader = DataLoader(data, batch_size=None)

After:
    loader = DataLoader(data, batch_size=8)

When to ignore:
    Never: --batch-size per-device leaves the size of the script to each process.
""",
    "PT224": """\
Why:
    This place means the batch of the script, and would read that of one process's share.

How to fix:
    Take the size from the batch itself, where the step needs it.

Before:
    hidden = torch.zeros(batch_size, 16)

After:
    hidden = torch.zeros(x.size(0), 16)

When to ignore:
    Never: shapes would not fit, or numbers would be N times too small.
""",
    "PT240": """\
Why:
    All processes take equally many samples of a batch, which not every number of them can do.

How to fix:
    Choose a batch size that the number of processes divides, or convert with --shard calls.

Before:
    loader = DataLoader(train_set, batch_size=25)

After:
    loader = DataLoader(train_set, batch_size=24)

When to ignore:
    Where the number of processes is one of those that are named.
""",
    "PT227": """\
Why:
    A batch that the processes do not divide is cut so that some parts share a sample.

How to fix:
    Let the batch sampler make batches that the number of processes divides.

Before:
    yield indices[start : start + 7]

After:
    yield indices[start : start + 8]

When to ignore:
    Where a sample that counts twice in a few batches does no harm.
""",
    "PT229": """\
Why:
    Each process asks for other indices of this data set, and it gives what comes next whatever
    it is asked.

How to fix:
    Let `__getitem__` give the sample of its index.

Before:
    def __getitem__(self, index):
        return next(self.lines)

After:
    def __getitem__(self, index):
        return self.lines[index]

When to ignore:
    Never: all processes would train on the same samples.
""",
    "PT232": """\
Why:
    Adaptive optimizers divide by the size of gradients already; a rate that grows with the
    number of processes often diverges.

How to fix:
    Use --scale-lr sqrt, or leave the rate as it is.

Before:
    disttranspile train.py --scale-lr linear

After:
    disttranspile train.py --scale-lr sqrt

When to ignore:
    Where the linear rate was tried with a warm-up.
""",
    "PT234": """\
Why:
    The number says how many batches of one process come between two events; N processes get
    through N times the samples in as many steps.

How to fix:
    Divide the number by the number of processes where it means samples.

Before:
    scheduler = StepLR(optimizer, step_size=1000)

After:
    scheduler = StepLR(optimizer, step_size=1000 // get_world_size())

When to ignore:
    Where it counts epochs, or steps are meant.
""",
    "PT235": """\
Why:
    --scale-lr finds no number in the text that it could scale.

How to fix:
    Write the rate in the script, or multiply it by hand.

Before:
    optimizer = SGD(model.parameters(), **config)

After:
    optimizer = SGD(model.parameters(), lr=0.1)

When to ignore:
    Where the rate stays as it is on purpose.
""",
    "PT236": """\
Why:
    A collate function that compares samples sees those of one process's share.

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
    "PT241": """\
Why:
    Without an axis, squeeze takes away all that have length 1. A process may have one sample of the
    last batch: its scores are then no rows any more, and fail or are spread over others.

How to fix:
    Name the axis that is meant, or drop the last batch.

Before:
    scores = model(images).squeeze()

After:
    scores = model(images).squeeze(-1)

When to ignore:
    Where the processes divide the number of samples so that none has a single one.
""",
}
