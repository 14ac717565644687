"""The manual of findings about launches and audits that belong to no check."""

from __future__ import annotations

ADVICE = {
    "DT018": """\
What:
    The output was audited before it was written, and its processes would wait for ever or diverge
    in the place that the message names; or the audit could not follow it, which is a note.

Why:
    An output that hangs or diverges is worse than none.

How to fix:
    `disttranspile explain` with the code in the message says more. Change that place of the
    script so that all processes do the same there, or convert it by hand.

Before:
    if loss.item() < best:
        evaluate(model)

After:
    loss = average(loss)
    if loss.item() < best:
        evaluate(model)

When to ignore:
    Where it is a note: run original and output with `disttranspile verify`.
""",
    "AU001": """\
What:
    Nothing in the script joins other processes.

Why:
    There is nothing to compare.

How to fix:
    `disttranspile` converts it.

Before:
    disttranspile audit train.py

After:
    disttranspile train.py -o train_dist.py

When to ignore:
    Always where the script is meant for one process.
""",
    "AU002": """\
What:
    Calls branch too often or nest too deeply for the script to be run as several processes.

Why:
    What was not followed may hang or diverge.

How to fix:
    Audit the modules that train on their own.

Before:
    disttranspile audit all_in_one.py

After:
    disttranspile audit train.py evaluate.py

When to ignore:
    Where its parts are audited.
""",
    "AU003": """\
What:
    Lightning, Accelerate, DeepSpeed or their like wrap the model and share the data out.

Why:
    What they do by themselves is not looked at, only what the script does beside them.

How to fix:
    Nothing has to be done; the library's own checks are for the rest.

Before:
    trainer.fit(model, loader)

After:
    trainer.fit(model, loader)  # audited around this call

When to ignore:
    Always.
""",
    "AU004": """\
What:
    A module has a syntax error, or its encoding cannot be told.

Why:
    What it does on several processes is not known.

How to fix:
    Mend it, and see what `python3 -m py_compile FILE` says.

Before:
    def save(model)
        ...

After:
    def save(model):
        ...

When to ignore:
    Where it does nothing that all processes must do together.
""",
    "DT801": """\
What:
    Parameter servers hold all parameters among them, and more than their memory.

Why:
    The servers would be ended by the system while the job starts.

How to fix:
    Give them more with --memory server=SIZE, or take more of them with --servers.

Before:
    --servers 1 --memory server=4Gi

After:
    --servers 2 --memory server=8Gi

When to ignore:
    Where the estimate is known to be too high.
""",
    "DT802": """\
What:
    Gradients of every parameter travel at every step, which takes long beside --step-time.

Why:
    Processes wait for the network rather than compute.

How to fix:
    More work per step (--batch-size per-device), --compression or a faster network helps.

Before:
    disttranspile train.py -o train_dist.py

After:
    disttranspile train.py -o train_dist.py --compression fp16

When to ignore:
    Where the network is faster than the message takes it to be.
""",
    "DT803": """\
What:
    The processes share a batch evenly, and this batch size does not divide by them.

Why:
    The converted script stops at its start.

How to fix:
    Give the script a batch size that divides by the processes.

Before:
    --nproc-per-node 3 -- --batch-size 32

After:
    --nproc-per-node 4 -- --batch-size 32

When to ignore:
    Never: give other numbers.
""",
    "DT804": """\
What:
    Workers share a store from MXNet 1.2.1 on, in builds with USE_DIST_KVSTORE.

Why:
    Without it, the job ends at its start.

How to fix:
    Take an image that has such a build.

Before:
    --image mxnet/python:1.0.0

After:
    --image mxnet/python:1.9.1

When to ignore:
    Where the image is known to have it.
""",
    "DT805": """\
What:
    What the script says of its loader's workers holds for each process, and a machine runs
    several.

Why:
    More workers than CPUs take turns, and each costs memory.

How to fix:
    Divide the workers among the processes, or give the machines more --cpus.

Before:
    loader = DataLoader(data, num_workers=16)

After:
    loader = DataLoader(data, num_workers=4)  # 4 processes on 16 CPUs

When to ignore:
    Where workers mostly wait, as for a network.
""",
    "DT806": """\
What:
    A launcher starts the script in several processes, and nothing in it joins them.

Why:
    Each process would train the whole model by itself, and write the same files as the others.

How to fix:
    Convert the script, and launch the output.

Before:
    disttranspile launch train.py --target slurm

After:
    disttranspile train.py -o train_dist.py --launch slurm

When to ignore:
    Where a single process is started, or the script is joined by something that is not seen.
""",
}
