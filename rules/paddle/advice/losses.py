"""What to do about findings on losses and gradients."""

from __future__ import annotations

ADVICE = {
    "PD418": """\
Why:
    A wrap averages the gradients of a model's parameters. That of another tensor is the one of
    the share of each process, and each goes on with another tensor.

How to fix:
    Give the tensor to an optimizer, whose gradients are averaged before it steps.

Before:
    scale.set_value(scale - 0.1 * scale.grad)

After:
    optimizer = SGD(0.1, parameters=[*model.parameters(), scale])

When to ignore:
    Never: the processes would train with different tensors.
""",
    "PD403": """\
Why:
    The mean of the processes' losses is that of the batch only where all divide by the same
    number.

How to fix:
    Divide by what all processes have, or gather what the loss compares.

Before:
    loss = (losses * mask).sum() / mask.sum()

After:
    loss = (losses * mask).mean()

When to ignore:
    Once a run was compared with one process.
""",
    "PD404": """\
Why:
    A sum has to be multiplied by the number of processes, and there is no place where it stands
    alone.

How to fix:
    Call backward() on the loss itself.

Before:
    backward_of(losses.sum())

After:
    loss = losses.sum()
    loss.backward()

When to ignore:
    Never: gradients would be N times too small.
""",
    "PD407": """\
Why:
    Random numbers that go into parameters or averaged gradients differ by process.

How to fix:
    Make the noise on one process and broadcast it.

Before:
    parameter.grad.add_(paddle.randn(parameter.shape))

After:
    noise = paddle.randn(parameter.shape)
    paddle.distributed.broadcast(noise, 0)

When to ignore:
    Never: the replicas would go apart.
""",
    "PD573": """\
Why:
    Before the processes have joined none can wait for another, which may still be writing.

How to fix:
    Read it behind the call of setup_distributed.

Before:
    state = paddle.load("model.pdparams")
    main()

After:
    def main():
        state = paddle.load("model.pdparams")

When to ignore:
    Where the file is there before the job is started.
""",
    "PD604": """\
Why:
    Each process has a share of the batch, whose first dimension is smaller than that of the whole.

How to fix:
    Multiply its first number by that of the processes, where all samples are meant.

Before:
    print(images.shape)

After:
    print(images.shape[0] * paddle.distributed.get_world_size(), *images.shape[1:])

When to ignore:
    Where it is only looked at, as while a script is written.
""",
    "PD603": """\
Why:
    The number is that of one process's share.

How to fix:
    Reduce it over the processes, or report it from an evaluation.

Before:
    print(correct / masked)

After:
    print(evaluate(model, loader))

When to ignore:
    Where a number of about the right size is enough.
""",
    "PD611": """\
Why:
    Each process evaluates everything: right, and as long as before.

How to fix:
    Convert with --eval shard.

Before:
    disttranspile train.py

After:
    disttranspile train.py --eval shard

When to ignore:
    Always where evaluation is short.
""",
    "PD724": """\
Why:
    Processes that ask their own shares of a batch compute other losses, or set other rates.

How to fix:
    Ask a number that is reduced over the processes, or convert with --shard calls.

Before:
    if loss > 1.0:
        loss = loss * 2

After:
    if float(loss) > 1.0:
        loss = loss * 2

When to ignore:
    Where both answers train the same.
""",
    "PD725": """\
Why:
    Each process sees its share of a batch, and would set its parameters to something else.

How to fix:
    Make it of a number that is reduced over the processes, or convert with --shard calls.

Before:
    p.set_value(p * (1 - loss.detach()))

After:
    p.set_value(p * (1 - float(loss)))

When to ignore:
    Where the shares are known to give the same number.
""",
    "PD408": """\
Why:
    A hook sees the gradients of one process's share, which are averaged only then.

How to fix:
    Change gradients between backward() and step(), or clip them by the optimizer.

Before:
    weight.register_hook(lambda grad: grad.clip(-1, 1))

After:
    optimizer = paddle.optimizer.Adam(0.01, parameters=parameters, grad_clip=clip)

When to ignore:
    Where a hook multiplies gradients by a number, which is not seen here.
""",
    "PD722": """\
Why:
    Processes that decide by their own shares go different ways, and those that go on wait for
    ever.

How to fix:
    Decide on a number that is reduced over the processes.

Before:
    if float(loss) < 10:
        loss.backward()

After:
    loss.backward()

When to ignore:
    Never: the job would hang.
""",
    "PD802": """\
Why:
    A numbered GPU would be the same one in every process.

How to fix:
    Leave the choice to the launcher.

Before:
    paddle.set_device("gpu:1")

After:
    paddle.set_device("gpu")

When to ignore:
    Never: all processes would share one GPU.
""",
    "PD803": """\
Why:
    The launcher gives each process its GPU by the same variable, which the script overwrites.

How to fix:
    Choose the GPUs when launching.

Before:
    os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"

After:
    python -m paddle.distributed.launch --devices 0,1 train_dist.py

When to ignore:
    Never: processes would see the wrong GPUs.
""",
}
