"""What to do about findings on random numbers and decisions."""

from __future__ import annotations

ADVICE = {
    "PT717": """\
Why:
    A copy of the model, or a buffer, is set by numbers of one process's share of the batch: it
    differs from process to process, as does whatever it is used for.

How to fix:
    Write what all processes have, or take the mean over them first.

Before:
    shadow.weight.data.mul_(1 - loss.item())

After:
    shadow.weight.data.mul_(0.9)

When to ignore:
    Nothing is made of the copy, or only rank 0's is saved and may be its own.
""",
    "PT703": """\
Why:
    The draw comes before the processes can be told of one random state, and each would have a
    result of its own.

How to fix:
    Seed the random numbers in front of it, or draw in a function that main() calls.

Before:
    noise = torch.randn(64, 4)

After:
    torch.manual_seed(0)
    noise = torch.randn(64, 4)

When to ignore:
    Never: data or weights would differ.
""",
    "PT744": """\
Why:
    A variable keeps whether a file is there, and the script makes the file where it is not. The
    processes ask at different moments: one may have made it by the time another one asks.

How to fix:
    Look for the file in the test itself, where the processes take turns, or ask once the training
    has been set up, where all take the answer of rank 0.

Before:
    cached = os.path.exists("inputs.pt")
    if not cached:
        torch.save(inputs, "inputs.pt")

After:
    if not os.path.exists("inputs.pt"):
        torch.save(inputs, "inputs.pt")

When to ignore:
    The file is made before the training is started.
""",
    "PT704": """\
Why:
    The same seed gives every process the same noise for other samples.

How to fix:
    Draw without a generator, or seed the generator with the rank, too.

Before:
    torch.randn(x.shape, generator=noise)

After:
    torch.randn(x.shape)

When to ignore:
    Where the noise is meant to be the same for every process.
""",
    "PT712": """\
Why:
    Processes that decide differently leave each other waiting, or train different models.

How to fix:
    Decide by something that is equal on all processes, or leave the step in.

Before:
    if loss.item() < 10:
        loss.backward()

After:
    loss.backward()

When to ignore:
    Where you know that all processes decide alike.
""",
    "PT714": """\
Why:
    The decision is taken before the processes can ask each other.

How to fix:
    Take it behind the start of the training, or by an argument.

Before:
    epochs = random.randint(1, 5)

After:
    epochs = args.epochs

When to ignore:
    Where it decides only what is printed.
""",
    "PT715": """\
Why:
    Rank 0 decides for all, by what it has seen of the data.

How to fix:
    Decide by a number that is taken over all processes, such as that of an evaluation.

Before:
    if train_loss < best:
        save()

After:
    if validation_loss < best:
        save()

When to ignore:
    Where rank 0's part stands for the whole well enough.
""",
    "PT721": """\
Why:
    The other ranks never come to the step, for which this one waits.

How to fix:
    Let every process come here, and keep for rank 0 what follows from the result.

Before:
    if rank == 0:
        loss.backward()

After:
    loss.backward()

When to ignore:
    Never: the job would hang.
""",
    "PT722": """\
Why:
    A process that swallows an error skips a step for which the others wait.

How to fix:
    Let the error end the job.

Before:
    try:
        loss.backward()
    except RuntimeError:
        continue

After:
    loss.backward()

When to ignore:
    Never: the job would hang.
""",
    "PT723": """\
Why:
    A process that has failed goes on past the training, and the others wait in it.

How to fix:
    End the process with an error, so that the launcher ends the others.

Before:
    try:
        train()
    except Exception as error:
        print(error)

After:
    train()

When to ignore:
    Where the handler ends in `raise` or `sys.exit(1)`.
""",
    "PT731": """\
Why:
    Strings hash differently in each process, and with them the order of a set.

How to fix:
    Sort its elements.

Before:
    classes = list(set(labels))

After:
    classes = sorted(set(labels))

When to ignore:
    Where the order says nothing.
""",
    "PT732": """\
Why:
    File systems list in an order of their own, which may differ between machines.

How to fix:
    Sort the listing.

Before:
    files = os.listdir(folder)

After:
    files = sorted(os.listdir(folder))

When to ignore:
    Where all processes run on one machine.
""",
    "PT733": """\
Why:
    Each process would draw its own split, and one would train on what another tests on.

How to fix:
    Seed the random numbers just before, or give the split a generator with a seed.

Before:
    train, test = random_split(data, [80, 20])

After:
    train, test = random_split(data, [80, 20], torch.Generator().manual_seed(0))

When to ignore:
    Never: the numbers of the test would be wrong.
""",
    "PT734": """\
Why:
    hash() of a string differs from process to process unless PYTHONHASHSEED is set.

How to fix:
    Take zlib.crc32 of its bytes.

Before:
    fold = hash(name) % 5

After:
    fold = zlib.crc32(name.encode()) % 5

When to ignore:
    Where only numbers are hashed, or PYTHONHASHSEED is set for the job.
""",
    "PT735": """\
Why:
    The model is made after each process has random numbers of its own, and no wrap hands out
    the weights of rank 0.

How to fix:
    Make it before the training loop, or load its weights from a file.

Before:
    for x, y in loader:
        critic = Critic()

After:
    critic = Critic()
    for x, y in loader:
        step(x, y)

When to ignore:
    Where its weights are overwritten before they are used.
""",
    "PT736": """\
Why:
    All processes take up the random state of the one that saved it, and draw the same noise.

How to fix:
    Restore it on rank 0 only, or seed anew with the rank.

Before:
    torch.set_rng_state(state["random"])

After:
    torch.manual_seed(args.seed + epoch)

When to ignore:
    Where nothing is drawn for single samples.
""",
    "PT737": """\
Why:
    A name that is free for one process may be taken for the next.

How to fix:
    Name the folder by an argument.

Before:
    while os.path.exists(f"run{number}"):
        number += 1

After:
    folder = args.folder

When to ignore:
    Where each process shall have a folder of its own.
""",
    "PT738": """\
Why:
    Processes that draw data for themselves train on shares of different data sets.

How to fix:
    Draw it in a statement of its own outside of the loop over the batches, or by a generator
    with a seed.

Before:
    for x, y in DataLoader(sampled(data), batch_size=8):
        step(x, y)

After:
    chosen = sampled(data)
    for x, y in DataLoader(chosen, batch_size=8):
        step(x, y)

When to ignore:
    Never: some samples would be seen twice and others never.
""",
    "PT740": """\
Why:
    Something is drawn once for a batch, and would be drawn once for each share.

How to fix:
    Draw it in a statement of its own in the loop over the batches.

Before:
    loss = criterion(model(x * torch.rand(())), y)

After:
    scale = torch.rand(())
    loss = criterion(model(x * scale), y)

When to ignore:
    Where one draw for each share does as well.
""",
    "PT741": """\
Why:
    One process draws once which layers a batch goes through, or what else a model does with all of
    it. Several processes draw one each, so that parts of one batch are treated differently.

How to fix:
    Draw it in the loop, where all processes draw it alike, and give it to the model.

Before:
    def forward(self, x):
        return self.layers[random.randrange(4)](x)

After:
    def forward(self, x, k):
        return self.layers[k](x)

When to ignore:
    Where it is noise like dropout, such as layers that are left out by chance: the mean over all
    steps is the same.
""",
}
