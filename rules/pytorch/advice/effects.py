"""What to do about findings on files."""

from __future__ import annotations

ADVICE = {
    "PT533": """\
Why:
    A library of which nothing is known is handed numbers of the training. If it records, prints or
    sends them, every process does, each with what it has seen itself.

How to fix:
    Let rank 0 alone call it, with numbers that are reduced over the processes.

Before:
    recorder.log("loss", loss.item())

After:
    if dist.get_rank() == 0:
        recorder.log("loss", loss_mean.item())

When to ignore:
    The library knows of processes itself, or keeps what it is given in memory alone.
""",
    "PT573": """\
Why:
    Rank 0 removes a file while another process may not have read it yet.

How to fix:
    Let every process come to a barrier in front of the removal.

Before:
    if rank == 0:
        os.remove("init.pt")

After:
    dist.barrier()
    if rank == 0:
        os.remove("init.pt")

When to ignore:
    Where nothing is read from it.
""",
    "PT574": """\
Why:
    Functions of a registry are called in one place: one of them writes a file on rank 0 alone,
    another reads it in every process. No statement lies between the two, and the one that reads is
    called elsewhere, too, where not every process comes equally often.

How to fix:
    Let every process come to a barrier at the end of the function that writes.

Before:
    def report(loss):
        if rank == 0:
            path.write_text(str(loss))

After:
    def report(loss):
        if rank == 0:
            path.write_text(str(loss))
        dist.barrier()

When to ignore:
    What is read is none of what is written.
""",
}
