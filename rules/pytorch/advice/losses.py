"""What to do about findings on losses and what bends gradients."""

from __future__ import annotations

ADVICE = {
    "PT403": """\
Why:
    The mean of the processes' losses is that of the batch only where all divide by the same
    number, and here they may not.

How to fix:
    Divide by what all processes have, or use a loss that is a mean over samples.

Before:
    loss = (losses * mask).sum() / mask.sum()

After:
    loss = (losses * mask).mean()

When to ignore:
    Where the denominators are close, and a trained model was compared.
""",
    "PT404": """\
Why:
    Sums must be multiplied by the number of processes and means must not; one factor for both
    is wrong for one of them.

How to fix:
    Take each term as a mean over the samples, or scale the summed one alone.

Before:
    loss = criterion(output, y) + penalty.sum()

After:
    loss = criterion(output, y) + penalty.sum(1).mean()

When to ignore:
    Never: the terms would be weighed otherwise.
""",
    "PT406": """\
Why:
    What is kept from one batch to the next is that of a share, and later losses depend on it.

How to fix:
    Gather or average over the processes what is kept.

Before:
    self.centre = 0.9 * self.centre + 0.1 * features.mean(0)

After:
    self.centre = 0.9 * self.centre + 0.1 * all_mean(features)

When to ignore:
    Where it is only shown.
""",
    "PT407": """\
Why:
    Random numbers that go into parameters or averaged gradients differ by process, and the
    replicas would go apart.

How to fix:
    Draw them from a torch.Generator that every process seeds alike.

Before:
    parameter.grad.add_(torch.randn(parameter.shape))

After:
    parameter.grad.add_(torch.randn(parameter.shape, generator=noise))

When to ignore:
    Never: the replicas would go apart.
""",
    "PT408": """\
Why:
    A model that combines its samples computes something else for a share of them.

How to fix:
    Keep the samples apart, or convert with --shard calls, which computes such models whole.

Before:
    return features - features.mean(0)

After:
    return features - features.mean(1, keepdim=True)

When to ignore:
    Once a run was compared with one process.
""",
    "PT409": """\
Why:
    A hook sees gradients of one share before they are averaged; what is not linear then gives
    another result.

How to fix:
    Change the gradients between backward() and step(), where they are those of all processes.

Before:
    parameter.register_hook(lambda grad: grad.clamp(-1, 1))

After:
    loss.backward()
    parameter.grad.clamp_(-1, 1)

When to ignore:
    Where the hook only multiplies by a fixed number.
""",
    "PT410": """\
Why:
    backward() of a mean over fewer samples gives each of them a larger gradient, and they would
    be moved further.

How to fix:
    Take them by torch.autograd.grad of a sum over the samples.

Before:
    criterion(model(x), y).backward()
    x = x + 0.1 * x.grad

After:
    (change,) = torch.autograd.grad(losses(model(x), y).sum(), x)
    x = x + 0.1 * change

When to ignore:
    Never: the attack would grow with the number of processes.
""",
    "PT418": """\
Why:
    A wrap averages the gradients of a model's parameters. That of another tensor is the one of
    the share of each process, and each goes on with another tensor.

How to fix:
    Give the tensor to an optimizer, whose gradients are averaged before it steps.

Before:
    scale -= 0.1 * scale.grad

After:
    optimizer = SGD([*model.parameters(), scale], lr=0.1)

When to ignore:
    Never: the processes would train with different tensors.
""",
    "PT411": """\
Why:
    Running statistics are used in evaluation, and those of rank 0's share are kept.

How to fix:
    Leave out track_running_stats, or average the buffers.

Before:
    nn.InstanceNorm2d(8, track_running_stats=True)

After:
    nn.InstanceNorm2d(8)

When to ignore:
    Where evaluation does not use them.
""",
    "PT412": """\
Why:
    The parameter is updated before its gradient is averaged, by that of one process alone.

How to fix:
    Step the optimizer behind backward().

Before:
    parameter.register_post_accumulate_grad_hook(step)

After:
    loss.backward()
    optimizer.step()

When to ignore:
    Never: the replicas would go apart.
""",
    "PT413": """\
Why:
    What a sample is given depends on the others of its share.

How to fix:
    Mask the padding, give pad_packed_sequence a total_length, or keep the samples apart.

Before:
    padded, sizes = pad_packed_sequence(packed)

After:
    padded, sizes = pad_packed_sequence(packed, total_length=128)

When to ignore:
    Once a run was compared with one process.
""",
    "PT419": """\
Why:
    Each process writes what its share of the batch gives, and what rank 0 wrote is saved.

How to fix:
    Write what all processes have seen, or convert with --shard calls, where each sees all rows.

Before:
    model.total.add_(y.sum())

After:
    total = y.sum()
    dist.all_reduce(total)
    model.total.add_(total)

When to ignore:
    Where the buffer is neither saved nor read.
""",
    "PT414": """\
Why:
    Whether a sample's output depends on the others is not told by the text.

How to fix:
    Convert with --shard calls, which checks it with the first batch.

Before:
    disttranspile train.py --shard data

After:
    disttranspile train.py --shard calls

When to ignore:
    Where you know that the model keeps its samples apart.
""",
    "PT415": """\
Why:
    A forward hook runs on each process with its share of the batch.

How to fix:
    Take what is kept from what the model returns, or all-reduce it in the hook.

Before:
    layer.register_forward_hook(lambda m, i, o: means.append(o.mean()))

After:
    means.append(model.features(x).mean())

When to ignore:
    Where it only prints for a person.
""",
    "PT417": """\
Why:
    The processes ask different samples and may add different terms to the loss.

How to fix:
    Ask each sample for itself, by a mask.

Before:
    if (y == 1).any():
        loss = loss + extra

After:
    loss = loss + (extra * (y == 1)).mean()

When to ignore:
    Where the answer is the same for nearly all batches.
""",
}
