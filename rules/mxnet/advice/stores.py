"""What to do about findings on stores."""

from __future__ import annotations

ADVICE = {
    "MX102": """\
Why:
    Servers and the scheduler run the script up to the import of mxnet, and this stands before.

How to fix:
    Import mxnet first.

Before:
    os.makedirs("runs")
    import mxnet as mx

After:
    import mxnet as mx
    os.makedirs("runs", exist_ok=True)

When to ignore:
    Where doing it several times does no harm.
""",
    "MX103": """\
Why:
    Keys of several trainers would meet in the servers, which know one optimizer.

How to fix:
    Choose --kvstore dist_sync without --compression.

Before:
    disttranspile train.py --kvstore dist_async

After:
    disttranspile train.py --kvstore dist_sync

When to ignore:
    Never: one would overwrite the other.
""",
    "MX104": """\
Why:
    Every worker updates by itself with gradients of older parameters.

How to fix:
    Use a smaller learning rate, or dist_sync.

Before:
    disttranspile train.py --kvstore dist_async

After:
    disttranspile train.py --kvstore dist_sync

When to ignore:
    Where the accuracy was compared.
""",
    "MX105": """\
Why:
    A store that the script pushes to and pulls from has a meaning of its own for several
    workers.

How to fix:
    Leave the store to a Trainer or a Module.

Before:
    store.push(0, gradient)

After:
    trainer = gluon.Trainer(net.collect_params(), "sgd")

When to ignore:
    Never: nothing is written.
""",
    "MX108": """\
Why:
    Sparse gradients are applied by the servers, which then apply the optimizer to everything.

How to fix:
    Leave sparse_grad out.

Before:
    nn.Embedding(1000, 16, sparse_grad=True)

After:
    nn.Embedding(1000, 16)

When to ignore:
    Never: nothing is written.
""",
    "MX109": """\
Why:
    Workers with random numbers of their own draw other data, orders and splits.

How to fix:
    Seed with a number that all workers have in common.

Before:
    mx.random.seed(os.getpid())

After:
    mx.random.seed(0)

When to ignore:
    Never: shares would overlap.
""",
    "MX112": """\
Why:
    The store has to be given to this call, whose arguments are not told.

How to fix:
    Write kvstore= out.

Before:
    module.fit(data, **settings)

After:
    module.fit(data, kvstore="local", num_epoch=2)

When to ignore:
    Never: nothing is written.
""",
    "MX113": """\
Why:
    The optimizer's state is with the servers.

How to fix:
    Save the parameters alone.

Before:
    module.save_optimizer_states("state")

After:
    module.save_params("model.params")

When to ignore:
    Never: the file would lack the state.
""",
    "MX122": """\
Why:
    This trainer cannot compress its gradients.

How to fix:
    Train with a Module, or without --compression.

Before:
    disttranspile train.py --compression 2bit

After:
    disttranspile train.py

When to ignore:
    Never: nothing is written.
""",
    "MX110": """\
Why:
    What is converted uses what older versions of MXNet lack, and the requirements or the image
    name one.

How to fix:
    Ask for MXNet 1.2.1 or later.

Before:
    mxnet==1.1.0

After:
    mxnet==1.9.1

When to ignore:
    Where the job is started with another version than the one that is named.
""",
}
