"""What to do about findings on what processes have to agree on."""

from __future__ import annotations

ADVICE = {
    "SG211": """\
Why:
    Gradients are averaged, which is right for means over samples.

How to fix:
    Take a loss of autograd that is a mean, such as softmax_cross_entropy.

Before:
    loss = autograd.reduce_sum(errors)

After:
    loss = autograd.softmax_cross_entropy(out, ty)

When to ignore:
    Never: nothing is written.
""",
    "SG212": """\
Why:
    The script's own path averages gradients, which is right for means over samples.

How to fix:
    Take a loss that is a mean.

Before:
    loss = autograd.reduce_sum(errors)

After:
    loss = autograd.reduce_mean(errors)

When to ignore:
    Where you know that it is a mean.
""",
    "SG221": """\
Why:
    Processes that draw for themselves go through other batches.

How to fix:
    Seed what draws, alike for all.

Before:
    np.random.shuffle(order)

After:
    np.random.seed(0)
    np.random.shuffle(order)

When to ignore:
    Never: shares would overlap.
""",
    "SG222": """\
Why:
    Processes that decide differently take other steps, and wait for each other.

How to fix:
    Decide on what all processes have, such as the number of the epoch.

Before:
    if time.time() > end:
        break

After:
    if epoch == 9:
        break

When to ignore:
    Never: the job would hang.
""",
    "SG232": """\
Why:
    Parameters that are drawn without a seed differ by process.

How to fix:
    Call dev.SetRandSeed(0) before the model is made.

Before:
    model = Net()

After:
    dev.SetRandSeed(0)
    model = Net()

When to ignore:
    Never: the replicas would differ.
""",
    "SG233": """\
Why:
    Devices that are seeded alike drop out the same places for the samples of all processes.

How to fix:
    Seed the device by the rank once the parameters are there.

Before:
    dev.SetRandSeed(0)

After:
    dev.SetRandSeed(rank)

When to ignore:
    Where dropout is light.
""",
    "SG242": """\
Why:
    --scale-lr finds no number that it could multiply.

How to fix:
    Write the rate in the script, or convert without --scale-lr.

Before:
    sgd = opt.SGD(settings["lr"])

After:
    sgd = opt.SGD(lr=0.1)

When to ignore:
    Never: nothing is written.
""",
}
