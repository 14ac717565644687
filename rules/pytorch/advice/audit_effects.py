"""What to do about checks of the audit on files, GPUs and numbers."""

from __future__ import annotations

ADVICE = {
    "AU401": """\
Why:
    Processes that write one file at the same time destroy it.

How to fix:
    Write on rank 0 alone, and let the others wait in a barrier where they read it.

Before:
    torch.save(model.module.state_dict(), "model.pt")

After:
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "model.pt")

When to ignore:
    Where the name differs by process.
""",
    "AU402": """\
Why:
    The first processes of all machines write to one file system.

How to fix:
    Ask for the rank in the whole job.

Before:
    if local_rank == 0:
        save()

After:
    if dist.get_rank() == 0:
        save()

When to ignore:
    Where every machine has a disk of its own, and needs the file.
""",
    "AU403": """\
Why:
    One job shows as N runs, each with a share of the numbers.

How to fix:
    Make the tracker, and report to it, on rank 0 alone.

Before:
    writer = SummaryWriter()

After:
    writer = SummaryWriter() if dist.get_rank() == 0 else None

When to ignore:
    Where a run for each process is meant.
""",
    "AU404": """\
Why:
    Processes that unpack into one folder at the same time read half files.

How to fix:
    Let rank 0 go first, then a barrier, then the others.

Before:
    data = MNIST("data", download=True)

After:
    if dist.get_rank() == 0:
        MNIST("data", download=True)
    dist.barrier()
    data = MNIST("data")

When to ignore:
    Where the data is there already.
""",
    "AU405": """\
Why:
    The same line comes N times.

How to fix:
    Print on rank 0 alone.

Before:
    print(f"epoch {epoch}")

After:
    if dist.get_rank() == 0:
        print(f"epoch {epoch}")

When to ignore:
    Where the line says something of its process.
""",
    "AU406": """\
Why:
    Its keys begin with 'module.', so that the model itself cannot load them.

How to fix:
    Save the state of the model behind the wrap.

Before:
    torch.save(model.state_dict(), "model.pt")

After:
    torch.save(model.module.state_dict(), "model.pt")

When to ignore:
    Where the wrapped model reads it back.
""",
    "AU407": """\
Why:
    All processes fill the first GPU.

How to fix:
    Load it to the CPU, or to this process's device.

Before:
    torch.load("model.pt")

After:
    torch.load("model.pt", map_location="cpu")

When to ignore:
    Where the file was saved from the CPU.
""",
    "AU501": """\
Why:
    All processes of a machine would share one GPU, and NCCL refuses that.

How to fix:
    Use the GPU of LOCAL_RANK.

Before:
    torch.cuda.set_device(0)

After:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))

When to ignore:
    Where CUDA_VISIBLE_DEVICES gives each process one GPU.
""",
    "AU502": """\
Why:
    "cuda" is the first GPU until another is selected.

How to fix:
    Call torch.cuda.set_device first.

Before:
    model.to("cuda")

After:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model.to("cuda")

When to ignore:
    Where CUDA_VISIBLE_DEVICES gives each process one GPU.
""",
    "AU601": """\
Why:
    A number of one share stands for all.

How to fix:
    All-reduce sums and counts before dividing.

Before:
    print(correct / total)

After:
    counts = torch.tensor([correct, total])
    dist.all_reduce(counts)
    print((counts[0] / counts[1]).item())

When to ignore:
    Where it is known to be of one process, and said so.
""",
    "AU602": """\
Why:
    The number is that of one process's batches.

How to fix:
    All-reduce sums and counts where those of all are meant.

Before:
    print(running / steps)

After:
    totals = torch.tensor([running, steps])
    dist.all_reduce(totals)
    print((totals[0] / totals[1]).item())

When to ignore:
    Where a rough number is enough.
""",
    "AU603": """\
Why:
    The sum of N means is N times the mean.

How to fix:
    Divide by the number of processes behind the all-reduce.

Before:
    dist.all_reduce(loss)
    print(loss.item())

After:
    dist.all_reduce(loss)
    print(loss.item() / dist.get_world_size())

When to ignore:
    Where a sum is meant, and said so.
""",
}
