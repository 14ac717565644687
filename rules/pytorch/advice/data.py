"""What to do about findings on data and loaders."""

from __future__ import annotations

ADVICE = {
    "PT202": """\
Why:
    Processes that cannot be given different samples would all train on the same ones: N times
    the work for one model.

How to fix:
    Make the loader in the script from a data set and a batch size, or give it a
    DistributedSampler by hand.

Before:
    loader = DataLoader(data, batch_size=8, **options())

After:
    loader = DataLoader(data, batch_size=8, shuffle=True)

When to ignore:
    Never: --shard calls shares the calls of the model instead.
""",
    "PT239": """\
Why:
    A process has its share of the samples from the loader, and other rows of the tensor beside it:
    inputs would meet the targets of other samples.

How to fix:
    Let the loader give both, from one data set.

Before:
    for i, (x,) in enumerate(loader):
        loss = criterion(model(x), targets[i * 12 : (i + 1) * 12])

After:
    for x, y in DataLoader(TensorDataset(inputs, targets), batch_size=12):
        loss = criterion(model(x), y)

When to ignore:
    Never: --shard calls leaves whole batches to every process.
""",
    "PT203": """\
Why:
    Which samples belong to which process is told by a loader, or by batches that are cut by an
    index; here neither can be seen.

How to fix:
    Draw the batches from a DataLoader that the script makes itself.

Before:
    for step in range(100):
        loss = criterion(model(inputs), targets)

After:
    for x, y in DataLoader(TensorDataset(inputs, targets), batch_size=8):
        loss = criterion(model(x), y)

When to ignore:
    Never: nothing is written.
""",
    "PT206": """\
Why:
    A loader that a function makes is rebuilt over a share of its data, which takes a name that
    the rebuilt one can be given.

How to fix:
    Bind the loader to a variable before the loop.

Before:
    for x, y in make_loader():
        step(x, y)

After:
    loader = make_loader()
    for x, y in loader:
        step(x, y)

When to ignore:
    Never: the processes would train on the same samples.
""",
    "PT208": """\
Why:
    Every process must draw the same order, of which it takes its part; this sampler cannot be
    followed, or draws in a way of its own.

How to fix:
    Write the sampler so that its order follows from the epoch and a seed, or shuffle by the
    loader.

Before:
    loader = DataLoader(data, batch_size=8, sampler=make_sampler(data))

After:
    loader = DataLoader(data, batch_size=8, shuffle=True)

When to ignore:
    Never: parts would overlap.
""",
    "PT210": """\
Why:
    A stream has no index by which it could be shared out, and this one goes its own way among
    workers.

How to fix:
    Take every N-th sample within `__iter__`, by rank and by worker, or make it a data set with
    an index.

Before:
    def __iter__(self):
        yield from self.read()

After:
    def __getitem__(self, index):
        return self.samples[index]

When to ignore:
    Never: every process would see all samples.
""",
    "PT212": """\
Why:
    A sampler that is not told the epoch gives the same order in each, which trains less well
    and shows nowhere.

How to fix:
    Give the loader a variable that the loop of epochs can read.

Before:
    for epoch in range(10):
        for x, y in loaders.train():
            step(x, y)

After:
    train_loader = loaders.train()
    for epoch in range(10):
        for x, y in train_loader:
            step(x, y)

When to ignore:
    Never: the order would not change.
""",
    "PT213": """\
Why:
    What a library makes is known when the script runs; the output copies a DataLoader over a
    share of its data and stops at anything else.

How to fix:
    Run the output once with two processes. Where it stops, make the loader in the script, or
    name the function in [roles].

Before:
    loader = library.loaders(config)

After:
    loader = DataLoader(library.dataset(config), batch_size=8, shuffle=True)

When to ignore:
    Once the output has started with two processes.
""",
    "PT214": """\
Why:
    What a function of unknown origin gives is sharded by index, which a stream does not have.

How to fix:
    Name in [roles] what the function makes, or make the data set in the script.

Before:
    data = mylib.make_dataset(path)

After:
    [tool.disttranspile.roles]
    "mylib.make_dataset" = "torch.utils.data.TensorDataset"

When to ignore:
    Where the data set has `__len__` and `__getitem__`.
""",
    "PT215": """\
Why:
    A pass over the training loader sees one process's share, so that what it computes differs
    between the processes.

How to fix:
    Compute it from the data set, or through a second loader that only this pass uses.

Before:
    mean = torch.cat([x for x, _ in train_loader]).mean(0)

After:
    mean = torch.cat([x for x, _ in DataLoader(data, batch_size=8)]).mean(0)

When to ignore:
    Where a value that differs a little from process to process does no harm.
""",
    "PT216": """\
Why:
    The call goes through the loader by itself and sees the share of one process.

How to fix:
    Give it a second DataLoader over the whole data set.

Before:
    log_images(train_loader)

After:
    log_images(DataLoader(data, batch_size=8))

When to ignore:
    Where it only looks at some samples.
""",
    "PT217": """\
Why:
    Where outputs of padded places are not masked, they follow the longest sample of a batch,
    and that of a share may be shorter.

How to fix:
    Mask the padding, pack the sequences, or pad all batches to one length.

Before:
    loss = criterion(model(padded), targets)

After:
    loss = criterion(model(padded, mask), targets)

When to ignore:
    Where the model masks its padding.
""",
    "PT218": """\
Why:
    A sampler counts its samples when it is made. A data set that grows or shrinks meanwhile
    leaves processes with other numbers of batches.

How to fix:
    Make the loader anew after the change, within the loop of epochs.

Before:
    for epoch in range(10):
        data.append(mined())
        for x, y in loader:
            step(x, y)

After:
    for epoch in range(10):
        data += mined()
        loader = DataLoader(data, batch_size=8)
        for x, y in loader:
            step(x, y)

When to ignore:
    Never: processes would wait for each other.
""",
    "PT220": """\
Why:
    Shares of the processes would have different sizes, some perhaps none, and one would wait in
    a step that the others never take.

How to fix:
    Leave samples out of the data set before the loader is made, and let each have as many rows.

Before:
    def collate(samples):
        return default_collate([one for one in samples if one[1] > 0])

After:
    data = [one for one in data if one[1] > 0]

When to ignore:
    Never: --shard calls lets every process draw whole batches instead.
""",
    "PT237": """\
Why:
    Each process draws a share of the batch: the tensor that it is copied into has more rows.

How to fix:
    Make the tensor as large as the batch that it gets.

Before:
    inputs = torch.zeros(32, 4, device=device)
    for x, y in loader:
        inputs.copy_(x)

After:
    for x, y in loader:
        inputs = x.to(device)

When to ignore:
    Never: the copy fails. --shard calls lets every process draw whole batches.
""",
    "PT238": """\
Why:
    Every process would train rows of its own for the places of its share, and average them with
    those of other places.

How to fix:
    Give the parameter a size that does not depend on the batch.

Before:
    self.offset = nn.Parameter(torch.zeros(batch_size, 8))

After:
    self.offset = nn.Parameter(torch.zeros(1, 8))

When to ignore:
    Never: another model would be trained.
""",
}
