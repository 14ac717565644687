"""What to do about checks of the audit on processes that wait for each other."""

from __future__ import annotations

ADVICE = {
    "AU101": """\
Why:
    A collective ends when all processes of the group have come to it; those that came wait for
    the others.

How to fix:
    Take the collective out of the branch that some processes do not take.

Before:
    if rank == 0:
        dist.barrier()

After:
    dist.barrier()

When to ignore:
    Where the branch is taken by all or by none.
""",
    "AU102": """\
Why:
    The wrap's call broadcasts buffers and prepares averaging, for which the other processes
    wait.

How to fix:
    Let all processes call it, or call the model behind the wrap: model.module.

Before:
    if rank == 0:
        evaluate(model)

After:
    if rank == 0:
        evaluate(model.module)

When to ignore:
    Where the call needs no gradients and the model has no buffers.
""",
    "AU103": """\
Why:
    backward() of a wrapped model averages with all processes.

How to fix:
    Let every process take the step.

Before:
    if rank == 0:
        loss.backward()

After:
    loss.backward()

When to ignore:
    Never where several processes train.
""",
    "AU104": """\
Why:
    The state of a sharded model is gathered from all processes.

How to fix:
    Gather on all, and write on rank 0.

Before:
    if rank == 0:
        torch.save(model.state_dict(), "model.pt")

After:
    state = model.state_dict()
    if rank == 0:
        torch.save(state, "model.pt")

When to ignore:
    Where the state is known to be each process's own.
""",
    "AU105": """\
Why:
    Processes match collectives by their order; different orders mix up values or hang.

How to fix:
    Let all processes come to collectives in the same order.

Before:
    if rank == 0:
        dist.barrier()
        dist.all_reduce(x)
    else:
        dist.all_reduce(x)
        dist.barrier()

After:
    dist.all_reduce(x)
    dist.barrier()

When to ignore:
    Never.
""",
    "AU106": """\
Why:
    A process that decides by its own numbers leaves the loop while the others wait in it.

How to fix:
    All-reduce the number before the decision.

Before:
    if loss.item() > 100:
        break

After:
    dist.all_reduce(loss)
    if loss.item() > 100:
        break

When to ignore:
    Where the number is known to be equal on all processes.
""",
    "AU107": """\
Why:
    Results that should be equal may differ by rounding or by data, and so may the decision.

How to fix:
    Let rank 0 decide and broadcast, or all-reduce the number.

Before:
    if accuracy > best:
        dist.barrier()

After:
    dist.broadcast(accuracy, 0)
    if accuracy > best:
        dist.barrier()

When to ignore:
    Where every process evaluates the same data on the same kind of device.
""",
    "AU108": """\
Why:
    The process that swallows the error goes on, and the others wait for it.

How to fix:
    Let the error end the process.

Before:
    try:
        loss.backward()
    except RuntimeError:
        pass

After:
    loss.backward()

When to ignore:
    Where the handler ends the process.
""",
    "AU109": """\
Why:
    A process with one batch more waits for ever in its last step.

How to fix:
    Use a DistributedSampler, or cut the data to a multiple of the number of processes.

Before:
    for sample in samples[rank::size]:
        step(sample)

After:
    for sample in samples[rank : len(samples) // size * size : size]:
        step(sample)

When to ignore:
    Where the length is known to be a multiple.
""",
    "AU110": """\
Why:
    Collectives need the group.

How to fix:
    Call init_process_group first.

Before:
    dist.barrier()
    dist.init_process_group()

After:
    dist.init_process_group()
    dist.barrier()

When to ignore:
    Never.
""",
    "AU111": """\
Why:
    A process that fails leaves while the others are in a collective, and its own error is
    hidden behind theirs.

How to fix:
    Leave the group where the script ends without an error.

Before:
    try:
        train()
    finally:
        dist.destroy_process_group()

After:
    train()
    dist.destroy_process_group()

When to ignore:
    Where the launcher kills the others at once.
""",
    "AU112": """\
Why:
    Ranks count over all machines; the local rank begins anew on each.

How to fix:
    Leave rank and world_size out.

Before:
    dist.init_process_group("nccl", rank=local_rank, world_size=8)

After:
    dist.init_process_group("nccl")

When to ignore:
    Where the job never has a second machine.
""",
    "AU113": """\
Why:
    Learning rates that follow a process's own numbers part, and the replicas with them.

How to fix:
    All-reduce the number before.

Before:
    scheduler.step(loss.item())

After:
    dist.all_reduce(loss)
    scheduler.step(loss.item() / dist.get_world_size())

When to ignore:
    Where every process has the same number.
""",
}
