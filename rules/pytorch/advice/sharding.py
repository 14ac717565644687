"""What to do about findings on sharded models, sharded calls and compressed gradients."""

from __future__ import annotations

ADVICE = {
    "PT322": """\
Why:
    Averaging after each of several batches is right, but takes a round over the network each
    time.

How to fix:
    Put the batches before the last of a window under model.no_sync().

Before:
    loss.backward()

After:
    with model.no_sync():
        loss.backward()

When to ignore:
    Where the network is fast beside the computation.
""",
    "PT332": """\
Why:
    Scaled gradients may leave the range of 16-bit floats on their way, and the scaler then
    skips steps.

How to fix:
    Use --compression bf16 where the GPUs have it, or a smaller init_scale.

Before:
    scaler = torch.amp.GradScaler("cuda")

After:
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**8)

When to ignore:
    Where a run has shown that no more steps are skipped.
""",
    "PT342": """\
Why:
    FSDP shards a module that is called, and whose parts are known; this one is used otherwise.

How to fix:
    Use --strategy ddp, which copies the model.

Before:
    disttranspile train.py --strategy fsdp

After:
    disttranspile train.py --strategy ddp

When to ignore:
    Never: nothing is written.
""",
    "PT346": """\
Why:
    Rank 0 alone has the whole state, and other processes would go on with an empty one.

How to fix:
    Write it to a file and read it back where it is needed, or use --strategy ddp.

Before:
    best = model.state_dict()

After:
    torch.save(model.state_dict(), "best.pt")

When to ignore:
    Never: other processes would fail.
""",
    "PT352": """\
Why:
    Calls are split by rows, and every call here mixes the rows of its batch or gives something
    that cannot be put together.

How to fix:
    Keep the samples of a batch apart within the model, and compute what compares them in the
    loss.

Before:
    return self.body(x) / x.std(0)

After:
    return self.body(x)

When to ignore:
    Never: nothing is written.
""",
    "PT355": """\
Why:
    With --shard calls each process takes rows of what a model is given; here nothing has rows.

How to fix:
    Train on batches, or convert with --shard data.

Before:
    loss = model().sum()

After:
    loss = criterion(model(x), y)

When to ignore:
    Never: nothing is written.
""",
    "PT356": """\
Why:
    The generator takes its seed from the operating system, so that every process would draw
    other batches and call them the same.

How to fix:
    Give the generator a seed, or let rank 0 draw the batches by --batches broadcast.

Before:
    chance = numpy.random.default_rng()

After:
    chance = numpy.random.default_rng(0)

When to ignore:
    Never: the rows of the processes would not belong together.
""",
    "PT743": """\
Why:
    Every process makes the seed of its own share of the batch, and draws other numbers with it than
    the others, and than a single process.

How to fix:
    Seed with a number that all processes have alike: the step, the epoch, a constant.

Before:
    torch.manual_seed(int(x.sum()))

After:
    torch.manual_seed(step)

When to ignore:
    Where nothing that is trained on is drawn behind it.
""",
    "PT359": """\
Why:
    Every rank acts in its own environment and trains on what it is meant to have in common with the
    others. An environment draws from a generator of its own, as its action space does.

How to fix:
    Seed the environment where it is reset first, and its action space if actions are drawn of it.

Before:
    state, _ = env.reset()
    action = env.action_space.sample()

After:
    state, _ = env.reset(seed=0)
    env.action_space.seed(0)
    action = env.action_space.sample()

When to ignore:
    The environment holds nothing that is drawn: it begins and goes on the same way each time.
""",
    "PT358": """\
Why:
    --batches broadcast has rank 0 run the loop that draws; this step draws its batch elsewhere.

How to fix:
    Draw the batches in a for loop, or leave the option out.

Before:
    while step < 100:
        x, y = draw()

After:
    for x, y in batches(100):
        step(x, y)

When to ignore:
    Never: nothing is written.
""",
}
