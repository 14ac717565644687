"""What to do about findings on waiting, memory and tables."""

from __future__ import annotations

ADVICE = {
    "FL601": """\
Why:
    A trainer that leaves the loop early has the others wait for ever.

How to fix:
    Decide on the number of steps, or on an evaluation of a test program.

Before:
    if loss < 0.1:
        break

After:
    if step == 1000:
        break

When to ignore:
    Never: the job would hang.
""",
    "FL602": """\
Why:
    The servers hold the parameters, and what a trainer writes stays with it.

How to fix:
    Load weights behind the run of the startup program and before the training loop, or convert
    with --mode nccl2.

Before:
    for batch in reader():
        fluid.io.load_params(executor, "model")

After:
    fluid.io.load_params(executor, "model")

When to ignore:
    Never: what is written would be lost.
""",
    "FL604": """\
Why:
    Other trainers may come here before trainer 0 has written.

How to fix:
    Evaluate a test program instead, or read it in a script of its own.

Before:
    fluid.io.load_inference_model("model", executor)

After:
    executor.run(test_program)

When to ignore:
    Never: trainers would fail.
""",
    "FL607": """\
Why:
    The servers keep a part of the state, which this call does not ask for.

How to fix:
    Save with fluid.io.save_persistables.

Before:
    fluid.io.save_params(executor, "model")

After:
    fluid.io.save_persistables(executor, "model")

When to ignore:
    Where training is not taken up again.
""",
    "FL702": """\
Why:
    The transpiler looks for gradients by their names, which memory_optimize gives away.

How to fix:
    Call it before the startup program is run, on a line of its own.

Before:
    executor.run(startup)
    fluid.memory_optimize(program)

After:
    fluid.memory_optimize(program)
    executor.run(startup)

When to ignore:
    Never: gradients would be lost.
""",
    "FL802": """\
Why:
    No table is found that servers could keep.

How to fix:
    Convert without --distributed-embedding.

Before:
    disttranspile train.py --distributed-embedding

After:
    disttranspile train.py

When to ignore:
    Never: nothing is written.
""",
    "FL804": """\
Why:
    Synchronous servers of Fluid before 1.8 add gradients of a table up instead of averaging
    them.

How to fix:
    Run it with Fluid 1.8, or divide the table's rate by the number of trainers.

Before:
    paddlepaddle==1.6.3

After:
    paddlepaddle==1.8.5

When to ignore:
    Where the job runs with Fluid 1.8.
""",
    "FL805": """\
Why:
    Fluid before 1.8 keeps one table, and stops where there are two.

How to fix:
    Run it with Fluid 1.8, or declare one table alone.

Before:
    paddlepaddle==1.6.3

After:
    paddlepaddle==1.8.5

When to ignore:
    Where the job runs with Fluid 1.8.
""",
}
