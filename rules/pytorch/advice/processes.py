"""What to do about findings on joining and leaving a process group."""

from __future__ import annotations

ADVICE = {
    "PT102": """\
Why:
    Setting up belongs to one place that every training passes; where several places train, the
    group would be joined twice or too late.

How to fix:
    Call the training from one function of the script, and keep what only it needs below that
    function.

Before:
    train_teacher()
    train_student()

After:
    def main():
        train_teacher()
        train_student()


    if __name__ == "__main__":
        main()

When to ignore:
    Never: nothing is written.
""",
    "PT103": """\
Why:
    --script-args adds options to the script's parser, and this parser is not one that can be
    followed.

How to fix:
    Leave out --script-args: the output reads the launcher's environment, which says the same.

Before:
    parser = mylib.options()
    args = parser.parse_args()

After:
    args = mylib.options().parse_args()

When to ignore:
    Never: convert without the option.
""",
    "PT104": """\
Why:
    A launcher starts one process per device; a script that starts its own would have N times as
    many, each of them in a group of its own.

How to fix:
    Call the training function directly, and leave starting processes to the launcher.

Before:
    mp.spawn(train, nprocs=2)

After:
    train(0)

When to ignore:
    Never: nothing is written.
""",
    "PT105": """\
Why:
    Each process would be given other settings by the search, and processes that train different
    models wait for each other in vain.

How to fix:
    Train one setting in a job of its own, told by arguments, and let the search start jobs; or
    choose on rank 0 and broadcast the choice.

Before:
    study.optimize(objective, n_trials=20)

After:
    parser.add_argument("--lr", type=float, default=0.05)
    train(parser.parse_args().lr)

When to ignore:
    Never: nothing is written.
""",
    "PT122": """\
Why:
    torch.distributed has no call that does the same, and something like it would train
    something else in silence.

How to fix:
    Take the call out while the script still runs with Horovod, compare what it trains, then
    convert.

Before:
    optimizer = hvd.DistributedOptimizer(optimizer, compression=hvd.Compression.fp16)

After:
    optimizer = hvd.DistributedOptimizer(optimizer)

When to ignore:
    Never: what Horovod did is lost otherwise.
""",
    "PT123": """\
Why:
    Horovod averages gradients when the optimizer steps, so that this clips those of one
    process; the output clips the averaged ones.

How to fix:
    Decide which is meant. To clip the averaged ones with Horovod, too, call `synchronize()`
    before.

Before:
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()

After:
    optimizer.synchronize()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    with optimizer.skip_synchronize():
        optimizer.step()

When to ignore:
    Where clipping the averaged gradients is what you want.
""",
}
