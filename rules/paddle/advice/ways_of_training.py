"""What to do about findings on high-level training, static graphs and servers."""

from __future__ import annotations

ADVICE = {
    "PD902": """\
Why:
    fit() of several processes needs a model, data and a loss that can be told from the text, and
    train_batch() the batches of a DataLoader, and no metrics. What an optimizer holds beside the
    network has gradients that nobody averages.

How to fix:
    Write the loop over a paddle.io.DataLoader in the script.

Before:
    model.fit(make(data))

After:
    for x, y in DataLoader(data, batch_size=8):
        criterion(network(x), y).backward()

When to ignore:
    Never: nothing is written.
""",
    "PD904": """\
Why:
    fit() averages the gradients of the shares, which is right for means over samples.

How to fix:
    Use a loss that is a mean over samples, or compare a run with one process.

Before:
    model.prepare(optimizer, WeightedLoss())

After:
    model.prepare(optimizer, nn.CrossEntropyLoss())

When to ignore:
    Once a run was compared.
""",
    "PD905": """\
Why:
    What fit() shows in training is of rank 0's share.

How to fix:
    Read it as an estimate, or evaluate.

Before:
    model.fit(data)

After:
    model.fit(data)
    model.evaluate(test)

When to ignore:
    Always where the numbers are only looked at.
""",
    "PD906": """\
Why:
    predict() of several processes goes through shares, and gathers them on GPUs only.

How to fix:
    Predict in a process of its own, from the saved model.

Before:
    model.predict(data)

After:
    model.save("model")

When to ignore:
    Where the outputs of one share are enough.
""",
    "PD911": """\
Why:
    A static graph is rewritten as a whole, and something in it or around it cannot be.

How to fix:
    Train in dynamic graph mode, with paddle.jit.to_static where speed matters.

Before:
    paddle.enable_static()

After:
    model = paddle.jit.to_static(model)

When to ignore:
    Never: nothing is written.
""",
    "PD912": """\
Why:
    The modes nccl2 and collective are those of Fluid 1.x.

How to fix:
    Leave out --mode, or use --mode pserver with Paddle 2.6.

Before:
    disttranspile train.py --mode nccl2

After:
    disttranspile train.py

When to ignore:
    Never: nothing is written.
""",
    "PD924": """\
Why:
    What is fetched in training is computed from one process's share.

How to fix:
    Read it as a sample, or evaluate on all data.

Before:
    (value,) = executor.run(program, fetch_list=[loss])

After:
    (value,) = executor.run(test_program, fetch_list=[loss])

When to ignore:
    Where the number is only looked at.
""",
    "PD925": """\
Why:
    The graph averages gradients, which is right for means over samples.

How to fix:
    Use a loss that is a mean over samples, or compare a run with one process.

Before:
    loss = paddle.sum(losses) / paddle.sum(mask)

After:
    loss = paddle.mean(losses)

When to ignore:
    Once a run was compared.
""",
    "PD926": """\
Why:
    Each process takes the statistics of its share, and rank 0 saves its own.

How to fix:
    Keep the shares large enough, or use another norm.

Before:
    static.nn.batch_norm(x)

After:
    static.nn.group_norm(x, 8)

When to ignore:
    Where shares are large.
""",
    "PD928": """\
Why:
    fleet rewrites static graphs for GPUs, in the older representation.

How to fix:
    Start it on GPUs, or convert without --paddle-api fleet.

Before:
    disttranspile train.py --paddle-api fleet

After:
    disttranspile train.py

When to ignore:
    Where the job always runs on GPUs.
""",
    "PD932": """\
Why:
    Parameter servers hold what a static program of Paddle 2.6 trains, and this is something
    else.

How to fix:
    Convert without --mode pserver.

Before:
    disttranspile train.py --mode pserver

After:
    disttranspile train.py

When to ignore:
    Never: nothing is written.
""",
    "PD934": """\
Why:
    Trainers do not wait for each other, so that results differ from run to run.

How to fix:
    Compare the accuracy with one process, or convert without --mode pserver.

Before:
    disttranspile train.py --mode pserver

After:
    disttranspile train.py

When to ignore:
    Where the accuracy was compared.
""",
}
