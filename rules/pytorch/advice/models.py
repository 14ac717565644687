"""What to do about findings on models and their wraps."""

from __future__ import annotations

ADVICE = {
    "PT302": """\
Why:
    DistributedDataParallel needs a module that has a name and is called; this one has no place
    in which it could be wrapped.

How to fix:
    Bind the model to one variable of the script, and train it by calling that.

Before:
    registry().fit(make_model())

After:
    model = make_model()

When to ignore:
    Never: its gradients would stay those of one process.
""",
    "PT303": """\
Why:
    DistributedDataParallel prepares the averaging in the call of the wrap. A method that is
    called past it leaves gradients alone.

How to fix:
    Call the model itself in training, and let `forward` choose.

Before:
    loss = model.training_loss(x, y)

After:
    loss = criterion(model(x), y)

When to ignore:
    Never: the replicas would go apart.
""",
    "PT304": """\
Why:
    Gradients that are returned instead of left in `.grad` come by no wrap, and each process
    would update by its own.

How to fix:
    Let backward() take them, and read the .grad of the parameters behind it.

Before:
    weight, bias = torch.autograd.grad(loss, [model.weight, model.bias])

After:
    loss.backward()
    weight, bias = model.weight.grad, model.bias.grad

When to ignore:
    Never: the replicas would go apart.
""",
    "PT305": """\
Why:
    What happens in the call is not read, and a loop that nobody sees can be given neither
    shards nor averages.

How to fix:
    Use the distributed support of that library, or write the loop in the script.

Before:
    Trainer(model, optimizer).fit(loader)

After:
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

When to ignore:
    Never: name the library in `exclude` where it distributes by itself.
""",
    "PT306": """\
Why:
    What the optimizer updates must be what is wrapped; parameters of unknown origin may belong
    to no model that is averaged.

How to fix:
    Give the optimizer the parameters of a model of the script.

Before:
    optimizer = SGD(groups(), lr=0.1)

After:
    optimizer = SGD(model.parameters(), lr=0.1)

When to ignore:
    Never: the replicas might go apart.
""",
    "PT307": """\
Why:
    Batch norm of a share of the batch is noisier than that of the whole, and its running
    statistics are those of one share.

How to fix:
    Let --sync-bn auto take them over all processes on GPUs, or use a norm that looks at one
    sample.

Before:
    nn.BatchNorm2d(64)

After:
    nn.GroupNorm(8, 64)

When to ignore:
    Where each process has 16 samples or more, as usual.
""",
    "PT308": """\
Why:
    What learns here is no module that could be wrapped, and no optimizer holds it either.

How to fix:
    Put what is trained into a torch.nn.Module.

Before:
    weight -= 0.1 * weight.grad

After:
    model = nn.Linear(4, 1, bias=False)
    optimizer = SGD(model.parameters(), lr=0.1)

When to ignore:
    Never: nothing is written.
""",
    "PT309": """\
Why:
    The wrap takes note of what learns when it is made; what thaws later would be left out of
    the average.

How to fix:
    Freeze by a learning rate of 0, or leave out activation checkpoints that are reentrant.

Before:
    checkpoint(block, x)

After:
    checkpoint(block, x, use_reentrant=False)

When to ignore:
    Never: thawed parts would go apart.
""",
    "PT312": """\
Why:
    The wrap holds the parameters that the model had when it was wrapped. Those of a part that
    comes later are not averaged, and each process would train a part of its own.

How to fix:
    Put in and replace parts before the optimizer is made; call layers that make their
    parameters in their first call once before it.

Before:
    optimizer = SGD(model.parameters(), lr=0.1)
    model.head = nn.Linear(8, 3)

After:
    model.head = nn.Linear(8, 3)
    optimizer = SGD(model.parameters(), lr=0.1)

When to ignore:
    Never: the new part would not be averaged.
""",
    "PT314": """\
Why:
    No variable holds the model for a wrap, and its batch norm keeps the statistics of one
    process.

How to fix:
    Keep the model in one variable, so that it can be wrapped and synchronised.

Before:
    nets = {"main": Net()}

After:
    model = Net()

When to ignore:
    Where the statistics are frozen, or shares are large.
""",
    "PT315": """\
Why:
    The file would hold the wrap, which takes a process group to be read.

How to fix:
    Write the model's state_dict().

Before:
    torch.save(trainer, "trainer.pt")

After:
    torch.save(trainer.model.state_dict(), "model.pt")

When to ignore:
    Never: the file could not be read by one process.
""",
    "PT316": """\
Why:
    Each process would exchange other parts, by what it has seen of the data.

How to fix:
    Let rank 0 decide which parts go, send that to all processes, and wrap the model anew.

Before:
    model.layers[worst] = nn.Linear(8, 8)

After:
    model.reset(broadcast(worst))

When to ignore:
    Never: the replicas would have different shapes or weights.
""",
    "PT318": """\
Why:
    On GPUs batch norm becomes a layer of another class, which a comparison of classes does not
    find.

How to fix:
    Compare with torch.nn.SyncBatchNorm, too.

Before:
    if type(layer) is nn.BatchNorm2d:
        freeze(layer)

After:
    if isinstance(layer, (nn.BatchNorm2d, nn.SyncBatchNorm)):
        freeze(layer)

When to ignore:
    Where --sync-bn off leaves batch norm as it is.
""",
    "PT325": """\
Why:
    Each process would update the tensor by the gradient of its own share, or holds another one than
    the others, and what is trained would go apart.

How to fix:
    Make the tensor once, before the first batch, or put it into a torch.nn.Module.

Before:
    for x, y in train_loader:
        scale = torch.ones(3, requires_grad=True)

After:
    scale = torch.ones(3, requires_grad=True)
    for x, y in train_loader:
        scale.grad = None

When to ignore:
    Never: the processes would train different tensors.
""",
    "PT319": """\
Why:
    Each process would set the parameter from its own share, and the replicas would differ from
    then on.

How to fix:
    Set it before the training, from a batch that all processes have, or broadcast it from rank
    0 afterwards.

Before:
    self.shift.data.copy_(-x.mean(0))

After:
    model.shift.data.copy_(-inputs[:8].mean(0))

When to ignore:
    Never: the replicas would differ.
""",
}
