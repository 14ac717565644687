"""What to do about findings on files."""

from __future__ import annotations

ADVICE = {
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
