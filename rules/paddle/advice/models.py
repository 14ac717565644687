"""What to do about findings on models and their wraps."""

from __future__ import annotations

ADVICE = {
    "PD415": """\
Why:
    What a forward hook or pass keeps, counts or prints is made of one process's share of every
    batch.

How to fix:
    Take what is kept from what the model returns, or add it up over the processes in the hook.

Before:
    model.register_forward_post_hook(lambda layer, given, out: kept.append(out.mean()))

After:
    kept.append(model(x).mean())

When to ignore:
    Nothing is made of what the hook keeps.
""",
    "PD302": """\
Why:
    paddle.DataParallel wraps a layer that has one name from its making to its calls.

How to fix:
    Keep the model in one variable.

Before:
    registry.fit(make_model())

After:
    model = make_model()

When to ignore:
    Never: its gradients would stay those of one process.
""",
    "PD303": """\
Why:
    The wrap averages what its own call has computed; a method or a parameter that is used past
    it is left out.

How to fix:
    Call the model itself in training, and compute in its forward what needs the parameter.

Before:
    loss = model.training_loss(x, y)

After:
    loss = criterion(model(x), y)

When to ignore:
    Never: the replicas would go apart.
""",
    "PD304": """\
Why:
    paddle.grad returns gradients past the wrap, and each process would update by its own.

How to fix:
    Let backward() take them, and read the .grad of the parameters behind it.

Before:
    (gradient,) = paddle.grad(loss, [model.weight])

After:
    loss.backward()
    gradient = model.weight.grad

When to ignore:
    Never: the replicas would go apart.
""",
    "PD314": """\
Why:
    Batch norm is taken over all processes in wrapped models alone.

How to fix:
    Train the model through its own call, so that it can be wrapped.

Before:
    loss = model.training_loss(x, y)

After:
    loss = criterion(model(x), y)

When to ignore:
    Where the batch of one process is large enough.
""",
    "PD305": """\
Why:
    Code that is installed apart is not read, and what it trains cannot be followed.

How to fix:
    Use the distributed support of that library, or write the loop in the script.

Before:
    Trainer(model, optimizer).fit(loader)

After:
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
        optimizer.clear_grad()

When to ignore:
    Never: nothing is written.
""",
    "PD306": """\
Why:
    What is updated must be what is wrapped, and the origin of these parameters is not seen.

How to fix:
    Give the optimizer the parameters of a model of the script.

Before:
    optimizer = SGD(parameters=groups())

After:
    optimizer = SGD(parameters=model.parameters())

When to ignore:
    Never: the replicas might go apart.
""",
    "PD325": """\
Why:
    Each process would update the tensor by the gradient of its own share, or holds another one than
    the others, and what is trained would go apart.

How to fix:
    Make the tensor once, before the first batch, or make it a parameter of a layer.

Before:
    for x, y in train_loader:
        scale = paddle.create_parameter([3], "float32")

After:
    scale = paddle.create_parameter([3], "float32")
    for x, y in train_loader:
        scale.clear_gradient()

When to ignore:
    Never: the processes would train different tensors.
""",
    "PD307": """\
Why:
    On the CPU Paddle cannot synchronise batch norm, and each process has a share of the batch.

How to fix:
    Train on GPUs, where it is synchronised, or use a norm that looks at one sample.

Before:
    nn.BatchNorm2D(64)

After:
    nn.GroupNorm(8, 64)

When to ignore:
    Where shares are large.
""",
    "PD308": """\
Why:
    What learns is no layer that an optimizer updates, so that nothing can be wrapped.

How to fix:
    Put it into a paddle.nn.Layer whose parameters an optimizer holds.

Before:
    weight = paddle.zeros([4, 1])
    weight.stop_gradient = False

After:
    model = nn.Linear(4, 1)

When to ignore:
    Never: nothing is written.
""",
    "PD309": """\
Why:
    The optimizer steps, and where gradients come from is not seen.

How to fix:
    Call backward() on the loss in the script.

Before:
    helpers.differentiate(loss)
    optimizer.step()

After:
    loss.backward()
    optimizer.step()

When to ignore:
    Never: nothing is written.
""",
    "PD310": """\
Why:
    The wrap notes what learns when it is made, and what thaws later would not be averaged.

How to fix:
    Freeze by a learning rate of 0, or wrap the model anew for each phase by hand.

Before:
    model.body.weight.stop_gradient = False

After:
    optimizer = SGD(parameters=model.head.parameters())

When to ignore:
    Never: thawed parts would go apart.
""",
    "PD312": """\
Why:
    The wrap holds the parameters that the model had when it was wrapped. Those of a part that
    comes later are not averaged, and each process would train a part of its own.

How to fix:
    Put in and replace parts before the optimizer is made; call layers that make their
    parameters in their first call once before it.

Before:
    optimizer = SGD(parameters=model.parameters())
    model.head = nn.Linear(8, 3)

After:
    model.head = nn.Linear(8, 3)
    optimizer = SGD(parameters=model.parameters())

When to ignore:
    Never: the new part would not be averaged.
""",
    "PD352": """\
Why:
    Calls are split by rows, and every call here mixes its rows or gives what cannot be put
    together.

How to fix:
    Keep the samples of a batch apart in the model, and compare them in the loss.

Before:
    return self.body(x) / x.std(0)

After:
    return self.body(x)

When to ignore:
    Never: nothing is written.
""",
    "PD355": """\
Why:
    With --shard calls each process takes rows of what a model is given; here nothing has rows.

How to fix:
    Train on batches, or convert with --shard data.

Before:
    loss = model()

After:
    loss = criterion(model(x), y)

When to ignore:
    Never: nothing is written.
""",
}
