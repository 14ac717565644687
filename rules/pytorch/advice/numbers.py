"""What to do about findings on numbers that are reported."""

from __future__ import annotations

ADVICE = {
    "PT603": """\
Why:
    The number is that of one share, while everything beside it is that of the whole.

How to fix:
    Reduce it over the processes, or report it from an evaluation.

Before:
    print(correct / masked)

After:
    print(evaluate(model, loader))

When to ignore:
    Where a number of about the right size is enough.
""",
    "PT604": """\
Why:
    Samples are taken by their places in a batch, which is now a share.

How to fix:
    Gather them from all processes where all are wanted.

Before:
    show(x[:16])

After:
    show(gather(x)[:16])

When to ignore:
    Where any samples will do.
""",
    "PT611": """\
Why:
    Each process evaluates everything: the numbers are right, and take as long as before.

How to fix:
    Convert with --eval shard, or do without what keeps the loop from being shared out.

Before:
    disttranspile train.py

After:
    disttranspile train.py --eval shard

When to ignore:
    Always where evaluation is short.
""",
    "PT420": """\
Why:
    Rows of two sparse gradients may lie in the same memory, as where the outputs of two tables are
    added. Both are averaged over the processes where they lie.

How to fix:
    Let the tables have dense gradients, or add a copy of one output.

Before:
    score = self.user_bias(user) + self.item_bias(item)

After:
    score = self.user_bias(user) + 1.0 * self.item_bias(item)

When to ignore:
    Where no two outputs of such tables are added as they are.
""",
}
