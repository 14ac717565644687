"""What to do about findings on losses, steps and parameters."""

from __future__ import annotations

ADVICE = {
    "MX302": """\
Why:
    trainer.step divides by a number that is not told.

How to fix:
    Pass the number of samples of the batch.

Before:
    trainer.step(helpers.size())

After:
    trainer.step(x.shape[0])

When to ignore:
    Never: updates would have another size.
""",
    "MX303": """\
Why:
    The module divides gradients by the batch of one worker, while those of all are added up.

How to fix:
    Let the module take its batch size from the data.

Before:
    module.init_optimizer(optimizer_params={"rescale_grad": 0.125})

After:
    module.init_optimizer()

When to ignore:
    Never: updates would be N times too large.
""",
    "MX304": """\
Why:
    Gradients are added up over the workers in the step, and this looks at them before.

How to fix:
    Call trainer.allreduce_grads() before, and trainer.update() instead of step().

Before:
    clip(gradients)
    trainer.step(8)

After:
    trainer.allreduce_grads()
    clip(gradients)
    trainer.update(8)

When to ignore:
    Never: each worker would see its own.
""",
    "MX305": """\
Why:
    Workers that stop at different batches wait for each other for ever.

How to fix:
    Decide on a number that all workers have in common.

Before:
    if loss.mean().asscalar() < 0.1:
        break

After:
    if epoch == 9:
        break

When to ignore:
    Never: the job would hang.
""",
    "MX306": """\
Why:
    Whether the loss is a sum or a mean decides what each step divides by.

How to fix:
    Correct what the step is given where the guess is wrong.

Before:
    trainer.step(1)

After:
    trainer.step(x.shape[0])

When to ignore:
    Where the guess that the message names is right.
""",
    "MX307": """\
Why:
    No trainer takes these gradients, and nothing adds them up over the workers.

How to fix:
    Update the parameters with a gluon.Trainer.

Before:
    weight -= 0.1 * weight.grad

After:
    trainer.step(8)

When to ignore:
    Never: the workers would go apart.
""",
    "MX308": """\
Why:
    The store adds up what the workers have, and a penalty would count once for each.

How to fix:
    Use the mean over the samples, or weight decay.

Before:
    loss = losses.sum() + penalty

After:
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"wd": 1e-4})

When to ignore:
    Never: the penalty would grow with the number of workers.
""",
    "MX309": """\
Why:
    Samples are shared out, and random numbers are not, so that they count once for each worker.

How to fix:
    Let their shape follow the batch.

Before:
    noise = mx.nd.random.normal(shape=(8, 4))

After:
    noise = mx.nd.random.normal(shape=x.shape)

When to ignore:
    Where the noise stands for itself.
""",
    "MX310": """\
Why:
    Each worker takes samples by their places in its share, and other samples meet.

How to fix:
    Make the loss of whole batches, or choose --batch-size per-device.

Before:
    loss = criterion(out[:4], out[4:])

After:
    loss = criterion(out, y)

When to ignore:
    Where any pairs will do.
""",
    "MX312": """\
Why:
    The store must be given all parameters, and these are not told.

How to fix:
    Pass them as the first argument.

Before:
    gluon.Trainer(**settings)

After:
    gluon.Trainer(net.collect_params(), "sgd")

When to ignore:
    Never: nothing is written.
""",
    "MX314": """\
Why:
    A ratio or a root of a share is not that of the batch.

How to fix:
    Make the loss a mean over samples that are kept apart.

Before:
    loss = losses.sum() / mask.sum()

After:
    loss = losses.mean()

When to ignore:
    Once a run was compared with one worker.
""",
    "MX315": """\
Why:
    Each worker has a share of the batch, and takes the statistics of that.

How to fix:
    Keep shares large enough, or choose --batch-size per-device.

Before:
    disttranspile train.py

After:
    disttranspile train.py --batch-size per-device

When to ignore:
    Where shares are large.
""",
    "MX319": """\
Why:
    Workers draw noise of their own, and with it a number that a batch has once.

How to fix:
    Draw that number of a generator that all workers seed alike.

Before:
    lam = np.random.beta(0.4, 0.4)

After:
    rng = np.random.RandomState(0)

When to ignore:
    Where one number for each share of the batch is as good.
""",
    "MX320": """\
Why:
    A generator with one seed gives all workers the same noise, for other samples.

How to fix:
    Draw noise by the framework, which differs from worker to worker.

Before:
    noise = mx.nd.array(rng.normal(size=x.shape))

After:
    noise = mx.nd.random.normal(shape=x.shape)

When to ignore:
    Where samples may share their noise.
""",
    "MX352": """\
Why:
    Calls are split by rows, and every call here mixes them.

How to fix:
    Keep the samples of a batch apart within the network.

Before:
    return out / x.std()

After:
    return out

When to ignore:
    Never: nothing is written.
""",
}
