"""What to do about findings on losses and gradients."""

from __future__ import annotations

ADVICE = {
    "FL302": """\
Why:
    With equal shares the average of the gradients is that of the batch for a mean only.

How to fix:
    Take the mean over the samples.

Before:
    optimizer.minimize(fluid.layers.reduce_sum(cost))

After:
    optimizer.minimize(fluid.layers.mean(cost))

When to ignore:
    Where you know that the loss is a mean.
""",
    "FL303": """\
Why:
    A trainer sees its own share, and the loss of a sample depends on the others of its batch.

How to fix:
    Take a loss that keeps samples apart, or accept smaller batches.

Before:
    loss = fluid.layers.matmul(x, x, transpose_y=True)

After:
    loss = fluid.layers.cross_entropy(x, y)

When to ignore:
    Where smaller batches do.
""",
    "FL304": """\
Why:
    Shares have different numbers of elements, and short sequences weigh more.

How to fix:
    Divide by the number of sequences instead.

Before:
    loss = fluid.layers.mean(costs)

After:
    loss = fluid.layers.mean(fluid.layers.sequence_pool(costs, "sum"))

When to ignore:
    Where sequences are of about one length.
""",
    "FL305": """\
Why:
    What is fetched is that of one trainer's share.

How to fix:
    Read it as a sample of the batch, or evaluate with a test program.

Before:
    (value,) = executor.run(fetch_list=[accuracy])

After:
    (value,) = executor.run(test_program, fetch_list=[accuracy])

When to ignore:
    Where it is only looked at.
""",
    "FL306": """\
Why:
    Each trainer takes the statistics of its share, and trainer 0 saves its own.

How to fix:
    Keep shares large enough, or take a larger batch.

Before:
    batch_size = 16

After:
    batch_size = 256

When to ignore:
    Where shares are large.
""",
    "FL307": """\
Why:
    Trainers clip before the servers average; one process clips the whole.

How to fix:
    See whether the limit is often reached, or convert with --mode nccl2.

Before:
    disttranspile train.py

After:
    disttranspile train.py --mode nccl2

When to ignore:
    Where the limit is hardly reached.
""",
    "FL308": """\
Why:
    Rows of a sparse embedding are updated in the order of ids, which trainers see otherwise.

How to fix:
    Take is_sparse=False, or SGD or Adagrad.

Before:
    fluid.layers.embedding(ids, size=[1000, 16], is_sparse=True)

After:
    fluid.layers.embedding(ids, size=[1000, 16])

When to ignore:
    Where results that differ a little do no harm.
""",
    "FL309": """\
Why:
    In one process the run that ends a pass counts as a step of the schedule, on servers it does
    not.

How to fix:
    Expect each pass to change the rate one step later.

Before:
    fluid.layers.piecewise_decay([100], [0.1, 0.01])

After:
    fluid.layers.piecewise_decay([101], [0.1, 0.01])

When to ignore:
    Where one step more or less says nothing.
""",
    "FL310": """\
Why:
    Fed numbers count rows of the whole batch, and a share has others.

How to fix:
    Feed positions inside each sample, or compute the numbers from the batch in the program.

Before:
    fluid.layers.gather(x, rows)

After:
    fluid.layers.gather(x, fluid.layers.argmax(scores))

When to ignore:
    Never: other rows would be chosen.
""",
    "FL312": """\
Why:
    --scale-lr finds no number that it could multiply.

How to fix:
    Scale the rate in the script, and convert without --scale-lr.

Before:
    disttranspile train.py --scale-lr linear

After:
    disttranspile train.py

When to ignore:
    Never: nothing is written.
""",
    "FL402": """\
Why:
    NCCL2 shares gradients within a compiled program on GPUs.

How to fix:
    Run fluid.CompiledProgram on GPUs, or convert with --mode pserver.

Before:
    disttranspile train.py --mode nccl2

After:
    disttranspile train.py --mode pserver

When to ignore:
    Never: gradients would not be shared.
""",
    "FL313": """\
Why:
    A variable of the program holds what a trainer has made of its shares of the batches.

How to fix:
    Compute it of the data before training, or leave it out of the program.

Before:
    fluid.layers.assign(0.9 * running + 0.1 * fluid.layers.mean(x), running)

After:
    running = fluid.layers.fill_constant([1], "float32", value=mean_of_data)

When to ignore:
    Where a number of about the right size is enough.
""",
    "FL314": """\
Why:
    Each trainer fetches numbers of its share, and makes its next batch of them.

How to fix:
    Fetch means alone, or choose what is fed without what is fetched.

Before:
    (errors,) = executor.run(feed=feed, fetch_list=[error])

After:
    (average,) = executor.run(feed=feed, fetch_list=[loss])

When to ignore:
    Never where numbers choose rows: they count those of a share.
""",
}
