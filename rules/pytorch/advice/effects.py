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
}
