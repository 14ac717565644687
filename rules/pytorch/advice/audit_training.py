"""What to do about checks of the audit on data and gradients."""

from __future__ import annotations

ADVICE = {
    "AU201": """\
Why:
    Every process does the whole work: N times the time for one model.

How to fix:
    Give the loader a DistributedSampler, and call its set_epoch in the loop of epochs.

Before:
    loader = DataLoader(data, batch_size=8, shuffle=True)

After:
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)

When to ignore:
    Where the data set shares itself out, or each process draws at random.
""",
    "AU202": """\
Why:
    Without it every epoch has the order of the first.

How to fix:
    Call set_epoch(epoch) on it at the top of the loop of epochs.

Before:
    for epoch in range(10):
        train(loader)

After:
    for epoch in range(10):
        sampler.set_epoch(epoch)
        train(loader)

When to ignore:
    Where the sampler does not shuffle.
""",
    "AU203": """\
Why:
    With a fixed rank all processes draw the same share.

How to fix:
    Leave rank and num_replicas out: the sampler asks the process group.

Before:
    DistributedSampler(data, num_replicas=4, rank=0)

After:
    DistributedSampler(data)

When to ignore:
    Never.
""",
    "AU204": """\
Why:
    The sampler decides the order; PyTorch raises a ValueError.

How to fix:
    Leave shuffle out.

Before:
    DataLoader(data, sampler=sampler, shuffle=True)

After:
    DataLoader(data, sampler=sampler)

When to ignore:
    Never.
""",
    "AU205": """\
Why:
    One process trains on what another one validates on.

How to fix:
    Give the split a generator with a fixed seed.

Before:
    train, test = random_split(data, [80, 20])

After:
    train, test = random_split(data, [80, 20], torch.Generator().manual_seed(0))

When to ignore:
    Never.
""",
    "AU206": """\
Why:
    Shares of different orders overlap: some samples come twice in an epoch and others never.

How to fix:
    Give the sampler the same seed on every process.

Before:
    DistributedSampler(data, seed=dist.get_rank())

After:
    DistributedSampler(data)

When to ignore:
    Never.
""",
    "AU207": """\
Why:
    The order of the epoch is drawn before its first batch.

How to fix:
    Call set_epoch(epoch) above the loop over the batches.

Before:
    for x, y in loader:
        sampler.set_epoch(epoch)

After:
    sampler.set_epoch(epoch)
    for x, y in loader:
        step(x, y)

When to ignore:
    Never.
""",
    "AU208": """\
Why:
    What is drawn by one seed on all processes is one batch, computed as often as there are
    processes: the gradients that are averaged are all the same.

How to fix:
    Seed what draws the batches by the rank, or let each process take its share of what is drawn.

Before:
    torch.manual_seed(0)
    start = torch.randint(len(data) - 64, (32,))

After:
    torch.manual_seed(rank)
    start = torch.randint(len(data) - 64, (32,))

When to ignore:
    Where each process keeps other data, so that equal places are not equal samples.
""",
    "AU301": """\
Why:
    Nothing averages its gradients, and each process trains a model of its own.

How to fix:
    Wrap it before its first forward.

Before:
    model = Net()

After:
    model = DistributedDataParallel(Net())

When to ignore:
    Where its gradients are averaged by hand in a way that is not seen.
""",
    "AU302": """\
Why:
    The wrap averages what its own call has prepared.

How to fix:
    Call the wrapped model.

Before:
    loss = criterion(model.module(x), y)

After:
    loss = criterion(model(x), y)

When to ignore:
    Where nothing learns by this call.
""",
    "AU303": """\
Why:
    Sharding replaces the parameters; the optimizer updates the old ones.

How to fix:
    Make the optimizer from the sharded model.

Before:
    optimizer = SGD(model.parameters())
    fully_shard(model)

After:
    fully_shard(model)
    optimizer = SGD(model.parameters())

When to ignore:
    Never.
""",
    "AU304": """\
Why:
    DistributedDataParallel takes the mean of the gradients; of a sum it is N times too small.

How to fix:
    Multiply a sum by the number of processes, or take the mean.

Before:
    loss = criterion_sum(model(x), y)

After:
    loss = criterion_sum(model(x), y) * dist.get_world_size()

When to ignore:
    Where the learning rate was tuned with it.
""",
    "AU305": """\
Why:
    Once before the optimizer steps is enough.

How to fix:
    Run the other batches under model.no_sync().

Before:
    loss.backward()

After:
    with model.no_sync():
        loss.backward()

When to ignore:
    Where the network is fast beside the computation.
""",
}
