"""The manual of the findings that say which way of sharding was taken, and for which job."""

ADVICE = {
    "DT012": """\
What:
    Each process takes its share of every batch, which this number of processes does not allow.

Why:
    A share that is rounded would be another batch and another gradient; so the output stops at
    its start.

How to fix:
    Choose a number of processes or a batch size that the message names, or --batch-size
    per-device.

Before:
    torchrun --nproc_per_node 3 train_dist.py --batch-size 32

After:
    torchrun --nproc_per_node 4 train_dist.py --batch-size 32

When to ignore:
    Where the job is never started with that number of processes.
""",
    "DT014": """\
What:
    What the output uses came with a later version of the framework than --target-version names.

Why:
    It would end with an error about a name that is not there.

How to fix:
    Give a later version, or leave the option out that asks for it.

Before:
    disttranspile train.py --strategy fsdp --target-version 1.13

After:
    disttranspile train.py --strategy fsdp --target-version 2.4

When to ignore:
    Never: give the version that the job really has.
""",
    "DT015": """\
What:
    It cannot be shown that shares of batches train the same model, for the reason in the message;
    so every process draws whole batches and computes its rows of each call of a model.

Why:
    That is exact, but each process loads all the data, and only models are computed side by side.

How to fix:
    Take out what the message names where it is not needed, and batches are sharded. --shard data
    does so in any case, with a warning or a refusal.

Before:
    loss = contrast(model(x))  # compares all samples

After:
    loss = criterion(model(x), y)

When to ignore:
    Where loading data takes little of the time.
""",
    "DT016": """\
What:
    Shares of batches leave a doubt, and calls of models cannot be split here either, for the
    reason in the message.

Why:
    Neither way of sharing is shown to train the same model.

How to fix:
    Take out one of the two obstacles: the message names both, with their lines.

Before:
    loss = contrast(model(x))
    model.history.append(x)

After:
    loss = contrast(model(x))

When to ignore:
    Never where the script shall be converted; --shard data or calls asks for one way.
""",
    "DT019": """\
What:
    Where calls of models are split, every process evaluates everything; --eval shard was given.

Why:
    The numbers are those of one process, but evaluations take as long as in one process.

How to fix:
    Leave --eval shard out, or choose --shard data where batches can be sharded.

Before:
    disttranspile train.py --shard calls --eval shard

After:
    disttranspile train.py --shard calls

When to ignore:
    Where evaluations take little of the time.
""",
}
